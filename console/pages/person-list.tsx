// People who sign in: listed, invited, changed. One of them is opened beside the list, by its id in the address.

import { Anchor, Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { PersonShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { isOfInstallation, useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { type Column, DataTable } from '../parts/data-table.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { Icon } from '../parts/icon.tsx';
import { LinkNote, nameOfPerson } from '../parts/link-note.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { When } from '../parts/when.tsx';
import { usePages } from '../queries.ts';
import { words } from '../words.ts';
import { PersonInvite } from './person-invite.tsx';
import { PersonDrawer } from './person-show.tsx';

const { people } = words;

export function PersonList() {
  const me = useMe();
  const filters = useFilters();
  const [isInviting, dialogue] = useDisclosure(false);
  const rows = usePages<PersonShape>('/people');
  const open = (person: PersonShape) => filters.set({ person: person.id });
  const columns = useColumns(rows.rows, open);
  const mayInvite = me.role === 'operator' || me.role === 'owner';
  const invite = mayInvite && (
    <Button leftSection={<Icon name="plus" />} onClick={dialogue.open}>
      {people.invite}
    </Button>
  );
  return (
    <>
      <PageHead title={people.title} text={me.role === 'owner' ? people.textOwner : people.text} actions={invite} />
      <DataTable
        label={people.title}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        onOpen={open}
        empty={<EmptyState icon="people" title={people.emptyTitle} text={people.emptyText} action={invite} />}
      />
      <PersonInvite isOpen={isInviting} onClose={dialogue.close} />
      <PersonDrawer id={filters.values['person'] ?? null} onClose={() => filters.set({ person: null })} />
    </>
  );
}

function useColumns(rows: readonly PersonShape[], open: (person: PersonShape) => void): Column<PersonShape>[] {
  const me = useMe();
  const names = useNames(rows.map(({ account }) => ({ account, key: null })));
  const account: Column<PersonShape> = {
    name: 'account',
    label: people.account,
    from: 'md',
    show: (row) => (row.account === null ? people.installation : names.account(row.account)),
  };
  return [
    { name: 'name', label: people.name, show: (row) => <NameCell row={row} isSelf={row.id === me.id} open={open} /> },
    { name: 'role', label: people.role, from: 'sm', show: ({ role }) => words.roles[role] },
    ...(isOfInstallation(me) ? [account] : []),
    { name: 'status', label: people.status, show: (row) => <StatusCell row={row} /> },
    { name: 'since', label: people.since, from: 'lg', show: (row) => <When at={row.created_at} /> },
  ];
}

interface NameCellProps {
  row: PersonShape;
  isSelf: boolean;
  open: (person: PersonShape) => void;
}

function NameCell({ row, isSelf, open }: NameCellProps) {
  return (
    <Stack gap={0}>
      <Group gap="xs">
        <Anchor
          component="button"
          type="button"
          size="sm"
          fw={600}
          ta="left"
          onClick={() => open(row)}
          style={{ overflowWrap: 'anywhere' }}
        >
          {nameOfPerson(row)}
        </Anchor>
        {isSelf && (
          <Badge variant="light" tt="none">
            {people.you}
          </Badge>
        )}
      </Group>
      {row.name !== '' && row.email !== null && (
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {row.email}
        </Text>
      )}
      <Text size="xs" c="dimmed" hiddenFrom="sm">
        {words.roles[row.role]}
      </Text>
    </Stack>
  );
}

function StatusCell({ row }: { row: PersonShape }) {
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge status={row.status} label={people.statuses[row.status]} />
      <LinkNote person={row} />
    </Stack>
  );
}
