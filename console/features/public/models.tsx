// Models and prices, for people who are not signed in.

import { Anchor, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { PublicModelShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { type Column, NoMatches, PlainTable, rateColumn } from '../../parts/data-table.tsx';
import { FilterBar, SearchFilter } from '../../parts/fields.tsx';
import { Rate } from '../../parts/money.tsx';
import { EmptyState, Facts, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { isSandbox } from '../keys/values.ts';
import { RATES } from '../models/form-values.ts';
import { hasTokenPrice, partsOf } from '../models/price-parts.ts';

export function PublicModels() {
  const { data, error, refetch } = useGet('/public/models');
  const { values, clear } = useFilters();
  if (error !== null) return <PageFailure failure={error} onRetry={() => void refetch()} />;
  const wanted = (values['search'] ?? '').trim().toLowerCase();
  const found = (data?.data ?? []).filter(({ name, display_name }) =>
    [name, display_name].some((text) => text.toLowerCase().includes(wanted)),
  );
  const tables = [
    { title: 'Models', models: found.filter(({ name }) => !isSandbox(name)), text: null },
    {
      title: 'Sandbox models',
      models: found.filter(({ name }) => isSandbox(name)),
      text: 'Simulated responses and errors for testing applications.',
    },
  ].filter(({ models }) => models.length > 0);
  return (
    <>
      <PageHead title="Models and prices" text="Prices are in USD per million tokens." />
      <Stack>
        <FilterBar mb={0}>
          <SearchFilter name="search" label="Model" />
        </FilterBar>
        {data === undefined && <Loading />}
        {data?.data.length === 0 && (
          <EmptyState icon="cube" title="No models yet" text="No models are offered at this time." />
        )}
        {data !== undefined && data.data.length > 0 && found.length === 0 && (
          <NoMatches title="No matching models" text="Change the search text." onClear={clear} />
        )}
        {tables.map(({ title, models, text }) => (
          <Section key={title} title={title} isPadded={false} {...(text !== null && { text })}>
            <PlainTable label={title} columns={columns} rows={models} keyOf={({ name }) => name} isFolding />
          </Section>
        ))}
      </Stack>
    </>
  );
}

const price = (name: 'input' | 'output' | 'cache_read' | 'cache_write_5m', label: string, from?: 'sm' | 'md') =>
  rateColumn<PublicModelShape>(
    name,
    label,
    (model) => (hasTokenPrice(model.price) ? model.price[name] : null),
    from === undefined ? {} : { from },
  );
const tokens = (name: 'max_input_tokens' | 'max_output_tokens', label: string): Column<PublicModelShape> => ({
  name,
  label,
  from: 'md',
  align: 'right',
  show: ({ [name]: count }) => count?.toLocaleString('en-US') ?? '–',
});

const columns: readonly Column<PublicModelShape>[] = [
  { name: 'name', label: 'Model', show: (model) => <ModelName model={model} /> },
  price('input', 'Input'),
  price('output', 'Output'),
  price('cache_read', 'Cache read', 'sm'),
  price('cache_write_5m', 'Cache write', 'sm'),
  tokens('max_input_tokens', 'Max input'),
  tokens('max_output_tokens', 'Max output'),
];

/** With all prices, if there are more than those of the columns. */
function ModelName({ model: { name, display_name, price } }: { model: PublicModelShape }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const parts = partsOf(price);
  return (
    <Stack gap={2} align="flex-start">
      <Text size="sm" fw={600} className="wrap">
        {display_name}
      </Text>
      {display_name !== name && (
        <Hint size="xs" className="wrap">
          {name}
        </Hint>
      )}
      {(parts.length > RATES.length || !hasTokenPrice(price)) && (
        <Anchor component="button" type="button" size="xs" aria-expanded={isOpen} onClick={toggle}>
          {isOpen ? 'Fewer prices' : 'All prices'}
        </Anchor>
      )}
      {isOpen && <Facts facts={parts.map(({ label, rate }) => ({ name: label, value: <Rate usd={rate} /> }))} />}
    </Stack>
  );
}
