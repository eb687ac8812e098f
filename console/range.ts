// The one definition of time ranges: every page, list, chart, link and export of the console asks for the times that this file
// returns. A range is in the address, as the name of one or as "SINCE..UNTIL". Named ranges consist of whole minutes, hours or
// days, the current one included. Days and months are in UTC, like the daily totals, statements and budgets, so that people in
// different time zones see the same numbers. Pure: the current time is a parameter.

import type { UsageTimelineShape } from '../src/admin-api/shapes.ts';
import { formatTime, formatUtcDay, nameOfZone } from './times.ts';

export type Step = UsageTimelineShape['step'];

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const stepMs: Readonly<Record<Step, number>> = {
  minute: MINUTE_MS,
  five_minutes: 5 * MINUTE_MS,
  hour: HOUR_MS,
  day: DAY_MS,
};

/** The number of steps of each range, the current one included. */
const lengths = {
  '1h': { step: 'minute', steps: 60 },
  '24h': { step: 'hour', steps: 24 },
  '7d': { step: 'day', steps: 7 },
  '30d': { step: 'day', steps: 30 },
  '90d': { step: 'day', steps: 90 },
  '365d': { step: 'day', steps: 365 },
} as const satisfies Record<string, { step: Step; steps: number }>;

/** In display order. */
export const rangeLabels = {
  '1h': 'Last hour',
  '24h': 'Last 24 hours',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
  '90d': 'Last 90 days',
  '365d': 'Last 12 months',
  month: 'This month',
  last_month: 'Last month',
} as const;

export type RangeName = keyof typeof rangeLabels;

export const DEFAULT_RANGE = '7d';
/** The longest range: a chart has at most 400 days. */
const DAYS_MAX = 400;

export interface TimeRange {
  name: RangeName | 'custom';
  /** As it is in the address. */
  text: string;
  sinceMs: number;
  /** Exclusive; null: until now. */
  untilMs: number | null;
  /** The buckets of its charts. */
  step: Step;
}

/** The range of a text in the address; the default one if it is missing, unknown or empty. */
export function rangeOf(text: string | undefined, nowMs: number): TimeRange {
  if (text === undefined) return namedRange(DEFAULT_RANGE, nowMs);
  if (Object.hasOwn(rangeLabels, text)) return namedRange(text as RangeName, nowMs);
  const [since, until = ''] = text.split('..');
  const [sinceMs, untilMs] = [timeOf(since), until === '' ? null : timeOf(until)];
  if (sinceMs === null || sinceMs >= (untilMs ?? nowMs)) return namedRange(DEFAULT_RANGE, nowMs);
  return customRange(Math.max(sinceMs, (untilMs ?? nowMs) - DAYS_MAX * DAY_MS), untilMs, nowMs);
}

function namedRange(name: RangeName, nowMs: number): TimeRange {
  if (name === 'month') return { name, text: name, sinceMs: monthStartMs(nowMs, 0), untilMs: null, step: 'day' };
  if (name === 'last_month') {
    const [sinceMs, untilMs] = [monthStartMs(nowMs, -1), monthStartMs(nowMs, 0)];
    return { name, text: name, sinceMs, untilMs, step: 'day' };
  }
  const { step, steps } = lengths[name];
  return { name, text: name, sinceMs: startOf(nowMs, step) - (steps - 1) * stepMs[step], untilMs: null, step };
}

/** `untilMs` is exclusive; null: until now. */
export function customRange(sinceMs: number, untilMs: number | null, nowMs: number): TimeRange {
  const lengthMs = (untilMs ?? nowMs) - sinceMs;
  const step =
    lengthMs <= 2 * HOUR_MS
      ? 'minute'
      : lengthMs <= 12 * HOUR_MS
        ? 'five_minutes'
        : lengthMs <= 2 * DAY_MS
          ? 'hour'
          : 'day';
  return { name: 'custom', text: rangeText(sinceMs, untilMs), sinceMs, untilMs, step };
}

/** The text of a range in the address. */
export function rangeText(sinceMs: number, untilMs: number | null): string {
  return `${isoOf(sinceMs)}..${untilMs === null ? '' : isoOf(untilMs)}`;
}

/** The text of a day in UTC, "2026-11-22", in the address. */
export function rangeOfDay(day: string): string {
  const sinceMs = Date.parse(day);
  return rangeText(sinceMs, sinceMs + DAY_MS);
}

