// Who is calling: an account and a key, as plain values. What they may spend is the ledger's.

import type { Trail } from '../audit/audit.ts';
import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';

export type KeyStatus = 'enabled' | 'disabled' | 'revoked';

export interface Account {
  id: number;
  name: string;
  /** The groups that its keys may be in. */
  groups: readonly string[];
  status: 'enabled' | 'disabled';
  createdAtMs: number;
}

export interface Key {
  id: number;
  accountId: number;
  name: string;
  /** The beginning of the secret, to recognise it by: "sk-tp-Ab3d". */
  prefix: string;
  /** In order: the first that offers a model sets its price and limits. Null: all of the account's. */
  groups: readonly string[] | null;
  /** Patterns of model names; null: all. */
  models: readonly string[] | null;
  status: KeyStatus;
  expiresAtMs: number | null;
  /** Exact origins that may use it from a browser; null: any. */
  origins: readonly string[] | null;
  /** CIDR ranges; null: any. */
  addresses: readonly string[] | null;
  /** The actor that made it: a member sees and changes only its own. Null: before there were roles. */
  madeBy: string | null;
  createdAtMs: number;
}

/** A caller that has proved who it is. */
export interface Caller {
  account: Account;
  key: Key;
  /** When the secret that was shown stops to open the key, because another took its place; null: with the key. */
  secretExpiresAtMs: number | null;
}

/** What bounds an account's spending. The ledger enforces it; here it only travels to be stored. */
export interface AccountTerms {
  enabled: boolean;
  /** How far below zero the wallet may go, >= 0. */
  creditLine: Nano;
  allowance: Nano | null;
  allowancePeriod: Period;
}

/** What bounds a key. Null is no limit. */
export interface KeyTerms {
  status: KeyStatus;
  expiresAtMs: number | null;
  quota: Nano | null;
  quotaPeriod: Period;
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

/** Nothing bounds what a key may use: what a new one has unless it is told otherwise. */
export const NO_KEY_LIMITS: Readonly<Omit<KeyTerms, 'status' | 'expiresAtMs'>> = Object.freeze({
  quota: null,
  quotaPeriod: 'total',
  requestsPerMinute: null,
  inputTokensPerMinute: null,
  outputTokensPerMinute: null,
  concurrency: null,
});

/** A first credit of a new account, durable with it. */
export interface FirstCredit {
  amount: Nano;
  kind: 'payment' | 'promotion';
  reference: string | null;
  note: string | null;
}

/** Where accounts and keys are kept. Reads see what was committed; writes are durable when they resolve. */
export interface AccountStore {
  /** The key that has the one hash or the other, in one look. */
  findKeyBySecretHash(secretHash: string, otherHash?: string): Promise<Caller | null>;
  getAccount(id: number): Promise<Account | null>;
  /** Oldest first; `after` is the id of the last one seen. */
  listAccounts(page: { after: number | null; limit: number }): Promise<Account[]>;
  getKey(id: number): Promise<Key | null>;
  listKeys(page: KeyPage): Promise<Key[]>;
  /** Of every status. */
  countKeys(accountId: number): Promise<number>;
  createAccount(account: Account, terms: AccountTerms, credit: FirstCredit | null, trail: Trail): Promise<void>;
  /** The ledger's row changes in the same transaction: the next admission sees it. */
  updateAccount(account: Account, terms: AccountTerms, trail: Trail): Promise<void>;
  createKey(key: Key, secretHash: string, terms: KeyTerms, trail: Trail): Promise<void>;
  updateKey(key: Key, terms: KeyTerms, trail: Trail): Promise<void>;
  /** Gives the key a new secret; those that it had open it until `graceEndsAtMs`, or until they end sooner. */
  rotateKey(key: Key, secretHash: string, graceEndsAtMs: number, trail: Trail): Promise<void>;
}

export interface KeyPage {
  accountId: number | null;
  /** Only those that this actor made; null: all. */
  madeBy: string | null;
  /** The id of the last one seen. */
  after: number | null;
  limit: number;
}
