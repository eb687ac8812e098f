// Searches of usage records by what no index serves, and rankings: both read a bounded number of records, a part at a time.

import { bounds } from '../config/config.ts';
import type { StoredUsageRecord } from '../ledger/ledger.ts';
import {
  cutOutcomes,
  type UsageFilter,
  type UsagePage,
  type UsageRanking,
  type UsageSearch,
  type UsageStore,
} from '../reports/reports.ts';
import {
  Bindings,
  comparePositions,
  LAST,
  numbers,
  type Position,
  type PositionRow,
  pageStarts,
  type SqlReader,
} from './sql-reader.ts';
import { readUsageRecord, type UsageTable } from './tables.ts';
import { detailPaths } from './usage-details.ts';
import {
  nearestEnd,
  ownersOf,
  readInPieces,
  readPositions,
  type ScopeOwner,
  type UsageRange,
  type UsageSource,
  usageColumnsOn,
  usageRange,
  usageScopes,
} from './usage-reads.ts';

/** The most that one answer reads. */
export interface SearchLimits {
  recordsMax: number;
  recordsAtOnce: number;
  readMsMax: number;
}

const LIMITS: SearchLimits = {
  recordsMax: bounds.usageSearchedMax,
  recordsAtOnce: bounds.usageSearchedAtOnce,
  readMsMax: bounds.usageSearchMsMax,
};

/** Those of a session are looked for in its index. Records that were not completed, or have an error, are looked for in the indexes of outcomes other than completed, which reach further back. */
export function sourcesOf(
  owners: readonly ScopeOwner[],
  {
    outcome,
    isCompleted,
    errorCode,
    status,
    session,
  }: Pick<UsageSearch, 'outcome' | 'isCompleted' | 'errorCode' | 'status' | 'session'>,
): UsageSource[] {
  if (session !== null)
    return owners.length === 0 ? [] : [{ owner: { column: 'session', id: session }, outcome: null }];
  const isOfErrors = errorCode !== null || (status !== null && status.least >= LEAST_ERROR_STATUS);
  const outcomes = outcome === null && (isOfErrors || isCompleted === false) ? cutOutcomes : [outcome];
  return owners.flatMap((owner) => outcomes.map((one) => ({ owner, outcome: one })));
}

const LEAST_ERROR_STATUS = 400;

/** The conditions of a filter on records `r` of these owners. */
export function filterConditions(
  on: SqlReader,
  bindings: Bindings,
  filter: UsageFilter & Pick<UsagePage, 'outcome'>,
  owners: readonly ScopeOwner[],
): string[] {
  const { model, modelPart, isCompleted, status, errorCode, provider, isStream, costMin, endpoint } = filter;
  const conditions = filter.session === null ? [] : sessionConditions(bindings, filter, owners);
  conditions.push(...attributionConditions(on, bindings, filter));
  if (model !== null) conditions.push(`r.model = ${bindings.add(model)}`);
  if (modelPart !== null) conditions.push(on.contains(on.lower('r.model'), bindings.add(modelPart)));
  if (isCompleted === true) conditions.push("r.outcome = 'completed'");
  if (status !== null)
    conditions.push(`r.status BETWEEN ${bindings.add(status.least)} AND ${bindings.add(status.most)}`);
  if (costMin !== null) conditions.push(`r.cost >= ${bindings.add(costMin)}`);
  if (provider !== null)
    conditions.push(`${on.jsonText('r.details', detailPaths.provider)} = ${bindings.add(provider)}`);
  if (filter.group !== null) conditions.push(`r.group_name = ${bindings.add(filter.group)}`);
  if (isStream !== null) conditions.push(`${on.jsonNumber('r.details', detailPaths.stream)} = ${isStream ? 1 : 0}`);
  if (endpoint !== null) {
    const use = on.jsonText('r.details', detailPaths.endpoint);
    conditions.push(endpoint === 'messages' ? `${use} IS NULL` : `${use} = ${bindings.add(endpoint)}`);
  }
  if (errorCode !== null)
    conditions.push(`${on.jsonText('r.details', detailPaths.errorCode)} = ${bindings.add(errorCode)}`);
  return conditions;
}

/** The index of sessions has neither owner nor outcome. */
function sessionConditions(
  bindings: Bindings,
  { outcome }: Pick<UsagePage, 'outcome'>,
  owners: readonly ScopeOwner[],
): string[] {
  const ofOutcome = outcome === null ? [] : [`r.outcome = ${bindings.add(outcome)}`];
  const [first] = owners;
  if (first == null) return ofOutcome;
  const ids = owners.map((owner) => bindings.add(owner?.id ?? null));
  return [...ofOutcome, `r.${first.column} IN (${ids.join(', ')})`];
}

