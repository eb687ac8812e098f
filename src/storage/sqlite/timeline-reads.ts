// Usage over time out of SQLite: a bounded run of records at a time, each in a short read of its own, with rests between as
// totals have them.

import type { Database, Statement } from 'bun:sqlite';
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
  type TimelineLimits,
  type TimelineReads,
  timelineStore,
} from '../timeline.ts';
import { ownerOf, type UsageWay } from '../usage-scope.ts';
import { IN_PAGE, NTH_OF_PAGE } from './page-order.ts';
import { prepareText } from './statements.ts';
import { usageScopes } from './usage-scope.ts';

/** `runRows` is how many records one statement sums up. */
export function timelineReads(
  database: Database,
  { totalUsage }: Pick<UsageStore, 'totalUsage'>,
  { runRows, ...limits }: { runRows: number } & Partial<TimelineLimits> = { runRows: bounds.timelineRunRows },
): Pick<UsageStore, 'readTimeline'> {
  const keptSince = prepareText(database, 'SELECT value FROM installation WHERE name = $1 LIMIT 1');
  const ways = {
    all: prepareWay(database, '', '$5 IS NULL AND'),
    account: prepareWay(database, '_of_account', 'account_id = $5 AND'),
    key: prepareWay(database, '_of_key', 'key_id = $5 AND'),
  };
  const rest = rests();
  const reads: TimelineReads = {
    totalUsage,
    scopeOf: usageScopes(database),
    async keptSinceMs() {
      const row = keptSince.get(keptSinceNames.usage) as { value: string } | null;
      return row === null ? null : Number(row.value);
    },
    async findEnd(way, { sinceMs }, start, records) {
      const last = ways[way.of].lastOf.get(sinceMs, ...start, records, ownerOf(way)) as Position | null;
      return last && ([last.at_ms, last.seq] as const);
    },
    async readRun(way, question) {
      await rest();
      return readRun(database, ways[way.of], way, question, runRows);
    },
    async readSlices(way, slices, model) {
      const parts = [];
      for (const { bucketMs, sinceMs, untilMs, records } of slices) {
        await rest();
        const values = [sinceMs, untilMs - 1, LAST, records, ownerOf(way), model];
        const { list } = ways[way.of].sample.get(...values) as { list: string };
        parts.push(timelinePart(bucketMs, { firstTokensMs: readFirstTokens(list) }));
      }
      return parts;
    },
  };
  return timelineStore(reads, limits);
}

/** $1 to $4 as of every page, $5 whose records, $6 the length of a bucket, the outcome or the model. */
function prepareWay(database: Database, suffix: string, narrowed: string) {
  const index = suffix === '' ? 'usage_in_order' : `usage${suffix}`;
  const rows = `FROM usage_records INDEXED BY ${index} WHERE ${narrowed} ${IN_PAGE}`;
  const cutWhere = `INDEXED BY cut_usage${suffix} WHERE ${narrowed} outcome = $7 AND outcome <> 'completed' AND`;
  const bucket = 'at_ms - at_ms % $6 AS bucket';
  const prepare = (text: string) => prepareText(database, text);
  const run = (columns: string) =>
    prepare(`SELECT ${bucket}${columns}, ${RUN_SUMS} FROM (SELECT * ${rows}) GROUP BY bucket${columns}`);
  const cut = (columns: string) =>
    prepare(`SELECT ${bucket}${columns}, COUNT(*) AS records
      FROM (SELECT at_ms${columns} FROM usage_records ${cutWhere} ${IN_PAGE}) GROUP BY bucket${columns}`);
  return {
    lastOf: prepare(`SELECT at_ms, seq ${rows.replace(IN_PAGE, NTH_OF_PAGE)}`),
    lastCutOf: prepare(`SELECT at_ms, seq FROM usage_records ${cutWhere} ${NTH_OF_PAGE}`),
    run: run(''),
    runByModel: run(', model'),
    cut: cut(''),
    cutByModel: cut(', model'),
    sample: prepare(`SELECT json_group_array(json_extract(details, '$.firstTokenMs')) AS list
      FROM (SELECT details, model ${rows}) WHERE $6 IS NULL OR model = $6`),
  };
}

type Prepared = ReturnType<typeof prepareWay>;

/** In one transaction: a record that comes between the two statements would be counted twice, or not at all. */
function readRun(database: Database, prepared: Prepared, way: UsageWay, question: RunQuestion, runRows: number) {
  const { outcome, model, sinceMs, place } = question;
  const values = [sinceMs, ...place, runRows, ownerOf(way)];
  const [lastOf, sums] = statementsOf(prepared, question);
  const read = database.transaction(() => {
    const last = lastOf.get(...values, ...(outcome === null ? [] : [null, outcome])) as Position | null;
    return [sums.all(...values, question.stepMs, ...(outcome === null ? [] : [outcome])), last] as const;
  });
  const [rows, last] = read();
  const parts =
    outcome === null
      ? (rows as RunRow[]).map((row) => readRunRow(row, model))
      : (rows as CutRow[]).map((row) => readCutRow(row, model));
  return { parts, next: last && ([last.at_ms, last.seq] as Place) };
}

interface Position {
  at_ms: number;
  seq: number;
}

function statementsOf(prepared: Prepared, { outcome, model }: RunQuestion): [lastOf: Statement, sums: Statement] {
  if (outcome !== null) return [prepared.lastCutOf, model === null ? prepared.cut : prepared.cutByModel];
  return [prepared.lastOf, model === null ? prepared.run : prepared.runByModel];
}

/** Between reads, once they took a while: the ledger can copy its log back then. */
function rests(): () => Promise<void> {
  let restedAtMs = performance.now();
  return async () => {
    if (performance.now() - restedAtMs < bounds.totalsStretchMs) return;
    await Bun.sleep(bounds.totalsRestMs);
    restedAtMs = performance.now();
  };
}
