// Features that affect the price of a request or need an object stored at the provider are always detected.

import { expect, test } from 'bun:test';
import { type JsonValue, parseMessageRequest, readFeatures } from '../../../src/wire/wire.ts';

function read(members: Record<string, unknown>, betas: string | null = null) {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hi' }], ...members };
  return readFeatures(parseMessageRequest(new TextEncoder().encode(JSON.stringify(body))), betas);
}

function withBlocks(...content: JsonValue[]) {
  return {
    messages: [
      { role: 'user', content: 'a' },
      { role: 'user', content },
    ],
  };
}

test('a plain request has no special features', () => {
  expect(read({ service_tier: 'auto', inference_geo: null, speed: 'standard', mcp_servers: [] })).toEqual({
    tier: 'standard',
    webSearch: null,
    serverTools: 'none',
    fetchesMax: 0,
    compactsFrom: null,
    longContext: false,
    notOffered: null,
    storedObject: null,
    hasTools: false,
    sound: null,
    spoken: null,
    speaks: false,
    compacted: null,
    cacheControl: 'none',
  });
});

test('the trigger of a compaction is read, and is the documented default without a valid value', () => {
  const from = (...edits: JsonValue[]) => read({ context_management: { edits } }).compactsFrom;
  const trigger = (value: JsonValue) => ({ type: 'compact_20260112', trigger: { type: 'input_tokens', value } });
  expect(from(trigger(60_000))).toBe(60_000);
  expect(from({ type: 'compact_20260112' })).toBe(150_000);
  for (const odd of [-1, 0.5, '60000', null, 1e300]) expect(from(trigger(odd))).toBe(150_000);
  expect(from(trigger(90_000), trigger(70_000))).toBe(70_000);
  expect(from({ type: 'clear_tool_uses_20250919', trigger: { type: 'input_tokens', value: 1 } })).toBeNull();
  for (const odd of [null, 7, 'x', { edits: 7 }, { edits: [null, 'compact_20260112'] }])
    expect(read({ context_management: odd }).compactsFrom).toBeNull();
});

test('fast speed, web searches and long context are detected', () => {
  expect(read({ speed: 'fast' }).tier).toBe('fast');
  for (const tier of ['flex', 'ultrafast'] as const)
    expect(read({ service_tier: tier })).toMatchObject({ tier, notOffered: null });
  expect(read({}, 'other, context-1m-2025-08-07').longContext).toBe(true);
  const search = (max_uses?: unknown) => ({ type: 'web_search_20250305', name: 'web_search', max_uses });
  expect(read({ tools: [search(3)] }).webSearch).toEqual({ usesMax: 3 });
  expect(read({ tools: [search(3), search(2)] }).webSearch).toEqual({ usesMax: 5 });
  for (const odd of [undefined, null, -1, 0.5, '3'])
    expect(read({ tools: [search(3), search(odd), search(1)] }).webSearch).toEqual({ usesMax: null });
  const most = Number.MAX_SAFE_INTEGER;
  expect(read({ tools: [search(most), search(most), search(1)] }).webSearch).toEqual({ usesMax: null });
});

test('a feature that no setting can price is refused by name', () => {
  const refused: [Record<string, unknown>, string][] = [
    [
      { service_tier: 'priority' },
      'service_tier: only "auto", "standard_only", "flex" and "ultrafast" are offered; "speed"',
    ],
    [{ service_tier: 7 }, 'service_tier: '],
    [{ inference_geo: 'us' }, 'inference_geo: only "global" is offered'],
    [{ speed: 'ludicrous' }, 'speed: '],
    [{ speed: 'fast', service_tier: 'flex' }, 'service_tier: "flex" cannot be combined with "speed": "fast"'],
    [{ fallbacks: 'default' }, 'fallbacks: Extra inputs are not permitted'],
    [{ fallbacks: [{ model: 'm2' }] }, 'fallbacks: '],
    [{ billing_policy: { type: 'billing_policy', bill_to: 'user_profile' } }, 'billing_policy: '],
    [{ billing_policy: 'self' }, 'billing_policy: '],
    [{ tools: [{ type: 'advisor_20260301' }] }, 'advisor_20260301: advisor tools are not offered'],
  ];
  for (const [members, start] of refused) expect(read(members).notOffered).toStartWith(start);
});

test('what changes no price is offered', () => {
  const offered: Record<string, unknown>[] = [
    { fallback_credit_token: 'token' },
    { fallback_credit_token: { token: 'token', mode: 'best_effort' } },
    { fallbacks: [] },
    { fallbacks: null },
    { billing_policy: { type: 'billing_policy' } },
    { billing_policy: { type: 'billing_policy', bill_to: 'self' } },
    { tools: [{ type: 'custom', name: 'advisor_' }] },
  ];
  for (const members of offered) expect(read(members).notOffered).toBeNull();
});

