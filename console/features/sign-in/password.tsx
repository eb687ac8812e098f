// The email and password fields, the length rules of passwords, and sign-in failures.

import { Alert, PasswordInput, type PasswordInputProps, TextInput, type TextInputProps } from '@mantine/core';
import { ApiFailure } from '../../api.ts';
import { Icon } from '../../parts/link.tsx';
import { FailureNotice } from '../../parts/page.tsx';
import { signInFailureText } from './failure-text.ts';

export function EmailField(field: TextInputProps) {
  return (
    <TextInput
      label="Email"
      type="email"
      name="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      required
      autoFocus
      {...field}
    />
  );
}

interface PasswordFieldProps extends PasswordInputProps {
  /** For password managers. */
  autoComplete: 'current-password' | 'new-password';
}

export function PasswordField(field: PasswordFieldProps) {
  return (
    <PasswordInput
      name="password"
      required
      visibilityToggleButtonProps={{ 'aria-label': 'Show password' }}
      {...field}
    />
  );
}

const CHARACTERS_MIN = 10;
const CHARACTERS_MAX = 128;

/** Null if the password is acceptable. */
export function passwordFault(password: string): string | null {
  const { length } = [...password];
  if (length < CHARACTERS_MIN) return `must have at least ${CHARACTERS_MIN} characters`;
  return length > CHARACTERS_MAX ? `must have at most ${CHARACTERS_MAX} characters` : null;
}

/** `instead` replaces the message of the service. */
export function SignInFailure({ failure, instead }: { failure: unknown; instead?: string | undefined }) {
  if (!(failure instanceof ApiFailure) || failure.isTemporary) return <FailureNotice failure={failure} />;
  const text = instead ?? signInFailureText(failure);
  return (
    <Alert color="red" icon={<Icon name="warning" />} role="alert">
      {text}
    </Alert>
  );
}
