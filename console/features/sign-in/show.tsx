// Sign-in with email and password, a second factor, or single sign-on. Replaces any page until the user signs in.

import { Alert, Anchor, Card, Code, Divider, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Navigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { SignInShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, callSignIn } from '../../api.ts';
import { useForm } from '../../form.ts';
import { usePageTitle } from '../../installation.tsx';
import { MeGate, useClearSession } from '../../me.tsx';
import { ActionButton, Icon, TextLink } from '../../parts/link.tsx';
import { FailureNotice, Hint, PublicFrame } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { EmailField, PasswordField, SignInFailure } from './password.tsx';

const issuerRefusals = {
  person_unknown: 'No account exists for this email address. Ask an operator to invite you.',
  person_disabled: 'Your access is disabled. Contact an operator.',
  email_not_verified: 'Your single sign-on provider has not verified your email address.',
  email_not_found: 'Your single sign-on provider did not send your email address.',
  email_changed: 'Your email address at the single sign-on provider has changed. Contact an operator.',
  store_unavailable: 'Sign-in is unavailable. Try again shortly.',
  email_not_trusted: 'This single sign-on provider does not accept your email domain. Try another one.',
  email_denied: 'Email addresses of your domain are not accepted here. Contact an operator.',
  groups_unavailable: 'Your single sign-on provider did not send all of your groups. Contact an operator.',
  identity_taken: 'A user with your email address signs in with another single sign-on account. Contact an operator.',
  no_place: 'None of your directory groups has access. Contact the administrator of your directory.',
  access_denied: 'You canceled the sign-in, or the single sign-on provider denied access.',
  state_mismatch: 'The sign-in timed out, or it was started in another window. Try again.',
  please_restart_the_process: 'The sign-in timed out, or it was started in another window. Try again.',
} as Readonly<Record<string, string>>;

export function SignIn() {
  return (
    <PublicFrame>
      <SignInSteps />
    </PublicFrame>
  );
}

/** The page to which a failed single sign-on returns. Redirects signed-in users to the overview. */
export function SignInAgain() {
  return (
    <MeGate signIn={<SignInSteps />}>
      <Navigate to="/" replace />
    </MeGate>
  );
}

function SignInSteps() {
  usePageTitle('Sign in');
  const [isSecond, setSecond] = useState(false);
  return (
    <Card p="lg">
      {isSecond ? (
        <SecondFactor onStartAgain={() => setSecond(false)} />
      ) : (
        <FirstStep onSecond={() => setSecond(true)} />
      )}
    </Card>
  );
}

function FirstStep({ onSecond }: { onSecond: () => void }) {
  const { data } = useGet('/sign-in');
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        Sign in
      </Title>
      <SingleSignOnFailure />
      {data?.first_operator === true && <FirstOperatorHint />}
      <PasswordForm onSecond={onSecond} />
      {data && data.issuers.length > 0 && (
        <>
          <Divider label="or" />
          <SingleSignOns issuers={data.issuers} />
        </>
      )}
      <OtherWays signIn={data} />
    </Stack>
  );
}

/** What those who cannot sign in can do. */
function OtherWays({ signIn }: { signIn: SignInShape | undefined }) {
  if (signIn === undefined) return null;
  return (
    <Stack gap="xs">
      {signIn.password_reset && (
        <TextLink size="sm" to="/password-reset">
          Forgot your password?
        </TextLink>
      )}
      {signIn.sign_up !== null && (
        <Text size="sm">
          No account yet? <TextLink to="/sign-up">Sign up</TextLink>
        </Text>
      )}
      <Hint size="xs">
        {signIn.password_reset
          ? 'If you lost your second factor, ask the person who invited you for a new one-time link.'
          : 'If you forgot your password or lost your second factor, ask the person who invited you for a new one-time link.'}
      </Hint>
    </Stack>
  );
}

/** Explains a failed single sign-on by the code in the address. */
function SingleSignOnFailure() {
  const { error } = useSearch({ strict: false }) as { error?: string };
  if (error === undefined || !/^[a-z_]{1,60}$/.test(error)) return null;
  return (
    <Alert color="red" title="Sign-in failed" icon={<Icon name="warning" />} role="alert">
      {issuerRefusals[error] ?? `Single sign-on failed (${error}). Try again, or contact an operator.`}
    </Alert>
  );
}

function FirstOperatorHint() {
  return (
    <Alert title="Set up Turnpike" icon={<Icon name="key" />}>
      {
        'Open the setup link that the service printed at its first start. The link is also in this file of the data directory:'
      }{' '}
      <Code>first-operator.txt</Code>
    </Alert>
  );
}

