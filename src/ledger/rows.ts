// The rows that the ledger decides over, and the changes a batch makes to them. Rows are values:
// the core never alters one, it returns another.

import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { Answer, MessageDraft, Owner, RateLimits, UsageRecord } from './operation.ts';

/**
 * Buckets kept as "used that drains", in sixty-thousandths of a request or token: a limit of L a
 * minute drains L of these a millisecond, so that all arithmetic is whole.
 */
export interface RateMeters {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  drainedAtMs: number;
  /** Messages that run now. */
  running: number;
}

/** The meters of an account in one group, with the group's limits when a message was last admitted: by them it drains. */
export interface GroupRates extends RateMeters {
  limits: RateLimits;
}

/** Money used and held against a quota or an allowance, in the period that began at `periodStartMs`. */
export interface SpendingMeter {
  used: Nano;
  held: Nano;
  periodStartMs: number;
}

export interface AccountRow {
  id: number;
  enabled: boolean;
  /** How far below zero the balance may go. */
  creditLine: Nano;
  balance: Nano;
  held: Nano;
  allowance: Nano | null;
  allowancePeriod: Period;
  spending: SpendingMeter;
  /** The month, UTC, of its last entry, and the balance at its beginning, but for what stands in month changes. */
  month: { startMs: number; opening: Nano };
  /** The limits of a group apply to each account in it: its meters here, by the group's name. */
  groups: Readonly<Record<string, GroupRates>>;
}

export interface KeyRow {
  id: number;
  account: number;
  status: 'enabled' | 'disabled' | 'revoked';
  expiresAtMs: number | null;
  quota: Nano | null;
  quotaPeriod: Period;
  spending: SpendingMeter;
  limits: RateLimits;
  rates: RateMeters;
  lastUsedAtMs: number | null;
}

export interface HoldRow {
  requestId: string;
  account: number;
  key: number;
  group: string;
  amount: Nano;
  openedAtMs: number;
  owner: Owner;
  /** The caller has left: its places in the concurrency limits are free already. */
  left: boolean;
  /** The name of the claim under which it was submitted; null when there was none. */
  claim: string | null;
  /** What is billed and recorded if the owner never ends it. */
  checkpoint: UsageRecord | null;
  draft: MessageDraft;
}

export interface LeaseRow {
  node: string;
  epoch: number;
  expiresAtMs: number;
}

/** The message that an idempotency key of an API key stands for. It is free again when that has ended and is no answer. */
export interface ClaimRow {
  key: number;
  name: string;
  requestId: string;
  requestHash: string;
  atMs: number;
  isAnswered: boolean;
}

/** `forgiven`: it was no answer, and what it cost was given back to who asked again under its claim. */
export type EndedBy = 'settled' | 'released' | 'expired' | 'corrected' | 'forgiven';

/** How a hold ended, as far as a late or repeated ending needs to know. */
export interface Ending {
  record: UsageRecord;
  endedBy: EndedBy;
}

export interface NewEntry {
  /** Whose money or message it is about; `debit` and `credit` may both be the system's. */
  account: number;
  atMs: number;
  debit: number;
  credit: number;
  amount: Nano;
  kind:
    | 'payment'
    | 'promotion'
    | 'adjustment'
    | 'debt_write_off'
    | 'usage'
    | 'write_off'
    | 'correction'
    | 'refund'
    | 'carried_forward';
  /** A request id, or the caller's reference of a credit. */
  reference: string | null;
  note: string | null;
}

/** An addition to what the entries of one month, UTC, changed a balance by. */
export interface MonthChange {
  account: number;
  startMs: number;
  change: Nano;
}

export interface DailyTotal {
  dayMs: number;
  account: number;
  key: number;
  model: string;
  messages: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cost: Nano;
  writtenOff: Nano;
  /** Of the messages whose provider cost is known, and what was taken for those: cost less what was written off. */
  providerCost: Nano;
  costedMessages: number;
  costedRevenue: Nano;
}

/** What is stored, as a batch sees it. Everything that its bundles name has been loaded. */
export interface Rows {
  nowMs: number;
  account(id: number): AccountRow | undefined;
  key(id: number): KeyRow | undefined;
  hold(requestId: string): HoldRow | undefined;
  ending(requestId: string): Ending | undefined;
  /** What this reference credited the account with, negative for a correction; null when it did not. */
  creditedAmount(account: number, reference: string): Nano | null;
  claim(key: number, name: string): ClaimRow | undefined;
  lease(node: string): LeaseRow | undefined;
  /** All leases and open holds; asked for by `expire` alone. */
  leases(): Iterable<LeaseRow>;
  holds(): Iterable<HoldRow>;
}

/** What one operation does, beside its answer. Absent members change nothing. */
export interface Effect {
  answer: Answer;
  accounts?: AccountRow[];
  keys?: KeyRow[];
  holds?: HoldRow[];
  endedHolds?: HoldRow[];
  leases?: LeaseRow[];
  claims?: ClaimRow[];
  entries?: NewEntry[];
  endings?: Ending[];
  /** Endings whose record is replaced, with the record that stood before. */
  corrections?: { ending: Ending; before: UsageRecord }[];
}

/** All that a batch changes, to be written in one transaction. */
export interface Changes {
  accounts: ReadonlyMap<number, AccountRow>;
  keys: ReadonlyMap<number, KeyRow>;
  /** Null: ended. A hold that began and ended within the batch does not appear. */
  holds: ReadonlyMap<string, HoldRow | null>;
  leases: ReadonlyMap<string, LeaseRow>;
  claims: ReadonlyMap<string, ClaimRow>;
  entries: readonly NewEntry[];
  endings: readonly Ending[];
  corrections: readonly Ending[];
  totals: ReadonlyMap<string, DailyTotal>;
  months: readonly MonthChange[];
  alongside: readonly unknown[];
  isEmpty: boolean;
}

/** The system's own accounts. They have no row: their balance is the sum of their entries. */
export const systemAccounts = {
  payments: 1,
  promotions: 2,
  revenue: 3,
  adjustments: 4,
  writeOffs: 5,
  carriedForward: 6,
} as const;
