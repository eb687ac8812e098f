// The service under attack: a process of its own on a fresh data directory, with accounts that do not know each other.

import { readdirSync, readFileSync } from 'node:fs';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import type { Secrets } from './draft.ts';

const RICH = '1000000.00';
const BYSTANDERS = 5;
/**
 * A late event loop on a busy machine sheds no load: one that an attacker stops exceeds the bystanders' time limit. A message
 * whose client left ends soon, so that a batch comes to rest.
 */
export const settings = { shed_loop_delay_ms: 10_000, finish_without_caller_seconds: 5 };

export interface Installation extends AsyncDisposable {
  turnpike: TurnpikeProcess;
  port: number;
  attacker: Secrets;
  /** Keys of accounts that behave. */
  bystanders: readonly string[];
  /** May have one message in progress. */
  singleKey: string;
  /** Secrets that no attacker may see. */
  secrets: readonly string[];
}

export async function install(): Promise<Installation> {
  // Attackers come from an address of their own, as if over a proxy, so that `x-forwarded-for` is read.
  const turnpike = await spawnTurnpike(undefined, { TURNPIKE_TRUSTED_PROXIES: '127.0.0.2' });
  try {
    await turnpike.admin('POST', '/apply', { document: { settings } });
    const attacker = await turnpike.makeKey({ name: 'attacker', credit: RICH });
    const { token } = await turnpike.admin('POST', '/tokens', { role: 'owner', account: attacker.account });
    const others = [];
    for (let at = 0; at < BYSTANDERS; at++)
      others.push(await turnpike.makeKey({ name: `bystander ${at}`, credit: RICH }));
    const single = await turnpike.makeKey({ name: 'single', credit: RICH }, { concurrency: 1 });
    const keys = others.map(({ secret }) => secret);
    return {
      turnpike,
      port: Number(new URL(turnpike.url).port),
      attacker: { key: attacker.secret, ownerToken: token as string },
      bystanders: keys,
      singleKey: single.secret,
      secrets: [...keys, single.secret, turnpike.key, ...others.map(({ account }) => account), single.account],
      async [Symbol.asyncDispose]() {
        turnpike.process.kill('SIGKILL'); // a broken service might never finish draining
        await turnpike.stop();
      },
    };
  } catch (failure) {
    await turnpike.stop();
    throw failure;
  }
}

/** Resources of the process; null if it has ended. */
export function readProcess(pid: number): { residentBytes: number; files: number } | null {
  try {
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
    return { residentBytes: kilobytes * 1024, files: readdirSync(`/proc/${pid}/fd`).length };
  } catch {
    return null;
  }
}
