// Setting up the second factor: the password, then the secret for an app and a code of it, then the backup codes. It is on
// only when a code of the app was right.

import { Button, Center, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { askSignIn } from '../api.ts';
import { BackupCodes } from '../parts/backup-codes.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { PasswordPrompt } from '../parts/password-prompt.tsx';
import { QrCode } from '../parts/qr-code.tsx';
import { SignInFailure } from '../parts/sign-in-failure.tsx';
import { useChange } from '../queries.ts';
import { words } from '../words.ts';

const { profile } = words;

interface Begun {
  totpURI: string;
  backupCodes: string[];
}

export function SecondFactorSetUp({ onDone }: { onDone: () => void }) {
  const [isConfirmed, setConfirmed] = useState(false);
  const beginning = useMutation({
    mutationFn: (password: string) => askSignIn<Begun>('/two-factor/enable', { body: { password } }),
  });
  const begun = beginning.data;
  if (begun === undefined)
    return (
      <PasswordPrompt
        text={profile.secondText}
        submit={profile.continue}
        onSubmit={beginning.mutate}
        isPending={beginning.isPending}
        failure={beginning.error}
      />
    );
  if (isConfirmed) return <BackupCodes codes={begun.backupCodes} onKept={onDone} />;
  return <Confirmation uri={begun.totpURI} onConfirmed={() => setConfirmed(true)} />;
}

function Confirmation({ uri, onConfirmed }: { uri: string; onConfirmed: () => void }) {
  const [code, setCode] = useState('');
  const secret = new URL(uri).searchParams.get('secret') ?? '';
  const confirming = useChange(
    () => askSignIn<unknown>('/two-factor/verify-totp', { body: { code: code.replace(/\s/g, '') } }),
    { done: profile.secondDone, onDone: onConfirmed },
  );
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    confirming.mutate(undefined);
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <Text size="sm">{profile.secondScan}</Text>
        <Center>
          <QrCode text={uri} label={profile.secondPicture} />
        </Center>
        <Stack gap={4}>
          <Text size="xs" c="dimmed">
            {profile.secondSecret}
          </Text>
          <Group gap="xs">
            <Code style={{ overflowWrap: 'anywhere' }} data-testid="totp-secret">
              {secret}
            </Code>
            <CopyButton text={secret} />
          </Group>
        </Stack>
        <TextInput
          label={profile.secondCode}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          name="code"
          inputMode="numeric"
          autoComplete="one-time-code"
          required
          data-autofocus
        />
        <SignInFailure failure={confirming.error} />
        <Group justify="flex-end">
          <Button type="submit" loading={confirming.isPending}>
            {profile.secondConfirm}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
