// Chooses a password with the secret of a mailed link, for a new account or in place of a forgotten one.

import { Stack, Title } from '@mantine/core';
import { useState } from 'react';
import type { TermsShape } from '../../../src/admin-api/shapes.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { usePageTitle } from '../../installation.tsx';
import { ActionButton } from '../../parts/link.tsx';
import { Hint } from '../../parts/page.tsx';
import { ConsentField } from './consent.tsx';
import { isLinkUnknown, Notice, useNewPassword } from './link.tsx';
import { PasswordField, passwordFault, SignInFailure } from './password.tsx';

interface ChoosePasswordProps {
  title: string;
  text: string;
  /** The label of the button. */
  label: string;
  /** Terms to agree to. */
  terms?: TermsShape | null;
  accept: (chosen: { password: string; consent?: string }) => Promise<{ email: string }>;
  /** Shown if another step is needed to sign in. */
  done: { title: string; text: string };
  /** The page that sends a new link. */
  again: string;
}

export function ChoosePassword({ title, text, label, terms = null, accept, done, again }: ChoosePasswordProps) {
  usePageTitle(title);
  const [isDone, setDone] = useState(false);
  const form = useForm({ initialValues: { password: '', consent: '' }, validate: { password: passwordFault } });
  const choosing = useNewPassword(accept, () => setDone(true));
  if (isDone) return <Notice {...done} />;
  const faults = fieldFaults(choosing.error, ['password', 'consent']);
  if (faults === null && isLinkUnknown(choosing.error))
    return (
      <Notice
        title="This link is no longer valid"
        text="The link was used or has expired. Request a new one."
        to={again}
        label="Get a new link"
      />
    );
  return (
    <form
      onSubmit={form.onSubmit(({ password, consent }) =>
        choosing.mutate({ password, ...(consent !== '' && { consent }) }),
      )}
      noValidate
    >
      <Stack gap="md">
        <Stack gap={4}>
          <Title order={1} size="h3">
            {title}
          </Title>
          <Hint>{text}</Hint>
        </Stack>
        <PasswordField
          label="Password"
          description="At least 10 characters. A phrase of several words is easy to remember."
          autoComplete="new-password"
          autoFocus
          {...form.getInputProps('password')}
          error={form.errors['password'] ?? faults?.['password']}
        />
        {terms !== null && terms.version !== null && (
          <ConsentField
            terms={terms}
            isGiven={form.values.consent === terms.version}
            onChange={(isGiven) => form.setFieldValue('consent', isGiven ? (terms.version ?? '') : '')}
            error={faults?.['consent']}
          />
        )}
        {faults === null && <SignInFailure failure={choosing.error} />}
        <ActionButton label={label} isPrimary type="submit" fullWidth loading={choosing.isPending} />
      </Stack>
    </form>
  );
}
