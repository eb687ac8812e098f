// Searching usage records for what no index leads to: a bounded number of the newest is looked through, and where that was not
// all, it is said from where it goes on. The same for every database.

import { bounds } from '../config.ts';
import type { FoundUsage, StoredUsageRecord, UsageSearch, UsageStore } from '../ledger/ledger.ts';
import { type Place, placesOrder } from './page-place.ts';
import { type Narrowing, type UsageScope, type UsageWay, waysInto } from './usage-scope.ts';

export interface SearchReads {
  scopeOf(asked: Narrowing): Promise<UsageScope>;
  /** The place after which the page begins. */
  startOf(search: UsageSearch): Promise<Place>;
  /** The record that is so many after the start, on its way; null: there are fewer. */
  findEnd(way: UsageWay, search: UsageSearch, start: Place, records: number): Promise<Place | null>;
  /** Those that have what is searched for, not earlier than `sinceMs`: the first of them, as many as the page has. */
  find(way: UsageWay, search: UsageSearch, start: Place, sinceMs: number): Promise<StoredUsageRecord[]>;
}

/** What one page looks through at most. */
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

export function searchStore(reads: SearchReads, fewer: Partial<SearchLimits> = {}): Pick<UsageStore, 'searchUsage'> {
  const { recordsMax, recordsAtOnce, readMsMax } = { ...LIMITS, ...fewer };
  return {
    async searchUsage(search): Promise<FoundUsage> {
      const startedAtMs = performance.now();
      const ways = waysInto(await reads.scopeOf(search));
      const rows: StoredUsageRecord[] = [];
      let place = await reads.startOf(search);
      for (let records = 0; ; ) {
        const { found, end } = await searchPart(reads, ways, search, { start: place, records: recordsAtOnce });
        rows.push(...found.slice(0, search.limit - rows.length));
        const last = rows.at(-1);
        if (rows.length === search.limit && last !== undefined) return { rows, next: last.seq };
        if (end === null) return { rows, next: null };
        place = end;
        records += recordsAtOnce;
        if (records >= recordsMax || performance.now() - startedAtMs > readMsMax) return { rows, next: end[1] };
      }
    },
  };
}

/** What is found among so many records after the start, and the place of the last of those; null: there are no more. */
async function searchPart(
  reads: SearchReads,
  ways: readonly UsageWay[],
  search: UsageSearch,
  { start, records }: { start: Place; records: number },
): Promise<{ found: StoredUsageRecord[]; end: Place | null }> {
  const end = await latestEnd(reads, ways, search, { start, records });
  const sinceMs = Math.max(search.sinceMs ?? 0, end?.[0] ?? 0);
  const found: StoredUsageRecord[] = [];
  for (const way of ways) found.push(...(await reads.find(way, search, start, sinceMs)));
  const isWithin = (record: StoredUsageRecord) => end === null || placesOrder(placeOfRecord(record), end) <= 0;
  const inOrder = (one: StoredUsageRecord, other: StoredUsageRecord) =>
    placesOrder(placeOfRecord(one), placeOfRecord(other));
  return { found: found.filter(isWithin).sort(inOrder), end };
}

/**
 * Up to where the ways have no more records than that together, or none has more than a few; null: they have fewer in all. It is
 * found before any is looked at: what comes meanwhile is looked at too, and nothing twice.
 */
export async function latestEnd<Asked>(
  { findEnd }: { findEnd(way: UsageWay, asked: Asked, start: Place, records: number): Promise<Place | null> },
  ways: readonly UsageWay[],
  asked: Asked,
  { start, records }: { start: Place; records: number },
): Promise<Place | null> {
  let latest: Place | null = null;
  for (const way of ways) {
    const share = Math.max(bounds.recordsOfKeyLeast, Math.ceil(records / ways.length));
    const end = await findEnd(way, asked, start, share);
    if (end !== null && (latest === null || placesOrder(end, latest) < 0)) latest = end;
  }
  return latest;
}

function placeOfRecord({ atMs, seq }: StoredUsageRecord): Place {
  return [atMs, seq];
}
