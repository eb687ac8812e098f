// The store interface that the ledger needs. Implemented in storage/.

import { DAY_MS, monthStartMs, type Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { Requester } from '../base/timers.ts';
import type { BudgetLimit } from './budgets.ts';
import type {
  Admit,
  Answer,
  BudgetTerms,
  Bundle,
  Extend,
  Leave,
  MeterName,
  RateLimits,
  Release,
  Settle,
  Settlement,
  Take,
  UsageRecord,
} from './operation.ts';
import type { ResidentRows } from './resident-rows.ts';
import type { AccountRow, Changes, HoldRow, KeyRow, NewEntry, PersonRow, PlanMeter, Rows } from './rows.ts';

/** Where bundles are decided and made durable. */
export interface LedgerGate {
  /**
   * Resolves to one answer per operation when they are durable. Rejects with NothingTaken or overloaded if nothing
   * was applied, and with another store_unavailable if that is unknown.
   */
  submit(bundle: Bundle): Promise<Answer[]>;
  /** Resolves when reads of the database see everything decided so far. Absent: they always do. */
  flush?(): Promise<void>;
  /** Called with the failure when decided changes cannot be written, and with null once they are. */
  onFailure?: (failure: unknown) => void;
  /** Number of batches handed to the store, committed or not. */
  batches(): number;
}

/** Decides the operations of messages. */
export interface MessageGate {
  /**
   * No message had the id before, or it is still open. A promise if the answer must be waited for. Throws overloaded if
   * too many wait, and store_unavailable if the store fails or does not respond.
   */
  admit(operation: Admit | Take): Answer | Promise<Answer>;
  /** Extends a hold or frees its slots. Throws store_unavailable. */
  change(operation: Extend | Leave): Answer | Promise<Answer>;
  /**
   * Resolves when the ending is durable. Throws store_unavailable after `waitMs`, and the ending becomes durable in the
   * background. An ending that breaks an invariant releases its hold without charge, and the promise rejects.
   */
  end(operation: Settle | Release, waitMs: number, coCommitted: unknown[]): Promise<Settlement>;
  /** Resolves when all endings so far are durable. */
  finish(): Promise<unknown>;
  /** Number of admissions that wait for their answer. */
  readonly queued: number;
  /** Number of endings that are not durable yet. */
  readonly unfinished: number;
}

/** Stores rows and applies batches to them. */
export interface LedgerStore {
  /**
   * Loads the rows that the bundles need, lets `decide` compute the changes and writes them in one durable
   * transaction. Commits nothing if there is nothing to write. Throws InDoubt if the outcome is unknown, RowsLocked
   * if others lock rows of a part of the batch; after any other failure nothing was applied. `isBrief`: waits for
   * locks only briefly.
   */
  transact(bundles: readonly Bundle[], decide: (rows: Rows) => Changes, isBrief?: boolean): Promise<void> | void;
}

/** A store with one process, whose rows stay in memory and may be ahead of the disk. */
export interface ResidentStore extends LedgerStore {
  readonly rows: ResidentRows;
  /** Sets the time of `rows`. */
  readClock(): void;
  /** The function writes the changes in one durable transaction. Called again after a failure, it writes them once. */
  prepareWrite(changes: Changes): () => Promise<void>;
  /** The outcome of `transact` is unknown: the rows must be reloaded. */
  readonly isDoubtful: boolean;
  /** Reads the rows from the disk, while they are not ahead of it. */
  reload(): void;
}

export interface AccountMeters {
  balance: Nano;
  held: Nano;
  /** balance − held − floor − debt, never below zero. Without what a plan pays. */
  available: Nano;
  debt: Nano;
  /** In its current windows. */
  plan: PlanMeter | null;
  lowBalances: readonly Nano[];
  /** The default budget of people whose keys belong to it or to an account below; null: none. */
  personBudget: BudgetTerms | null;
  /** Percentages of limits whose crossing is an event, ascending. */
  warnsAt: readonly number[];
  creditLine: Nano;
  allowance: Nano | null;
  allowancePeriod: Period;
  /** Used in the current period. */
  allowanceUsed: Nano;
  /** Held by running messages. */
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

/** One rate or concurrency limit as an admission would find it. */
export interface LimitLevel {
  meter: Exclude<MeterName, 'wallet' | 'allowance' | 'quota'>;
  limit: number;
  /** In whole requests, tokens or messages; 0 if over the limit. */
  remaining: number;
  /** When it will be full again; null for concurrency. */
  resetAtMs: number | null;
  /** When an admission is no longer refused by this limit; null if it is not exhausted, and for concurrency. */
  retryAtMs: number | null;
}

/** A limit of a budget of the person whose key it is. */
export interface BudgetReading extends BudgetLimit {
  used: Nano;
  /** By the running messages of the person. */
  held: Nano;
  /** Never below zero. */
  remaining: Nano;
  /** null: a window of 5 hours that begins with the next message. */
  resetsAtMs: number | null;
}

/** The budget of a person at one account. */
export interface PersonBudgetReading {
  account: number;
  /** Whether it is the account's default, rather than set for this person. */
  isDefault: boolean;
  /** null: there is none. */
  terms: BudgetTerms | null;
  /** A reading for each limit of the terms. */
  limits: BudgetReading[];
}

/** A person with accounts in which keys of theirs may be, or which are above those. */
export interface PersonQuestion {
  person: number;
  accounts: readonly number[];
}

/** Every limit on a key's use, at one point in time. */
export interface CallerMeters {
  account: AccountMeters;
  /** Meters of the accounts above, nearest first. */
  above: { account: number; meters: AccountMeters }[];
  /** Meters of the account whose wallet and plan pay. */
  payer: AccountMeters;
  key: KeyMeters;
  budgets: BudgetReading[];
  /** The configured limits: of the key (group null), then of the account in each requested group. */
  levels: (LimitLevel & { group: string | null })[];
}

/** The key with its chain, and the groups with their current limits. */
export interface CallerQuestion {
  account: number;
  /** At most two. */
  above: readonly number[];
  payer: number;
  key: number;
  person: number | null;
  groups: readonly { name: string; limits: RateLimits }[];
}

export type EntryKind = NewEntry['kind'];
export type SeldomKind = Exclude<EntryKind, 'usage'>;

/** Entry kinds of money that comes in or goes back, and what it paid besides messages: debts and plans. */
export const creditKinds = ['payment', 'promotion', 'adjustment', 'debt_write_off', 'debt', 'plan_payment'] as const;
/** Entry kinds other than usage that change a balance. A month that is kept whole has no `carried_forward` entry. */
export const besideUsageKinds = [...creditKinds, 'correction', 'refund'] as const;

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

/** Sort order of entry lists. */
export function newestFirst(one: Pick<Entry, 'atMs' | 'seq'>, other: Pick<Entry, 'atMs' | 'seq'>): number {
  return other.atMs - one.atMs || other.seq - one.seq;
}

export interface EntryPage {
  account: number;
  /** Only these kinds. Usage has no index of its own, as nearly all entries are usage. */
  kinds?: readonly SeldomKind[];
  /** Only entries of this message, of any kind. `endedAtMs` locates them. */
  message?: { requestId: string; endedAtMs: number };
  /** Both inclusive. */
  sinceMs: number | null;
  untilMs: number | null;
  /** Cursor: the seq of the last entry seen. */
  before: number | null;
  limit: number;
}

/** Sums over all open holds, for monitoring. */
export interface OpenHolds {
  count: number;
  /** Sum of the amounts; beyond 2^53 rounded to the nearest number. */
  held: number;
  /** When the oldest hold was opened; null if there is none. */
  oldestAtMs: number | null;
}

/** The fields of an open hold that are shown. */
export type OpenHold = Pick<
  HoldRow,
  'requestId' | 'account' | 'key' | 'group' | 'amount' | 'openedAtMs' | 'left' | 'draft'
>;

export interface HoldPage {
  account: number;
  /** Cursor: the request id of the last hold seen. */
  after: string | null;
  limit: number;
}

/** A page of rows in the order of their ids. `last`: the last one; null at the end. */
export interface RowPage<Row> {
  rows: Row[];
  last: number | null;
}

/** The parts of a key that its quota and the budget of its person depend on. */
export type KeyLimits = Pick<KeyRow, 'id' | 'account' | 'person' | 'quota' | 'quotaPeriod' | 'spending'>;

/** Reads committed state. */
export interface LedgerReader {
  openHolds(): Promise<OpenHolds>;
  accountMeters(account: number, nowMs: number): Promise<AccountMeters | null>;
  keyMeters(key: number, nowMs: number): Promise<KeyMeters | null>;
  /** From one committed state; null if the account has no such key. */
  callerMeters(question: CallerQuestion, nowMs: number): Promise<CallerMeters | null>;
  /** The budgets of a person at accounts (at most three), from one committed state; null if there is no such person. */
  personMeters(question: PersonQuestion, nowMs: number): Promise<PersonBudgetReading[] | null>;
  /** The plans among the accounts after this one, in the order of their ids. `last`: the last account examined; null at the end. */
  listPlans(page: {
    after: number;
    limit: number;
  }): Promise<{ plans: { account: number; plan: PlanMeter }[]; last: number | null }>;
  /** All meters, by pages of those after this id. As stored: windows that are over may not have rolled yet. */
  listAccountRows(page: { after: number; limit: number }): Promise<RowPage<AccountRow>>;
  listPersonRows(page: { after: number; limit: number }): Promise<RowPage<PersonRow>>;
  listKeyLimits(page: { after: number; limit: number }): Promise<RowPage<KeyLimits>>;
  /** Account and key of a message in progress; null otherwise. */
  openMessage(requestId: string): Promise<{ account: number; key: number } | null>;
  /** Newest first. */
  listEntries(page: EntryPage, requester?: Requester): Promise<Entry[]>;
  /** One account's holds by id, which is in time order. Scans all open holds of the installation. */
  listHolds(page: HoldPage, requester?: Requester): Promise<OpenHold[]>;
}

/** One stored response. */
export interface StoredAnswer {
  /** The message that produced the response. */
  requestId: string;
  /** When the response was produced. */
  atMs: number;
  /** Size of `sealed`; counts against `bounds.answersStoredBytesMax`. */
  bytes: number;
  sealed: string;
}

export interface AnswerStore {
  /** null if the message has no stored response, or it was dropped. */
  findAnswer(requestId: string): Promise<StoredAnswer | null>;
  /**
   * The row to co-commit with the settlement. Idempotent. When all responses together exceed the bound, the oldest
   * of the account that stores the most for what it paid are dropped.
   */
  answerRow(answer: StoredAnswer): unknown;
}

/** Tables whose rows are dropped by age: since creation, or since they ended. */
export type ForgottenTable =
  | 'usage_records'
  | 'creations'
  | 'key_secrets'
  | 'claims'
  | 'answers'
  | 'events'
  | 'deliveries'
  | 'payment_events'
  | 'refusals'
  | 'route_hours'
  | 'incidents';

/** Data that is complete from its boundary on. */
export type RetainedData = 'usage' | 'journal';

/** Names under which the boundaries are stored. Values are milliseconds since 1970, in decimal. */
export const retainedSinceNames: Readonly<Record<RetainedData, string>> = {
  usage: 'usage_kept_since_ms',
  journal: 'journal_kept_since_ms',
};

/** A page of accounts, in id order. */
export interface CarryPage {
  /** Accounts that have entries to carry forward. */
  accounts: number[];
  /** Last account examined; null if there are no more. */
  last: number | null;
}

/** Drops rows in bounded chunks, through the ledger's transactions. */
export interface RetentionStore {
  /** Start of the complete data; null if nothing was ever dropped. */
  retainedSince(kept: RetainedData): Promise<number | null>;
  /** Records the boundary before anything is dropped. The boundary never moves back: an earlier one is ignored. */
  keepSince(kept: RetainedData, sinceMs: number): Promise<void>;
  /** Number of rows that the next `forget` drops; 0 when none is left. */
  countForgotten(table: ForgottenTable, beforeMs: number): Promise<number>;
  /** For usage records, the boundary must be recorded first. */
  forget(table: ForgottenTable, beforeMs: number): Promise<void>;
  listToCarry(beforeMs: number, after: number): Promise<CarryPage>;
  /** Number of entries that the next `carry` drops; 0 when only carried-forward entries are left. */
  countToCarry(account: number, beforeMs: number): Promise<number>;
  /**
   * Drops an account's oldest entries and writes one `carried_forward` entry per side, dated the last millisecond
   * before `beforeMs`, replacing an earlier one. The journal boundary must be recorded first, and no usage record of
   * that time may be left.
   */
  carry(account: number, beforeMs: number): Promise<void>;
}

/** Start of retained usage records: whole days, UTC. */
export function usageRetainedSinceMs(days: number, nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS;
}

/** Start of the retained journal: whole months, UTC, in addition to the current month. */
export function journalRetainedSinceMs(months: number, nowMs: number): number {
  return monthStartMs(nowMs, months);
}

export interface StoredUsageRecord extends UsageRecord {
  seq: number;
}
