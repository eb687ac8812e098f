// A one-time link is opened: who is invited to what, or whose password is set anew. The link's secret stands behind the #
// of the address, which no server sees; it is taken out of the address at once and kept in this page alone.

import { Alert, Button, Card, Divider, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDocumentTitle } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { AcceptedShape, InvitationShape, SignInShape } from '../../src/admin-api/shapes.ts';
import { ApiFailure, ask, askSignIn } from '../api.ts';
import { fieldFaults } from '../form-faults.ts';
import { useForgetEverything } from '../me.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PasswordField } from '../parts/password-field.tsx';
import { SignInFailure } from '../parts/sign-in-failure.tsx';
import { SingleSignOn } from '../parts/single-sign-on.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { When } from '../parts/when.tsx';
import { faultOfPassword } from '../password-rules.ts';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';

const { invitation } = words;

export function InvitationAccept() {
  const secret = useSecretOfAddress();
  return (
    <Card withBorder p="lg">
      {secret === '' ? (
        <Nothing title={invitation.missingTitle} text={invitation.missingText} />
      ) : (
        <Opened secret={secret} />
      )}
    </Card>
  );
}

function useSecretOfAddress(): string {
  const [secret] = useState(() => window.location.hash.slice(1));
  useEffect(() => {
    if (window.location.hash !== '') window.history.replaceState(window.history.state, '', window.location.pathname);
  }, []);
  return secret;
}

function Opened({ secret }: { secret: string }) {
  const { data, error, refetch } = useQuery({
    // The secret is no part of the key: keys of queries are shown by tools for developers.
    queryKey: ['invitation'],
    queryFn: ({ signal }) => ask<InvitationShape>('/invitations/show', { body: { secret }, signal }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error instanceof ApiFailure && (error.status === 404 || error.status === 400))
    return <Nothing title={invitation.goneTitle} text={invitation.goneText} />;
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  return data === undefined ? <Waiting /> : <Acceptance secret={secret} shown={data} />;
}

function Nothing({ title, text }: { title: string; text: string }) {
  useDocumentTitle(`${title} · ${words.product}`);
  return (
    <Stack>
      <Title order={1} size="h3">
        {title}
      </Title>
      <Text size="sm">{text}</Text>
      <Button component={Link} to="/" variant="default">
        {invitation.toSignIn}
      </Button>
    </Stack>
  );
}

function Acceptance({ secret, shown }: { secret: string; shown: InvitationShape }) {
  const [isAccepted, setAccepted] = useState(false);
  const isRecovery = shown.purpose === 'recovery';
  const title = titleOf(shown);
  useDocumentTitle(`${title} · ${words.product}`);
  const { data } = useAsk<SignInShape>('/sign-in');
  if (isAccepted) return <Nothing title={invitation.acceptedTitle} text={invitation.acceptedText} />;
  const [role, account] = [words.roles[shown.role].toLowerCase(), shown.account?.name ?? null];
  return (
    <Stack gap="md">
      <Stack gap={4}>
        <Title order={1} size="h3">
          {title}
        </Title>
        <Text size="sm">{isRecovery ? invitation.recoveryText(role, account) : invitation.text(role, account)}</Text>
        <Text size="xs" c="dimmed">
          {invitation.until} <When at={shown.expires_at} />
        </Text>
      </Stack>
      {data?.oidc && !isRecovery && shown.email !== null && (
        <>
          <SingleSignOn name={data.oidc.name} />
          <Divider label={words.signIn.or} />
        </>
      )}
      <AcceptForm secret={secret} shown={shown} onAccepted={() => setAccepted(true)} />
    </Stack>
  );
}

function titleOf({ purpose, email }: InvitationShape): string {
  if (purpose === 'recovery') return invitation.recoveryTitle;
  return email === null ? invitation.firstTitle : invitation.title;
}

interface AcceptFormProps {
  secret: string;
  shown: InvitationShape;
  /** Accepted, but not signed in. */
  onAccepted: () => void;
}

function AcceptForm({ secret, shown, onAccepted }: AcceptFormProps) {
  const form = useForm({
    initialValues: { email: shown.email ?? '', name: '', password: '' },
    validate: { password: faultOfPassword },
  });
  const accepting = useAcceptance(secret, shown, onAccepted, (faults) => form.setErrors(faults));
  return (
    <form onSubmit={form.onSubmit((values) => accepting.mutate(values))}>
      <Stack gap="sm">
        <TextInput
          label={invitation.email}
          description={invitation.emailHint}
          type="email"
          name="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          readOnly={shown.email !== null}
          {...form.getInputProps('email')}
        />
        <TextInput
          label={invitation.name}
          description={invitation.nameHint}
          name="name"
          autoComplete="name"
          required
          {...form.getInputProps('name')}
        />
        <PasswordField
          label={invitation.password}
          description={invitation.passwordHint}
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
        {accepting.error !== null && fieldFaults(accepting.error, ['email', 'name', 'password']) === null && (
          <SignInFailure failure={accepting.error} />
        )}
        <Alert variant="light" p="xs" icon={<Icon name="shield" />}>
          {invitation.secondHint}
        </Alert>
        <Button type="submit" fullWidth loading={accepting.isPending}>
          {shown.purpose === 'recovery' ? invitation.recover : invitation.accept}
        </Button>
      </Stack>
    </form>
  );
}

interface Given {
  email: string;
  name: string;
  password: string;
}

/** Accepts, then signs in by what was just chosen. The page for whoever is accepted but not let in says where to go. */
function useAcceptance(
  secret: string,
  shown: InvitationShape,
  onAccepted: () => void,
  onFaults: (faults: Record<string, string>) => void,
) {
  const forgetEverything = useForgetEverything();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: async ({ email, name, password }: Given) => {
      const body = { secret, name, password, ...(shown.email === null && { email }) };
      const accepted = await ask<AcceptedShape>('/invitations/accept', { body });
      try {
        await askSignIn('/sign-in/email', { body: { email: accepted.email, password } });
        return true;
      } catch {
        return false; // the link is used up all the same: the sign-in will say what is wrong
      }
    },
    onSuccess: async (isSignedIn) => {
      if (!isSignedIn) return onAccepted();
      await forgetEverything();
      await navigate({ to: '/' });
    },
    onError: (failure) => onFaults(fieldFaults(failure, ['email', 'name', 'password']) ?? {}),
  });
}
