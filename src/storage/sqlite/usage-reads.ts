// Lists of usage records, newest first. Each statement names the index that leads to its rows, so
// that one which loses its index fails when it is prepared, and none can become a search.

import type { Database, Statement } from 'bun:sqlite';
import type { UsagePage, UsageStore } from '../../ledger/ledger.ts';
import type { Place } from '../page-place.ts';
import { readUsageRecord, type UsageTable } from '../row-codec.ts';
import type { UsageScope } from '../usage-scope.ts';
import { IN_PAGE, pageBounds } from './page-order.ts';
import { prepareText } from './statements.ts';
import { usageScopes } from './usage-scope.ts';

/** The two ways into one scope: to all its records, and to those that were cut short ($6 says how). */
interface Ways {
  whole: Statement;
  cut: Statement;
}

type Position = { key: number; at_ms: number; seq: number };

export function usageLists(database: Database): Pick<UsageStore, 'listUsage'> {
  const scopeOf = usageScopes(database);
  const boundsOf = pageBounds(database, 'usage_records');
  const all = waysInto(database, '*', '', '');
  const ofAccount = waysInto(database, '*', 'account', 'account_id');
  const ofKey = waysInto(database, '*', 'key', 'key_id');
  const listOfKeys = keyMerger(database);
  const list = (scope: UsageScope, page: UsagePage, values: ReturnType<typeof boundsOf>): unknown[] => {
    if (scope.of === 'all') return ask(all, page, values, null);
    if (scope.of === 'account') return ask(ofAccount, page, values, scope.account);
    const [key, ...more] = scope.keys;
    if (key === undefined) return [];
    return more.length === 0 ? ask(ofKey, page, values, key) : listOfKeys(scope.keys, page, values);
  };
  return {
    async listUsage(page) {
      return (list(await scopeOf(page), page, boundsOf(page)) as UsageTable[]).map(readUsageRecord);
    },
  };
}

/** Merges the lists of several keys: each gives its newest, and the newest of these is always the next. */
function keyMerger(database: Database) {
  const positions = waysInto(database, 'key_id AS key, at_ms, seq', 'key', 'key_id');
  const bySeq = prepareText(database, 'SELECT * FROM usage_records WHERE seq = $1');
  return (keys: readonly number[], page: UsagePage, [sinceMs, atMs, seq]: readonly number[]): unknown[] => {
    const nextOf = (key: number, [after, afterSeq]: Place) =>
      ask(positions, page, [sinceMs as number, after, afterSeq, 1], key) as Position[];
    const heads = keys.flatMap((key) => nextOf(key, [atMs as number, seq as number])).sort(newestFirst);
    const rows: unknown[] = [];
    while (rows.length < page.limit) {
      const head = heads.shift();
      if (head === undefined) break;
      rows.push(bySeq.get(head.seq));
      const [next] = nextOf(head.key, [head.at_ms, head.seq]);
      if (next !== undefined) insert(heads, next);
    }
    return rows;
  };
}

/** `name` is the suffix of the index, `column` what it begins with ($5); both empty: none. */
function waysInto(database: Database, columns: string, name: '' | 'account' | 'key', column: string): Ways {
  const list = (index: string, where: string) =>
    prepareText(database, `SELECT ${columns} FROM usage_records INDEXED BY ${index} WHERE ${where} ${IN_PAGE}`);
  const narrowed = column === '' ? '' : `${column} = $5 AND`;
  const suffix = name === '' ? '' : `_of_${name}`;
  return {
    whole: list(name === '' ? 'usage_in_order' : `usage${suffix}`, narrowed),
    cut: list(`cut_usage${suffix}`, `${narrowed} outcome = $6 AND outcome <> 'completed' AND`),
  };
}

function ask(ways: Ways, { outcome }: UsagePage, values: readonly number[], of: number | null): unknown[] {
  if (outcome !== null) return ways.cut.all(...values, of, outcome);
  return of === null ? ways.whole.all(...values) : ways.whole.all(...values, of);
}

function insert(heads: Position[], position: Position): void {
  const at = heads.findIndex((head) => newestFirst(position, head) < 0);
  heads.splice(at < 0 ? heads.length : at, 0, position);
}

function newestFirst(one: Position, other: Position): number {
  return other.at_ms - one.at_ms || other.seq - one.seq;
}
