// Invites a user, shows their one-time link once, and explains the roles.

import { Alert, Code, Group, List, Stack, Text, TextInput } from '@mantine/core';
import type { InvitedPersonShape, PersonShape } from '../../../src/admin-api/shapes.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { useInstallation } from '../../installation.tsx';
import { roleLabels, roleTexts } from '../../labels.ts';
import { type Role, useBaseUrl, useMe } from '../../me.tsx';
import { CopyButton } from '../../parts/code-block.tsx';
import { FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { type FormStep, SecretOnce, SecretSteps } from '../../parts/secret-once.tsx';
import { When } from '../../parts/times.tsx';
import { formatTime } from '../../times.ts';
import { markSecretSaved } from '../../unsaved.ts';
import { RoleFields, roleMembers } from './role-fields.tsx';

const FIELDS = ['email', 'name', 'role', 'account'];

interface PersonInviteProps {
  isOpen: boolean;
  onClose: () => void;
  /** The preselected account. */
  account?: string;
}

export function PersonInvite({ isOpen, onClose, account = '' }: PersonInviteProps) {
  return (
    <SecretSteps
      isOpen={isOpen}
      onClose={onClose}
      title="Invite user"
      creates="POST /people"
      options={{ done: 'Invitation created.' }}
      form={(step: FormStep<object>) => <InviteForm account={account} {...step} />}
      result={(person, close) => <PersonLink person={person} onDone={close} />}
    />
  );
}

function InviteForm({ account: meant, onSubmit, isPending, failure }: FormStep<object> & { account: string }) {
  const me = useMe();
  const roles = assignableRoles(me.role);
  const firstRole: Role = meant === '' ? (roles.at(-1) ?? 'member') : 'owner';
  const form = useForm({ initialValues: { email: '', name: '', role: firstRole, account: meant } });
  const faults = fieldFaults(failure, FIELDS);
  const fieldOf = (name: 'email' | 'name') => ({
    ...form.getInputProps(name),
    error: faults?.[name],
  });
  const submit = form.onSubmit(({ email, name, ...role }) =>
    onSubmit({ email: email.trim(), ...(name.trim() !== '' && { name }), ...roleMembers(role) }),
  );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Hint>The user gets a one-time link to set a password. It expires in 7 days.</Hint>
        <TextInput label="Email" type="email" required autoComplete="off" data-autofocus {...fieldOf('email')} />
        <TextInput label="Name" description="Optional. The user can set it." autoComplete="off" {...fieldOf('name')} />
        <RoleFields roles={roles} form={form} faults={faults} />
        <RoleTexts roles={roles} />
        {faults === null && <FailureNotice failure={failure} />}
        <FormActions label="Create invitation" isPending={isPending} />
      </Stack>
    </form>
  );
}

export function PersonLink({ person, onDone }: { person: InvitedPersonShape; onDone: () => void }) {
  if (person.link_secret === null) return <OnlyMailed person={person} onDone={onDone} />;
  return <ShownLink person={person} secret={person.link_secret} onDone={onDone} />;
}

/** Only a mail proves whose address it is. */
function OnlyMailed({ person, onDone }: { person: PersonShape; onDone: () => void }) {
  return (
    <Stack gap="md">
      <Alert title={person.status === 'invited' ? `${person.email} invited` : `${person.email} receives a link`}>
        The link was sent to this address only. If this service sends no email, ask its operator for the link.
      </Alert>
      <Group justify="flex-end">
        <ActionButton label="Done" isPrimary onClick={onDone} />
      </Group>
    </Stack>
  );
}

interface ShownLinkProps {
  person: PersonShape;
  secret: string;
  onDone: () => void;
}

function ShownLink({ person, secret, onDone }: ShownLinkProps) {
  const link = `${useBaseUrl()}/console/invitation#${secret}`;
  const name = useInstallation()?.name ?? '';
  const until = person.link_expires_at === null ? '' : `${formatTime(person.link_expires_at, 'short', 'UTC')} UTC`;
  const mail = `Hello${person.name === '' ? '' : ` ${person.name}`},\n\nuse this link to sign in to ${name}. It works once and expires on ${until}:\n\n${link}\n`;
  return (
    <Stack gap="md">
      <SecretOnce
        secret={link}
        label="One-time link"
        text={`Send this link to ${person.email ?? roleLabels[person.role]}. Single use; expires in 7 days.`}
        copyLabel="Copy link"
        testId="link"
      />
      <Stack gap={4} align="flex-start">
        <Text size="sm" fw={600}>
          Email text
        </Text>
        <Code block w="100%" tabIndex={0} style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {mail}
        </Code>
        <CopyButton text={mail} label="Copy email" onCopied={markSecretSaved} />
      </Stack>
      <Group justify="flex-end">
        <ActionButton label="Done" isPrimary onClick={onDone} />
      </Group>
    </Stack>
  );
}

/** The expiration of the one-time link. */
export function LinkNote({ person: { link_expires_at: ends, status } }: { person: PersonShape }) {
  if (ends === null || status === 'disabled') return null;
  const isOver = Date.parse(ends) < Date.now();
  return (
    <Text size="xs" c={isOver ? 'red' : 'dimmed'}>
      {isOver ? (
        'Link expired'
      ) : (
        <>
          {'Link expires'} <When at={ends} isRelative />
        </>
      )}
    </Text>
  );
}

export function nameOfPerson({ name, email }: PersonShape): string {
  return name || email || 'First operator';
}

/** The role with the fewest permissions is last. */
export function assignableRoles(role: Role): readonly Role[] {
  if (role === 'operator') return ['operator', 'viewer', 'owner', 'member'];
  return role === 'owner' ? ['owner', 'member'] : [];
}

export function RoleTexts({ roles }: { roles: readonly (keyof typeof roleTexts)[] }) {
  return (
    <Alert color="gray" title="Roles">
      <List size="sm" spacing={2}>
        {roles.map((role) => (
          <List.Item key={role}>
            <b>{roleLabels[role]}</b>: {roleTexts[role]}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
