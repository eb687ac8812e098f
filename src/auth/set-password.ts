// What the main thread does to somebody's proofs: a password is set by who has their one-time link, sessions are ended with a person's rights.

import { bounds } from '../config.ts';
import type { NewPassword } from '../sign-in/sign-in.ts';
import type { PasswordHashing } from './hash-password.ts';
import type { BetterAuth } from './make-auth.ts';

const PASSWORD = 'credential';

/** Makes the user or replaces the password. Ends every session, and removes the second factor. */
export async function setPassword(auth: BetterAuth, hashing: PasswordHashing, person: NewPassword): Promise<null> {
  const email = person.email.toLowerCase();
  const { password, name } = person;
  const { length } = [...password];
  if (length < bounds.passwordCharactersLeast || length > bounds.passwordCharactersMax)
    throw new Error('the password is too short or too long');
  const hash = await hashing.hash(password);
  const { internalAdapter, adapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email, { includeAccounts: true });
  if (found === null) {
    const now = new Date();
    const user = { email, name, emailVerified: true, createdAt: now, updatedAt: now };
    const { id } = await adapter.create<Record<string, unknown>, { id: string }>({ model: 'user', data: user });
    await internalAdapter.linkAccount({ userId: id, providerId: PASSWORD, accountId: id, password: hash });
    return null;
  }
  const { user, accounts } = found;
  // In this order: were it to end midway, nobody would be in who had not shown what is now asked for.
  await internalAdapter.deleteUserSessions(user.id);
  const kept = accounts.find(({ providerId }) => providerId === PASSWORD);
  if (kept) await internalAdapter.updateAccount(kept.id, { password: hash });
  else await internalAdapter.linkAccount({ userId: user.id, providerId: PASSWORD, accountId: user.id, password: hash });
  await internalAdapter.updateUser(user.id, { name, twoFactorEnabled: false });
  await adapter.deleteMany({ model: 'twoFactor', where: [{ field: 'userId', value: user.id }] });
  // A challenge for the second factor that is under way began with the former password.
  await adapter.deleteMany({ model: 'verification', where: [{ field: 'value', value: user.id }] });
  await internalAdapter.deleteUserSessions(user.id);
  return null;
}

/** Null where there is no such user, or none with a password. */
export async function findPasswordHash(auth: BetterAuth, email: string): Promise<string | null> {
  const { internalAdapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email, { includeAccounts: true });
  return found?.accounts.find(({ providerId }) => providerId === PASSWORD)?.password ?? null;
}

export async function endSessions(auth: BetterAuth, email: string): Promise<null> {
  const { internalAdapter, adapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email.toLowerCase());
  if (found === null) return null;
  await adapter.deleteMany({ model: 'verification', where: [{ field: 'value', value: found.user.id }] });
  await internalAdapter.deleteUserSessions(found.user.id);
  return null;
}

/** Who has this e-mail from now on is somebody who never set that password. */
export async function forgetPassword(auth: BetterAuth, email: string): Promise<null> {
  const { internalAdapter, adapter } = await auth.$context;
  const found = await internalAdapter.findUserByEmail(email.toLowerCase(), { includeAccounts: true });
  if (found === null) return null;
  const { user, accounts } = found;
  for (const { id, providerId } of accounts) if (providerId === PASSWORD) await internalAdapter.deleteAccount(id);
  await internalAdapter.updateUser(user.id, { twoFactorEnabled: false });
  await adapter.deleteMany({ model: 'twoFactor', where: [{ field: 'userId', value: user.id }] });
  return endSessions(auth, email);
}
