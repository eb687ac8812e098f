// The door of accounts: who is calling, and whether the key may be used from where it is used.

export type { Account, AccountStore, AccountTerms, Caller, FirstCredit, Key, KeyStatus, KeyTerms } from './account.ts';
