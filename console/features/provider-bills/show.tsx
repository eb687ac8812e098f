// The bill of one day: what explains its difference to the recorded costs, and each model with its features.

import { Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { ProviderBillDetailsShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useActors } from '../../names.ts';
import { type Column, moneyColumn, PlainTable } from '../../parts/data-table.tsx';
import { Money } from '../../parts/money.tsx';
import { Facts, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { formatUtcDate } from '../../times.ts';
import { partLabels, partNames, toNano } from './amounts.ts';

type BilledModel = ProviderBillDetailsShape['models'][number];
type BilledFeature = BilledModel['features'][number];

export function ProviderBillShow() {
  const { billId = '' } = useParams({ strict: false });
  const { data, error, refetch } = useGet('/provider-bills/{id}', { id: billId });
  if (data === undefined || data.id !== billId)
    return error === null ? <Loading /> : <PageFailure failure={error} onRetry={() => void refetch()} />;
  return (
    <>
      <PageHead
        title={`Bill of ${data.provider}`}
        text={`${formatUtcDate(data.day)} (UTC), compared with the recorded costs.`}
      />
      <Stack>
        <Section title="Difference">
          <BillFacts bill={data} />
        </Section>
        {data.models.map((model) => (
          <ModelSection key={model.model} model={model} />
        ))}
        {data.models.length === 0 && <Hint>Nothing was billed or recorded on this day.</Hint>}
      </Stack>
    </>
  );
}

function BillFacts({ bill }: { bill: ProviderBillDetailsShape }) {
  const actorName = useActors([bill.imported_by]);
  const source = bill.from === 'api' ? 'Provider API' : 'CSV';
  return (
    <Facts
      facts={[
        { name: 'Billed', value: <Money usd={toNano(bill.billed)} /> },
        { name: 'Recorded', value: <Money usd={toNano(bill.ours)} /> },
        { name: 'Difference', value: <Money usd={toNano(bill.difference)} /> },
        ...partNames.map((name) => ({
          name: partLabels[name],
          value: <Money usd={toNano(bill.parts[name])} />,
        })),
        { name: 'Requests', value: formatCount(bill.messages) },
        { name: 'Imported', value: <When at={bill.imported_at} /> },
        { name: 'Imported by', value: `${actorName(bill.imported_by)} (${source})` },
      ]}
    />
  );
}

function ModelSection({ model }: { model: BilledModel }) {
  const name = model.model === '' ? 'Without a model' : model.model;
  const others = model.billed_as.filter((one) => one !== model.model && one !== '');
  return (
    <Section
      title={name}
      text={others.length === 0 ? undefined : `Billed as ${others.join(', ')}`}
      aside={
        <Text size="sm">
          Difference <Money usd={toNano(model.difference)} fw={600} />
        </Text>
      }
      isPadded={false}
    >
      <PlainTable label={name} isFolding columns={columns} rows={model.features} keyOf={({ feature }) => feature} />
    </Section>
  );
}

const featureLabels: Readonly<Record<BilledFeature['feature'], string>> = {
  input: 'Input',
  output: 'Output',
  cache_read: 'Cache read',
  cache_write: 'Cache write',
  web_search: 'Web search',
  batch: 'Batch',
  other: 'Other',
};

function countColumn(name: string, label: string, count: (row: BilledFeature) => number | null): Column<BilledFeature> {
  const show = (row: BilledFeature) => {
    const value = count(row);
    return <span className="tabular">{value === null ? '–' : formatCount(value)}</span>;
  };
  return { name, label, align: 'right', from: 'md', show };
}

const columns: Column<BilledFeature>[] = [
  { name: 'feature', label: 'Feature', show: ({ feature }) => featureLabels[feature] },
  countColumn('billed-quantity', 'Billed quantity', (row) => row.billed_quantity),
  countColumn('our-quantity', 'Recorded quantity', (row) => row.our_quantity),
  moneyColumn('billed', 'Billed', ({ billed }) => toNano(billed)),
  moneyColumn('ours', 'Recorded', ({ ours }) => toNano(ours), { from: 'sm' }),
  moneyColumn('difference', 'Difference', ({ difference }) => toNano(difference)),
];
