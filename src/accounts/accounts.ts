// The door of accounts: authentication of callers, and restrictions on where a key may be used.

export {
  type AccessToken,
  makeTokenSecret,
  personOfToken,
  type Role,
  type TokenStore,
  verifyToken,
} from './access-token.ts';
export {
  type Account,
  type AccountStore,
  type AccountTerms,
  type AutoRecharge,
  accountOrders,
  type Caller,
  type CallerPlan,
  type FirstCredit,
  groupsOf,
  groupsUnder,
  isKeyOf,
  type Key,
  type KeyLimit,
  type KeyTerms,
  keyLimits,
  keyOrders,
  NO_KEY_LIMITS,
  newKey,
  type PersonBudgetTerms,
  payingAccountOf,
  planAt,
  type SortedAccounts,
  type SortedKeys,
  type SortedPage,
  type SortedRow,
  topOf,
} from './account.ts';
export { type Authenticated, type Authenticator, authenticate, FailureCounter } from './authenticate.ts';
export { KeyDirectory } from './key-directory.ts';
export { makeKeySecret } from './key-secret.ts';
export { creditKeysOf, emailKeyOf, isOfMailProvider, ownedDomainOf } from './mailboxes.ts';
export {
  hasMailedShape,
  type MailedLink,
  makeMailedSecret,
  type SignUp,
  type SignUpStore,
} from './mailed-link.ts';
export type { NameSearch, NameSearches } from './name-search.ts';
export {
  claimsEmail,
  findOnlyInvitation,
  hasLinkShape,
  isOwnAddress,
  type LinkChange,
  makeLinkSecret,
  type Person,
  type PersonBudgetChange,
  type PersonStore,
} from './person.ts';
