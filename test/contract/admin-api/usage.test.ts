// Usage records: their shape, filters and pages.

import { beforeAll, describe, expect, test } from 'bun:test';
import { beganAtMs } from '../../../src/base/ids.ts';
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
let requestIds: string[];
beforeAll(async () => {
  installation = await makeInstallation();
  const [one, other] = [await makeAccount(installation), await makeAccount(installation, { name: 'other' })];
  keys = [await makeKey(installation, one['id']), await makeKey(installation, other['id'])];
  requestIds = [...(await useKey(installation, keys[0], 5)), ...(await useKey(installation, keys[1], 2))];
});

async function idsOf(query: string): Promise<unknown[]> {
  const { body } = await installation.ask('GET', `/api/v1/usage${query}`);
  return (body['data'] as Json[]).map((record) => record['request_id']);
}

test('a record has the shape of the contract', async () => {
  const { body } = await installation.ask('GET', `/api/v1/usage/${requestIds[0]}`);
  expect(body).toEqual({
    request_id: requestIds[0],
    at: '2026-11-20T10:00:01.000Z',
    account: keys[0]['account'],
    key: keys[0]['id'],
    person: null,
    tags: {},
    session: null,
    agent: null,
    group: 'default',
    model: 'sandbox-echo',
    provider: 'sandbox',
    upstream_model: 'sandbox-echo',
    stream: true,
    outcome: 'completed',
    status: 200,
    error: null,
    input_tokens: 500,
    output_tokens: 100,
    cache_read_input_tokens: 7,
    cache_creation_input_tokens: 5,
    cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
    web_searches: 0,
    endpoint: 'messages',
    units: {},
    unit_costs: {},
    image: null,
    usage_source: 'reported',
    service_tier: null,
    cost: '0.001',
    written_off: '0',
    plan_paid: '0',
    provider_cost: '0.0001',
    margin: '0.0009',
    rates: { input: '1', output: '5', multiplier: '1' },
    attempts: [
      {
        provider: 'sandbox',
        model: 'sandbox-echo',
        credential: null,
        result: 'ok',
        status: 200,
        reason: null,
        started_ms: null,
        ms: 3,
      },
    ],
    received_at: new Date(beganAtMs(String(requestIds[0])) ?? 0).toISOString(),
    admitted_ms: 1,
    latency_ms: 12,
    first_token_ms: 4,
    meters: { balance: { before: '10.00', after: '9.999' }, quota: null, allowance: null },
    price: null, // these rates do not add up to this cost
  });
  const missing = await installation.ask('GET', '/api/v1/usage/req_nothing');
  expect([missing.status, errorOf(missing.body).code]).toEqual([404, 'object_not_found']);
});

test('records are listed newest first, in pages without duplicates or gaps', async () => {
  const newestFirst = requestIds.toReversed();
  expect(await idsOf('')).toEqual(newestFirst);
  const seen: unknown[] = [];
  for (let cursor: unknown = ''; cursor !== null; ) {
    const { body } = await installation.ask('GET', `/api/v1/usage?limit=3${cursor && `&cursor=${cursor}`}`);
    seen.push(...(body['data'] as Json[]).map((record) => record['request_id']));
    cursor = body['next_cursor'];
  }
  expect(seen).toEqual(newestFirst);
});

test('records are found by account, by key and by time', async () => {
  const [ofOne, ofOther] = [requestIds.slice(0, 5).toReversed(), requestIds.slice(5).toReversed()];
  expect(await idsOf(`?account=${keys[0]['account']}`)).toEqual(ofOne);
  expect(await idsOf(`?key=${keys[1]['id']}`)).toEqual(ofOther);
  expect(await idsOf(`?key=${keys[1]['id']}&account=${keys[0]['account']}`)).toEqual([]);
  expect(await idsOf('?since=2026-11-20T10:00:06Z')).toEqual(ofOther);
  expect(await idsOf('?until=2026-11-20T10:00:02Z')).toEqual(ofOne.slice(3));
  expect((await installation.ask('GET', '/api/v1/usage?key=key_000000000')).status).toBe(404);
});

test('records are found by outcome', async () => {
  const [cut] = await useKey(installation, keys[1], 1, { outcome: 'client_gone' });
  expect(await idsOf('?outcome=client_gone')).toEqual([cut]);
  expect(await idsOf(`?outcome=client_gone&key=${keys[0]['id']}`)).toEqual([]);
  expect(await idsOf('?outcome=completed')).toEqual(requestIds.toReversed());
  expect((await installation.ask('GET', '/api/v1/usage?outcome=cut')).status).toBe(400);
});

test('records of a model are found in pages, and a cursor continues where the search stopped', async () => {
  const account = await makeAccount(installation, { name: 'third' });
  const key = await makeKey(installation, account['id']);
  const big = [
    ...(await useKey(installation, key, 2, { model: 'big' })),
    ...(await useKey(installation, keys[1], 1, { model: 'big' })),
  ];
  expect(await idsOf('?model=big')).toEqual(big.toReversed());
  expect(await idsOf(`?model=big&account=${account['id']}`)).toEqual(big.slice(0, 2).toReversed());
  expect(await idsOf('?model=bi')).toEqual([]);
  const { body } = await installation.ask('GET', '/api/v1/usage?model=big&limit=2');
  expect((body['data'] as Json[]).map((record) => record['request_id'])).toEqual(big.slice(1).toReversed());
  expect(await idsOf(`?model=big&limit=2&cursor=${body['next_cursor']}`)).toEqual(big.slice(0, 1));
});

