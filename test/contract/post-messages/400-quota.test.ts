// Insufficient money: the error is 400 insufficient_user_quota, names the exhausted meter and the remedy, and nothing
// is sent to a provider.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { setBounds } from '../../support/set-bounds.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
beforeEach(() => world.reset());
afterAll(() => world.stop());

const refuse = (response: Response, words: RegExp) =>
  expectError(response, 400, 'billing_error', 'insufficient_user_quota', words);
// At most one token per byte plus 16 per message at 3, and 64 tokens of output at 15.
const worstCase = (body: Json) => (Buffer.byteLength(JSON.stringify(body)) + 16) * 3 + 64 * 15;
const usd = (millionths: number) => (millionths / 1e6).toFixed(6);

/** Does not wait for other messages of the account to end. */
async function postWithoutWait(secret: string): Promise<Response> {
  using _ = setBounds({ holdWaitMsMax: 0 });
  return await world.post(secret, bodyOf());
}

test('an empty balance gets an error that says to add credit, streamed or not', async () => {
  const caller = await world.makeKey({ credit: '0' });
  for (const stream of [false, true]) {
    const message = await refuse(await world.post(caller.secret, bodyOf({ stream })), /balance of the account/);
    expect(message).toContain('Add credit');
  }
  expect(world.upstream.requests).toHaveLength(0);
  await expectNoTrace(world, caller, '0');
});

test('a balance of exactly the worst case is sufficient, and a millionth less is not', async () => {
  world.upstream.play(scripts.good());
  const exact = worstCase(bodyOf());
  const poor = await world.makeKey({ credit: usd(exact - 1) });
  await refuse(await world.post(poor.secret, bodyOf()), /balance/);
  await expectNoTrace(world, poor, usd(exact - 1));
  const rich = await world.makeKey({ credit: usd(exact) });
  expect((await world.post(rich.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, rich, [GOOD], usd(exact));
});

test('the error names the max_tokens that the balance can pay, and a request with it is accepted', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ credit: usd(worstCase(bodyOf()) - 100) });
  const message = await refuse(await world.post(caller.secret, bodyOf()), /max_tokens of at most \d+/);
  const fits = Number(/max_tokens of at most (\d+)/.exec(message)?.[1]);
  expect(fits).toBe(57); // 100 millionths less: ⌈100 ÷ 15⌉ = 7 tokens fewer
  await refuse(await world.post(caller.secret, bodyOf({ max_tokens: fits + 1 })), /at most 57/);
  expect((await world.post(caller.secret, bodyOf({ max_tokens: fits }))).status).toBe(200);
  await expectMoney(world, caller, [GOOD], usd(worstCase(bodyOf()) - 100));
});

test('any whole number is a valid max_tokens, even if no balance could pay it', async () => {
  const caller = await world.makeKey();
  for (const tokens of [1_000_000_001, Number.MAX_SAFE_INTEGER])
    await refuse(await world.post(caller.secret, bodyOf({ max_tokens: tokens })), /max_tokens of at most \d+/);
  await expectNoTrace(world, caller);
});

test('a credit line allows a negative balance, down to its limit', async () => {
  world.upstream.play(scripts.message({ usage: { input_tokens: 25, output_tokens: 12 } }));
  const caller = await world.makeKey({ credit: '0', credit_line: usd(worstCase(bodyOf())) });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await refuse(await world.post(caller.secret, bodyOf()), /balance/);
  await expectMoney(world, caller, [GOOD], '0');
});

test('a key’s quota limits that key, and other keys of the account are unaffected', async () => {
  world.upstream.play(scripts.good());
  const quota = usd(worstCase(bodyOf()));
  const caller = await world.makeKey({}, { quota });
  const other = await world.admin('POST', '/keys', { account: caller.account });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  const message = await refuse(await world.post(caller.secret, bodyOf()), /quota of this key/);
  expect(message).not.toContain('Add credit');
  expect((await world.post(other['key'] as string, bodyOf())).status).toBe(200);
  expect(await world.admin('GET', `/keys/${caller.key}`)).toMatchObject({ quota_used: GOOD.cost });
  await expectMoney(world, caller, [GOOD, GOOD]);
  await world.admin('PATCH', `/keys/${caller.key}`, { quota: '1.00' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD, GOOD]);
});

test('an account’s allowance limits all of its keys', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ allowance: usd(worstCase(bodyOf())), allowance_period: 'month' });
  const other = await world.admin('POST', '/keys', { account: caller.account });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  for (const secret of [caller.secret, other['key'] as string])
    await refuse(await world.post(secret, bodyOf()), /allowance of the account/);
  await expectMoney(world, caller, [GOOD]);
});

test('new credit is available to the next message', async () => {
  world.upstream.play(scripts.good());
  const caller = await world.makeKey({ credit: '0' });
  await refuse(await world.post(caller.secret, bodyOf()), /balance/);
  await world.admin('POST', `/accounts/${caller.account}/credits`, { amount: '1.00' });
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD], '1.00');
});

test('if only holds of other messages prevent a message, the error allows a retry, which succeeds later', async () => {
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await mayAnswer;
    await scripts.good()(answer, request);
  }, scripts.good());
  const before = world.upstream.requests.length;
  const caller = await world.makeKey({ credit: usd(worstCase(bodyOf()) + 300) });
  const first = world.post(caller.secret, bodyOf());
  while (world.upstream.requests.length === before) await Bun.sleep(2);
  const refused = await postWithoutWait(caller.secret);
  expect(refused.status).toBe(400);
  expect(refused.headers.get('x-should-retry')).toBeNull();
  expect(((await refused.json()) as { error: Json }).error).toMatchObject({
    code: 'insufficient_user_quota',
    message: expect.stringContaining('when they have finished'),
  });
  answerNow();
  expect((await first).status).toBe(200);
  expect((await world.post(caller.secret, bodyOf())).status).toBe(200);
  await expectMoney(world, caller, [GOOD, GOOD], usd(worstCase(bodyOf()) + 300));
});

test('concurrent messages never cost more than the balance can pay', async () => {
  world.upstream.play(scripts.good());
  const credit = usd(worstCase(bodyOf()) * 3);
  const caller = await world.makeKey({ credit });
  const answers = await Promise.all(Array.from({ length: 40 }, () => world.post(caller.secret, bodyOf())));
  const sold = answers.filter(({ status }) => status === 200).length;
  expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true);
  expect(sold).toBeGreaterThan(2);
  await expectMoney(world, caller, Array(sold).fill(GOOD), credit);
});
