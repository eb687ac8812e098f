// The details of an audit record: actor, address, changed fields, and JSON.

import { Badge, Collapse, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { AuditShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { roleLabels } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { CodeBlock } from '../../parts/code-block.tsx';
import { type Column, PlainTable } from '../../parts/data-table.tsx';
import { ActionButton, TextLink } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { screens } from '../../screens.ts';
import { type Difference, differencesOf, OTHER_SECRET, pageOf, SECRET } from './differences.ts';

export function AuditDetails({ row }: { row: AuditShape }) {
  const [isRaw, raw] = useDisclosure(false);
  const filters = useFilters();
  return (
    <Stack gap="sm" px="md" pb="md">
      <AuditContext row={row} />
      <Differences row={row} />
      <Group gap="xs">
        <ActionButton label="Filter by object" size="xs" onClick={() => filters.set({ object: row.object })} />
        <ActionButton label="Filter by actor" size="xs" onClick={() => filters.set({ actor: row.actor })} />
        <ActionButton label="JSON" size="xs" onClick={raw.toggle} aria-expanded={isRaw} />
      </Group>
      <Collapse expanded={isRaw}>
        <CodeBlock code={JSON.stringify(row, null, 2)} heightMaxPx={420} />
      </Collapse>
    </Stack>
  );
}

function AuditContext({ row }: { row: AuditShape }) {
  const role = row.role === 'service' ? 'service' : roleLabels[row.role].toLowerCase();
  return (
    <Hint size="xs" component="div" className="wrap">
      <When at={row.at} isPrecise /> · {row.actor} {`as ${role}`}
      {row.address !== null && row.address !== '' && ` · from ${row.address}`}
      {row.request_id !== null && ` · Request ${row.request_id}`} · <ObjectLink object={row.object} />
    </Hint>
  );
}

/** Links the object if it has a page that the user can see. */
function ObjectLink({ object }: { object: string }) {
  const { role } = useMe();
  const page = pageOf(object);
  const section = page?.to.split('/')[1];
  const maySee = screens.some(({ path, roles }) => path === `/${section}` && roles.includes(role));
  if (page === null || !maySee) return <>{object}</>;
  return <TextLink {...page}>{object}</TextLink>;
}

function Differences({ row }: { row: AuditShape }) {
  const differences = differencesOf(row);
  if (differences.length === 0) return <Hint>No more details.</Hint>;
  const [isMade, isGone] = [row.before === null, row.after === null];
  return (
    <Stack gap={4}>
      {(isMade || isGone) && (
        <Text size="sm">{isMade ? 'Created with these values.' : 'Deleted with these values.'}</Text>
      )}
      <PlainTable
        label="Details"
        rows={differences}
        keyOf={({ name }) => name}
        columns={[
          {
            name: 'name',
            label: 'Field',
            show: ({ name }) => <span className="wrap">{name.replaceAll('_', ' ')}</span>,
          },
          ...(isMade ? [] : [valueColumn('before', 'Before')]),
          ...(isGone ? [] : [valueColumn('after', 'After')]),
        ]}
      />
    </Stack>
  );
}

function valueColumn(name: 'before' | 'after', label: string): Column<Difference> {
  return { name, label, show: (difference) => <Value text={difference[name]} /> };
}

function Value({ text }: { text: string | null }) {
  if (text === SECRET || text === OTHER_SECRET)
    return <Badge color="gray">{text === SECRET ? 'hidden' : 'new value (hidden)'}</Badge>;
  if (text === null || text === 'null' || text === '') return <Hint>{text === '' ? 'empty' : 'none'}</Hint>;
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
  );
}
