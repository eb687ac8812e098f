// One person beside the list: their name and role, a new one-time link, and whether they may come in at all.

import { Badge, Button, Code, Drawer, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { InvitedPersonShape, PersonShape } from '../../src/admin-api/shapes.ts';
import { useActors } from '../actors.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { isOfInstallation, type Role, useMe } from '../me.tsx';
import { useNames } from '../names.ts';
import { ConfirmButton } from '../parts/confirm-button.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { LinkNote, nameOfPerson } from '../parts/link-note.tsx';
import { PersonLink } from '../parts/person-link.tsx';
import { StatusBadge } from '../parts/status-badge.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { useAsk, useChange } from '../queries.ts';
import { rolesToGive } from '../roles.ts';
import { words } from '../words.ts';

const { people } = words;

export function PersonDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  return (
    <Drawer
      opened={id !== null}
      onClose={onClose}
      position="right"
      title={people.person}
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      {id !== null && <Person key={id} id={id} onClose={onClose} />}
    </Drawer>
  );
}

function Person({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, refetch } = useAsk<PersonShape>(`/people/${encodeURIComponent(id)}`);
  const linking = useChange(() => ask<InvitedPersonShape>(`/people/${id}/link`, { body: {} }));
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Waiting rowCount={4} />;
  if (linking.data !== undefined) return <PersonLink person={linking.data} onDone={onClose} />;
  return <Shown person={data} linking={linking} />;
}

interface Linking {
  mutateAsync: (nothing: undefined) => Promise<unknown>;
  isPending: boolean;
  error: unknown;
}

function Shown({ person, linking }: { person: PersonShape; linking: Linking }) {
  const me = useMe();
  const isSelf = me.id === person.id;
  const mayChange = rolesToGive(me.role).includes(person.role);
  return (
    <Stack gap="lg">
      <Facts person={person} isSelf={isSelf} />
      {mayChange && <TermsForm key={`${person.name} ${person.role}`} person={person} isSelf={isSelf} />}
      {mayChange && !isSelf && (
        <Group gap="xs">
          {person.status !== 'disabled' && (
            <ConfirmButton
              label={people.newLink}
              title={people.newLinkTitle}
              text={people.newLinkText}
              confirm={people.newLink}
              onConfirm={() => linking.mutateAsync(undefined)}
              isPending={linking.isPending}
              failure={linking.error}
            />
          )}
          <StatusButton person={person} />
        </Group>
      )}
    </Stack>
  );
}

function Facts({ person, isSelf }: { person: PersonShape; isSelf: boolean }) {
  const names = useNames([{ account: person.account, key: null }]);
  const actorName = useActors([person.made_by]);
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <Text fw={650} fz="lg" style={{ overflowWrap: 'anywhere' }}>
          {nameOfPerson(person)}
        </Text>
        {isSelf && (
          <Badge variant="light" tt="none">
            {people.you}
          </Badge>
        )}
        <StatusBadge status={person.status} label={people.statuses[person.status]} />
      </Group>
      {person.email !== null && (
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {person.email}
        </Text>
      )}
      <Text size="sm">
        {words.roles[person.role]} · {person.account === null ? people.installation : names.account(person.account)}
      </Text>
      <LinkNote person={person} />
      <Text size="xs" c="dimmed">
        {people.invitedBy} {actorName(person.made_by)}, <When at={person.created_at} />
      </Text>
      <Code fz="xs">{person.id}</Code>
    </Stack>
  );
}

/** A person stays with the installation or with their account; only the role within it changes. */
function TermsForm({ person, isSelf }: { person: PersonShape; isSelf: boolean }) {
  const me = useMe();
  const form = useForm({ initialValues: { name: person.name, role: person.role } });
  const saving = useChange((body: object) => ask<PersonShape>(`/people/${person.id}`, { method: 'PATCH', body }), {
    done: people.saved,
  });
  const faults = fieldFaults(saving.error, ['name', 'role']);
  const roles = rolesToGive(me.role).filter((role) => isOfInstallation({ role }) === (person.account === null));
  const submit = form.onSubmit(({ name, role }) =>
    saving.mutate({ ...(name !== person.name && { name }), ...(role !== person.role && { role }) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput label={people.name} autoComplete="off" {...form.getInputProps('name')} error={faults?.['name']} />
        <Select
          label={people.role}
          allowDeselect={false}
          disabled={isSelf}
          description={isSelf ? people.ownRole : words.roleTexts[form.values.role]}
          data={roles.map((value) => ({ value, label: words.roles[value] }))}
          value={form.values.role}
          onChange={(value) => form.setFieldValue('role', value as Role)}
          error={faults?.['role']}
        />
        {faults === null && <FailureNotice failure={saving.error} />}
        <Group>
          <Button type="submit" loading={saving.isPending} disabled={!form.isDirty()}>
            {words.parts.save}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function StatusButton({ person }: { person: PersonShape }) {
  const isDisabled = person.status === 'disabled';
  const changing = useChange(
    () =>
      ask<PersonShape>(`/people/${person.id}`, {
        method: 'PATCH',
        body: { status: isDisabled ? 'enabled' : 'disabled' },
      }),
    { done: isDisabled ? people.enabled : people.disabled },
  );
  if (!isDisabled)
    return (
      <ConfirmButton
        color="red"
        label={people.disable}
        title={people.disableTitle(nameOfPerson(person))}
        text={people.disableText}
        onConfirm={() => changing.mutateAsync(undefined)}
        isPending={changing.isPending}
        failure={changing.error}
      />
    );
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" onClick={() => changing.mutate(undefined)} loading={changing.isPending}>
        {people.enable}
      </Button>
      <FailureNotice failure={changing.error} />
    </Stack>
  );
}
