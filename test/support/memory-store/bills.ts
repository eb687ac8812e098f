// Provider bills in memory.

import type { BillReads, BillRow } from '../../../src/storage/bill-rows.ts';
import type { MemoryTables } from './tables.ts';

export function writeBill({ billSources, bills }: MemoryTables, row: BillRow): void {
  if (row.table === 'provider_bill_sources') billSources.set(row.source.provider, row.source);
  else bills.set(`${row.bill.provider} ${row.bill.dayMs}`, row.bill);
}

export function billReads({ billSources, bills }: MemoryTables): BillReads {
  const byName = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
  return {
    getBillSource: async (provider) => billSources.get(provider) ?? null,
    listBillSources: async () => [...billSources.values()].sort((a, b) => byName(a.provider, b.provider)),
    getBill: async (provider, dayMs) => bills.get(`${provider} ${dayMs}`) ?? null,
    listBills: async ({ provider, sinceMs, untilMs, before, limit }) =>
      [...bills.values()]
        .filter((bill) => provider === null || bill.provider === provider)
        .filter(({ dayMs }) => dayMs >= (sinceMs ?? 0) && dayMs <= (untilMs ?? Number.MAX_SAFE_INTEGER))
        .sort((a, b) => b.dayMs - a.dayMs || byName(a.provider, b.provider))
        .filter(
          (bill) =>
            before === null ||
            bill.dayMs < before.dayMs ||
            (bill.dayMs === before.dayMs && bill.provider > before.provider),
        )
        .slice(0, limit)
        .map(({ models: _, ...bill }) => bill),
  };
}
