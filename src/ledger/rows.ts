// The rows that the ledger decides over, and the changes of a batch. Rows are values: the core never mutates one.

import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { NewEvent } from '../events/events.ts';
import type { Unit } from '../wire/wire.ts';
import type {
  Answer,
  CompanyTerms,
  MessageDraft,
  Owner,
  PersonBudget,
  PlanTerms,
  RateLimits,
  UsageRecord,
  WindowLength,
} from './operation.ts';

/**
 * Leaky buckets counted as use that drains, in 1/60,000 of a request or token: a limit of L per minute drains L units
 * per millisecond, so that all arithmetic is in integers.
 */
export interface RateMeters {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  drainedAtMs: number;
  /** Messages in progress. */
  running: number;
}

/** The rate meters of an account in one group. They drain at the group's limits as of the last admission. */
export interface GroupRates extends RateMeters {
  limits: RateLimits;
}

/** Money used and held against a quota or allowance, in the period that began at `periodStartMs`. */
export interface SpendingMeter {
  used: Nano;
  held: Nano;
  periodStartMs: number;
}

export interface PlanWindow {
  length: WindowLength;
  limit: Nano;
  used: Nano;
  /** 0: one of 5 hours that has not begun. */
  startMs: number;
  /** Windows of this length follow each other from here. One that ran when the plan changed keeps its sequence. */
  anchorMs: number;
  /** Since when the account's plans have this length. An earlier message was not charged to it. */
  sinceMs: number;
}

/** The last window of a length that the account's plan lacks. */
export interface PastWindow extends Omit<PlanWindow, 'limit'> {
  /** Until when the account's plan had this length. */
  untilMs: number;
}

/** The plan's allowances. Running messages hold `held` of each window. */
export interface PlanMeter extends PlanTerms {
  windows: readonly PlanWindow[];
  held: Nano;
}

export interface AccountRow {
  id: number;
  enabled: boolean;
  company: CompanyTerms;
  /** How far below zero the balance may go. */
  creditLine: Nano;
  balance: Nano;
  /** The amount that reversed payments left to pay beyond the floor. Nothing is available until it is paid. */
  debt: Nano;
  /** Held of the balance: the part of holds that the plan does not pay. */
  held: Nano;
  plan: PlanMeter | null;
  /** At most one of each length. */
  pastWindows: readonly PastWindow[];
  /** The amount that reversals of failed attempts returned on one day (UTC). */
  reversals: SpendingMeter;
  lowBalances: readonly Nano[];
  allowance: Nano | null;
  allowancePeriod: Period;
  spending: SpendingMeter;
  /** The month (UTC) of the latest entry and its opening balance, without the recorded month changes. */
  month: { startMs: number; opening: Nano };
  /** Meters by group name: a group's limits apply to each account separately. */
  groups: Readonly<Record<string, GroupRates>>;
  /** Why this program cannot read a part of the stored row, which it must not change then. */
  unreadable?: string;
}

export interface KeyRow {
  id: number;
  account: number;
  /** The person whose key it is; null: a service key of the account. */
  person: number | null;
  status: 'enabled' | 'disabled' | 'revoked';
  expiresAtMs: number | null;
  quota: Nano | null;
  quotaPeriod: Period;
  spending: SpendingMeter;
  limits: RateLimits;
  rates: RateMeters;
  lastUsedAtMs: number | null;
  /** As of an account. */
  unreadable?: string;
}

/** Money that a person has used in one of the windows of budgets. All four are counted, whatever budgets there are. */
export interface PersonWindow {
  length: WindowLength;
  used: Nano;
  /** 0: one of 5 hours that has not begun. The others are of the calendar, in UTC. */
  startMs: number;
}

/** The use of all keys of a person, and the budgets that were set for them alone. */
export interface PersonRow {
  id: number;
  account: number;
  enabled: boolean;
  /** Instead of the default of that account, for which they were set. */
  budgets: readonly PersonBudget[];
  windows: readonly PersonWindow[];
  /** Held by running messages. */
  held: Nano;
  /** As of an account. */
  unreadable?: string;
}

/** The rows that a message takes from, as they were when it was admitted. */
export interface Chain {
  account: number;
  /** The accounts above, nearest first. */
  above: readonly number[];
  /** The account whose wallet and plan pay: `account` or one of `above`. */
  payer: number;
  key: number;
  person: number | null;
}

export interface HoldRow extends Chain {
  requestId: string;
  group: string;
  amount: Nano;
  /** The part of `amount` that the plan holds. */
  fromPlan: Nano;
  openedAtMs: number;
  owner: Owner;
  /** The client disconnected: its concurrency slots are already free. */
  left: boolean;
  /** Name of its idempotency record; null without one. */
  claim: string | null;
  /** Billed and recorded if the owner never ends the hold. */
  checkpoint: UsageRecord | null;
  draft: MessageDraft;
  /** Why this program cannot read the stored row: only what has columns is known of it. */
  unreadable?: string;
}

export interface LeaseRow {
  node: string;
  epoch: number;
  expiresAtMs: number;
}

/**
 * Binds an idempotency key of an API key to a message. The key becomes free if the message ends without an answer.
 */
