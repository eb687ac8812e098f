// Sign-up: asks for a mail, and creates the account with the link in it. Offered only while sign-up is open.

import { Card, Stack, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { call } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { usePageTitle, useSignInOptions } from '../../installation.tsx';
import { ActionButton, ButtonLink } from '../../parts/link.tsx';
import { FailureNotice, Loading } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ChoosePassword } from './choose-password.tsx';
import { Notice, useLinkSecret } from './link.tsx';
import { EmailField, SignInFailure } from './password.tsx';

export function SignUp() {
  const token = useLinkSecret();
  const terms = useSignInOptions()?.terms ?? null;
  return (
    <Card p="lg">
      {token === '' ? (
        <AskForAccount />
      ) : (
        <ChoosePassword
          key={token}
          title="Choose a password"
          text="This confirms your email address. You sign in with both."
          label="Create account and sign in"
          terms={terms}
          accept={(chosen) => call('POST /sign-ups/accept', { body: { token, ...chosen } })}
          done={{ title: 'Account created', text: 'Sign in with your email address and your new password.' }}
          again="/sign-up"
        />
      )}
    </Card>
  );
}

function AskForAccount() {
  const { data, error, refetch } = useGet('/sign-in');
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.sign_up === null) return <Notice title="Sign-up is not open" text="Ask the operator for an invitation." />;
  return <SignUpForm domains={data.sign_up.domains} />;
}

const FIELDS = ['email', 'name', 'account_name'];

function SignUpForm({ domains }: { domains: readonly string[] }) {
  usePageTitle('Sign up');
  const form = useForm({ initialValues: { email: '', name: '', account_name: '' } });
  const asking = useMutation({
    mutationFn: ({ account_name, ...values }: typeof form.values) =>
      call('POST /sign-ups', { body: { ...values, ...(account_name.trim() !== '' && { account_name }) } }),
  });
  if (asking.data !== undefined)
    return (
      <Notice
        title="Check your email"
        text={`Open the link in the email to ${asking.data.email} to confirm your address and choose a password. The link expires in one day.`}
        label="Back to sign-in"
      />
    );
  const faults = fieldFaults(asking.error, FIELDS);
  return (
    <form onSubmit={form.onSubmit((values) => asking.mutate(values))}>
      <Stack gap="md">
        <Title order={1} size="h3">
          Sign up
        </Title>
        <Stack gap="sm">
          <EmailField
            description={
              domains.length === 0 ? 'You receive a link to confirm it.' : `Use an address at ${domains.join(' or ')}.`
            }
            {...form.getInputProps('email')}
            error={faults?.['email']}
          />
          <TextInput
            label="Your name"
            name="name"
            autoComplete="name"
            required
            {...form.getInputProps('name')}
            error={faults?.['name']}
          />
          <TextInput
            label="Account name"
            description="Your company or project. Leave empty to use your name."
            name="account_name"
            autoComplete="organization"
            {...form.getInputProps('account_name')}
            error={faults?.['account_name']}
          />
        </Stack>
        {faults === null && <SignInFailure failure={asking.error} />}
        <ActionButton label="Sign up" isPrimary type="submit" fullWidth loading={asking.isPending} />
        <ButtonLink label="Sign in instead" to="/sign-in" variant="subtle" />
      </Stack>
    </form>
  );
}
