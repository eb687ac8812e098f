// Fields beyond the protocols: a provider gets those that its `passthrough` names and nothing that decides what a message
// costs, whatever the client writes. The rest is left out, and named in the log.

import { afterAll, describe, expect, test } from 'bun:test';
import { PASS_PRESETS } from '../../../src/catalog/passthrough.ts';
import { scripts } from '../../support/scripted-upstream.ts';
import { type Json, bodyOf as messageOf, sharedWorld } from '../post-messages/world.ts';
import { chatCompletions } from './drivers/chat-completions.ts';
import { completions } from './drivers/completions.ts';
import { generateContent } from './drivers/generate-content.ts';
import { responses } from './drivers/responses.ts';
import { expectError, post, sentOf } from './front-world.ts';

const price = { input: '3', output: '15' };
const presets = Object.keys(PASS_PRESETS);
const SETTINGS: Readonly<Record<string, string | string[]>> = {
  ...Object.fromEntries(presets.map((name) => [name, name])),
  all: 'all',
  listed: ['vllm', 'top_a', 'provider'],
};
const KINDS = ['openai', 'openai-responses'];

const world = await sharedWorld();
afterAll(() => world.stop());
const nameOf = (kind: string, setting: string) => `${kind}-${setting}`;
const places = KINDS.flatMap((kind) => [...Object.keys(SETTINGS), 'none'].map((setting) => ({ kind, setting })));
const models = Object.fromEntries(
  places.map(({ kind, setting }) => [
    nameOf(kind, setting),
    { price, routes: [{ provider: nameOf(kind, setting), model: 'llama' }] },
  ]),
);
const providers = Object.fromEntries(
  places.map(({ kind, setting }) => [
    nameOf(kind, setting),
    {
      kind,
      base_url: world.upstream.url,
      private_network: true,
      ...(SETTINGS[setting] !== undefined && { passthrough: SETTINGS[setting] }),
    },
  ]),
);
await world.admin('POST', '/apply', { document: { providers, models } });

/** A value of each field; any other is a number. */
const VALUES: Readonly<Record<string, unknown>> = {
  bad_words: ['a'],
  chat_template_kwargs: { enable_thinking: false },
  guided_choice: ['yes', 'no'],
  guided_grammar: 'root ::= "a"',
  guided_json: { type: 'object', properties: { model: { type: 'string' }, n: { type: 'integer' } } },
  guided_regex: 'a+',
  keep_alive: '5m',
  logit_bias: { '50256': -100 },
  options: { num_ctx: 4096, mirostat: 1 },
  provider: { order: ['a'], max_price: { prompt: 1 } },
  reasoning: { effort: 'low' },
  reasoning_effort: 'low',
  structured_outputs: { json: { type: 'object' } },
  think: false,
  transforms: ['middle-out'],
};
const FIELDS = [...new Set([...Object.values(PASS_PRESETS).flat(), 'top_a', 'provider', 'their_own'])].map(
  (name): [string, unknown] => [name, VALUES[name] ?? 0.5],
);
/** In any spelling: servers ignore case, or have aliases. */
const NEVER: Json = {
  N: 4,
  best_of: 4,
  num_return_sequences: 3,
  use_beam_search: true,
  MODEL: 'gpt-5.5-pro',
  ſtream: true,
  Max_Tokens: 99_999,
  max_new_tokens: 99_999,
  n_predict: 99_999,
  num_predict: 99_999,
  Messages: [{ role: 'user', content: 'x' }],
  plugins: [{ id: 'web' }],
  models: ['openai/gpt-5.5-pro'],
  route: 'fallback',
  preset: 'dear',
  search_parameters: { mode: 'on' },
  enable_search: true,
  chat_template: '{{ x }}',
  custom_logit_processor: 'x',
  kv_transfer_params: { remote_host: '169.254.169.254' },
  priority: -1,
  'Service-Tier': 'priority',
  extra_headers: { authorization: 'x' },
  __proto__x: 1,
  _debug_render_only: true,
};
const NESTED: Json = {
  options: { Num_Predict: 99_999, n_predict: 1, num_ctx: 4_096, list: [{ model: 'x' }] },
  chat_template_kwargs: {
    chat_template: '{{ x }}',
    tokenize: true,
    documents: ['long'],
    enable_thinking: true,
    a: 'low',
    b: 'x'.repeat(65),
    c: ['x'],
    d: { e: 'x' },
  },
};

const sent = async (front: typeof chatCompletions, model: string, members: Json) => {
  world.upstream.play(model.startsWith('openai-responses') ? scripts.json(RESPONSE) : scripts.json(CHAT));
  const { secret } = await world.makeKey();
  const response = await post(front, world, secret, { model, members });
  expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
  return sentOf(world);
};
const USAGE = { prompt_tokens: 9, completion_tokens: 1 };
const CHAT = JSON.stringify({
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }],
  usage: USAGE,
});
const RESPONSE = JSON.stringify({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }],
  usage: { input_tokens: 9, output_tokens: 1 },
});

/** Sent anyway, translated. */
const OWN: Readonly<Record<string, readonly string[]>> = {
  openai: ['seed', 'frequency_penalty', 'presence_penalty'],
};

