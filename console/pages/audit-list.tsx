// The audit: every change, newest first, with filters in the address; each record folds out to what was different.

import { Box, Button, Card, Collapse, Group, Stack, Text, TextInput, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { AuditShape } from '../../src/admin-api/shapes.ts';
import { useActors } from '../actors.ts';
import { differencesOf, momentOfDay, nameIn } from '../audit-differences.ts';
import { type Filters, useFilters } from '../filters.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { type Names, useNames } from '../names.ts';
import { AccountSelect } from '../parts/account-select.tsx';
import { CsvButton, type CsvColumn } from '../parts/csv-button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { TypedFilter } from '../parts/typed-filter.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { usePages } from '../queries.ts';
import { words } from '../words.ts';
import { AuditDetails } from './audit-details.tsx';

const { audit } = words;

const CHANGED_SHOWN_MAX = 4;

const csvColumns: readonly CsvColumn<AuditShape>[] = [
  { name: 'seq', value: (row) => row.seq },
  { name: 'at', value: (row) => row.at },
  { name: 'actor', value: (row) => row.actor },
  { name: 'role', value: (row) => row.role },
  { name: 'address', value: (row) => row.address },
  { name: 'action', value: (row) => row.action },
  { name: 'object', value: (row) => row.object },
  { name: 'account', value: (row) => row.account },
  { name: 'request_id', value: (row) => row.request_id },
  { name: 'before', value: (row) => row.before && JSON.stringify(row.before) },
  { name: 'after', value: (row) => row.after && JSON.stringify(row.after) },
];

export function AuditList() {
  const me = useMe();
  const filters = useFilters();
  const { object, actor, account, since, until } = filters.values;
  const query = {
    object: object ?? null,
    actor: actor ?? null,
    account: account ?? null,
    since: momentOfDay(since, false),
    until: momentOfDay(until, true),
  };
  const rows = usePages<AuditShape>('/audit', query);
  return (
    <>
      <PageHead
        title={audit.title}
        text={isOfInstallation(me) ? audit.text : audit.textOwner}
        actions={<CsvButton path="/audit" query={query} columns={csvColumns} fileName={audit.csvFile} />}
      />
      <FilterBar filters={filters} />
      <Records rows={rows} />
    </>
  );
}

function FilterBar({ filters: { values, set, clear } }: { filters: Filters }) {
  const me = useMe();
  const isFiltered = ['object', 'actor', 'account', 'since', 'until'].some((name) => values[name] !== undefined);
  const typed = (name: string) => ({
    value: values[name] ?? '',
    onChange: (value: string) => set({ [name]: value }),
    style: { flex: '1 1 170px' },
  });
  const day = (name: string) => ({
    type: 'date',
    value: values[name] ?? '',
    onChange: (event: React.ChangeEvent<HTMLInputElement>) => set({ [name]: event.currentTarget.value }),
    style: { flex: '0 1 150px' },
  });
  return (
    <Group align="flex-end" gap="sm" mb="md" role="search" aria-label={words.parts.filters}>
      {isOfInstallation(me) && (
        <AccountSelect
          label={audit.filterAccount}
          placeholder={words.parts.all}
          clearable
          value={values['account'] ?? null}
          onChange={(id) => set({ account: id })}
          style={{ flex: '1 1 170px' }}
        />
      )}
      <TypedFilter label={audit.filterObject} placeholder={audit.filterObjectHint} {...typed('object')} />
      <TypedFilter label={audit.filterActor} placeholder={audit.filterActorHint} {...typed('actor')} />
      <TextInput label={audit.since} {...day('since')} />
      <TextInput label={audit.until} {...day('until')} />
      {isFiltered && (
        <Button variant="subtle" onClick={clear}>
          {words.parts.clearFilters}
        </Button>
      )}
    </Group>
  );
}

function Records({ rows }: { rows: ReturnType<typeof usePages<AuditShape>> }) {
  const names = useNames(rows.rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.rows.map(({ actor }) => actor));
  if (rows.failure !== null && rows.rows.length === 0)
    return <FailureNotice failure={rows.failure} onRetry={rows.reload} />;
  if (rows.isLoading) return <Waiting />;
  if (rows.rows.length === 0) return <EmptyState icon="history" title={audit.emptyTitle} text={audit.emptyText} />;
  return (
    <Card withBorder p={0}>
      <Stack gap={0} component="ol" m={0} p={0} style={{ listStyle: 'none' }} aria-label={audit.title}>
        {rows.rows.map((row) => (
          <RecordRow key={row.seq} row={row} who={actorName(row.actor)} names={names} />
        ))}
      </Stack>
      {rows.showMore !== null && (
        <Group justify="center" p="sm">
          <Button variant="default" size="xs" onClick={rows.showMore} loading={rows.isLoadingMore}>
            {words.parts.more}
          </Button>
        </Group>
      )}
    </Card>
  );
}

interface RecordRowProps {
  row: AuditShape;
  who: string;
  names: Names;
}

function RecordRow({ row, who, names }: RecordRowProps) {
  const [isOpen, details] = useDisclosure(false);
  const [wasOpened, setOpened] = useState(false);
  const name = nameIn(row);
  const isUpdate = row.before !== null && row.after !== null;
  const changed = differencesOf(row)
    .slice(0, CHANGED_SHOWN_MAX)
    .map((difference) => difference.name)
    .join(', ');
  const toggle = () => {
    setOpened(true);
    details.toggle();
  };
  return (
    <Box component="li" style={{ borderBottom: '1px solid var(--mantine-color-default-border)' }}>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen} w="100%" px="md" py="sm" className="row-link">
        <Group justify="space-between" gap={4} wrap="nowrap" align="flex-start">
          <Box miw={0}>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              <b>{who}</b> {audit.actions[row.action] ?? row.action}
            </Text>
            <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {row.object}
              {name !== null && !row.object.includes(name) && ` · ${name}`}
              {isUpdate && changed !== '' && ` · ${changed}`}
              {row.account !== null && row.account !== row.object && ` · ${names.account(row.account)}`}
            </Text>
          </Box>
          <Group gap="xs" wrap="nowrap" style={{ flexShrink: 0 }}>
            <Text size="xs" c="dimmed" visibleFrom="sm">
              <When at={row.at} />
            </Text>
            <Text size="xs" c="dimmed" hiddenFrom="sm">
              <When at={row.at} isRelative />
            </Text>
            <Icon name={isOpen ? 'up' : 'down'} sizePx={16} />
          </Group>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>{wasOpened && <AuditDetails row={row} />}</Collapse>
    </Box>
  );
}
