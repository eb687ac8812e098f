// A model whose vendor is preferred and that clouds sell too: a conversation with tools and thinking moves from provider to
// provider, of different kinds, and back. Nothing is lost, and each answer costs what its own provider charges.

import { afterAll, expect, test } from 'bun:test';
import { type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { cloudMembers, cloudModels, sayAtCloud } from '../../verify/clients/upstreams/speak-clouds.ts';
import { type Block, type Spoken, sayMessage } from '../../verify/clients/upstreams/speak-messages.ts';
import { bodyOf, expectMoney, type Json, sharedWorld } from '../post-messages/world.ts';

const world = await sharedWorld();
const third = await startScriptedUpstream(scripts.good());
afterAll(async () => {
  await world.stop();
  await third.close();
});
const names = ['vendor', 'bedrock', 'vertex'] as const;
type Name = (typeof names)[number];
const upstreams: Record<Name, ScriptedUpstream> = { vendor: world.upstream, bedrock: world.second, vertex: third };
const models: Record<Name, string> = {
  vendor: 'claude-sonnet-4-5',
  bedrock: cloudModels.bedrock,
  vertex: cloudModels.vertex,
};
const address = (name: Name) => ({
  base_url: upstreams[name].url,
  private_network: true,
  api_key: 'sk-of-the-provider',
});
const route = (provider: Name, priority: number, input: string, output: string) => ({
  provider,
  model: models[provider],
  priority,
  cost: { input, output },
});
await world.admin('POST', '/apply', {
  document: {
    providers: {
      vendor: { kind: 'anthropic', ...address('vendor') },
      bedrock: { kind: 'bedrock', ...cloudMembers.bedrock, ...address('bedrock') },
      vertex: { kind: 'vertex', ...cloudMembers.vertex, ...address('vertex') },
    },
    models: {
      sonnet: {
        price: { input: '3', output: '15' },
        routes: [route('vendor', 0, '3', '15'), route('bedrock', 1, '3.3', '16.5'), route('vertex', 2, '6', '30')],
      },
    },
  },
});

const tools = [{ name: 'read', description: 'Reads a file.', input_schema: { type: 'object', properties: {} } }];
const thinking = { type: 'enabled', budget_tokens: 1_024 };

/** A provider's answer in a turn: thinking that it signed, text, and a call. */
function spokenBy(name: Name, turn: number): Spoken & { content: Block[] } {
  const seal = (text: string) => Buffer.from(`${text} ${name} ${turn}`).toString('base64');
  return {
    content: [
      { type: 'thinking', thinking: `thought ${turn}`, signature: seal('signed by') },
      { type: 'redacted_thinking', data: seal('hidden by') },
      { type: 'text', text: `Reading, ${turn}.` },
      { type: 'tool_use', id: `toolu_${name}_${turn}`, name: 'read', input: `{"path":"file ${turn}"}` },
    ],
    usage: { input_tokens: 25, output_tokens: 12 },
  };
}

const sent = (block: Block): Json =>
  block.type === 'tool_use' ? { ...block, input: JSON.parse(block.input) as Json } : { ...block };
const resultFor = (id: unknown) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: id, content: [{ type: 'text', text: 'done' }] }],
});

test.each([false, true])('a conversation moves between vendor and clouds, and back (stream: %p)', async (stream) => {
  const caller = await world.makeKey();
  const messages: Json[] = [{ role: 'user', content: `Read my files. ${stream}` }];
  const answering: Name[] = ['vendor', 'bedrock', 'bedrock', 'vertex', 'bedrock', 'vendor'];
  for (const [turn, name] of answering.entries()) {
    const spoken = spokenBy(name, turn);
    // Everybody before it is overloaded, and nobody after it is asked.
    for (const one of names) upstreams[one].play(scripts.overloaded());
    upstreams[name].play(name === 'vendor' ? sayMessage(spoken) : sayAtCloud(name, spoken));
    const response = await world.post(
      caller.secret,
      bodyOf({ model: 'sonnet', max_tokens: 2_048, tools, thinking, stream, messages }),
    );
    expect([turn, response.status]).toEqual([turn, 200]);
    const text = await response.text();
    const content = spoken.content.map(sent);
    // The provider received the whole conversation as the client sent it, blocks of the other providers included.
    const { path, body } = upstreams[name].requests.at(-1) ?? { path: '', body: '{}' };
    expect(JSON.parse(body)).toMatchObject({ messages, tools, thinking });
    expect(decodeURIComponent(path) + body).toContain(models[name]);
    if (!stream) expect((JSON.parse(text) as Json)['content']).toEqual(content);
    for (const part of content.flatMap((block) => [block['signature'], block['data'], block['id']]))
      if (part !== undefined) expect(text).toContain(String(part));
    messages.push({ role: 'assistant', content }, resultFor(content.at(-1)?.['id']));
  }
  const costs: Record<Name, string> = { vendor: '0.000255', bedrock: '0.0002805', vertex: '0.00051' };
  const newestFirst = answering.toReversed().map((provider) => ({
    provider,
    upstream_model: models[provider],
    cost: '0.000255',
    provider_cost: costs[provider],
  }));
  await expectMoney(world, caller, newestFirst);
});
