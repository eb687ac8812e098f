// Sums of a timeline that covers a range, and their comparison with the range before it. Pure.

import type { UsageBucketShape, UsageSummaryShape, UsageTimelineShape } from '../../../src/admin-api/shapes.ts';
import { printDecimal, readDecimal } from '../../figures.ts';
import { comparedRanges, type TimeRange } from '../../range.ts';

const NANO_DIGITS = 9;

export interface PeriodSummary {
  range: TimeRange;
  /** The buckets of the range, oldest first. */
  buckets: UsageBucketShape[];
  /** Data is complete from this time on. */
  countedSince: string;
  /** False if the data of some buckets is incomplete. */
  isComplete: boolean;
  sums: Sums;
  /** Relative changes from the range before it, over complete buckets; null if unknown. */
  changes: Changes;
  /** Why nothing is compared; null if it is, or not known yet. */
  incomparable: Incomparable | null;
}

/** The range before has messages that are not known, or too many of them to count. */
export interface Incomparable {
  /** ISO 8601. */
  knownSince: string;
  previousSince: string;
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

const NO_CHANGES: Changes = { messages: null, tokens: null, cost: null };

/** `previous` sums up the range before, as `comparedRanges` has it; null while it is unknown. */
export function summarizePeriod(
  { data: buckets, counted_since }: UsageTimelineShape,
  range: TimeRange,
  previous: Pick<UsageSummaryShape, 'known_since' | 'counted_since' | 'total'> | null,
  nowMs: number,
): PeriodSummary {
  const isCounted = (bucket: UsageBucketShape) => Date.parse(bucket.at) >= Date.parse(counted_since);
  const compared = comparedRanges(range, nowMs);
  // The current bucket is incomplete and is not compared.
  const over = buckets.filter(({ at }) => compared !== null && Date.parse(at) < compared.over.untilMs);
  const knownSince = previous?.counted_since ?? previous?.known_since ?? '';
  const isKnown = previous !== null && compared !== null;
  const isComparable = isKnown && Date.parse(knownSince) <= compared.before.sinceMs && over.every(isCounted);
  return {
    range,
    buckets,
    countedSince: counted_since,
    isComplete: buckets.every(isCounted),
    sums: sumsOf(buckets.filter(isCounted)),
    changes: isComparable ? changesOf(sumsOf(over), previous.total) : NO_CHANGES,
    incomparable:
      isKnown && Date.parse(knownSince) > compared.before.sinceMs
        ? { knownSince, previousSince: new Date(compared.before.sinceMs).toISOString() }
        : null,
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

function changesOf(now: Sums, before: UsageSummaryShape['total']): Changes {
  const { input_tokens, output_tokens, cache_read_input_tokens, cache_creation_input_tokens } = before;
  const tokens = input_tokens + output_tokens + cache_read_input_tokens + cache_creation_input_tokens;
  return {
    messages: changeOf(now.messages, before.messages),
    tokens: changeOf(tokensOf(now), tokens),
    cost: changeOf(Number(now.cost), Number(before.cost)),
  };
}

/** Null if the previous value is zero. */
function changeOf(now: number, before: number): number | null {
  return before === 0 ? null : (now - before) / before;
}
