// When a failed delivery is tried again: soon at first, then ever more seldom, over three days.

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** After each failed attempt; 71.6 hours in all. */
const DELAYS_MS = [
  5_000,
  30_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  12 * HOUR_MS,
  18 * HOUR_MS,
];

/** When to try again after that many attempts; null: never. `random` is in [0, 1): retries of many do not come at once. */
export function nextTryMs(tries: number, nowMs: number, random: number): number | null {
  const delay = DELAYS_MS[tries - 1];
  return delay === undefined ? null : nowMs + Math.round(delay * (0.95 + random * 0.1));
}
