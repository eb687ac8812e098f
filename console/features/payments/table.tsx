// A list of payments with its filters, and one of them in detail. The address keeps the filters and the payment shown.

import { Group, Stack } from '@mantine/core';
import type { PaymentShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { optionsOf, paymentKindLabels, paymentStatusLabels } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { nanoOf } from '../../money.ts';
import { type Names, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { CsvButton, type CsvColumn } from '../../parts/csv-button.tsx';
import { type Column, DataTable, moneyColumn, NoRows, statusColumn } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { ExternalLink, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { PaymentDrawer, receiptOf } from './details.tsx';

/** `accountId` null: of all accounts. */
export function PaymentTable({ accountId }: { accountId: string | null }) {
  const { values, set } = useFilters();
  const isOfAll = accountId === null;
  const { status, kind, account } = values;
  const query = { status, kind, account: accountId ?? account, ...rangeQuery(useRange()) };
  const rows = useList('/payments', { query });
  const names = useNames(isOfAll ? rows.rows.map(({ account }) => ({ account, key: null })) : []);
  const open = (id: string) => set({ show: id });
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="flex-end">
        <PaymentFilters isOfAll={isOfAll} />
        <CsvButton path="/payments" query={query} columns={useCsvColumns()} fileName="payments.csv" />
      </Group>
      <DataTable
        label="Payments"
        columns={columnsFor(isOfAll ? names : null, values)}
        rows={rows}
        keyOf={({ id }) => id}
        onOpen={({ id }) => open(id)}
        empty={
          <NoRows
            of="payments"
            isOfRange
            icon="card"
            title="No payments yet"
            text="Recharges appear here with their status and receipt. Credit that an operator adds is a transaction only."
          />
        }
      />
      <PaymentDrawer id={values['show'] ?? null} onClose={() => set({ show: null })} />
    </Stack>
  );
}

const paymentFilters: readonly ListFilter[] = [
  { kind: 'options', name: 'status', label: 'Status', options: optionsOf(paymentStatusLabels) },
  { kind: 'options', name: 'kind', label: 'Type', options: optionsOf(paymentKindLabels) },
];

function PaymentFilters({ isOfAll }: { isOfAll: boolean }) {
  const accounts = useAccountFilter();
  return (
    <FilterChips filters={[...(isOfAll ? accounts : []), ...paymentFilters]} mb={0}>
      <RangeFields />
    </FilterChips>
  );
}

function columnsFor(names: Names | null, search: Record<string, string>): Column<PaymentShape>[] {
  const account: Column<PaymentShape> = {
    name: 'account',
    label: 'Account',
    from: 'sm',
    show: ({ account: id }) => (
      <TextLink to={pathOf.account(id)} className="wrap">
        {names?.account(id) ?? id}
      </TextLink>
    ),
  };
  return [
    {
      name: 'created',
      label: 'Created',
      show: (payment) => <NameCell payment={payment} names={names} search={search} />,
    },
    ...(names === null ? [] : [account]),
    { name: 'kind', label: 'Type', from: 'sm', show: ({ kind }) => paymentKindLabels[kind] },
    statusColumn({ from: 'sm' }),
    moneyColumn('amount', 'Amount', ({ amount }) => amount, { from: 'xs' }),
    moneyColumn('tax', 'Tax', ({ tax }) => tax, { from: 'lg' }),
    {
      name: 'back',
      label: 'Refunded, disputed',
      align: 'right',
      from: 'md',
      show: (row) => <Back payment={row} />,
    },
    moneyColumn('credited', 'Credited', ({ credited }) => credited, { from: 'md' }),
    {
      name: 'receipt',
      label: 'Receipt',
      from: 'xs',
      show: (payment) => <Receipt payment={payment} />,
    },
  ];
}

function Receipt({ payment }: { payment: PaymentShape }) {
  const url = receiptOf(payment);
  return url !== null && <ExternalLink href={url}>Receipt</ExternalLink>;
}

interface NameCellProps {
  payment: PaymentShape;
  names: Names | null;
  search: Record<string, string>;
}

/** On a phone, the other columns are in this one. */
function NameCell({ payment, names, search }: NameCellProps) {
  const { id, account, kind, status, amount, created_at: at } = payment;
  return (
    <Stack gap={2} align="flex-start">
      <TextLink to="." search={{ ...search, show: id }} fw={600} size="sm">
        <When at={at} />
      </TextLink>
      <Hint size="xs" hiddenFrom="sm">
        {[paymentKindLabels[kind], ...(names === null ? [] : [names.account(account)])].join(' · ')}
      </Hint>
      <Group gap="xs" hiddenFrom="sm">
        <StatusBadge status={status} />
        <Hint size="xs" hiddenFrom="xs">
          <Money usd={amount} />
        </Hint>
      </Group>
    </Stack>
  );
}

function Back({ payment: { refunded, disputed } }: { payment: PaymentShape }) {
  const parts = [
    ...(nanoOf(refunded) > 0n ? [['refunded', refunded] as const] : []),
    ...(nanoOf(disputed) > 0n ? [['disputed', disputed] as const] : []),
  ];
  if (parts.length === 0) return <Money usd={null} />;
  return (
    <Stack gap={0}>
      {parts.map(([word, usd]) => (
        <span key={word}>
          <Money usd={usd} /> {word}
        </span>
      ))}
    </Stack>
  );
}

function useCsvColumns(): CsvColumn<PaymentShape>[] {
  const names = [
    'id',
    'created_at',
    'account',
    'kind',
    'status',
    'amount',
    'tax',
    'total',
    'refunded',
    'disputed',
  ] as const;
  const last = ['credited', 'currency', 'receipt_url', 'updated_at'] as const;
  const fee = seesInstallation(useMe()) ? (['fee'] as const) : [];
  return [...names, ...fee, ...last].map((name) => ({ name, value: (row) => row[name] }));
}
