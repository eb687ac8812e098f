// Sums and comparisons of a timeline that covers a period and the one before it. Pure.

import type { UsageBucketShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { printDecimal, readDecimal } from '../../figures.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const NANO_DIGITS = 9;

/** The buckets of each period. Days are in UTC, and the last bucket is the current one. */
export const periods = {
  hour: { step: 'minute', stepMs: MINUTE_MS, bucketCount: 60, everyMs: 15_000 },
  day: { step: 'hour', stepMs: HOUR_MS, bucketCount: 24, everyMs: 30_000 },
  week: { step: 'day', stepMs: DAY_MS, bucketCount: 7, everyMs: MINUTE_MS },
  month: { step: 'day', stepMs: DAY_MS, bucketCount: 30, everyMs: MINUTE_MS },
  quarter: { step: 'day', stepMs: DAY_MS, bucketCount: 90, everyMs: MINUTE_MS },
} as const;

export type OverviewPeriod = keyof typeof periods;

export function overviewPeriodOf(text: string | undefined): OverviewPeriod {
  return text !== undefined && Object.hasOwn(periods, text) ? (text as OverviewPeriod) : 'day';
}

/** The query for the period and the one before it. It is stable within a bucket, so that it can be cached. */
export function timelineQuery(period: OverviewPeriod, nowMs: number): Query {
  const { step, stepMs, bucketCount } = periods[period];
  const currentMs = Math.floor(nowMs / stepMs) * stepMs;
  return { step, since: new Date(currentMs - (2 * bucketCount - 1) * stepMs).toISOString() };
}

/** The start of the first bucket of the period. */
export function startOfPeriod(period: OverviewPeriod, nowMs: number): string {
  const { stepMs, bucketCount } = periods[period];
  const currentMs = Math.floor(nowMs / stepMs) * stepMs;
  return new Date(currentMs - (bucketCount - 1) * stepMs).toISOString();
}

export interface PeriodSummary {
  /** The buckets of the period, oldest first. */
  buckets: UsageBucketShape[];
  /** Data is complete from this time on. */
  countedSince: string;
  /** False if the data of some buckets is incomplete. */
  isComplete: boolean;
  sums: Sums;
  /** Relative changes from the previous period, over complete buckets; null if unknown. */
  changes: Changes;
}

export interface Sums {
  messages: number;
  input: number;
  output: number;
  cacheRead: number;
  cacheWritten: number;
  /** Requests that were not completed, and the share of these and refused ones of all whose outcome is counted. */
  failed: number;
  failedShare: number | null;
  /** Requests that were refused before they were accepted; null if it is not counted. */
  refused: number | null;
  cost: string;
  /** Null if all provider costs are unknown. */
  margin: string | null;
  /** The revenue that the margin excludes. */
  withoutMargin: string;
  firstTokenMsP50: number | null;
  firstTokenMsP95: number | null;
}

interface Changes {
  messages: number | null;
  tokens: number | null;
  cost: number | null;
}

export function summarizePeriod({ data, counted_since }: UsageTimelineShape, period: OverviewPeriod): PeriodSummary {
  const { bucketCount } = periods[period];
  const buckets = data.slice(-bucketCount);
  const isCounted = (bucket: UsageBucketShape) => Date.parse(bucket.at) >= Date.parse(counted_since);
  // The current bucket is incomplete and is not compared.
  const over = buckets.slice(0, -1);
  const before = data.slice(-2 * bucketCount, -bucketCount).slice(0, over.length);
  const isComparable = data.length >= 2 * bucketCount && before.every(isCounted);
  return {
    buckets,
    countedSince: counted_since,
    isComplete: buckets.every(isCounted),
    sums: sumsOf(buckets.filter(isCounted)),
    changes: isComparable ? changesOf(sumsOf(over), sumsOf(before)) : { messages: null, tokens: null, cost: null },
  };
}

function sumsOf(buckets: readonly UsageBucketShape[]): Sums {
  const sum = (figure: (bucket: UsageBucketShape) => number) => buckets.reduce((all, one) => all + figure(one), 0);
  const money = (figure: (bucket: UsageBucketShape) => string | null) =>
    buckets.reduce((all, one) => all + (readDecimal(figure(one) ?? '0', NANO_DIGITS) ?? 0n), 0n);
  const judged = buckets.filter(({ failed }) => failed !== null);
  const judgedMessages = judged.reduce((all, { messages }) => all + messages, 0);
  const failed = judged.reduce((all, one) => all + (one.failed ?? 0), 0);
  const counted = buckets.filter(({ refused }) => refused !== null);
  const refused = counted.length === 0 ? null : counted.reduce((all, one) => all + (one.refused ?? 0), 0);
  const requests = judgedMessages + (refused ?? 0);
  const isMarginKnown = buckets.some(({ margin }) => margin !== null);
  return {
    messages: sum(({ messages }) => messages),
    input: sum(({ input_tokens }) => input_tokens),
    output: sum(({ output_tokens }) => output_tokens),
    cacheRead: sum(({ cache_read_input_tokens }) => cache_read_input_tokens),
    cacheWritten: sum(({ cache_creation_input_tokens }) => cache_creation_input_tokens),
    failed,
    failedShare: requests === 0 ? null : (failed + (refused ?? 0)) / requests,
    refused,
    cost: printDecimal(
      money(({ cost }) => cost),
      NANO_DIGITS,
    ),
    margin: isMarginKnown
      ? printDecimal(
          money(({ margin }) => margin),
          NANO_DIGITS,
        )
      : null,
    withoutMargin: printDecimal(
      money(({ revenue_without_margin }) => revenue_without_margin),
      NANO_DIGITS,
    ),
    firstTokenMsP50: middleOf(buckets, ({ first_token_ms_p50 }) => first_token_ms_p50),
    firstTokenMsP95: middleOf(buckets, ({ first_token_ms_p95 }) => first_token_ms_p95),
  };
}

/** The median of the buckets' times, weighted by messages. Percentiles cannot be summed exactly. */
function middleOf(
  buckets: readonly UsageBucketShape[],
  figure: (bucket: UsageBucketShape) => number | null,
): number | null {
  const known = buckets
    .flatMap((bucket) => {
      const ms = figure(bucket);
      return ms === null ? [] : [{ ms, weight: bucket.messages }];
    })
    .sort((one, other) => one.ms - other.ms);
  const half = known.reduce((all, { weight }) => all + weight, 0) / 2;
  let passed = 0;
  for (const { ms, weight } of known) {
    passed += weight;
    if (passed >= half) return ms;
  }
  return null;
}

export function tokensOf({ input, output, cacheRead, cacheWritten }: Sums): number {
  return input + output + cacheRead + cacheWritten;
}

function changesOf(now: Sums, before: Sums): Changes {
  return {
    messages: changeOf(now.messages, before.messages),
    tokens: changeOf(tokensOf(now), tokensOf(before)),
    cost: changeOf(Number(now.cost), Number(before.cost)),
  };
}

/** Null if the previous value is zero. */
function changeOf(now: number, before: number): number | null {
  return before === 0 ? null : (now - before) / before;
}
