// What the ledger needs of a store, declared here and implemented in storage/.

import type { Asking } from '../base/asking.ts';
import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { AccountMonth, EntryKind, MonthQuestion, SeldomKind } from './account-month.ts';
import type { Answer, Bundle, MeterName, RateLimits } from './operation.ts';
import type { Changes, HoldRow, Rows } from './rows.ts';

/** Where bundles go to be decided and made durable: a group commit, here or in another thread. */
export interface LedgerGate {
  /** Resolves when durable, one answer an operation. Rejects with NothingTaken or overloaded where nothing was applied; with another store_unavailable where that is not known. */
  submit(bundle: Bundle): Promise<Answer[]>;
  /** How many batches were handed to the store, committed or not. */
  batches(): number;
}

/** Holds rows and applies batches to them. */
export interface LedgerStore {
  /**
   * Loads the rows that the bundles need, lets `decide` compute the changes, writes them in one
   * durable transaction. Nothing to write: nothing is committed. Throws InDoubt where it cannot be told whether
   * that was made; whatever else it throws, nothing was applied; RowsLocked where others are in the way of a part of it. `isBrief`:
   * it waits for others a moment only.
   */
  transact(bundles: readonly Bundle[], decide: (rows: Rows) => Changes, isBrief?: boolean): Promise<void> | void;
}

export interface AccountMeters {
  balance: Nano;
  held: Nano;
  /** balance − held − floor, never below zero. */
  available: Nano;
  creditLine: Nano;
  allowance: Nano | null;
  allowancePeriod: Period;
  /** Used in the current period. */
  allowanceUsed: Nano;
  /** By messages that run. */
  allowanceHeld: Nano;
}

export interface KeyMeters {
  quota: Nano | null;
  quotaPeriod: Period;
  /** Used in the current period. */
  quotaUsed: Nano;
  quotaHeld: Nano;
  lastUsedAtMs: number | null;
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

/** One limit a minute or at once, as an admission would find it. */
export interface LimitLevel {
  meter: Exclude<MeterName, 'wallet' | 'allowance' | 'quota'>;
  limit: number;
  /** In whole requests, tokens or messages; 0 also in debt. */
  remaining: number;
  /** When it will be whole again; null for concurrency. */
  resetAtMs: number | null;
  /** When an admission will not be refused for it any more; null when it would not be now, and for concurrency. */
  retryAtMs: number | null;
}

/** All that bounds what a key may use, at one moment. */
export interface CallerMeters {
  account: AccountMeters;
  key: KeyMeters;
  /** The limits that are set: of the key itself, whose group is null, then of the account in each group asked for. */
  levels: (LimitLevel & { group: string | null })[];
}

/** Whose meters, and in which groups: each with the limits that it has now. */
export interface CallerQuestion {
  account: number;
  key: number;
  groups: readonly { name: string; limits: RateLimits }[];
}

export interface Entry {
  seq: number;
  atMs: number;
  debit: number;
  credit: number;
  amount: Nano;
  kind: EntryKind;
  reference: string | null;
  note: string | null;
}

export interface EntryPage {
  account: number;
  /** Only of these kinds. What messages took as they ended is nearly everything, and has no index of its own. */
  kinds?: readonly SeldomKind[];
  /** Only of this message of the account, which ended then; all its kinds. */
  message?: { requestId: string; endedAtMs: number };
  /** Both inclusive. */
  sinceMs: number | null;
  untilMs: number | null;
  /** The seq of the last one seen. */
  before: number | null;
  limit: number;
}

/** All holds of the store together, for whoever watches it. */
export interface OpenHolds {
  count: number;
  /** Their sum; beyond 2^53 to the nearest number. */
  held: number;
  /** When the oldest was opened; null when there is none. */
  oldestAtMs: number | null;
}

/** What of an open hold is shown. */
export type OpenHold = Pick<
  HoldRow,
  'requestId' | 'account' | 'key' | 'group' | 'amount' | 'openedAtMs' | 'left' | 'draft'
>;

export interface HoldPage {
  account: number;
  /** The request id of the last one seen. */
  after: string | null;
  limit: number;
}

/** Reads of what is committed. */
export interface LedgerReader {
  openHolds(): Promise<OpenHolds>;
  accountMeters(account: number, nowMs: number): Promise<AccountMeters | null>;
  keyMeters(key: number, nowMs: number): Promise<KeyMeters | null>;
  /** Of one committed state: null when there is no such key of this account. */
  callerMeters(question: CallerQuestion, nowMs: number): Promise<CallerMeters | null>;
  /** The account and key of a message that was admitted and has not ended; null for any other. */
  openMessage(requestId: string): Promise<{ account: number; key: number } | null>;
  /** Newest first. */
  listEntries(page: EntryPage, asking?: Asking): Promise<Entry[]>;
  /** Of one account, in the order of their ids, which begin with the time. It looks at all that are open, of whichever account. */
  listHolds(page: HoldPage, asking?: Asking): Promise<OpenHold[]>;
  /** As of one moment; null when there is no such account. Throws invalid_request for what is too much to add up. */
  readMonth(question: MonthQuestion, asking?: Asking): Promise<AccountMonth | null>;
}
