// One record of the audit folded out: from where it was done, what was different, and all of it as JSON.

import { Badge, Button, Collapse, Group, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { AuditShape } from '../../src/admin-api/shapes.ts';
import { type Difference, differencesOf, OTHER_SECRET, pageOf, SECRET } from '../audit-differences.ts';
import { useFilters } from '../filters.ts';
import { useMe } from '../me.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { When } from '../parts/when.tsx';
import { screens } from '../screens.ts';
import { words } from '../words.ts';

const { audit } = words;

export function AuditDetails({ row }: { row: AuditShape }) {
  const [isRaw, raw] = useDisclosure(false);
  const filters = useFilters();
  return (
    <Stack gap="sm" px="md" pb="md">
      <Circumstances row={row} />
      <Differences row={row} />
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={() => filters.set({ object: row.object })}>
          {audit.onlyThis}
        </Button>
        <Button size="xs" variant="default" onClick={() => filters.set({ actor: row.actor })}>
          {audit.onlyActor}
        </Button>
        <Button size="xs" variant="default" onClick={raw.toggle} aria-expanded={isRaw}>
          {audit.raw}
        </Button>
      </Group>
      <Collapse expanded={isRaw}>
        <CodeBlock code={JSON.stringify(row, null, 2)} heightMaxPx={420} />
      </Collapse>
    </Stack>
  );
}

function Circumstances({ row }: { row: AuditShape }) {
  const role = row.role === 'service' ? audit.service : words.roles[row.role].toLowerCase();
  return (
    <Text size="xs" c="dimmed" component="div" style={{ overflowWrap: 'anywhere' }}>
      <When at={row.at} isPrecise /> · {row.actor} {audit.of(role)}
      {row.address !== null && row.address !== '' && ` · ${audit.from} ${row.address}`}
      {row.request_id !== null && ` · ${audit.request} ${row.request_id}`} · <ObjectLink object={row.object} />
    </Text>
  );
}

/** Where the console has a page for it that whoever looks may see. */
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
  if (differences.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {audit.nothing}
      </Text>
    );
  const [isMade, isGone] = [row.before === null, row.after === null];
  return (
    <Stack gap={4}>
      {(isMade || isGone) && <Text size="sm">{isMade ? audit.created : audit.deleted}</Text>}
      <Table.ScrollContainer minWidth={0} type="native">
        <Table withTableBorder verticalSpacing={6} aria-label={audit.details}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{audit.member}</Table.Th>
              {!isMade && <Table.Th>{audit.before}</Table.Th>}
              {!isGone && <Table.Th>{audit.after}</Table.Th>}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {differences.map((difference) => (
              <DifferenceRow key={difference.name} difference={difference} isMade={isMade} isGone={isGone} />
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}

interface DifferenceRowProps {
  difference: Difference;
  isMade: boolean;
  isGone: boolean;
}

function DifferenceRow({ difference: { name, before, after }, isMade, isGone }: DifferenceRowProps) {
  return (
    <Table.Tr>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{name}</Table.Td>
      {!isMade && (
        <Table.Td miw={100}>
          <Value text={before} />
        </Table.Td>
      )}
      {!isGone && (
        <Table.Td miw={100}>
          <Value text={after} />
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function Value({ text }: { text: string | null }) {
  if (text === SECRET || text === OTHER_SECRET)
    return (
      <Badge variant="light" color="gray" tt="none">
        {text === SECRET ? audit.secret : audit.otherSecret}
      </Badge>
    );
  if (text === null || text === 'null' || text === '')
    return (
      <Text size="sm" c="dimmed">
        {text === '' ? audit.empty : audit.noValue}
      </Text>
    );
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
      {text}
    </Text>
  );
}
