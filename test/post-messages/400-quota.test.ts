// Money that is not there: the answer is 400 insufficient_user_quota, says which meter was short and
// what to do, and nothing is sent on.

import { afterAll, expect, test } from 'bun:test';
import { scripts } from '../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, type Json, startWorld } from './world.ts';

const world = await startWorld();
afterAll(() => world.stop());

const refuse = (response: Response, words: RegExp) =>
  expectError(response, 400, 'billing_error', 'insufficient_user_quota', words);
// At most one token a byte and 16 a message at 3, and 64 tokens of output at 15.
const worstCase = (body: Json) => (Buffer.byteLength(JSON.stringify(body)) + 16) * 3 + 64 * 15;
const usd = (millionths: number) => (millionths / 1e6).toFixed(6);

test('an empty balance is told to recharge, streamed or not', async () => {
  const caller = await world.makeKey({ credit: '0' });
  for (const stream of [false, true]) {
    const message = await refuse(await world.post(caller.secret, bodyOf({ stream })), /balance of the account/);
    expect(message).toContain('Recharge');
  }
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller, '0');
});

test('a balance of exactly the worst case is enough, and a millionth less is not', async () => {
  world.upstream.play(scripts.good());
  const exact = worstCase(bodyOf());
  const poor = await world.makeKey({ credit: usd(exact - 1) });
  await refuse(await world.post(poor.secret, bodyOf()), /balance/);
  await expectNoTrace(world, poor, usd(exact - 1));
  const rich = await world.makeKey({ credit: usd(exact) });
  expect((await world.post(rich.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, rich, [GOOD], usd(exact));
});

test('the max_tokens that would fit is named, and it fits', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ credit: usd(worstCase(bodyOf()) - 100) });
  const message = await refuse(await world.post(caller.secret, bodyOf()), /max_tokens of at most \d+/);
  const fits = Number(/max_tokens of at most (\d+)/.exec(message)?.[1]);
  expect(fits).toBe(57); // 100 millionths less: ⌈100 ÷ 15⌉ = 7 tokens fewer
  await refuse(await world.post(caller.secret, bodyOf({ max_tokens: fits + 1 })), /at most 57/);
  expect((await world.post(caller.secret, bodyOf({ max_tokens: fits }))).status).toBe(200);
  await expectMoney(world, caller, [GOOD], usd(worstCase(bodyOf()) - 100));
});

test('any whole number is a max_tokens, though no balance may pay it', async () => {
  const caller = await world.makeKey();
  for (const tokens of [1_000_000_001, Number.MAX_SAFE_INTEGER])
    await refuse(await world.post(caller.secret, bodyOf({ max_tokens: tokens })), /max_tokens of at most \d+/);
  await expectNoTrace(world, caller);
});

test('a credit line is spent below zero, to its end', async () => {
  world.upstream.play(scripts.message({ usage: { input_tokens: 25, output_tokens: 12 } }));
  const caller = await world.makeKey({ credit: '0', credit_line: usd(worstCase(bodyOf())) });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await refuse(await world.post(caller.secret, bodyOf()), /balance/);
  await expectMoney(world, caller, [GOOD], '0');
});

test('a key’s quota bounds it, and other keys of the account go on', async () => {
  world.upstream.play(scripts.good());
  const quota = usd(worstCase(bodyOf()));
  const caller = await world.makeKey({}, { quota });
  const other = await world.admin('POST', '/keys', { account: caller.account });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  const message = await refuse(await world.post(caller.secret, bodyOf()), /quota of this key/);
  expect(message).not.toContain('Recharge');
  expect((await world.post(other['key'] as string, bodyOf())).status).toBe(200);
  expect(await world.admin('GET', `/keys/${caller.key}`)).toMatchObject({ quota_used: GOOD.cost });
  await expectMoney(world, caller, [GOOD, GOOD]);
  await world.admin('PATCH', `/keys/${caller.key}`, { quota: '1.00' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('an account’s allowance bounds all its keys', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ allowance: usd(worstCase(bodyOf())), allowance_period: 'month' });
  const other = await world.admin('POST', '/keys', { account: caller.account });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  for (const secret of [caller.secret, other['key'] as string])
    await refuse(await world.post(secret, bodyOf()), /allowance of the account/);
  await expectMoney(world, caller, [GOOD]);
});

test('credit that comes is there for the next message', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ credit: '0' });
  await refuse(await world.post(caller.secret, bodyOf()), /balance/);
  await world.admin('POST', `/accounts/${caller.account}/credits`, { amount: '1.00' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD], '1.00');
});

test('where only other messages’ holds stand in the way, a retry is not forbidden, and helps', async () => {
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await mayAnswer;
    await scripts.good()(answer, request);
  }, scripts.good());
  const before = world.upstream.requests.length;
  const caller = await world.makeKey({ credit: usd(worstCase(bodyOf()) + 300) });
  const first = world.post(caller.secret, bodyOf());
  while (world.upstream.requests.length === before) await Bun.sleep(2);
  const refused = await world.post(caller.secret, bodyOf());
  expect(refused.status).toBe(400);
  expect(refused.headers.get('x-should-retry')).toBeNull();
  expect(((await refused.json()) as { error: Json }).error).toMatchObject({
    code: 'insufficient_user_quota',
    message: expect.stringContaining('when they have ended'),
  });
  answerNow();
  expect((await first).status).toBe(200);
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD], usd(worstCase(bodyOf()) + 300));
});

test('under any concurrency no more is sold than can be paid', async () => {
  world.upstream.play(scripts.good());
  const credit = usd(worstCase(bodyOf()) * 3);
  const caller = await world.makeKey({ credit });
  const answers = await Promise.all(Array.from({ length: 40 }, () => world.post(caller.secret, bodyOf())));
  const sold = answers.filter(({ status }) => status === 200).length;
  expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true);
  expect(sold).toBeGreaterThan(2);
  await expectMoney(world, caller, Array(sold).fill(GOOD), credit);
});
