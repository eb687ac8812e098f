// Changes of who an email, or a subject of an issuer, signs in as. The main thread decides them.

import type { BetterAuth } from './make-auth.ts';
import { endSessions, forgetPassword } from './passwords.ts';

const PASSWORD = 'credential';

/** A former owner of the new email is deleted. The sessions of both end. */
export async function changeEmail(auth: BetterAuth, from: string, to: string): Promise<null> {
  const { internalAdapter } = await auth.$context;
  const email = to.toLowerCase();
  await endSessions(auth, from);
  const other = await internalAdapter.findUserByEmail(email);
  if (other !== null) {
    await forgetPassword(auth, email); // also the second factor, and the sessions
    await internalAdapter.deleteUser(other.user.id);
  }
  const found = await internalAdapter.findUserByEmail(from.toLowerCase());
  if (found !== null) await internalAdapter.updateUser(found.user.id, { email });
  return null;
}

/** The next sign-in with this email is as if it were the first. A password stays. */
export async function forgetIdentity(auth: BetterAuth, email: string): Promise<null> {
  const { internalAdapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email.toLowerCase(), { includeAccounts: true });
  for (const { id, providerId } of found?.accounts ?? [])
    if (providerId !== PASSWORD) await internalAdapter.deleteAccount(id);
  return endSessions(auth, email);
}
