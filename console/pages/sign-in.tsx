// Signing in: by e-mail and password, by a second factor where there is one, or by single sign-on. Shown in place of any
// page while nobody is signed in, so that afterwards the page is there that was asked for.

import { Alert, Button, Card, Code, Divider, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { Navigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { SignInShape } from '../../src/admin-api/shapes.ts';
import { askSignIn } from '../api.ts';
import { MeGate, useForgetEverything } from '../me.tsx';
import { Icon } from '../parts/icon.tsx';
import { OpenFrame } from '../parts/open-frame.tsx';
import { PasswordField } from '../parts/password-field.tsx';
import { SignInFailure } from '../parts/sign-in-failure.tsx';
import { SingleSignOn } from '../parts/single-sign-on.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { SecondFactor } from './sign-in-second.tsx';

const { signIn } = words;

export function SignIn() {
  return (
    <OpenFrame>
      <SignInSteps />
    </OpenFrame>
  );
}

/** Where single sign-on comes back to when it failed. Whoever is signed in has nothing to do here. */
export function SignInAgain() {
  return (
    <MeGate signIn={<SignInSteps />}>
      <Navigate to="/" replace />
    </MeGate>
  );
}

function SignInSteps() {
  useDocumentTitle(`${signIn.title} · ${words.product}`);
  const [isSecond, setSecond] = useState(false);
  return (
    <Card withBorder p="lg">
      {isSecond ? (
        <SecondFactor onStartAgain={() => setSecond(false)} />
      ) : (
        <FirstStep onSecond={() => setSecond(true)} />
      )}
    </Card>
  );
}

function FirstStep({ onSecond }: { onSecond: () => void }) {
  const { data } = useAsk<SignInShape>('/sign-in');
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        {signIn.title}
      </Title>
      <IssuerRefusal />
      {data?.first_operator === true && <FirstOperatorHint />}
      <PasswordForm onSecond={onSecond} />
      {data?.oidc && (
        <>
          <Divider label={signIn.or} />
          <SingleSignOn name={data.oidc.name} />
        </>
      )}
      <Text size="xs" c="dimmed">
        {signIn.forgotten}
      </Text>
    </Stack>
  );
}

/** Why single sign-on led back here: its code stands in the address. */
function IssuerRefusal() {
  const { error } = useSearch({ strict: false }) as { error?: string };
  if (error === undefined || !/^[a-z_]{1,60}$/.test(error)) return null;
  return (
    <Alert color="red" variant="light" title={signIn.issuerTitle} icon={<Icon name="warning" />} role="alert">
      {signIn.issuerRefusals[error] ?? signIn.issuerFailed(error)}
    </Alert>
  );
}

function FirstOperatorHint() {
  return (
    <Alert variant="light" title={signIn.firstTitle} icon={<Icon name="key" />}>
      {signIn.firstText} <Code>{signIn.firstFile}</Code>
    </Alert>
  );
}

function PasswordForm({ onSecond }: { onSecond: () => void }) {
  const forgetEverything = useForgetEverything();
  const form = useForm({ initialValues: { email: '', password: '' } });
  const entering = useMutation({
    mutationFn: (values: typeof form.values) =>
      askSignIn<{ twoFactorRedirect?: boolean }>('/sign-in/email', { body: values }),
    onSuccess: async ({ twoFactorRedirect }) => {
      if (twoFactorRedirect === true) onSecond();
      else await forgetEverything();
    },
  });
  return (
    <form onSubmit={form.onSubmit((values) => entering.mutate(values))}>
      <Stack gap="sm">
        <TextInput
          label={signIn.email}
          type="email"
          name="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
          autoFocus
          {...form.getInputProps('email')}
        />
        <PasswordField
          label={signIn.password}
          autoComplete="current-password"
          withAsterisk={false}
          {...form.getInputProps('password')}
        />
        <SignInFailure failure={entering.error} />
        <Button type="submit" fullWidth loading={entering.isPending}>
          {signIn.submit}
        </Button>
      </Stack>
    </form>
  );
}
