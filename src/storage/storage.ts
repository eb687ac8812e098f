// The door to what is the same for every kind of store: their shape, and what is written whole, in one transaction.

export { type FirstAccount, trailRows, writeFirstAccount } from './account-writes.ts';
export { moveHash, type SecretChange, writeSecretChange } from './secret-writes.ts';
export type { SignInDatabase, Throttle } from './sign-in-database.ts';
export { spreadCut } from './spread-cut.ts';
export type { Dependent, HashedUnder, StoreSurvey } from './store-survey.ts';
export type { Stores } from './stores.ts';
