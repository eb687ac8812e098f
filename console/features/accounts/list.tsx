// Accounts with their available funds and recent cost, filtered by name and group.

import { Stack } from '@mantine/core';
import type { AccountShape } from '../../../src/admin-api/shapes.ts';
import { useFilters, useSorting } from '../../filters.ts';
import { statusLabels } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { nanoOf } from '../../money.ts';
import { type Column, DataTable, moneyColumn, NoMatches, statusColumn, timeColumn } from '../../parts/data-table.tsx';
import { FilterBar, FoundFilter, SearchFilter } from '../../parts/fields.tsx';
import { foundGroups } from '../../parts/found.ts';
import { ButtonLink, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { EmptyState, Hint, PageHead } from '../../parts/page.tsx';
import { RangeFilter } from '../../parts/range.tsx';
import { useCosts, useList } from '../../queries.ts';

export function AccountList() {
  const { role, hidden } = useMe();
  const { values, clear } = useFilters();
  const { name, group } = values;
  const sorting = useSorting('created', 'asc');
  const accounts = useList('/accounts', { query: { name, group, sort: sorting.by, order: sorting.order } });
  const costs = useCosts('account', role === 'owner' ? { query: { below: 'true' } } : {});
  const add = (role === 'operator' || role === 'owner') && (
    <ButtonLink label="Create account" to="/accounts/new" icon="plus" />
  );
  return (
    <>
      <PageHead
        title="Accounts"
        text="An account has a balance, groups that set its model access, API keys and users."
        actions={
          <>
            <RangeFilter />
            {add}
          </>
        }
      />
      <Stack>
        <AccountFilters />
        <DataTable
          label="Accounts"
          rows={accounts}
          sorting={sorting}
          columns={[
            nameColumn,
            ...fundsColumns,
            moneyColumn('cost', costs.label, ({ id }: AccountShape) => costs.of(id), { from: 'sm' }),
            parentColumn(accounts.rows),
            ...(hidden.includes('group') ? [] : [groupsColumn]),
            statusColumn({ from: 'xs' }),
            timeColumn('created', 'Created', ({ created_at: at }: AccountShape) => at, {
              from: 'lg',
              isRelative: true,
              sort: { by: 'created', first: 'desc' },
            }),
          ]}
          keyOf={({ id }) => id}
          linkTo={({ id }) => pathOf.account(id)}
          empty={
            name === undefined && group === undefined ? (
              <EmptyState
                icon="building"
                title="No accounts yet"
                text="Create an account for a customer, a team or a project, and add its first credit."
                action={add}
              />
            ) : (
              <NoMatches title="No matching accounts" text="Change the name or the group." onClear={clear} />
            )
          }
        />
        {accounts.showMore !== null && (name !== undefined || group !== undefined) && (
          <Hint size="xs">Not all accounts have been searched yet.</Hint>
        )}
      </Stack>
    </>
  );
}

function AccountFilters() {
  return (
    <FilterBar mb={0}>
      <SearchFilter name="name" label="Name" />
      {!useMe().hidden.includes('group') && (
        <FoundFilter name="group" label="Group" placeholder="All groups" found={foundGroups} />
      )}
    </FilterBar>
  );
}

const nameColumn: Column<AccountShape> = {
  name: 'name',
  label: 'Account',
  sort: { by: 'name', first: 'asc' },
  show: ({ id, name, status }) => (
    <>
      <TextLink to={pathOf.account(id)} fw={600} className="wrap">
        {name}
      </TextLink>
      {status === 'disabled' && (
        <Hint size="xs" hiddenFrom="xs">
          {statusLabels[status]}
        </Hint>
      )}
    </>
  ),
};

const fundsColumns: Column<AccountShape>[] = [
  {
    name: 'available',
    label: 'Available',
    align: 'right',
    show: ({ available, pays_from: payer }) =>
      payer === 'parent' ? (
        <Hint title="Paid by the parent account.">–</Hint>
      ) : (
        <Money usd={available} {...(nanoOf(available) <= 0n && { c: 'red', fw: 600 })} />
      ),
  },
  moneyColumn('balance', 'Balance', ofOwnBalance('balance'), {
    from: 'md',
    sort: { by: 'balance', first: 'asc' },
  }),
  moneyColumn('held', 'Reserved', ofOwnBalance('held'), { from: 'lg' }),
];

/** Nothing for an account whose balance is not used. */
function ofOwnBalance(member: 'balance' | 'held') {
  return (account: AccountShape) => (account.pays_from === 'own' ? account[member] : null);
}

/** The name of the account above, if it is listed. */
function parentColumn(rows: readonly AccountShape[]): Column<AccountShape> {
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return {
    name: 'parent',
    label: 'Parent account',
    from: 'lg',
    show: ({ parent }) =>
      parent !== null && (
        <TextLink to={pathOf.account(parent)} size="sm" className="wrap">
          {names.get(parent) ?? parent}
        </TextLink>
      ),
  };
}

const groupsColumn: Column<AccountShape> = {
  name: 'groups',
  label: 'Groups',
  from: 'md',
  show: ({ groups }) => groups.join(', '),
};
