// Rows of refused requests and of attempts at routes: their statements and their reads, the same for both databases. No
// account and no key are 0.

import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import type { LimitScope } from '../errors.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import type {
  FrequentRefusal,
  RefusalCount,
  RefusalFilter,
  RefusalGrouping,
  RefusalQuestion,
  RefusalStore,
  RefusalTotal,
  RouteHour,
  RouteHourStore,
  StoredRefusal,
} from '../traffic/traffic.ts';
import type { CoCommittedStatement } from './co-committed.ts';
import { gatherRefusals } from './gather-refusals.ts';
import { keysOfActor } from './keys-of-actor.ts';
import { readRows } from './readable-rows.ts';
import {
  Bindings,
  columnsAs,
  LAST,
  newestFirst,
  numbers,
  type Position,
  type PositionRow,
  pageStarts,
  type SqlReader,
} from './sql-reader.ts';
import { documents, readStored, refusalScope } from './stored-documents.ts';
import { usageScopes } from './usage-reads.ts';

export type TrafficRow = { table: 'refusals'; add: RefusalCount } | { table: 'route_hours'; put: RouteHour };

export type TrafficStore = RefusalStore & RouteHourStore;
type TrafficReads = Omit<TrafficStore, keyof ReturnType<typeof trafficWrites>>;

export function trafficStatement(row: TrafficRow): CoCommittedStatement {
  return row.table === 'refusals' ? addRefusal(row.add) : putRouteHour(row.put);
}

/** Status, message and scope are those of the latest refusal, on whatever node. */
function addRefusal(refusal: RefusalCount): CoCommittedStatement {
  const { atMs, account, key, code, status, count, lastAtMs, message, scope = null } = refusal;
  const latest = (column: string) =>
    `${column} = CASE WHEN excluded.last_at_ms < refusals.last_at_ms THEN refusals.${column} ELSE excluded.${column} END`;
  return {
    text: `INSERT INTO refusals (at_ms, account_id, key_id, code, status, count, last_at_ms, message, scope)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
       ON CONFLICT (at_ms, key_id, account_id, code) DO UPDATE SET count = refusals.count + excluded.count,
         ${['status', 'last_at_ms', 'message', 'scope'].map(latest).join(', ')}`,
    values: [atMs, account ?? 0, key ?? 0, code, status, count, lastAtMs, message, scope],
  };
}

function putRouteHour({ atMs, model, provider, upstreamModel, source, counts }: RouteHour): CoCommittedStatement {
  return {
    text: `INSERT INTO route_hours (at_ms, model, provider, upstream_model, source, document)
       VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (at_ms, model, provider, upstream_model, source) DO UPDATE SET document = excluded.document`,
    values: [atMs, model, provider, upstreamModel, source, JSON.stringify(counts)],
  };
}

export function trafficWrites(gate: LedgerGate): Pick<TrafficStore, 'addRefusals' | 'putRouteHours'> {
  const submit = async (coCommitted: TrafficRow[]) => {
    if (coCommitted.length > 0) await gate.submit({ operations: [], coCommitted });
  };
  return {
    addRefusals: (counts) => submit(counts.map((add) => ({ table: 'refusals', add }))),
    putRouteHours: (hours) => submit(hours.map((put) => ({ table: 'route_hours', put }))),
  };
}

type RefusalTable = StoredRefusal & { account: number; key: number };

function readRefusal(row: RefusalTable): StoredRefusal {
  return { ...row, account: row.account || null, key: row.key || null };
}

