// The journal of an account: every change of its balance, with filters, and as CSV.

import { Button, Group, NativeSelect, Stack, Text, TextInput, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { EntryShape } from '../../../src/admin-api/shapes.ts';
import type { Query } from '../../api.ts';
import { useFilters } from '../../filters.ts';
import { CsvButton, type CsvColumn } from '../../parts/csv-button.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { formatMoney, nanoOf } from '../../parts/money.tsx';
import { When } from '../../parts/when.tsx';
import { usePages } from '../../queries.ts';
import { words } from '../../words.ts';

const DAY_MS = 86_400_000;
const its = words.balance;

export function Journal({ accountId }: { accountId: string }) {
  const { values, clear } = useFilters();
  const query = queryOf(values);
  const rows = usePages<EntryShape>(`/accounts/${accountId}/entries`, query);
  const isFiltered = Object.keys(query).length > 0;
  return (
    <section aria-labelledby="balance-journal">
      <Group justify="space-between" align="flex-end" mb="sm">
        <Title order={2} size="h4" id="balance-journal">
          {its.journal}
        </Title>
        <CsvButton
          path={`/accounts/${accountId}/entries`}
          query={query}
          columns={csvColumns}
          fileName={`journal-${accountId}.csv`}
        />
      </Group>
      <JournalFilters />
      <DataTable
        label={its.journal}
        columns={columns}
        rows={rows}
        keyOf={({ seq }) => String(seq)}
        empty={
          isFiltered ? (
            <EmptyState
              icon="search"
              title={its.journalNone}
              text={its.journalNoneText}
              action={
                <Button variant="default" onClick={clear}>
                  {words.parts.clearFilters}
                </Button>
              }
            />
          ) : (
            <EmptyState icon="wallet" title={its.journalEmpty} text={its.journalEmptyText} />
          )
        }
      />
    </section>
  );
}

/** The day up to which is asked for is in it, whole. */
function queryOf({ kind, since, until }: Record<string, string>): Query {
  const untilMs = Date.parse(until ?? '');
  return {
    ...(kind !== undefined && { kind }),
    ...(since !== undefined && { since }),
    ...(!Number.isNaN(untilMs) && { until: new Date(untilMs + DAY_MS).toISOString() }),
  };
}

function JournalFilters() {
  const { values, set } = useFilters();
  const { usage: _, ...kinds } = words.entryKinds;
  return (
    <Group mb="sm" gap="sm" align="flex-end">
      <NativeSelect
        label={its.kindFilter}
        value={values['kind'] ?? ''}
        onChange={({ currentTarget }) => set({ kind: currentTarget.value })}
        data={[
          { value: '', label: its.everything },
          { value: 'beside_usage', label: its.besideUsage },
          ...Object.entries(kinds).map(([value, label]) => ({ value, label })),
        ]}
        style={{ flex: '1 1 160px' }}
        maw={240}
      />
      {(['since', 'until'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={its[name]}
          value={values[name] ?? ''}
          onChange={({ currentTarget }) => set({ [name]: currentTarget.value })}
          style={{ flex: '1 1 130px' }}
          maw={180}
        />
      ))}
    </Group>
  );
}

const { entry } = its;
const columns: readonly Column<EntryShape>[] = [
  { name: 'at', label: entry.at, from: 'sm', show: ({ at }) => <When at={at} /> },
  { name: 'kind', label: entry.kind, show: (row) => <KindCell row={row} /> },
  { name: 'reference', label: entry.reference, from: 'md', show: (row) => <Reference row={row} /> },
  { name: 'note', label: entry.note, from: 'lg', show: ({ note }) => <Long text={note} /> },
  { name: 'change', label: entry.change, align: 'right', show: (row) => <Change row={row} /> },
];

const csvColumns: readonly CsvColumn<EntryShape>[] = [
  { name: 'at', value: ({ at }) => at },
  { name: 'seq', value: ({ seq }) => seq },
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'change', value: ({ change }) => change },
  { name: 'amount', value: ({ amount }) => amount },
  { name: 'reference', value: ({ reference }) => reference },
  { name: 'note', value: ({ note }) => note },
];

/** On a phone the reference and the time have no columns of their own. */
function KindCell({ row }: { row: EntryShape }) {
  return (
    <Stack gap={0}>
      <span>{words.entryKinds[row.kind]}</span>
      <Text size="xs" c="dimmed" hiddenFrom="md" component="div">
        <Reference row={row} />
      </Text>
      <Text size="xs" c="dimmed" hiddenFrom="sm" component="div">
        <When at={row.at} />
      </Text>
    </Stack>
  );
}

/** What a message did is named by its request; what somebody wrote is a text, whatever it looks like. */
export function requestOf({ kind, reference }: EntryShape): string | null {
  const isOfMessage = ['usage', 'write_off', 'correction', 'refund'].includes(kind);
  return isOfMessage ? (/req_[0-9A-Za-z]{25}/.exec(reference ?? '')?.[0] ?? null) : null;
}

function Reference({ row }: { row: EntryShape }) {
  const requestId = requestOf(row);
  if (requestId === null) return <Long text={row.reference} />;
  return (
    <Text
      inherit
      component="span"
      renderRoot={(props) => <Link {...props} to="/usage/$requestId" params={{ requestId }} />}
      title={requestId}
    >
      {requestId.slice(0, 12)}…
    </Text>
  );
}

function Long({ text }: { text: string | null }) {
  return (
    <Text component="span" inherit style={{ overflowWrap: 'anywhere' }}>
      {text ?? ''}
    </Text>
  );
}

/** What was given up changes no balance: its amount is shown, and said to be that. */
function Change({ row: { change, amount } }: { row: EntryShape }) {
  if (nanoOf(change) === 0n)
    return (
      <Text component="span" inherit c="dimmed" className="tabular" title={entry.unchanged}>
        ({formatMoney(amount)})
      </Text>
    );
  const isUp = !change.startsWith('-');
  return (
    <Text component="span" inherit className="tabular" fw={isUp ? 600 : 400} title={`${change} USD`}>
      {isUp ? '+' : ''}
      {formatMoney(change)}
    </Text>
  );
}
