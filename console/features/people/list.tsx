// Users, with a drawer for the user whose id is in the address.

import { Anchor, Badge, Box, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ListedPersonShape, PersonShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useFilters } from '../../filters.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useSignInOptions } from '../../installation.tsx';
import { roleLabels, roleTexts } from '../../labels.ts';
import { type Role, seesInstallation, useMe } from '../../me.tsx';
import { useActors, useNames } from '../../names.ts';
import { StatusBadge } from '../../parts/badges.tsx';
import { type Column, DataTable } from '../../parts/data-table.tsx';
import { ConfirmButton } from '../../parts/dialog-button.tsx';
import { TagsField } from '../../parts/fields.tsx';
import { Drawer, Select } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { EmptyState, FailureNotice, Hint, Loading, PageHead } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useChange, useGet, useList } from '../../queries.ts';
import { tagsOf, tagTexts } from '../../tags.ts';
import { leave, leaveSecret } from '../../unsaved.ts';
import { PersonBudget } from './budget.tsx';
import { PeopleImport } from './import.tsx';
import { assignableRoles, LinkNote, nameOfPerson, PersonInvite, PersonLink, RoleTexts } from './invite.tsx';

/** Up to this number of users, the page explains the roles. */
const FEW_ROWS = 8;

export function PersonList() {
  const me = useMe();
  const filters = useFilters();
  const [isInviting, dialog] = useDisclosure(false);
  const rows = useList('/people');
  const open = (person: PersonShape) => filters.set({ person: person.id });
  const columns = useColumns(rows.rows, open);
  const mayInvite = me.role === 'operator' || me.role === 'owner';
  const [isImporting, importing] = useDisclosure(false);
  const invite = mayInvite && (
    <Group gap="xs">
      <ActionButton label="Invite several" onClick={importing.open} />
      <ActionButton label="Invite user" isPrimary icon="plus" onClick={dialog.open} />
    </Group>
  );
  return (
    <>
      <PageHead
        title="Users"
        text={
          me.role === 'owner'
            ? 'Users of your account and their roles.'
            : 'Users of this installation and of its accounts, with their roles.'
        }
        actions={invite}
      />
      <DataTable
        label="Users"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        onOpen={open}
        empty={
          <EmptyState
            icon="people"
            title="No users yet"
            text="Invite the users of this console. Each user signs in separately, so the audit log shows who made each change."
            action={invite}
          />
        }
      />
      {rows.rows.length > 0 && rows.rows.length <= FEW_ROWS && (
        <Box mt="md">
          <RoleTexts roles={seesInstallation(me) ? assignableRoles('operator') : assignableRoles('owner')} />
        </Box>
      )}
      <PersonInvite isOpen={isInviting} onClose={dialog.close} />
      <PeopleImport isOpen={isImporting} onClose={importing.close} />
      <PersonDrawer id={filters.values['person'] ?? null} onClose={() => filters.set({ person: null })} />
    </>
  );
}

function useColumns(
  rows: readonly ListedPersonShape[],
  open: (person: PersonShape) => void,
): Column<ListedPersonShape>[] {
  const me = useMe();
  const names = useNames(rows.map(({ account }) => ({ account, key: null })));
  const version = useSignInOptions()?.terms?.version ?? null;
  const account: Column<ListedPersonShape> = {
    name: 'account',
    label: 'Account',
    from: 'md',
    show: (row) => (row.account === null ? 'Entire installation' : names.account(row.account)),
  };
  const consent: Column<ListedPersonShape> = {
    name: 'consent',
    label: 'Agreed to terms',
    from: 'lg',
    show: ({ consents }) => {
      const last = consents.at(-1);
      if (last === undefined) return <Hint>Never</Hint>;
      return last.version === version ? 'Yes' : `Version ${last.version}`;
    },
  };
  return [
    { name: 'name', label: 'Name', show: (row) => <NameCell row={row} isSelf={row.id === me.id} open={open} /> },
    { name: 'role', label: 'Role', from: 'sm', show: ({ role }) => roleLabels[role] },
    ...(seesInstallation(me) ? [account] : []),
    ...(seesInstallation(me) && version !== null ? [consent] : []),
    { name: 'status', label: 'Status', show: (row) => <StatusCell row={row} /> },
    { name: 'since', label: 'Created', from: 'lg', show: (row) => <When at={row.created_at} /> },
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
          className="wrap"
        >
          {nameOfPerson(row)}
        </Anchor>
        {isSelf && <Badge>You</Badge>}
      </Group>
      {row.name !== '' && row.email !== null && (
        <Hint size="xs" className="wrap">
          {row.email}
        </Hint>
      )}
      <Hint size="xs" hiddenFrom="sm">
        {roleLabels[row.role]}
      </Hint>
    </Stack>
  );
}

