// Every part of a model's price: the price itself, and with the factor of each group that sells it.

import { ScrollArea, Table, Text } from '@mantine/core';
import type { GroupShape, ModelShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { isOfInstallation, useMe } from '../../me.tsx';
import { RATES } from '../../model-form.ts';
import { Rate, rateOfGroup } from '../../parts/rate.tsx';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words.ts';

/** More columns than these are read by nobody. */
const GROUPS_SHOWN_MAX = 4;

export function ModelPrices({ model, groups }: { model: ModelShape; groups: readonly GroupShape[] }) {
  const isInstallation = isOfInstallation(useMe());
  // A group that takes the price itself needs no column beside it.
  const others = groups.filter(({ multiplier }) => !isInstallation || multiplier !== '1').slice(0, GROUPS_SHOWN_MAX);
  const { long_context: long, fast } = model.price;
  return (
    <Section title={words.models.prices} text={words.models.pricesText} isPadded={false}>
      <ScrollArea type="auto">
        <Table verticalSpacing={6} horizontalSpacing="md" aria-label={words.models.prices}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.models.part}</Table.Th>
              {(isInstallation || others.length === 0) && <Table.Th ta="right">{words.models.listPrice}</Table.Th>}
              {others.map(({ name, multiplier }) => (
                <Table.Th key={name} ta="right">
                  {isInstallation || multiplier !== '1'
                    ? words.models.groupPrice(name, multiplier)
                    : words.models.listPrice}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {partsOf(model.price).map(({ label, rate }) => (
              <Table.Tr key={label}>
                <Table.Td>{label}</Table.Td>
                {(isInstallation || others.length === 0) && (
                  <Table.Td ta="right">
                    <Rate usd={rate} />
                  </Table.Td>
                )}
                {others.map(({ name, multiplier }) => (
                  <Table.Td key={name} ta="right">
                    <Rate usd={rateOfGroup(rate, multiplier)} />
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      <Text size="xs" c="dimmed" px="md" pb="md">
        {[
          ...(long === undefined ? [] : [words.models.longNote(formatCount(long.above))]),
          ...(fast === undefined ? [] : [words.models.fastNote]),
          ...(!isInstallation ? [] : [sourceOf(model)]),
        ].join(' ')}
      </Text>
    </Section>
  );
}

function sourceOf({ price_source: source }: ModelShape): string {
  return source === null ? words.models.sourceStated : words.models.source(source.catalogue);
}

function partsOf(price: ModelShape['price']): { label: string; rate: string }[] {
  const { long_context: long, fast, web_search_per_thousand: search } = price;
  const { parts, partOfLong, partOfFast } = words.models;
  return [
    ...RATES.map((name) => ({ label: parts[name] as string, rate: price[name] })),
    ...(long === undefined ? [] : RATES.map((name) => ({ label: partOfLong(parts[name]), rate: long[name] }))),
    ...(fast === undefined ? [] : RATES.map((name) => ({ label: partOfFast(parts[name]), rate: fast[name] }))),
    ...(search === undefined ? [] : [{ label: parts.web_search_per_thousand, rate: search }]),
  ];
}
