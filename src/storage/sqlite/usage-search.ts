// Usage records of one model, or those that were completed: looked for in a bounded part of the lists that an index leads to.

import type { Database } from 'bun:sqlite';
import type { UsageSearch, UsageStore } from '../../ledger/ledger.ts';
import type { Place } from '../page-place.ts';
import { readUsageRecord, type UsageTable } from '../row-codec.ts';
import { type SearchLimits, searchStore } from '../search-usage.ts';
import { ownerOf, type UsageWay } from '../usage-scope.ts';
import { IN_PAGE, NTH_OF_PAGE, pageBounds } from './page-order.ts';
import { prepareText } from './statements.ts';
import { usageScopes } from './usage-scope.ts';

export function usageSearches(database: Database, limits: Partial<SearchLimits> = {}): Pick<UsageStore, 'searchUsage'> {
  const boundsOf = pageBounds(database, 'usage_records');
  const ways = {
    all: prepareWay(database, '', '$5 IS NULL AND'),
    account: prepareWay(database, '_of_account', 'account_id = $5 AND'),
    key: prepareWay(database, '_of_key', 'key_id = $5 AND'),
  };
  const statementsOf = (way: UsageWay, { outcome }: UsageSearch) => ways[way.of][outcome === null ? 'whole' : 'cut'];
  const reads = {
    scopeOf: usageScopes(database),
    async startOf(search: UsageSearch): Promise<Place> {
      const [, atMs, seq] = boundsOf(search);
      return [atMs, seq];
    },
    async findEnd(way: UsageWay, search: UsageSearch, start: Place, records: number) {
      const values = [search.sinceMs ?? 0, ...start, records, ownerOf(way), search.outcome];
      const last = statementsOf(way, search).end.get(...values) as { at_ms: number; seq: number } | null;
      return last && ([last.at_ms, last.seq] as const);
    },
    async find(way: UsageWay, search: UsageSearch, start: Place, sinceMs: number) {
      const { limit, outcome, model, isCompleted } = search;
      const values = [sinceMs, ...start, limit, ownerOf(way), outcome, model, isCompleted ? 'completed' : null];
      return (statementsOf(way, search).find.all(...values) as UsageTable[]).map(readUsageRecord);
    },
  };
  return searchStore(reads, limits);
}

/** $1 to $4 as of every page, $5 whose records, $6 the outcome of what was cut short, $7 the model, $8 completed or null. */
function prepareWay(database: Database, suffix: string, narrowed: string) {
  const prepareBoth = (index: string, where: string) => {
    const from = `FROM usage_records INDEXED BY ${index} WHERE ${where}`;
    return {
      end: prepareText(database, `SELECT at_ms, seq ${from} ${NTH_OF_PAGE}`),
      find: prepareText(
        database,
        `SELECT * ${from} ($7 IS NULL OR model = $7) AND ($8 IS NULL OR outcome = $8) AND ${IN_PAGE}`,
      ),
    };
  };
  return {
    whole: prepareBoth(suffix === '' ? 'usage_in_order' : `usage${suffix}`, `${narrowed} $6 IS NULL AND`),
    cut: prepareBoth(`cut_usage${suffix}`, `${narrowed} outcome = $6 AND outcome <> 'completed' AND`),
  };
}
