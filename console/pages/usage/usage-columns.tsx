// The columns of the list of requests, on the screen and in a CSV.

import { Box, Group, Text } from '@mantine/core';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatMs, formatShort } from '../../figures.ts';
import type { Names } from '../../names.ts';
import type { CsvColumn } from '../../parts/csv-button.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { Money } from '../../parts/money.tsx';
import { OutcomeBadge } from '../../parts/outcome-badge.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { When } from '../../parts/when.tsx';
import { words } from '../../words.ts';

const { usage: its } = words;

/** `isInstallation`: with the accounts, whose they are. */
export function usageColumns(names: Names, isInstallation: boolean): Column<UsageShape>[] {
  const columns: (Column<UsageShape> | null)[] = [
    { name: 'when', label: its.when, show: (row) => <Moment row={row} /> },
    { name: 'model', label: its.model, show: ({ model }) => <OneLine text={model} />, from: 'sm' },
    isInstallation
      ? {
          name: 'account',
          label: its.account,
          show: ({ account }) => <OneLine text={names.account(account)} />,
          from: 'md',
        }
      : null,
    { name: 'key', label: its.key, show: ({ key }) => <OneLine text={names.key(key)} />, from: 'md' },
    { name: 'input', label: its.input, show: (row) => <Input row={row} />, align: 'right', from: 'lg' },
    {
      name: 'output',
      label: its.output,
      show: (row) => <Count count={row.output_tokens} />,
      align: 'right',
      from: 'lg',
    },
    { name: 'cost', label: its.cost, show: ({ cost }) => <Money usd={cost} />, align: 'right' },
    { name: 'outcome', label: its.outcome, show: ({ outcome }) => <OutcomeBadge outcome={outcome} /> },
    {
      name: 'time',
      label: <span title={its.timesText}>{its.times}</span>,
      show: (row) => <Times row={row} />,
      align: 'right',
      from: 'lg',
    },
  ];
  return columns.filter((column) => column !== null);
}

function Moment({ row: { request_id, at, model } }: { row: UsageShape }) {
  return (
    <>
      <TextLink to={`/usage/${request_id}`}>
        <Box component="span" visibleFrom="sm">
          <When at={at} isInRow />
        </Box>
        <Box component="span" hiddenFrom="sm">
          <When at={at} isRelative />
        </Box>
      </TextLink>
      <Text size="xs" c="dimmed" hiddenFrom="sm" style={{ overflowWrap: 'anywhere' }}>
        {model}
      </Text>
    </>
  );
}

function OneLine({ text }: { text: string }) {
  return (
    <Text inherit truncate maw={120} title={text}>
      {text}
    </Text>
  );
}

function Count({ count }: { count: number }) {
  return <span className="tabular">{formatCount(count)}</span>;
}

/** What was read from the cache or written to it stands apart: it has prices of its own. */
function Input({ row }: { row: UsageShape }) {
  const [read, written] = [row.cache_read_input_tokens, row.cache_creation_input_tokens];
  return (
    <Group gap={6} justify="flex-end" wrap="nowrap">
      {read + written > 0 && (
        <Text
          component="span"
          size="xs"
          c="dimmed"
          className="tabular"
          title={its.cacheParts(formatCount(read), formatCount(written))}
        >
          {its.cache(formatShort(read + written))}
        </Text>
      )}
      <Count count={row.input_tokens} />
    </Group>
  );
}

/** How long the whole took, and below it how soon it began. */
function Times({ row: { first_token_ms, latency_ms } }: { row: UsageShape }) {
  return (
    <Group gap={6} justify="flex-end" wrap="nowrap">
      {first_token_ms !== null && (
        <Text component="span" size="xs" c="dimmed" className="tabular" title={its.firstToken}>
          {formatMs(first_token_ms)}
        </Text>
      )}
      <span className="tabular">{formatMs(latency_ms)}</span>
    </Group>
  );
}

/** All of a record but its attempts, which are a list. */
export function usageCsvColumns(isInstallation: boolean): CsvColumn<UsageShape>[] {
  const columns: CsvColumn<UsageShape>[] = [
    ...plain('request_id', 'received_at', 'at', 'account', 'key', 'group', 'model', 'provider', 'upstream_model'),
    ...plain('stream', 'outcome', 'status', 'input_tokens', 'output_tokens', 'cache_read_input_tokens'),
    { name: 'cache_write_5m_tokens', value: (row) => row.cache_creation.ephemeral_5m_input_tokens },
    { name: 'cache_write_1h_tokens', value: (row) => row.cache_creation.ephemeral_1h_input_tokens },
    ...plain('web_searches', 'usage_source', 'cost', 'written_off'),
    ...(isInstallation ? plain('provider_cost', 'margin') : []),
    ...['tier', 'multiplier', 'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'].map(rateColumn),
    rateColumn('web_search_per_thousand'),
    { name: 'attempts', value: (row) => row.attempts.length },
    ...plain('admitted_ms', 'first_token_ms', 'latency_ms'),
    { name: 'balance_before', value: (row) => row.meters?.balance?.before },
    { name: 'balance_after', value: (row) => row.meters?.balance?.after },
  ];
  return columns;
}

type Plain = { [Name in keyof UsageShape]: UsageShape[Name] extends object ? never : Name }[keyof UsageShape];

function plain(...names: Plain[]): CsvColumn<UsageShape>[] {
  return names.map((name) => ({ name, value: (row) => row[name] as string | number | boolean | null }));
}

function rateColumn(name: string): CsvColumn<UsageShape> {
  return { name: `rate_${name}`, value: (row) => row.rates[name] };
}
