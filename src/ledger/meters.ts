// Meter arithmetic: draining rates, rolling periods, remaining amounts. Whole numbers only.

import { type Period, periodStartMs } from '../base/clock.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import type { CompanyTerms, Level, Levels, RateLimits, SpendingReading, UsageRecord } from './operation.ts';
import { chargedWindows, coversGroup, planAvailable, withPlanHeld, withRolledPlan } from './plan.ts';
import type { AccountRow, GroupRates, HoldRow, KeyRow, RateMeters, SpendingMeter } from './rows.ts';
import type { LimitLevel } from './store.ts';

export const UNITS = 60_000;

export const NO_RATES: RateMeters = Object.freeze({
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  drainedAtMs: 0,
  running: 0,
});

export const NO_LIMITS: RateLimits = Object.freeze({
  requestsPerMinute: null,
  inputTokensPerMinute: null,
  outputTokensPerMinute: null,
  concurrency: null,
});

/** The terms of an account that is in no company. */
export const NO_COMPANY: CompanyTerms = Object.freeze({
  parent: null,
  paysFrom: 'own',
  personBudget: null,
  warnsAt: Object.freeze([80, 100]),
});

const NO_GROUP_RATES: GroupRates = Object.freeze({ ...NO_RATES, limits: NO_LIMITS });

/** The account's meters in a group. `Object.hasOwn` because a group may be named "constructor". */
export function groupRates(account: AccountRow, group: string): GroupRates {
  return Object.hasOwn(account.groups, group) ? (account.groups[group] as GroupRates) : NO_GROUP_RATES;
}

/** The account's groups with one group's meters replaced. */
export function withGroupRates(
  { groups }: AccountRow,
  group: string,
  { requests, inputTokens, outputTokens, drainedAtMs, running }: RateMeters,
  limits: RateLimits,
): AccountRow['groups'] {
  const rates = { requests, inputTokens, outputTokens, drainedAtMs, running, limits };
  for (const other in groups) if (other !== group) return { ...groups, [group]: rates };
  return { [group]: rates };
}

// The rows of each message are written out field by field: copying with a spread costs several times as much.

/** The account with other meters. */
export function withMeters(
  account: AccountRow,
  balance: Nano,
  held: Nano,
  spending: SpendingMeter,
  groups: AccountRow['groups'],
  { plan, pastWindows }: Pick<AccountRow, 'plan' | 'pastWindows'> = account,
): AccountRow {
  const { id, enabled, company, creditLine, debt, reversals, lowBalances, allowance, allowancePeriod, month } = account;
  return {
    id,
    enabled,
    company,
    creditLine,
    balance,
    debt,
    held,
    plan,
    pastWindows,
    reversals,
    lowBalances,
    allowance,
    allowancePeriod,
    spending,
    month,
    groups,
  };
}

/** The key with other meters. */
export function withKeyMeters(
  key: KeyRow,
  spending: SpendingMeter,
  rates: RateMeters,
  lastUsedAtMs: number | null = key.lastUsedAtMs,
): KeyRow {
  const { id, account, person, status, expiresAtMs, quota, quotaPeriod, limits } = key;
  return { id, account, person, status, expiresAtMs, quota, quotaPeriod, spending, limits, rates, lastUsedAtMs };
}

/** The account in its current period. */
export function rolledAccount(account: AccountRow, nowMs: number): AccountRow {
  const spending = rolled(account.spending, account.allowancePeriod, nowMs);
  return withRolledPlan(spending === account.spending ? account : { ...account, spending }, nowMs);
}

/** The key in its current period. */
export function rolledKey(key: KeyRow, nowMs: number): KeyRow {
  const spending = rolled(key.spending, key.quotaPeriod, nowMs);
  return spending === key.spending ? key : { ...key, spending };
}

/**
 * The meters at `nowMs`, in a new object that the decision may change. A rate without a limit is not counted, so a limit
 * set later starts empty. If the clock moved backward, nothing drains and counting continues from `nowMs`.
 */
export function drained(meters: RateMeters, limits: RateLimits, nowMs: number): RateMeters {
  const elapsedMs = Math.max(0, nowMs - meters.drainedAtMs);
  return {
    requests: drain(meters.requests, limits.requestsPerMinute, elapsedMs),
    inputTokens: drain(meters.inputTokens, limits.inputTokensPerMinute, elapsedMs),
    outputTokens: drain(meters.outputTokens, limits.outputTokensPerMinute, elapsedMs),
    drainedAtMs: nowMs,
    running: meters.running,
  };
}