describe.each(places.filter(({ setting }) => setting !== 'none'))(
  '$kind, passthrough: $setting',
  ({ kind, setting }) => {
    const model = nameOf(kind, setting);
    const named = new Set(
      [SETTINGS[setting] ?? []].flat().flatMap((name) => (name === 'all' ? [] : (PASS_PRESETS[name] ?? [name]))),
    );
    const isPassed = (name: string) => named.has(name) || (setting === 'all' && name !== 'provider');

    test('a client of Chat Completions reaches the server with these fields, beside its request or in extra_body', async () => {
      // A bias is refused where it is not passed on.
      const fields = Object.fromEntries(FIELDS.filter(([name]) => name !== 'logit_bias' || isPassed(name)));
      for (const members of [fields, { extra_body: fields }]) {
        const body = await sent(chatCompletions, model, members);
        const got = FIELDS.filter(([name, value]) => Bun.deepEquals(body[name], value)).map(([name]) => name);
        const expected = FIELDS.map(([name]) => name).filter((name) => isPassed(name) || OWN[kind]?.includes(name));
        expect(got.sort()).toEqual(expected.sort());
        expect(body['extra_body']).toBeUndefined();
      }
    });

    test('nothing that decides what it costs, in any spelling and place', async () => {
      const before = await sent(chatCompletions, model, {});
      for (const members of [NEVER, { extra_body: NEVER }])
        expect(await sent(chatCompletions, model, members)).toEqual(before);
      const { options, chat_template_kwargs: kwargs } = await sent(chatCompletions, model, NESTED);
      if (isPassed('options')) expect(options).toEqual({ num_ctx: 4_096, list: [{}] });
      else expect(options).toBeUndefined();
      if (isPassed('chat_template_kwargs')) expect(kwargs).toEqual({ enable_thinking: true, a: 'low' });
      else expect(kwargs).toBeUndefined();
    });

    test('top_k of messages and of Gemini, and the same fields of a Responses request', async () => {
      const { top_k } = await sent(generateContent, model, { generationConfig: { topK: 7 } });
      expect(top_k).toBe(isPassed('top_k') ? 7 : undefined);
      const { secret } = await world.makeKey();
      world.upstream.play(kind === 'openai' ? scripts.json(CHAT) : scripts.json(RESPONSE));
      const response = await world.post(secret, messageOf({ model, top_k: 7, min_p: 0.1 }));
      expect(response.status).toBe(200);
      expect(sentOf(world)['top_k']).toBe(isPassed('top_k') ? 7 : undefined);
      expect(sentOf(world)['min_p']).toBe(isPassed('min_p') ? 0.1 : undefined);
      const body = await sent(responses, model, { min_p: 0.2, NUM_PREDICT: 7 });
      expect([body['min_p'], body['NUM_PREDICT']]).toEqual([isPassed('min_p') ? 0.2 : undefined, undefined]);
    });
  },
);

test.each([...KINDS.map((kind) => nameOf(kind, 'none')), 'plain'])(
  '%s: a field that the answer depends on is refused by name where it is not passed on',
  async (model) => {
    const { secret } = await world.makeKey();
    const biased = await post(chatCompletions, world, secret, { model, members: { logit_bias: { '1': 2 } } });
    await expectError(chatCompletions, biased, 'upstream_rejected', 'logit_bias');
  },
);

test('fields of a text completion reach a provider that takes them', async () => {
  const choice = { index: 0, text: 'a', finish_reason: 'stop' };
  world.upstream.play(scripts.json(JSON.stringify({ id: 'c', choices: [choice], usage: USAGE })));
  const { secret } = await world.makeKey();
  const members = { min_p: 0.1, extra_body: { top_k: 3 }, n_predict: 99_999, their_own: 1, tools: [] };
  const response = await post(completions, world, secret, { model: nameOf('openai', 'vllm'), members });
  expect(response.status).toBe(200);
  expect(sentOf(world)).toMatchObject({ prompt: expect.any(String), min_p: 0.1, top_k: 3 });
  expect(sentOf(world)).not.toContainAnyKeys(['n_predict', 'their_own', 'tools', 'extra_body']);
});

test('thinking that is asked for in the words of a server is paid before it begins', async () => {
  const { secret } = await world.makeKey({ credit: '0.01' });
  const asked = { reasoning: { max_tokens: 50_000, exclude: true }, thinking: { type: 'disabled' } };
  const members = { max_tokens: 60_000, stream: true, ...asked };
  world.upstream.play(scripts.json(CHAT));
  const response = await post(chatCompletions, world, secret, { model: nameOf('openai', 'openrouter'), members });
  expect(response.status).toBe(200);
  await response.text();
  expect(sentOf(world)['max_tokens']).toBeLessThan(700);
  expect(sentOf(world)['reasoning']).toEqual(asked.reasoning);
});

test('thinking that no provider is asked for does not lower the limit of the answer', async () => {
  const { secret } = await world.makeKey({ credit: '0.01' });
  const asked = { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } };
  const members = { max_tokens: 60_000, stream: true, ...asked };
  world.upstream.play(scripts.json(CHAT));
  const response = await post(chatCompletions, world, secret, { model: nameOf('openai', 'none'), members });
  expect(response.status).toBe(200);
  await response.text();
  expect(sentOf(world)['max_tokens']).toBe(60_000);
});
