// What belongs to an account: its keys, its people, its last requests, each a few rows with a way to all of them.

import { Button, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import type { AccountShape, KeyShape, PersonShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import { useMe } from '../../me.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { nameOfPerson } from '../../parts/link-note.tsx';
import { Money } from '../../parts/money.tsx';
import { OutcomeBadge } from '../../parts/outcome-badge.tsx';
import { Section } from '../../parts/section.tsx';
import { StatusBadge } from '../../parts/status-badge.tsx';
import { TextLink } from '../../parts/text-link.tsx';
import { UsedBar } from '../../parts/used-bar.tsx';
import { When } from '../../parts/when.tsx';
import { usePages } from '../../queries.ts';
import { words } from '../../words.ts';
import { PersonInvite } from '../person-invite.tsx';

const ROWS_SHOWN = 8;
const REQUESTS_EVERY_MS = 5_000;

interface OfAccount {
  account: AccountShape;
}

export function AccountKeys({ account }: OfAccount) {
  const { role } = useMe();
  const keys = usePages<KeyShape>('/keys', { account: account.id, limit: ROWS_SHOWN });
  return (
    <Section
      title={words.accounts.keys}
      aside={
        <Group gap="xs">
          <Button size="xs" variant="default" component={Link} to="/keys" search={{ account: account.id } as never}>
            {words.accounts.allKeys}
          </Button>
          {role !== 'viewer' && (
            <Button size="xs" component={Link} to="/keys/new" search={{ account: account.id } as never}>
              {words.accounts.addKey}
            </Button>
          )}
        </Group>
      }
    >
      <DataTable
        label={words.accounts.keys}
        rows={keys}
        columns={keyColumns}
        keyOf={({ id }) => id}
        empty={<Nothing text={words.accounts.noKeys} />}
      />
    </Section>
  );
}

const keyColumns: Column<KeyShape>[] = [
  {
    name: 'name',
    label: words.accounts.key.name,
    show: ({ id, name, prefix }) => (
      <Stack gap={0}>
        <TextLink to={`/keys/${id}`} style={{ overflowWrap: 'anywhere' }}>
          {name || words.accounts.unnamed}
        </TextLink>
        <Text size="xs" c="dimmed" ff="monospace">
          {prefix}
        </Text>
      </Stack>
    ),
  },
  {
    name: 'quota',
    label: words.accounts.key.quota,
    from: 'sm',
    show: ({ quota, quota_used: used, quota_period: period }) => (
      <UsedBar
        used={used}
        limit={quota}
        label={words.accounts.key.quota}
        period={words.accounts.periods[period]}
        widthPx={200}
      />
    ),
  },
  {
    name: 'lastUsed',
    label: words.accounts.key.lastUsed,
    from: 'md',
    show: ({ last_used_at: at }) => <When at={at} isRelative />,
  },
  {
    name: 'status',
    label: words.accounts.key.status,
    show: ({ status }) => <StatusBadge status={status} label={words.accounts.keyStatuses[status] ?? status} />,
  },
];

export function AccountPeople({ account, mayInvite }: OfAccount & { mayInvite: boolean }) {
  const people = usePages<PersonShape>('/people', { account: account.id, limit: ROWS_SHOWN });
  const [isInviting, dialogue] = useDisclosure(false);
  return (
    <Section
      title={words.accounts.people}
      aside={
        mayInvite && (
          <Button size="xs" variant="default" onClick={dialogue.open}>
            {words.accounts.invite}
          </Button>
        )
      }
    >
      <DataTable
        label={words.accounts.people}
        rows={people}
        columns={personColumns}
        keyOf={({ id }) => id}
        empty={<Nothing text={words.accounts.noPeople} />}
      />
      <PersonInvite isOpen={isInviting} onClose={dialogue.close} account={account.id} />
    </Section>
  );
}

const personColumns: Column<PersonShape>[] = [
  {
    name: 'name',
    label: words.people.name,
    show: (person) => (
      <TextLink to="/people" search={{ person: person.id }} style={{ overflowWrap: 'anywhere' }}>
        {nameOfPerson(person)}
      </TextLink>
    ),
  },
  { name: 'role', label: words.people.role, show: ({ role }) => words.roles[role] },
  {
    name: 'status',
    label: words.people.status,
    from: 'sm',
    show: ({ status }) => <StatusBadge status={status} label={words.accounts.personStatuses[status]} />,
  },
];

export function AccountRequests({ account }: OfAccount) {
  const usage = usePages<UsageShape>(
    '/usage',
    { account: account.id, limit: ROWS_SHOWN },
    { everyMs: REQUESTS_EVERY_MS },
  );
  return (
    <Section
      title={words.accounts.requests}
      aside={
        <Button size="xs" variant="default" component={Link} to="/usage" search={{ account: account.id } as never}>
          {words.accounts.allRequests}
        </Button>
      }
    >
      <DataTable
        label={words.accounts.requests}
        // The newest alone: all of them are on a page of their own.
        rows={{ ...usage, rows: usage.rows.slice(0, ROWS_SHOWN), showMore: null }}
        columns={requestColumns}
        keyOf={(record) => record.request_id}
        empty={<Nothing text={words.accounts.noRequests} />}
      />
    </Section>
  );
}

const requestColumns: Column<UsageShape>[] = [
  {
    name: 'at',
    label: words.accounts.request.at,
    show: ({ request_id: id, at }) => (
      <TextLink to={`/usage/${id}`}>
        <When at={at} isRelative />
      </TextLink>
    ),
  },
  {
    name: 'model',
    label: words.accounts.request.model,
    show: ({ model }) => <span style={{ overflowWrap: 'anywhere' }}>{model}</span>,
  },
  {
    name: 'cost',
    label: words.accounts.request.cost,
    align: 'right',
    show: ({ cost }) => <Money usd={cost} />,
  },
  {
    name: 'outcome',
    label: words.accounts.request.outcome,
    from: 'sm',
    show: ({ outcome }) => <OutcomeBadge outcome={outcome} />,
  },
];

function Nothing({ text }: { text: string }) {
  return (
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  );
}
