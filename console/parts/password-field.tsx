// A field for a password, with a button that shows what was typed.

import { PasswordInput, type PasswordInputProps } from '@mantine/core';
import { words } from '../words.ts';

interface PasswordFieldProps extends PasswordInputProps {
  /** What password managers are told: the one that is known, or one to be made. */
  autoComplete: 'current-password' | 'new-password';
}

export function PasswordField(field: PasswordFieldProps) {
  return (
    <PasswordInput
      name="password"
      required
      visibilityToggleButtonProps={{ 'aria-label': words.signIn.showPassword }}
      {...field}
    />
  );
}
