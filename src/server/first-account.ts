// The account and key of a first start: made last, and shown before they are stored.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { firstCurl, makeDemoAccount } from '../admin-api/admin-api.ts';
import { type Trail, theService } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import type { Config } from '../config.ts';
import { writeFirstAccount } from '../storage/storage.ts';
import type { OpenStore } from './open-store.ts';
import { localUrl } from './operator-file.ts';
import type { StartOptions } from './server.ts';

const FIRST_KEY_FILE = 'first-key.txt';

/**
 * The account and key of a first start. They are made last, so that a start that fails leaves the next one
 * still the first, and shown before they are stored, so that no key exists that nobody has seen.
 */
export async function openFirstAccount(
  config: Config,
  options: StartOptions,
  { vault, stores, ledger }: OpenStore,
  clock: Clock,
  url: string,
): Promise<void> {
  if ((await stores.accounts.listAccounts({ after: null, limit: 1 })).length > 0) return;
  const demo = makeDemoAccount(vault, clock.nowMs());
  showFirstKey(config, options, firstCurl(localUrl(url), demo.secret));
  await writeFirstAccount(ledger, demo, demoTrail(demo, clock.nowMs()));
}

function demoTrail({ account, key }: ReturnType<typeof makeDemoAccount>, nowMs: number): Trail {
  const made = (action: string, object: string, name: string) => ({
    atMs: nowMs,
    actor: theService,
    action,
    object,
    account: account.id,
    before: null,
    after: { name },
  });
  const records = [
    made('account.create', formatId('acct', account.id), account.name),
    made('key.create', formatId('key', key.id), key.name),
  ];
  return { audit: records, creation: null };
}

/** The key is shown once: on a terminal, else in a file that only the owner can read. */
function showFirstKey(config: Config, options: StartOptions, curl: string): void {
  if (process.stdout.isTTY) {
    options.print(`A first key was made. It is shown this once; try it:\n\n  ${curl}\n`);
    return;
  }
  const path = join(config.dataDirectory, FIRST_KEY_FILE);
  rmSync(path, { force: true });
  writeFileSync(path, `${curl}\n`, { mode: 0o600, flag: 'wx' });
  options.print(`A first key was made; it and a curl that works are in ${path}`);
}
