// Waits for a database that cannot be used yet: a start and a migration wait as long as a setting says.

import { bounds } from '../../config/config.ts';
import { isTemporary } from './failure-words.ts';

/**
 * Repeats `attempt` while it fails because the database cannot be used yet, for at most `waitSeconds`. Calls `onWait` with the first
 * failure. Throws the last one.
 */
export async function awaitDatabase<Value>(
  waitSeconds: number,
  attempt: () => Promise<Value>,
  onWait: (failure: unknown) => void,
): Promise<Value> {
  const untilMs = performance.now() + waitSeconds * 1000;
  for (let tries = 1; ; tries++) {
    try {
      return await attempt();
    } catch (failure) {
      if (performance.now() >= untilMs || !isTemporary(failure)) throw failure;
      if (tries === 1) onWait(failure);
    }
    await Bun.sleep(Math.min(bounds.databaseRestMsMax, bounds.databaseRestMs * tries));
  }
}
