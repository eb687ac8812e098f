// Answers that a provider served in another tier or speed than was requested: billed by the rates that are known, and with
// an unknown charge of the provider where it has none.

import { expect, test } from 'bun:test';
import { scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from './world.ts';

const world = await sharedWorld();
const at = { base_url: world.upstream.url, private_network: true, api_key: 'key' };
const KINDS = ['anthropic', 'openai', 'openai-responses', 'gemini'];
const plain = { input: '3', output: '15' };
const fast = { ...plain, fast: { input: '30', output: '150' } };
const modelsOf = (kind: string): [string, Json][] => [
  [`tier-${kind}`, { price: fast, routes: [{ provider: `tier-${kind}`, model: 'm', cost: fast }] }],
  [`tier-${kind}-plain`, { price: plain, routes: [{ provider: `tier-${kind}`, model: 'm', cost: plain }] }],
];
await world.admin('POST', '/apply', {
  document: {
    providers: Object.fromEntries(KINDS.map((kind) => [`tier-${kind}`, { kind, ...at }])),
    models: Object.fromEntries(KINDS.flatMap(modelsOf)),
  },
});

/** Whole answers with 100 input and 10 output tokens, and this tier as the provider says it. */
const ANSWERS: Record<string, (tier: string) => Json> = {
  anthropic: (tier) => ({
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: 100,
      output_tokens: 10,
      ...(tier === 'priority' ? { speed: 'fast' } : { service_tier: tier }),
    },
  }),
  openai: (tier) => ({
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    service_tier: tier,
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  }),
  'openai-responses': (tier) => ({
    id: 'r',
    object: 'response',
    status: 'completed',
    model: 'm',
    service_tier: tier,
    output: [{ type: 'message', id: 'i', role: 'assistant', content: [{ type: 'output_text', text: 'Hi' }] }],
    usage: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  }),
  gemini: (tier) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hi' }] }, finishReason: 'STOP' }],
    modelVersion: 'm',
    usageMetadata: {
      promptTokenCount: 100,
      candidatesTokenCount: 10,
      totalTokenCount: 110,
      trafficType: tier === 'standard' ? 'ON_DEMAND' : `ON_DEMAND_${tier.toUpperCase()}`,
    },
  }),
};

async function recordOf(kind: string, model: string, tier: string, expected: Json): Promise<void> {
  world.upstream.play(scripts.json(JSON.stringify(ANSWERS[kind]?.(tier))));
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf({ model }));
  expect([kind, model, response.status]).toEqual([kind, model, 200]);
  await response.text();
  await expectMoney(world, caller, [{ input_tokens: 100, output_tokens: 10, ...expected }]);
}

test.each(KINDS)('kind %s: the standard tier has the listed rates', async (kind) => {
  // 100 × 3 + 10 × 15 = 450 millionths
  await recordOf(kind, `tier-${kind}`, 'standard', { cost: '0.00045', provider_cost: '0.00045' });
});

test.each(KINDS)('kind %s: a faster tier than requested is billed by its rates', async (kind) => {
  // 100 × 30 + 10 × 150 = 4,500 millionths
  await recordOf(kind, `tier-${kind}`, 'priority', { cost: '0.0045', provider_cost: '0.0045' });
});

test.each(KINDS)('kind %s: without such rates it is billed as usual, and costs an unknown amount', async (kind) => {
  await recordOf(kind, `tier-${kind}-plain`, 'priority', { cost: '0.00045', provider_cost: null });
});

test.each(KINDS)(
  'kind %s: a tier without rates of any kind is billed as usual, and costs an unknown amount',
  async (kind) => {
    await recordOf(kind, `tier-${kind}`, 'flex', { cost: '0.00045', provider_cost: null });
  },
);

test('the tier counts wherever it comes in a stream', async () => {
  const chunk = (more: Json) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [], ...more })}\n\n`;
  const said = (delta: Json, finish_reason: string | null = null) => ({
    choices: [{ index: 0, delta, finish_reason }],
  });
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
  const caller = await world.makeKey();
  for (const [first, last] of [
    [{ service_tier: 'priority' }, {}],
    [{}, { service_tier: 'priority' }],
  ] as [Json, Json][]) {
    const events = [said({ content: 'Hi' }), said({}, 'stop'), { usage, ...last }].map((one, place) =>
      chunk(place === 0 ? { ...one, ...first } : one),
    );
    world.upstream.play(async (answer) => {
      answer.begin(200, { 'content-type': 'text/event-stream' });
      await answer.write(`${events.join('')}data: [DONE]\n\n`);
      answer.end();
    });
    await (await world.post(caller.secret, bodyOf({ model: 'tier-openai', stream: true }))).text();
  }
  await expectMoney(world, caller, [{ cost: '0.0045' }, { cost: '0.0045' }]);
});

test('a stream that begins with the requested tier is billed by the one that it ends with', async () => {
  const caller = await world.makeKey();
  const answer = ANSWERS['openai-responses'] as (tier: string) => Json;
  const begun = { ...answer('priority'), status: 'in_progress', output: [], usage: null };
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hi' },
    { type: 'response.completed', response: answer('default') },
  ];
  world.upstream.play(async (connection) => {
    connection.begin(200, { 'content-type': 'text/event-stream' });
    await connection.write(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
    connection.end();
  });
  await (await world.post(caller.secret, bodyOf({ model: 'tier-openai-responses', stream: true }))).text();
  await expectMoney(world, caller, [{ cost: '0.00045', provider_cost: '0.00045', service_tier: 'standard' }]);
});
