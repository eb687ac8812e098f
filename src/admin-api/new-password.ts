// The password that a person chooses with a one-time link.

import { z } from '@hono/zod-openapi';
import { emailKeyOf } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidMember } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

export const passwordField = z
  .string({ error: 'must be a string' })
  .refine((text) => [...text].length >= bounds.passwordCharactersLeast, {
    error: `must have at least ${bounds.passwordCharactersLeast} characters`,
  })
  .refine((text) => [...text].length <= bounds.passwordCharactersMax, {
    error: `must have at most ${bounds.passwordCharactersMax} characters`,
  })
  .refine((text) => text.isWellFormed(), 'must be valid Unicode')
  .openapi({ minLength: bounds.passwordCharactersLeast, maxLength: bounds.passwordCharactersMax, format: 'password' });

/**
 * Only for people with a valid link, before it is used: a check takes up to 0.2 s of the sign-in thread. Throws
 * invalid_request, too_many_failures.
 */
export async function refuseWeakPassword(
  { signIn }: Pick<AdminDependencies, 'signIn'>,
  chosen: { email: string; name: string; password: string },
): Promise<void> {
  const { passwordChecksMax, passwordGuessesWindowMs } = bounds;
  const key = `password:${emailKeyOf(chosen.email)}`;
  const { isAllowed, retryAfterMs } = await signIn.count(key, passwordChecksMax, passwordGuessesWindowMs);
  if (!isAllowed) throw new TurnpikeError('too_many_failures', 'Too many attempts. Try again later.', { retryAfterMs });
  const fault = await signIn.checkPassword(chosen);
  if (fault !== null) throw invalidMember('password', fault);
}
