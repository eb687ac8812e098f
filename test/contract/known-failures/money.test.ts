// Money that other systems spent twice or held too little of. docs/known-failures.md has the sources.

import { afterAll, expect, test } from 'bun:test';
import { type Script, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, sharedWorld } from '../post-messages/world.ts';

const PROMPT_TOKENS = 300_000;
const world = await sharedWorld({
  models: {
    long: {
      // A prompt of 300,000 tokens costs 0.60, although the lower rate would give 0.30.
      price: { input: '1', output: '1', long_context: { above: 272_000, input: '2', output: '2' } },
      routes: [{ provider: 'first', model: 'upstream-model' }],
    },
  },
});
afterAll(() => world.stop());

test('every message has a hold on its account, however high the balance is', async () => {
  const { promise: mayAnswer, resolve: answerNow } = Promise.withResolvers<void>();
  world.upstream.play(async (answer, request) => {
    await mayAnswer;
    await scripts.good()(answer, request);
  });
  const credit = '1000000.00';
  const caller = await world.makeKey({ credit });
  const answers = [false, true].map((stream) => world.post(caller.secret, bodyOf({ stream })));
  while (world.upstream.requests.length < 2) await Bun.sleep(2);
  const { held } = await world.admin('GET', `/accounts/${caller.account}`);
  expect(Number(held)).toBeGreaterThan(2 * 64 * 15e-6); // the output of both messages, plus their prompts
  answerNow();
  for (const answer of answers) await (await answer).text();
  await expectMoney(world, caller, [GOOD, GOOD], credit);
});

test('a long prompt is held at the rates of long prompts, so a balance of 0.45 cannot pay for a prompt of 0.60', async () => {
  const counted: Script = (answer, request) =>
    request.path.includes('count_tokens')
      ? scripts.json(`{"input_tokens":${PROMPT_TOKENS}}`)(answer, request)
      : scripts.good({
          usage: { input_tokens: PROMPT_TOKENS, output_tokens: 1 },
          finalUsage: { output_tokens: 1 },
        })(answer, request);
  world.upstream.play(counted);
  const messages = [{ role: 'user', content: 'x'.repeat(PROMPT_TOKENS) }];
  for (const stream of [false, true]) {
    const poor = await world.makeKey({ credit: '0.45' });
    const before = generated();
    const refused = await world.post(poor.secret, bodyOf({ model: 'long', messages, stream }));
    await expectError(refused, 400, 'billing_error', 'insufficient_user_quota');
    expect(generated()).toBe(before);
    await expectNoTrace(world, poor, '0.45');

    const rich = await world.makeKey({ credit: '0.65' });
    const response = await world.post(rich.secret, bodyOf({ model: 'long', messages, stream }));
    expect(response.status).toBe(200);
    await response.text();
    await expectMoney(world, rich, [{ input_tokens: PROMPT_TOKENS, cost: '0.600002', written_off: '0' }], '0.65');
  }
});

/** The number of generations that the provider received. */
function generated(): number {
  return world.upstream.requests.filter(({ path }) => !path.includes('count_tokens')).length;
}
