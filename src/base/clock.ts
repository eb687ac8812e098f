// Time in milliseconds since 1970 UTC. Periods are UTC; weeks start on Monday.

/** A source of time. `nowMs` never goes backward within one clock. */
export interface Clock {
  nowMs(): number;
}

export type Period = 'total' | 'day' | 'week' | 'month';

export const DAY_MS = 86_400_000;
const MONDAY_OFFSET_MS = 4 * DAY_MS; // 1970-01-01 was a Thursday: the first Monday came four days later.

/** The machine's clock. Set back, it runs at half speed until the machine catches up. Tests replace the sources. */
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

/** The start of the period that contains `atMs`; 0 for `total`, which has only one period. */
export function periodStartMs(period: Period, atMs: number): number {
  if (period === 'total') return 0;
  if (period === 'day') return Math.floor(atMs / DAY_MS) * DAY_MS;
  if (period === 'week') return Math.floor((atMs - MONDAY_OFFSET_MS) / (7 * DAY_MS)) * 7 * DAY_MS + MONDAY_OFFSET_MS;
  if (!(atMs >= latestMonth.startMs && atMs < latestMonth.endMs))
    latestMonth = { startMs: monthStartMs(atMs, 0), endMs: monthStartMs(atMs, -1) };
  return latestMonth.startMs;
}

/** Nearly all questions are about the current month. */
let latestMonth = { startMs: 0, endMs: 0 };

/** The start of the month `monthsBefore` months before the one that contains `atMs`. */
export function monthStartMs(atMs: number, monthsBefore: number): number {
  const date = new Date(atMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - monthsBefore, 1);
}

/** The fewest days that `months` consecutive months can have. */
export function leastDaysOf(months: number): number {
  const days = Array.from({ length: 12 }, (_, month) => {
    // From 2097 on, because 2100 is no leap year: no other consecutive months are shorter.
    return (Date.UTC(2097, month + months, 1) - Date.UTC(2097, month, 1)) / DAY_MS;
  });
  return Math.min(...days);
}

/** The end of the period that contains `atMs`; null for `total`. */
export function periodEndMs(period: Period, atMs: number): number | null {
  if (period === 'total') return null;
  const startMs = periodStartMs(period, atMs);
  if (period === 'day') return startMs + DAY_MS;
  if (period === 'week') return startMs + 7 * DAY_MS;
  return monthStartMs(startMs, -1);
}

const shownDay = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeZone: 'UTC' });
const shownTime = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });

/** Shows a time to people, in milliseconds or ISO 8601: "Nov 30, 2026, 2:04 PM UTC", as the console does. Other text is as it is. */
export function showTime(at: number | string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? String(at) : `${shownTime.format(date).replace('\u202f', ' ')} UTC`;
}

/** Shows a UTC day, "2026-11-30", to people: "Nov 30, 2026". Other text is as it is. */
export function showDay(day: string): string {
  const date = new Date(day);
  return Number.isNaN(date.getTime()) ? day : shownDay.format(date);
}
