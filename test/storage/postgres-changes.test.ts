// Changes that nodes are notified of: exactly the objects that nodes cache, once, in the order of commits.

import { describe, expect, test } from 'bun:test';
import { NO_KEY_LIMITS } from '../../src/accounts/accounts.ts';
import { bounds } from '../../src/config/config.ts';
import { spreadCut } from '../../src/storage/account-writes.ts';
import { ChangeFeed, PostgresGate, postgresStores } from '../../src/storage/postgres/postgres.ts';
import { failureOf, START_MS } from '../money/ledger/workbench.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { cannotStartPostgres, runOn, sharedPostgres, startPostgres } from '../support/start-postgres.ts';
import { type OpenedFeed, openFeed } from './open-feed.ts';

const accountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
const keyTerms = { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS } as const;
const group = { kind: 'group', name: 'first', origin: 'file', document: {} } as const;
const person = {
  id: 6,
  accountId: null,
  role: 'viewer',
  email: 'ada@example.com',
  name: '',
  status: 'invited',
  linkExpiresAtMs: START_MS,
  madeBy: 'local',
  createdAtMs: START_MS,
} as const;
const token = {
  id: 5,
  accountId: null,
  role: 'viewer',
  name: '',
  prefix: 'tk-tp-abcd',
  status: 'enabled',
  expiresAtMs: null,
  madeBy: 'local',
  createdAtMs: START_MS,
} as const;

