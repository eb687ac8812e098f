// Usage over time, put together of reads that every database has in its own way. What is read is bounded by rows and by time,
// and what was not is said to be uncounted.

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config.ts';
import {
  type Outcome,
  stepMs,
  type TimelinePart,
  type TimelineQuestion,
  TimelineSum,
  timelinePart,
  type UsageStore,
  type UsageTimeline,
} from '../ledger/ledger.ts';
import { LAST, type Place } from './page-place.ts';
import { latestEnd } from './search-usage.ts';
import { type Narrowing, type UsageScope, type UsageWay, waysInto } from './usage-scope.ts';

type Cut = Exclude<Outcome, 'completed'>;

const CUT = ['client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const satisfies Cut[];

/** Records of one way after a place, newest first, some at a time. */
export interface RunQuestion {
  /** Null: of all outcomes, with their sums. Of one that is not, nothing but their number. */
  outcome: Cut | null;
  model: string | null;
  stepMs: number;
  sinceMs: number;
  place: Place;
}

export interface TimelineRun {
  parts: TimelinePart[];
  /** After which the next run begins; null: there is none. */
  next: Place | null;
}

/** A part of a bucket, of which the newest records are looked at. */
export interface Slice {
  bucketMs: number;
  sinceMs: number;
  untilMs: number;
  /** How many of them. */
  records: number;
}

export interface TimelineReads extends Pick<UsageStore, 'totalUsage'> {
  scopeOf(asked: Narrowing): Promise<UsageScope>;
  /** From when on all records are there; null: nothing was ever dropped. */
  keptSinceMs(): Promise<number | null>;
  /** The record that is so many after the start, on its way; null: there are fewer. */
  findEnd(way: UsageWay, asked: { sinceMs: number }, start: Place, records: number): Promise<Place | null>;
  readRun(way: UsageWay, question: RunQuestion): Promise<TimelineRun>;
  /** The first tokens of the records of each slice. */
  readSlices(way: UsageWay, slices: readonly Slice[], model: string | null): Promise<TimelinePart[]>;
}

/** What one timeline reads at most. */
export interface TimelineLimits {
  recordsMax: number;
  cutRecordsMax: number;
  cutRecordsOfModelMax: number;
  sampledMax: number;
  slicesMax: number;
  readMsMax: number;
}

const LIMITS: TimelineLimits = {
  recordsMax: bounds.timelineRecordsMax,
  cutRecordsMax: bounds.timelineCutRecordsMax,
  cutRecordsOfModelMax: bounds.timelineCutRecordsOfModelMax,
  sampledMax: bounds.timelineSampledMax,
  slicesMax: bounds.timelineSlicesMax,
  readMsMax: bounds.timelineReadMsMax,
};

interface Reading {
  reads: TimelineReads;
  question: TimelineQuestion;
  ways: readonly UsageWay[];
  sum: TimelineSum;
  limits: TimelineLimits;
  isLate(): boolean;
}

export function timelineStore(
  reads: TimelineReads,
  fewer: Partial<TimelineLimits> = {},
): Pick<UsageStore, 'readTimeline'> {
  const limits = { ...LIMITS, ...fewer };
  return {
    async readTimeline(question): Promise<UsageTimeline> {
      const startedAtMs = performance.now();
      const reading: Reading = {
        reads,
        question,
        ways: waysInto(await reads.scopeOf(question)),
        sum: new TimelineSum(question, limits.recordsMax),
        limits,
        isLate: () => performance.now() - startedAtMs > limits.readMsMax,
      };
      const keptSinceMs = (await reads.keptSinceMs()) ?? 0;
      if (question.step === 'day') await addDays(reading, keptSinceMs);
      else await addRecords(reading, keptSinceMs);
      await addSample(reading, keptSinceMs);
      return reading.sum.result();
    },
  };
}

/** What came before the last place of an unfinished way is not counted, and where a further way was not begun, nothing is. */
async function addRecords(reading: Reading, keptSinceMs: number): Promise<void> {
  const { reads, question, ways, sum, limits, isLate } = reading;
  const { model, step, untilMs } = question;
  sum.countFrom(keptSinceMs);
  if (ways.length > 1) {
    // Else the first keys would be read far back, in vain: together they have too many.
    const start: Place = [untilMs - 1, LAST];
    const end = await latestEnd(reads, ways, { sinceMs: sum.countedSinceMs }, { start, records: limits.recordsMax });
    if (end !== null) sum.countFrom(end[0] + 1);
  }
  for (const [at, way] of ways.entries()) {
    let place: Place | null = [untilMs - 1, LAST];
    while (place !== null && place[0] >= sum.countedSinceMs) {
      if (isLate()) return sum.countFrom(at === ways.length - 1 ? place[0] + 1 : untilMs);
      const asked = { outcome: null, model, stepMs: stepMs[step], sinceMs: sum.countedSinceMs, place };
      const { parts, next }: TimelineRun = await reads.readRun(way, asked);
      for (const part of parts) sum.add(part);
      place = next;
    }
  }
}

/** Days are whole, whatever became of their records; how many failed is told by those. */
async function addDays(reading: Reading, keptSinceMs: number): Promise<void> {
  const { reads, question, sum } = reading;
  const { sinceMs, untilMs, step: _, ...narrowing } = question;
  const limit = (untilMs - sinceMs) / DAY_MS;
  const days = { ...narrowing, groupBy: 'day', sinceMs, untilMs: untilMs - 1, limit } as const;
  for (const total of (await reads.totalUsage(days)).rows)
    sum.add(timelinePart(total.dayMs as number, { total: { ...total, dayMs: null } }));
  sum.failuresFrom(keptSinceMs);
  await addFailures(reading);
}

async function addFailures({ reads, question, ways, sum, limits, isLate }: Reading): Promise<void> {
  const { model, untilMs } = question;
  for (const way of ways)
    for (const outcome of CUT) {
      let left = model === null ? limits.cutRecordsMax : limits.cutRecordsOfModelMax;
      let place: Place | null = [untilMs - 1, LAST];
      while (place !== null && place[0] >= sum.failedSinceMs) {
        if (isLate()) return sum.failuresFrom(untilMs);
        if (left <= 0) {
          sum.failuresFrom(place[0] + 1);
          break;
        }
        const asked = { outcome, model, stepMs: DAY_MS, sinceMs: sum.failedSinceMs, place };
        const { parts, next }: TimelineRun = await reads.readRun(way, asked);
        for (const part of parts) {
          left -= part.records;
          sum.add({ ...part, records: 0 }); // the totals were not counted from records
        }
        place = next;
      }
    }
}

/**
 * Looks at all records of a bucket that has few, and of others at the newest of each part: at the fewer the more buckets, and
 * ways, there are; where there are too many ways, at some of them.
 */
async function addSample(reading: Reading, keptSinceMs: number): Promise<void> {
  const { reads, question, sum, limits, isLate } = reading;
  const lengthMs = stepMs[question.step];
  const firstMs = Math.max(sum.countedSinceMs, Math.ceil(keptSinceMs / lengthMs) * lengthMs);
  const buckets = Math.max(1, (question.untilMs - firstMs) / lengthMs);
  const every = Math.ceil((buckets * reading.ways.length) / limits.slicesMax) || 1;
  const ways = reading.ways.filter((_, at) => at % every === 0);
  const recordsOfBucket = Math.ceil(limits.sampledMax / buckets);
  const slicesOfBucket = Math.floor(limits.slicesMax / (buckets * ways.length || 1)) || 1;
  const slicesMs = Math.ceil(lengthMs / Math.min(SLICES_OF_BUCKET_MAX, slicesOfBucket));
  const recordsOfSlice = Math.ceil((recordsOfBucket * slicesMs) / lengthMs / (ways.length || 1));
  // Of a model's days it is not known how many records of others there are.
  const isCountKnown = question.model === null || question.step !== 'day';
  const slices: Slice[] = [];
  for (let bucketMs = question.untilMs - lengthMs; bucketMs >= firstMs; bucketMs -= lengthMs) {
    const records = sum.recordsOf(bucketMs);
    if (records === 0) continue;
    const isWhole = isCountKnown && records <= recordsOfBucket;
    slices.push(...slicesOf(bucketMs, lengthMs, isWhole ? [lengthMs, records] : [slicesMs, recordsOfSlice]));
  }
  for (let at = 0; at < slices.length; at += SLICES_AT_ONCE)
    for (const way of ways) {
      if (isLate()) return;
      const some = slices.slice(at, at + SLICES_AT_ONCE);
      for (const part of await reads.readSlices(way, some, question.model)) sum.add(part);
    }
}

const SLICES_AT_ONCE = 100; // in one statement, where that is possible
const SLICES_OF_BUCKET_MAX = 24; // of a day the hours

function slicesOf(bucketMs: number, lengthMs: number, [slicesMs, records]: [number, number]): Slice[] {
  const count = Math.ceil(lengthMs / slicesMs);
  return Array.from({ length: count }, (_, at) => ({
    bucketMs,
    sinceMs: bucketMs + at * slicesMs,
    untilMs: bucketMs + Math.min(lengthMs, (at + 1) * slicesMs),
    records,
  }));
}

/** A run's rows as a database gives them: sums of a bucket, and of one model where that matters. */
export interface RunRow {
  bucket: number;
  model?: string;
  messages: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  costed_messages: number;
  cost: string;
  written_off: string;
  provider_cost: string;
  costed_revenue: string;
}

// Counts stay below 2^53, up to which floating numbers are exact; sums of amounts need not, and come as texts.
const asNumber = (value: string, name: string) => `CAST(COALESCE(SUM(${value}), 0) AS double precision) AS ${name}`;
const asText = (value: string, name: string) => `CAST(COALESCE(SUM(${value}), 0) AS text) AS ${name}`;

/** What of records is summed up, in the columns of a RunRow. */
export const RUN_SUMS = [
  'CAST(COUNT(*) AS double precision) AS messages',
  asNumber("CASE WHEN outcome = 'completed' THEN 0 ELSE 1 END", 'failed'),
  asNumber('input_tokens', 'input_tokens'),
  asNumber('output_tokens', 'output_tokens'),
  asNumber('cache_read_tokens', 'cache_read_tokens'),
  asNumber('cache_write_5m_tokens + cache_write_1h_tokens', 'cache_write_tokens'),
  asNumber('CASE WHEN provider_cost IS NULL THEN 0 ELSE 1 END', 'costed_messages'),
  asText('cost', 'cost'),
  asText('written_off', 'written_off'),
  asText('provider_cost', 'provider_cost'),
  asText('CASE WHEN provider_cost IS NULL THEN 0 ELSE cost - written_off END', 'costed_revenue'),
].join(', ');

export function readRunRow(row: RunRow, model: string | null): TimelinePart {
  if (model !== null && row.model !== model) return timelinePart(row.bucket, { records: row.messages });
  const total = {
    dayMs: null,
    account: null,
    key: null,
    model: null,
    messages: row.messages,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    cacheReadTokens: row.cache_read_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    cost: BigInt(row.cost),
    writtenOff: BigInt(row.written_off),
    providerCost: BigInt(row.provider_cost),
    costedMessages: row.costed_messages,
    costedRevenue: BigInt(row.costed_revenue),
  };
  return timelinePart(row.bucket, { records: row.messages, failed: row.failed, total });
}

/** The rows of a run of what was cut short. */
export interface CutRow {
  bucket: number;
  model?: string;
  records: number;
}

export function readCutRow({ bucket, model, records }: CutRow, asked: string | null): TimelinePart {
  return timelinePart(bucket, { records, failed: asked === null || model === asked ? records : 0 });
}

/** Of a JSON list, which has null where a message had no token. */
export function readFirstTokens(list: string): number[] {
  return (JSON.parse(list) as (number | null)[]).filter((ms) => ms !== null);
}