function StatusCell({ row }: { row: PersonShape }) {
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge status={row.status} />
      <LinkNote person={row} />
    </Stack>
  );
}

export function PersonDrawer({ id, onClose }: { id: string | null; onClose: () => void }) {
  const close = () => leaveSecret(onClose);
  return (
    <Drawer opened={id !== null} onClose={() => leave(onClose)} position="right" title="User">
      {id !== null && <Person key={id} id={id} onClose={close} />}
    </Drawer>
  );
}

function Person({ id, onClose }: { id: string; onClose: () => void }) {
  const { data, error, refetch } = useGet('/people/{id}', { id });
  const linking = useChange(() => call('POST /people/{id}/link', { id, body: {} }));
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading rowCount={4} />;
  if (linking.data !== undefined) return <PersonLink person={linking.data} onDone={onClose} />;
  return <UserDetails person={data} linking={linking} />;
}

interface Linking {
  mutateAsync: (nothing: undefined) => Promise<unknown>;
  isPending: boolean;
  error: unknown;
}

function UserDetails({ person, linking }: { person: ListedPersonShape; linking: Linking }) {
  const me = useMe();
  const isSelf = me.id === person.id;
  const mayChange = assignableRoles(me.role).includes(person.role);
  return (
    <Stack gap="lg">
      <Facts person={person} isSelf={isSelf} />
      {!mayChange && <Hint className="wrap">{`Tags: ${tagTexts(person.tags).join(', ') || 'None'}`}</Hint>}
      {mayChange && (
        <UserForm key={JSON.stringify([person.name, person.role, person.tags])} person={person} isSelf={isSelf} />
      )}
      {person.account !== null && <PersonBudget id={person.id} mayChange={mayChange} />}
      {mayChange && !isSelf && (
        <Group gap="xs">
          {person.status !== 'disabled' && (person.managed_by === null || person.directory_source === 'scim') && (
            <ConfirmButton
              label="New one-time link"
              title="Create a new one-time link?"
              text="Use it for a forgotten password or a lost second factor. Earlier links stop working. Opening the link sets a new password, removes the second factor and ends all sessions."
              change={linking}
              input={undefined}
            />
          )}
          <StatusButton person={person} />
        </Group>
      )}
    </Stack>
  );
}

function Facts({ person, isSelf }: { person: ListedPersonShape; isSelf: boolean }) {
  const names = useNames([{ account: person.account, key: null }]);
  const actorName = useActors([person.made_by]);
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <Text fw={650} fz="lg" className="wrap">
          {nameOfPerson(person)}
        </Text>
        {isSelf && <Badge>You</Badge>}
        <StatusBadge status={person.status} />
      </Group>
      {person.email !== null && (
        <Text size="sm" className="wrap">
          {person.email}
        </Text>
      )}
      <Text size="sm">
        {roleLabels[person.role]} · {person.account === null ? 'Entire installation' : names.account(person.account)}
      </Text>
      <LinkNote person={person} />
      <DirectoryNote person={person} />
      {person.consents.map(({ version, at, address }) => (
        <Hint size="xs" className="wrap" key={`${version} ${at}`}>
          {`Agreed to version ${version} of the terms,`} <When at={at} />, {address}
        </Hint>
      ))}
      <Hint size="xs">
        {'Invited by'} {actorName(person.made_by)}, <When at={person.created_at} />
      </Hint>
      <Code fz="xs">{person.id}</Code>
    </Stack>
  );
}

