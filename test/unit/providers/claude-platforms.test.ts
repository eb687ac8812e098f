// Requests to platforms with Claude: only what a platform takes is sent, so that a conversation can move there at any turn.

import { describe, expect, test } from 'bun:test';
import {
  type ClaudePlatform,
  convertPlatformBody,
  convertPlatformCount,
  platformBetas,
} from '../../../src/providers/claude-platforms.ts';
import { type Attempt, ProviderFault, providerKinds } from '../../../src/providers/providers.ts';
import { makeAttempt } from './make-attempt.ts';

type Json = Record<string, unknown>;

const PLATFORMS: readonly ClaudePlatform[] = ['bedrock', 'vertex', 'foundry'];
const USER = { role: 'user', content: 'Hi' };
const BASE = { model: 'a-model', max_tokens: 100, messages: [USER] };

function attemptOf(members: Json, changes: Partial<Attempt> = {}): Attempt {
  return makeAttempt('http://127.0.0.1:1', { ...BASE, ...members }, { upstreamModel: 'claude-sonnet-4-5', ...changes });
}

const bodyOf = (platform: ClaudePlatform, members: Json, changes: Partial<Attempt> = {}) =>
  JSON.parse(convertPlatformBody(attemptOf(members, changes), platform)) as Json;

/** The message of a refusal, null if there is none. */
function refusalOf(platform: ClaudePlatform, members: Json): string | null {
  try {
    convertPlatformBody(attemptOf(members), platform);
    return null;
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
    expect(thrown).toMatchObject({ kind: 'rejected', status: 400 });
    return thrown.message;
  }
}

const refusedBy = (members: Json) => PLATFORMS.filter((platform) => refusalOf(platform, members) !== null);

test('each platform gets model, version and stream where it has them', () => {
  const members = { stream: true };
  expect(bodyOf('bedrock', members)).toEqual({
    max_tokens: 100,
    messages: [USER],
    anthropic_version: 'bedrock-2023-05-31',
  });
  expect(bodyOf('vertex', members)).toEqual({
    max_tokens: 100,
    messages: [USER],
    stream: true,
    anthropic_version: 'vertex-2023-10-16',
  });
  expect(bodyOf('foundry', members)).toEqual({ ...BASE, stream: true, model: 'claude-sonnet-4-5' });
});

test.each(PLATFORMS)('fields of the vendor and unknown ones do not reach %s', (platform) => {
  const hints = {
    service_tier: 'auto',
    inference_geo: 'global',
    diagnostics: { previous_message_id: null },
    safeguards: [{ type: 'x' }],
    tags: { a: 'b' },
    data_flow: 'x',
    fallback_credit_token: 't',
    billing_policy: { bill_to: 'self' },
    speed: 'standard',
    a_field_of_the_future: { deep: true },
    tools: [{ name: 'look', input_schema: { type: 'object' }, eager_input_streaming: true, custom: {} }],
    output_config: { effort: 'low', task_budget: { total: 1 } },
  };
  const plain = {
    tools: [{ name: 'look', input_schema: { type: 'object' } }],
    output_config: { effort: 'low' },
  };
  expect(bodyOf(platform, hints)).toEqual(bodyOf(platform, plain));
});

test('a text without anything to change is sent byte for byte, except the members of the address', () => {
  const text = `{ "model":"a-model", "max_tokens": 100,"messages":[ {"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]} ] }`;
  const attempt = makeAttempt('http://127.0.0.1:1', text, { upstreamModel: 'a-model' });
  expect(convertPlatformBody(attempt, 'foundry')).toBe(text);
  expect(convertPlatformBody(attempt, 'vertex')).toContain(
    '"messages":[ {"role":"user","content":[{"type":"text","text":"Hi","cache_control":{"type":"ephemeral"}}]} ]',
  );
});

