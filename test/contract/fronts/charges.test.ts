// Charges of a provider to the operator are in no answer, whatever protocols the provider and the client have.

import { afterAll, expect, test } from 'bun:test';
import {
  type Script,
  scripts,
  startScriptedUpstream,
  upstreamEvents,
  upstreamMessage,
} from '../../support/scripted-upstream.ts';
import { bodyOf as messageOf, sharedWorld } from '../post-messages/world.ts';
import { fronts } from './drivers/drivers.ts';
import { nativeGemini } from './drivers/native-gemini.ts';
import { nativeResponses } from './drivers/native-responses.ts';
import type { Json } from './front-driver.ts';
import { post } from './front-world.ts';
import { streamText } from './native-driver.ts';

const CANARY = '98765432';
/** As OpenRouter, DeepInfra, xAI and Vercel write it. */
const CHARGES = {
  cost: 0.98765432,
  is_byok: true,
  cost_details: { upstream_inference_cost: 0.98765432, upstream_inference_prompt_cost: 98765432 },
  estimated_cost: 0.98765432,
  cost_in_usd_ticks: 98765432,
};
const GATEWAY = { provider_metadata: { gateway: { cost: '0.98765432', marketCost: '0.98765432' } } };

/** The value with charges in each usage, and beside it. */
function charged(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(charged);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [name, charged(inner)]);
  const members: Json = Object.fromEntries(entries);
  for (const name of ['usage', 'usageMetadata'])
    if (name in members) Object.assign(members, GATEWAY, { [name]: { ...(members[name] as Json), ...CHARGES } });
  return members;
}

const chargedText = (text: string) => JSON.stringify(charged(JSON.parse(text)));
const chargedStream = (text: string) => text.replaceAll(/(?<=^data: )\{.*$/gm, chargedText);
const chunk = (members: Json) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...members })}\n\n`;
const CHAT_USAGE = { prompt_tokens: 25, completion_tokens: 12, total_tokens: 37 };
const chatStream = [
  chunk({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Hello' }, finish_reason: null }] }),
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  chunk({ choices: [], usage: CHAT_USAGE }),
  'data: [DONE]\n\n',
].join('');
const choice = { index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' };
const chat = { id: 'c', object: 'chat.completion', choices: [choice], usage: CHAT_USAGE };
const streamOf = ({ events }: typeof nativeGemini) => {
  const { begun, end } = events(['Hello ', 'there']);
  return [...begun, ...end].join('');
};

const KINDS: Readonly<Record<string, { answer: unknown; stream: string }>> = {
  anthropic: { answer: upstreamMessage(), stream: upstreamEvents().join('') },
  openai: { answer: chat, stream: chatStream },
  'openai-responses': { answer: nativeResponses.answer, stream: streamOf(nativeResponses) },
  gemini: { answer: nativeGemini.answer, stream: streamOf(nativeGemini) },
};

const upstream = await startScriptedUpstream(scripts.html());
const at = { base_url: upstream.url, api_key: 'secret', private_network: true };
const price = { input: '3', output: '15' };
const world = await sharedWorld({
  providers: Object.fromEntries(Object.keys(KINDS).map((kind) => [`charged-${kind}`, { kind, ...at }])),
  models: {
    ...Object.fromEntries(
      Object.keys(KINDS).map((kind) => [
        `charged-${kind}`,
        { price, routes: [{ provider: `charged-${kind}`, model: kind === 'gemini' ? 'gemini-3-pro' : 'model' }] },
      ]),
    ),
    'charged-embeddings': {
      serves: 'embeddings',
      price: { input: '0.02' },
      routes: [{ provider: 'charged-openai', model: 'm' }],
    },
  },
});
afterAll(async () => {
  await world.stop();
  await upstream.close();
});

function play(kind: string, stream: boolean): void {
  const { answer, stream: events } = KINDS[kind] ?? { answer: null, stream: '' };
  const script: Script = stream ? streamText(chargedStream(events)) : scripts.json(JSON.stringify(charged(answer)));
  upstream.play(script);
}

test.each(Object.keys(KINDS))(
  'a provider of the kind %s: its charges are in no answer of any protocol',
  async (kind) => {
    const { secret } = await world.makeKey();
    const model = `charged-${kind}`;
    const answers: Record<string, string> = {};
    for (const stream of [false, true]) {
      play(kind, stream);
      const message = await world.post(secret, messageOf({ model, stream }));
      answers[`messages ${stream}`] = `${message.status} ${await message.text()}`;
      for (const [name, front] of fronts) {
        play(kind, stream);
        const members = stream && name === 'Chat Completions' ? { stream_options: { include_usage: true } } : {};
        const response = await post(front, world, secret, { model, stream, members });
        answers[`${name} ${stream}`] = `${response.status} ${await response.text()}`;
      }
    }
    for (const [name, text] of Object.entries(answers)) {
      expect({ name, text }).toEqual({ name, text: expect.stringContaining('200 ') });
      expect({ name, text }).toEqual({ name, text: expect.stringMatching(/Hello|Hi/) });
      expect({ name, text }).toEqual({
        name,
        text: expect.not.stringMatching(new RegExp(`${CANARY}|cost|is_byok`, 'i')),
      });
    }
  },
);

test('embeddings, and answers that are repeated for an idempotency-key, have no charges either', async () => {
  const { secret } = await world.makeKey();
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${secret}` };
  const embedded = { object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0.5] }], usage: CHAT_USAGE };
  upstream.play(scripts.json(JSON.stringify(charged(embedded))));
  const body = JSON.stringify({ model: 'charged-embeddings', input: 'Hi' });
  const vectors = await (await fetch(`${world.url}/v1/embeddings`, { method: 'POST', headers, body })).text();
  expect(JSON.parse(vectors)).toEqual({ ...embedded, provider_metadata: { gateway: {} } });
  const repeated = { model: 'charged-openai-responses', input: 'Hi', stream: true };
  const texts: string[] = [];
  for (const _ of [1, 2]) {
    play('openai-responses', true);
    const asked = { ...headers, 'idempotency-key': 'of-charges' };
    const options = { method: 'POST', headers: asked, body: JSON.stringify(repeated) };
    texts.push(await (await fetch(`${world.url}/v1/responses`, options)).text());
  }
  expect(texts[0]).not.toContain(CANARY);
  expect(texts[1]).not.toContain(CANARY);
  expect(texts[1]).toContain('response.completed');
});