test('a page without results has a cursor that continues the search', async () => {
  const { usage } = installation.stores;
  const searchUsage = usage.searchUsage;
  usage.searchUsage = async () => ({ rows: [], next: 3 }); // stands for twenty thousand records of other models
  const { body } = await installation.ask('GET', '/api/v1/usage?model=rare');
  expect(body).toEqual({ data: [], next_cursor: expect.any(String), searched_since: null });
  usage.searchUsage = searchUsage;
  expect(await idsOf(`?model=sandbox-echo&limit=2&cursor=${body['next_cursor']}`)).toEqual([
    requestIds[1],
    requestIds[0],
  ]);
});

test('the usage of a key appears on the key and its account', async () => {
  const key = (await installation.ask('GET', `/api/v1/keys/${keys[0]['id']}`)).body;
  expect(key).toMatchObject({ quota_used: '0.005', last_used_at: '2026-11-20T10:00:05.000Z' });
  const account = (await installation.ask('GET', `/api/v1/accounts/${keys[0]['account']}`)).body;
  expect(account).toMatchObject({ balance: '9.995', held: '0', available: '9.995' });
});

describe('with more filters and orders', () => {
  let ids: Json;
  beforeAll(async () => {
    const account = await makeAccount(installation, { name: 'searched' });
    const key = await makeKey(installation, account['id']);
    const error = { code: 'upstream_overloaded', message: 'The provider of this model is overloaded.' };
    const [overloaded] = await useKey(installation, key, 1, { outcome: 'failed', status: 529, error, latencyMs: 900 });
    const [costly] = await useKey(installation, key, 1, { model: 'Searched-Big', cost: 5_000_000, latencyMs: 30 });
    const [whole] = await useKey(installation, key, 1, { stream: false, provider: 'other', latencyMs: 60 });
    ids = { key: key['id'], overloaded, costly, whole };
  });
  const found = (query: string) => idsOf(`?key=${ids['key']}&${query}`);

  test('records are found by status, error, provider, cost, streaming and a part of the model', async () => {
    const { overloaded, costly, whole } = ids;
    expect(await found('status=529')).toEqual([overloaded]);
    expect(await found('status=5xx')).toEqual([overloaded]);
    expect(await found('status=2xx')).toEqual([whole, costly]);
    expect(await found('error=upstream_overloaded')).toEqual([overloaded]);
    expect(await found('error=upstream_failed')).toEqual([]);
    expect(await found('provider=other')).toEqual([whole]);
    expect(await found('cost_min=0.005')).toEqual([costly]);
    expect(await found('stream=false')).toEqual([whole]);
    expect(await found('model_search=ED-big')).toEqual([costly]);
    for (const faulty of ['status=600', 'status=52', 'cost_min=-1', 'stream=yes', 'sort=model', 'order=up', 'error='])
      expect([faulty, (await installation.ask('GET', `/api/v1/usage?${faulty}`)).status]).toEqual([faulty, 400]);
  });

  test('records are listed oldest first, and by cost, latency and tokens, in pages', async () => {
    const { overloaded, costly, whole } = ids;
    expect(await found('order=asc')).toEqual([overloaded, costly, whole]);
    expect(await found('sort=cost')).toEqual([costly, whole, overloaded]);
    expect(await found('sort=latency')).toEqual([overloaded, whole, costly]);
    expect(await found('sort=latency&order=asc')).toEqual([costly, whole, overloaded]);
    for (const order of ['order=asc', 'sort=cost', 'sort=tokens&order=asc']) {
      const right = await found(order);
      const seen: unknown[] = [];
      for (let cursor: unknown = ''; cursor !== null; ) {
        const query = `?key=${ids['key']}&${order}&limit=1${cursor && `&cursor=${cursor}`}`;
        const { body } = await installation.ask('GET', `/api/v1/usage${query}`);
        seen.push(...(body['data'] as Json[]).map((record) => record['request_id']));
        cursor = body['next_cursor'];
        if (cursor !== null && order !== 'order=asc')
          expect((await installation.ask('GET', `/api/v1/usage?cursor=${cursor}`)).status).toBe(400);
        if (cursor !== null)
          expect((await installation.ask('GET', `/api/v1/usage?sort=latency&cursor=${cursor}`)).status).toBe(400);
      }
      expect([order, seen]).toEqual([order, right]);
    }
  });

  test('the error that the client got is in the record', async () => {
    const { body } = await installation.ask('GET', `/api/v1/usage/${ids['overloaded']}`);
    expect(body['error']).toEqual({
      code: 'upstream_overloaded',
      message: 'The provider of this model is overloaded.',
    });
  });

  test('the sums of the records that match agree with their buckets and groups', async () => {
    const ask = async (query: string) => {
      const { body } = await installation.ask('GET', `/api/v1/usage/summary?key=${ids['key']}&${query}`);
      return body;
    };
    const ofDays = await ask('group_by=model');
    expect(ofDays).toMatchObject({
      is_of_days: true,
      counted_since: null,
      failed: null,
      step_seconds: 86_400,
      total: { messages: 3 },
      groups: 2,
    });
    const costly = await ask('group_by=model&cost_min=0.005');
    expect(costly).toMatchObject({
      is_of_days: false,
      counted_since: null,
      failed: 0,
      step_seconds: 60,
      total: { messages: 1, cost: '0.005' },
      buckets: [{ messages: 1, failed: 0, cost: '0.005' }],
      data: [{ model: 'Searched-Big', cost: '0.005', messages: 1 }],
      groups: 1,
    });
    expect(await ask('status=529')).toMatchObject({ total: { messages: 1 }, failed: 1, data: [], groups: 0 });
  });
});