function PasswordForm({ onSecond }: { onSecond: () => void }) {
  const clearSession = useClearSession();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const signingIn = useMutation({
    mutationFn: (values: typeof form.values) => callSignIn('POST /sign-in/email', { body: values }),
    onSuccess: async ({ twoFactorRedirect }) => {
      if (twoFactorRedirect === true) onSecond();
      else await clearSession();
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => signingIn.mutate(values))}>
      <Stack gap="sm">
        <EmailField withAsterisk={false} {...form.getInputProps('email')} />
        <PasswordField
          label="Password"
          autoComplete="current-password"
          withAsterisk={false}
          {...form.getInputProps('password')}
        />
        <SignInFailure failure={signingIn.error} />
        <ActionButton label="Sign in" isPrimary type="submit" fullWidth loading={signingIn.isPending} />
      </Stack>
    </form>
  );
}

/** The codes of better-auth for an expired sign-in, as opposed to a wrong code. */
const EXPIRED_REASONS: readonly (string | null)[] = ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'];

function SecondFactor({ onStartAgain }: { onStartAgain: () => void }) {
  const [isBackup, setBackup] = useState(false);
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        Second factor
      </Title>
      <Hint>
        {isBackup
          ? 'Enter one of your backup codes. Each code works once.'
          : 'Enter the six-digit code from your authenticator app.'}
      </Hint>
      <CodeForm key={String(isBackup)} isBackup={isBackup} onStartAgain={onStartAgain} />
      <Group justify="space-between">
        <Anchor component="button" type="button" size="sm" onClick={() => setBackup(!isBackup)}>
          {isBackup ? 'Use the authenticator app' : 'Use a backup code'}
        </Anchor>
        <Anchor component="button" type="button" size="sm" onClick={onStartAgain}>
          Start over
        </Anchor>
      </Group>
    </Stack>
  );
}

function CodeForm({ isBackup, onStartAgain }: { isBackup: boolean; onStartAgain: () => void }) {
  const clearSession = useClearSession();
  const [code, setCode] = useState('');
  const verifying = useMutation({
    mutationFn: () =>
      callSignIn(isBackup ? 'POST /two-factor/verify-backup-code' : 'POST /two-factor/verify-totp', {
        body: { code: isBackup ? code.trim() : code.replace(/\s/g, '') },
      }),
    onSuccess: clearSession,
    onError: () => setCode(''),
  });
  const isExpired = verifying.error instanceof ApiFailure && EXPIRED_REASONS.includes(verifying.error.reason);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    verifying.mutate();
  };
  if (isExpired)
    return (
      <Stack gap="sm">
        <Text role="alert">
          The sign-in timed out, or too many wrong codes were entered. Start over with your password.
        </Text>
        <ActionButton label="Start over" isPrimary onClick={onStartAgain} />
      </Stack>
    );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={isBackup ? 'Backup code' : 'Code'}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          name="code"
          autoComplete="one-time-code"
          autoCapitalize="none"
          spellCheck={false}
          {...(!isBackup && { inputMode: 'numeric' as const })}
          required
          autoFocus
          className="tabular"
        />
        <SignInFailure failure={verifying.error} />
        <ActionButton
          label="Continue"
          isPrimary
          type="submit"
          fullWidth
          loading={verifying.isPending}
          disabled={code.trim() === ''}
        />
      </Stack>
    </form>
  );
}

/** The return addresses that the service accepts. */
const RETURNABLE =
  /^\/console\/(?!auth\/|sign-in|sign-up|invitation|password-reset|unsubscribe)[\w\-./]*(?:\?[\w\-.=&%]*)?$/;

export function SingleSignOns({ issuers }: Pick<SignInShape, 'issuers'>) {
  return issuers.map((issuer) => <SingleSignOn key={issuer.id} {...issuer} />);
}

function SingleSignOn({ id, name }: SignInShape['issuers'][number]) {
  const redirecting = useMutation({
    mutationFn: async () => {
      const { url } = await callSignIn('POST /sign-in/social', {
        body: { callbackURL: pageToReturnTo(), provider: id },
      });
      if (!['https:', 'http:'].includes(new URL(url).protocol))
        throw new Error('The single sign-on provider returned an invalid address.');
      window.location.assign(url);
    },
  });
  return (
    <Stack gap="sm">
      <ActionButton
        label={`Continue with ${name}`}
        fullWidth
        icon="shield"
        onClick={() => redirecting.mutate()}
        loading={redirecting.isPending}
      />
      <FailureNotice failure={redirecting.error} />
    </Stack>
  );
}

function pageToReturnTo(): string {
  const { pathname, search } = window.location;
  if (RETURNABLE.test(pathname + search)) return pathname + search;
  return RETURNABLE.test(pathname) ? pathname : '/console/';
}
