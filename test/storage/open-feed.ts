// A PostgreSQL store of one account and one key, with the feed of its changes.

import type { Account, Key } from '../../src/accounts/accounts.ts';
import type { AuditContext, DecidedAt } from '../../src/audit/audit.ts';
import { type Change, ChangeFeed } from '../../src/storage/postgres/postgres.ts';
import { openWorkbench, type Workbench } from '../money/ledger/workbench.ts';
import { openPostgresLanes } from './open-postgres.ts';

export interface OpenedFeed extends AsyncDisposable {
  bench: Workbench;
  feed: ChangeFeed;
  url: string;
  account: Account;
  key: Key;
  /** Changes since the last call, or since it was opened. */
  heard(): Promise<Change[] | null>;
}

export async function openFeed(balance = 1_000): Promise<OpenedFeed> {
  let url = '';
  const bench = await openWorkbench(async (clock) => {
    const opened = await openPostgresLanes(clock);
    url = opened.url;
    return opened;
  }, balance);
  const feed = new ChangeFeed(url);
  let epoch = await feed.readEpoch();
  const { accounts } = bench.stores;
  return {
    bench,
    feed,
    url,
    account: (await accounts.getAccount(bench.account)) as Account,
    key: (await accounts.getKey(bench.key)) as Key,
    async heard() {
      const since = await feed.readSince(epoch);
      epoch = since?.epoch ?? (await feed.readEpoch());
      return since?.changes ?? null;
    },
    async [Symbol.asyncDispose]() {
      await feed.close();
      await bench[Symbol.asyncDispose]();
    },
  };
}

/** An audit context that holds only the epoch of the decision. */
export function decidedAt(epoch: number, account: DecidedAt['account']): AuditContext {
  return { audit: [], creation: null, since: { epoch, account } };
}
