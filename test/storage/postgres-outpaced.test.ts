// Concurrent changes by several nodes: a change that is based on an outdated read is refused and writes nothing.

import { describe, expect, test } from 'bun:test';
import { SQL } from 'bun';
import { type AccessToken, NO_KEY_LIMITS } from '../../src/accounts/accounts.ts';
import type { DecidedAt } from '../../src/audit/audit.ts';
import { bounds } from '../../src/config/config.ts';
import { Outpaced } from '../../src/ledger/ledger.ts';
import { auditRows, spreadCut } from '../../src/storage/account-writes.ts';
import { PostgresGate } from '../../src/storage/postgres/postgres.ts';
import { failureOf, START_MS } from '../money/ledger/workbench.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { cannotStartPostgres, runOn } from '../support/start-postgres.ts';
import { decidedAt, type OpenedFeed, openFeed } from './open-feed.ts';

const accountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
const keyTerms = { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS } as const;
const group = { kind: 'group', name: 'first', origin: 'file', document: {} } as const;
const OTHER = 9;
const tokenOf = (account: number): AccessToken => ({
  id: account,
  accountId: account,
  role: 'owner',
  name: '',
  prefix: 'tk-tp-abcd',
  status: 'enabled',
  expiresAtMs: null,
  madeBy: 'local',
  createdAtMs: START_MS,
});

/** Renames the key, based on a read at that epoch. */
function rename({ bench, key }: OpenedFeed, epoch: number, account: DecidedAt['account'] = key.accountId) {
  return bench.stores.accounts.updateKey({ ...key, name: 'renamed' }, keyTerms, decidedAt(epoch, account));
}

async function nameOf({ bench, key }: OpenedFeed): Promise<string | undefined> {
  return (await bench.stores.accounts.getKey(key.id))?.name;
}

