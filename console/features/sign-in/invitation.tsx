// Accepts a one-time link: an invitation or a password reset. The secret is in the URL fragment, which servers do
// not receive. The page removes it from the address and keeps it in memory.

import { Alert, Card, Divider, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { InvitationShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call, callSignIn } from '../../api.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { usePageTitle, useSignInOptions } from '../../installation.tsx';
import { roleLabels } from '../../labels.ts';
import { useClearSession } from '../../me.tsx';
import { ActionButton, Icon, useGoTo } from '../../parts/link.tsx';
import { FailureNotice, Hint, Loading } from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useGet } from '../../queries.ts';
import { ConsentField } from './consent.tsx';
import { Notice, useLinkSecret } from './link.tsx';
import { EmailField, PasswordField, passwordFault, SignInFailure } from './password.tsx';
import { SingleSignOns } from './show.tsx';

export function InvitationAccept() {
  const secret = useLinkSecret();
  return (
    <Card p="lg">
      {secret === '' ? (
        <Notice
          title="Link missing"
          text="Open the original link again. The console removes the secret from the address bar."
        />
      ) : (
        <OpenedLink secret={secret} />
      )}
    </Card>
  );
}

function OpenedLink({ secret }: { secret: string }) {
  const { data, error, refetch } = useQuery({
    // The query key omits the secret, because developer tools show query keys.
    queryKey: ['invitation'],
    queryFn: ({ signal }) => call('POST /invitations/show', { body: { secret }, signal }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (error instanceof ApiFailure && (error.status === 404 || error.status === 400))
    return (
      <Notice
        title="This link is no longer valid"
        text="The link was used, expired, or was replaced by a newer one. Ask the sender for a new one."
      />
    );
  if (error !== null) return <FailureNotice failure={error} onRetry={() => void refetch()} />;
  return data === undefined ? <Loading /> : <Acceptance secret={secret} shown={data} />;
}

function Acceptance({ secret, shown }: { secret: string; shown: InvitationShape }) {
  const [isAccepted, setAccepted] = useState(false);
  const isRecovery = shown.purpose === 'recovery';
  const title = titleOf(shown);
  usePageTitle(title);
  const { data } = useGet('/sign-in');
  if (isAccepted)
    return <Notice title="Account created" text="Sign in with your email address and your new password." />;
  const [role, account] = [roleLabels[shown.role].toLowerCase(), shown.account?.name ?? null];
  return (
    <Stack gap="md">
      <Stack gap={4}>
        <Title order={1} size="h3">
          {title}
        </Title>
        <Text size="sm">
          {isRecovery
            ? `Your role: ${role} of ${account ?? data?.installation.name ?? 'this installation'}. Continuing removes your second factor and ends all of your sessions. Set up the second factor again afterwards.`
            : `Your role: ${role} of ${account ?? data?.installation.name ?? 'this installation'}.`}
        </Text>
        <Hint size="xs">
          {'Link expires'} <When at={shown.expires_at} />
        </Hint>
      </Stack>
      {data && data.issuers.length > 0 && !isRecovery && shown.email !== null && (
        <>
          <SingleSignOns issuers={data.issuers} />
          <Divider label="or" />
        </>
      )}
      <AcceptForm secret={secret} shown={shown} onAccepted={() => setAccepted(true)} />
    </Stack>
  );
}

function titleOf({ purpose, email }: InvitationShape): string {
  if (purpose === 'recovery') return 'Choose a new password';
  return email === null ? 'Create admin account' : 'You are invited';
}

interface AcceptFormProps {
  secret: string;
  shown: InvitationShape;
  /** Called if the invitation was accepted but sign-in failed. */
  onAccepted: () => void;
}

function AcceptForm({ secret, shown, onAccepted }: AcceptFormProps) {
  const terms = useTermsToAgree(shown);
  const form = useForm({
    initialValues: { email: shown.email ?? '', name: '', password: '', consent: '' },
    validate: { password: passwordFault },
  });
  const accepting = useAcceptance(secret, shown, onAccepted, (faults) => form.setErrors(faults));
  return (
    <form onSubmit={form.onSubmit((values) => accepting.mutate(values))}>
      <Stack gap="sm">
        <EmailField
          description="Used to sign in."
          autoFocus={false}
          readOnly={shown.email !== null}
          {...form.getInputProps('email')}
        />
        <TextInput
          label="Your name"
          description="Shown to other users."
          name="name"
          autoComplete="name"
          required
          {...form.getInputProps('name')}
        />
        <PasswordField
          label="Password"
          description="At least 10 characters. A phrase of several words is easy to remember."
          autoComplete="new-password"
          {...form.getInputProps('password')}
        />
        {terms !== null && (
          <ConsentField
            terms={terms}
            isGiven={form.values.consent === terms.version}
            onChange={(isGiven) => form.setFieldValue('consent', isGiven ? (terms.version ?? '') : '')}
            error={form.errors['consent'] as string | undefined}
          />
        )}
        {accepting.error !== null && fieldFaults(accepting.error, FIELDS) === null && (
          <SignInFailure failure={accepting.error} />
        )}
        <Alert p="xs" icon={<Icon name="shield" />}>
          You can set up a second factor later, under Account security in the user menu.
        </Alert>
        <ActionButton
          label={shown.purpose === 'recovery' ? 'Set password and sign in' : 'Create account and sign in'}
          isPrimary
          type="submit"
          fullWidth
          loading={accepting.isPending}
        />
      </Stack>
    </form>
  );
}

const FIELDS = ['email', 'name', 'password', 'consent'];

/** null: none, or a recovery, after which the user is asked. */
function useTermsToAgree({ purpose }: InvitationShape) {
  const terms = useSignInOptions()?.terms ?? null;
  return terms === null || terms.version === null || purpose === 'recovery' ? null : terms;
}

interface AcceptValues {
  email: string;
  name: string;
  password: string;
  /** The version of the terms; empty: none. */
  consent: string;
}

/** Accepts the invitation, then signs in with the new password. */
function useAcceptance(
  secret: string,
  shown: InvitationShape,
  onAccepted: () => void,
  onFaults: (faults: Record<string, string>) => void,
) {
  const clearSession = useClearSession();
  const goTo = useGoTo();
  return useMutation({
    mutationFn: async ({ email, name, password, consent }: AcceptValues) => {
      const given = { ...(shown.email === null && { email }), ...(consent !== '' && { consent }) };
      const body = { secret, name, password, ...given };
      const accepted = await call('POST /invitations/accept', { body });
      try {
        await callSignIn('POST /sign-in/email', { body: { email: accepted.email, password } });
        return true;
      } catch {
        return false; // the link is used; the sign-in page will show the failure
      }
    },
    onSuccess: async (isSignedIn) => {
      if (!isSignedIn) return onAccepted();
      await clearSession();
      await goTo('/');
    },
    onError: (failure) => onFaults(fieldFaults(failure, FIELDS) ?? {}),
  });
}
