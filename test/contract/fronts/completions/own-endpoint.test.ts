// Text completions over a provider that has an endpoint for them, and over Claude: what each is sent, what the client gets and pays.

import { afterAll, expect, test } from 'bun:test';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { expectMoney, type Json, sharedWorld } from '../../post-messages/world.ts';
import { completions } from '../drivers/completions.ts';
import { answerOf, post, sentOf } from '../front-world.ts';

const usage = { prompt_tokens: 25, completion_tokens: 12, total_tokens: 37 };
const head = { id: 'cmpl-theirs', object: 'text_completion', model: 'coder' };
const texts = ['return ', 'n'].map((text) => ({ ...head, choices: [{ index: 0, text, finish_reason: null }] }));
const end = { ...head, choices: [{ index: 0, text: '', finish_reason: 'stop' }] };
const whole = { ...head, choices: [{ index: 0, text: 'return n', finish_reason: 'stop' }], usage };
const events = [...texts, end, { ...head, choices: [], usage }].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
const completes: Script = (answer, { body }) =>
  (JSON.parse(body) as Json)['stream'] === true
    ? answer.send(200, { 'content-type': 'text/event-stream' }, `${events.join('')}data: [DONE]\n\n`)
    : answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(whole));

const upstream = await startScriptedUpstream(completes);
const world = await sharedWorld({
  providers: {
    local: { kind: 'openai', base_url: upstream.url, api_key: 'sk-upstream-credential-3', private_network: true },
  },
  models: { coder: { price: { input: '3', output: '15' }, routes: [{ provider: 'local', model: 'coder' }] } },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

test.each([false, true])(
  'the provider completes the prompt itself, and its usage is billed (streamed: %p)',
  async (stream) => {
    upstream.play(completes);
    const caller = await world.makeKey();
    const prompt = { model: 'coder', stream, turns: [{ user: 'def f(n):\n' }], members: { stop: '\n\n' } };
    expect(await answerOf(completions, await post(completions, world, caller.secret, prompt), stream)).toMatchObject({
      text: 'return n',
      stop: 'stop',
      usage: { prompt: 25, output: 12 },
    });
    expect(upstream.requests.at(-1)?.path).toBe('/v1/completions');
    expect(sentOf({ upstream })).toEqual({
      model: 'coder',
      prompt: 'def f(n):\n',
      max_tokens: 64,
      stop: ['\n\n'],
      ...(stream && { stream, stream_options: { include_usage: true } }),
    });
    await expectMoney(world, caller, [
      { usage_source: 'reported', input_tokens: 25, output_tokens: 12, cost: '0.000255' },
    ]);
  },
);

test.each([false, true])(
  'Claude is asked for what is between, and its answer is cut and billed whole (streamed: %p)',
  async (stream) => {
    world.upstream.play(scripts.good({ text: 'return n\n\nThat is all.' }));
    const caller = await world.makeKey();
    const prompt = { stream, turns: [{ user: 'def f(n):' }], members: { suffix: 'f(7)', stop: ['\n\n', '#'] } };
    expect(await answerOf(completions, await post(completions, world, caller.secret, prompt), stream)).toMatchObject({
      text: 'return n',
      stop: 'stop',
    });
    expect(sentOf(world)).toMatchObject({
      stop_sequences: ['#'],
      system: [{ type: 'text' }],
      messages: [{ content: [{ text: '<before>def f(n):</before>\n<after>f(7)</after>' }] }],
    });
    await expectMoney(world, caller, [{ output_tokens: 12, cost: '0.000255' }]);
  },
);
