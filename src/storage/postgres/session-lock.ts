// Locks of the whole installation, for what one node at a time does: each is a session's of its own, so that it ends with the
// process that has it. What is exact never depends on them.

import { machineTimers, within } from '../../base/timers.ts';
import { bounds } from '../../config.ts';
import { openClient } from './read-pool.ts';

/** The first start and whatever else prepares an installation; the hourly dropping of old rows; the making of sign-in's tables. */
const numbers = { start: 3, retention: 4, 'sign-in': 5 } as const;

export type LockName = keyof typeof numbers;

export interface SessionLock extends AsyncDisposable {}

/** Waits for the lock, bounded. Throws where it cannot be had. */
export async function takeLock(url: string, name: LockName): Promise<SessionLock> {
  const text = `SELECT true AS had FROM pg_advisory_lock(7416, ${numbers[name]})`;
  return (await lock(url, text, bounds.startWaitMsMax)) as SessionLock;
}

/** The lock, or null where another has it. Throws where the database cannot be asked. */
export function tryLock(url: string, name: LockName): Promise<SessionLock | null> {
  return lock(url, `SELECT pg_try_advisory_lock(7416, ${numbers[name]}) AS had`, bounds.readStatementMsMax);
}

/** A server that says nothing is given up a little later than it should have. */
async function lock(url: string, text: string, waitMsMax: number): Promise<SessionLock | null> {
  const client = openClient(url, { application_name: 'turnpike lock', lock_timeout: waitMsMax });
  const close = () => client.close({ timeout: 0 });
  const silent = () => new Error('the database does not answer');
  const inTime = <Value>(answer: Promise<Value>) =>
    within(machineTimers, waitMsMax + bounds.storeSilenceMsMax, answer, silent);
  try {
    const session = await inTime(client.reserve());
    const [row] = (await inTime(session.unsafe(text) as Promise<unknown>)) as { had: boolean }[];
    // Together with the session: one that nobody holds on to may be collected, and its transaction with it.
    if (row?.had === true) return Object.assign({ session }, { [Symbol.asyncDispose]: close });
  } catch (failure) {
    await close();
    throw failure;
  }
  await close();
  return null;
}
