// Limits that are used up too fast: at which speeds they are reported, and that nothing is reported that is not known.

import { describe, expect, test } from 'bun:test';
import { DAY_MS, monthStartMs, periodStartMs } from '../../../src/base/clock.ts';
import { BURN_LEVELS, type Burn, burnOf, UseReadings } from '../../../src/ledger/ledger.ts';
import { makeRandom } from '../../support/random.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const LIMIT = 100_000_000_000;
/** A Monday, the second day of a month of 30 days. */
const MONDAY_MS = Date.UTC(2026, 10, 2);

type Length = keyof typeof BURN_LEVELS;
const LENGTHS = Object.keys(BURN_LEVELS) as Length[];
const LENGTH_MS: Record<Length, number> = { '5h': 5 * HOUR_MS, day: DAY_MS, week: 7 * DAY_MS, month: 30 * DAY_MS };

interface Use {
  length: Length;
  startMs?: number;
  endsAtMs?: number;
  /** When reading begins, and how long it lasts. */
  fromMs: number;
  forMs: number;
  /** The part of the limit that is used at a time after `fromMs`, since the window began. */
  usedAt(elapsedMs: number): number;
}

/** The levels that burn in one of the readings, made once a minute, after `sinceMs`. */
function reportsOf(
  { length, startMs = MONDAY_MS, endsAtMs = startMs + LENGTH_MS[length], ...use }: Use,
  sinceMs = 0,
): Map<string, Burn> {
  const readings = new UseReadings();
  const found = new Map<string, Burn>();
  for (let elapsedMs = 0; elapsedMs <= use.forMs; elapsedMs += MINUTE_MS) {
    const nowMs = use.fromMs + elapsedMs;
    const used = Math.floor(use.usedAt(elapsedMs) * LIMIT);
    readings.add(length, { startMs, used }, nowMs);
    const burn = burnOf(readings, { length, limit: LIMIT, startMs, used, endsAtMs }, nowMs);
    if (burn !== null && elapsedMs >= sinceMs && !found.has(burn.level.name)) found.set(burn.level.name, burn);
  }
  return found;
}

const speedOf = (length: Length, level: 0 | 1) => {
  const { percent, longMs } = BURN_LEVELS[length][level];
  return percent / 100 / longMs;
};

describe.each(LENGTHS)('a limit of a window of %s', (length) => {
  const longMs = BURN_LEVELS[length][1].longMs;

  test('burns at the speed of a level, within the time of the level', () => {
    for (const level of [0, 1] as const) {
      const { name, longMs: ofLevel } = BURN_LEVELS[length][level];
      const speed = 1.2 * speedOf(length, level);
      const found = reportsOf({ length, fromMs: MONDAY_MS, forMs: ofLevel, usedAt: (ms) => speed * ms });
      expect([...found.keys()]).toContain(name);
      const spent = found.get(name)?.spent ?? 0;
      expect(spent).toBeGreaterThanOrEqual((LIMIT * BURN_LEVELS[length][level].percent) / 100);
      expect(spent).toBeLessThanOrEqual(speed * ofLevel * LIMIT);
    }
  });

  test('does not burn below the speed of the slow level, nor when it is used evenly over its window', () => {
    for (const speed of [0.95 * speedOf(length, 1), 1 / LENGTH_MS[length]]) {
      const usedAt = (ms: number) => Math.min(1, speed * ms);
      expect([
        ...reportsOf({ length, fromMs: MONDAY_MS, forMs: LENGTH_MS[length] - MINUTE_MS, usedAt }).keys(),
      ]).toEqual([]);
    }
  });

  test('does not burn after a burst that is over, although the long window still has it', () => {
    const percent = BURN_LEVELS[length][0].percent / 100;
    const usedAt = (ms: number) => (ms < MINUTE_MS ? 0 : percent);
    const burst = { length, fromMs: MONDAY_MS, usedAt };
    expect([...reportsOf({ ...burst, forMs: MINUTE_MS }).keys()]).toContain('fast');
    const after = { ...burst, forMs: 8 * MINUTE_MS };
    expect(reportsOf(after, after.forMs).size).toBe(0);
  });

  test('does not burn if what is left lasts until the window ends', () => {
    const endsAtMs = MONDAY_MS + longMs + 2 * MINUTE_MS;
    const usedAt = (ms: number) => (0.5 * ms) / longMs;
    const startMs = endsAtMs - LENGTH_MS[length];
    const fromMs = MONDAY_MS;
    const found = reportsOf({ length, startMs, endsAtMs, fromMs, forMs: longMs, usedAt });
    for (const { exhaustedAtMs } of found.values()) expect(exhaustedAtMs).toBeLessThan(endsAtMs);
    expect(reportsOf({ length, startMs, endsAtMs: MONDAY_MS + 1, fromMs, forMs: longMs, usedAt }).size).toBe(0);
  });
});