test('code execution is offered only beside a tool with which providers do not charge for it', () => {
  const execution = { type: 'code_execution_20260521', name: 'code_execution' };
  const beside = (...types: string[]) => read({ tools: [execution, ...types.map((type) => ({ type }))] }).notOffered;
  for (const type of ['web_search_20260209', 'web_fetch_20260318']) expect(beside(type)).toBeNull();
  for (const type of ['web_search_20250305', 'web_fetch_20250910', 'web_search_', 'web_search_20260209x', 'custom'])
    expect(beside(type)).toStartWith('code_execution_20260521: ');
  expect(beside('web_fetch_20260209', 'advisor_20260301')).toStartWith('advisor_20260301: ');
  // A message may bring the tool and take it away again.
  const brought = { type: 'tool_addition', tool: { definition: { type: 'web_fetch_20260209' } } };
  expect(read({ tools: [execution], ...withBlocks(brought) }).notOffered).toStartWith('code_execution_20260521: ');
});

test('a tool introduced by a message is a tool', () => {
  const brought = (definition: JsonValue) => ({ type: 'tool_addition', tool: { type: 'tool_definition', definition } });
  expect(read(withBlocks(brought({ type: 'web_search_20250305' })))).toMatchObject({
    webSearch: { usesMax: null },
    hasTools: true,
  });
  const compaction = {
    type: 'compaction',
    content: null,
    tool_changes: [brought({ type: 'code_execution_20250825' })],
  };
  expect(read(withBlocks(compaction)).notOffered).toStartWith('code_execution_20250825: ');
});

test('an object stored at the provider is detected wherever it may be named', () => {
  const file = { type: 'image', source: { type: 'file', file_id: 'file_1' } };
  const cases: [Record<string, unknown>, string | null][] = [
    [{ container: 'container_1' }, 'container'],
    [{ container: { skills: [{ type: 'anthropic', skill_id: 'pdf' }] } }, 'container'],
    [{ previous_message_id: 'msg_1' }, 'previous_message_id'],
    [{ previous_message_id: null, skills: [] }, null],
    [{ container: { id: 'container_1', skills: null } }, 'container'],
    [{ container: { of_the_future: 1 } }, 'container'],
    [{ container: '' }, 'container'],
    [{ container: { id: null, skills: null } }, null],
    [{ container: { id: null, skills: [] } }, null],
    [{ container: {} }, null],
    [withBlocks({ type: 'text', text: 'a' }, file), 'messages.1.content.1.source.file_id'],
    [withBlocks({ type: 'container_upload', file_id: 'file_1' }), 'messages.1.content.0.file_id'],
    [
      withBlocks({ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a' }, file] }),
      'messages.1.content.0.content.1.source.file_id',
    ],
    [
      withBlocks({ type: 'document', source: { type: 'content', content: [file] } }),
      'messages.1.content.0.source.content.0.source.file_id',
    ],
    [
      withBlocks({ type: 'web_fetch_tool_result', content: { type: 'web_fetch_result', content: file } }),
      'messages.1.content.0.content.content.source.file_id',
    ],
    [{ system: [file] }, 'system.0.source.file_id'],
    [withBlocks({ type: 'tool_use', id: 't', name: 'n', input: { source: { type: 'file' }, content: [file] } }), null],
  ];
  for (const [members, path] of cases) expect(read(members).storedObject).toBe(path);
});

test('an escape in the text hides no name', () => {
  const text =
    '{"model":"m","messages":[{"role":"user","content":[{"type":"image","\\u0073ource":{"type":"\\u0066ile","file\\u005fid":"f"}}]}]}';
  const features = readFeatures(parseMessageRequest(new TextEncoder().encode(text)), null);
  expect(features.storedObject).toBe('messages.0.content.0.source.file_id');
});

test('the most expensive cache lifetime is detected wherever it occurs', () => {
  const short = { cache_control: { type: 'ephemeral' } };
  const long = { cache_control: { type: 'ephemeral', ttl: '1h' } };
  expect(read(short).cacheControl).toBe('5m');
  expect(read({ cache_control: null, system: [{ type: 'text', text: 'cache_control 1h' }] }).cacheControl).toBe('none');
  expect(read({ ...long, tools: [{ name: 'a', ...short }] }).cacheControl).toBe('1h');
  expect(read({ system: [{ type: 'text', text: 'a', ...short }], tools: [{ name: 'a', ...long }] }).cacheControl).toBe(
    '1h',
  );
  const inside = { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'a', ...long }] };
  expect(read(withBlocks({ type: 'text', text: 'a', ...short }, inside)).cacheControl).toBe('1h');
});
