// The audit log, newest first. Filters are in the address; a record expands to its details.

import { Box, Card, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { AuditShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { seesInstallation, useMe } from '../../me.tsx';
import { type Names, useActors, useNames } from '../../names.ts';
import { CsvButton, type CsvColumn } from '../../parts/csv-button.tsx';
import { FilterChips, type ListFilter, useAccountFilter } from '../../parts/filter-chips.tsx';
import { ActionButton, Icon } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { RangeFields, useRange } from '../../parts/range.tsx';
import { When } from '../../parts/times.tsx';
import { type Rows, useList } from '../../queries.ts';
import { rangeQuery } from '../../range.ts';
import { AuditDetails } from './details.tsx';
import { differencesOf, nameOfObject } from './differences.ts';
import { actionTexts, objectText } from './words.ts';

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
  const { object, actor, account } = useFilters().values;
  const query = { object, actor, account, ...rangeQuery(useRange()) };
  const rows = useList('/audit', { query });
  return (
    <>
      <PageHead
        title="Audit log"
        text={
          seesInstallation(me)
            ? 'Configuration changes, with their time, actor, and values before and after. Records are immutable.'
            : 'Changes to your account, with their time, actor, and values before and after. Records are immutable.'
        }
        actions={<CsvButton path="/audit" query={query} columns={csvColumns} fileName="turnpike-audit.csv" />}
      />
      <FilterChips filters={[...useAccountFilter(), ...auditFilters]}>
        <RangeFields />
      </FilterChips>
      <Records rows={rows} />
    </>
  );
}

const auditFilters: readonly ListFilter[] = [
  { kind: 'text', name: 'object', label: 'Object', placeholder: 'key_…, model NAME' },
  { kind: 'text', name: 'actor', label: 'Actor', placeholder: 'person_…, tok_…, local' },
];

function Records({ rows }: { rows: Rows<AuditShape> }) {
  const names = useNames(rows.rows.map(({ account }) => ({ account, key: null })));
  const actorName = useActors(rows.rows.map(({ actor }) => actor));
  if (rows.failure !== null && rows.rows.length === 0)
    return <FailureNotice failure={rows.failure} onRetry={rows.reload} />;
  if (rows.isLoading) return <Loading />;
  if (rows.rows.length === 0)
    return (
      <EmptyState icon="history" title="No matching records" text="Choose a longer time range, or clear the filters." />
    );
  return (
    <Card p={0}>
      <Stack gap={0} component="ol" m={0} p={0} style={{ listStyle: 'none' }} aria-label="Audit log">
        {rows.rows.map((row) => (
          <RecordRow key={row.seq} row={row} who={actorName(row.actor)} names={names} />
        ))}
      </Stack>
      {rows.showMore !== null && (
        <Group justify="center" p="sm">
          <ActionButton label="Show more" size="xs" onClick={rows.showMore} loading={rows.isLoadingMore} />
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
  const name = nameOfObject(row);
  const isUpdate = row.before !== null && row.after !== null;
  const changed = differencesOf(row)
    .slice(0, CHANGED_SHOWN_MAX)
    .map(({ name: field }) => field.replaceAll('_', ' '))
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
            <Text size="sm" className="wrap">
              <b>{who}</b> {actionTexts[row.action] ?? row.action}
            </Text>
            <Hint size="xs" className="wrap">
              {objectText(row.object)}
              {name !== null && !row.object.includes(name) && ` · ${name}`}
              {isUpdate && changed !== '' && ` · ${changed}`}
              {row.account !== null && row.account !== row.object && ` · ${names.account(row.account)}`}
            </Hint>
          </Box>
          <Group gap="xs" wrap="nowrap" style={{ flexShrink: 0 }}>
            <Hint size="xs" visibleFrom="sm">
              <When at={row.at} />
            </Hint>
            <Hint size="xs" hiddenFrom="sm">
              <When at={row.at} isRelative />
            </Hint>
            <Icon name={isOpen ? 'up' : 'down'} sizePx={16} />
          </Group>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>{wasOpened && <AuditDetails row={row} />}</Collapse>
    </Box>
  );
}
