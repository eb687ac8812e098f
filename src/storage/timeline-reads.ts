// Usage over time. Reads are bounded in rows and time; what was not read is reported as not counted.

import { integerOf } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { type Outcome, retainedSinceNames } from '../ledger/ledger.ts';
import {
  cutOutcomes,
  NO_FILTER,
  stepMs,
  type TimelinePart,
  type TimelineQuestion,
  TimelineSum,
  timelinePart,
  type UsageStore,
  type UsageTimeline,
} from '../reports/reports.ts';
import { Bindings, LAST, type Position, type SqlReader } from './sql-reader.ts';
import { readTotal, type TotalsRow, unitSumsOf } from './totals-rows.ts';
import { hasUnits } from './totals-runs.ts';
import { HAS_UNITS } from './usage-details.ts';
import {
  findEnd,
  nearestEnd,
  ownersOf,
  recordsBetween,
  type UsageOwner,
  type UsageRange,
  usageRange,
  usageScopes,
} from './usage-reads.ts';
import { filterConditions } from './usage-searches.ts';

type Cut = Exclude<Outcome, 'completed'>;

/** A run of records of one owner, from the newest after a position. */
interface Run {
  /** null: all outcomes with sums. Otherwise only the number of records with this outcome. */
  outcome: Cut | null;
  stepMs: number;
  sinceMs: number;
  start: Position;
}

/** A part of a bucket whose newest records are read. */
interface Slice {
  bucketMs: number;
  sinceMs: number;
  untilMs: number;
  /** Maximum number of them. */
  records: number;
}

/** Limits of one timeline. */
export interface TimelineLimits {
  /** The records that one statement sums up. */
  runRows: number;
  recordsMax: number;
  cutRecordsMax: number;
  cutRecordsOfModelMax: number;
  sampledMax: number;
  slicesMax: number;
  readMsMax: number;
}

export const TIMELINE_LIMITS: TimelineLimits = {
  runRows: bounds.timelineRunRows,
  recordsMax: bounds.timelineRecordsMax,
  cutRecordsMax: bounds.timelineCutRecordsMax,
  cutRecordsOfModelMax: bounds.timelineCutRecordsOfModelMax,
  sampledMax: bounds.timelineSampledMax,
  slicesMax: bounds.timelineSlicesMax,
  readMsMax: bounds.timelineReadMsMax,
};

interface TimelineRead {
  on: SqlReader;
  question: TimelineQuestion;
  owners: readonly UsageOwner[];
  sum: TimelineSum;
  limits: TimelineLimits;
  /** The first and the last time that count. */
  firstMs: number;
  lastMs: number;
  /** Whether messages of these days have units. */
  hasUnits: boolean;
  isLate(): boolean;
}