describe.skipIf(cannotStartPostgres)('a change', () => {
  test('is refused if what it is based on has changed, and writes nothing', async () => {
    await using opened = await openFeed();
    const { bench, feed, key, account } = opened;
    const { accounts, catalog, tokens } = bench.stores;
    const token = tokenOf(account.id);
    const others: Record<string, () => Promise<unknown>> = {
      'the key': () => accounts.updateKey(key, keyTerms, noAuditContext),
      'another key of the account': () => accounts.createKey({ ...key, id: OTHER }, 'hash 9', keyTerms, noAuditContext),
      'the key, with a secret': () => accounts.rotateKey(key, 'rotated', START_MS, noAuditContext),
      'the account': () => accounts.updateAccount(account, accountTerms, noAuditContext),
      'the terms of the account': () => bench.setAccount({ creditLine: 1 }),
      'the terms of the key': () => bench.setKey({ quota: 1 }),
      'a token of the account': () => tokens.createToken(token, 'hash of a token', noAuditContext),
      'a token of the installation': () =>
        tokens.createToken({ ...token, id: 3, accountId: null }, 'hash 3', noAuditContext),
      'the catalogue': () => catalog.saveCatalog([group], [], noAuditContext),
    };
    for (const [name, change] of Object.entries(others)) {
      const epoch = await feed.readEpoch();
      await change();
      const after = await feed.readEpoch();
      expect(await failureOf(rename(opened, epoch)), name).toBeInstanceOf(Outpaced);
      expect(await feed.readEpoch()).toBe(after);
      expect(await nameOf(opened)).toBe(key.name);
    }
    await rename(opened, await feed.readEpoch());
    expect(await nameOf(opened)).toBe('renamed');
  });

  test('is applied if only other objects have changed', async () => {
    await using opened = await openFeed();
    const { bench, feed, key, account } = opened;
    const epoch = await feed.readEpoch();
    await bench.stores.accounts.createAccount({ ...account, id: OTHER }, accountTerms, null, noAuditContext);
    await bench.stores.accounts.createKey({ ...key, id: OTHER, accountId: OTHER }, 'hash 9', keyTerms, noAuditContext);
    await bench.stores.tokens.createToken(tokenOf(OTHER), 'hash of a token', noAuditContext);
    await bench.credit(7);
    await spreadCut(bench.stores.gate, key.id);
    await bench.settle(await bench.begin(100), 80);
    await rename(opened, epoch);
    expect(await nameOf(opened)).toBe('renamed');
  });

  test('of the installation is refused for changes to its own objects, and to accounts that it is based on', async () => {
    await using opened = await openFeed();
    const { bench, feed, key } = opened;
    const { accounts, catalog } = bench.stores;
    const save = (epoch: number, account: DecidedAt['account']) =>
      catalog.saveCatalog([group], [], decidedAt(epoch, account));
    const epoch = await feed.readEpoch();
    await bench.credit(7);
    await save(epoch, 'any');
    const second = await feed.readEpoch();
    await accounts.updateKey(key, keyTerms, noAuditContext);
    expect(await failureOf(save(second, 'any'))).toBeInstanceOf(Outpaced);
    await save(second, null);
    expect(await failureOf(save(second, null))).toBeInstanceOf(Outpaced);
  });

  test('is refused if the changes since are no longer known', async () => {
    await using opened = await openFeed();
    const { bench, feed } = opened;
    const epoch = await feed.readEpoch();
    await bench.credit(1);
    bench.clock.advance(bounds.changesKeptMs + 1);
    await bench.credit(1);
    expect(await failureOf(rename(opened, epoch))).toBeInstanceOf(Outpaced);
  });

  test('is refused for changes that commit while it waits', async () => {
    await using opened = await openFeed();
    const { feed, key, url } = opened;
    const epoch = await feed.readEpoch();
    await using other = new SQL({ url, max: 1 });
    const run = (text: string) => other.unsafe(text).simple();
    await run('BEGIN; UPDATE change_epoch SET epoch = epoch + 1');
    const waiting = failureOf(rename(opened, epoch));
    await untilOneWaits(url);
    await run(`INSERT INTO changes VALUES (${epoch + 1}, 'key', ${key.id}, ${key.accountId}, 0); COMMIT`);
    expect(await waiting).toBeInstanceOf(Outpaced);
    expect(await nameOf(opened)).toBe(key.name);
  });

  test('that is refused does not affect the rest of its batch', async () => {
    await using opened = await openFeed();
    const { bench, feed, key } = opened;
    const epoch = await feed.readEpoch();
    await bench.stores.accounts.updateKey(key, keyTerms, noAuditContext);
    const { balance } = await bench.wallet();
    const asked = await Promise.allSettled([bench.credit(1), rename(opened, epoch), bench.credit(2), bench.begin(100)]);
    expect(asked.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(await bench.wallet()).toEqual({ balance: balance + 3, held: 100 });
    expect(await nameOf(opened)).toBe(key.name);
  });

  test('based on the same epoch as another is applied once, in one batch or at two nodes', async () => {
    await using opened = await openFeed();
    const { bench, feed, key, url } = opened;
    await using other = Object.assign(new PostgresGate(url), {
      async [Symbol.asyncDispose]() {
        await other.close();
      },
    });
    for (let round = 0; round < 20; round++) {
      const epoch = await feed.readEpoch();
      const bundle = {
        operations: [],
        coCommitted: [{ table: 'keys', key }, ...auditRows(decidedAt(epoch, key.accountId))],
      };
      const { gate } = bench.stores;
      const asked = await Promise.allSettled([gate, gate, other].map((one) => one.submit(bundle)));
      expect(asked.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const one of asked) if (one.status === 'rejected') expect(one.reason).toBeInstanceOf(Outpaced);
      expect(await feed.readEpoch()).toBe(epoch + 1);
    }
  });

  test('under an idempotency key that another node was first to use is outpaced', async () => {
    await using opened = await openFeed();
    const { bench, account } = opened;
    const creation = {
      principal: 'local',
      idempotencyKey: 'one',
      atMs: START_MS,
      requestHash: 'hash',
      object: 'acct_1',
      secretSealed: null,
    };
    const give = () =>
      bench.stores.gate.submit({
        operations: [
          { kind: 'credit', account: account.id, amount: 5, source: 'payment', reference: null, note: null },
        ],
        coCommitted: auditRows({ audit: [], creation }),
      });
    const { balance } = await bench.wallet();
    await give();
    expect(await failureOf(give())).toBeInstanceOf(Outpaced);
    expect((await bench.wallet()).balance).toBe(balance + 5);
  });
});

async function untilOneWaits(url: string): Promise<void> {
  const waiting = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  while ((await runOn(url, waiting)).length === 0) await Bun.sleep(5);
}