describe.skipIf(cannotStartPostgres)('nodes are notified', () => {
  test('of each change to what they cache, and of nothing else', async () => {
    await using opened = await openFeed();
    const { bench, account, key, heard } = opened;
    const { accounts, catalog, gate, people, tokens } = bench.stores;
    await accounts.updateAccount(account, accountTerms, noAuditContext);
    expect(await heard()).toEqual([{ kind: 'account', id: account.id }]);
    await accounts.createAccount({ ...account, id: 9 }, accountTerms, null, noAuditContext);
    expect(await heard()).toEqual([{ kind: 'account', id: 9 }]);
    await accounts.updateKey(key, keyTerms, noAuditContext);
    expect(await heard()).toEqual([{ kind: 'key', id: key.id }]);
    await accounts.createKey({ ...key, id: 9 }, 'hash 9', keyTerms, noAuditContext);
    expect(await heard()).toEqual([{ kind: 'key', id: 9 }]);
    await accounts.rotateKey(key, 'rotated', START_MS, noAuditContext);
    expect(await heard()).toEqual([{ kind: 'key', id: key.id }]);
    await bench.setAccount({ creditLine: 5 });
    expect(await heard()).toEqual([{ kind: 'account', id: account.id }]);
    await bench.setKey({ quota: 900 });
    expect(await heard()).toEqual([{ kind: 'key', id: key.id }]);
    await bench.credit(7, { reference: 'seven' });
    expect(await heard()).toEqual([{ kind: 'account', id: account.id }]);
    const requestId = await bench.begin(100);
    await bench.settle(requestId, 80);
    expect(await heard()).toEqual([]);
    await bench.ask({ kind: 'refund', requestId, amount: 30, note: null });
    expect(await heard()).toEqual([{ kind: 'account', id: account.id }]);
    await catalog.saveCatalog([group, { ...group, name: 'second' }], [], noAuditContext);
    expect(await heard()).toEqual([{ kind: 'catalog' }]);
    await catalog.saveCatalog([], [group], noAuditContext);
    expect(await heard()).toEqual([{ kind: 'catalog' }]);
    await spreadCut(gate, key.id);
    expect(await heard()).toEqual([{ kind: 'cut', id: key.id }]);
    await tokens.createToken(token, 'hash of a token', noAuditContext);
    expect(await heard()).toEqual([]);
    await people.createPerson(person, 'hash of a link', noAuditContext);
    expect(await heard()).toEqual([{ kind: 'person', id: person.id }]);
  });

  test('of nothing that messages, refusals or the estimator do', async () => {
    await using opened = await openFeed();
    const { bench, feed } = opened;
    await bench.credit(1, { reference: 'once' });
    await bench.setAccount({ creditLine: 900 });
    await bench.credit(-1_300);
    const before = await feed.readEpoch();
    const [settled, released] = [await bench.begin(100), await bench.begin(100)];
    await bench.extend(settled, 120);
    await bench.ask({ kind: 'leave', requestId: settled });
    await bench.settle(settled, 80);
    await bench.release(released);
    const { kind: _, requestId, amount, draft, owner, ...take } = bench.admission(1);
    await bench.ask({ ...take, kind: 'take' });
    await bench.takeLease('node-1');
    await bench.ask({ kind: 'expire' });
    await bench.credit(1, { reference: 'once' });
    await bench.credit(-5_000);
    expect(await bench.setAccount({ creditLine: 0 })).toMatchObject({ ok: false });
    const { samples, tokens, installation } = bench.stores;
    await samples.saveSamples([['sandbox-echo', {} as never]]);
    await installation.writeInstallation('name', 'value');
    expect(await feed.readEpoch()).toBe(before);
    expect(await feed.readSince(before)).toEqual({ epoch: before, changes: [] });
    await tokens.createToken(token, 'hash of a token', noAuditContext);
    expect(await feed.readEpoch()).toBe(before + 1);
  });

  test('of what the bundles of one batch changed, each object once, at one epoch', async () => {
    await using opened = await openFeed();
    const { bench, feed, account, key } = opened;
    const before = await feed.readEpoch();
    const { gate } = bench.stores;
    const credit = { kind: 'credit', account: account.id, amount: 1, source: 'payment' } as const;
    const bundle = { operations: [credit, credit].map((one) => ({ ...one, reference: null, note: null })) };
    await Promise.all([gate.submit(bundle), gate.submit(bundle)]);
    await Promise.all([spreadCut(gate, key.id), spreadCut(gate, key.id), spreadCut(gate, 9)]);
    expect(await feed.readSince(before)).toEqual({
      epoch: before + 2,
      changes: [
        { kind: 'account', id: account.id },
        { kind: 'cut', id: 9 },
        { kind: 'cut', id: key.id },
      ],
    });
  });

  test('of no refused change in the same batch', async () => {
    await using opened = await openFeed();
    const { bench, account, heard } = opened;
    const { accounts, gate } = bench.stores;
    const id = 2_000;
    await accounts.createAccount({ ...account, id }, { ...accountTerms, creditLine: 900 }, null, noAuditContext);
    await bench.credit(-500, { account: id });
    await heard();
    const asked = await Promise.all([
      bench.ask({ kind: 'set-account', account: id, terms: accountTerms }),
      bench.ask({ kind: 'set-key', key: 7, account: 2 * id, terms: keyTerms }),
      spreadCut(gate, 7),
    ]);
    expect(asked).toMatchObject([{ ok: false }, { ok: false }, undefined]);
    expect(await heard()).toEqual([{ kind: 'cut', id: 7 }]);
  });

  test('that they missed too much after an hour, and of all changes until then', async () => {
    await using opened = await openFeed();
    const { bench, feed, url, account, key } = opened;
    const before = await feed.readEpoch();
    await bench.credit(1);
    bench.clock.advance(bounds.changesKeptMs);
    await spreadCut(bench.stores.gate, key.id);
    const told = [
      { kind: 'account', id: account.id },
      { kind: 'cut', id: key.id },
    ] as const;
    expect(await feed.readSince(before)).toEqual({ epoch: before + 2, changes: [...told] });
    bench.clock.advance(1);
    await bench.credit(1);
    expect(await feed.readSince(before)).toBeNull();
    expect(await runOn(url, `SELECT epoch FROM changes WHERE epoch <= ${before + 1}`)).toEqual([]);
    expect(await feed.readSince(before + 1)).toEqual({ epoch: before + 3, changes: [told[1], told[0]] });
  });

  test('that the store was replaced by an older one', async () => {
    await using opened = await openFeed();
    const epoch = await opened.feed.readEpoch();
    expect(await opened.feed.readSince(epoch + 1)).toBeNull();
  });

  test('of many changes in pieces that never split a bundle', async () => {
    await using opened = await openFeed();
    const { feed, url } = opened;
    const before = await feed.readEpoch();
    const half = Math.ceil(bounds.pageItemsMax / 2);
    await runOn(
      url,
      `INSERT INTO changes SELECT ${before} + n, kind, 7, NULL, 0 FROM generate_series(1, ${half}) n, unnest('{cut,key,credit}'::text[]) kind;
       UPDATE change_epoch SET epoch = ${before + half + 4}`,
    );
    const first = await feed.readSince(before);
    const epochs = Math.ceil(bounds.pageItemsMax / 3);
    expect(first).toMatchObject({ epoch: before + epochs, changes: { length: epochs * 3 } });
    const second = await feed.readSince(before + epochs);
    expect(second).toMatchObject({ epoch: before + half + 4, changes: { length: (half - epochs) * 3 } });
  });
});

