// Where prices and costs are not those of the price list, model by model and route by route, each to be taken over.

import { Badge, Button, Card, Group, Stack, Text, Title } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { PriceComparisonShape, PriceDifferenceShape } from '../../../src/admin-api/shapes.ts';
import type { Standing, Wanted } from '../../catalogue-changes.ts';
import { useMe } from '../../me.tsx';
import { ApplyDialogue, type Applying, useApply } from '../../parts/apply-dialogue.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { FailureNotice } from '../../parts/failure-notice.tsx';
import { formatRate } from '../../parts/rate.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { useAsk } from '../../queries.ts';
import { words } from '../../words.ts';

/** One price, or one cost, with every part of it that differs. */
interface Compared {
  model: string;
  route: string | null;
  asOf: string;
  parts: PriceDifferenceShape[];
}

export function useComparison(isWanted = true): UseQueryResult<PriceComparisonShape> {
  return useAsk<PriceComparisonShape>('/models/differences', {}, { isWanted });
}

export function ModelComparison() {
  const { role } = useMe();
  const answer = useComparison();
  const apply = useApply({ done: words.comparison.taken });
  const rows = {
    rows: comparedOf(answer.data?.differences ?? []),
    isLoading: answer.isLoading,
    failure: answer.error,
    showMore: null,
    isLoadingMore: false,
    reload: () => void answer.refetch(),
  };
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        {words.comparison.text}
      </Text>
      <FailureNotice failure={apply.failure} />
      <DataTable
        label={words.comparison.text}
        rows={rows}
        columns={[whatColumn(role === 'operator' ? apply : null), ...columns]}
        keyOf={({ model, route }) => `${model} ${route}`}
        empty={<EmptyState icon="check" title={words.comparison.none} text={words.comparison.noneText} />}
      />
      {answer.data !== undefined && <Rest comparison={answer.data} />}
      <ApplyDialogue apply={apply} />
    </Stack>
  );
}

function comparedOf(differences: readonly PriceDifferenceShape[]): Compared[] {
  const found = new Map<string, Compared>();
  for (const difference of differences) {
    const { model, route, as_of: asOf } = difference;
    const key = JSON.stringify([model, route]);
    const row = found.get(key) ?? { model, route, asOf, parts: [] };
    row.parts.push(difference);
    found.set(key, row);
  }
  return [...found.values()];
}

/** With the way to take it over below its name: a phone has no room for a column of buttons. */
function whatColumn(apply: Applying | null): Column<Compared> {
  return {
    name: 'what',
    label: words.comparison.what,
    show: (row) => (
      <Stack gap={4} align="flex-start">
        <TextLink to={`/models/${encodeURIComponent(row.model)}`} fw={600}>
          {row.model}
        </TextLink>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {row.route === null ? words.comparison.price : words.comparison.cost(row.route)}
        </Text>
        {apply !== null && <TakeButton row={row} apply={apply} />}
      </Stack>
    ),
  };
}

function TakeButton({ row, apply }: { row: Compared; apply: Applying }) {
  return (
    <Button
      size="compact-sm"
      variant="default"
      disabled={apply.isAsking}
      onClick={() => apply.preview((standing) => takeOver(standing, row))}
      aria-label={`${words.comparison.take}: ${row.model} ${row.route ?? ''}`}
    >
      {words.comparison.take}
    </Button>
  );
}

const columns: Column<Compared>[] = [
  {
    name: 'parts',
    label: words.comparison.parts,
    show: ({ parts }) => (
      <Stack gap={2}>
        {parts.map(({ part, configured, listed }) => (
          <Group key={part} gap={6}>
            <Text size="xs" c="dimmed">
              {part}
            </Text>
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
    label: words.comparison.asOf,
    from: 'md',
    show: ({ asOf }) => <span className="tabular">{asOf}</span>,
  },
];

function shownPart(part: string, value: string | null): string {
  if (value === null) return words.comparison.nothing;
  return part === 'long_context.above' ? words.models.tokens(Number(value).toLocaleString('en-US')) : formatRate(value);
}

/** The whole price, or the whole cost of the route, as the list has it. */
export function takeOver(standing: Standing, { model: name, route: named }: Pick<Compared, 'model' | 'route'>): Wanted {
  const model = standing.models[name];
  if (model === undefined) return { document: {} };
  if (named === null) {
    const { price: _, ...others } = model;
    return { document: { models: { [name]: { ...others, catalogue: true } } } };
  }
  const routes = model.routes.map((route) =>
    `${route.provider}/${route.model ?? name}` === named && route.cost !== null
      ? { ...route, cost: 'catalogue' }
      : route,
  );
  return { document: { models: { [name]: { ...model, routes } } } };
}

function Rest({ comparison: { unknown, retiring } }: { comparison: PriceComparisonShape }) {
  return (
    <Stack>
      {retiring.length > 0 && (
        <Card withBorder>
          <Title order={2} size="h4" mb="xs">
            {words.comparison.retiring}
          </Title>
          <Stack gap={4}>
            {retiring.map(({ model, route, retires_on: day }) => (
              <Group key={`${model} ${route}`} gap="xs">
                <Text size="sm" component={Link} to="/models/$modelName" params={{ modelName: model } as never}>
                  {model}
                </Text>
                <Text size="xs" c="dimmed">
                  {route}
                </Text>
                <Badge variant="light" color="orange" tt="none">
                  {words.comparison.retires(day)}
                </Badge>
              </Group>
            ))}
          </Stack>
        </Card>
      )}
      {unknown.length > 0 && (
        <Card withBorder>
          <Title order={2} size="h4">
            {words.comparison.unknown}
          </Title>
          <Text size="sm" c="dimmed" mb="xs">
            {words.comparison.unknownText}
          </Text>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {unknown.join(', ')}
          </Text>
        </Card>
      )}
    </Stack>
  );
}
