// The sums that the ledger's invariants are checked by, over the in-memory tables.

import { formatId } from '../../base/ids.ts';
import { type LedgerSums, systemAccounts } from '../../ledger/ledger.ts';
import type { MemoryTables } from './memory.ts';

export function sumMemory(tables: MemoryTables): LedgerSums {
  const { entries, holds, endings, totals } = tables;
  const moved = (requestId: string) =>
    total(
      entries.filter(
        (entry) => entry.reference === requestId && ['usage', 'write_off', 'correction'].includes(entry.kind),
      ),
      (entry) => (entry.credit === systemAccounts.revenue ? entry.amount : -entry.amount),
    );
  return {
    accounts: [...tables.accountMeters.values()].map((account) => ({
      id: formatId('acct', account.id),
      balance: BigInt(account.balance),
      held: BigInt(account.held),
      creditLine: BigInt(account.creditLine),
      allowanceHeld: BigInt(account.spending.held),
      entries: total(entries, (entry) =>
        entry.credit === account.id ? entry.amount : entry.debit === account.id ? -entry.amount : 0,
      ),
      holds: total(holds.values(), (hold) => (hold.account === account.id ? hold.amount : 0)),
      recordsCost: total(endings.values(), ({ record }) => (record.account === account.id ? record.cost : 0)),
      totalsCost: total(totals.values(), (day) => (day.account === account.id ? day.cost : 0)),
    })),
    keys: [...tables.keyMeters.values()].map((key) => ({
      id: formatId('key', key.id),
      quotaHeld: BigInt(key.spending.held),
      holds: total(holds.values(), (hold) => (hold.key === key.id ? hold.amount : 0)),
    })),
    entries: entries.length,
    openHolds: holds.size,
    unbalancedRequests: [...endings.values()]
      .filter(({ record }) => moved(record.requestId) !== BigInt(record.cost))
      .map(({ record }) => record.requestId),
    strangeEntries: entries
      .filter((entry) => entry.debit === entry.credit || entry.amount < 0)
      .map((entry) => `entry at ${entry.atMs}: it moves nothing sensible`),
  };
}

function total<Row>(rows: Iterable<Row>, amount: (row: Row) => number): bigint {
  let sum = 0n;
  for (const row of rows) sum += BigInt(amount(row));
  return sum;
}
