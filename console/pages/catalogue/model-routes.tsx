// The routes of a model: where it is sent, in which order, what that costs and leaves, and how each provider does.

import { Stack, Table, Text } from '@mantine/core';
import type { ModelShape, ProviderShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { ProviderHealth } from '../../parts/provider-health.tsx';
import { formatRate } from '../../parts/rate.tsx';
import { Section } from '../../parts/section.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { words } from '../../words.ts';

type RouteShape = ModelShape['routes'][number];

export function ModelRoutes({ model, providers }: { model: ModelShape; providers: readonly ProviderShape[] }) {
  const { route } = words.models;
  return (
    <Section title={words.models.routes} text={words.models.routesText} isPadded={false}>
      <Table.ScrollContainer minWidth={0}>
        <Table verticalSpacing="xs" horizontalSpacing="md" aria-label={words.models.routes}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{route.provider}</Table.Th>
              <Table.Th ta="right" visibleFrom="md">
                {route.priority}
              </Table.Th>
              <Table.Th ta="right" visibleFrom="md">
                {route.weight}
              </Table.Th>
              <Table.Th ta="right" visibleFrom="md">
                {route.concurrency}
              </Table.Th>
              <Table.Th ta="right">{route.cost}</Table.Th>
              <Table.Th ta="right">{route.margin}</Table.Th>
              <Table.Th visibleFrom="sm">{route.health}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {model.routes.map((one) => (
              <RouteRow
                // A model may have two routes that differ in their order alone.
                key={`${one.provider} ${one.model} ${model.routes.indexOf(one)}`}
                route={one}
                provider={providers.find(({ name }) => name === one.provider)}
              />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}

function RouteRow({ route, provider }: { route: RouteShape; provider: ProviderShape | undefined }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={0}>
          <TextLink to={`/providers/${route.provider}`} fw={600}>
            {route.provider}
          </TextLink>
          <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {route.model}
          </Text>
        </Stack>
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md" className="tabular">
        {route.priority}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md" className="tabular">
        {route.weight}
      </Table.Td>
      <Table.Td ta="right" visibleFrom="md" className="tabular">
        {route.concurrency === null ? words.parts.unlimited : formatCount(route.concurrency)}
      </Table.Td>
      <Table.Td ta="right" className="tabular" {...(route.cost === null && { c: 'dimmed' })}>
        {route.cost === null ? words.models.costUnknown : pairOf(route.cost)}
      </Table.Td>
      <Table.Td ta="right" className="tabular" {...(route.margin === null && { c: 'dimmed' })}>
        {route.margin === null ? words.models.costUnknown : pairOf(route.margin)}
      </Table.Td>
      <Table.Td visibleFrom="sm">
        {provider !== undefined && <ProviderHealth provider={provider} models={[route.model]} />}
      </Table.Td>
    </Table.Tr>
  );
}

function pairOf({ input, output }: { input: string; output: string }): string {
  return `${formatRate(input)} / ${formatRate(output)}`;
}
