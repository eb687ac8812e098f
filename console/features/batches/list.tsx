// Batches of requests of clients, newest first: how far they are, and their money.

import { Group, Stack } from '@mantine/core';
import type { BatchShape } from '../../../src/admin-api/shapes.ts';
import { formatCount } from '../../figures.ts';
import { useFilters } from '../../filters.ts';
import { optionsOf } from '../../labels.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { type Names, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable, moneyColumn, NoRows, statusColumn } from '../../parts/data-table.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { foundKeys } from '../../parts/found.ts';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { Hint, PageHead } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { batchStatusLabels, doneOf, modelsText, troubleText } from './words.ts';

export function BatchList() {
  const { values } = useFilters();
  const { account, key, status } = values;
  const rows = useList('/batches', { query: { account, key, status, ...rangeQuery(useRange()) } });
  const names = useNames(rows.rows);
  const filters: ListFilter[] = [
    { kind: 'options', name: 'status', label: 'Status', options: optionsOf(batchStatusLabels) },
    ...useAccountFilter(),
    { kind: 'found', name: 'key', label: 'API key', found: foundKeys(account ?? '') },
  ];
  return (
    <>
      <PageHead
        title="Batches"
        text="Requests that clients send many at a time and whose answers they collect later."
        actions={<ActionButton label="Refresh" onClick={rows.reload} icon="refresh" />}
      />
      <FilterChips filters={filters}>
        <RangeFields />
      </FilterChips>
      <DataTable
        label="Batches"
        rows={rows}
        columns={columnsOf(names, seesInstallation(useMe()))}
        keyOf={({ id }) => id}
        linkTo={({ id }) => pathOf.batch(id)}
        empty={
          <NoRows
            of="batches"
            isOfRange
            icon="layers"
            title="No batches yet"
            text="Clients send batches with Anthropic’s Message Batches or OpenAI’s Batch API."
          />
        }
      />
    </>
  );
}

function columnsOf(names: Names, isInstallation: boolean): Column<BatchShape>[] {
  const account: Column<BatchShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: ({ account: id }) => (
      <TextLink to={pathOf.account(id)} className="wrap">
        {names.account(id)}
      </TextLink>
    ),
  };
  return [
    { name: 'created', label: 'Created', show: (batch) => <CreatedCell batch={batch} /> },
    ...(isInstallation ? [account] : []),
    {
      name: 'key',
      label: 'API key',
      from: 'sm',
      show: ({ key }) => (
        <TextLink to={pathOf.key(key)} className="wrap">
          {names.key(key)}
        </TextLink>
      ),
    },
    statusColumn({ from: 'sm' }),
    { name: 'done', label: 'Requests', align: 'right', show: (batch) => <DoneCell batch={batch} /> },
    moneyColumn('reserved', 'Held', ({ reserved, status }) => (status === 'ended' ? null : reserved), { from: 'lg' }),
    moneyColumn('cost', 'Cost', ({ cost }) => cost, { from: 'sm' }),
    { name: 'end', label: 'End', from: 'lg', show: (batch) => <EndCell batch={batch} /> },
  ];
}

/** On a phone, the status is in this cell. */
function CreatedCell({ batch }: { batch: BatchShape }) {
  const { id, status, created_at: at } = batch;
  return (
    <Stack gap={2} align="flex-start">
      <TextLink to={pathOf.batch(id)} fw={600} size="sm">
        <When at={at} />
      </TextLink>
      <Hint size="xs" className="wrap">
        {modelsText(batch)}
      </Hint>
      <Group hiddenFrom="sm">
        <StatusBadge status={status} />
      </Group>
    </Stack>
  );
}

function EndCell({ batch: { ended_at: endedAt, expires_at: expiresAt } }: { batch: BatchShape }) {
  if (endedAt !== null) return <When at={endedAt} />;
  return (
    <>
      by <When at={expiresAt} />
    </>
  );
}

function DoneCell({ batch }: { batch: BatchShape }) {
  const trouble = troubleText(batch);
  return (
    <Stack gap={0} align="flex-end">
      <span className="tabular">{`${formatCount(doneOf(batch))} of ${formatCount(batch.requests)}`}</span>
      {trouble !== '' && <Hint size="xs">{trouble}</Hint>}
    </Stack>
  );
}