export interface IdempotencyRow {
  key: number;
  name: string;
  requestId: string;
  requestHash: string;
  atMs: number;
  isAnswered: boolean;
  /**
   * Earlier attempts with the same body that ended without an answer, oldest first. The answer reverses their
   * charges.
   */
  failedAttempts: string[];
}

/** `forgiven`: the charge was reversed when a later attempt with the same idempotency key was answered. */
export type EndedBy = 'settled' | 'released' | 'expired' | 'corrected' | 'forgiven';

/** How a hold ended, as far as a late or repeated ending needs it. */
export interface Ending {
  record: UsageRecord;
  endedBy: EndedBy;
}

/** Kinds of journal entries; docs/ledger.md lists what each moves. */
export const entryKinds = [
  'payment',
  'promotion',
  'adjustment',
  'debt_write_off',
  'debt',
  'plan_payment',
  'usage',
  'write_off',
  'correction',
  'refund',
  'carried_forward',
] as const;

export interface NewEntry {
  /** The account of the money, or that pays for the message; `debit` and `credit` may both be system accounts. */
  account: number;
  atMs: number;
  debit: number;
  credit: number;
  amount: Nano;
  kind: (typeof entryKinds)[number];
  /** A request id, or the reference of a credit. */
  reference: string | null;
  note: string | null;
}

/** An addition to the recorded change of a balance in one month, UTC. */
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
  /** '': none, or unknown. */
  provider: string;
  /** '': unknown. */
  group: string;
  /** 0: nobody's. */
  person: number;
  tagSet: number;
  messages: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cost: Nano;
  writtenOff: Nano;
  /** Sums over the messages whose provider cost is known; revenue is cost minus write-offs. */
  providerCost: Nano;
  costedMessages: number;
  costedRevenue: Nano;
}

/** The units that the messages of a daily total used, and their part of its cost. */
export interface UnitTotal extends Pick<DailyTotal, TotalName> {
  unit: Unit;
  quantity: number;
  cost: Nano;
}

/** The names that identify a daily total. */
export type TotalName = 'dayMs' | 'account' | 'key' | 'model' | 'provider' | 'group' | 'person' | 'tagSet';

/** The stored rows as a batch sees them. Everything that the bundles name has been loaded. */
export interface Rows {
  nowMs: number;
  account(id: number): AccountRow | undefined;
  key(id: number): KeyRow | undefined;
  person(id: number): PersonRow | undefined;
  hold(requestId: string): HoldRow | undefined;
  ending(requestId: string): Ending | undefined;
  /** Amount that this reference credited (negative: deducted); null if it was not used. */
  creditedAmount(account: number, reference: string): Nano | null;
  claim(key: number, name: string): IdempotencyRow | undefined;
  lease(node: string): LeaseRow | undefined;
  /** All leases and open holds; only `expire` reads them. */
  leases(): Iterable<LeaseRow>;
  holds(): Iterable<HoldRow>;
}

/** Rows that take the effects of operations. */
export interface ChangeableRows extends Rows {
  /** Takes the changes of one operation: all of them, or none if they violate an invariant. */
  put(effect: Effect): void;
}

/** The changes of one operation, with its answer. Absent members change nothing. */
export interface Effect {
  answer: Answer;
  accounts?: readonly AccountRow[];
  key?: KeyRow | undefined;
  people?: readonly PersonRow[];
  hold?: HoldRow;
  /** The reserve that the message was admitted from, with what is left in it. */
  reserve?: HoldRow | undefined;
  endedHold?: HoldRow;
  leases?: LeaseRow[];
  claim?: IdempotencyRow | undefined;
  entries?: NewEntry[];
  ending?: Ending;
  /** Endings whose record is replaced, with the previous record. */
  corrections?: { ending: Ending; before: UsageRecord }[];
  /** Events of the account, in the same transaction. */
  events?: NewEvent[] | undefined;
}

/** The co-committed row of an event. */
export interface EventRow {
  table: 'events';
  event: NewEvent;
}

/** All changes of a batch, written in one transaction. */
export interface Changes {
  accounts: ReadonlyMap<number, AccountRow>;
  keys: ReadonlyMap<number, KeyRow>;
  people: ReadonlyMap<number, PersonRow>;
  /** null: ended. A hold that began and ended within the batch does not appear. */
  holds: ReadonlyMap<string, HoldRow | null>;
  leases: ReadonlyMap<string, LeaseRow>;
  claims: ReadonlyMap<string, IdempotencyRow>;
  entries: readonly NewEntry[];
  endings: readonly Ending[];
  corrections: readonly Ending[];
  totals: ReadonlyMap<string, DailyTotal>;
  unitTotals: readonly UnitTotal[];
  months: readonly MonthChange[];
  coCommitted: readonly unknown[];
  isEmpty: boolean;
}

/** System accounts have no row: their balance is the sum of their entries. */
export const systemAccounts = {
  payments: 1,
  promotions: 2,
  revenue: 3,
  adjustments: 4,
  writeOffs: 5,
  carriedForward: 6,
  plans: 7,
  debts: 8,
} as const;
