// The months that usage records stand in: their partitions are named by year and month, such as 202611.

import { DAY_MS } from '../../base/clock.ts';
import { beganAtMs } from '../../base/ids.ts';

/** Beyond it there are no dates. */
const DATE_MS_MAX = 8_640_000_000_000_000;
/** After all months. */
const NEVER = 999_999;

/** The month of a time, UTC. */
export function monthOf(atMs: number): number {
  if (atMs > DATE_MS_MAX) return NEVER;
  const date = new Date(atMs);
  return date.getUTCFullYear() * 100 + date.getUTCMonth() + 1;
}

/** The first month in which the record of a message may stand: clocks of nodes may differ by a day. 0 for what is no id of ours. */
export function earliestMonthOf(requestId: string): number {
  const atMs = beganAtMs(requestId);
  return atMs === null ? 0 : monthOf(atMs - DAY_MS);
}
