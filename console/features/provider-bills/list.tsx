// Bills of providers by day, with the costs that were recorded and what explains the difference.

import type { ProviderBillShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { type Column, DataTable, moneyColumn, NameLink, NoRows } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter } from '../../parts/filter-chips.tsx';
import { foundBillSources } from '../../parts/found.ts';
import { pathOf } from '../../parts/link.tsx';
import { PageHead } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { useList } from '../../queries.ts';
import { rangeQuery, startOf } from '../../range.ts';
import { formatUtcDate } from '../../times.ts';
import { partLabels, partNames, shortPartLabels, toNano } from './amounts.ts';

const billFilters: readonly ListFilter[] = [
  { kind: 'found', name: 'provider', label: 'Provider', found: foundBillSources },
];

export function ProviderBillList() {
  const { provider } = useFilters().values;
  const range = useRange();
  // A bill covers a day.
  const query = { provider, ...rangeQuery({ ...range, sinceMs: startOf(range.sinceMs, 'day') }) };
  const rows = useList('/provider-bills', { query });
  return (
    <>
      <PageHead
        title="Provider bills"
        text="Amounts that providers billed for each day (UTC), compared with recorded costs."
      />
      <FilterChips filters={billFilters}>
        <RangeFields />
      </FilterChips>
      <DataTable
        label="Provider bills"
        rows={rows}
        columns={columns}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.providerBill(id)}
        empty={
          <NoRows
            of="bills"
            isOfRange
            icon="card"
            title="No bills yet"
            text="Set up a source and import a bill with “turnpike provider-bill”."
          />
        }
      />
    </>
  );
}

/** Parts that few days have: their columns can be shown. */
const OFTEN_SMALL = ['rounding', 'tiers', 'unknown_price'];

const columns: Column<ProviderBillShape>[] = [
  {
    name: 'day',
    label: 'Day',
    show: ({ id, day, provider }) => (
      <NameLink to={pathOf.providerBill(id)} name={formatUtcDate(day)} note={provider} />
    ),
  },
  moneyColumn('billed', 'Billed', ({ billed }) => toNano(billed)),
  moneyColumn('ours', 'Recorded', ({ ours }) => toNano(ours), { from: 'sm' }),
  moneyColumn('difference', 'Difference', ({ difference }) => toNano(difference)),
  ...partNames.map((name) => {
    const choice = OFTEN_SMALL.includes(name) ? 'hidden' : 'shown';
    const look = { from: 'lg', title: partLabels[name], choice } as const;
    return moneyColumn<ProviderBillShape>(name, shortPartLabels[name], ({ parts }) => toNano(parts[name]), look);
  }),
];
