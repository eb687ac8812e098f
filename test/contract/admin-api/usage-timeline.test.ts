// Usage over time: its shape, its maximum length, and which parts an account's users see.

import { beforeAll, expect, test } from 'bun:test';
import { DAY_MS } from '../../../src/base/clock.ts';
import { parseId } from '../../../src/base/ids.ts';
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
  await useKey(installation, keys[0], 2, { providerCost: null, outcome: 'failed', firstTokenMs: null });
  await useKey(installation, keys[1], 1, { model: 'big', providerCost: 1_500_000, firstTokenMs: 70 });
});

interface Timeline {
  since: string;
  until: string;
  counted_since: string;
  data: Json[];
}

async function timeline(query: string, token?: string): Promise<Timeline> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const { body } = await installation.ask('GET', `/api/v1/usage/timeline${query}`, undefined, headers);
  return body as never;
}

const used = ({ data }: Timeline) =>
  data.filter(({ messages }) => messages !== 0).map(({ at, messages }) => [at, messages]);

test('a timeline has every bucket from the first to the current one, including those without messages', async () => {
  const whole = await timeline('');
  expect(whole).toMatchObject({
    step: 'hour',
    since: '2026-11-19T11:00:00.000Z',
    until: '2026-11-21T11:00:00.000Z',
    counted_since: '2026-11-19T11:00:00.000Z',
  });
  expect(whole.data).toHaveLength(48);
  expect(whole.data.at(-2)).toEqual({
    at: '2026-11-21T09:00:00.000Z',
    messages: 0,
    failed: 0,
    refused: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    units: {},
    cost: '0',
    written_off: '0',
    provider_cost: null,
    margin: null,
    revenue_without_margin: '0',
    first_token_ms_p50: null,
    first_token_ms_p95: null,
  });
  expect(whole.data.at(-1)).toEqual({
    at: '2026-11-21T10:00:00.000Z',
    messages: 3,
    failed: 2,
    refused: 0,
    input_tokens: 1500,
    output_tokens: 300,
    cache_read_input_tokens: 21,
    cache_creation_input_tokens: 15,
    units: {},
    cost: '0.003',
    written_off: '0',
    provider_cost: '0.0015',
    margin: '-0.0005',
    revenue_without_margin: '0.002',
    first_token_ms_p50: 70,
    first_token_ms_p95: 70,
  });
});

test('a timeline can be filtered by account, key and model, in steps of any length', async () => {
  const days = [
    ['2026-11-20T00:00:00.000Z', 3],
    ['2026-11-21T00:00:00.000Z', 3],
  ];
  expect(used(await timeline('?step=day'))).toEqual(days);
  expect((await timeline('?step=day')).data).toHaveLength(30);
  expect(used(await timeline(`?step=day&account=${keys[0]['account']}`))).toEqual([
    ['2026-11-20T00:00:00.000Z', 3],
    ['2026-11-21T00:00:00.000Z', 2],
  ]);
  expect(used(await timeline(`?step=day&key=${keys[1]['id']}`))).toEqual([['2026-11-21T00:00:00.000Z', 1]]);
  expect(used(await timeline('?step=hour&model=big'))).toEqual([['2026-11-21T10:00:00.000Z', 1]]);
  for (const [since, count] of [
    ['10:00:00', 3],
    ['10:00:30', 0],
  ]) {
    const minute = `?step=minute&since=2026-11-20T${since}Z&until=2026-11-20T10:01:00Z`;
    expect((await timeline(minute)).data.map(({ at, messages }) => [at, messages])).toEqual([
      ['2026-11-20T10:00:00.000Z', count],
      ['2026-11-20T10:01:00.000Z', 0],
    ]);
  }
});

test('too many buckets are refused with an error about the step, and an empty time range with one about its start', async () => {
  const refused = async (query: string) => {
    const { status, body } = await installation.ask('GET', `/api/v1/usage/timeline${query}`);
    return [status, errorOf(body).message];
  };
  expect((await timeline('?step=hour&since=2026-11-05&until=2026-11-21T15:59:59.999Z')).data).toHaveLength(400);
  expect(await refused('?step=hour&since=2026-11-05&until=2026-11-21T16:00:00Z')).toEqual([
    400,
    'step: divides the period into 401 buckets; at most 400 are allowed',
  ]);
  expect(await refused('?since=2026-11-21&until=2026-11-20')).toEqual([400, 'since: must not be after until']);
  expect(await refused('?step=week')).toEqual([400, 'step: must be minute or five_minutes or hour or day']);
});

test('a time range outside the supported times is moved to the nearest supported one', async () => {
  const spanOf = async (query: string) => {
    const { since, until, data } = await timeline(query);
    return [since, until, data.length];
  };
  expect(await spanOf('?step=day&until=0000-01-01')).toEqual([
    '1970-01-01T00:00:00.000Z',
    '1970-01-02T00:00:00.000Z',
    1,
  ]);
  expect(await spanOf('?step=hour&since=9999-12-31&until=9999-12-31T23:59:59.999Z')).toEqual([
    '9999-12-30T00:00:00.000Z',
    '9999-12-30T01:00:00.000Z',
    1,
  ]);
});

test('users of an account see its usage over time without provider costs, and a member sees the usage of their keys', async () => {
  for (const role of ['owner', 'member']) {
    const { body } = await installation.ask('POST', '/api/v1/tokens', {
      name: role,
      role,
      account: keys[0]['account'],
    });
    const own = await timeline('?step=day', String(body['token']));
    expect(own.data.reduce((sum, { messages }) => sum + Number(messages), 0)).toBe(role === 'owner' ? 5 : 0);
    for (const bucket of own.data)
      expect(bucket).toMatchObject({ provider_cost: null, margin: null, revenue_without_margin: null });
  }
});

test('refused requests are counted beside the messages of their account and key, where they are known', async () => {
  const [account, key] = ['account', 'id'].map((name) => String(keys[0][name]));
  const [accountId, keyId] = [parseId('acct', account ?? ''), parseId('key', key ?? '')];
  const nowMs = installation.clock.nowMs();
  const atMs = Math.floor(nowMs / 60_000) * 60_000;
  const refusal = { atMs, account: accountId, key: keyId, code: 'insufficient_user_quota', status: 400, message: '' };
  await installation.stores.traffic.addRefusals([
    { ...refusal, count: 54, lastAtMs: nowMs },
    { ...refusal, account: null, key: null, code: 'key_invalid', count: 7, lastAtMs: nowMs },
  ]);
  const counts = async (query: string) =>
    (await timeline(query)).data.filter(({ refused }) => refused !== 0).map(({ refused }) => refused);
  for (const step of ['minute', 'five_minutes', 'hour', 'day']) {
    expect(await counts(`?step=${step}&key=${key}`)).toEqual([54]);
    expect(await counts(`?step=${step}`)).toEqual([61]);
  }
  expect(await counts(`?step=day&account=${keys[1]['account']}`)).toEqual([]);
  for (const filter of ['model=big', 'endpoint=messages']) {
    const narrowed = (await timeline(`?step=day&${filter}`)).data.map(({ refused }) => refused);
    expect(new Set(narrowed)).toEqual(new Set([null]));
  }
  const since = new Date(nowMs - 40 * DAY_MS).toISOString();
  expect((await timeline(`?step=day&since=${since}`)).data[0]).toMatchObject({ refused: null });
  const total = await installation.ask('GET', `/api/v1/refusals/totals?key=${key}&group_by=day`);
  expect(total.body['data']).toMatchObject([
    { count: 54, at: new Date(Math.floor(nowMs / DAY_MS) * DAY_MS).toISOString() },
  ]);
});