/** Whether the groups of a directory decide about the user, and as whom they sign in. */
function DirectoryNote({ person }: { person: PersonShape }) {
  const { managed_by, identity, claimed_groups, disabled_by: by, status } = person;
  return (
    <>
      {managed_by === 'directory' && (
        <Hint size="xs">
          {status === 'disabled' && by === 'directory'
            ? 'Disabled by the directory: no group of this user has access.'
            : 'Managed by the directory: groups decide the account and role.'}
        </Hint>
      )}
      {identity !== null && (
        <Hint size="xs" className="wrap">{`Signs in at ${identity.issuer} as ${identity.subject}`}</Hint>
      )}
      {claimed_groups !== null && claimed_groups.length > 0 && (
        <Hint size="xs" className="wrap">{`Directory groups at the last sign-in: ${claimed_groups.join(', ')}`}</Hint>
      )}
    </>
  );
}

/** A user cannot move between the installation and accounts, so only matching roles are offered. */
function UserForm({ person, isSelf }: { person: PersonShape; isSelf: boolean }) {
  const me = useMe();
  const before = { name: person.name, role: person.role, tags: tagTexts(person.tags) };
  const form = useForm({ initialValues: before });
  const saving = useChange((body: object) => call('PATCH /people/{id}', { id: person.id, body }), {
    done: 'User saved.',
  });
  const isManaged = person.managed_by === 'directory';
  const faults = fieldFaults(saving.error, Object.keys(before));
  const roles = assignableRoles(me.role).filter((role) => seesInstallation({ role }) === (person.account === null));
  const submit = form.onSubmit(({ name, role, tags }) =>
    saving.mutate({
      ...(name !== before.name && { name }),
      ...(role !== before.role && { role }),
      ...(tags.join() !== before.tags.join() && { tags: tagsOf(tags) }),
    }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput label="Name" autoComplete="off" {...form.getInputProps('name')} error={faults?.['name']} />
        <Select
          label="Role"
          allowDeselect={false}
          disabled={isSelf || isManaged}
          description={
            isSelf
              ? 'You cannot change your own role or disable yourself.'
              : isManaged
                ? 'The groups of the directory decide the role.'
                : roleTexts[form.values.role]
          }
          data={roles.map((value) => ({ value, label: roleLabels[value] }))}
          value={form.values.role}
          onChange={(value) => form.setFieldValue('role', value as Role)}
          error={faults?.['role']}
        />
        {person.account !== null && <TagsField {...form.getInputProps('tags')} error={faults?.['tags']} />}
        {faults === null && <FailureNotice failure={saving.error} />}
        <Group>
          <ActionButton label="Save" isPrimary type="submit" loading={saving.isPending} disabled={!form.isDirty()} />
        </Group>
      </Stack>
    </form>
  );
}

function StatusButton({ person }: { person: PersonShape }) {
  const isDisabled = person.status === 'disabled';
  const isOfAccount = !seesInstallation(useMe()); // who may only invite again
  const changing = useChange(
    () => call('PATCH /people/{id}', { id: person.id, body: { status: isDisabled ? 'enabled' : 'disabled' } }),
    { done: isDisabled ? (isOfAccount ? 'User invited again.' : 'User enabled.') : 'User disabled.' },
  );
  if (!isDisabled)
    return (
      <ConfirmButton
        color="red"
        label="Disable"
        title={`Disable ${nameOfPerson(person)}?`}
        text={
          isOfAccount
            ? 'The user is signed out and cannot sign in, and their API keys are rejected. You can invite them again.'
            : 'The user is signed out and cannot sign in, and their API keys are rejected. You can enable them again.'
        }
        change={changing}
        input={undefined}
      />
    );
  return (
    <Stack gap="xs" align="flex-start">
      <ActionButton
        label={isOfAccount ? 'Invite again' : 'Enable'}
        onClick={() => changing.mutate(undefined)}
        loading={changing.isPending}
      />
      <FailureNotice failure={changing.error} />
    </Stack>
  );
}
