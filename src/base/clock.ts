// Time as a value. Milliseconds since 1970 UTC everywhere; periods are UTC and weeks begin on Monday.

/** A source of time. `nowMs` never goes backward within one clock. */
export interface Clock {
  nowMs(): number;
}

export type Period = 'total' | 'day' | 'week' | 'month';

export const DAY_MS = 86_400_000;
const MONDAY_OFFSET_MS = 4 * DAY_MS; // 1970-01-01 was a Thursday: the first Monday came four days later.

/**
 * The machine's clock. Where the machine is set back it goes on at half speed until it is caught up with:
 * never backward, and never held still. `read` and `elapse` are the machine's, but for tests.
 */
export function systemClock(read: () => number = Date.now, elapse: () => number = () => performance.now()): Clock {
  let latestMs = 0;
  let latestElapsedMs = elapse();
  return {
    nowMs() {
      const elapsedMs = elapse();
      latestMs = Math.max(read(), latestMs + (elapsedMs - latestElapsedMs) / 2);
      latestElapsedMs = elapsedMs;
      return Math.floor(latestMs);
    },
  };
}

/** A clock that a test sets. */
export function manualClock(startMs: number): Clock & { advance(ms: number): void } {
  let currentMs = startMs;
  return {
    nowMs: () => currentMs,
    advance(ms) {
      currentMs += ms;
    },
  };
}

/** The start of the period that holds `atMs`; 0 for `total`, which has one period only. */
export function periodStartMs(period: Period, atMs: number): number {
  if (period === 'total') return 0;
  if (period === 'day') return Math.floor(atMs / DAY_MS) * DAY_MS;
  if (period === 'week') return Math.floor((atMs - MONDAY_OFFSET_MS) / (7 * DAY_MS)) * 7 * DAY_MS + MONDAY_OFFSET_MS;
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}

/** The start of the month that is so many before the one that holds `atMs`. */
export function monthStartMs(atMs: number, monthsBefore: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - monthsBefore, 1);
}

/** The fewest days that so many months in a row can have. */
export function leastDaysOf(months: number): number {
  const days = Array.from({ length: 12 }, (_, month) => {
    // From 2097 on, since 2100 is no leap year: nowhere near are months in a row shorter.
    return (Date.UTC(2097, month + months, 1) - Date.UTC(2097, month, 1)) / DAY_MS;
  });
  return Math.min(...days);
}

/** When the period that holds `atMs` ends; null for `total`. */
export function periodEndMs(period: Period, atMs: number): number | null {
  if (period === 'total') return null;
  const startMs = periodStartMs(period, atMs);
  if (period === 'day') return startMs + DAY_MS;
  if (period === 'week') return startMs + 7 * DAY_MS;
  const date = new Date(startMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
