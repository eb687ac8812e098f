// The ledger's operations and answers. Plain JSON values, because operations cross a thread boundary. Ids are
// internal integers; amounts are nanodollars.

import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { OtherUse, UnitCounts, Units } from '../wire/wire.ts';

export interface RateLimits {
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

/** The node that owns a hold. Any node may end a hold whose owner's lease has lapsed. */
export interface Owner {
  node: string;
  epoch: number;
}

/** The owner of reserves, which is no node: they end with what they are for. */
export const RESERVED: Owner = Object.freeze({ node: '(reserved)', epoch: 0 });

export type Outcome = 'completed' | 'client_gone' | 'upstream_cut' | 'quota_cut' | 'service_cut' | 'failed';
export type UsageSource = 'reported' | 'estimated' | 'none';

/** One attempt at one target. */
export interface AttemptRecord {
  provider: string;
  /** Model name at the provider. */
  model: string;
  /** Credential name; null if the provider needs none. Absent in records older than 0.2. */
  credential?: string | null;
  /** `answered`, or the fault kind. */
  result: string;
  /** HTTP status of the provider; null if there was no response. */
  status: number | null;
  /** Why the attempt failed, for operators; null if it was answered. Absent in records older than 0.2. */
  reason?: string | null;
  /** Start, relative to the receipt of the request. Absent in older records. */
  startedMs?: number | null;
  /** Time until the first content, the whole answer or the failure. */
  ms: number;
}

/** A code of errors.ts, and the beginning of its message. */
export interface RecordedError {
  code: string;
  message: string;
}

/** Use of a quota or allowance in the period in which the message ended. */
export interface SpendingReading {
  limit: Nano;
  period: Period;
  before: Nano;
  after: Nano;
}

/** The meters of account and key before and after the message ended. null: no such limit. */
export interface UsageMeters {
  balance: { before: Nano; after: Nano };
  quota: SpendingReading | null;
  allowance: SpendingReading | null;
}

/** The attribution of a message to people and purposes. Known when it is admitted. */
export interface Attribution {
  tags: Readonly<Record<string, string>>;
  /** The client's session, and the agent in it; null if it names none. */
  session: string | null;
  agent: string | null;
  /**
   * The set of tags under which the daily totals count it; 0: none, 1: sets beyond their number. null: a record of before version 20,
   * which they count without its provider, too.
   */
  tagSet: number | null;
}

/** The usage record of an admitted message. The ledger sets `atMs`, `writtenOff` and `meters`. */
export interface UsageRecord extends Attribution {
  requestId: string;
  /** When the message ended, by the ledger's clock. Set by the ledger. */
  atMs: number;
  account: number;
  key: number;
  /** The accounts above when it was admitted, nearest first. Set by the ledger, like `payer` and `person`. */
  above: readonly number[];
  /** The account whose wallet and plan paid: `account` or one of `above`. */
  payer: number;
  /** The person whose key it was; null for a service key. */
  person: number | null;
  group: string;
  model: string;
  provider: string | null;
  upstreamModel: string | null;
  stream: boolean;
  outcome: Outcome;
  status: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWrite5mTokens: number;
  cacheWrite1hTokens: number;
  webSearches: number;
  usageSource: UsageSource;
  /** Price of the message, rounded up once. */
  cost: Nano;
  /** The part of `cost` that no meter could pay. Set by the ledger. */
  writtenOff: Nano;
  /** The part of `cost` that the account's plan paid. Set by the ledger. */
  planPaid: Nano;
  /** The provider's charge; null if the route has no cost. */
  providerCost: Nano | null;
  /** Applied rates as decimal strings, with the multiplier. */
  rates: Record<string, string>;
  attempts: AttemptRecord[];
  /** The error that the client got; null without one, and in older records. */
  error: RecordedError | null;
  /**
   * Times of admission, of the end of the answer and of the first content, relative to the receipt of the request.
   */
  admittedMs: number | null;
  latencyMs: number;
  firstTokenMs: number | null;
  /** Set by the ledger when the message ends, and never changed. null in older records. */
  meters: UsageMeters | null;
  /** The use that a request for anything but a message asked for, and the units that it used. Absent: a message, or none. */
  endpoint?: OtherUse;
  units?: Units;
  /** The parts of `cost` that the units have. Absent without units, and in records of before version 39: no total counts these. */
  unitCosts?: UnitCounts;
  /** In records of before version 26: the daily totals count it without its group. */
  totalsLackGroup?: true;
}

/** The fields known when the message is admitted. Without those of an attribution, it has none. */
export type MessageDraft = Pick<UsageRecord, 'model' | 'stream'> & Partial<Attribution>;

/** A client's idempotency key and the hash of its request. Unique per API key and name. */
export interface IdempotencyClaim {
  name: string;
  requestHash: string;
}

export interface Admit {
  kind: 'admit';
  requestId: string;
  account: number;
  key: number;
  /** The group that sells the model, and its limits for the account. */
  group: string;
  limits: RateLimits;
  /** Amount to hold. If less is available, that is held, but never less than `least`. */
  amount: Nano;
  /** Minimum to admit. Absent: all or nothing. May exceed `amount`: must then be available, although less is held. */
  least?: Nano;
  /**
   * If less than `amount` is available, the account must have nothing else on hold: the message may cost more than
   * `least`, and holds all that is available. Absent: it runs beside others.
   */
  isAloneIfShort?: boolean;
  owner: Owner;
  /** The idempotency key of the request. */
  claim?: IdempotencyClaim;
  /**
   * The request id of a reserve: as much as the message holds moves from it in the same decision, as far as it goes. A message with a
   * reserve has a claim, whose hold is stored at once. A reserve that does not exist any more has nothing left.
   */
  reserve?: string;
  /**
   * The work was done already, by a provider: the reserve pays, as it was set aside, whatever the key, its person and the accounts may do now. It
   * takes no slot, and nothing from the rates. Absent, or without the reserve: like any other.
   */
  isDone?: true;
  /** Fields of the record that is written if the hold expires. */
  draft: MessageDraft;
}

/**
 * Sets money aside for messages that are admitted later: all of `amount`, or nothing. It takes no slot and nothing from the rates, belongs to no node, and
 * stays until it is given back. `extend` changes it. Repeated, it changes nothing.
 */
export interface Reserve {
  kind: 'reserve';
  requestId: string;
  account: number;
  key: number;
  group: string;
  limits: RateLimits;
  amount: Nano;
  /** Shown while it is open. */
  draft: MessageDraft;
}

/** Ends a reserve: what is left in it is available again. No record is written. */
export interface GiveBack {
  kind: 'give-back';
  requestId: string;
}

/** Takes one request from the rates and holds nothing: for calls without cost. */
export interface Take {
  kind: 'take';
  account: number;
  key: number;
  group: string;
  limits: RateLimits;
}

/** Raises or lowers the held amount; `checkpoint` is what a crash would bill. */
export interface Extend {
  kind: 'extend';
  requestId: string;
  /** 'same' and not null, because NaN becomes null in JSON. */
  amount: Nano | 'same';
  checkpoint: UsageRecord | null;
}

/** The client disconnected: frees its concurrency slots at once and keeps the hold. */
export interface Leave {
  kind: 'leave';
  requestId: string;
}

/** Ends a hold with a cost. `record.cost` is the requested cost. */
export interface Settle {
  kind: 'settle';
  requestId: string;
  record: UsageRecord;
  /**
   * The message answers its idempotency record: a retry returns the stored response. Absent: the key becomes free
   * again.
   */
  isAnswer?: boolean;
  /** The most that reversals may return to the account in a day (UTC). Absent: no bound. */
  reversalsMax?: Nano;
  /** It was admitted as `isDone`: its tokens do not count in the rates. */
  isDone?: true;
}

/** Ends a hold without charge. */
export interface Release {
  kind: 'release';
  requestId: string;
  record: UsageRecord;
  /** The reserve, of the same key, that gets what was held: the message is sent again. Absent: the meters get it. */
  reserve?: string;
}

export interface Credit {
  kind: 'credit';
  account: number;
  /** Negative: a deduction, refused beyond what is available. */
  amount: Nano;
  /** A deduction is made in any case: what is not available becomes the account's debt. */
  isForced?: boolean;
  /** `write_off`: forgives a debt, up to the amount owed. */
  source: 'payment' | 'promotion' | 'adjustment' | 'write_off';
  /** Idempotent per account and reference; the answer has the amount credited the first time. */
  reference: string | null;
  note: string | null;
}

/** The price of a plan was paid, or given back if negative. Moves it past the wallet, whose balance stays. */
export interface PlanPayment {
  kind: 'plan-payment';
  account: number;
  amount: Nano;
  /** Idempotent per account, together with the references of credits. */
  reference: string;
  note: string | null;
}

export type WindowLength = '5h' | 'day' | 'week' | 'month';

export interface PlanTerms {
  name: string;
  /** At least one, each length once. A message must fit into all of them. */
  windows: readonly { length: WindowLength; limit: Nano }[];
  /** Groups whose messages the plan pays for; null: all. */
  groups: readonly string[] | null;
  /** Windows of a day (24 hours), a week and a month begin here and follow each other. One of 5 hours begins with a message. */
  anchorMs: number;
  /** From then on no new window begins; null: never. */
  paidUntilMs: number | null;
  /** From then on the plan pays for nothing; null: never. */
  endsAtMs: number | null;
  /** The wallet pays for what the plan does not. */
  overflow: boolean;
}

/** The most that a person may use in each window. */
export interface BudgetTerms {
  /** Each length once. A message must fit into all of them. */
  limits: readonly { length: WindowLength; limit: Nano }[];
  /** Whether a message that exceeds a limit is refused; otherwise events tell of it. */
  stops: boolean;
}

/** The budget of one person at an account, in place of the account's default. null: none. */
export interface PersonBudget {
  account: number;
  terms: BudgetTerms | null;
}

/** The place of an account in a company, and the rules for its people. */
export interface CompanyTerms {
  /** The account above; null: none. */
  parent: number | null;
  /** The owner of the wallet and plan that pay for its messages. */
  paysFrom: 'own' | 'parent';
  /** The default for people whose keys belong to this account or to one below. null: none. */
  personBudget: BudgetTerms | null;
  /** Percentages of a limit whose crossing is an event, ascending. */
  warnsAt: readonly number[];
}

/** Creates or updates the row of a person: their account, whether their keys work, and their budgets. */
export interface SetPerson {
  kind: 'set-person';
  person: number;
  account: number;
  enabled: boolean;
  /** Replaces the budget at one account; 'default' removes it. Absent: as before. */
  budget?: { account: number; terms: BudgetTerms | null | 'default' };
}

/** Gives the account a plan, changes its terms, or ends it. */
export interface SetPlan {
  kind: 'set-plan';
  account: number;
  plan: PlanTerms | null;
  /** Whether the wallet pays beyond the plan stays as it is, if the account has a plan. */
  keepsOverflow?: boolean;
}

/** Changes members of the account's plan, and nothing if the account has another plan by now. */
export interface ChangePlan {
  kind: 'change-plan';
  account: number;
  name: string;
  changes: Partial<Pick<PlanTerms, 'windows' | 'groups' | 'overflow'>>;
}

/** Returns part of a message's cost, at most what was paid. */
export interface Refund {
  kind: 'refund';
  requestId: string;
  amount: Nano | 'all';
  note: string | null;
}

/** Creates or updates an account's row: its limits, not its balance. */
export interface SetAccount {
  kind: 'set-account';
  account: number;
  terms: {
    enabled: boolean;
    creditLine: Nano;
    allowance: Nano | null;
    allowancePeriod: Period;
    /** An event tells that less than one of these is left. Absent: as before. */
    lowBalances?: readonly Nano[];
    /** Absent members: as before. */
    company?: Partial<CompanyTerms>;
  };
}

export interface SetKey {
  kind: 'set-key';
  key: number;
  account: number;
  terms: {
    status: 'enabled' | 'disabled' | 'revoked';
    expiresAtMs: number | null;
    quota: Nano | null;
    quotaPeriod: Period;
    /** Absent: as before. */
    person?: number | null;
  } & RateLimits;
}

/** Takes or renews a node's lease. `epoch` null: a new run, which takes the next epoch. */
export interface Renew {
  kind: 'renew';
  node: string;
  epoch: number | null;
  leaseMs: number;
  /**
   * Refuse if the lease has lapsed. The node is running, so the clock jumped, and other nodes could not renew either.
   */
  unlessLapsed?: boolean;
}

/** Ends every hold whose owner's lease has lapsed or whose owner's epoch is outdated. */
export interface Expire {
  kind: 'expire';
  /** Request ids of holds that could not be ended before: they are not tried again. */
  except?: readonly string[];
  /** Request ids of holds that are ended although the lease of their owner has not lapsed, because it has lost them. */
  lost?: readonly string[];
}

/** A lapsed hold that cannot be ended. Its amount stays held. */
export interface StuckHold {
  requestId: string;
  reason: string;
}

export type Operation =
  | Admit
  | Take
  | Reserve
  | GiveBack
  | Extend
  | Leave
  | Settle
  | Release
  | Credit
  | PlanPayment
  | Refund
  | SetPlan
  | ChangePlan
  | SetAccount
  | SetKey
  | SetPerson
  | Renew
  | Expire;

/** Operations that are applied together or not at all, with co-committed rows. */
export interface Bundle {
  operations: Operation[];
  /** Rows that only the store interprets, written in the same transaction. */
  coCommitted?: unknown[];
}

/** The meter that is exhausted. */
export type MeterName =
  | 'wallet'
  | 'plan'
  | 'allowance'
  | 'budget'
  | 'quota'
  | 'requests'
  | 'input_tokens'
  | 'output_tokens'
  | 'concurrency';

/** One rate limit as reported in response headers. */
export interface Level {
  limit: number;
  remaining: number;
  /** When it will be full again. */
  resetAtMs: number;
}

/** The tighter of account and key for each configured limit. */
export interface Levels {
  requests: Level | null;
  inputTokens: Level | null;
  outputTokens: Level | null;
}

export type RefusalReason =
  | 'key_disabled'
  | 'key_expired'
  | 'account_disabled'
  | 'person_disabled'
  | 'insufficient'
  | 'requests_rate'
  | 'input_tokens_rate'
  | 'output_tokens_rate'
  | 'concurrency'
  | 'not_owner'; // the owner's lease was lost: this node must not admit

export interface Refusal {
  ok: false;
  reason: RefusalReason;
  meter: MeterName | null;
  /** Whether the exhausted meter belongs to the key or its person (else to the account). */
  ofKey: boolean;
  /** The account above whose meter is exhausted, or that is disabled; null: none of these. */
  above: number | null;
  /** The amount that a money meter has available. */
  available: Nano;
  /** When the rate admits again. */
  retryAtMs: number | null;
  /** Only holds of other messages stand in the way: the request may fit once they end. */
  behindHolds: boolean;
  /** The exhausted window, if the meter is the plan or a budget; otherwise absent. */
  window?: WindowLength | null;
  /** The account has a plan, which may pay for messages of other groups. */
  hasPlan: boolean;
  levels: Levels | null;
}

export type Answer =
  /** `amount` is held; `available` is the most that the message can be charged now, including the hold. */
  | { ok: true; kind: 'admitted'; amount: Nano; available: Nano; levels: Levels }
  /** `walletLeft`: what the payer's wallet has available now; null if it may not pay for the message. Negative with a debt. */
  | { ok: true; kind: 'extended'; amount: Nano; payer: number; walletLeft: Nano | null }
  /** `walletLeft`: the same; null if the wallet did not pay, or the message had ended before. */
  | { ok: true; kind: 'ended'; cost: Nano; writtenOff: Nano; payer: number; walletLeft: Nano | null }
  | { ok: true; kind: 'refunded'; amount: Nano; balance: Nano }
  /** `repeated`: the reference was used before and credited `amount`; nothing was added. */
  | { ok: true; kind: 'credited'; amount: Nano; balance: Nano; repeated: boolean }
  | { ok: true; kind: 'lease'; epoch: number }
  | { ok: true; kind: 'expired'; holds: number; stuck: readonly StuckHold[] }
  | { ok: true; kind: 'done' }
  | Refusal
  /** The idempotency key belongs to message `requestId`, which is running, was answered, or had a different body. */
  | { ok: false; reason: 'claim_running' | 'claim_answered' | 'claim_mismatch'; requestId: string }
  /** The hold was ended elsewhere or never existed: no success may be reported to the client. */
  | { ok: false; reason: 'ended' | 'lapsed' }
  | {
      ok: false;
      reason:
        | 'unknown_account'
        | 'unknown_key'
        | 'unknown_person'
        /** An account would be above itself, or too many accounts above one another. */
        | 'wrong_parent'
        | 'unknown_plan'
        | 'unknown_message'
        | 'beyond_maximum'
        | 'below_available';
      available?: Nano;
    }
  /** Another operation of the bundle was refused. */
  | { ok: false; reason: 'bundle_refused' };

/** `ended`: the hold was ended elsewhere, so no success may be reported to the client. */
export type Settlement =
  | { ok: true; cost: Nano; writtenOff: Nano; payer: number; walletLeft: Nano | null }
  | { ok: false; reason: 'ended' };
