// One model: prices, details, routes and usage.

import { Alert, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useParams } from '@tanstack/react-router';
import type { GroupShape, ModelShape, RouteHealthShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { endpointLabels, TIERS } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { formatRate, rateOfGroup } from '../../money.ts';
import { CopyButton } from '../../parts/code-block.tsx';
import { type Column, NameLink, PlainTable, rateColumn } from '../../parts/data-table.tsx';
import { ActionButton, ButtonLink, pathOf, useGoTo } from '../../parts/link.tsx';
import { EmptyState, Facts, Hint, Loading, PageFailure, PageHead, Section } from '../../parts/page.tsx';
import { RouteHealth, useRouteHealth } from '../../parts/route-health.tsx';
import { When } from '../../parts/times.tsx';
import { UseOverTime } from '../../parts/usage-charts.tsx';
import { useList } from '../../queries.ts';
import { ReviewDialog, useReview } from '../catalog/review-dialog.tsx';
import { Capabilities } from './capabilities.tsx';
import { hasTokenPrice, type PricePart, partsOf } from './price-parts.ts';
import { ScheduledPrices } from './scheduled-prices.tsx';

const ALL_ROWS = { limit: 1000 };

export function ModelShow() {
  const { modelName: name } = useParams({ strict: false }) as { modelName: string };
  const me = useMe();
  const models = useList('/models', { query: { patterns: name } });
  const groups = useList('/groups', { query: ALL_ROWS });
  const model = models.rows.find((one) => one.name === name);
  if (models.isLoading) return <Loading />;
  if (models.failure !== null) return <PageFailure failure={models.failure} onRetry={models.reload} />;
  if (model === undefined) return <Unknown name={name} />;
  const sellers = groups.rows.filter((group) => model.groups.includes(group.name));
  return (
    <>
      <PageHead
        title={model.name}
        {...(model.display_name !== model.name && { text: model.display_name })}
        actions={<Actions model={model} />}
      />
      <Stack>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <ModelPrices model={model} groups={seesInstallation(me) ? sellers : ownFirst(sellers, me.account?.groups)} />
          <Section title="Details">
            <ModelFacts model={model} />
          </Section>
        </SimpleGrid>
        {seesInstallation(me) && model.entry === null && <ScheduledPrices model={model} />}
        {seesInstallation(me) && <ModelRoutes model={model} />}
        <UseOverTime of={{ model: model.name }} />
      </Stack>
    </>
  );
}

/** The group whose price applies: the first group of the account that offers the model. */
function ownFirst(groups: readonly GroupShape[], own: readonly string[] = []): GroupShape[] {
  const first = own.find((name) => groups.some((group) => group.name === name));
  return groups.filter(({ name }) => name === first);
}

function Unknown({ name }: { name: string }) {
  return (
    <>
      <PageHead title={name} />
      <EmptyState
        icon="cube"
        title="Page not found"
        text={`The model "${name}" does not exist, or you do not have access to it.`}
      />
    </>
  );
}

function Actions({ model }: { model: ModelShape }) {
  const { role } = useMe();
  const goTo = useGoTo();
  const entry = model.entry ?? model.name;
  const apply = useReview({
    done: model.entry === null ? 'Model deleted.' : `Entry ${entry} deleted, with all of its models.`,
    onDone: () => goTo('/models'),
  });
  return (
    <>
      <CopyButton text={model.name} label="Copy name" size="sm" />
      {role === 'operator' && (
        <>
          <ButtonLink
            label={model.entry === null ? 'Edit' : `Edit ${entry}`}
            to={`${pathOf.model(entry)}/edit`}
            icon="pencil"
          />
          <ActionButton
            label={model.entry === null ? 'Delete' : `Delete ${entry}`}
            color="red"
            icon="trash"
            loading={apply.isAsking}
            onClick={() => apply.preview(() => ({ document: {}, remove: [{ kind: 'model', name: entry }] }))}
          />
          {apply.failure !== null && (
            <Alert color="red" w="100%">
              {apply.failure.message}
            </Alert>
          )}
          <ReviewDialog apply={apply} />
        </>
      )}
    </>
  );
}

function ModelFacts({ model }: { model: ModelShape }) {
  const { hidden } = useMe();
  const tokens = (count: number | null) => (count === null ? 'No limit' : `${formatCount(count)} tokens`);
  return (
    <Facts
      facts={[
        {
          name: 'Aliases',
          value: model.aliases.length === 0 ? 'None' : <Group gap={4}>{model.aliases.join(', ')}</Group>,
        },
        model.capabilities.length === 0 ? null : { name: 'Capabilities', value: <Capabilities model={model} /> },
        { name: 'Max input tokens', value: tokens(model.max_input_tokens) },
        { name: 'Max output tokens', value: tokens(model.max_output_tokens) },
        { name: 'Default max tokens', value: tokens(model.default_max_tokens) },
        hidden.includes('group')
          ? null
          : { name: 'Groups', value: model.groups.length === 0 ? 'No group' : model.groups.join(', ') },
        { name: 'Serves', value: endpointLabels[model.serves] },
        model.entry === null
          ? null
          : { name: 'Catalog entry', value: <NameLink to={pathOf.model(model.entry)} name={model.entry} /> },
        model.prefer === 'latency' ? { name: 'Routes of equal priority', value: 'By time to first token' } : null,
        { name: 'Created', value: <When at={model.created_at} /> },
      ]}
    />
  );
}

/** More columns would not be readable. */
const GROUPS_SHOWN_MAX = 4;

function ModelPrices({ model, groups }: { model: ModelShape; groups: readonly GroupShape[] }) {
  const isInstallation = seesInstallation(useMe());
  // A group without a multiplier needs no column.
  const others = groups.filter(({ multiplier }) => !isInstallation || multiplier !== '1').slice(0, GROUPS_SHOWN_MAX);
  const { long_context: long } = model.price;
  const tiers = TIERS.filter((tier) => model.price[tier] !== undefined);
  const priceOf = (label: string, multiplier: string) =>
    rateColumn<PricePart>(label, label, ({ rate }) => rateOfGroup(rate, multiplier));
  const columns: Column<PricePart>[] = [
    { name: 'part', label: 'Item', show: ({ label }) => label },
    ...(isInstallation || others.length === 0 ? [priceOf('Price', '1')] : []),
    ...others.map(({ name, multiplier }) =>
      multiplier === null || (!isInstallation && multiplier === '1')
        ? priceOf('Price', '1')
        : priceOf(`${name} (× ${multiplier})`, multiplier),
    ),
  ];
  return (
    <Section title="Prices" text={hasTokenPrice(model.price) ? 'USD per million tokens' : 'USD'} isPadded={false}>
      <PlainTable label="Prices" rows={partsOf(model.price)} keyOf={({ label }) => label} columns={columns} />
      {model.price_changes.length > 0 && (
        <PlainTable
          label="Price changes"
          rows={changesOf(model)}
          keyOf={({ from, label }) => `${from} ${label}`}
          columns={changeColumns}
        />
      )}
      <Hint size="xs" px="md" pb="md">
        {[
          ...(long === undefined
            ? []
            : [
                `Long-context rates apply to the whole request when its prompt exceeds ${formatCount(long.above)} tokens.`,
              ]),
          ...(tiers.length === 0
            ? []
            : [
                `Rates of a service tier (${tiers.join(', ')}) apply to requests for it, and to responses that the provider served in it.`,
              ]),
          ...(!isInstallation ? [] : [sourceOf(model)]),
        ].join(' ')}
        {model.price_from !== null && (
          <>
            {' Effective since '}
            <When at={model.price_from} />.
          </>
        )}
      </Hint>
    </Section>
  );
}

function sourceOf({ price_source: source }: ModelShape): string {
  return source === null ? 'Source: set by an operator.' : `Source: price list of ${source.catalogue}.`;
}

interface PriceChange {
  from: string;
  label: string;
  before: string | undefined;
  after: string | undefined;
}

const changeColumns: Column<PriceChange>[] = [
  { name: 'from', label: 'From', show: ({ from }) => <When at={from} isPrecise /> },
  { name: 'part', label: 'Item', show: ({ label }) => label },
  rateColumn('before', 'Before', ({ before }) => before),
  rateColumn('after', 'After', ({ after }) => after),
];

/** The parts that change, in order of time. */
function changesOf({ price, price_changes: changes }: ModelShape): PriceChange[] {
  const ratesOf = (one: ModelShape['price']) => new Map(partsOf(one).map(({ label, rate }) => [label, rate]));
  return changes.flatMap((change, at) => {
    const [before, after] = [ratesOf(changes[at - 1] ?? price), ratesOf(change)];
    return [...new Set([...before.keys(), ...after.keys()])]
      .map((label) => ({ from: change.from, label, before: before.get(label), after: after.get(label) }))
      .filter((row) => row.before !== row.after);
  });
}

type RouteShape = ModelShape['routes'][number];

function ModelRoutes({ model }: { model: ModelShape }) {
  const { find } = useRouteHealth({ model: model.name });
  return (
    <Section
      title="Routes"
      text="Lower priority numbers are tried first. Routes of equal priority share requests by weight. Health covers the last 24 hours."
      isPadded={false}
    >
      <PlainTable
        label="Routes"
        isFolding
        // Two routes of a model may be equal except for their position.
        rows={model.routes.map((route, at) => ({ ...route, at }))}
        keyOf={({ at }) => String(at)}
        columns={routeColumns((route) => find({ ...route, model: model.name, upstream_model: route.model }))}
      />
    </Section>
  );
}

function routeColumns(healthOf: (route: RouteShape) => RouteHealthShape | undefined): Column<RouteShape>[] {
  const figure = (
    name: string,
    label: string,
    show: (route: RouteShape) => string,
    from?: 'sm' | 'md',
  ): Column<RouteShape> => ({
    name,
    label,
    align: 'right',
    ...(from !== undefined && { from }),
    show: (route) => <span className="tabular">{show(route)}</span>,
  });
  return [
    {
      name: 'provider',
      label: 'Provider',
      show: ({ provider, model }) => <NameLink to={pathOf.provider(provider)} name={provider} note={model} />,
    },
    figure('priority', 'Priority', ({ priority }) => String(priority), 'md'),
    figure('weight', 'Weight', ({ weight }) => String(weight), 'md'),
    figure(
      'concurrency',
      'Concurrency',
      ({ concurrency }) => (concurrency === null ? 'No limit' : formatCount(concurrency)),
      'md',
    ),
    figure('cost', 'Cost in / out', ({ cost }) => pairOf(cost), 'sm'),
    {
      name: 'margin',
      label: 'Margin in / out',
      align: 'right',
      from: 'sm',
      title: 'Price × multiplier − cost, in the group with the lowest multiplier',
      show: ({ margin }) => <RouteMargin margin={margin} />,
    },
    {
      name: 'health',
      label: 'Health',
      show: (route) => <RouteHealth health={healthOf(route)} />,
    },
  ];
}

/** Red below zero. */
function RouteMargin({ margin }: Pick<RouteShape, 'margin'>) {
  const isLoss = margin !== null && (margin.input.startsWith('-') || margin.output.startsWith('-'));
  return (
    <>
      <Text component="span" size="sm" className="tabular" {...(isLoss && { c: 'red' })}>
        {pairOf(margin)}
      </Text>
      {margin?.group != null && <Hint size="xs">{`In ${margin.group}`}</Hint>}
    </>
  );
}

function pairOf(pair: { input: string; output: string } | null): string {
  return pair === null ? 'Unknown' : `${formatRate(pair.input)} / ${formatRate(pair.output)}`;
}
