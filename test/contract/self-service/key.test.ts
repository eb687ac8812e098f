// GET /v1/key: a developer sees the limits of the key, what remains of them and when they refill, exactly as the next
// message would find them.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { parseUsd } from '../../../src/base/money.ts';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import {
  bodyOf,
  type Caller,
  expectError,
  expectHeadersOfAll,
  type Json,
  sharedWorld,
} from '../post-messages/world.ts';

const world = await sharedWorld({
  groups: {
    default: { models: ['*'] },
    vip: { models: ['paired'], multiplier: '0.8', rpm: 60, output_tpm: 6_000, concurrency: 5 },
  },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

interface Limit {
  meter: string;
  scope: string;
  group: string | null;
  limit: number;
  remaining: number;
  resets_at: string | null;
  retry_at: string | null;
}

interface OwnKey extends Json {
  spendable: string;
  balance: { available: string };
  quota: Json;
  allowance: Json;
  limits: Limit[];
}

const ask = (secret: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(`${world.url}/v1/key`, { method, headers: { 'x-api-key': secret, ...headers } });

async function readKey(secret: string): Promise<OwnKey> {
  const response = await ask(secret);
  expect(response.status).toBe(200);
  expectHeadersOfAll(response);
  return (await response.json()) as OwnKey;
}

const nano = (amount: unknown) => parseUsd(String(amount)) ?? Number.NaN;
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** A provider that responds when `answer` is called. */
function paused(): { script: Script; answer(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    script: async (answer, request) => {
      await promise;
      await scripts.good()(answer, request);
    },
    answer: resolve,
  };
}

/** Posts a message whose provider waits; resolves once the provider has received it. */
async function beginMessage({ secret }: Caller, members: Json = {}) {
  const provider = paused();
  world.upstream.play(provider.script);
  const before = world.upstream.requests.length;
  const response = world.post(secret, bodyOf(members));
  while (world.upstream.requests.length === before) await Bun.sleep(5);
  return {
    async end() {
      provider.answer();
      await (await response).text();
    },
  };
}

test('a new key shows its identity, its limits and groups, and no usage', async () => {
  const caller = await world.makeKey(
    { name: 'Acme, the slow payers', groups: ['default', 'vip'], allowance: '5.00', allowance_period: 'month' },
    {
      name: 'ci',
      groups: ['vip', 'default'],
      models: ['pla*', 'paired'],
      quota: '1.50',
      quota_period: 'day',
      expires_at: '2040-01-31T00:00:00Z',
    },
  );
  const day = new Date();
  day.setUTCHours(24, 0, 0, 0);
  const key = await readKey(caller.secret);
  expect(key).toEqual({
    id: caller.key,
    name: 'ci',
    prefix: caller.secret.slice(0, 10),
    status: 'enabled',
    created_at: expect.stringMatching(ISO_TIME),
    expires_at: '2040-01-31T00:00:00.000Z',
    secret_expires_at: null,
    account: { id: caller.account },
    person: null,
    groups: ['vip', 'default'],
    models: ['pla*', 'paired'],
    spendable: '1.50',
    balance: { available: '10.00' },
    plan: null,
    quota: {
      limit: '1.50',
      used: '0',
      held: '0',
      remaining: '1.50',
      period: 'day',
      resets_at: day.toISOString(),
    },
    allowance: {
      limit: '5.00',
      used: '0',
      held: '0',
      remaining: '5.00',
      period: 'month',
      resets_at: new Date(Date.UTC(day.getUTCFullYear(), new Date().getUTCMonth() + 1, 1)).toISOString(),
    },
    allowances_above: [],
    budgets: [],
    limits: [
      ['requests', 60],
      ['output_tokens', 6_000],
      ['concurrency', 5],
    ].map(([meter, limit]) => ({
      meter,
      scope: 'account',
      group: 'vip',
      limit,
      remaining: limit,
      resets_at: meter === 'concurrency' ? null : expect.stringMatching(ISO_TIME),
      retry_at: null,
    })),
    last_used_at: null,
  } as unknown as OwnKey);
});

test('a key without limits of its own shows that it has none', async () => {
  const { secret } = await world.makeKey();
  expect(await readKey(secret)).toMatchObject({
    models: null,
    quota: null,
    allowance: null,
    limits: [],
    spendable: '10.00',
    expires_at: null,
  });
});

test('after a message the balance, the allowance and the quota are reduced by exactly its cost', async () => {
  const { secret } = await world.makeKey(
    { allowance: '5.00', allowance_period: 'week' },
    { quota: '1.00', quota_period: 'total' },
  );
  const before = await readKey(secret);
  const response = await world.post(secret, bodyOf());
  const after = await readKey(secret);
  const usage = await fetch(`${world.url}/v1/usage/${response.headers.get('request-id')}`, {
    headers: { 'x-api-key': secret },
  });
  const cost = nano(((await usage.json()) as Json)['cost']);
  expect(cost).toBe(255_000);
  expect(nano(before.balance.available) - nano(after.balance.available)).toBe(cost);
  expect(after.quota).toMatchObject({ used: '0.000255', held: '0', remaining: '0.999745', resets_at: null });
  expect(after.allowance).toMatchObject({ used: '0.000255', held: '0', remaining: '4.999745' });
  expect(new Date(String(after.allowance['resets_at'])).getUTCDay()).toBe(1);
  expect(after.spendable).toBe('0.999745');
  expect(Date.now() - Date.parse(String(after['last_used_at']))).toBeWithin(-1_000, 30_000);
});

test('money held by running messages is not available, and is available again when they end', async () => {
  const caller = await world.makeKey(
    { allowance: '5.00', allowance_period: 'day' },
    { quota: '1.00', quota_period: 'day', concurrency: 2 },
  );
  const message = await beginMessage(caller, { max_tokens: 20_000 });
  const during = await readKey(caller.secret);
  const heldNano = nano(during.quota['held']);
  expect(heldNano).toBeGreaterThan(300_000_000); // 20,000 × 15 millionths, plus the input
  expect(during.quota).toMatchObject({ used: '0' });
  expect(nano(during.quota['remaining'])).toBe(1_000_000_000 - heldNano);
  expect(nano(during.allowance['remaining'])).toBe(5_000_000_000 - heldNano);
  expect(nano(during.balance.available)).toBe(10_000_000_000 - heldNano);
  expect(during.limits).toMatchObject([{ meter: 'concurrency', scope: 'key', group: null, limit: 2, remaining: 1 }]);
  await message.end();
  const after = await readKey(caller.secret);
  expect(after.quota).toMatchObject({ held: '0', remaining: '0.999745' });
  expect(after.limits).toMatchObject([{ meter: 'concurrency', remaining: 2 }]);
});

test('the rates of the key and of the account in each group are those after the last admission', async () => {
  const { secret } = await world.makeKey(
    { groups: ['vip', 'default'] },
    { groups: ['vip', 'default'], rpm: 3, input_tpm: 1_000 },
  );
  await world.post(secret, bodyOf({ model: 'paired' }));
  await world.post(secret, bodyOf({ model: 'paired' }));
  const { limits } = await readKey(secret);
  expect(limits.map(({ meter, scope, group, limit }) => [meter, scope, group, limit])).toEqual([
    ['requests', 'key', null, 3],
    ['input_tokens', 'key', null, 1_000],
    ['requests', 'account', 'vip', 60],
    ['output_tokens', 'account', 'vip', 6_000],
    ['concurrency', 'account', 'vip', 5],
  ]);
  const [ofKey, input, ofGroup, output] = limits as [Limit, Limit, Limit, Limit, Limit];
  expect(ofKey.remaining).toBe(1);
  expect(input.remaining).toBeWithin(950, 1_001); // 50 were used, and 16 refill per second
  expect(ofGroup.remaining).toBeWithin(58, 61);
  expect(output.remaining).toBeWithin(5_976, 6_001);
  expect(Date.parse(ofKey.resets_at ?? '') - Date.now()).toBeWithin(10_000, 40_001); // two of three per minute
  expect(limits.map(({ retry_at }) => retry_at)).toEqual([null, null, null, null, null]);
});

test('an exhausted rate shows when it refills', async () => {
  const { secret } = await world.makeKey({}, { rpm: 1 });
  await world.post(secret, bodyOf());
  const refused = await world.post(secret, bodyOf());
  const { limits } = await readKey(secret);
  expect(limits).toMatchObject([{ meter: 'requests', remaining: 0 }]);
  const waitMs = Date.parse(limits[0]?.retry_at ?? '') - Date.now();
  expect(waitMs).toBeWithin(30_000, 60_001);
  expect(Number(refused.headers.get('retry-after')) * 1000 - waitMs).toBeWithin(-1_000, 5_000);
});

test('reading the key is free, does not count against any rate, and is never refused because of a rate', async () => {
  const { secret } = await world.makeKey({ credit: '0' }, { rpm: 1, concurrency: 1 });
  const looks = await Promise.all(Array.from({ length: 30 }, () => readKey(secret)));
  for (const key of looks)
    expect(key).toMatchObject({ last_used_at: null, spendable: '0', limits: [{ remaining: 1 }, { remaining: 1 }] });
});

test('a change of the key, its account or its groups is visible at once', async () => {
  const caller = await world.makeKey({ groups: ['default', 'vip'] }, { quota: '1.00', quota_period: 'day' });
  await readKey(caller.secret);
  await world.admin('PATCH', `/keys/${caller.key}`, { quota: '2.00', rpm: 9, name: 'renamed' });
  await world.admin('PATCH', `/accounts/${caller.account}`, { groups: ['default'] });
  await world.admin('POST', `/accounts/${caller.account}/credits`, { amount: '5.00' });
  expect(await readKey(caller.secret)).toMatchObject({
    name: 'renamed',
    groups: ['default'],
    balance: { available: '15.00' },
    quota: { limit: '2.00' },
    limits: [{ meter: 'requests', limit: 9 }],
  });
});

test('the amount available for a message is the least of balance, quota and allowance', async () => {
  const spendable = async (credit: string, quota: string, allowance: string) => {
    const account = { credit, allowance, allowance_period: 'day' };
    return (await readKey((await world.makeKey(account, { quota })).secret)).spendable;
  };
  expect(await spendable('1.00', '2.00', '3.00')).toBe('1.00');
  expect(await spendable('2.00', '1.50', '3.00')).toBe('1.50');
  expect(await spendable('2.00', '3.00', '0.50')).toBe('0.50');
});

test('a quota lowered below its usage has zero left, never a negative amount', async () => {
  const caller = await world.makeKey({}, { quota: '1.00', quota_period: 'total' });
  await world.post(caller.secret, bodyOf());
  await world.admin('PATCH', `/keys/${caller.key}`, { quota: '0.0001' });
  expect(await readKey(caller.secret)).toMatchObject({
    spendable: '0',
    quota: { limit: '0.0001', used: '0.000255', remaining: '0' },
  });
});

test('after a rotation the old secret shows until when it is valid, and the new one does not mention it', async () => {
  const caller = await world.makeKey();
  const rotated = await world.admin('POST', `/keys/${caller.key}/rotate`, { grace: '1h' });
  const old = await readKey(caller.secret);
  expect(Date.parse(String(old['secret_expires_at'])) - Date.now()).toBeWithin(3_500_000, 3_600_001);
  expect(await readKey(String(rotated['key']))).toMatchObject({ id: caller.key, secret_expires_at: null });
});

test('the route refuses a key for the same reasons as every other route', async () => {
  const caller = await world.makeKey({}, { origins: ['https://app.example.com'] });
  await expectError(await fetch(`${world.url}/v1/key`), 401, 'authentication_error', 'key_missing');
  await expectError(await ask('sk-tp-wrong'), 401, 'authentication_error', 'key_invalid');
  const strange = await ask(caller.secret, { origin: 'https://evil.example' });
  await expectError(strange, 403, 'permission_error', 'origin_not_allowed');
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
  await expectError(await ask(caller.secret), 401, 'authentication_error', 'key_disabled');
  const { account, secret } = await world.makeKey();
  await world.admin('PATCH', `/accounts/${account}`, { status: 'disabled' });
  await expectError(await ask(secret), 401, 'authentication_error', 'account_disabled');
  const post = await ask(secret, {}, 'POST');
  expect(post.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  await expectError(post, 405, 'invalid_request_error', 'method_not_allowed');
});

test('the key is accepted as a bearer token and with any common misspelling of the base URL, and a HEAD response has no body', async () => {
  const { key, secret } = await world.makeKey();
  for (const path of ['/v1/key', '/v1/v1/key', '//v1/key/', '/v1/key?a=b']) {
    const response = await fetch(world.url + path, { headers: { authorization: `Bearer ${secret}` } });
    expect(await response.json()).toMatchObject({ id: key });
  }
  const head = await ask(secret, {}, 'HEAD');
  expect([head.status, await head.text()]).toEqual([200, '']);
  expectHeadersOfAll(head);
});

test('a page of another origin may read the response', async () => {
  const { secret } = await world.makeKey({}, { rpm: 9 });
  const origin = 'https://app.example.com';
  const preflight = await fetch(`${world.url}/v1/key`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'GET', 'access-control-request-headers': 'x-api-key' },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers.get('access-control-allow-headers')).toContain('x-api-key');
  expect(preflight.headers.get('access-control-allow-methods')).toContain('GET');
  const response = await ask(secret, { origin });
  expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  expect(response.status).toBe(200);
});

test('information for operators or account holders only is not shown', async () => {
  const { secret } = await world.makeKey(
    { name: 'Acme, the slow payers', groups: ['vip'], credit_line: '7.77' },
    { addresses: ['127.0.0.0/8', '::1'], origins: ['https://inner.example'] },
  );
  const text = await (await ask(secret)).text();
  expect(text).toContain('"vip"');
  for (const hidden of ['Acme', 'credit_line', '127.0.0', 'inner.example', 'upstream', secret.slice(10)])
    expect(text).not.toContain(hidden);
});