describe.skipIf(cannotStartPostgres)('changes by many concurrent writers', () => {
  const WRITERS = 240;
  const CHANGES_EACH = 4;

  test('reach a polling reader once each, and not before they can be read', async () => {
    await using opened = await openFeed();
    const { bench, feed, url, account } = opened;
    const gates = Array.from({ length: 12 }, () => new PostgresGate(url)); // Small batches, so that there are many.
    const stores = gates.map((gate) => postgresStores(url, gate));
    const begun = await feed.readEpoch();
    const write = async (writer: number) => {
      const { accounts, gate } = stores[writer % stores.length] as (typeof stores)[number];
      for (let change = 0; change < CHANGES_EACH; change++) {
        const id = 1_000 + writer * CHANGES_EACH + change;
        await Bun.sleep(Math.random() * 20);
        if (writer % 4 === 0) await spreadCut(gate, id);
        else await accounts.createAccount({ ...account, id }, accountTerms, null, noAuditContext);
      }
    };
    let isWriting = true;
    const following = follow(opened, begun, () => isWriting);
    await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(writer)));
    isWriting = false;
    const heard = await following;
    const written = Array.from({ length: WRITERS * CHANGES_EACH }, (_, at) => {
      const isCut = Math.floor(at / CHANGES_EACH) % 4 === 0;
      return `${isCut ? 'cut' : 'account'} ${1_000 + at}`;
    });
    expect(heard.toSorted()).toEqual(written.toSorted());
    expect(await listFrom(feed, begun)).toEqual(heard);
    expect((await feed.readEpoch()) - begun).toBeGreaterThan(50); // Makes sure that a wrong order was possible.
    await Promise.all([...gates.map((gate) => gate.close()), ...stores.map((one) => one.close())]);
    expect(await bench.stores.accounts.listAccounts({ after: null, limit: 1_000 })).toHaveLength(
      1 + (WRITERS * 3 * CHANGES_EACH) / 4,
    );
  });
});

/** Changes read while others write, and once more at the end. */
async function follow({ feed, bench }: OpenedFeed, begun: number, isWriting: () => boolean): Promise<string[]> {
  const heard: string[] = [];
  for (let epoch = begun; ; ) {
    const isLast = !isWriting();
    const since = await feed.readSince(epoch);
    if (since === null) throw new Error('it cannot be told');
    heard.push(...since.changes.map((change) => ('id' in change ? `${change.kind} ${change.id}` : change.kind)));
    const made = since.changes.findLast((change) => change.kind === 'account');
    if (made !== undefined) expect(await bench.stores.accounts.getAccount(made.id)).not.toBeNull();
    epoch = since.epoch;
    if (isLast) return heard;
  }
}

/** All changes after an epoch, in however many pieces. */
async function listFrom(feed: ChangeFeed, begun: number): Promise<string[]> {
  const told: string[] = [];
  for (let epoch = begun; ; ) {
    const since = await feed.readSince(epoch);
    if (since === null || since.epoch === epoch) return told;
    told.push(...since.changes.map((change) => ('id' in change ? `${change.kind} ${change.id}` : change.kind)));
    epoch = since.epoch;
  }
}

describe.skipIf(cannotStartPostgres)('a feed whose connection is lost', () => {
  test('reconnects', async () => {
    await using opened = await openFeed();
    const before = await opened.feed.readEpoch();
    const others = `SELECT pg_terminate_backend(pid, 3000) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'turnpike reads'`;
    await runOn(opened.url, others);
    expect(await opened.feed.readEpoch()).toBe(before);
  });

  test('reports that the store is unavailable, and continues when it recovers', async () => {
    const server = await startPostgres({ fsync: 'off' });
    try {
      await using database = await server.newDatabase();
      const feed = new ChangeFeed(database.url);
      expect(await feed.readSince(0)).toEqual({ epoch: 0, changes: [] });
      await server.stop();
      expect(await failureOf(feed.readEpoch())).toMatchObject({ code: 'store_unavailable' });
      expect(await failureOf(feed.readSince(0))).toMatchObject({ code: 'store_unavailable' });
      await server.start();
      expect(await feed.readEpoch()).toBe(0);
      await feed.close();
    } finally {
      await server.remove();
    }
  });

  test('sends nothing after it is closed', async () => {
    const { url } = await sharedPostgres();
    const feed = new ChangeFeed(url);
    await feed.close();
    expect(await failureOf(feed.readEpoch())).toMatchObject({ code: 'store_unavailable' });
  });
});