/** The text of a month in UTC, "2026-11", in the address. */
export function rangeOfMonth(month: string): string {
  const sinceMs = Date.parse(`${month}-01`);
  return rangeText(sinceMs, monthStartMs(sinceMs, 1));
}

/** The month in UTC, "2026-11", of the last moment of a range that has passed. */
export function monthOfRange({ untilMs }: TimeRange, nowMs: number): string {
  return new Date(Math.min((untilMs ?? nowMs + 1) - 1, nowMs)).toISOString().slice(0, 7);
}

/** Parameters of all lists and reports of the API, whose `until` is the last time that counts. */
export function rangeQuery({ sinceMs, untilMs }: Pick<TimeRange, 'sinceMs' | 'untilMs'>): {
  since: string;
  until?: string;
} {
  return {
    since: new Date(sinceMs).toISOString(),
    ...(untilMs !== null && { until: new Date(untilMs - 1).toISOString() }),
  };
}

/** The start of the step that includes a time. */
export function startOf(atMs: number, step: Step): number {
  return Math.floor(atMs / stepMs[step]) * stepMs[step];
}

/** The part of a range that buckets cover, as a text for the address. */
export function rangeOfBucket({ sinceMs, untilMs }: TimeRange, at: string, lengthMs: number, count = 1): string {
  const startMs = Date.parse(at);
  const endMs = startMs + count * lengthMs;
  return rangeText(Math.max(startMs, sinceMs), Math.min(endMs, untilMs ?? endMs));
}

/** The whole steps of a range that have passed, and as many before it; null if none has passed. */
export function comparedRanges(
  range: TimeRange,
  nowMs: number,
): Record<'over' | 'before', { sinceMs: number; untilMs: number }> | null {
  const { sinceMs } = range;
  const untilMs = range.untilMs ?? startOf(nowMs, range.step);
  return untilMs <= sinceMs ? null : { over: { sinceMs, untilMs }, before: precedingRange(range, nowMs, untilMs) };
}

/** The time before a range that is as long as it is until a time, by default until now; of a month, from the start of the one before. */
export function precedingRange(
  { name, sinceMs, untilMs: endMs, step }: TimeRange,
  nowMs: number,
  untilMs = endMs ?? nowMs,
): { sinceMs: number; untilMs: number } {
  const ofMonth = name === 'month' || name === 'last_month';
  const wholeMs = endMs === null ? startOf(nowMs, step) + stepMs[step] - sinceMs : untilMs - sinceMs;
  const beforeMs = ofMonth ? monthStartMs(sinceMs, -1) : sinceMs - wholeMs;
  return {
    sinceMs: beforeMs,
    untilMs: name === 'last_month' ? sinceMs : Math.min(sinceMs, beforeMs + untilMs - sinceMs),
  };
}

/** "Nov 24 – Nov 30 (UTC)" for days in UTC; otherwise times in the zone. */
export function describeRange(
  { sinceMs, untilMs }: Pick<TimeRange, 'sinceMs' | 'untilMs'>,
  nowMs: number,
  zone: string,
): string {
  const isOfDays = sinceMs % DAY_MS === 0 && (untilMs ?? 0) % DAY_MS === 0;
  if (isOfDays) {
    const [first, last] = [formatUtcDay(isoOf(sinceMs)), formatUtcDay(isoOf((untilMs ?? nowMs + 1) - 1))];
    return `${first === last ? first : `${first} – ${last}`} (UTC)`;
  }
  const last = untilMs === null ? 'now' : formatTime(untilMs, 'moment', zone);
  return `${formatTime(sinceMs, 'moment', zone)} – ${last} (${nameOfZone(zone)})`;
}

/** "Cost (last 7 days)". */
export function costLabel({ name }: TimeRange): string {
  return `Cost (${name === 'custom' ? 'custom range' : rangeLabels[name].toLowerCase()})`;
}

function monthStartMs(atMs: number, months: number): number {
  const at = new Date(atMs);
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + months, 1);
}

/** "2026-11-22T18:26Z" if it is a whole minute. */
function isoOf(atMs: number): string {
  return new Date(atMs).toISOString().replace(/(?::00)?\.000Z$/, 'Z');
}

/** null if it is not a time. */
function timeOf(text = ''): number | null {
  const ms = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? null : ms;
}
