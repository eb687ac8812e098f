// The door of accounts: who is calling, and whether the key may be used from where it is used.

export type { Account, AccountStore, AccountTerms, Caller, FirstCredit, Key, KeyStatus, KeyTerms } from './account.ts';
export { authenticate, type Circumstances, type Gatehouse } from './authenticate.ts';
export { FailureCounter } from './failure-counter.ts';
export { KeyDirectory } from './key-directory.ts';
export { hasKeyShape, makeKeySecret } from './key-secret.ts';
export { groupsOf } from './scopes.ts';
