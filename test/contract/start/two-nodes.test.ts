// Two nodes on one PostgreSQL: one first start for both, and changes on one take effect on the other.

import { afterAll, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { bounds, readConfig } from '../../../src/config/config.ts';
import type { CheckReport } from '../../../src/ledger/ledger.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { type FollowParts, followChanges } from '../../../src/server/follow-nodes.ts';
import { ChangeFeed } from '../../../src/storage/postgres/postgres.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { cannotStartPostgres, sharedPostgres } from '../../support/start-postgres.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

const closing = new AsyncDisposableStack();
afterAll(() => closing.disposeAsync());

interface Nodes extends AsyncDisposable {
  one: Turnpike;
  other: Turnpike;
  url: string;
  environment: Record<string, string>;
  check(): Promise<CheckReport>;
}

async function startTwo(): Promise<Nodes> {
  const database = await (await sharedPostgres()).newDatabase();
  const environment = { TURNPIKE_DATABASE_URL: database.url, TURNPIKE_SECRET: randomBytes(32).toString('base64') };
  const [one, other] = await Promise.all([
    startTurnpike(undefined, environment),
    startTurnpike(undefined, environment),
  ]);
  return {
    one,
    other,
    url: database.url,
    environment,
    check: () => checkStore(readConfig({}, environment)),
    async [Symbol.asyncDispose]() {
      await Promise.all([one.stop(), other.stop()]);
      await database[Symbol.asyncDispose]();
    },
  };
}

const ECHO = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };
const LONG = { model: 'sandbox-lorem', max_tokens: 4_000, stream: true, messages: [{ role: 'user', content: 'go' }] };

