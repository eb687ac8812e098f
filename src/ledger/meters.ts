// The arithmetic of meters: draining rates, rolling periods, what is left. Whole numbers only.

import { periodStartMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { Level, Levels, RateLimits } from './operation.ts';
import type { AccountRow, KeyRow, RateMeters, SpendingMeter } from './rows.ts';

export const UNITS = 60_000;

export const NO_RATES: RateMeters = Object.freeze({
  requests: 0,
  inputTokens: 0,
  outputTokens: 0,
  drainedAtMs: 0,
  running: 0,
});

/** The meters as they stand at `nowMs`. What has no limit is not counted: a limit set later begins empty. */
export function drained(meters: RateMeters, limits: RateLimits, nowMs: number): RateMeters {
  const elapsedMs = Math.max(0, nowMs - meters.drainedAtMs);
  return {
    requests: drain(meters.requests, limits.requestsPerMinute, elapsedMs),
    inputTokens: drain(meters.inputTokens, limits.inputTokensPerMinute, elapsedMs),
    outputTokens: drain(meters.outputTokens, limits.outputTokensPerMinute, elapsedMs),
    drainedAtMs: Math.max(nowMs, meters.drainedAtMs),
    running: meters.running,
  };
}

function drain(used: number, limit: number | null, elapsedMs: number): number {
  if (limit === null) return 0;
  // Past this many milliseconds everything has drained; the product stays a safe integer below it.
  return elapsedMs * limit >= used ? 0 : used - elapsedMs * limit;
}

/** Adds what a message used. Debt is allowed: a rate never stops a message that runs. */
export function withTokens(
  meters: RateMeters,
  limits: RateLimits,
  inputTokens: number,
  outputTokens: number,
): RateMeters {
  return {
    ...meters,
    inputTokens: limits.inputTokensPerMinute === null ? 0 : meters.inputTokens + inputTokens * UNITS,
    outputTokens: limits.outputTokensPerMinute === null ? 0 : meters.outputTokens + outputTokens * UNITS,
  };
}

/** The meter in the period that holds `nowMs`: what was used in an earlier one is forgotten, what is held stays. */
export function rolled(meter: SpendingMeter, period: AccountRow['allowancePeriod'], nowMs: number): SpendingMeter {
  if (period === 'total') return meter;
  const startMs = periodStartMs(period, nowMs);
  return startMs > meter.periodStartMs ? { used: 0, held: meter.held, periodStartMs: startMs } : meter;
}

/** What the wallet can still give. */
export function walletAvailable(account: AccountRow): Nano {
  return account.balance + account.creditLine - account.held;
}

/** What a quota or allowance can still give; negative when it was lowered under what is used. */
export function spendingAvailable(limit: Nano | null, meter: SpendingMeter): Nano {
  return limit === null ? Number.MAX_SAFE_INTEGER : limit - meter.used - meter.held;
}

/** The tighter of account and key for each rate that is limited. */
export function readLevels(
  accountRates: RateMeters,
  groupLimits: RateLimits,
  key: Pick<KeyRow, 'rates' | 'limits'>,
  nowMs: number,
): Levels {
  const level = (of: 'requests' | 'inputTokens' | 'outputTokens', limitOf: keyof RateLimits) =>
    tighter(
      readLevel(accountRates[of], groupLimits[limitOf], nowMs),
      readLevel(key.rates[of], key.limits[limitOf], nowMs),
    );
  return {
    requests: level('requests', 'requestsPerMinute'),
    inputTokens: level('inputTokens', 'inputTokensPerMinute'),
    outputTokens: level('outputTokens', 'outputTokensPerMinute'),
  };
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