function drain(used: number, limit: number | null, elapsedMs: number): number {
  if (limit === null) return 0;
  // Beyond this time everything has drained; before it, the product is a safe integer.
  return elapsedMs * limit >= used ? 0 : used - elapsedMs * limit;
}

/** Adds a message's tokens to drained meters. May exceed the limit: a rate never stops a running message. */
export function addTokens(meters: RateMeters, limits: RateLimits, inputTokens: number, outputTokens: number): void {
  if (limits.inputTokensPerMinute !== null) meters.inputTokens = added(meters.inputTokens, inputTokens);
  if (limits.outputTokensPerMinute !== null) meters.outputTokens = added(meters.outputTokens, outputTokens);
}

/** Adds a request to drained meters. */
export function addRequest(meters: RateMeters, limits: RateLimits): void {
  if (limits.requestsPerMinute !== null) meters.requests += UNITS;
}

/** The sum, capped at the largest safe integer. */
function added(used: number, tokens: number): number {
  return Math.min(Number.MAX_SAFE_INTEGER, used + tokens * UNITS);
}

/**
 * The meter after `paid` was charged (negative: returned) and `released` is no longer held. Use without a limit may
 * grow up to the cap.
 */
export function spent(meter: SpendingMeter, paid: Nano, released: Nano): SpendingMeter {
  return {
    used: Math.min(NANO_MAX, Math.max(0, meter.used + paid)),
    held: meter.held - released,
    periodStartMs: meter.periodStartMs,
  };
}

/** The meter with `more` held. */
export function withHeld(meter: SpendingMeter, more: Nano): SpendingMeter {
  return { used: meter.used, held: meter.held + more, periodStartMs: meter.periodStartMs };
}

/** The meter in the period that contains `nowMs`. A new period resets `used` and keeps `held`. */
export function rolled(meter: SpendingMeter, period: AccountRow['allowancePeriod'], nowMs: number): SpendingMeter {
  if (period === 'total') return meter;
  const startMs = periodStartMs(period, nowMs);
  return startMs > meter.periodStartMs ? { used: 0, held: meter.held, periodStartMs: startMs } : meter;
}

/** Use of a limit before and after; null without a limit. */
export function readSpending(
  limit: Nano | null,
  period: Period,
  before: SpendingMeter,
  after: SpendingMeter,
): SpendingReading | null {
  return limit === null ? null : { limit, period, before: before.used, after: after.used };
}

/** balance + credit line − held − debt. Negative if the debt is larger. */
export function walletAvailable(account: AccountRow): Nano {
  return account.balance + account.creditLine - account.held - account.debt;
}

/** At most what one account can have. */
export function fundsLeft({ plan, wallet }: Funds): Nano {
  return Math.min(NANO_MAX, plan + Math.max(0, wallet));
}

/** The amounts that wallet and plan have left for a message in the group. The account is in its current periods. */
export interface Funds {
  plan: Nano;
  /** 0 if the wallet may not pay, because the plan covers the group without overflow; otherwise may be negative. */
  wallet: Nano;
  /** The plan covers the group, and the wallet may not pay. */
  isPlanOnly: boolean;
}

export function fundsFor(account: AccountRow, group: string, nowMs: number): Funds {
  const { plan } = account;
  if (!coversGroup(plan, group, nowMs)) return { plan: 0, wallet: walletAvailable(account), isPlanOnly: false };
  const left = planAvailable(plan);
  if (!plan.overflow) return { plan: left, wallet: 0, isPlanOnly: true };
  return { plan: left, wallet: walletAvailable(account), isPlanOnly: false };
}

/** The account with `amount` more held (negative: less), of which the plan holds `fromPlan`. */
export function withHoldOf(
  account: AccountRow,
  amount: Nano,
  fromPlan: Nano,
  groups: AccountRow['groups'],
  nowMs: number,
): AccountRow {
  const { plan, pastWindows, balance, held, spending } = account;
  const planAfter = plan === null || fromPlan === 0 ? plan : withPlanHeld(plan, fromPlan, nowMs);
  const windows = { plan: planAfter, pastWindows };
  return withMeters(account, balance, held + amount - fromPlan, withHeld(spending, amount), groups, windows);
}

/** A charge and the part of it that the plan pays; negative: returned. */
export interface Charge {
  paid: Nano;
  planPaid: Nano;
}

/** A hold that ends with a charge: its amount, the plan's part, and when the message was admitted. */
export type EndedHold = Pick<HoldRow, 'amount' | 'fromPlan' | 'openedAtMs'>;

