// How long the money of an account lasts: one forecast, which every page and the list of what needs attention show. Pure.

import { exactNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';

export const forecastStates = ['refused', 'exhausted', 'plan', 'parent', 'not_used', 'lasts'] as const;

export interface Forecast {
  state: (typeof forecastStates)[number];
  /** Used per day, without write-offs. */
  costPerDay: bigint;
  /** Days until the available amount is used up; null without use, or if others pay. */
  daysLeft: number | null;
}

export interface ForecastFacts {
  /** Balance and credit line, without holds. */
  available: Nano;
  /** Its requests are being refused. */
  isRefused: boolean;
  /** The plan, or the account above, pays first. */
  paidBy: 'plan' | 'parent' | null;
  createdAtMs: number;
  /** Cost without write-offs since then. */
  used: bigint;
  sinceMs: number;
}

/** The pace is that since `sinceMs`, or since the account was created; of a day at least. */
export function forecastOf(facts: ForecastFacts, nowMs: number): Forecast {
  const { available, isRefused, paidBy, createdAtMs, used, sinceMs } = facts;
  const elapsedMs = Math.max(DAY_MS, nowMs - Math.max(sinceMs, createdAtMs));
  const costPerDay = (used * BigInt(DAY_MS)) / BigInt(elapsedMs);
  const isUsed = costPerDay > 0n;
  const left = isUsed ? exactNumber((BigInt(Math.max(0, available)) * 100n) / costPerDay) / 100 : null;
  const state = isRefused ? 'refused' : (paidBy ?? (available <= 0 ? 'exhausted' : isUsed ? 'lasts' : 'not_used'));
  return { state, costPerDay, daysLeft: paidBy === null ? left : null };
}

/** The start of the days whose use makes the pace: days of UTC, the current one included. */
export function paceSinceMs(days: number, nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) - (days - 1)) * DAY_MS;
}
