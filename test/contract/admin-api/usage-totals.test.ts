// Usage totals: their shape, their groups, and which parts an account's tokens see.

import { beforeAll, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import {
  errorOf,
  type Installation,
  type Json,
  makeAccount,
  makeInstallation,
  makeKey,
  useKey,
} from './installation.ts';

let installation: Installation;
let keys: [Json, Json];
beforeAll(async () => {
  installation = await makeInstallation();
  const [one, other] = [await makeAccount(installation), await makeAccount(installation, { name: 'other' })];
  keys = [await makeKey(installation, one['id']), await makeKey(installation, other['id'])];
  await useKey(installation, keys[0], 3);
  installation.clock.advance(DAY_MS);
  await useKey(installation, keys[0], 2, { providerCost: null });
  await useKey(installation, keys[1], 1, { model: 'big', providerCost: 1_500_000 });
});

async function totals(query: string, token?: string): Promise<{ data: Json[]; groups: number; total: Json }> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await installation.ask('GET', `/api/v1/usage/totals${query}`, undefined, headers);
  return body as never;
}

async function tokenOf(role: string): Promise<string> {
  const { body } = await installation.ask('POST', '/api/v1/tokens', { name: role, role, account: keys[0]['account'] });
  return String(body['token']);
}

test('totals have one row per day, latest first, and a grand total', async () => {
  const { data, groups, total } = await totals('');
  expect(data.map(({ day, messages, cost }) => [day, messages, cost])).toEqual([
    ['2026-11-21', 3, '0.003'],
    ['2026-11-20', 3, '0.003'],
  ]);
  expect(groups).toBe(2);
  expect(total).toEqual({
    day: null,
    account: null,
    key: null,
    model: null,
    provider: null,
    group: null,
    person: null,
    tag: null,
    session: null,
    agent: null,
    messages: 6,
    input_tokens: 3000,
    output_tokens: 600,
    cache_read_input_tokens: 42,
    cache_creation_input_tokens: 30,
    cost: '0.006',
    written_off: '0',
    units: {},
    provider_cost: '0.0018',
    margin: '0.0022', // sum of four messages; two are in revenue_without_margin
    revenue_without_margin: '0.002',
  });
});

test('totals are grouped by model, key and account, highest cost first, up to the limit', async () => {
  const { data, groups, total } = await totals('?group_by=model&limit=1');
  expect([data.map(({ model, messages }) => [model, messages]), groups, total['messages']]).toEqual([
    [['sandbox-echo', 5]],
    2,
    6,
  ]);
  const byKey = (await totals('?group_by=key')).data.map(({ account, key, messages }) => [account, key, messages]);
  expect(byKey).toEqual(keys.map((key, at) => [key['account'], key['id'], at === 0 ? 5 : 1]));
  const byAccount = (await totals('?group_by=account')).data.map(({ account, key }) => [account, key]);
  expect(byAccount).toEqual(keys.map((key) => [key['account'], null]));
});

test('totals can be filtered by account, by key, and by whole days', async () => {
  expect((await totals(`?account=${keys[1]['account']}`)).total['messages']).toBe(1);
  expect((await totals(`?key=${keys[0]['id']}&since=2026-11-21T09:00:00Z`)).total['messages']).toBe(2);
  expect((await totals('?until=2026-11-20')).total['messages']).toBe(3);
  const wrong = await installation.ask('GET', '/api/v1/usage/totals?group_by=hour');
  expect([wrong.status, errorOf(wrong.body).message]).toEqual([
    400,
    'group_by: must be day or model or key or account or provider or group or person or tag',
  ]);
});

test('a margin is never computed with an unknown provider cost', async () => {
  const [latest] = (await totals(`?account=${keys[0]['account']}`)).data;
  expect(latest).toMatchObject({ provider_cost: null, margin: null, revenue_without_margin: '0.002' });
  const [big] = (await totals('?group_by=model&limit=9')).data.toReversed();
  expect(big).toMatchObject({ model: 'big', provider_cost: '0.0015', margin: '-0.0005', revenue_without_margin: '0' });
});

