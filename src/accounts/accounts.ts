// The door of accounts: authentication of callers, and restrictions on where a key may be used.

export {
  type AccessToken,
  makeTokenSecret,
  mayHold,
  personOfToken,
  type Role,
  type TokenRole,
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
  type EndedKey,
  type FirstCredit,
  groupsOf,
  groupsUnder,
  groupsWithin,
  isKeyOf,
  type Key,
  type KeyLimit,
  type KeyTerms,
  keyLimits,
  keyOrders,
  keyStatuses,
  NO_KEY_LIMITS,
  newKey,
  type PersonBudgetTerms,
  type Placed,
  payingAccountOf,
  planAt,
  type SortedAccounts,
  type SortedKeys,
  type SortedPage,
  type SortedRow,
  topOf,
} from './account.ts';
export {
  AGENT_CLIENTS,
  type AgentCaller,
  type AgentClient,
  type AgentTokenReader,
} from './agent-caller.ts';
export {
  type Authenticated,
  type Authenticator,
  authenticate,
  makePublicReads,
  NetworkCounter,
} from './authenticate.ts';
export {
  type DirectoryGroup,
  type DirectoryGroupStore,
  EVERYONE,
  groupsOfSource,
  keepGroups,
  type Place,
  placeOf,
  SCIM_SOURCE,
} from './directory.ts';
export { isDeniedEmail } from './email-domains.ts';
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
  type Consent,
  claimsEmail,
  claimsIdentity,
  findOnlyInvitation,
  hasLinkShape,
  type Identity,
  isOwnAddress,
  type LinkChange,
  makeLinkSecret,
  type Person,
  type PersonBudgetChange,
  type PersonStore,
} from './person.ts';
export type { SavedView, SavedViewStore, ViewOwner } from './saved-views.ts';
export type {
  ScimAttributes,
  ScimChange,
  ScimEmail,
  ScimFilter,
  ScimGroup,
  ScimGroupMember,
  ScimName,
  ScimPage,
  ScimStore,
  ScimUser,
  ScimUserMember,
} from './scim-store.ts';
export { type TagSet, type TagSetStore, TagSets } from './tag-sets.ts';
export {
  isTagValue,
  NO_TAGS,
  TAG_NAME,
  type TagRules,
  type Tags,
  tagSetOf,
  tagsText,
} from './tags.ts';
