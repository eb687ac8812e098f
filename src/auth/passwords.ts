// Passwords: hashed a few at a time, because each takes memory and CPU on purpose and a flood must not exhaust them;
// set by a one-time link, and removed with a person's rights, which ends their sessions.

import { FairQueue } from '../base/fair-queue.ts';
import { bounds, type PasswordCost } from '../config/config.ts';
import type { NewPassword } from '../sign-in/sign-in.ts';
import type { BetterAuth } from './make-auth.ts';
import { findPasswordFault } from './password-strength.ts';

/** Keyboards send an accented letter as one character or as two. */
function asTyped(password: string): string {
  return password.normalize('NFC');
}

/** Too many passwords wait to be hashed. */
export class HashingCrowded extends Error {
  override name = 'HashingCrowded';
}

export class PasswordHashing {
  readonly #cost: PasswordCost;
  readonly #queue: FairQueue<null>;

  constructor(
    cost: PasswordCost,
    atOnce: number = bounds.passwordsHashedAtOnce,
    waitingMax: number = bounds.passwordsWaitingMax,
  ) {
    this.#cost = cost;
    const tasks = atOnce + waitingMax;
    const crowded = () => new HashingCrowded('too many passwords are waiting to be hashed');
    this.#queue = new FairQueue({ running: atOnce, runningPerOwner: atOnce, tasks, tasksPerOwner: tasks }, crowded);
  }

  /** Costs the same as `verify`. Throws HashingCrowded. */
  async hash(password: string): Promise<string> {
    const { memoryKib: memoryCost, rounds: timeCost } = this.#cost;
    using _slot = await this.#queue.enter(null);
    return await Bun.password.hash(asTyped(password), { algorithm: 'argon2id', memoryCost, timeCost }); // outside of this thread
  }

  /** Throws HashingCrowded. */
  async verify(password: string, hash: string): Promise<boolean> {
    using _slot = await this.#queue.enter(null);
    return await Bun.password.verify(asTyped(password), hash);
  }
}

const PASSWORD = 'credential';

/** Creates the user or replaces the password. Ends every session, and removes the second factor unless it is kept. */
export async function setPassword(auth: BetterAuth, hashing: PasswordHashing, person: NewPassword): Promise<null> {
  const email = person.email.toLowerCase();
  const { password, name, keepsSecondFactor = false } = person;
  const { length } = [...password];
  if (length < bounds.passwordCharactersLeast || length > bounds.passwordCharactersMax)
    throw new Error('the password is too short or too long');
  const fault = await findPasswordFault(person);
  if (fault !== null) throw new Error(`the password ${fault}`); // the caller checks first
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
  // In this order: after a partial failure, no session is left that was opened with the former credentials.
  await internalAdapter.deleteUserSessions(user.id);
  const kept = accounts.find(({ providerId }) => providerId === PASSWORD);
  if (kept) await internalAdapter.updateAccount(kept.id, { password: hash });
  else await internalAdapter.linkAccount({ userId: user.id, providerId: PASSWORD, accountId: user.id, password: hash });
  await internalAdapter.updateUser(user.id, keepsSecondFactor ? { name } : { name, twoFactorEnabled: false });
  if (!keepsSecondFactor)
    await adapter.deleteMany({ model: 'twoFactor', where: [{ field: 'userId', value: user.id }] });
  // A pending second-factor challenge began with the former password.
  await adapter.deleteMany({ model: 'verification', where: [{ field: 'value', value: user.id }] });
  await internalAdapter.deleteUserSessions(user.id);
  return null;
}

/** null without such a user, or without a password. */
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

/** The email now belongs to a person who never set that password. */
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
