// Changing one's password; every other session ends with it.

import { Button, Group, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { ApiFailure, askSignIn } from '../api.ts';
import { useMe } from '../me.tsx';
import { PasswordField } from '../parts/password-field.tsx';
import { Section } from '../parts/section.tsx';
import { SignInFailure } from '../parts/sign-in-failure.tsx';
import { faultOfPassword } from '../password-rules.ts';
import { useChange } from '../queries.ts';
import { words } from '../words.ts';

const { profile } = words;

export function ProfilePassword() {
  const [isOpen, form] = useDisclosure(false);
  return (
    <Section
      title={profile.password}
      text={profile.passwordText}
      aside={
        !isOpen && (
          <Button variant="default" onClick={form.open}>
            {profile.passwordChange}
          </Button>
        )
      }
    >
      {isOpen && <PasswordForm onClose={form.close} />}
    </Section>
  );
}

function PasswordForm({ onClose }: { onClose: () => void }) {
  const me = useMe();
  const form = useForm({
    initialValues: { currentPassword: '', newPassword: '' },
    validate: { newPassword: faultOfPassword },
  });
  const changing = useChange((values: typeof form.values) => askSignIn<unknown>('/change-password', { body: values }), {
    done: profile.passwordChanged,
    onDone: onClose,
  });
  const reason = changing.error instanceof ApiFailure ? changing.error.reason : null;
  return (
    <form onSubmit={form.onSubmit((values) => changing.mutate(values))}>
      <Stack gap="sm" maw={380}>
        {/* Tells password managers whose password it is. */}
        <input hidden name="username" autoComplete="username" value={me.email ?? ''} readOnly />
        <PasswordField
          label={profile.passwordNow}
          name="current-password"
          autoComplete="current-password"
          {...form.getInputProps('currentPassword')}
          {...(reason === 'INVALID_PASSWORD' && { error: profile.passwordWrong })}
        />
        <PasswordField
          label={profile.passwordNew}
          name="new-password"
          description={words.invitation.passwordHint}
          autoComplete="new-password"
          {...form.getInputProps('newPassword')}
        />
        {reason !== 'INVALID_PASSWORD' && <SignInFailure failure={changing.error} instead={wordsOfReason(reason)} />}
        <Group>
          <Button type="submit" loading={changing.isPending}>
            {profile.passwordChange}
          </Button>
          <Button variant="default" onClick={onClose}>
            {words.parts.cancel}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

function wordsOfReason(reason: string | null): string | undefined {
  return reason === 'CREDENTIAL_ACCOUNT_NOT_FOUND' ? profile.passwordNone : undefined;
}