test('betas that a platform does not know are not sent, and those that tools need are', () => {
  const betas = [
    'claude-code-20250219',
    'interleaved-thinking-2025-05-14',
    'advanced-tool-use-2025-11-20',
    'prompt-caching-scope-2026-01-05',
    'fast-mode-2026-02-01',
    'constructor',
  ].join(',');
  const members = { tools: [{ type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' }] };
  const changes = { betas, upstreamModel: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0' };
  expect(platformBetas(attemptOf(members, changes), 'vertex')).toBe(
    'interleaved-thinking-2025-05-14,tool-search-tool-2025-10-19',
  );
  expect(platformBetas(attemptOf(members, changes), 'foundry')).toBe(
    'interleaved-thinking-2025-05-14,advanced-tool-use-2025-11-20',
  );
  expect(platformBetas(attemptOf(members, changes), 'bedrock')).toBeNull();
  expect(bodyOf('bedrock', members, changes)['anthropic_beta']).toEqual([
    'interleaved-thinking-2025-05-14',
    'tool-search-tool-2025-10-19',
  ]);
  // Bedrock refuses a beta of another model.
  expect(bodyOf('bedrock', {}, { betas, upstreamModel: 'anthropic.claude-opus-4-7' })).not.toContainKey(
    'anthropic_beta',
  );
});

test('what would change the answer is refused by name before anything is sent', () => {
  const tool = (type: string) => ({ tools: [{ type, name: 'x' }] });
  const image = (source: Json) => ({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  const clouds = ['bedrock', 'vertex'] as ClaudePlatform[];
  expect(refusedBy({ mcp_servers: [{ type: 'url', url: 'https://a.example' }] })).toEqual(clouds);
  expect(refusedBy({ container: 'c' })).toEqual(clouds);
  expect(refusedBy({ compaction: { type: 'x' } })).toEqual(['bedrock', 'foundry']);
  expect(refusedBy(tool('web_search_20250305'))).toEqual(['bedrock']);
  expect(refusedBy(tool('web_fetch_20250910'))).toEqual(clouds);
  expect(refusedBy(tool('code_execution_20250825'))).toEqual(clouds);
  expect(refusedBy({ ...tool('advisor_20260301'), tool_choice: { type: 'tool', name: 'x' } })).toEqual([...PLATFORMS]);
  expect(refusedBy(tool('advisor_20260301'))).toEqual([]); // nobody asked for it
  expect(refusedBy(image({ type: 'url', url: 'https://a.example/a.png' }))).toEqual(clouds);
  expect(refusedBy(image({ type: 'file', file_id: 'file_1' }))).toEqual(clouds);
  expect(refusalOf('bedrock', tool('web_search_20250305'))).toStartWith('tools.0.type: ');
  expect(refusalOf('vertex', image({ type: 'url', url: 'https://a' }))).toStartWith(
    'messages.0.content.0.source.type: ',
  );
  // Clients write out members that they do not use.
  for (const nothing of [null, []]) expect(refusedBy({ mcp_servers: nothing, container: null })).toEqual([]);
});

test('web search at Vertex is the version that it has, without the callers of later ones', () => {
  const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 3, allowed_callers: ['direct'] };
  expect(bodyOf('vertex', { tools: [search] })['tools']).toEqual([
    { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
  ]);
  expect(platformBetas(attemptOf({ tools: [search] }), 'vertex')).toBe('web-search-2025-03-05');
  expect(bodyOf('foundry', { tools: [search] })['tools']).toEqual([search]);
});

describe('a conversation that began at the vendor', () => {
  const search = [
    {
      type: 'server_tool_use',
      id: 'srvtoolu_1',
      name: 'web_search',
      input: { query: 'cats' },
      caller: { type: 'direct' },
    },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', title: 'Cats', url: 'https://cats.example', encrypted_content: 'SECRET' }],
    },
  ];
  const own = [
    { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
    { type: 'tool_use', id: 'toolu_1', name: 'look', input: { id: 1 } },
  ];
  const cited = { type: 'text', text: 'Cats purr.' };
  const messages = [
    USER,
    {
      role: 'assistant',
      content: [
        ...search,
        { ...cited, citations: [{ type: 'web_search_result_location', url: 'https://cats.example' }] },
        own[0],
        { ...own[1], caller: { type: 'direct' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'A cat.' }] },
  ];

  test('keeps its thinking and calls, and what can be read of tools that the platform does not have', () => {
    const [, { content }] = bodyOf('bedrock', { messages })['messages'] as [Json, { content: Json[] }];
    expect(content).toEqual([
      { type: 'text', text: '(used the tool web_search: {"query":"cats"})' },
      { type: 'text', text: '(result of the tool: Cats\nhttps://cats.example)' },
      cited,
      ...own,
    ] as Json[]);
  });

  test('keeps blocks of tools that the platform has', () => {
    const [, { content }] = bodyOf('vertex', { messages })['messages'] as [Json, { content: Json[] }];
    expect(content[1]).toEqual(search[1] as Json);
    expect(content[2]).toHaveProperty('citations');
    expect(content.at(-1)).toEqual(own[1] as Json);
    expect(bodyOf('foundry', { messages })['messages']).toEqual(messages);
  });

  test('is refused with the paths of the client, also behind thinking of other kinds that is left out', () => {
    const foreign = { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: 'gemini.call.x' }] };
    const source = { type: 'url', url: 'https://a.example' };
    const asked = { messages: [USER, foreign, { role: 'user', content: [{ type: 'image', source }] }] };
    expect(refusalOf('vertex', asked)).toStartWith('messages.2.content.0.source.type: ');
  });
});

test('tools that a message adds are sent from the start where messages cannot add them', () => {
  const look = { name: 'look', input_schema: { type: 'object' } };
  const later = { name: 'later', input_schema: { type: 'object' }, eager_input_streaming: true };
  const added = { role: 'system', content: [{ type: 'tool_addition', tool: { definition: later } }] };
  const members = { tools: [look], messages: [USER, added, USER] };
  for (const platform of ['vertex', 'foundry'] as const)
    expect(bodyOf(platform, members)).toMatchObject({
      tools: [look, { name: 'later', input_schema: { type: 'object' } }],
      messages: [USER, USER],
    });
  expect(bodyOf('bedrock', members)).toMatchObject({ tools: [look], messages: [USER, added, USER] });
});

test('server tools that a message adds are refused, or get their beta, as those of the request', () => {
  const added = (type: string) => {
    const definition = { type, name: 'x' };
    return {
      messages: [USER, { role: 'system', content: [{ type: 'tool_addition', tool: { definition } }] }, USER],
    };
  };
  expect(refusedBy(added('web_search_20250305'))).toEqual(['bedrock']);
  expect(refusedBy(added('code_execution_20250825'))).toEqual(['bedrock', 'vertex']);
  expect(refusalOf('vertex', added('web_fetch_20250910'))).toStartWith(
    'messages.1.content.0.tool.definition.type: a tool of type "web_fetch_20250910" ',
  );
  expect(platformBetas(attemptOf(added('web_search_20250305')), 'vertex')).toBe('web-search-2025-03-05');
  expect(platformBetas(attemptOf(added('computer_20250124')), 'foundry')).toBe('computer-use-2025-01-24');
  expect(bodyOf('bedrock', added('computer_20250124'))['anthropic_beta']).toEqual(['computer-use-2025-01-24']);
});

test('breakpoints of the cache have only the members that a platform knows', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' };
  const members = { system: [{ type: 'text', text: 'x', cache_control }], cache_control };
  const systemOf = (platform: ClaudePlatform, upstreamModel: string) =>
    (bodyOf(platform, members, { upstreamModel })['system'] as Json[])[0]?.['cache_control'];
  expect(systemOf('vertex', 'claude-sonnet-4')).toEqual({ type: 'ephemeral', ttl: '1h' });
  expect(systemOf('bedrock', 'anthropic.claude-sonnet-4-20250514-v1:0')).toEqual({ type: 'ephemeral' });
  for (const model of ['haiku-4-5-20251001-v1:0', 'opus-4-6-v1', 'sonnet-5'])
    expect(systemOf('bedrock', `anthropic.claude-${model}`)).toEqual({ type: 'ephemeral', ttl: '1h' });
  for (const model of ['3-5-sonnet-20241022-v2:0', '3-7-sonnet-20250219-v1:0', '3-5-haiku-20241022-v1:0'])
    expect(systemOf('bedrock', `us.anthropic.claude-${model}`)).toEqual({ type: 'ephemeral' });
  expect(bodyOf('vertex', members)).not.toContainKey('cache_control');
  expect(bodyOf('foundry', members)['cache_control']).toEqual({ type: 'ephemeral', ttl: '1h' });
});

test('edits of the context are sent with their beta only', () => {
  const edits = [{ type: 'clear_tool_uses_20250919' }, { type: 'compact_20260112' }];
  const betas = 'context-management-2025-06-27,compact-2026-01-12';
  const changes = { betas, upstreamModel: 'claude-opus-4-6' };
  const contextOf = (platform: ClaudePlatform, more: Partial<Attempt>) =>
    bodyOf(platform, { context_management: { edits } }, { ...changes, ...more })['context_management'];
  expect(contextOf('vertex', {})).toEqual({ edits });
  expect(contextOf('vertex', { betas: 'compact-2026-01-12' })).toEqual({ edits: [edits[1]] });
  expect(contextOf('bedrock', {})).toEqual({ edits: [edits[1]] });
  expect(contextOf('foundry', {})).toEqual({ edits: [edits[0]] });
  for (const platform of PLATFORMS) expect(contextOf(platform, { betas: null })).toBeUndefined();
});

test('the former name of the output format becomes the present one, with every digit', () => {
  const format = '{"type":"json_schema","schema":{"maximum":9007199254740993}}';
  const text = `${JSON.stringify(BASE).slice(0, -1)},"output_format":${format}}`;
  const sent = convertPlatformBody(makeAttempt('http://127.0.0.1:1', text), 'vertex');
  expect(sent).toContain(`"output_config":{"format":${format}}`);
  expect(sent).not.toContain('output_format');
});

test('a binding of thinking is sent only with its beta', () => {
  const thinking = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'drop_block' } };
  const betas = 'thinking-binding-controls-2026-08-01';
  expect(bodyOf('vertex', { thinking }, { betas })['thinking']).toEqual(thinking);
  expect(bodyOf('vertex', { thinking })['thinking']).toEqual({ type: 'adaptive' });
  expect(bodyOf('foundry', { thinking }, { betas })['thinking']).toEqual({ type: 'adaptive' });
});

test('a token count has the prompt alone, with its model', () => {
  const members = { stream: true, temperature: 1, metadata: { user_id: 'u' }, system: 'Be kind.' };
  const count = (platform: ClaudePlatform) => JSON.parse(convertPlatformCount(attemptOf(members), platform)) as Json;
  expect(count('vertex')).toEqual({
    model: 'claude-sonnet-4-5',
    messages: [USER],
    system: 'Be kind.',
    anthropic_version: 'vertex-2023-10-16',
  });
  expect(count('foundry')).toEqual({ model: 'claude-sonnet-4-5', messages: [USER], system: 'Be kind.' });
});

test('an hour in the cache is billed where it was sent: not for models at Bedrock that do not have it', () => {
  const keeps = (kind: string, model: string) => providerKinds.get(kind)?.keepsCacheLifetimes?.(model, null);
  const bedrock = ['us.anthropic.claude-sonnet-4-5-v1:0', 'us.anthropic.claude-opus-4-1-v1:0', 'amazon.nova-pro-v1:0'];
  expect(bedrock.map((model) => keeps('bedrock', model))).toEqual([true, false, false]);
  expect([keeps('vertex', 'claude-opus-4-1'), keeps('vertex', 'gemini-2.5-pro'), keeps('gemini', 'x')]).toEqual([
    true,
    false,
    undefined,
  ]);
});