function attributionConditions(on: SqlReader, bindings: Bindings, { tag, agent, person }: UsageFilter): string[] {
  const conditions: string[] = [];
  if (tag !== null)
    conditions.push(`${on.jsonText('r.details', [...detailPaths.tags, tag.name])} = ${bindings.add(tag.value)}`);
  if (agent !== null) conditions.push(`${on.jsonText('r.details', detailPaths.agent)} = ${bindings.add(agent)}`);
  if (person !== null) conditions.push(`r.person_id = ${bindings.add(person)}`);
  return conditions;
}

/** A range of records between two positions, the second inclusive; null: to the end. */
interface Part {
  start: Position;
  end: Position | null;
}

/** Parts of all sources together, until the limits. The last one has the end null if everything was read. */
export async function* readParts(
  on: SqlReader,
  sources: readonly UsageSource[],
  range: Omit<UsageRange, keyof UsageSource>,
  { recordsMax, recordsAtOnce, readMsMax }: SearchLimits,
): AsyncGenerator<Part> {
  const startedAtMs = performance.now();
  let { start } = range;
  let records = Math.min(recordsAtOnce, bounds.recordsReadFirst);
  for (let left = recordsMax; ; ) {
    const partAtMs = performance.now();
    const end = await nearestEnd(on, sources, { ...range, start }, records);
    yield { start, end: end ?? range.end ?? null };
    left -= records;
    const nowMs = performance.now();
    if (end === null || left <= 0 || nowMs - startedAtMs > readMsMax) return;
    // Records that are not in memory take a hundred times as long to read: a part takes about a fifth of the time.
    const perMs = records / Math.max(1, nowMs - partAtMs);
    const ofTime = Math.max(bounds.recordsReadLeast, Math.floor((perMs * readMsMax) / 5));
    records = Math.min(recordsAtOnce, 2 * records, ofTime, left);
    start = end;
    await on.rest();
  }
}

