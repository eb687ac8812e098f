// The door of accounts: who is calling, and whether the key may be used from where it is used.

export { type AccessToken, hasTokenShape, makeTokenSecret, type Role, type TokenStore } from './access-token.ts';
export {
  type Account,
  type AccountStore,
  type AccountTerms,
  type Caller,
  type FirstCredit,
  type Key,
  type KeyPage,
  type KeyStatus,
  type KeyTerms,
  NO_KEY_LIMITS,
} from './account.ts';
export { authenticate, type Circumstances, type Gatehouse } from './authenticate.ts';
export { FailureCounter } from './failure-counter.ts';
export type { FormerHashes } from './former-hash.ts';
export { KeyDirectory } from './key-directory.ts';
export { hasKeyShape, makeKeySecret } from './key-secret.ts';
export {
  hasLinkShape,
  type KeptLink,
  makeLinkSecret,
  type Person,
  type PersonStatus,
  type PersonStore,
} from './person.ts';
export { groupsOf } from './scopes.ts';
export { verifyToken } from './verify-token.ts';