/** The account after a charge, and after its hold ended. */
export function charged(
  account: AccountRow,
  { paid, planPaid }: Charge,
  { amount, fromPlan, openedAtMs }: EndedHold,
  groups: AccountRow['groups'],
  nowMs: number,
): AccountRow {
  const { balance, held, spending } = account;
  const windows = chargedWindows(account, { planPaid, fromPlan, ofMs: openedAtMs }, nowMs);
  const balanceAfter = balance - (paid - planPaid);
  const heldAfter = held - (amount - fromPlan);
  return withMeters(account, balanceAfter, heldAfter, spent(spending, paid, amount), groups, windows);
}

/** Returns `amount` of what was paid for a message: to the wallet first, then to the plan. As a negative charge. */
export function returned(amount: Nano, { cost, writtenOff, planPaid }: UsageRecord): Charge {
  const fromWallet = cost - writtenOff - planPaid;
  return { paid: -amount, planPaid: -Math.max(0, amount - fromWallet) };
}

/** Remaining amount of a quota or allowance; negative if the limit was lowered below what is used. */
export function spendingAvailable(limit: Nano | null, meter: SpendingMeter): Nano {
  return limit === null ? Number.MAX_SAFE_INTEGER : limit - meter.used - meter.held;
}

/** The tightest of accounts and key for each limited rate. */
export function readLevels(
  ofAccounts: readonly RateMeters[],
  groupLimits: RateLimits,
  ofKey: RateMeters,
  keyLimits: RateLimits,
  nowMs: number,
): Levels {
  const levelOf = (rate: Rate, limit: number | null, keyLimit: number | null) => {
    let level = readLevel(ofKey[rate], keyLimit, nowMs);
    for (const meters of ofAccounts) level = tighter(readLevel(meters[rate], limit, nowMs), level);
    return level;
  };
  return {
    requests: levelOf('requests', groupLimits.requestsPerMinute, keyLimits.requestsPerMinute),
    inputTokens: levelOf('inputTokens', groupLimits.inputTokensPerMinute, keyLimits.inputTokensPerMinute),
    outputTokens: levelOf('outputTokens', groupLimits.outputTokensPerMinute, keyLimits.outputTokensPerMinute),
  };
}

type Rate = 'requests' | 'inputTokens' | 'outputTokens';

/**
 * When an exhausted rate admits again; null if it is not exhausted. A message needs one whole request, and token
 * rates that are not used up: its own tokens are unknown until it ends.
 */
export function shortUntilMs(rate: Rate, used: number, limit: number | null, nowMs: number): number | null {
  if (limit === null) return null;
  const excess = used + (rate === 'requests' ? UNITS : 1) - limit * UNITS;
  if (excess <= 0) return null;
  return nowMs + (limit === 0 ? UNITS : Math.max(1, Math.ceil(excess / limit)));
}

/** Each configured limit as an admission at `nowMs` would find it. `meters` are as stored. */
export function readLimits(meters: RateMeters, limits: RateLimits, nowMs: number): LimitLevel[] {
  const now = drained(meters, limits, nowMs);
  const levels: LimitLevel[] = [];
  const add = (meter: LimitLevel['meter'], rate: Rate, limit: number | null) => {
    const level = readLevel(now[rate], limit, nowMs);
    if (level !== null) levels.push({ meter, ...level, retryAtMs: shortUntilMs(rate, now[rate], limit, nowMs) });
  };
  add('requests', 'requests', limits.requestsPerMinute);
  add('input_tokens', 'inputTokens', limits.inputTokensPerMinute);
  add('output_tokens', 'outputTokens', limits.outputTokensPerMinute);
  const { concurrency } = limits;
  if (concurrency !== null) {
    const remaining = Math.max(0, concurrency - now.running);
    // When the next slot becomes free is unknown.
    levels.push({ meter: 'concurrency', limit: concurrency, remaining, resetAtMs: null, retryAtMs: null });
  }
  return levels;
}

function readLevel(used: number, limit: number | null, nowMs: number): Level | null {
  if (limit === null) return null;
  return {
    limit,
    remaining: Math.max(0, Math.floor((limit * UNITS - used) / UNITS)),
    resetAtMs: nowMs + (limit === 0 ? UNITS : Math.ceil(used / limit)),
  };
}

function tighter(one: Level | null, other: Level | null): Level | null {
  if (one === null || other === null) return one ?? other;
  return one.remaining <= other.remaining ? one : other;
}