export function usageSearches(on: SqlReader, fewer: Partial<SearchLimits> = {}): Pick<UsageStore, 'searchUsage'> {
  const limits = { ...LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  const startOf = pageStarts(on, 'usage_records');
  return {
    async searchUsage(search) {
      const owners = ownersOf(await scopeOf(search));
      const sources = sourcesOf(owners, search);
      const { order, before, limit } = search;
      const [sinceMs, untilMs] = [search.sinceMs ?? 0, search.untilMs ?? LAST];
      const isOldest = order === 'oldest';
      const start = isOldest ? await startOfOldest(startOf, before, sinceMs) : await startOf(search);
      const range = { sinceMs, start, ...(isOldest && { untilMs }) };
      const rows: StoredUsageRecord[] = [];
      let last: Position | null = null;
      for await (const part of readParts(on, sources, range, limits)) {
        const found = await readMatches(on, sources, owners, search, { ...range, ...part });
        rows.push(...found.slice(0, limit - rows.length));
        if (rows.length === limit) return { rows, next: rows.at(-1)?.seq ?? null };
        last = part.end;
      }
      return { rows, next: last === null ? null : last[1] };
    },
  };
}

type StartOf = ReturnType<typeof pageStarts>;

/** The position after which a page from the oldest begins. */
async function startOfOldest(startOf: StartOf, before: number | null, sinceMs: number): Promise<Position> {
  const first: Position = [sinceMs - 1, LAST];
  if (before === null) return first;
  const seen = await startOf({ sinceMs: null, untilMs: null, before });
  return comparePositions(seen, first) < 0 ? seen : first;
}

async function readMatches(
  on: SqlReader,
  sources: readonly UsageSource[],
  owners: readonly ScopeOwner[],
  search: UsageSearch,
  range: Omit<UsageRange, keyof UsageSource>,
): Promise<StoredUsageRecord[]> {
  const found: StoredUsageRecord[] = [];
  for (const source of sources) {
    const bindings = new Bindings();
    const where = filterConditions(on, bindings, search, owners);
    const rows = usageRange(on, bindings, { ...range, ...source, where });
    const text = `SELECT ${usageColumnsOn(on)} ${rows} LIMIT ${bindings.add(search.limit)}`;
    found.push(...(await on.read<UsageTable>(text, ...bindings.values)).map(readUsageRecord));
  }
  const direction = search.order === 'oldest' ? -1 : 1;
  return found.sort((one, other) => direction * comparePositions([one.atMs, one.seq], [other.atMs, other.seq]));
}

/** The value of a record `r`. */
function rankedBy(on: SqlReader, by: UsageRanking['by']): string {
  if (by === 'cost') return on.number('r.cost');
  if (by === 'latency') return `COALESCE(${on.jsonNumber('r.details', detailPaths.latencyMs)}, 0)`;
  const columns = ['input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'];
  return on.number(`(${columns.map((column) => `r.${column}_tokens`).join(' + ')})`);
}

interface RankedRow extends PositionRow {
  value: number;
}

export function usageRankings(on: SqlReader, fewer: Partial<SearchLimits> = {}): Pick<UsageStore, 'rankUsage'> {
  const limits = { ...LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  return {
    async rankUsage(ranking) {
      const owners = ownersOf(await scopeOf(ranking));
      const sources = sourcesOf(owners, ranking);
      const { after, limit, order } = ranking;
      const start = after?.start ?? (await newestStart(on, ranking.untilMs ?? LAST));
      const range = { sinceMs: ranking.sinceMs ?? 0, start, end: after?.end ?? null };
      let top: RankedRow[] = [];
      let end: Position | null = null;
      // A later page compares the records that the first one did, however long that takes.
      const unlimited = { recordsMax: Number.POSITIVE_INFINITY, readMsMax: Number.POSITIVE_INFINITY };
      for await (const part of readParts(on, sources, range, { ...limits, ...(after !== null && unlimited) })) {
        for (const source of sources)
          top.push(...(await rankPart(on, ranking, owners, { ...range, ...source, ...part })));
        top = top.sort(compareRanked(order)).slice(0, limit);
        end = part.end;
      }
      const last = top.at(-1);
      const isFull = last !== undefined && top.length === limit;
      return {
        rows: await readRanked(on, top),
        next: isFull ? { start, end, value: last.value, seq: last.seq } : null,
        searchedSinceMs: end === null ? null : end[0],
      };
    },
  };
}

/** Directly before the newest record: records that arrive later are not compared. */
async function newestStart(on: SqlReader, untilMs: number): Promise<Position> {
  const bindings = new Bindings();
  const all = { owner: null, outcome: null, sinceMs: 0, start: [untilMs, LAST] } as const;
  const text = `SELECT ${numbers(on, 'at_ms', 'seq')} ${usageRange(on, bindings, all)} LIMIT 1`;
  const [newest] = await on.read<PositionRow>(text, ...bindings.values);
  return newest === undefined ? [0, 0] : [newest.at_ms, newest.seq + 1];
}

/** The highest or lowest values of a part, after the last one of the previous page. */
function rankPart(
  on: SqlReader,
  ranking: UsageRanking,
  owners: readonly ScopeOwner[],
  range: UsageRange,
): Promise<RankedRow[]> {
  const { by, order, after, limit } = ranking;
  const bindings = new Bindings();
  const rows = usageRange(on, bindings, { ...range, where: filterConditions(on, bindings, ranking, owners) });
  const [sorted, beyond] = order === 'highest' ? ['DESC', '<'] : ['ASC', '>'];
  const isLater =
    after === null ? '' : `WHERE (v.value, v.seq) ${beyond} (${bindings.add(after.value)}, ${bindings.add(after.seq)})`;
  return on.read<RankedRow>(
    `SELECT v.at_ms, v.seq, v.value FROM (SELECT ${numbers(on, 'at_ms', 'seq')}, ${rankedBy(on, by)} AS value ${rows}) v
     ${isLater} ORDER BY v.value ${sorted}, v.seq ${sorted} LIMIT ${bindings.add(limit)}`,
    ...bindings.values,
  );
}

function compareRanked(order: UsageRanking['order']) {
  const sign = order === 'highest' ? -1 : 1;
  return (one: RankedRow, other: RankedRow) => sign * (one.value - other.value || one.seq - other.seq);
}

async function readRanked(on: SqlReader, ranked: readonly RankedRow[]): Promise<StoredUsageRecord[]> {
  const records = await readInPieces(await readPositions(on, ranked));
  const bySeq = new Map(records.map((record) => [record.seq, record]));
  return ranked.flatMap(({ seq }) => bySeq.get(seq) ?? []); // retention may drop one meanwhile
}
