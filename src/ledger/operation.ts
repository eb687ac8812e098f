// What the ledger can be asked to do, and what it answers. All plain JSON values: operations
// cross a thread, and one day a wire. Ids are the internal whole numbers; amounts are nanodollars.

import type { Period } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';

export interface RateLimits {
  requestsPerMinute: number | null;
  inputTokensPerMinute: number | null;
  outputTokensPerMinute: number | null;
  concurrency: number | null;
}

/** Who answers for a hold. A hold whose owner's lease lapsed may be ended by anyone. */
export interface Owner {
  node: string;
  epoch: number;
}

export type Outcome = 'completed' | 'client_gone' | 'upstream_cut' | 'quota_cut' | 'service_cut' | 'failed';
export type UsageSource = 'reported' | 'estimated' | 'none';

/** One try of a route. */
export interface AttemptRecord {
  provider: string;
  /** The model's name at the provider. */
  model: string;
  /** The name of the credential; null where the provider takes none. Absent in records of before 0.2. */
  credential?: string | null;
  /** `answered`, or the kind of its fault. */
  result: string;
  /** The provider's; null where it gave none. */
  status: number | null;
  /** Why it failed, in words for the operator; null where it was answered. Absent in records of before 0.2. */
  reason?: string | null;
  /** When it began, since the message was received. Absent in older records. */
  startedMs?: number | null;
  /** How long it lasted until its first content or its whole answer had come, or until it failed. */
  ms: number;
}

/** Money used of a quota or an allowance in the period in which a message ended. */
export interface SpendingReading {
  limit: Nano;
  period: Period;
  before: Nano;
  after: Nano;
}

/** What a message took as it ended, of the account and the key. Null: there is no such limit. */
export interface UsageMeters {
  balance: { before: Nano; after: Nano };
  quota: SpendingReading | null;
  allowance: SpendingReading | null;
}

/** The usage record of one admitted message. `cost` and `writtenOff` are decided by the ledger. */
export interface UsageRecord {
  requestId: string;
  /** When it ended, by the ledger's time. Set by the ledger. */
  atMs: number;
  account: number;
  key: number;
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
  /** What the message cost by its price, rounded up once. */
  cost: Nano;
  /** The part of `cost` that no meter could pay. Set by the ledger. */
  writtenOff: Nano;
  /** What the provider charges for it, where the route has a cost. */
  providerCost: Nano | null;
  /** The rates applied, as decimal strings, with the multiplier. */
  rates: Record<string, string>;
  attempts: AttemptRecord[];
  /** When it was admitted, when its answer was ready to be ended, and when the first content had come: since it was received. */
  admittedMs: number | null;
  latencyMs: number;
  firstTokenMs: number | null;
  /** Set by the ledger as the message ends, and never after; null in records of before it did. */
  meters: UsageMeters | null;
}

/** What is known of a message from its beginning. */
export type MessageDraft = Pick<UsageRecord, 'model' | 'stream'>;

/** A caller's idempotency key, and the hash of what it stands for. One of each name belongs to one key. */
export interface Claim {
  name: string;
  requestHash: string;
}

export interface Admit {
  kind: 'admit';
  requestId: string;
  account: number;
  key: number;
  /** The group that sells it, and that group's limits on the account. */
  group: string;
  limits: RateLimits;
  /** What is to be held: where not all of it is there, what is there is held, */
  amount: Nano;
  /** but never less than this. Absent: all or nothing. May be above `amount`: what must be there to be paid, though less is held. */
  least?: Nano;
  owner: Owner;
  /** What the message is submitted under, so that it is answered and charged once. */
  claim?: Claim;
  /** What a record will say that is written when nobody ends the message and its hold expires. */
  draft: MessageDraft;
}

/** Takes one request from the rates and holds nothing: for calls that cost nothing. */
export interface Take {
  kind: 'take';
  account: number;
  key: number;
  group: string;
  limits: RateLimits;
}

/** Raises what is held to `amount`, or corrects it downward; `checkpoint` is what a crash would bill. */
export interface Extend {
  kind: 'extend';
  requestId: string;
  /** A word and not null, which is what becomes of a number that is none on its way to the ledger. */
  amount: Nano | 'same';
  checkpoint: UsageRecord | null;
}

/** The client is gone: its place in the concurrency limits is free at once, its hold stays. */
export interface Leave {
  kind: 'leave';
  requestId: string;
}

/** Ends a hold with a cost. `record.cost` is the cost asked for. */
export interface Settle {
  kind: 'settle';
  requestId: string;
  record: UsageRecord;
  /** Its claim is answered by this: who repeats it gets the same answer. Absent: the claim is free again. */
  isAnswer?: boolean;
}

