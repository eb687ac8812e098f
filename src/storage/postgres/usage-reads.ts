// Lists of usage records, newest first, in the months that they are asked for. Each goes by the index that leads to its rows:
// the first one of each month, then none that it does not show.

import { nextTurn } from '../../base/next-turn.ts';
import { bounds } from '../../config.ts';
import type { StoredUsageRecord, UsagePage, UsageStore } from '../../ledger/ledger.ts';
import { readUsageRecord, type UsageTable } from '../row-codec.ts';
import { mergeKeys } from './merge-keys.ts';
import { inPage, type PageBounds, pageBounds } from './page-order.ts';
import type { Reader } from './read-pool.ts';
import { USAGE_COLUMNS } from './row-columns.ts';
import { monthOf } from './usage-months.ts';
import { usageScopes } from './usage-scope.ts';

type Narrowed = readonly (readonly [column: 'account_id' | 'key_id' | 'outcome', value: string | number])[];

export function usageLists(reader: Reader): Pick<UsageStore, 'listUsage'> {
  const scopeOf = usageScopes(reader);
  const boundsOf = pageBounds(reader, 'usage_records');
  const listRows = async (page: UsagePage) => {
    const scope = await scopeOf(page);
    const within = await boundsOf(page);
    const { outcome } = page;
    const cut: Narrowed = outcome === null ? [] : [['outcome', outcome]];
    if (scope.of === 'all') return list(reader, within, cut);
    if (scope.of === 'account') return list(reader, within, [['account_id', scope.account], ...cut]);
    const [key, ...more] = scope.keys;
    if (key === undefined) return [];
    if (more.length === 0) return list(reader, within, [['key_id', key], ...cut]);
    return mergeKeys(reader, { keys: scope.keys, outcome, within });
  };
  return {
    async listUsage(page) {
      return readInPieces(await listRows(page));
    },
  };
}

// $5 and $6 are the months. What was cut short has indexes of its own.
function list(reader: Reader, within: PageBounds, narrowed: Narrowed): Promise<UsageTable[]> {
  const columns = narrowed.map(([column], at) => [column, `$${at + 7}`] as const);
  const cut = columns.some(([column]) => column === 'outcome') ? "AND r.outcome <> 'completed'" : '';
  const [sinceMs, atMs] = within;
  return reader.read<UsageTable>(
    `SELECT ${USAGE_COLUMNS} FROM usage_records r WHERE r.month BETWEEN $5 AND $6 ${cut} AND ${inPage(columns)}`,
    ...within,
    monthOf(sinceMs),
    monthOf(atMs),
    ...narrowed.map(([, value]) => value),
  );
}

/** With pauses: rows are many, and messages wait for this thread. */
async function readInPieces(rows: readonly UsageTable[]): Promise<StoredUsageRecord[]> {
  const records: StoredUsageRecord[] = [];
  for (let at = 0; at < rows.length; at += bounds.rowsAtOnce) {
    if (at > 0) await nextTurn();
    records.push(...rows.slice(at, at + bounds.rowsAtOnce).map(readUsageRecord));
  }
  return records;
}