/** All of them are reports: they read more than a page, or wait for no request. */
export function trafficReads(on: SqlReader): TrafficReads {
  const startOf = pageStarts(on, 'refusals');
  const findScope = usageScopes(on);
  const integers = ['seq', 'atMs', 'account', 'key', 'status', 'count', 'lastAtMs'];
  const columns = columnsAs(on, 'r', integers, ['code', 'message']);
  return {
    async listRefusals({ limit, ...page }) {
      const bindings = new Bindings();
      const range = refusalRange(on, bindings, page, { after: await startOf(page), upTo: [page.sinceMs ?? 0] });
      const text = `SELECT ${columns} ${range} LIMIT ${bindings.add(limit)}`;
      return (await on.read<RefusalTable>(text, ...bindings.values)).map(readRefusal);
    },
    totalRefusals: (question) => gatherRefusals(sumAccounts(on, findScope, question), question),
    async listFrequentRefusals({ sinceMs, least, limit }) {
      const bindings = new Bindings();
      const everything = { account: null, key: null, madeBy: null, code: null };
      const range = refusalRange(on, bindings, everything, { after: [LAST, LAST], upTo: [sinceMs] });
      const text = `SELECT ${columnsAs(on, 'r', ['account', 'key'], ['code'])}, ${SUMS},
        ${on.number('MIN(r.at_ms)')} AS "firstAtMs", MAX(r.message) AS message,
        MIN(r.scope) AS scope FROM (SELECT r.* ${range}) r
        GROUP BY r.account_id, r.key_id, r.code HAVING SUM(r.count) >= ${bindings.add(least)}`;
      const rows = await on.read<TotalTable & Omit<FrequentRefusal, 'scope'> & { scope: string | null }>(
        text,
        ...bindings.values,
      );
      return rows
        .map(({ firstAtMs, message, scope, ...total }) => ({
          ...readTotal(total),
          firstAtMs,
          message,
          scope: scope === null ? scopeIn(message) : refusalScope.read(scope),
        }))
        .sort((one, other) => other.count - one.count)
        .slice(0, limit);
    },
    async findRefusalsBeyond(rows) {
      const bindings = new Bindings();
      const everything = { account: null, key: null, madeBy: null, code: null };
      const range = refusalRange(on, bindings, everything, { after: [LAST, LAST], upTo: [0] });
      const text = `SELECT ${columnsAs(on, 'r', ['atMs'], [])} ${range} LIMIT 1 OFFSET ${bindings.add(rows)}`;
      return (await on.read<{ atMs: number }>(text, ...bindings.values))[0] ?? null;
    },
    listRouteHours: routeHourReads(on),
  };
}

/** Rows of versions before 29 have no scope: the words of their messages tell it. */
function scopeIn(message: string): LimitScope | null {
  const isHeld = message.includes('messages in progress');
  if (/\bthis key\b|\bwhose key this is\b/.test(message)) return isHeld ? 'key_held' : 'key';
  return isHeld ? 'account_held' : null;
}

/** Rows of a filter between two positions, newest first, by the index of the key or the account. */
function refusalRange(
  on: SqlReader,
  bindings: Bindings,
  { account, key, madeBy, code }: Omit<RefusalFilter, 'sinceMs' | 'untilMs'>,
  { after, upTo }: { after: Position; upTo: readonly number[] },
): string {
  const bind = (value: string | number) => bindings.add(value);
  const ofPage = newestFirst(bindings, { sinceMs: null, start: after });
  const isOf = (column: string, value: number | null) => (value === null ? [] : [[column, bind(value)] as const]);
  const [ofKey, ofAccount] = [isOf('key_id', key), isOf('account_id', account)];
  const equal = key === null ? ofAccount : ofKey;
  const where = [
    ...(key === null ? [] : ofAccount.map(([column, value]) => `r.${column} = ${value}`)),
    ...(code === null ? [] : [`r.code = ${bind(code)}`]),
    ...(madeBy === null ? [] : [`r.key_id IN (${selectKeysOf(madeBy, bind)})`]),
  ];
  const index =
    key !== null ? 'refusals_of_key' : account !== null ? 'refusals_of_account' : ('refusals_in_order' as const);
  return on.range({ ...ofPage, table: 'refusals', index, equal, upTo: upTo.map(bind), where }, bindings);
}

function selectKeysOf(actor: string, bind: (value: string | number) => string): string {
  const { column, value, where } = keysOfActor(actor);
  const conditions = [`k.${column} = ${bind(value)}`, ...where.map((one) => one.replace('r.', 'k.'))];
  return `SELECT k.id FROM keys k WHERE ${conditions.join(' AND ')}`;
}

