// Usage records of one model, or those that were completed: looked for in a bounded part of the lists that an index leads to.

import type { UsageSearch, UsageStore } from '../../ledger/ledger.ts';
import type { Place } from '../page-place.ts';
import { readUsageRecord, type UsageTable } from '../row-codec.ts';
import { type SearchLimits, type SearchReads, searchStore } from '../search-usage.ts';
import { ownerOf, type UsageWay } from '../usage-scope.ts';
import { inPage, pageBounds } from './page-order.ts';
import type { Reader } from './read-pool.ts';
import { asNumbers, USAGE_COLUMNS } from './row-columns.ts';
import { monthOf } from './usage-months.ts';
import { narrowedTo, usageScopes } from './usage-scope.ts';

export function usageSearches(reader: Reader, limits: Partial<SearchLimits> = {}): Pick<UsageStore, 'searchUsage'> {
  const boundsOf = pageBounds(reader, 'usage_records');
  const narrowing = (way: UsageWay, { outcome }: UsageSearch) =>
    [ownerOf(way), outcome].filter((value) => value !== null);
  const reads: SearchReads = {
    scopeOf: usageScopes(reader),
    async startOf(search): Promise<Place> {
      const [, atMs, seq] = await boundsOf(search);
      return [atMs, seq];
    },
    async findEnd(way, search, start, records) {
      const sinceMs = search.sinceMs ?? 0;
      const values = [sinceMs, ...start, records - 1, monthOf(sinceMs), monthOf(start[0]), ...narrowing(way, search)];
      const [last] = await reader.read<{ at_ms: number; seq: number }>(endText(way, search.outcome), ...values);
      return last === undefined ? null : [last.at_ms, last.seq];
    },
    async find(way, search, start, sinceMs) {
      const { limit, model, isCompleted } = search;
      const months = [monthOf(sinceMs), monthOf(start[0])];
      const sought = [model, isCompleted ? 'completed' : null];
      const values = [sinceMs, ...start, limit, ...months, ...sought, ...narrowing(way, search)];
      return (await reader.read<UsageTable>(findText(way, search), ...values)).map(readUsageRecord);
    },
  };
  return searchStore(reads, limits);
}

/** Of a record by its place in a list: $1 to $3 and $5, $6 as of a page, $4 how many to pass by; then whose records, and the outcome. */
export function endText(way: UsageWay, outcome: UsageSearch['outcome']): string {
  const narrowed = narrowedTo(way, outcome).map((column, at) => [column, `$${at + 7}`] as const);
  const page = inPage(narrowed).replace('LIMIT $4', 'OFFSET $4 LIMIT 1');
  return `SELECT ${asNumbers('r', 'at_ms', 'seq')} FROM usage_records r WHERE r.month BETWEEN $5 AND $6 ${cutOf(outcome)} AND ${page}`;
}

// $1 to $6 as of a list, $7 the model, $8 completed or null; then whose records, and the outcome.
function findText(way: UsageWay, { outcome }: UsageSearch): string {
  const narrowed = narrowedTo(way, outcome).map((column, at) => [column, `$${at + 9}`] as const);
  return `SELECT ${USAGE_COLUMNS} FROM usage_records r WHERE r.month BETWEEN $5 AND $6 ${cutOf(outcome)}
    AND ($7::text IS NULL OR r.model = $7) AND ($8::text IS NULL OR r.outcome = $8) AND ${inPage(narrowed)}`;
}

function cutOf(outcome: UsageSearch['outcome']): string {
  return outcome === null ? '' : "AND r.outcome <> 'completed'";
}
