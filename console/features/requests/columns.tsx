// The columns of the list of requests, in the table and in CSV.

import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { formatCount, formatMs } from '../../figures.ts';
import { errorLabel } from '../../labels.ts';
import type { Names } from '../../names.ts';
import { OutcomeBadge } from '../../parts/badges.tsx';
import type { CsvColumn } from '../../parts/csv-button.tsx';
import { type Column, moneyColumn } from '../../parts/data-table.tsx';
import { pathOf, TextLink } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { splitTokens, tokenKinds, tokensText } from '../../tokens.ts';
import { recordUnitsText, UNITS } from '../../units.ts';

const HIDDEN_AMOUNT = { choice: 'hidden', precision: 'request' } as const;

/** Operators and viewers also see the account, the provider and the margin of each request. */
export function usageColumns(names: Names, isInstallation: boolean): Column<UsageShape>[] {
  return [
    { name: 'time', label: 'Time', show: (row) => <TimeCell row={row} />, sort: { by: 'at', first: 'desc' } },
    { name: 'model', label: 'Model', show: ({ model }) => <ModelName name={model} />, choice: 'shown', from: 'sm' },
    {
      name: 'source',
      label: isInstallation ? 'Account / key' : 'API key',
      show: ({ account, key }) => (
        <>
          {isInstallation && <TwoLines text={names.account(account)} />}
          <Text component="div" inherit miw={76} {...(isInstallation && { size: 'xs', c: 'dimmed' })}>
            <TwoLines text={names.key(key)} />
          </Text>
        </>
      ),
      from: 'md',
      choice: 'shown',
    },
    text('group', 'Group', ({ group }) => group),
    ...(isInstallation
      ? [
          text('provider', 'Provider', ({ provider }) => provider),
          text('upstream_model', 'Upstream model', ({ upstream_model: model }) => model),
          figure('attempts', 'Attempts', ({ attempts }) => formatCount(attempts.length)),
        ]
      : []),
    {
      ...figure('tokens', tokenKinds.map(({ label }) => label).join(' / '), (row) => <Tokens row={row} />),
      choice: 'shown',
      from: 'lg',
      sort: { by: 'tokens', first: 'desc' },
    },
    figure('units', 'Units', ({ units }) => recordUnitsText(units) || '–'),
    moneyColumn('cost', 'Cost', ({ cost }) => cost, { precision: 'request', sort: { by: 'cost', first: 'desc' } }),
    ...(isInstallation
      ? [
          moneyColumn<UsageShape>('provider_cost', 'Provider cost', (row) => row.provider_cost, HIDDEN_AMOUNT),
          moneyColumn<UsageShape>('margin', 'Margin', ({ margin }) => margin, HIDDEN_AMOUNT),
        ]
      : []),
    duration('first_token', 'TTFT', 'Time to first token', (row) => row.first_token_ms),
    {
      ...duration('latency', 'Latency', 'Time from arrival to the end of the response', (row) => row.latency_ms),
      sort: { by: 'latency', first: 'desc' },
    },
    text('stream', 'Streaming', ({ stream }) => (stream ? 'Yes' : 'No')),
    {
      name: 'outcome',
      label: 'Status',
      show: (row) => <StatusCell row={row} />,
      from: 'sm',
      choice: 'shown',
    },
  ];
}

function figure(name: string, label: string, show: (row: UsageShape) => ReactNode): Column<UsageShape> {
  const inDigits = (row: UsageShape) => <span className="tabular">{show(row)}</span>;
  return { name, label, align: 'right', choice: 'hidden', show: inDigits };
}

function text(name: string, label: string, show: (row: UsageShape) => string | null): Column<UsageShape> {
  return { name, label, choice: 'hidden', show: (row) => <TwoLines text={show(row) ?? '–'} /> };
}

/** Always visible, because slow requests are what this list is searched for. */
function duration(name: string, label: string, title: string, show: (row: UsageShape) => number | null) {
  const inUnits = (row: UsageShape) => <Duration ms={show(row)} />;
  return { name, label, title, align: 'right', from: 'sm', show: inUnits } as const;
}

