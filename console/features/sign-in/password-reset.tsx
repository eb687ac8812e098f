// A new password by mail: asks for the link, and chooses the password with it.

import { Card, Stack, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { usePageTitle } from '../../installation.tsx';
import { ActionButton, ButtonLink } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { ChoosePassword } from './choose-password.tsx';
import { Notice, useLinkSecret } from './link.tsx';
import { EmailField, SignInFailure } from './password.tsx';

export function PasswordReset() {
  const token = useLinkSecret();
  return (
    <Card p="lg">
      {token === '' ? (
        <AskForLink />
      ) : (
        <ChoosePassword
          key={token}
          title="Choose a new password"
          text="This ends all of your sessions. Your second factor stays the same."
          label="Set password and sign in"
          accept={({ password }) => call('POST /password-resets/accept', { body: { token, password } })}
          done={{ title: 'Password changed', text: 'Sign in with your email address and your new password.' }}
          again="/password-reset"
        />
      )}
    </Card>
  );
}

function AskForLink() {
  usePageTitle('Forgot your password?');
  const form = useForm({ initialValues: { email: '' } });
  const asking = useMutation({
    mutationFn: (body: typeof form.values) => call('POST /password-resets', { body }),
  });
  if (asking.data !== undefined)
    return (
      <Notice
        title="Check your email"
        text={`If ${asking.data.email} has an account, an email with a link to choose a new password is on its way. The link expires in one hour.`}
        label="Back to sign-in"
      />
    );
  const faults = fieldFaults(asking.error, ['email']);
  return (
    <form onSubmit={form.onSubmit((values) => asking.mutate(values))}>
      <Stack gap="md">
        <Stack gap={4}>
          <Title order={1} size="h3">
            Forgot your password?
          </Title>
          <Hint>Enter your email address to receive a link to choose a new password.</Hint>
        </Stack>
        <EmailField {...form.getInputProps('email')} error={faults?.['email']} />
        {faults === null && <SignInFailure failure={asking.error} />}
        <ActionButton label="Send link" isPrimary type="submit" fullWidth loading={asking.isPending} />
        <ButtonLink label="Back to sign-in" to="/" variant="subtle" />
      </Stack>
    </form>
  );
}
