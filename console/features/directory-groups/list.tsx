// Groups of the directory, with the account and role that each gives. Operators create, disable and enable them here.

import { NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { DirectoryGroupShape } from '../../../src/admin-api/shapes.ts';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { roleLabels } from '../../labels.ts';
import { type Role, seesInstallation, useMe } from '../../me.tsx';
import { useNames } from '../../names.ts';
import { type Column, DataTable, statusColumn } from '../../parts/data-table.tsx';
import { FormActions, FormFailure } from '../../parts/dialog-button.tsx';
import { Modal, Select } from '../../parts/later.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { EmptyState, PageHead } from '../../parts/page.tsx';
import { useChange, useCreate, useGet, useList } from '../../queries.ts';
import { leave } from '../../unsaved.ts';
import { RoleFields, roleMembers } from '../people/role-fields.tsx';

const TEXT =
  'At each single sign-on, the directory groups of a user set their account and role. The lowest priority number sets the account.';

export function DirectoryGroupList() {
  const isOperator = useMe().role === 'operator';
  const [isCreating, dialog] = useDisclosure(false);
  const rows = useList('/directory-groups');
  const columns = useColumns(rows.rows, isOperator);
  const create = isOperator && (
    <ActionButton label="Create directory group" isPrimary icon="plus" onClick={dialog.open} />
  );
  return (
    <>
      <PageHead title="Directory groups" text={TEXT} actions={create} />
      <DataTable
        label="Directory groups"
        isFolding
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        empty={<EmptyState icon="people" title="No directory groups yet" text={TEXT} action={create || undefined} />}
      />
      <Modal opened={isCreating} onClose={() => leave(dialog.close)} title="Create directory group" size="lg">
        <GroupForm onDone={dialog.close} />
      </Modal>
    </>
  );
}

function useColumns(rows: readonly DirectoryGroupShape[], isOperator: boolean): Column<DirectoryGroupShape>[] {
  const names = useNames(rows.map(({ account }) => ({ account, key: null })));
  const sourceName = useSourceNames();
  const accountName = ({ account }: DirectoryGroupShape) =>
    account === null ? 'Entire installation' : names.account(account);
  const change: Column<DirectoryGroupShape> = {
    name: 'change',
    label: '',
    align: 'right',
    show: (row) => <StatusButton group={row} />,
  };
  return [
    {
      name: 'name',
      label: 'Name',
      show: ({ name }) => (
        <Text size="sm" fw={600} className="wrap">
          {name === '*' ? 'Everyone else (*)' : name}
        </Text>
      ),
    },
    { name: 'source', label: 'Source', from: 'md', show: ({ source }) => sourceName(source) },
    { name: 'role', label: 'Role', show: ({ role }) => roleLabels[role] },
    { name: 'account', label: 'Account', from: 'sm', show: accountName },
    { name: 'priority', label: 'Priority', from: 'md', align: 'right', show: ({ priority }) => String(priority) },
    statusColumn({ from: 'sm' }),
    ...(isOperator ? [change] : []),
  ];
}

function useSourceNames(): (source: string | null) => string {
  const { data } = useGet('/sign-in');
  return (source) => {
    if (source === null) return 'Any';
    return source === 'scim' ? 'SCIM' : (data?.issuers.find(({ id }) => id === source)?.name ?? source);
  };
}

function StatusButton({ group: { id, name, status } }: { group: DirectoryGroupShape }) {
  const isEnabled = status === 'enabled';
  const changing = useChange(
    () => call('PATCH /directory-groups/{id}', { id, body: { status: isEnabled ? 'disabled' : 'enabled' } }),
    { done: isEnabled ? 'Directory group disabled.' : 'Directory group enabled.' },
  );
  const label = isEnabled ? 'Disable' : 'Enable';
  return (
    <ActionButton
      size="xs"
      label={label}
      aria-label={`${label} ${name}`}
      onClick={() => changing.mutate(undefined)}
      loading={changing.isPending}
    />
  );
}

const ROLES: readonly Role[] = ['operator', 'viewer', 'owner', 'member'];
const FIELDS = ['name', 'source', 'role', 'account', 'priority'];
const ANY = 'any';

function GroupForm({ onDone }: { onDone: () => void }) {
  const create = useCreate('POST /directory-groups', { done: 'Directory group created.', onDone });
  const form = useForm({
    initialValues: { name: '', source: ANY, role: 'member' as Role, account: '', priority: 100 as number | string },
  });
  const { role, source } = form.values;
  const isOfInstallation = seesInstallation({ role });
  const sources = useSources(isOfInstallation);
  const faults = fieldFaults(create.error, FIELDS);
  const submit = form.onSubmit(({ name, priority, source: _, ...of }) =>
    create.mutate({ name, priority, ...(source !== ANY && { source }), ...roleMembers(of) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label="Name"
          description="Exactly as your directory sends it. An asterisk (*) matches users who are in none of the other groups."
          required
          data-autofocus
          autoComplete="off"
          {...form.getInputProps('name')}
          error={faults?.['name']}
        />
        <RoleFields roles={ROLES} form={form} faults={faults} />
        <Select
          label="Source"
          description={
            isOfInstallation
              ? 'Operators and viewers need one source.'
              : 'The identity provider that must send the group.'
          }
          allowDeselect={false}
          data={sources}
          value={isOfInstallation && source === ANY ? null : source}
          onChange={(value) => form.setFieldValue('source', value ?? ANY)}
          error={faults?.['source']}
        />
        <NumberInput
          label="Priority"
          description="If several groups match, the lowest number sets the account."
          min={1}
          max={1000}
          allowDecimal={false}
          {...form.getInputProps('priority')}
          error={faults?.['priority']}
        />
        <FormFailure failure={create.error} fields={FIELDS} />
        <FormActions label="Create directory group" isPending={create.isPending} onCancel={onDone} />
      </Stack>
    </form>
  );
}

/** A group that gives a role of the installation counts from one source only. */
function useSources(isOfInstallation: boolean): { value: string; label: string }[] {
  const issuers = useGet('/sign-in').data?.issuers ?? [];
  return [
    ...(isOfInstallation ? [] : [{ value: ANY, label: 'Any' }]),
    ...issuers.map(({ id, name }) => ({ value: id, label: name })),
    { value: 'scim', label: 'SCIM' },
  ];
}
