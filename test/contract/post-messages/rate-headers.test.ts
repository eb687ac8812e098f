// The rate-limit headers: for the configured limits, the tighter one of key and group, under the prefix that the
// request used.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, sharedWorld } from './world.ts';

const world = await sharedWorld({
  groups: { limited: { models: ['*'], rpm: 100, input_tpm: 1_000, output_tpm: 500 } },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

const rates = (headers: Headers) =>
  Object.fromEntries([...headers].filter(([name]) => name.includes('-ratelimit-') && !name.endsWith('-reset')));

test('a key without limits gets no rate headers', async () => {
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  expect([...response.headers.keys()].filter((name) => name.includes('ratelimit'))).toEqual([]);
});

test('the headers show the configured limits, what remains, and when they are full again', async () => {
  const caller = await world.makeKey({ groups: ['limited'] });
  await world.post(caller.secret, bodyOf());
  const { headers } = await world.post(caller.secret, bodyOf());
  const remaining = Number(headers.get('anthropic-ratelimit-input-tokens-remaining'));
  expect(remaining).toBeWithin(975, 1_001); // 25 are used, and 16 refill per second
  const output = Number(headers.get('anthropic-ratelimit-output-tokens-remaining'));
  expect(output).toBeWithin(488, 501);
  expect(rates(headers)).toEqual({
    'anthropic-ratelimit-requests-limit': '100',
    'anthropic-ratelimit-requests-remaining': expect.stringMatching(/^9[89]$/),
    'anthropic-ratelimit-input-tokens-limit': '1000',
    'anthropic-ratelimit-input-tokens-remaining': String(remaining),
    'anthropic-ratelimit-output-tokens-limit': '500',
    'anthropic-ratelimit-output-tokens-remaining': String(output),
    'anthropic-ratelimit-tokens-limit': '1500',
    'anthropic-ratelimit-tokens-remaining': String(remaining + output),
  });
  const resets = [...headers].filter(([name]) => name.endsWith('-reset'));
  expect(resets).toHaveLength(4);
  for (const [, reset] of resets) {
    expect(reset).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(Date.parse(reset) - Date.now()).toBeWithin(-2_000, 60_000);
  }
});

test('there are no headers for limits that are not set', async () => {
  const caller = await world.makeKey({}, { output_tpm: 70 });
  const { headers } = await world.post(caller.secret, bodyOf());
  expect(rates(headers)).toEqual({
    'anthropic-ratelimit-output-tokens-limit': '70',
    'anthropic-ratelimit-output-tokens-remaining': '70',
    'anthropic-ratelimit-tokens-limit': '70',
    'anthropic-ratelimit-tokens-remaining': '70',
  });
});

test('the tighter limit of key and group is shown', async () => {
  const key = await world.makeKey({ groups: ['limited'] }, { rpm: 7 });
  expect((await world.post(key.secret, bodyOf())).headers.get('anthropic-ratelimit-requests-limit')).toBe('7');
  const group = await world.makeKey({ groups: ['limited'] }, { rpm: 7_000 });
  expect((await world.post(group.secret, bodyOf())).headers.get('anthropic-ratelimit-requests-limit')).toBe('100');
});

test('the headers have the prefix that the request used, and pages may read them', async () => {
  const caller = await world.makeKey({}, { rpm: 50 });
  for (const [sent, prefix] of [
    [{ 'vendor-version': '2023-06-01' }, 'vendor'],
    [{ 'anthropic-beta': 'a' }, 'anthropic'],
    [{}, 'anthropic'],
    [{ 'other-version': '2023-06-01' }, 'anthropic'],
  ] as [Record<string, string>, string][]) {
    const { headers } = await world.post(caller.secret, bodyOf(), { headers: sent });
    expect(Object.keys(rates(headers))).toEqual([
      `${prefix}-ratelimit-requests-limit`,
      `${prefix}-ratelimit-requests-remaining`,
    ]);
    expect(headers.get('access-control-expose-headers')).toContain(`${prefix}-ratelimit-requests-remaining`);
  }
});

test('streams, refusals of the ledger and failures of the provider have the headers, too', async () => {
  const caller = await world.makeKey({}, { rpm: 50, quota: '0.01' });
  const stream = await world.post(caller.secret, bodyOf({ stream: true }));
  await stream.text();
  const refused = await world.post(caller.secret, bodyOf({ max_tokens: 1_000_000 }));
  world.upstream.play(scripts.overloaded());
  const failed = await world.post(caller.secret, bodyOf());
  world.upstream.play(scripts.refusedContent());
  const rejected = await world.post(caller.secret, bodyOf());
  const left = [stream, refused, failed, rejected].map(({ status, headers }) => [
    status,
    headers.get('anthropic-ratelimit-requests-remaining'),
  ]);
  expect(left).toEqual([
    [200, '49'],
    [400, '49'],
    [529, '48'],
    [400, '47'],
  ]);
  await expectMoney(world, caller, [{ status: 400 }, { status: 529 }, { status: 200 }]);
});

/**
 * Answers to a key whose rates are known: asks again, after another message, while they are not. Over PostgreSQL, each
 * late notification of the key's creation makes them unknown once.
 */
async function askOnceKnown(secret: string, ask: () => Promise<Response[]>) {
  for (let tries = 1; ; tries++) {
    await world.post(secret, bodyOf());
    const answers = await ask();
    if (tries === 5 || answers.every(({ headers }) => Object.keys(rates(headers)).length > 0))
      return { answers, tries };
  }
}

test('every response to the key has the headers once the rates are known, also from routes without meters', async () => {
  const caller = await world.makeKey({ groups: ['limited'] });
  const headers = { 'x-api-key': caller.secret, 'content-type': 'application/json' };
  const ask = (path: string, body: string | null = null) =>
    fetch(`${world.url}${path}`, body === null ? { headers } : { method: 'POST', headers, body });
  const unknown = await ask('/v1/models');
  expect(rates(unknown.headers)).toEqual({});
  const askAll = async () => [
    await ask('/v1/models'),
    await ask('/v1/models/plain'),
    await ask('/v1/models/none'),
    await ask('/v1/models?limit=0'),
    await ask('/v1/messages', 'no JSON'),
    await ask('/v1/messages', JSON.stringify(bodyOf({ max_tokens: -1 }))),
    await ask('/v1/messages', JSON.stringify(bodyOf({ model: 'none' }))),
    await ask('/v1/messages', JSON.stringify(bodyOf({ speed: 'fast' }))),
    await ask('/v1/messages/count_tokens', 'no JSON'),
    await ask('/v1/messages/count_tokens', JSON.stringify(bodyOf())),
  ];
  const { answers, tries } = await askOnceKnown(caller.secret, askAll);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 404, 400, 400, 400, 400, 400, 400, 200]);
  for (const answer of answers) {
    expect(Object.keys(rates(answer.headers))).toHaveLength(8);
    expect(answer.headers.get('anthropic-ratelimit-requests-limit')).toBe('100');
    // Each try counts a message and a token count; what is not admitted does not count.
    const remaining = Number(answer.headers.get('anthropic-ratelimit-requests-remaining'));
    expect(remaining).toBeWithin(100 - 2 * tries, 101);
  }
});

test('the headers have the prefix of the current request, and an invalid key gets no headers', async () => {
  const caller = await world.makeKey({}, { rpm: 50 });
  const get = (secret: string) =>
    fetch(`${world.url}/v1/models`, { headers: { 'x-api-key': secret, 'vendor-version': '2023-06-01' } });
  const {
    answers: [known],
  } = await askOnceKnown(caller.secret, async () => [await get(caller.secret)]);
  expect(Object.keys(rates(known?.headers as Headers))).toEqual([
    'vendor-ratelimit-requests-limit',
    'vendor-ratelimit-requests-remaining',
  ]);
  expect(rates((await get('sk-tp-wrong')).headers)).toEqual({});
  await world.admin('PATCH', `/keys/${caller.key}`, { rpm: 70 });
  expect(rates((await get(caller.secret)).headers)).toEqual({}); // the changed limit appears after the next admission
  await world.admin('PATCH', `/keys/${caller.key}`, { status: 'disabled' });
  expect(rates((await get(caller.secret)).headers)).toEqual({});
});
