// The second step of signing in: the code of an authenticator app, or a backup code.

import { Anchor, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiFailure, askSignIn } from '../api.ts';
import { useForgetEverything } from '../me.tsx';
import { SignInFailure } from '../parts/sign-in-failure.tsx';
import { words } from '../words.ts';

const { signIn } = words;
/** What better-auth says when the whole sign-in is over, and not this one code wrong. */
const ENDED: readonly (string | null)[] = ['INVALID_TWO_FACTOR_COOKIE', 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE'];

export function SecondFactor({ onStartAgain }: { onStartAgain: () => void }) {
  const [isBackup, setBackup] = useState(false);
  return (
    <Stack gap="md">
      <Title order={1} size="h3">
        {signIn.secondTitle}
      </Title>
      <Text size="sm" c="dimmed">
        {isBackup ? signIn.backupText : signIn.secondText}
      </Text>
      <CodeForm key={String(isBackup)} isBackup={isBackup} onStartAgain={onStartAgain} />
      <Group justify="space-between">
        <Anchor component="button" type="button" size="sm" onClick={() => setBackup(!isBackup)}>
          {isBackup ? signIn.useApp : signIn.useBackup}
        </Anchor>
        <Anchor component="button" type="button" size="sm" onClick={onStartAgain}>
          {signIn.startAgain}
        </Anchor>
      </Group>
    </Stack>
  );
}

function CodeForm({ isBackup, onStartAgain }: { isBackup: boolean; onStartAgain: () => void }) {
  const forgetEverything = useForgetEverything();
  const [code, setCode] = useState('');
  const proving = useMutation({
    mutationFn: () =>
      askSignIn(isBackup ? '/two-factor/verify-backup-code' : '/two-factor/verify-totp', {
        body: { code: isBackup ? code.trim() : code.replace(/\s/g, '') },
      }),
    onSuccess: forgetEverything,
    onError: () => setCode(''),
  });
  const isEnded = proving.error instanceof ApiFailure && ENDED.includes(proving.error.reason);
  const submit = (event: React.FormEvent) => {
    event.preventDefault();
    proving.mutate();
  };
  if (isEnded)
    return (
      <Stack gap="sm">
        <Text role="alert">{signIn.ended}</Text>
        <Button onClick={onStartAgain}>{signIn.startAgain}</Button>
      </Stack>
    );
  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <TextInput
          label={isBackup ? signIn.backupCode : signIn.code}
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
        <SignInFailure failure={proving.error} />
        <Button type="submit" fullWidth loading={proving.isPending} disabled={code.trim() === ''}>
          {signIn.verify}
        </Button>
      </Stack>
    </form>
  );
}
