// A form that asks for one's password before something that a session alone may not do.

import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { ApiFailure } from '../api.ts';
import { words } from '../words.ts';
import { PasswordField } from './password-field.tsx';
import { SignInFailure } from './sign-in-failure.tsx';

interface PasswordPromptProps {
  text: string;
  submit: string;
  /** Of the button; the page's accent where absent. */
  color?: string;
  onSubmit: (password: string) => void;
  isPending: boolean;
  failure: unknown;
}

export function PasswordPrompt({ text, submit, color, onSubmit, isPending, failure }: PasswordPromptProps) {
  const [password, setPassword] = useState('');
  const reason = failure instanceof ApiFailure ? failure.reason : null;
  const send = (event: React.FormEvent) => {
    event.preventDefault();
    onSubmit(password);
  };
  return (
    <form onSubmit={send}>
      <Stack gap="sm">
        <Text size="sm">{text}</Text>
        <PasswordField
          label={words.profile.confirmPassword}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          error={reason === 'INVALID_PASSWORD' ? words.profile.passwordWrong : undefined}
          data-autofocus
        />
        {reason !== 'INVALID_PASSWORD' && <SignInFailure failure={failure} />}
        <Group justify="flex-end">
          <Button type="submit" loading={isPending} {...(color !== undefined && { color })}>
            {submit}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
