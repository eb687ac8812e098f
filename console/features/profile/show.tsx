// The user's own profile, password and other sign-in methods.

import { Alert, Group, Stack, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import { ApiFailure, call, callSignIn } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { roleLabels, roleTexts } from '../../labels.ts';
import { useMe } from '../../me.tsx';
import { OwnBudget } from '../../parts/budget.tsx';
import { ActionButton, Icon, TextLink } from '../../parts/link.tsx';
import { Facts, FailureNotice, Hint, PageHead, Section } from '../../parts/page.tsx';
import { useChange } from '../../queries.ts';
import { PasswordField, passwordFault, SignInFailure } from '../sign-in/password.tsx';
import { ProfileSecondFactor } from './second-factor.tsx';
import { ProfileSessions } from './sessions.tsx';

export function ProfileShow() {
  const { kind, role } = useMe();
  return (
    <>
      <PageHead title="Account security" text="Your identity, sign-in methods and active sessions." />
      <Stack maw={820}>
        {kind !== 'person' && (
          <Alert title="Signed in with an admin token" icon={<Icon name="ticket" />}>
            {kind === 'local'
              ? 'You use the local operator token of the data directory. It has no password.'
              : 'A token has no password, second factor or sessions. Its creator can revoke it under Admin tokens.'}
          </Alert>
        )}
        <Identity />
        <OwnBudget />
        {kind === 'person' && (
          <>
            <ProfilePassword />
            <ProfileSecondFactor />
            <ProfileSessions />
          </>
        )}
        {role !== 'member' && (
          <Section
            title="Admin tokens"
            text="Programs authenticate to the admin API with a token, not with your password."
          >
            <TextLink to="/tokens" size="sm">
              Manage admin tokens
            </TextLink>
          </Section>
        )}
      </Stack>
    </>
  );
}

function Identity() {
  const me = useMe();
  const mayRename = me.kind === 'person' && (me.role === 'operator' || me.role === 'owner');
  return (
    <Section title="Profile">
      <Facts
        facts={[
          me.email === null ? null : { name: 'Email', value: me.email },
          mayRename || !me.name ? null : { name: 'Your name', value: me.name },
          { name: 'Role', value: `${roleLabels[me.role]} – ${roleTexts[me.role]}` },
          { name: 'Account', value: me.account?.name ?? 'Entire installation' },
        ]}
      />
      {mayRename && <NameForm id={me.id} name={me.name ?? ''} />}
      {me.kind === 'person' && !mayRename && <Hint size="xs">Only an operator or an owner can change your name.</Hint>}
    </Section>
  );
}

function NameForm({ id, name: saved }: { id: string; name: string }) {
  const [name, setName] = useState(saved);
  const saving = useChange(() => call('PATCH /people/{id}', { id, body: { name } }), {
    done: 'Name saved.',
  });
  const faults = fieldFaults(saving.error, ['name']);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    saving.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Group align="flex-end" gap="sm">
        <TextInput
          label="Your name"
          description="Shown to other users."
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          autoComplete="name"
          error={faults?.['name']}
          maw={360}
          style={{ flex: '1 1 220px' }}
        />
        <ActionButton label="Save" type="submit" loading={saving.isPending} disabled={name === saved || name === ''} />
      </Group>
      {faults === null && <FailureNotice failure={saving.error} />}
    </form>
  );
}

export function ProfilePassword() {
  const [isOpen, form] = useDisclosure(false);
  return (
    <Section
      title="Password"
      text="Changing your password signs you out of all other sessions."
      aside={!isOpen && <ActionButton label="Change password" onClick={form.open} />}
    >
      {isOpen && <PasswordForm onClose={form.close} />}
    </Section>
  );
}

function PasswordForm({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const form = useForm({
    initialValues: { currentPassword: '', newPassword: '' },
    validate: { newPassword: passwordFault },
  });
  const changing = useChange((values: typeof form.values) => callSignIn('POST /change-password', { body: values }), {
    done: 'Password changed. All other sessions were signed out.',
    onDone: onClose,
  });
  const reason = changing.error instanceof ApiFailure ? changing.error.reason : null;
  const faults = fieldFaults(changing.error, ['newPassword']);
  return (
    <form onSubmit={form.onSubmit((values) => changing.mutate(values))}>
      <Stack gap="sm" maw={380}>
        {/* For password managers. */}
        <input hidden name="username" autoComplete="username" value={me.email ?? ''} readOnly />
        <PasswordField
          label="Current password"
          name="current-password"
          autoComplete="current-password"
          {...form.getInputProps('currentPassword')}
          {...(reason === 'INVALID_PASSWORD' && { error: 'Wrong password.' })}
        />
        <PasswordField
          label="New password"
          name="new-password"
          description="At least 10 characters. A phrase of several words is easy to remember."
          autoComplete="new-password"
          {...form.getInputProps('newPassword')}
          error={form.errors['newPassword'] ?? faults?.['newPassword']}
        />
        {reason !== 'INVALID_PASSWORD' && faults === null && (
          <SignInFailure failure={changing.error} instead={wordsOfReason(reason)} />
        )}
        <Group>
          <ActionButton label="Change password" isPrimary type="submit" loading={changing.isPending} />
          <ActionButton label="Cancel" onClick={onClose} />
        </Group>
      </Stack>
    </form>
  );
}

function wordsOfReason(reason: string | null): string | undefined {
  return reason === 'CREDENTIAL_ACCOUNT_NOT_FOUND'
    ? 'You sign in with single sign-on and have no password. Ask an operator for a one-time link to set one.'
    : undefined;
}
