// A model whose vendor is preferred and that others sell too: a conversation with tools and thinking moves to the next
// provider and back, with nothing lost, and each answer costs what its own provider charges.

import { afterAll, expect, test } from 'bun:test';
import { eventText, type Script, scripts, upstreamMessage } from '../../support/scripted-upstream.ts';
import { bodyOf, expectMoney, type Json, startWorld } from '../post-messages/world.ts';

const world = await startWorld();
afterAll(() => world.stop());
const [vendor, cloud] = [world.upstream, world.second];
const CLOUD_MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const provider = (base_url: string) => ({ kind: 'anthropic', base_url, private_network: true, api_key: 'sk-any' });
await world.admin('POST', '/apply', {
  document: {
    providers: { vendor: provider(vendor.url), cloud: provider(cloud.url) },
    models: {
      sonnet: {
        price: { input: '3', output: '15' },
        routes: [
          { provider: 'vendor', model: 'claude-sonnet-4-5', cost: { input: '3', output: '15' } },
          { provider: 'cloud', model: CLOUD_MODEL, priority: 1, cost: { input: '3.3', output: '16.5' } },
        ],
      },
    },
  },
});

const tools = [{ name: 'read', description: 'Reads a file.', input_schema: { type: 'object', properties: {} } }];
const thinking = { type: 'enabled', budget_tokens: 1_024 };
const JSON_TYPE = { 'content-type': 'application/json' };

/** A provider's answer in a turn: thinking that it signed, text, and a call. */
const contentOf = (turn: number, signer: string) => [
  { type: 'thinking', thinking: `thought ${turn}`, signature: Buffer.from(`${signer} ${turn}`).toString('base64') },
  { type: 'redacted_thinking', data: Buffer.from(`hidden by ${signer} ${turn}`).toString('base64') },
  { type: 'text', text: `Reading, ${turn}.` },
  { type: 'tool_use', id: `toolu_${signer}_${turn}`, name: 'read', input: { path: `file ${turn}` } },
];
const resultOf = (content: readonly Json[]) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: content.at(-1)?.['id'], content: [{ type: 'text', text: 'done' }] }],
});

function answers(content: Json[]): Script {
  const message = { ...upstreamMessage(), content, stop_reason: 'tool_use' };
  return (answer, request) =>
    JSON.parse(request.body).stream === true
      ? scripts.rawStream(eventsOf(message, content).join(''))(answer, request)
      : answer.send(200, JSON_TYPE, JSON.stringify(message));
}

function eventsOf(message: Json, content: readonly Json[]): string[] {
  const blocks = content.flatMap((block, index) => {
    const [empty, ...deltas] = partsOf(block);
    return [
      { type: 'content_block_start', index, content_block: empty },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
  });
  const end = { stop_reason: 'tool_use', stop_sequence: null };
  return [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    ...blocks,
    { type: 'message_delta', delta: end, usage: { output_tokens: 12 } },
    { type: 'message_stop' },
  ].map(eventText);
}

/** A block as it starts, and its deltas. */
function partsOf(block: Json): unknown[] {
  const { type, thinking: thought, signature, text, input } = block;
  if (type === 'thinking')
    return [
      { ...block, thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: thought },
      { type: 'signature_delta', signature },
    ];
  if (type === 'text')
    return [
      { type, text: '' },
      { type: 'text_delta', text },
    ];
  if (type === 'tool_use')
    return [
      { ...block, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    ];
  return [block];
}

test.each([false, true])('a conversation moves to the next provider and back (stream: %p)', async (stream) => {
  const caller = await world.makeKey();
  const messages: Json[] = [{ role: 'user', content: `Read my files. ${stream}` }];
  const ask = async () => {
    const response = await world.post(
      caller.secret,
      bodyOf({ model: 'sonnet', max_tokens: 2_048, tools, thinking, stream, messages }),
    );
    expect(response.status).toBe(200);
    return response.text();
  };
  const sentTo = ({ requests }: typeof vendor) => JSON.parse(requests.at(-1)?.body ?? '{}') as Json;
  const turns: [isVendorUp: boolean, at: typeof vendor, model: string][] = [
    [true, vendor, 'claude-sonnet-4-5'],
    [false, cloud, CLOUD_MODEL],
    [false, cloud, CLOUD_MODEL],
    [true, vendor, 'claude-sonnet-4-5'],
  ];
  for (const [turn, [isVendorUp, at, model]] of turns.entries()) {
    const content = contentOf(turn, at === vendor ? 'vendor' : 'cloud');
    vendor.play(isVendorUp ? answers(content) : scripts.overloaded());
    cloud.play(isVendorUp ? scripts.error(500, 'api_error', 'must not be asked') : answers(content));
    const text = await ask();
    // The provider received the whole conversation as the client sent it, blocks of the other provider included.
    expect(sentTo(at)).toMatchObject({ model, messages, tools, thinking });
    if (!stream) expect((JSON.parse(text) as Json)['content']).toEqual(content);
    for (const part of content.flatMap((block) => [block.signature, block.data, block.id]))
      if (part !== undefined) expect(text).toContain(part);
    messages.push({ role: 'assistant', content }, resultOf(content));
  }
  const ofVendor = {
    provider: 'vendor',
    upstream_model: 'claude-sonnet-4-5',
    cost: '0.000255',
    provider_cost: '0.000255',
  };
  const ofCloud = { provider: 'cloud', upstream_model: CLOUD_MODEL, cost: '0.000255', provider_cost: '0.0002805' };
  await expectMoney(world, caller, [ofVendor, ofCloud, ofCloud, ofVendor]);
});
