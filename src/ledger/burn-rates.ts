// Limits that are used up too fast: what was used lately, continued, exhausts a limit before its window ends. Pure arithmetic
// over readings of `used`, made now and then.

import type { Nano } from '../base/money.ts';
import type { WindowLength } from './operation.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The part of a long window that must show the same speed, so that a burst that is over is not reported. */
const SHORT_SHARE = 12;
const SHORT_MS_LEAST = 5 * MINUTE_MS;
/** Readings are kept so many times in a short window. */
const READINGS_PER_SHORT = 2;

export interface BurnLevel {
  name: 'fast' | 'slow';
  /** Percentage of the limit that is used within `longMs`. */
  percent: number;
  longMs: number;
}

/**
 * By the length of the limit's window, as alerts on error budgets with two windows (https://sre.google/workbook/alerting-on-slos/,
 * 30 November 2026). A day's and a week's leave room for work that is done in a part of each day.
 */
export const BURN_LEVELS: Readonly<Record<WindowLength, readonly [BurnLevel, BurnLevel]>> = Object.freeze({
  '5h': levels(20, 15 * MINUTE_MS, 50, HOUR_MS),
  day: levels(25, HOUR_MS, 50, 4 * HOUR_MS),
  week: levels(10, HOUR_MS, 25, 6 * HOUR_MS),
  month: levels(5, HOUR_MS, 10, 6 * HOUR_MS),
});

function levels(fast: number, fastMs: number, slow: number, slowMs: number): readonly [BurnLevel, BurnLevel] {
  return Object.freeze([
    { name: 'fast', percent: fast, longMs: fastMs },
    { name: 'slow', percent: slow, longMs: slowMs },
  ] as const);
}

/** The use of a window, at one time. */
export interface UseReading {
  /** When the window began: nothing of it was used before. */
  startMs: number;
  used: Nano;
}

interface Reading {
  atMs: number;
  used: Nano;
}

/** Readings of one window, by level the oldest first. At most 25 of each level. */
export class UseReadings {
  #startMs = Number.NaN;
  readonly #ofLevel: readonly [Reading[], Reading[]] = [[], []];

  /** Adds a reading. One that is lower, after a reset or a refund, begins anew. */
  add(length: WindowLength, { startMs, used }: UseReading, nowMs: number): void {
    for (const [at, { longMs }] of BURN_LEVELS[length].entries()) {
      const readings = this.#ofLevel[at] as Reading[];
      const last = readings.at(-1);
      if (startMs !== this.#startMs) readings.splice(0, readings.length, { atMs: startMs, used: 0 });
      else if (last !== undefined && used < last.used) readings.length = 0;
      addReading(readings, { atMs: nowMs, used }, longMs);
    }
    this.#startMs = startMs;
  }

  /**
   * The amount that is known to have been used since `sinceMs`, by the readings of a level: not more than was used. `fromMs`: since
   * when, at or after `sinceMs`.
   */
  usedSince(level: 0 | 1, sinceMs: number, used: Nano): { spent: Nano; fromMs: number } {
    const first = this.#ofLevel[level].find(({ atMs }) => atMs >= sinceMs);
    if (first === undefined) return { spent: 0, fromMs: sinceMs };
    return { spent: Math.max(0, used - first.used), fromMs: first.atMs };
  }
}

function addReading(readings: Reading[], reading: Reading, longMs: number): void {
  const { atMs, used } = reading;
  const old = readings.findIndex((one) => one.atMs >= atMs - longMs);
  readings.splice(0, old < 0 ? readings.length : old);
  const last = readings.at(-1);
  // Nothing was used since: the latest of equal readings says most.
  if (last !== undefined && last.used === used) last.atMs = atMs;
  else if (last === undefined || atMs - last.atMs >= shortOf(longMs) / READINGS_PER_SHORT) readings.push(reading);
}

function shortOf(longMs: number): number {
  return Math.max(longMs / SHORT_SHARE, SHORT_MS_LEAST);
}

export interface Burn {
  level: BurnLevel;
  /** Known to have been used within the level's window. */
  spent: Nano;
  /** When the limit is exhausted at this speed. Before the window ends. */
  exhaustedAtMs: number;
}

/** A limit with its use in a window that ends. */
export interface BurningLimit extends UseReading {
  length: WindowLength;
  limit: Nano;
  endsAtMs: number;
}

/** The burn of a limit at its fastest level, by the readings of its window, the present one included; null: it lasts, or is exhausted. */
export function burnOf(
  readings: UseReadings,
  { length, limit, used, endsAtMs }: BurningLimit,
  nowMs: number,
): Burn | null {
  if (used >= limit || nowMs >= endsAtMs) return null;
  for (const at of [0, 1] as const) {
    const level = BURN_LEVELS[length][at];
    const { percent, longMs } = level;
    // Divided first: the product of a limit and a percentage may exceed a safe integer.
    const neededIn = (ms: number) => (limit / 100) * percent * (ms / longMs);
    const { spent } = readings.usedSince(at, nowMs - longMs, used);
    const latest = readings.usedSince(at, nowMs - shortOf(longMs), used);
    if (spent === 0 || spent < neededIn(longMs)) continue;
    if (latest.spent === 0 || latest.spent < neededIn(nowMs - latest.fromMs)) continue;
    const exhaustedAtMs = nowMs + Math.ceil((limit - used) / (spent / longMs));
    if (exhaustedAtMs < endsAtMs) return { level, spent, exhaustedAtMs };
  }
  return null;
}
