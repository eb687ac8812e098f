// One day's total of a key and model, as a part of usage totals.

import type { DailyTotal, UnitTotal } from '../../src/ledger/ledger.ts';
import { emptyTotal, NO_UNITS, type UsageTotal } from '../../src/reports/reports.ts';

/** One unit of a day's total, as a part of usage totals. */
export function partOfUnits(
  { dayMs, account, key, model, unit, quantity, cost, ...total }: UnitTotal,
  tag: string | null = null,
): UsageTotal {
  return {
    ...emptyTotal(),
    dayMs,
    account,
    key,
    model,
    provider: total.provider || null,
    group: total.group || null,
    person: total.person || null,
    tag,
    units: { [unit]: { quantity, cost: BigInt(cost) } },
  };
}

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
    units: NO_UNITS,
  };
}
