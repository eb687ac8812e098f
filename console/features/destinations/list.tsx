// Destinations: where events are sent to.

import { Stack, Text } from '@mantine/core';
import type { DestinationShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { type Names, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable, NameLink, NoMatches, timeColumn } from '../../parts/data-table.tsx';
import { AccountFilter, FilterBar } from '../../parts/fields.tsx';
import { ButtonLink, pathOf } from '../../parts/link.tsx';
import { EmptyState, Hint, PageHead } from '../../parts/page.tsx';
import { useList } from '../../queries.ts';
import { TypeSummary } from './event-types.tsx';
import { kindLabels, managesDestinations, nameOfDestination } from './words.ts';

export function DestinationList() {
  const me = useMe();
  const { values, clear } = useFilters();
  const { account = '' } = values;
  const rows = useList('/destinations', { query: { account } });
  const names = useNames(rows.rows.map((row) => ({ account: row.account, key: null })));
  const create = managesDestinations(me) && (
    <ButtonLink
      label="Create destination"
      icon="plus"
      to="/destinations/new"
      {...(account !== '' && { search: { account } })}
    />
  );
  const noMatch = (
    <NoMatches title="No matching destinations" text="The account has no destinations." onClear={clear} />
  );
  return (
    <>
      <PageHead
        title="Notifications"
        text="Send events, such as a low balance or a failed payment, to email, chat or a webhook."
        actions={
          <>
            <ButtonLink label="Deliveries" variant="default" icon="list" to="/deliveries" />
            {create}
          </>
        }
      />
      {seesInstallation(me) && (
        <FilterBar>
          <AccountFilter name="account" />
        </FilterBar>
      )}
      <DataTable
        label="Destinations"
        columns={columnsFor(seesInstallation(me), names)}
        rows={rows}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.destination(id)}
        empty={
          account !== '' ? (
            noMatch
          ) : (
            <EmptyState
              icon="send"
              title="No destinations yet"
              text="Create a destination to be notified by email, in chat, or with a signed webhook."
              action={create}
            />
          )
        }
      />
    </>
  );
}

function columnsFor(hasAccounts: boolean, names: Names): Column<DestinationShape>[] {
  const account: Column<DestinationShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => (row.account === null ? 'Operators' : names.account(row.account)),
  };
  return [
    { name: 'name', label: 'Name', show: (row) => <NameCell row={row} /> },
    { name: 'kind', label: 'Kind', from: 'sm', show: ({ kind }) => kindLabels[kind] },
    ...(hasAccounts ? [account] : []),
    { name: 'types', label: 'Events', from: 'lg', show: ({ types }) => <TypeSummary patterns={types} /> },
    { name: 'status', label: 'Status', show: (row) => <DestinationStatus row={row} /> },
    timeColumn('delivered', 'Last delivery', (row) => row.last_delivered_at, { from: 'md', isRelative: true }),
  ];
}

function NameCell({ row }: { row: DestinationShape }) {
  return (
    <NameLink to={pathOf.destination(row.id)} name={nameOfDestination(row)} note={row.name === '' ? '' : row.address} />
  );
}

export function DestinationStatus({ row }: { row: DestinationShape }) {
  const isFailing = row.status === 'enabled' && row.failing_since !== null;
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge {...(isFailing ? { status: 'failed', label: 'Failing' } : { status: row.status })} />
      {row.unsubscribed_at !== null && <Hint size="xs">Security emails only</Hint>}
      {row.disabled_reason !== null && (
        <Text size="xs" c="red" className="wrap" maw={220} visibleFrom="sm">
          {row.disabled_reason}
        </Text>
      )}
    </Stack>
  );
}
