// Refused requests and attempts at routes in memory.

import { isKeyOf } from '../../../src/accounts/accounts.ts';
import { gatherRefusals } from '../../../src/storage/gather-refusals.ts';
import type { ReportReads } from '../../../src/storage/stores.ts';
import type { TrafficRow } from '../../../src/storage/traffic-rows.ts';
import type {
  FrequentRefusal,
  RefusalCount,
  RefusalFilter,
  RefusalGrouping,
  RefusalTotal,
} from '../../../src/traffic/traffic.ts';
import { isBelow } from './read-store.ts';
import type { MemoryTables } from './tables.ts';

export function writeTraffic({ refusals, routeHours }: MemoryTables, row: TrafficRow): void {
  if (row.table === 'route_hours') {
    const { put } = row;
    routeHours.set(`${put.atMs} ${put.model} ${put.provider} ${put.upstreamModel} ${put.source}`, put);
    return;
  }
  const { add } = row;
  const name = nameOf(add);
  const before = [...refusals.values()].find((one) => nameOf(one) === name);
  const seq = before?.seq ?? Math.max(0, ...refusals.keys()) + 1;
  const latest = before !== undefined && before.lastAtMs > add.lastAtMs ? before : add;
  refusals.set(seq, { ...latest, seq, count: (before?.count ?? 0) + add.count });
}

function nameOf({ atMs, account, key, code }: RefusalCount): string {
  return `${atMs} ${account} ${key} ${code}`;
}

type TrafficReads = Pick<
  ReportReads,
  'listRefusals' | 'totalRefusals' | 'listFrequentRefusals' | 'findRefusalsBeyond' | 'listRouteHours'
>;

export function trafficReads(tables: MemoryTables): TrafficReads {
  const { refusals, routeHours, keys } = tables;
  const newest = (filter: RefusalFilter & { below?: boolean }) => {
    const { madeBy, code, sinceMs, untilMs } = filter;
    return [...refusals.values()]
      .filter((row) => isOf(tables, row, filter))
      .filter((row) => madeBy === null || (row.key !== null && isKeyOf(keys.get(row.key) ?? { madeBy: null }, madeBy)))
      .filter((row) => code === null || row.code === code)
      .filter((row) => row.atMs >= (sinceMs ?? 0) && row.atMs <= (untilMs ?? Number.MAX_SAFE_INTEGER))
      .sort((one, other) => other.atMs - one.atMs || other.seq - one.seq);
  };
  const all: RefusalFilter = { account: null, key: null, madeBy: null, code: null, sinceMs: null, untilMs: null };
  return {
    async listRefusals({ before, limit, ...filter }) {
      const rows = newest(filter);
      const last = before === null ? undefined : refusals.get(before);
      const isLater = ({ atMs, seq }: { atMs: number; seq: number }) =>
        last === undefined || atMs < last.atMs || (atMs === last.atMs && seq < last.seq);
      return rows.filter(isLater).slice(0, limit);
    },
    totalRefusals: (question) => gatherRefusals(inRuns(newest(question), question.groupBy), question),
    async listFrequentRefusals({ sinceMs, least, limit }) {
      const byName = new Map<string, FrequentRefusal>();
      for (const row of newest({ ...all, sinceMs })) {
        const { atMs: firstAtMs, account, key, code, count, lastAtMs } = row;
        const name = nameOf({ ...row, atMs: 0 });
        const before = byName.get(name);
        const sum = { count: count + (before?.count ?? 0), lastAtMs: Math.max(lastAtMs, before?.lastAtMs ?? 0) };
        const message = [row.message, before?.message ?? ''].sort().at(-1) ?? '';
        const scopes = [row.scope, before?.scope].flatMap((scope) => scope ?? []);
        const scope = scopes.sort()[0] ?? null;
        byName.set(name, { atMs: null, account, key, code, firstAtMs, message, scope, ...sum });
      }
      const frequent = [...byName.values()].filter(({ count }) => count >= least);
      return frequent.sort((one, other) => other.count - one.count).slice(0, limit);
    },
    async findRefusalsBeyond(rows) {
      const row = newest(all)[rows];
      return row === undefined ? null : { atMs: row.atMs };
    },
    listRouteHours: async (sinceMs) => [...routeHours.values()].filter(({ atMs }) => atMs >= sinceMs),
  };
}

function isOf(
  tables: MemoryTables,
  row: RefusalCount,
  { account, below = false, key }: Pick<RefusalFilter, 'account' | 'key'> & { below?: boolean },
): boolean {
  const isAmong = (id: number) => account === null || id === account || (below && isBelow(tables, id, account));
  return (account === null || (row.account !== null && isAmong(row.account))) && (key === null || row.key === key);
}

async function* inRuns(rows: readonly RefusalCount[], groupBy: RefusalGrouping): AsyncGenerator<RefusalTotal[]> {
  const of = (...names: RefusalGrouping[]) => names.includes(groupBy);
  const lengthMs = { minute: 60_000, five_minutes: 300_000, hour: 3_600_000, day: 86_400_000 }[groupBy as string] ?? 1;
  for (const { atMs, account, key, code, count, lastAtMs } of rows)
    yield [
      {
        atMs: lengthMs > 1 ? Math.floor(atMs / lengthMs) * lengthMs : null,
        account: of('account', 'key') ? account : null,
        key: of('key') ? key : null,
        code: of('code') ? code : null,
        count,
        lastAtMs,
      },
    ];
}