/** Ends a hold with nothing charged. */
export interface Release {
  kind: 'release';
  requestId: string;
  record: UsageRecord;
}

export interface Credit {
  kind: 'credit';
  account: number;
  /** Negative: a correction, refused below what is available. */
  amount: Nano;
  /** `write_off`: a debt is given up; at most as much as is owed. */
  source: 'payment' | 'promotion' | 'adjustment' | 'write_off';
  /** The same reference on one account credits once; the answer has the amount that it credited. */
  reference: string | null;
  note: string | null;
}

/** Gives back some of what a message cost, at most what was paid for it. */
export interface Refund {
  kind: 'refund';
  requestId: string;
  amount: Nano | 'all';
  note: string | null;
}

/** Makes or changes an account's row: what bounds it, not what it has. */
export interface SetAccount {
  kind: 'set-account';
  account: number;
  terms: { enabled: boolean; creditLine: Nano; allowance: Nano | null; allowancePeriod: Period };
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
  } & RateLimits;
}

/** Takes or renews a node's lease. `epoch` null: a new run, whose epoch is one more than the last. */
export interface Renew {
  kind: 'renew';
  node: string;
  epoch: number | null;
  leaseMs: number;
  /** Refused where the lease has lapsed: its node is well, so it is time that leapt, and others had none to renew theirs either. */
  unlessLapsed?: boolean;
}

/** Ends every hold whose owner's lease has lapsed or whose owner's epoch is past. */
export interface Expire {
  kind: 'expire';
}

export type Operation =
  | Admit
  | Take
  | Extend
  | Leave
  | Settle
  | Release
  | Credit
  | Refund
  | SetAccount
  | SetKey
  | Renew
  | Expire;

/** Operations that are applied together or not at all, with rows of other modules in the same transaction. */
export interface Bundle {
  operations: Operation[];
  /** Rows that the store knows and the ledger does not look at. */
  alongside?: unknown[];
}

/** Which meter was short. */
export type MeterName =
  | 'wallet'
  | 'allowance'
  | 'quota'
  | 'requests'
  | 'input_tokens'
  | 'output_tokens'
  | 'concurrency';

/** One rate limit as headers show it. */
export interface Level {
  limit: number;
  remaining: number;
  /** When it will be full again. */
  resetAtMs: number;
}

/** The tightest levels over account and key, for the limits that are set. */
export interface Levels {
  requests: Level | null;
  inputTokens: Level | null;
  outputTokens: Level | null;
}

export type RefusalReason =
  | 'key_disabled'
  | 'key_expired'
  | 'account_disabled'
  | 'insufficient'
  | 'requests_rate'
  | 'input_tokens_rate'
  | 'output_tokens_rate'
  | 'concurrency'
  | 'not_owner'; // the owner's lease is gone: this node must not admit

export interface Refusal {
  ok: false;
  reason: RefusalReason;
  meter: MeterName | null;
  /** Whether the meter short was the key's own (else the account's). */
  ofKey: boolean;
  /** What could be had of a money meter. */
  available: Nano;
  /** When a rate will not be short any more. */
  retryAtMs: number | null;
  /** Only other messages' holds stand in the way: it may fit once they end. */
  behindHolds: boolean;
  levels: Levels | null;
}

export type Answer =
  /** `amount` is held; `available` is the most that could be paid for the message now, what is held among it. */
  | { ok: true; kind: 'admitted'; amount: Nano; available: Nano; levels: Levels }
  | { ok: true; kind: 'extended'; amount: Nano }
  | { ok: true; kind: 'ended'; cost: Nano; writtenOff: Nano }
  | { ok: true; kind: 'refunded'; amount: Nano; balance: Nano }
  /** `repeated`: the reference credited `amount` before, whatever was asked for now; nothing was added. */
  | { ok: true; kind: 'credited'; amount: Nano; balance: Nano; repeated: boolean }
  | { ok: true; kind: 'lease'; epoch: number }
  | { ok: true; kind: 'expired'; holds: number }
  | { ok: true; kind: 'done' }
  | Refusal
  /** The claim is of the message `requestId`: which runs, was answered, or was asked something else. */
  | { ok: false; reason: 'claim_running' | 'claim_answered' | 'claim_mismatch'; requestId: string }
  /** The hold was ended by someone else, or never was: no success may be reported to the client. */
  | { ok: false; reason: 'ended' | 'lapsed' }
  | {
      ok: false;
      reason: 'unknown_account' | 'unknown_key' | 'unknown_message' | 'beyond_maximum' | 'below_available';
      available?: Nano;
    }
  /** Another operation of its bundle was refused. */
  | { ok: false; reason: 'bundle_refused' };
