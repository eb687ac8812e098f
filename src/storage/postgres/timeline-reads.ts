// Usage over time out of PostgreSQL: a bounded run of records at a time, each in a statement of its own.

import { bounds } from '../../config.ts';
import { keptSinceNames, timelinePart, type UsageStore } from '../../ledger/ledger.ts';
import { LAST, type Place } from '../page-place.ts';
import {
  type CutRow,
  RUN_SUMS,
  type RunQuestion,
  type RunRow,
  readCutRow,
  readFirstTokens,
  readRunRow,
  type Slice,
  type TimelineLimits,
  type TimelineReads,
  type TimelineRun,
  timelineStore,
} from '../timeline.ts';
import { ownerOf, type UsageWay } from '../usage-scope.ts';
import { inPage } from './page-order.ts';
import type { Reader } from './read-pool.ts';
import { monthOf } from './usage-months.ts';
import { narrowedTo, usageScopes } from './usage-scope.ts';
import { endText } from './usage-search.ts';

/** `runRows` is how many records one statement sums up. */
export function timelineReads(
  reader: Reader,
  { totalUsage }: Pick<UsageStore, 'totalUsage'>,
  { runRows, ...limits }: { runRows: number } & Partial<TimelineLimits> = { runRows: bounds.timelineRunRows },
): Pick<UsageStore, 'readTimeline'> {
  const reads: TimelineReads = {
    totalUsage,
    scopeOf: usageScopes(reader),
    async keptSinceMs() {
      const [row] = await reader.read<{ value: string }>(KEPT_SINCE, keptSinceNames.usage);
      return row === undefined ? null : Number(row.value);
    },
    async findEnd(way, { sinceMs }, start, records) {
      const values = [sinceMs, ...start, records - 1, monthOf(sinceMs), monthOf(start[0])];
      const owner = ownerOf(way);
      const text = endText(way, null);
      const [last] = await reader.read<Position>(text, ...values, ...(owner === null ? [] : [owner]));
      return last === undefined ? null : [last.at_ms, last.seq];
    },
    readRun: (way, question) => readRun(reader, way, question, runRows),
    readSlices: (way, slices, model) => readSlices(reader, way, slices, model),
  };
  return timelineStore(reads, limits);
}

const KEPT_SINCE = 'SELECT value FROM installation WHERE name = $1';

interface Position {
  at_ms: number;
  seq: number;
}

/** The place of the last record of the whole run, and how many it has. */
interface LastOfRun {
  last_at_ms: number;
  last_seq: number;
  run_rows: number;
}

async function readRun(reader: Reader, way: UsageWay, question: RunQuestion, runRows: number): Promise<TimelineRun> {
  const { outcome, model, sinceMs, place } = question;
  const values = [sinceMs, ...place, runRows, monthOf(sinceMs), monthOf(place[0]), question.stepMs];
  const narrowed = [ownerOf(way), outcome].filter((value) => value !== null);
  const rows = await reader.read<(RunRow | CutRow) & LastOfRun>(runText(way, question), ...values, ...narrowed);
  const [first] = rows;
  const isFull = first !== undefined && first.run_rows >= runRows;
  const next: Place | null = isFull ? [first.last_at_ms, first.last_seq] : null;
  const parts = rows.map((row) => ('records' in row ? readCutRow(row, model) : readRunRow(row, model)));
  return { parts, next };
}

// $1 to $4 as of every page, $5 and $6 the months, $7 the length of a bucket; then whose records, and the outcome.
function runText(way: UsageWay, { outcome, model }: RunQuestion): string {
  const narrowed = narrowedTo(way, outcome).map((column, at) => [column, `$${at + 8}`] as const);
  const cut = outcome === null ? '' : "AND r.outcome <> 'completed'";
  const byModel = model === null ? '' : ', t.model';
  const sums = outcome === null ? RUN_SUMS : 'COUNT(*)::float8 AS records';
  const columns = outcome === null ? 'r.*' : `r.at_ms, r.seq${model === null ? '' : ', r.model'}`;
  return `
    WITH run AS MATERIALIZED (
      SELECT ${columns} FROM usage_records r WHERE r.month BETWEEN $5 AND $6 ${cut} AND ${inPage(narrowed)}),
    last AS (SELECT r.at_ms, r.seq FROM run r ORDER BY r.at_ms, r.seq LIMIT 1),
    size AS (SELECT COUNT(*)::float8 AS rows FROM run r)
    SELECT (t.at_ms - t.at_ms % $7)::float8 AS bucket${byModel}, ${sums},
      l.at_ms::float8 AS last_at_ms, l.seq::float8 AS last_seq, s.rows AS run_rows
    FROM run t CROSS JOIN last l CROSS JOIN size s
    GROUP BY t.at_ms - t.at_ms % $7${byModel}, l.at_ms, l.seq, s.rows`;
}

async function readSlices(reader: Reader, way: UsageWay, slices: readonly Slice[], model: string | null) {
  const columns = [
    slices.map(({ bucketMs }) => bucketMs),
    slices.map(({ sinceMs }) => sinceMs),
    slices.map(({ untilMs }) => untilMs - 1),
    slices.map(({ sinceMs }) => monthOf(sinceMs)),
    slices.map(({ records }) => records),
  ].map((values) => `{${values.join(',')}}`);
  const owner = ownerOf(way);
  const values = [LAST, ...columns, model, ...(owner === null ? [] : [owner])];
  const found = await reader.read<{ bucket: number; list: string }>(sliceText(way), ...values);
  return found.map(({ bucket, list }) => timelinePart(bucket, { firstTokensMs: readFirstTokens(list) }));
}

// A slice lies in one month. $1 is above every number, $2 to $6 are the slices, $7 the model; then whose.
function sliceText(way: UsageWay): string {
  const narrowed = narrowedTo(way, null).map((column) => [column, '$8'] as const);
  const within = inPage(narrowed, { since: 'k.since_ms', at: 'k.at_ms', seq: '$1', limit: 'k.records' });
  return `
    SELECT k.bucket::float8 AS bucket, json_agg((p.details::json ->> 'firstTokenMs')::float8)::text AS list
    FROM unnest($2::text::bigint[], $3::text::bigint[], $4::text::bigint[], $5::text::int[], $6::text::bigint[])
      k (bucket, since_ms, at_ms, month, records)
    CROSS JOIN LATERAL (
      SELECT r.details, r.model FROM usage_records r WHERE r.month = k.month AND ${within}) p
    WHERE $7::text IS NULL OR p.model = $7 GROUP BY k.bucket`;
}