/** On a phone, the model, the times and the status have no columns of their own. */
function TimeCell({ row }: { row: UsageShape }) {
  const { request_id, at, model, first_token_ms, latency_ms } = row;
  const times = [
    ...(first_token_ms === null ? [] : [`TTFT ${formatMs(first_token_ms)}`]),
    `Latency ${formatMs(latency_ms)}`,
  ];
  return (
    <>
      <TextLink to={pathOf.request(request_id)}>
        <Box component="span" visibleFrom="sm">
          <When at={at} isPrecise />
        </Box>
        <Box component="span" hiddenFrom="sm">
          <When at={at} isRelative />
        </Box>
      </TextLink>
      <Hint size="xs" hiddenFrom="sm" className="wrap">
        {model}
        <br />
        {times.join(' · ')}
      </Hint>
      <Box hiddenFrom="sm" mt={4}>
        <StatusCell row={row} />
      </Box>
    </>
  );
}

/** Names that differ in their ends only must stay apart, so they are never cut. */
function ModelName({ name }: { name: string }) {
  return (
    <Text inherit maw={190} className="wrap name-cell" title={name}>
      {name}
    </Text>
  );
}

function StatusCell({ row }: { row: UsageShape }) {
  const reason = reasonOf(row);
  return (
    <>
      <OutcomeBadge outcome={row.outcome} />
      {reason !== null && (
        <Hint size="xs" className="wrap" {...(row.error !== null && { title: row.error.message })}>
          {reason}
        </Hint>
      )}
    </>
  );
}

const faultLabels: Readonly<Record<string, string>> = {
  overloaded: 'Overloaded',
  rate_limited: 'Rate limited',
  timeout: 'Timeout',
  rejected: 'Rejected',
  credentials: 'Credentials rejected',
  not_found: 'Not found at the provider',
};

/** "529 · Overloaded"; null for a request that succeeded. Older records have no error, but the results of their attempts. */
export function reasonOf({ outcome, status, error, attempts }: UsageShape): string | null {
  if (outcome === 'completed') return null;
  const fault = attempts.at(-1)?.result ?? '';
  const label = error === null ? faultLabels[fault] : errorLabel(error.code);
  const shown = [...(status >= 400 ? [String(status)] : []), ...(label === undefined ? [] : [label])];
  return shown.length === 0 ? null : shown.join(' · ');
}

function TwoLines({ text }: { text: string }) {
  return (
    <Text inherit lineClamp={2} maw={170} className="wrap" title={text}>
      {text}
    </Text>
  );
}

function Duration({ ms }: { ms: number | null }) {
  return <span className="tabular">{ms === null ? '–' : formatMs(ms)}</span>;
}

function Tokens({ row }: { row: UsageShape }) {
  const split = splitTokens(row);
  const [read, written] = [row.cache_read_input_tokens, row.cache_creation_input_tokens];
  const cache = split.cached > 0 ? ` (${formatCount(read)} read, ${formatCount(written)} written)` : '';
  return (
    <span className="tabular" title={`${tokensText(split)}${cache}`}>
      {tokenKinds.map(({ name }) => formatCount(split[name])).join(' / ')}
    </span>
  );
}

/** All fields of a record except its list of attempts. */
export function usageCsvColumns(isInstallation: boolean): CsvColumn<UsageShape>[] {
  const columns: CsvColumn<UsageShape>[] = [
    ...plain('request_id', 'received_at', 'at', 'account', 'key', 'group', 'model', 'provider', 'upstream_model'),
    ...plain('stream', 'outcome', 'status'),
    { name: 'error', value: ({ error }) => error?.code },
    ...plain('input_tokens', 'output_tokens', 'cache_read_input_tokens'),
    { name: 'cache_write_5m_tokens', value: (row) => row.cache_creation.ephemeral_5m_input_tokens },
    { name: 'cache_write_1h_tokens', value: (row) => row.cache_creation.ephemeral_1h_input_tokens },
    ...plain('web_searches', 'usage_source', 'service_tier', 'cost', 'written_off'),
    ...(isInstallation ? plain('provider_cost', 'margin') : []),
    ...['tier', 'multiplier', 'input', 'output', 'cache_read', 'cache_write_5m', 'cache_write_1h'].map(rateColumn),
    rateColumn('web_search_per_thousand'),
    ...plain('endpoint', 'image'),
    ...UNITS.map((unit) => ({ name: unit, value: ({ units }: UsageShape) => units[unit] })),
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