test('tokens of an account see its charges, never provider costs', async () => {
  for (const role of ['owner', 'member']) {
    const { data, total } = await totals('?group_by=model', await tokenOf(role));
    for (const row of [...data, total])
      expect(row).toMatchObject({ provider_cost: null, margin: null, revenue_without_margin: null });
    expect(total['messages']).toBe(role === 'owner' ? 5 : 0); // the member has created no key
  }
  const { body } = await installation.ask('GET', '/api/v1/usage', undefined, {
    authorization: `Bearer ${await tokenOf('owner')}`,
  });
  expect(body['data']).toHaveLength(5);
  for (const record of body['data'] as Json[]) expect(record).toMatchObject({ provider_cost: null, margin: null });
});

test('the top usage by model, key and account agrees with the totals of each', async () => {
  const { body } = await installation.ask('GET', '/api/v1/usage/top?limit=1');
  for (const [list, groupBy] of [
    ['models', 'model'],
    ['keys', 'key'],
    ['accounts', 'account'],
  ] as const) {
    const { data, groups, total } = await totals(`?group_by=${groupBy}&limit=1`);
    expect([list, body[list], body['total']]).toEqual([list, { data, groups }, total]);
    expect([list, groups, data.length]).toEqual([list, 2, 1]);
  }
  const since = await installation.ask('GET', '/api/v1/usage/top?since=2026-11-21');
  expect((since.body['total'] as Json)['messages']).toBe(3);
});

test('totals and the top usage count exactly between two times, and the whole day of a date', async () => {
  const ask = async (path: string, query: string) => {
    const { body } = await installation.ask('GET', `/api/v1/usage/${path}?${query}`);
    return [(body['total'] as Json)['messages'], body['counted_since']];
  };
  const last = (await installation.ask('GET', '/api/v1/usage?until=2026-11-20')).body['data'] as Json[];
  expect(last).toHaveLength(3);
  const at = String(last[0]?.['at']);
  const after = new Date(Date.parse(at) + 1).toISOString();
  for (const path of ['top', 'totals', 'summary']) {
    expect([path, await ask(path, `since=${after}`)]).toEqual([path, [3, null]]);
    expect([path, await ask(path, `until=${at}`)]).toEqual([path, [3, null]]);
    expect([path, await ask(path, `since=${at}&until=${at}`)]).toEqual([path, [1, null]]);
    expect([path, await ask(path, 'until=2026-11-20')]).toEqual([path, [3, null]]);
    expect([path, await ask(path, 'until=2026-11-20T00:00:00Z')]).toEqual([path, [0, null]]);
  }
  for (const step of ['day', 'hour']) {
    const query = `step=${step}&since=${at}&until=2026-11-21`;
    const { body } = await installation.ask('GET', `/api/v1/usage/timeline?${query}`);
    expect([step, sumOf(body['data'] as Json[])]).toEqual([step, 4]);
  }
});

function sumOf(buckets: readonly Json[]): number {
  return buckets.reduce((sum, { messages }) => sum + Number(messages), 0);
}

test('an owner sees the top usage of their account only, without margins', async () => {
  const headers = { authorization: `Bearer ${await tokenOf('owner')}` };
  const { body } = await installation.ask('GET', '/api/v1/usage/top', undefined, headers);
  expect(body).toMatchObject({
    accounts: { data: [{ account: keys[0]['account'], messages: 5, margin: null, provider_cost: null }], groups: 1 },
    keys: { data: [{ key: keys[0]['id'] }], groups: 1 },
    total: { messages: 5, margin: null },
  });
  const strange = await installation.ask('GET', `/api/v1/usage/top?key=${keys[1]['id']}`, undefined, headers);
  expect(strange.status).toBe(404);
});
