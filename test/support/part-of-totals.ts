// One day's total of a key and model, as a part of usage totals.

import type { DailyTotal } from '../../src/ledger/ledger.ts';
import type { UsageTotal } from '../../src/reports/reports.ts';

export function partOfTotals({ tagSet: _, ...total }: DailyTotal, tag: string | null = null): UsageTotal {
  return {
    ...total,
    provider: total.provider || null,
    group: total.group || null,
    person: total.person || null,
    tag,
    session: null,
    agent: null,
    cost: BigInt(total.cost),
    writtenOff: BigInt(total.writtenOff),
    providerCost: BigInt(total.providerCost),
    costedRevenue: BigInt(total.costedRevenue),
  };
}
