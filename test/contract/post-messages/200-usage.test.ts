// The charge if the provider's own counts are missing, zero, absurd or unknown.

import { afterAll, expect, test } from 'bun:test';
import { costOf, countText } from '../../support/count-text.ts';
import { eventText, type Saying, scripts, upstreamEvents } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

async function answer(stream: boolean, saying: Saying, expected: Json, members: Json = {}) {
  world.upstream.play(stream ? scripts.stream(saying) : scripts.message(saying));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream, ...members }));
  expect(response.status).toBe(200);
  await response.text();
  const [record] = await expectMoney(world, caller, [{ outcome: 'completed', ...expected }]);
  return record as Json;
}

const TEXT = 'thirty-two bytes of text, quite so'.slice(0, 32);
const TEXT_TOKENS = countText(TEXT);

test('missing usage is counted here: the prompt from its text, the output from what was sent', async () => {
  for (const stream of [false, true]) {
    const saying = { text: TEXT, usage: null, finalUsage: null };
    const record = await answer(stream, saying, { usage_source: 'estimated', output_tokens: TEXT_TOKENS });
    const input = record['input_tokens'] as number;
    expect(input).toBeWithin(1, 100);
    expect(record['cost']).toBe(costOf(input, 3, TEXT_TOKENS, 15));
  }
});

test('an explicit zero is zero, and is not estimated', async () => {
  const zero = { input_tokens: 0, output_tokens: 0 };
  await answer(false, { usage: zero }, { usage_source: 'reported', input_tokens: 0, output_tokens: 0, cost: '0' });
  await answer(
    true,
    { usage: zero, finalUsage: { output_tokens: 0 } },
    { usage_source: 'reported', input_tokens: 0, output_tokens: 0, cost: '0' },
  );
});

test('a stream that reports its input count only at the end is billed with that count', async () => {
  // 40 × 3 + 12 × 15 = 300
  await answer(
    true,
    { usage: { input_tokens: 0, output_tokens: 0 }, finalUsage: { input_tokens: 40, output_tokens: 12 } },
    { usage_source: 'reported', input_tokens: 40, cost: '0.0003' },
  );
});

test('later counts of a stream replace earlier ones and are never added up', async () => {
  const events = upstreamEvents();
  const intermediate = eventText({ type: 'message_delta', delta: {}, usage: { output_tokens: 7 } });
  world.upstream.play(
    scripts.rawStream([...events.slice(0, 4), intermediate, intermediate, ...events.slice(4)].join('')),
  );
  const caller = await world.makeKey();
  await (await world.post(caller.secret, bodyOf({ stream: true }))).text();
  await expectMoney(world, caller, [{ input_tokens: 25, output_tokens: 12, cost: '0.000255' }]);
});

test('an absurd output count is replaced by an estimate', async () => {
  const cost = costOf(25, 3, TEXT_TOKENS, 15);
  const expected = { usage_source: 'estimated', input_tokens: 25, output_tokens: TEXT_TOKENS, cost };
  for (const absurd of [-5, 1.5, 1e18, '12', null, [], 20_000_000]) {
    await answer(false, { text: TEXT, usage: { input_tokens: 25, output_tokens: absurd } }, expected);
    await answer(true, { text: TEXT, finalUsage: { output_tokens: absurd } }, expected);
  }
});

test('an output count far above the limit is replaced by an estimate, one slightly above is accepted', async () => {
  const usage = (output: number) => ({ text: TEXT, finalUsage: { output_tokens: output } });
  await answer(true, usage(1_000_000), { usage_source: 'estimated', output_tokens: TEXT_TOKENS });
  await answer(true, usage(70), { usage_source: 'reported', output_tokens: 70 });
});

test('an absurd input count is estimated', async () => {
  for (const absurd of [-1, 1e15, 'many']) {
    const usage = { input_tokens: absurd, output_tokens: 12 };
    const record = await answer(false, { usage }, { usage_source: 'estimated', output_tokens: 12 });
    expect(record['input_tokens']).toBeWithin(1, 1_000);
  }
});

test('an unknown count changes neither response nor charge', async () => {
  const usage = { input_tokens: 25, output_tokens: 12, tokens_of_the_future: 9_999 };
  await answer(false, { usage }, { usage_source: 'reported', cost: '0.000255' });
});

test('a cost above the hold is charged as far as the balance allows, and the rest is written off', async () => {
  world.upstream.play(scripts.message({ usage: { input_tokens: 100_000, output_tokens: 12 } }));
  // 300,180 millionths were used. The first account has 10 dollars, the second a fifth of one.
  const rich = await world.makeKey();
  await world.post(rich.secret, bodyOf());
  await expectMoney(world, rich, [{ cost: '0.30018', written_off: '0' }]);
  const poor = await world.makeKey({ credit: '0.20' });
  await world.post(poor.secret, bodyOf());
  await expectMoney(world, poor, [{ cost: '0.30018', written_off: '0.10018' }], '0.20');
});

test('cache writes without a lifetime are priced as the longest requested one, where the provider got the request', async () => {
  const price = { input: '3', output: '15', cache_write_5m: '4', cache_write_1h: '6' };
  const document = {
    providers: { chat: { kind: 'openai', base_url: world.upstream.url, private_network: true } },
    models: {
      cached: { price, routes: [{ provider: 'first', model: 'upstream-model' }] },
      chat: { price, routes: [{ provider: 'chat', model: 'upstream-model' }] },
    },
  };
  await world.admin('POST', '/apply', { document });
  const usage = { input_tokens: 0, cache_creation_input_tokens: 1_000, output_tokens: 0 };
  const withTtl = (ttl: string) => ({ model: 'cached', cache_control: { type: 'ephemeral', ttl } });
  for (const stream of [false, true]) {
    const saying = { usage, finalUsage: { output_tokens: 0 } };
    await answer(stream, saying, { cost: '0.006' }, withTtl('1h'));
    await answer(stream, saying, { cost: '0.004' }, withTtl('5m'));
  }
  // Other protocols have one lifetime.
  const choice = { index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'a' } };
  const reported = { prompt_tokens: 1_000, completion_tokens: 0, prompt_tokens_details: { cache_write_tokens: 1_000 } };
  world.upstream.play(
    scripts.json(JSON.stringify({ id: 'c', object: 'chat.completion', choices: [choice], usage: reported })),
  );
  const caller = await world.makeKey();
  await world.post(caller.secret, bodyOf({ ...withTtl('1h'), model: 'chat' }));
  await expectMoney(world, caller, [{ cost: '0.004' }]);
});
