// Inviting somebody: e-mail and role, and an account where the role is of one; then the one-time link, shown once.

import { Button, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { InvitedPersonShape } from '../../src/admin-api/shapes.ts';
import { ask } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { isOfInstallation, type Role, useMe } from '../me.tsx';
import { useOnce } from '../once.ts';
import { AccountSelect } from '../parts/account-select.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { PersonLink } from '../parts/person-link.tsx';
import { RoleTexts } from '../parts/role-texts.tsx';
import { useChange } from '../queries.ts';
import { rolesToGive } from '../roles.ts';
import { words } from '../words.ts';

const { people } = words;
const FIELDS = ['email', 'name', 'role', 'account'];

interface PersonInviteProps {
  isOpen: boolean;
  onClose: () => void;
  /** The account that is meant at first; absent: to be chosen. */
  account?: string;
}

export function PersonInvite({ isOpen, onClose, account = '' }: PersonInviteProps) {
  return (
    <Modal
      opened={isOpen}
      onClose={onClose}
      title={people.inviteTitle}
      size="lg"
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': words.parts.close }}
    >
      <Steps onClose={onClose} account={account} />
    </Modal>
  );
}

function Steps({ onClose, account }: { onClose: () => void; account: string }) {
  const requestOf = useOnce();
  const inviting = useChange(
    (body: object) =>
      ask<InvitedPersonShape>(
        '/people',
        requestOf(body, () => body),
      ),
    { done: people.invited },
  );
  if (inviting.data !== undefined) return <PersonLink person={inviting.data} onDone={onClose} />;
  return (
    <InviteForm account={account} onSubmit={inviting.mutate} isPending={inviting.isPending} failure={inviting.error} />
  );
}

interface InviteFormProps {
  account: string;
  onSubmit: (body: object) => void;
  isPending: boolean;
  failure: unknown;
}

function InviteForm({ account: meant, onSubmit, isPending, failure }: InviteFormProps) {
  const me = useMe();
  const roles = rolesToGive(me.role);
  const firstRole: Role = meant === '' ? (roles.at(-1) ?? 'member') : 'owner';
  const form = useForm({ initialValues: { email: '', name: '', role: firstRole, account: meant } });
  const { role } = form.values;
  const needsAccount = isOfInstallation(me) && !isOfInstallation({ role });
  const faults = fieldFaults(failure, FIELDS);
  const fieldOf = (name: 'email' | 'name' | 'role') => ({
    ...form.getInputProps(name),
    error: faults?.[name],
  });
  const submit = form.onSubmit(({ email, name, account }) =>
    onSubmit({ email: email.trim(), role, ...(name.trim() !== '' && { name }), ...(needsAccount && { account }) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {people.inviteText}
        </Text>
        <TextInput label={people.email} type="email" required autoComplete="off" data-autofocus {...fieldOf('email')} />
        <TextInput label={people.name} description={people.nameHint} autoComplete="off" {...fieldOf('name')} />
        <Select
          label={people.role}
          required
          allowDeselect={false}
          data={roles.map((value) => ({ value, label: words.roles[value] }))}
          {...fieldOf('role')}
          onChange={(value) => form.setFieldValue('role', value as Role)}
        />
        {needsAccount && (
          <AccountSelect
            label={people.account}
            description={people.accountHint}
            required
            value={form.values.account || null}
            onChange={(id) => form.setFieldValue('account', id ?? '')}
            error={faults?.['account']}
          />
        )}
        <RoleTexts roles={roles} />
        {faults === null && <FailureNotice failure={failure} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isPending}>
            {people.inviteSubmit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