test('a month whose budget lasts for its working days is not reported on any of them', () => {
  const startMs = monthStartMs(MONDAY_MS, 0);
  const workingDays = 21;
  const usedAt = (ms: number) => {
    let used = 0;
    for (let day = 0; day * DAY_MS <= ms; day++) {
      const weekday = new Date(MONDAY_MS + day * DAY_MS).getUTCDay();
      const worked = Math.min(8 * HOUR_MS, Math.max(0, ms - day * DAY_MS - 8 * HOUR_MS));
      if (weekday >= 1 && weekday <= 5) used += worked / (8 * HOUR_MS) / workingDays;
    }
    return used;
  };
  const endsAtMs = monthStartMs(MONDAY_MS, -1);
  const found = reportsOf({ length: 'month', startMs, endsAtMs, fromMs: MONDAY_MS, forMs: 14 * DAY_MS, usedAt });
  expect([...found.keys()]).toEqual([]);
});

test('use from before the first reading does not count, except since the beginning of the window', () => {
  const startMs = periodStartMs('month', MONDAY_MS);
  const late = { length: 'month', startMs, fromMs: MONDAY_MS, forMs: 2 * HOUR_MS, usedAt: () => 0.6 } as const;
  expect(reportsOf(late).size).toBe(0);
  const young = { ...late, startMs: MONDAY_MS - 4 * MINUTE_MS };
  expect(reportsOf(young).get('fast')?.spent).toBe(0.6 * LIMIT);
});

test('a reset or a refund begins anew, and a limit that is exhausted is not reported', () => {
  const resetAt = HOUR_MS;
  const base = { length: 'day', fromMs: MONDAY_MS, forMs: resetAt + 50 * MINUTE_MS } as const;
  const usedAt = (ms: number) => (ms < resetAt ? 0.5 : (0.4 * (ms - resetAt)) / HOUR_MS);
  expect([...reportsOf({ ...base, usedAt }, resetAt).keys()]).toEqual(['fast']);
  expect(reportsOf({ ...base, usedAt: (ms) => (ms === 0 ? 0 : 1) }).size).toBe(0);
});

test('the known use never exceeds what was used, in random histories', () => {
  const random = makeRandom(7);
  for (let run = 0; run < 300; run++) {
    const length = LENGTHS[run % LENGTHS.length] as Length;
    const readings = new UseReadings();
    const history: { atMs: number; used: number }[] = [{ atMs: MONDAY_MS, used: 0 }];
    let [nowMs, used] = [MONDAY_MS, 0];
    for (let step = 0; step < 200; step++) {
      nowMs += Math.ceil(random() * 4) * MINUTE_MS;
      if (random() < 0.5) used += Math.floor(random() * 1_000);
      history.push({ atMs: nowMs, used });
      readings.add(length, { startMs: MONDAY_MS, used }, nowMs);
      for (const level of [0, 1] as const) {
        const sinceMs = nowMs - BURN_LEVELS[length][level].longMs * random();
        const before = history.findLast(({ atMs }) => atMs <= sinceMs)?.used ?? 0;
        expect(readings.usedSince(level, sinceMs, used).spent).toBeLessThanOrEqual(used - before);
      }
    }
  }
});