/** Polls until the condition holds: a change reaches the other node after a moment. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const endMs = Date.now() + 10_000; Date.now() < endMs; await Bun.sleep(20)) if (await isSo()) return;
  throw new Error('the condition was not reached in time');
}

test.skipIf(cannotStartPostgres)(
  'two concurrent first starts create one catalog, one account, one key and one link for the first operator',
  async () => {
    await using nodes = await startTwo();
    const { one, other } = nodes;
    expect([one.key, other.key].filter((key) => key !== '')).toHaveLength(1);
    const links = [one, other].filter(({ dataDirectory }) => existsSync(join(dataDirectory, 'first-operator.txt')));
    expect(links).toHaveLength(1);
    for (const path of ['/accounts', '/keys', '/people']) {
      const listed = (await one.admin('GET', path)) as { data?: unknown[]; items?: unknown[] };
      expect(Object.values(listed).filter(Array.isArray)[0]).toHaveLength(1);
    }
    const key = one.key || other.key;
    for (const node of [one, other]) expect((await node.post(key, ECHO)).status).toBe(200);
    expect(await nodes.check()).toMatchObject({ ok: true, faults: [] });
  },
);

test.skipIf(cannotStartPostgres)('a node with another secret does not start beside running nodes', async () => {
  await using nodes = await startTwo();
  const foreign = { ...nodes.environment, TURNPIKE_SECRET: randomBytes(32).toString('base64') };
  await expect(startTurnpike(undefined, foreign)).rejects.toThrow('this is not the secret of the installation');
  const none = { TURNPIKE_DATABASE_URL: nodes.url };
  await expect(startTurnpike(undefined, none)).rejects.toThrow('TURNPIKE_SECRET: must be set');
});

test.skipIf(cannotStartPostgres)('a change on one node takes effect on the other', async () => {
  await using nodes = await startTwo();
  const { one, other } = nodes;
  const caller = await one.makeKey({ groups: ['default', 'sandbox'] });
  expect((await other.post(caller.secret, ECHO)).status).toBe(200); // it is cached there now

  await one.admin('PATCH', `/keys/${caller.key}`, { models: ['sandbox-lorem'] });
  await until(async () => (await other.post(caller.secret, ECHO)).status === 400);
  await one.admin('PATCH', `/keys/${caller.key}`, { models: null });
  await until(async () => (await other.post(caller.secret, ECHO)).status === 200);

  await one.admin('POST', '/apply', {
    document: { models: { twice: echoOf('2') }, settings: { body_bytes_max: 2_048 } },
  });
  const long = { ...ECHO, messages: [{ role: 'user', content: 'x'.repeat(3_000) }] };
  await until(async () => (await other.post(caller.secret, { ...ECHO, model: 'twice' })).status === 200);
  await until(async () => (await other.post(caller.secret, long)).status === 413);

  await one.admin('PATCH', `/accounts/${caller.account}`, { groups: ['sandbox'] });
  await until(async () => (await other.post(caller.secret, { ...ECHO, model: 'twice' })).status === 400);
});

test.skipIf(cannotStartPostgres)(
  'a disabled key is refused on every node at once, and an enabled key is accepted soon',
  async () => {
    await using nodes = await startTwo();
    const { one, other } = nodes;
    const caller = await one.makeKey({ groups: ['sandbox'] });
    for (let round = 0; round < 5; round++) {
      expect((await other.post(caller.secret, ECHO)).status).toBe(200);
      await one.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
      expect((await other.post(caller.secret, ECHO)).status).toBe(401);
      await one.admin('PATCH', `/keys/${caller.key}`, { status: 'enabled' });
      await until(async () => (await other.post(caller.secret, ECHO)).status === 200);
    }
  },
);

test.skipIf(cannotStartPostgres)(
  'credit added on one node can be spent on the other, also after a refusal there',
  async () => {
    await using nodes = await startTwo();
    const { one, other } = nodes;
    const caller = await one.makeKey({ groups: ['sandbox'], credit: '0' });
    expect((await other.post(caller.secret, ECHO)).status).toBe(400);
    await one.admin('POST', `/accounts/${caller.account}/credits`, { amount: '1.00' });
    await until(async () => (await other.post(caller.secret, ECHO)).status === 200);
  },
);

test.skipIf(cannotStartPostgres)('a key that is revoked now ends its streams on every node', async () => {
  await using nodes = await startTwo();
  const { one, other } = nodes;
  const caller = await one.makeKey({ groups: ['sandbox'] });
  const streams = await Promise.all([one, other].map((node) => node.post(caller.secret, LONG)));
  await one.admin('POST', `/keys/${caller.key}/revoke`, { now: true });
  for (const stream of streams) {
    const text = await stream.text();
    expect(text).toContain('event: error');
    expect(text).not.toContain('message_stop');
  }
  await until(async () => (await nodes.check()).open_holds === 0);
});

test.skipIf(cannotStartPostgres)('a node that cannot read changes keeps dropping its caches', async () => {
  const database = await (await sharedPostgres()).newDatabase();
  await using proxy = await startFaultProxy(Number(new URL(database.url).port));
  const notifications: string[] = [];
  const feed = new ChangeFeed(proxy.through(database.url));
  const following = followChanges(notifyingParts(feed, await feed.readEpoch(), notifications));
  await Bun.sleep(2 * bounds.changesPollMs);
  expect(notifications).toEqual([]);
  expect(following.isHearing()).toBe(true);
  proxy.lose(); // the connection is silent, and the socket does not report it
  await until(async () => notifications.length >= 3 && !following.isHearing());
  proxy.heal();
  proxy.cut();
  await until(async () => {
    const before = notifications.length;
    await Bun.sleep(3 * bounds.changesPollMs);
    return notifications.length === before;
  });
  expect(new Set(notifications)).toEqual(new Set(['all']));
  expect(following.isHearing()).toBe(true);
  await following.stop();
  await feed.close();
  await database[Symbol.asyncDispose]();
});

function notifyingParts(feed: ChangeFeed, epoch: number, notifications: string[]): FollowParts {
  return {
    feed,
    epoch,
    forgetKey: (id) => notifications.push(`key ${id}`),
    forgetAccount: (id) => notifications.push(`account ${id}`),
    forgetPerson: (id) => notifications.push(`person ${id}`),
    forgetAll: () => notifications.push('all'),
    cutKey: (id) => notifications.push(`cut ${id}`),
    readCatalog: async () => void notifications.push('catalogue'),
    log: { writeEvent: () => {} },
    onFailure: (failure) => notifications.push(String(failure)),
  };
}

function echoOf(price: string): object {
  return {
    price: { input: price, output: price },
    routes: [{ provider: 'sandbox', model: 'sandbox-echo' }],
  };
}
