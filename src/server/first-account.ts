// The account and key of a first start: made last, and shown before they are stored.

import { firstCurl, makeDemoAccount } from '../admin-api/admin-api.ts';
import { type Trail, theService } from '../audit/audit.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import type { Config } from '../config.ts';
import { writeFirstAccount } from '../storage/storage.ts';
import type { OpenStore } from './open-store.ts';
import { localUrl } from './operator-file.ts';
import type { StartOptions } from './server.ts';
import { showOnce } from './show-once.ts';

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
  showOnce(config, options, {
    text: firstCurl(localUrl(url), demo.secret),
    words: 'A first key was made. It is shown this once; try it:',
    file: 'first-key.txt',
    fileWords: 'A first key was made; it and a curl that works are in',
  });
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