export function timelineReads(
  on: SqlReader,
  { totalUsage }: Pick<UsageStore, 'totalUsage'>,
  fewer: Partial<TimelineLimits> = {},
): Pick<UsageStore, 'readTimeline'> {
  const limits = { ...TIMELINE_LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  const retainedSince = on.prepare<{ value: string }>('SELECT value FROM installation WHERE name = $1');
  return {
    async readTimeline(question): Promise<UsageTimeline> {
      const startedAtMs = performance.now();
      const { firstMs = question.sinceMs, lastMs = question.untilMs - 1 } = question;
      const reading: TimelineRead = {
        on,
        question,
        owners: ownersOf(await scopeOf(question)),
        sum: new TimelineSum(question, limits.recordsMax),
        limits,
        firstMs,
        lastMs,
        hasUnits: await hasUnits(on, firstMs - (firstMs % DAY_MS), lastMs),
        isLate: () => performance.now() - startedAtMs > limits.readMsMax,
      };
      const [retained] = await retainedSince(retainedSinceNames.usage);
      const retainedSinceMs = retained === undefined ? 0 : integerOf(retained.value);
      if (question.step === 'day') await addDays(reading, totalUsage, retainedSinceMs);
      else await addRecords(reading, retainedSinceMs);
      await addSample(reading, retainedSinceMs);
      return reading.sum.result();
    },
  };
}

/** Records before the last position of an unfinished index are not counted; nothing is if an index was not begun. */
async function addRecords(reading: TimelineRead, retainedSinceMs: number): Promise<void> {
  const { on, question, owners, sum, limits, firstMs, lastMs, isLate } = reading;
  const { step, untilMs } = question;
  const newest: Position = [lastMs, LAST];
  const sinceMs = () => Math.max(sum.countedSinceMs, firstMs);
  sum.countFrom(retainedSinceMs);
  if (owners.length > 1) {
    // Otherwise the first keys would be read far back in vain, because all keys together have too many records.
    const sources = owners.map((owner) => ({ owner, outcome: null }));
    const range = { sinceMs: sinceMs(), start: newest };
    const end = await nearestEnd(on, sources, range, limits.recordsMax);
    if (end !== null) sum.countFrom(end[0] + 1);
  }
  for (const [at, owner] of owners.entries()) {
    let start: Position | null = newest;
    while (start !== null && start[0] >= sinceMs()) {
      if (isLate()) return sum.countFrom(at === owners.length - 1 ? start[0] + 1 : untilMs);
      const run = { outcome: null, stepMs: stepMs[step], sinceMs: sinceMs(), start };
      const { parts, end } = await readRun(reading, owner, run);
      for (const part of parts) sum.add(part);
      start = end;
    }
  }
}

/** Days come from the totals, whatever became of the records; failures come from the records. */
async function addDays(
  reading: TimelineRead,
  totalUsage: UsageStore['totalUsage'],
  retainedSinceMs: number,
): Promise<void> {
  const { question, sum, firstMs, lastMs } = reading;
  const { sinceMs, untilMs, step: _, ...filter } = question;
  const limit = (untilMs - sinceMs) / DAY_MS;
  const days = { ...filter, groupBy: 'day', sinceMs: firstMs, untilMs: lastMs, isExact: true, limit } as const;
  const { rows, countedSinceMs } = await totalUsage(days);
  for (const total of rows) sum.add(timelinePart(total.dayMs as number, { total: { ...total, dayMs: null } }));
  sum.countFrom(countedSinceMs);
  sum.failuresFrom(retainedSinceMs);
  await addFailures(reading);
}

async function addFailures(reading: TimelineRead): Promise<void> {
  const { question, owners, sum, limits, firstMs, lastMs, isLate } = reading;
  const sinceMs = () => Math.max(sum.failedSinceMs, firstMs);
  for (const owner of owners)
    for (const outcome of cutOutcomes) {
      let left = isOfAll(question) ? limits.cutRecordsMax : limits.cutRecordsOfModelMax;
      let start: Position | null = [lastMs, LAST];
      while (start !== null && start[0] >= sinceMs()) {
        if (isLate()) return sum.failuresFrom(question.untilMs);
        if (left <= 0) {
          sum.failuresFrom(start[0] + 1);
          break;
        }
        const run = { outcome, stepMs: DAY_MS, sinceMs: sinceMs(), start };
        const { parts, end } = await readRun(reading, owner, run);
        for (const part of parts) {
          left -= part.records;
          sum.add({ ...part, records: 0 }); // the totals were not counted from records
        }
        start = end;
      }
    }
}

/** The sums of a run, and where the next one starts; null at the end. Its last record is looked up first: records may arrive meanwhile. */
async function readRun(
  { on, question, limits, hasUnits }: TimelineRead,
  owner: UsageOwner,
  { stepMs: lengthMs, ...run }: Run,
): Promise<{ parts: TimelinePart[]; end: Position | null }> {
  await on.rest();
  const end = await findEnd(on, { ...run, owner }, limits.runRows);
  const bindings = new Bindings();
  const bucket = bucketOf(on, bindings, lengthMs);
  const records = usageRange(on, bindings, { ...run, owner, end });
  const sums = run.outcome === null ? RUN_SUMS : `${on.number('COUNT(*)')} AS messages`;
  const conditions = conditionsOf(on, bindings, question);
  const [isAsked, byAsked] = isOfAll(question)
    ? ['1', '']
    : [`CASE WHEN ${conditions.join(' AND ')} THEN 1 ELSE 0 END`, ', is_asked'];
  const rows = await on.read<AskedRow>(
    `SELECT ${bucket}, ${isAsked} AS is_asked, ${sums} FROM (SELECT r.* ${records}) r GROUP BY bucket${byAsked}`,
    ...bindings.values,
  );
  const parts = rows.map((row) => partOf(row, run.outcome));
  if (hasUnits && run.outcome === null)
    parts.push(...(await readUnits(on, question, { ...run, owner, end }, lengthMs)));
  return { parts, end };
}

/** The sums of the units of a run. */
async function readUnits(
  on: SqlReader,
  question: TimelineQuestion,
  range: UsageRange,
  lengthMs: number,
): Promise<TimelinePart[]> {
  const bindings = new Bindings();
  const bucket = bucketOf(on, bindings, lengthMs);
  const where = [...conditionsOf(on, bindings, question), HAS_UNITS];
  const records = usageRange(on, bindings, { ...range, where });
  const rows = await on.read<RunRow>(unitSumsOf(on, records, bucket, 'bucket'), ...bindings.values);
  return rows.map(({ bucket: atMs, ...row }) => timelinePart(atMs, { total: readTotal(row) }));
}

function bucketOf(on: SqlReader, bindings: Bindings, lengthMs: number): string {
  return `${on.number(`(r.at_ms - r.at_ms % ${bindings.add(lengthMs)})`)} AS bucket`;
}

function isOfAll({ model, endpoint = null }: TimelineQuestion): boolean {
  return model === null && endpoint === null;
}

/** The conditions on records `r` that no index serves. */
function conditionsOf(on: SqlReader, bindings: Bindings, { model, endpoint = null }: TimelineQuestion): string[] {
  return filterConditions(on, bindings, { ...NO_FILTER, outcome: null, model, endpoint }, []);
}

type AskedRow = RunRow & { is_asked: number };

function partOf({ bucket, is_asked: isAsked, ...row }: AskedRow, outcome: Cut | null): TimelinePart {
  const records = row.messages;
  if (isAsked === 0) return timelinePart(bucket, { records });
  if (outcome !== null) return timelinePart(bucket, { records, failed: records });
  return timelinePart(bucket, { records, failed: row.failed, total: readTotal(row) });
}

/**
 * Reads all records of small buckets, and the newest of each part of others: fewer with more buckets and indexes.
 * With too many indexes, reads only some of them.
 */
async function addSample(reading: TimelineRead, retainedSinceMs: number): Promise<void> {
  const { on, question, sum, limits, lastMs, isLate } = reading;
  const lengthMs = stepMs[question.step];
  const firstMs = Math.max(sum.countedSinceMs, Math.ceil(retainedSinceMs / lengthMs) * lengthMs);
  const buckets = Math.max(1, (question.untilMs - firstMs) / lengthMs);
  const every = Math.ceil((buckets * reading.owners.length) / limits.slicesMax) || 1;
  const owners = reading.owners.filter((_, at) => at % every === 0);
  const recordsOfBucket = Math.ceil(limits.sampledMax / buckets);
  const slicesOfBucket = Math.floor(limits.slicesMax / (buckets * owners.length || 1)) || 1;
  const slicesMs = Math.ceil(lengthMs / Math.min(SLICES_OF_BUCKET_MAX, slicesOfBucket));
  const recordsOfSlice = Math.ceil((recordsOfBucket * slicesMs) / lengthMs / (owners.length || 1));
  // The number of other models' and endpoints' records in a day is unknown.
  const isCountKnown = isOfAll(question) || question.step !== 'day';
  const slices: Slice[] = [];
  for (let bucketMs = question.untilMs - lengthMs; bucketMs >= firstMs; bucketMs -= lengthMs) {
    const records = sum.recordsOf(bucketMs);
    if (records === 0) continue;
    const isWhole = isCountKnown && records <= recordsOfBucket;
    slices.push(...slicesOf(bucketMs, lengthMs, isWhole ? [lengthMs, records] : [slicesMs, recordsOfSlice]));
  }
  const counted = slices
    .map((slice) => ({
      ...slice,
      sinceMs: Math.max(slice.sinceMs, reading.firstMs),
      untilMs: Math.min(slice.untilMs, lastMs + 1),
    }))
    .filter((slice) => slice.sinceMs < slice.untilMs);
  for (let at = 0; at < counted.length; at += SLICES_AT_ONCE)
    for (const owner of owners) {
      if (isLate()) return;
      const some = counted.slice(at, at + SLICES_AT_ONCE);
      for (const part of await readSlices(on, owner, some, question)) sum.add(part);
    }
}

/** Times to first token of each slice's records. */
async function readSlices(
  on: SqlReader,
  owner: UsageOwner,
  slices: readonly Slice[],
  question: TimelineQuestion,
): Promise<TimelinePart[]> {
  await on.rest();
  const times = [
    Math.min(...slices.map((one) => one.sinceMs)),
    Math.max(...slices.map((one) => one.untilMs - 1)),
  ] as const;
  const rows = slices.map(({ bucketMs, sinceMs, untilMs, records }) => [bucketMs, sinceMs, untilMs - 1, records]);
  const found = await on.readEach<{ bucket: number; list: string | null }>(
    rows,
    ([bucket = '', sinceMs = '', lastMs = '', records = ''], bindings) => {
      const after = [lastMs, bindings.add(LAST)];
      const id = owner === null ? null : ([owner.column, bindings.add(owner.id)] as const);
      const range = recordsBetween(on, bindings, { owner: id, outcome: null, after, upTo: [sinceMs], times });
      const where = isOfAll(question) ? '' : `WHERE ${conditionsOf(on, bindings, question).join(' AND ')}`;
      return `SELECT ${on.number(bucket)} AS bucket, ${on.jsonNumbers('r.details', 'firstTokenMs')} AS list
        FROM (SELECT r.details, r.model ${range} LIMIT ${records}) r ${where}`;
    },
  );
  return found.map(({ bucket, list }) => timelinePart(bucket, { firstTokensMs: readNumbers(list ?? '[]') }));
}

/** From a JSON list, with null for messages without a token. */
function readNumbers(list: string): number[] {
  return (JSON.parse(list) as (number | null)[]).filter((ms) => ms !== null);
}

const SLICES_AT_ONCE = 20; // in one statement, if possible: more may take seconds where their records are not in memory
const SLICES_OF_BUCKET_MAX = 24; // hours of a day

function slicesOf(bucketMs: number, lengthMs: number, [slicesMs, records]: [number, number]): Slice[] {
  const count = Math.ceil(lengthMs / slicesMs);
  return Array.from({ length: count }, (_, at) => ({
    bucketMs,
    sinceMs: bucketMs + at * slicesMs,
    untilMs: bucketMs + Math.min(lengthMs, (at + 1) * slicesMs),
    records,
  }));
}

/** The sums of a bucket of a run. A run of one outcome has only the number of messages. */
export type RunRow = Omit<TotalsRow, 'count'> & { bucket: number; failed: number };

// Counts stay below 2^53, where floating-point numbers are exact; sums of amounts may not, and are returned as texts.
const asNumber = (value: string, name: string) => `CAST(COALESCE(SUM(${value}), 0) AS double precision) AS ${name}`;
const asText = (value: string, name: string) => `CAST(COALESCE(SUM(${value}), 0) AS text) AS ${name}`;

/** The sums of a RunRow over usage records. */
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
