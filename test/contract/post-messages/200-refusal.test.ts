// A refusal by the model: providers of the Messages protocol do not bill one before any output, except in some categories.

import { afterAll, expect, test } from 'bun:test';
import { eventText, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
afterAll(() => world.stop());

const USAGE = { input_tokens: 412, output_tokens: 0 };
const BILLED = '0.001236'; // 412 × 3 millionths

/** Refuses, after `content`, streamed or not. */
function refuse(stream: boolean, stop_details: Json | null, content: Json[] = []) {
  const head = { id: 'msg_1', type: 'message', role: 'assistant', model: 'upstream-model', content: [] };
  const ending = { stop_reason: 'refusal', stop_sequence: null, stop_details };
  if (!stream) return scripts.json(JSON.stringify({ ...head, ...ending, content, usage: USAGE }));
  const blocks = content.flatMap((content_block, index) => [
    { type: 'content_block_start', index, content_block },
    { type: 'content_block_stop', index },
  ]);
  const events = [
    { type: 'message_start', message: { ...head, stop_reason: null, usage: USAGE } },
    ...blocks,
    { type: 'message_delta', delta: ending, usage: { output_tokens: 0 } },
    { type: 'message_stop' },
  ];
  return scripts.rawStream(events.map(eventText).join(''));
}

async function ask(script: ReturnType<typeof refuse>, stream: boolean, expected: Json) {
  world.upstream.play(script);
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ stream }));
  expect(response.status).toBe(200);
  expect(await response.text()).toContain('"stop_reason":"refusal"');
  const [record] = await expectMoney(world, caller, [{ outcome: 'completed', usage_source: 'reported', ...expected }]);
  const shown = await fetch(`${world.url}/v1/usage/${(record as Json)['request_id']}`, {
    headers: { 'x-api-key': caller.secret },
  });
  return (await shown.json()) as Json;
}

test('a refusal before any output costs nothing, and its record keeps the tokens and says why', async () => {
  for (const stream of [false, true])
    for (const details of [null, { type: 'refusal', category: null }, { type: 'refusal', category: 'cyber' }]) {
      const shown = await ask(refuse(stream, details), stream, { cost: '0', input_tokens: 412, output_tokens: 0 });
      expect(shown['rates']).toMatchObject({ tier: 'unbilled', input: '0' });
    }
});

test('a refusal in a category that is billed, and one after output, costs what it used', async () => {
  for (const stream of [false, true]) {
    for (const category of ['bio', 'frontier_llm', 'reasoning_extraction', 'of the future'])
      await ask(refuse(stream, { type: 'refusal', category }), stream, { cost: BILLED });
    const text = { type: 'text', text: '' };
    await ask(refuse(stream, { type: 'refusal', category: 'cyber' }, [text]), stream, { cost: BILLED });
  }
});

test('a refusal by a provider of another protocol costs what it used', async () => {
  const route = { provider: 'chat', model: 'upstream-model' };
  const document = {
    providers: { chat: { kind: 'openai', base_url: world.upstream.url, private_network: true } },
    models: { chat: { price: { input: '3', output: '15' }, routes: [route] } },
  };
  await world.admin('POST', '/apply', { document });
  const choice = { index: 0, finish_reason: 'content_filter', message: { role: 'assistant', content: null } };
  const usage = { prompt_tokens: 412, completion_tokens: 0, total_tokens: 412 };
  world.upstream.play(scripts.json(JSON.stringify({ id: 'c', object: 'chat.completion', choices: [choice], usage })));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model: 'chat' }));
  expect((await response.json()) as Json).toMatchObject({ stop_reason: 'refusal', content: [] });
  await expectMoney(world, caller, [{ cost: BILLED }]);
});
