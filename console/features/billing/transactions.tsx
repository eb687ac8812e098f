// The journal of an account, entry by entry, with filters and CSV export.

import { Group, Stack, Text } from '@mantine/core';
import type { EntryShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { entryKindLabels, optionsOf } from '../../labels.ts';
import { nanoOf } from '../../money.ts';
import { CsvButton, type CsvColumn } from '../../parts/csv-button.tsx';
import { type Column, DataTable, NoRows } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter } from '../../parts/filter-chips.tsx';
import { pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { noteOf, paymentOf } from './entry-text.ts';
import { usePathOfBilling } from './page.tsx';

export function Journal({ accountId }: { accountId: string }) {
  const { kind } = useFilters().values;
  const query = { kind, ...rangeQuery(useRange()) };
  const rows = useList('/accounts/{id}/entries', { id: accountId, query });
  return (
    <div>
      <Group justify="space-between" align="flex-end" mb="sm">
        <FilterChips filters={journalFilters} mb={0}>
          <RangeFields />
        </FilterChips>
        <CsvButton
          path="/accounts/{id}/entries"
          id={accountId}
          query={query}
          columns={csvColumns}
          fileName={`transactions-${accountId}.csv`}
        />
      </Group>
      <DataTable
        label="Transactions"
        columns={columnsFor(accountId)}
        rows={rows}
        keyOf={({ seq }) => String(seq)}
        empty={
          <NoRows
            of="transactions"
            isOfRange
            icon="wallet"
            title="No transactions yet"
            text="Credits and the cost of each request appear here, newest first."
          />
        }
      />
    </div>
  );
}

const { usage: _, ...kinds } = entryKindLabels;

const journalFilters: readonly ListFilter[] = [
  {
    kind: 'options',
    name: 'kind',
    label: 'Type',
    options: optionsOf({ beside_usage: 'All except requests', ...kinds }),
  },
];

function columnsFor(accountId: string): Column<EntryShape>[] {
  return [
    { name: 'at', label: 'Time', from: 'sm', show: ({ at }) => <When at={at} /> },
    { name: 'kind', label: 'Type', show: (row) => <KindCell row={row} accountId={accountId} /> },
    {
      name: 'reference',
      label: 'Reference',
      from: 'md',
      show: (row) => <Reference row={row} accountId={accountId} />,
    },
    { name: 'note', label: 'Note', from: 'lg', show: (row) => <LongText text={noteOf(row)} /> },
    {
      name: 'change',
      label: 'Amount',
      align: 'right',
      show: (row) => <Change row={row} />,
    },
  ];
}

const csvColumns: readonly CsvColumn<EntryShape>[] = [
  { name: 'at', value: ({ at }) => at },
  { name: 'seq', value: ({ seq }) => seq },
  { name: 'kind', value: ({ kind }) => kind },
  { name: 'change', value: ({ change }) => change },
  { name: 'amount', value: ({ amount }) => amount },
  { name: 'reference', value: ({ reference }) => reference },
  { name: 'note', value: ({ note }) => note },
];

/** On a phone, the reference and the time have no columns of their own. */
function KindCell({ row, accountId }: { row: EntryShape; accountId: string }) {
  return (
    <Stack gap={0}>
      <span>{entryKindLabels[row.kind]}</span>
      <Hint size="xs" hiddenFrom="md" component="div">
        <Reference row={row} accountId={accountId} />
      </Hint>
      <Hint size="xs" hiddenFrom="sm" component="div">
        <When at={row.at} />
      </Hint>
    </Stack>
  );
}

/** The request of an entry. References that users entered are not parsed. */
function requestOf({ kind, reference }: EntryShape): string | null {
  const isOfMessage = ['usage', 'write_off', 'correction', 'refund'].includes(kind);
  return isOfMessage ? (/req_[0-9A-Za-z]{25}/.exec(reference ?? '')?.[0] ?? null) : null;
}

function Reference({ row, accountId }: { row: EntryShape; accountId: string }) {
  const pathOfBilling = usePathOfBilling();
  const payment = paymentOf(row);
  if (payment !== null)
    return (
      <TextLink to={pathOfBilling(accountId, 'payments')} search={{ show: payment }}>
        {payment}
      </TextLink>
    );
  const requestId = requestOf(row);
  if (requestId === null) return <LongText text={row.reference} />;
  return (
    <TextLink to={pathOf.request(requestId)} title={requestId}>
      {requestId.slice(0, 12)}…
    </TextLink>
  );
}

function LongText({ text }: { text: string | null }) {
  return (
    <Text component="span" inherit className="wrap">
      {text ?? ''}
    </Text>
  );
}

/** A write-off does not change the balance; its amount is shown in parentheses. */
function Change({ row: { change, amount } }: { row: EntryShape }) {
  if (nanoOf(change) === 0n)
    return (
      <Text component="span" inherit c="dimmed" title="Written off. The balance did not change.">
        (<Money usd={amount} precision="request" />)
      </Text>
    );
  return <Money usd={change} precision="request" isSigned fw={change.startsWith('-') ? 400 : 600} />;
}