const SUMS = `CAST(SUM(r.count) AS double precision) AS count,
  CAST(MAX(r.last_at_ms) AS double precision) AS "lastAtMs"`;

/** Members that it is not grouped by are missing. */
type TotalTable = Partial<RefusalTotal> & Pick<RefusalTotal, 'count' | 'lastAtMs'>;

function readTotal({ atMs = null, account, key, code = null, ...sums }: TotalTable): RefusalTotal {
  return { ...sums, atMs, account: account || null, key: key || null, code };
}

/** Whole numbers are divided without a rest. */
function ofLength(ms: number) {
  const start = `(r.at_ms / ${ms} * ${ms})`;
  return (on: SqlReader) => ({ shown: `${on.number(start)} AS "atMs"`, by: start });
}

const GROUPS: Readonly<Record<RefusalGrouping, (on: SqlReader) => { shown: string; by: string }>> = {
  code: () => ({ shown: 'r.code', by: 'r.code' }),
  key: (on) => ({ shown: columnsAs(on, 'r', ['account', 'key'], []), by: 'r.account_id, r.key_id' }),
  account: (on) => ({ shown: columnsAs(on, 'r', ['account'], []), by: 'r.account_id' }),
  minute: (on) => ({ shown: columnsAs(on, 'r', ['atMs'], []), by: 'r.at_ms' }),
  five_minutes: ofLength(300_000),
  hour: ofLength(3_600_000),
  day: ofLength(DAY_MS),
};

/** The rows of one account after the other, where those below one count. */
async function* sumAccounts(
  on: SqlReader,
  findScope: ReturnType<typeof usageScopes>,
  question: RefusalQuestion,
): AsyncGenerator<RefusalTotal[]> {
  const { account, below = false, key } = question;
  const scope = below && key === null ? await findScope({ account, below, key, madeBy: null }) : null;
  if (scope?.of !== 'accounts') return yield* sumRuns(on, question);
  for (const one of scope.accounts) yield* sumRuns(on, { ...question, account: one });
}

/** Adds up a bounded run of rows per statement. The last row of a run is looked up first. */
async function* sumRuns(on: SqlReader, question: RefusalQuestion): AsyncGenerator<RefusalTotal[]> {
  const { shown, by } = GROUPS[question.groupBy](on);
  const end = [question.sinceMs ?? 0];
  for (let after: Position = [question.untilMs ?? LAST, LAST]; ; await on.rest()) {
    const lookUp = new Bindings();
    const rows = refusalRange(on, lookUp, question, { after, upTo: end });
    const found = `SELECT ${numbers(on, 'at_ms', 'seq')} ${rows} LIMIT 1 OFFSET ${lookUp.add(bounds.refusalRunRows - 1)}`;
    const [last] = await on.read<PositionRow>(found, ...lookUp.values);
    const bindings = new Bindings();
    const upTo = last === undefined ? end : [last.at_ms, last.seq];
    const run = refusalRange(on, bindings, question, { after, upTo });
    const text = `SELECT ${shown}, ${SUMS} FROM (SELECT r.* ${run}) r GROUP BY ${by}`;
    yield (await on.read<TotalTable>(text, ...bindings.values)).map(readTotal);
    if (last === undefined) return;
    after = [last.at_ms, last.seq];
  }
}

type RouteHourTable = Omit<RouteHour, 'counts'> & { document: string };

function routeHourReads(on: SqlReader): RouteHourStore['listRouteHours'] {
  const columns = columnsAs(on, 'r', ['atMs'], ['model', 'provider', 'upstreamModel', 'source', 'document']);
  const since = on.prepare<RouteHourTable>(`SELECT ${columns} FROM route_hours r WHERE r.at_ms >= $1 LIMIT $2`);
  return async (sinceMs) =>
    readRows(
      on,
      await since(sinceMs, bounds.routeHoursReadMax),
      ({ atMs, model }) => `${atMs} ${model}`,
      ({ document, ...hour }) => ({ ...hour, counts: readStored(documents.routeCounts, document) }),
    );
}
