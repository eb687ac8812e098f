// Accounts: what each can spend, and what it used lately. Found by a part of its name, and by a group.

import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';
import type { AccountShape, GroupShape, UsageTotalShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { useMe } from '../me.tsx';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { Money, nanoOf } from '../parts/money.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { useAsk, usePages } from '../queries.ts';
import { words } from '../words.ts';

const PERIODS = ['7', '30'];
const DAY_MS = 86_400_000;
const TOTALS_MAX = 1000;

interface Totals {
  data: UsageTotalShape[];
  groups: number;
}

export function AccountList() {
  const { role } = useMe();
  const navigate = useNavigate();
  const { values, clear } = useFilters();
  const { name, group } = values;
  const days = values['days'] === '30' ? 30 : 7;
  const accounts = usePages<AccountShape>('/accounts', { name, group });
  const since = new Date(Date.now() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const totals = useAsk<Totals>('/usage/totals', { group_by: 'account', since, limit: TOTALS_MAX });
  const add = role === 'operator' && (
    <Button component={Link} to="/new-account" leftSection={<Icon name="plus" />}>
      {words.accounts.create}
    </Button>
  );
  return (
    <>
      <PageHead title={words.accounts.title} text={words.accounts.text} actions={add} />
      <Stack>
        <AccountFilters days={days} />
        <DataTable
          label={words.accounts.label}
          rows={accounts}
          columns={[...columns, costColumn(days, totals.data), groupsColumn, statusColumn]}
          keyOf={({ id }) => id}
          onOpen={({ id }) => void navigate({ to: '/accounts/$accountId', params: { accountId: id } as never })}
          empty={
            name === undefined && group === undefined ? (
              <EmptyState
                icon="building"
                title={words.accounts.empty}
                text={words.accounts.emptyText}
                action={add || undefined}
              />
            ) : (
              <EmptyState
                icon="search"
                title={words.accounts.emptyFound}
                text={words.accounts.emptyFoundText}
                action={
                  <Button variant="default" onClick={clear}>
                    {words.parts.clearFilters}
                  </Button>
                }
              />
            )
          }
        />
        {accounts.showMore !== null && (name !== undefined || group !== undefined) && (
          <Text size="xs" c="dimmed">
            {words.accounts.searchGoesOn}
          </Text>
        )}
      </Stack>
    </>
  );
}

function AccountFilters({ days }: { days: number }) {
  const { values, set } = useFilters();
  const groups = usePages<GroupShape>('/groups', { limit: 1000 });
  const names = groups.rows.map((group) => group.name);
  const asked = values['group'];
  return (
    <Group align="flex-end">
      <TypedFilter
        type="search"
        label={words.accounts.search}
        leftSection={<Icon name="search" />}
        value={values['name'] ?? ''}
        onChange={(name) => set({ name })}
        w={260}
      />
      <NativeSelect
        label={words.accounts.group}
        data={[
          { value: '', label: words.accounts.allGroups },
          ...(asked === undefined || names.includes(asked) ? names : [asked, ...names]),
        ]}
        value={asked ?? ''}
        onChange={({ currentTarget }) => set({ group: currentTarget.value })}
        w={180}
      />
      <NativeSelect
        label={words.accounts.period}
        data={PERIODS.map((value) => ({ value, label: words.accounts.days(Number(value)) }))}
        value={String(days)}
        onChange={({ currentTarget }) => set({ days: currentTarget.value === '7' ? null : currentTarget.value })}
        w={120}
      />
    </Group>
  );
}

const columns: Column<AccountShape>[] = [
  {
    name: 'name',
    label: words.accounts.columns.name,
    show: ({ id, name }) => (
      <TextLink to={`/accounts/${id}`} fw={600} style={{ overflowWrap: 'anywhere' }}>
        {name}
      </TextLink>
    ),
  },
  {
    name: 'available',
    label: words.accounts.columns.available,
    align: 'right',
    show: ({ available }) => <Money usd={available} {...(nanoOf(available) <= 0n && { c: 'red', fw: 600 })} />,
  },
  {
    name: 'balance',
    label: words.accounts.columns.balance,
    align: 'right',
    from: 'md',
    show: ({ balance }) => <Money usd={balance} />,
  },
  {
    name: 'held',
    label: words.accounts.columns.held,
    align: 'right',
    from: 'lg',
    show: ({ held }) => <Money usd={held} />,
  },
];

/** Where there are more accounts than the report lists, one that it does not list used less than those. */
function costColumn(days: number, totals: Totals | undefined): Column<AccountShape> {
  const costs = new Map(totals?.data.map(({ account, cost }) => [account, cost]));
  const isWhole = totals !== undefined && totals.groups <= totals.data.length;
  return {
    name: 'cost',
    label: words.accounts.columns.cost(days),
    align: 'right',
    from: 'sm',
    show: ({ id }) => <Money usd={costs.get(id) ?? (isWhole ? '0' : null)} />,
  };
}

const groupsColumn: Column<AccountShape> = {
  name: 'groups',
  label: words.accounts.columns.groups,
  from: 'md',
  show: ({ groups }) => (
    <Text size="sm" lineClamp={1}>
      {groups.join(', ')}
    </Text>
  ),
};

const statusColumn: Column<AccountShape> = {
  name: 'status',
  label: words.accounts.columns.status,
  show: ({ status }) => <StatusBadge status={status} label={words.accounts.statuses[status]} />,
};
