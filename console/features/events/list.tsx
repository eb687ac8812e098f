// Lists events, newest first.

import { Code, Stack, Text } from '@mantine/core';
import type { EventShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { type Column, DataTable, NoRows, timeColumn } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { ButtonLink } from '../../parts/link.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { useGet, useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { EventText } from './event-text.tsx';

export function EventList() {
  const me = useMe();
  const { values } = useFilters();
  const { account = '', type = '' } = values;
  const rows = useList('/events', { query: { account, type, ...rangeQuery(useRange()) } });
  const types = useGet('/event-types').data?.data ?? [];
  const names = useNames(rows.rows.map((row) => ({ account: row.account, key: null })));
  const accountColumn: Column<EventShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => (row.account === null ? 'Installation' : names.account(row.account)),
  };
  const typeFilter: ListFilter = {
    kind: 'options',
    name: 'type',
    label: 'Type',
    options: types.map((one) => ({ value: one.type, label: one.title, note: one.type })),
  };
  return (
    <>
      <PageHead
        title="Events"
        text="Events that can be sent to destinations."
        actions={<ButtonLink label="Notifications" variant="default" icon="send" to="/destinations" />}
      />
      <FilterChips filters={[typeFilter, ...useAccountFilter()]}>
        <RangeFields />
      </FilterChips>
      <DataTable
        label="Events"
        isFolding
        rows={rows}
        keyOf={({ id }) => id}
        columns={[
          { name: 'event', label: 'Event', show: (row) => <EventCell row={row} /> },
          ...(seesInstallation(me) ? [accountColumn] : []),
          { name: 'type', label: 'Type', from: 'lg', show: (row) => <Code>{row.type}</Code> },
          timeColumn<EventShape>('at', 'Time', ({ timestamp }) => timestamp, { from: 'sm' }),
        ]}
        empty={
          <NoRows
            of="events"
            isOfRange
            icon="bell"
            title="No events yet"
            text="Events such as a low balance, a new API key or a failed payment appear here."
          />
        }
      />
    </>
  );
}

function EventCell({ row }: { row: EventShape }) {
  return (
    <Stack gap={0}>
      <Text size="sm" fw={600}>
        {row.title}
      </Text>
      <Hint size="xs" className="wrap">
        <EventText text={row.description} />
      </Hint>
    </Stack>
  );
}
