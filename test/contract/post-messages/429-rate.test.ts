// Limits per minute and of concurrency, for keys and groups. A 429 has a retry time; running messages continue.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, GOOD, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld({
  groups: {
    tight: { models: ['*'], rpm: 2 },
    narrow: { models: ['*'], concurrency: 1 },
    slow: { models: ['*'], output_tpm: 10, input_tpm: 1_000 },
  },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

const refuse = (response: Response, code: string, words?: RegExp) =>
  expectError(response, 429, 'rate_limit_error', code, words);

/** Two messages are accepted, the third is refused. */
async function expectThirdRefused(account: Json, key: Json, code: string, words: RegExp): Promise<Response> {
  const caller = await world.makeKey(account, key);
  for (let turn = 0; turn < 2; turn++) expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  const refused = await world.post(caller.secret, bodyOf());
  await refuse(refused.clone() as Response, code, words);
  await expectMoney(world, caller, [GOOD, GOOD]);
  return refused;
}

test('requests per minute of a key are limited, and the error has the retry time: half a minute at two per minute', async () => {
  const refused = await expectThirdRefused({}, { rpm: 2 }, 'requests_rate_exceeded', /this key/);
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(28, 31);
  expect(refused.headers.get('anthropic-ratelimit-requests-remaining')).toBe('0');
});

test('requests per minute of a group apply to the account: using another of its keys does not help', async () => {
  await expectThirdRefused({ groups: ['tight'] }, {}, 'requests_rate_exceeded', /the account/);
  const caller = await world.makeKey({ groups: ['tight'] });
  const other = await world.admin('POST', '/keys', { account: caller.account });
  await world.post(caller.secret, bodyOf());
  await world.post(other['key'] as string, bodyOf());
  await refuse(await world.post(caller.secret, bodyOf()), 'requests_rate_exceeded');
  await expectMoney(world, caller, [GOOD, GOOD]);
});

test('input tokens per minute are limited: a message is admitted while any remain, and later messages wait until the excess has refilled', async () => {
  // 25 per message: 5 remain after the first, 20 are owed after the second, and one refills per second.
  const refused = await expectThirdRefused({}, { input_tpm: 30 }, 'input_tokens_rate_exceeded', /this key/);
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(38, 44);
});

test('output tokens per minute are limited', async () => {
  // 12 per message: 2 remain after the first, 10 are owed after the second.
  const refused = await expectThirdRefused({}, { output_tpm: 14 }, 'output_tokens_rate_exceeded', /this key/);
  expect(Number(refused.headers.get('retry-after'))).toBeWithin(40, 50);
});

test('cache reads do not count against input tokens, and cache writes do', async () => {
  const counts = { input_tokens: 1, output_tokens: 1 };
  world.upstream.play(scripts.message({ usage: { ...counts, cache_read_input_tokens: 5_000 } }));
  const reader = await world.makeKey({}, { input_tpm: 100 });
  for (let turn = 0; turn < 3; turn++) expect((await world.post(reader.secret, bodyOf())).status).toBe(200);
  world.upstream.play(scripts.message({ usage: { ...counts, cache_creation_input_tokens: 5_000 } }));
  const writer = await world.makeKey({}, { input_tpm: 100 });
  expect((await world.post(writer.secret, bodyOf())).status).toBe(200);
  await refuse(await world.post(writer.secret, bodyOf()), 'input_tokens_rate_exceeded');
  await expectMoney(world, reader, Array(3).fill({ cache_read_input_tokens: 5_000 }));
  await expectMoney(world, writer, [{ cache_creation_input_tokens: 5_000 }]);
});

test('concurrent messages of a key or a group are limited, and a slot is free when its message ends', async () => {
  for (const [account, key] of [
    [{}, { concurrency: 1 }],
    [{ groups: ['narrow'] }, {}],
  ] as const) {
    const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>();
    world.upstream.play(async (answer, request) => {
      await mayAnswer;
      await scripts.good()(answer, request);
    }, scripts.good());
    const before = world.upstream.requests.length;
    const caller = await world.makeKey(account, key);
    const running = world.post(caller.secret, bodyOf());
    while (world.upstream.requests.length === before) await Bun.sleep(2);
    await refuse(await world.post(caller.secret, bodyOf()), 'concurrency_exceeded');
    answerNow();
    expect((await running).status).toBe(200);
    expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
    await expectMoney(world, caller, [GOOD, GOOD]);
  }
});

test('under any concurrency the number of running messages stays within the limit', async () => {
  let running = 0;
  let most = 0;
  const { promise: threeArrived, resolve: threeRun } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    most = Math.max(most, ++running);
    if (running === 3) threeRun();
    await threeArrived; // however slowly the first three arrive
    await Bun.sleep(20);
    running--;
    await scripts.good()(answer, request);
  });
  const caller = await world.makeKey({}, { concurrency: 3 });
  const answers = await Promise.all(Array.from({ length: 40 }, () => world.post(caller.secret, bodyOf())));
  expect(most).toBe(3);
  const passed = answers.filter(({ status }) => status === 200).length;
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(40 - passed);
  await expectMoney(world, caller, Array(passed).fill(GOOD));
});

test('a rate limit never stops a running message', async () => {
  world.upstream.play(scripts.stream({ text: 'x'.repeat(400), pieces: 40, finalUsage: { output_tokens: 60 } }));
  const caller = await world.makeKey({ groups: ['slow'] });
  const text = await (await world.post(caller.secret, bodyOf({ stream: true }))).text();
  expect(text).toContain('message_stop');
  await refuse(await world.post(caller.secret, bodyOf({ stream: true })), 'output_tokens_rate_exceeded', /the account/);
  await expectMoney(world, caller, [{ output_tokens: 60, outcome: 'completed' }]);
});

test('a refused message consumes nothing from any meter', async () => {
  const caller = await world.makeKey({ credit: '0' }, { rpm: 1 });
  for (let turn = 0; turn < 3; turn++) expect((await world.post(caller.secret, bodyOf())).status).toBe(400);
  await world.admin('POST', `/accounts/${caller.account}/credits`, { amount: '1.00' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD], '1.00');
});
