// Divides a range of times into whole days, whose daily totals are added up, and the parts of days at its ends, whose records are.

import { DAY_MS } from '../base/clock.ts';

/** Both inclusive. */
export interface Times {
  sinceMs: number | null;
  untilMs: number | null;
}

/** Times between two moments. */
export interface Edge extends Times {
  sinceMs: number;
  untilMs: number;
}

export interface DividedRange {
  /** null: the range has no whole day. */
  days: Times | null;
  /** The latest first. */
  edges: Edge[];
}

/** null as a time: without this end. */
export function divideRange({ sinceMs, untilMs }: Times): DividedRange {
  const [first, end] = [sinceMs ?? 0, (untilMs ?? Number.MAX_SAFE_INTEGER) + 1];
  if (end <= first) return { days: null, edges: [] };
  const firstDayMs = Math.ceil(first / DAY_MS) * DAY_MS;
  const endDayMs = untilMs === null ? end : Math.floor(end / DAY_MS) * DAY_MS;
  if (firstDayMs >= endDayMs) return { days: null, edges: [{ sinceMs: first, untilMs: end - 1 }] };
  const edges: Edge[] = [];
  if (endDayMs < end) edges.push({ sinceMs: endDayMs, untilMs: end - 1 });
  if (first < firstDayMs) edges.push({ sinceMs: first, untilMs: firstDayMs - 1 });
  return { days: { sinceMs: firstDayMs, untilMs: untilMs === null ? null : endDayMs - 1 }, edges };
}
