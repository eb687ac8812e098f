// Prices and costs that differ from the price list, each with a button to use the list price.

import { Badge, Card, Group, Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { PriceComparisonShape, PriceDifferenceShape } from '../../../src/admin-api/shapes.ts';
import { countOf } from '../../figures.ts';
import { useMe } from '../../me.tsx';
import { formatRate } from '../../money.ts';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Heading, Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { formatUtcDate } from '../../times.ts';
import type { CatalogDocument, CatalogEdit } from '../catalog/changes.ts';
import { type Review, ReviewDialog, useReview } from '../catalog/review-dialog.tsx';

/** A price or a route cost, with the parts that differ from the list. */
interface ComparedPrice {
  model: string;
  route: string | null;
  asOf: string;
  parts: PriceDifferenceShape[];
}

export function useComparison(isWanted = true): UseQueryResult<PriceComparisonShape> {
  return useGet('/models/differences', { isEnabled: isWanted });
}

export function ModelComparison() {
  const { role } = useMe();
  const answer = useComparison();
  const apply = useReview({ done: 'Price saved.' });
  const rows = {
    rows: comparePrices(answer.data?.differences ?? []),
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: null,
    isLoadingMore: false,
    reload: () => void answer.refetch(),
  };
  return (
    <Stack>
      <Hint>Prices and costs that differ from the current price list.</Hint>
      <FailureNotice failure={apply.failure} />
      <DataTable
        label="Prices and costs that differ from the current price list."
        rows={rows}
        columns={[whatColumn(role === 'operator' ? apply : null), ...columns]}
        keyOf={({ model, route }) => `${model} ${route}`}
        empty={
          <EmptyState
            icon="check"
            title="All prices match the price list"
            text="New versions of the service include a new price list. Your prices never change automatically."
          />
        }
      />
      {answer.data !== undefined && <UncomparedModels comparison={answer.data} />}
      <ReviewDialog apply={apply} />
    </Stack>
  );
}

function comparePrices(differences: readonly PriceDifferenceShape[]): ComparedPrice[] {
  const found = new Map<string, ComparedPrice>();
  for (const difference of differences) {
    const { model, route, as_of: asOf } = difference;
    const key = JSON.stringify([model, route]);
    const row = found.get(key) ?? { model, route, asOf, parts: [] };
    row.parts.push(difference);
    found.set(key, row);
  }
  return [...found.values()];
}

/** Contains the button, because a phone has no room for a column of buttons. */
function whatColumn(apply: Review | null): Column<ComparedPrice> {
  return {
    name: 'what',
    label: 'Model',
    show: (row) => (
      <Stack gap={4} align="flex-start">
        <TextLink to={pathOf.model(row.model)} fw={600}>
          {row.model}
        </TextLink>
        <Hint size="xs" className="wrap">
          {row.route === null ? 'Price' : `Cost of ${row.route}`}
        </Hint>
        {apply !== null && <ListPriceButton row={row} apply={apply} />}
      </Stack>
    ),
  };
}

function ListPriceButton({ row, apply }: { row: ComparedPrice; apply: Review }) {
  return (
    <ActionButton
      label="Use list price"
      size="compact-sm"
      disabled={apply.isAsking}
      onClick={() => apply.preview((current) => applyListPrice(current, row))}
      aria-label={`Use list price: ${row.model} ${row.route ?? ''}`}
    />
  );
}

const columns: Column<ComparedPrice>[] = [
  {
    name: 'parts',
    label: 'Current → listed',
    show: ({ parts }) => (
      <Stack gap={2}>
        {parts.map(({ part, from, configured, listed }) => (
          <Group key={`${part} ${from}`} gap={6}>
            <Hint size="xs">
              {part}
              {from !== null && (
                <>
                  {' from '}
                  <When at={from} isPrecise />
                </>
              )}
            </Hint>
            <Text size="sm" className="tabular">
              {`${shownPart(part, configured)} → ${shownPart(part, listed)}`}
            </Text>
          </Group>
        ))}
      </Stack>
    ),
  },
  {
    name: 'asOf',
    label: 'List date',
    from: 'md',
    show: ({ asOf }) => <span className="tabular">{formatUtcDate(asOf)}</span>,
  },
];

function shownPart(part: string, value: string | null): string {
  if (value === null) return 'none';
  return part === 'long_context.above' ? countOf(Number(value), 'token') : formatRate(value);
}

/** Replaces the whole price, or the whole cost of a route, with the listed one. */
export function applyListPrice(
  current: CatalogDocument,
  { model: name, route: named }: Pick<ComparedPrice, 'model' | 'route'>,
): CatalogEdit {
  const model = current.models[name];
  if (model === undefined) return { document: {} };
  if (named === null) {
    const { price: _, price_changes: __, ...others } = model;
    return { document: { models: { [name]: { ...others, catalogue: true } } } };
  }
  const routes = model.routes.map((route) => {
    if (`${route.provider}/${route.model ?? name}` !== named || route.cost === null) return route;
    const { cost_changes: _, ...others } = route;
    return { ...others, cost: 'catalogue' };
  });
  return { document: { models: { [name]: { ...model, routes } } } };
}

function UncomparedModels({ comparison: { unknown, retiring } }: { comparison: PriceComparisonShape }) {
  return (
    <Stack>
      {retiring.length > 0 && (
        <Card>
          <Heading mb="xs">Retiring models</Heading>
          <Stack gap={4}>
            {retiring.map(({ model, route, retires_on: day }) => (
              <Group key={`${model} ${route}`} gap="xs">
                <TextLink size="sm" to={pathOf.model(model)}>
                  {model}
                </TextLink>
                <Hint size="xs">{route}</Hint>
                <Badge color="orange">{`retires ${formatUtcDate(day)}`}</Badge>
              </Group>
            ))}
          </Stack>
        </Card>
      )}
      {unknown.length > 0 && (
        <Card>
          <Heading>Not on the price list</Heading>
          <Hint mb="xs">These models are not compared.</Hint>
          <Text size="sm" className="wrap">
            {unknown.join(', ')}
          </Text>
        </Card>
      )}
    </Stack>
  );
}
