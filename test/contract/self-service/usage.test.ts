// GET /v1/usage/{request_id}: a developer sees what a message of their key cost, and the calculation, to the
// nanodollar. Messages of other keys are not visible, not even their existence.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { formatDecimal, parseDecimal, parseUsd } from '../../../src/base/money.ts';
import { type Script, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectHeadersOfAll, type Json, sharedWorld, startWorld } from '../post-messages/world.ts';

const world = await sharedWorld({
  models: {
    cached: {
      price: {
        input: '3',
        output: '15',
        cache_read: '0.3',
        cache_write_5m: '3.75',
        cache_write_1h: '6',
        web_search_per_thousand: '10',
      },
      routes: [{ provider: 'first', model: 'upstream-model', cost: { input: '2.7', output: '13.5' } }],
    },
  },
  groups: { default: { models: ['*'] }, odd: { models: ['*'], multiplier: '0.333333' } },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

interface OwnUsage extends Json {
  cost: string;
  charged: string;
  rates: Record<string, string>;
  price: {
    parts: { part: string; tokens?: number; searches?: number; rate: string; amount: string }[];
    multiplier: string;
    before_rounding: string;
    after_rounding: string;
  };
}

const ask = (secret: string, requestId: string, method = 'GET') =>
  fetch(`${world.url}/v1/usage/${requestId}`, { method, headers: { 'x-api-key': secret } });

const requestIdOf = (response: Response) => String(response.headers.get('request-id'));

async function readUsage(secret: string, requestId: string): Promise<OwnUsage> {
  const response = await ask(secret, requestId);
  expect(response.status).toBe(200);
  expectHeadersOfAll(response);
  return (await response.json()) as OwnUsage;
}

async function availableNano(secret: string): Promise<number> {
  const response = await fetch(`${world.url}/v1/key`, { headers: { 'x-api-key': secret } });
  return parseUsd(((await response.json()) as { balance: { available: string } }).balance.available) ?? Number.NaN;
}

/** Recalculates the cost from the shown counts and rates, and compares it with the shown cost. */
function expectAddsUp({ price, cost }: OwnUsage): void {
  let sum = 0n; // 10^-18 USD
  for (const { tokens, searches, rate, amount } of price.parts) {
    const rated = parseDecimal(rate, 12) ?? -1n;
    const expected = tokens === undefined ? BigInt(searches ?? -1) * rated * 1000n : BigInt(tokens) * rated;
    expect(amount).toBe(formatDecimal(expected, 18));
    sum += expected;
  }
  const multiplied = sum * (parseDecimal(price.multiplier, 6) ?? -1n);
  expect(price.before_rounding).toBe(formatDecimal(multiplied, 24));
  const nano = (multiplied + 10n ** 15n - 1n) / 10n ** 15n;
  expect(parseUsd(price.after_rounding)).toBe(Number(nano));
  expect(price.after_rounding).toBe(cost);
}

test.each([false, true])('a message (streamed: %p) shows its usage and its cost', async (stream) => {
  const { secret } = await world.makeKey();
  const before = await availableNano(secret);
  const response = await world.post(secret, bodyOf({ stream }));
  await response.text();
  const usage = await readUsage(secret, requestIdOf(response));
  expect(usage).toEqual({
    request_id: requestIdOf(response),
    at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    model: 'plain',
    group: 'default',
    stream,
    outcome: 'completed',
    status: 200,
    input_tokens: 25,
    output_tokens: 12,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
    web_searches: 0,
    endpoint: 'messages',
    units: {},
    usage_source: 'reported',
    service_tier: 'standard',
    cost: '0.000255',
    charged: '0.000255',
    rates: {
      tier: 'standard',
      multiplier: '1',
      input: '3',
      output: '15',
      cache_read: '3',
      cache_write_5m: '3',
      cache_write_1h: '3',
    },
    price: {
      parts: [
        { part: 'input', tokens: 25, rate: '3', amount: '0.000075' },
        { part: 'output', tokens: 12, rate: '15', amount: '0.00018' },
      ],
      multiplier: '1',
      before_rounding: '0.000255',
      after_rounding: '0.000255',
    },
    attempts: 1,
    latency_ms: expect.any(Number),
    first_token_ms: stream ? expect.any(Number) : null,
  } as unknown as OwnUsage);
  expect(before - (await availableNano(secret))).toBe(255_000);
});

test('every count has its own line with its own rate, and the amount is shown before and after rounding', async () => {
  const { secret } = await world.makeKey({ groups: ['odd'] });
  const reported = {
    input_tokens: 100,
    output_tokens: 11,
    cache_read_input_tokens: 200,
    cache_creation_input_tokens: 70,
    cache_creation: { ephemeral_5m_input_tokens: 40, ephemeral_1h_input_tokens: 30 },
    server_tool_use: { web_search_requests: 3 },
  };
  world.upstream.play(scripts.message({ usage: reported }));
  const tools = [{ type: 'web_search_20260601', name: 'web_search', max_uses: 5 }];
  const before = await availableNano(secret);
  const response = await world.post(secret, bodyOf({ model: 'cached', tools }));
  const usage = await readUsage(secret, requestIdOf(response));
  expect(usage.price.parts).toEqual([
    { part: 'input', tokens: 100, rate: '3', amount: '0.0003' },
    { part: 'cache_read', tokens: 200, rate: '0.3', amount: '0.00006' },
    { part: 'cache_write_5m', tokens: 40, rate: '3.75', amount: '0.00015' },
    { part: 'cache_write_1h', tokens: 30, rate: '6', amount: '0.00018' },
    { part: 'output', tokens: 11, rate: '15', amount: '0.000165' },
    { part: 'web_search', searches: 3, rate: '10', amount: '0.03' },
  ]);
  // 0.030855 × 0.333333
  expect(usage.price).toMatchObject({ before_rounding: '0.010284989715', after_rounding: '0.01028499' });
  expectAddsUp(usage);
  expect(before - (await availableNano(secret))).toBe(10_284_990);
});

test('the prices are those at the time of the message, also if they change later', async () => {
  await using later = await startWorld({ groups: { default: { models: ['*'] } } });
  const { secret } = await later.makeKey();
  const response = await later.post(secret, bodyOf());
  const routes = [{ provider: 'first', model: 'upstream-model' }];
  await later.admin('POST', '/apply', {
    document: { models: { plain: { price: { input: '9', output: '9' }, routes } } },
  });
  const answer = await fetch(`${later.url}/v1/usage/${requestIdOf(response)}`, { headers: { 'x-api-key': secret } });
  const usage = (await answer.json()) as OwnUsage;
  expect(usage).toMatchObject({ cost: '0.000255', rates: { input: '3', output: '15' } });
  expectAddsUp(usage);
});

test('a running message is in progress, and has a record once it ends', async () => {
  const { secret } = await world.makeKey();
  const { promise: mayEnd, resolve: end } = Promise.withResolvers<void>();
  const script: Script = async (answer) => {
    const events = upstreamEvents();
    answer.begin(200, { 'content-type': 'text/event-stream' });
    await answer.write(events.slice(0, 4).join(''));
    await mayEnd;
    await answer.write(events.slice(4).join(''));
    answer.end();
  };
  world.upstream.play(script);
  const response = await world.post(secret, bodyOf({ stream: true }));
  const during = await ask(secret, requestIdOf(response));
  expect(during.status).toBe(202);
  expect(await during.json()).toEqual({ request_id: requestIdOf(response), outcome: 'in_progress' });
  const other = await world.makeKey();
  await expectError(await ask(other.secret, requestIdOf(response)), 404, 'not_found_error', 'object_not_found');
  end();
  await response.text();
  expect(await readUsage(secret, requestIdOf(response))).toMatchObject({ outcome: 'completed', cost: '0.000255' });
});

test('a message that failed at its provider cost nothing, and has no price calculation', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(scripts.overloaded());
  const response = await world.post(secret, bodyOf());
  const usage = await readUsage(secret, requestIdOf(response));
  expect(usage).toMatchObject({ outcome: 'failed', status: 529, cost: '0', charged: '0', usage_source: 'none' });
  expect(usage).toMatchObject({ rates: {}, price: null });
});

test('a stream that the provider interrupted is billed as received, and its lines add up', async () => {
  const { secret } = await world.makeKey();
  world.upstream.play(scripts.dropMidStream());
  const response = await world.post(secret, bodyOf({ stream: true }));
  await response.text();
  const usage = await readUsage(secret, requestIdOf(response));
  expect(usage).toMatchObject({ outcome: 'upstream_cut', usage_source: 'estimated' });
  expectAddsUp(usage);
});

test('another key’s message, even of the same account, gets the same answer as a message that never existed', async () => {
  const caller = await world.makeKey();
  const sibling = await world.admin('POST', '/keys', { account: caller.account });
  const otherCaller = await world.makeKey();
  const message = await world.post(caller.secret, bodyOf());
  const refused = await world.post(caller.secret, bodyOf({ model: 'none' }));
  expect(refused.status).toBe(400);
  const looked = await ask(caller.secret, requestIdOf(message));
  const texts = new Set<string>();
  for (const [secret, requestId] of [
    [String(sibling['key']), requestIdOf(message)],
    [otherCaller.secret, requestIdOf(message)],
    [caller.secret, requestIdOf(refused)],
    [caller.secret, requestIdOf(looked)],
    [caller.secret, 'req_none'],
    [caller.secret, 'req_none/and/more'],
    [caller.secret, '%E0%A4%A'],
    [caller.secret, "'; DROP TABLE usage_records; --"],
  ] as [string, string][])
    texts.add(await expectError(await ask(secret, requestId), 404, 'not_found_error', 'object_not_found'));
  expect([...texts]).toEqual(['No message of this key has this request id.']);
});

test('the route refuses a key for the same reasons as every other route', async () => {
  const { key, secret } = await world.makeKey();
  const requestId = requestIdOf(await world.post(secret, bodyOf()));
  const url = `${world.url}/v1/usage/${requestId}`;
  await expectError(await fetch(url), 401, 'authentication_error', 'key_missing');
  await expectError(await ask('sk-tp-wrong', requestId), 401, 'authentication_error', 'key_invalid');
  await expectError(await ask(secret, requestId, 'DELETE'), 405, 'invalid_request_error', 'method_not_allowed');
  await world.admin('PATCH', `/keys/${key}`, { status: 'disabled' });
  await expectError(await ask(secret, requestId), 401, 'authentication_error', 'key_disabled');
  await expectError(await fetch(`${world.url}/v1/usage`), 404, 'not_found_error', 'route_not_found');
});

test('a HEAD response has no body, a bearer token is accepted, and a page of another origin may read the response', async () => {
  const { secret } = await world.makeKey();
  const requestId = requestIdOf(await world.post(secret, bodyOf()));
  const head = await ask(secret, requestId, 'HEAD');
  expect([head.status, await head.text()]).toEqual([200, '']);
  const origin = 'https://app.example.com';
  const response = await fetch(`${world.url}/v1/usage/${requestId}`, {
    headers: { authorization: `Bearer ${secret}`, origin },
  });
  expect(response.headers.get('access-control-allow-origin')).toBe(origin);
  expect(await response.json()).toMatchObject({ request_id: requestId });
});

test('information for operators is not shown', async () => {
  const { secret } = await world.makeKey();
  const response = await world.post(secret, bodyOf({ model: 'cached' }));
  const text = await (await ask(secret, requestIdOf(response))).text();
  for (const hidden of ['provider', 'upstream', 'first"', 'written_off', '"2.7"', '"13.5"', 'account'])
    expect(text).not.toContain(hidden);
});
