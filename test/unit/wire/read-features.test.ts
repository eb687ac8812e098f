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
  expect(read({ service_tier: 'auto', inference_geo: null, speed: 'standard', mcp_servers: [{}] })).toEqual({
    speed: 'standard',
    webSearch: null,
    longContext: false,
    unpriced: [],
    storedObject: null,
    hasTools: false,
    cacheControl: 'none',
  });
});

test('fast speed, web searches and long context are detected', () => {
  expect(read({ speed: 'fast' }).speed).toBe('fast');
  expect(read({}, 'other, context-1m-2025-08-07').longContext).toBe(true);
  const search = (max_uses?: unknown) => ({ type: 'web_search_20250305', name: 'web_search', max_uses });
  expect(read({ tools: [search(3)] }).webSearch).toEqual({ usesMax: 3 });
  expect(read({ tools: [search(3), search(2)] }).webSearch).toEqual({ usesMax: 5 });
  for (const odd of [undefined, null, -1, 0.5, '3'])
    expect(read({ tools: [search(3), search(odd), search(1)] }).webSearch).toEqual({ usesMax: null });
  const most = Number.MAX_SAFE_INTEGER;
  expect(read({ tools: [search(most), search(most), search(1)] }).webSearch).toEqual({ usesMax: null });
});

test('a feature without a price is reported by name', () => {
  expect(read({ service_tier: 'priority' }).unpriced).toEqual(['service_tier']);
  expect(read({ service_tier: 7 }).unpriced).toEqual(['service_tier']);
  expect(read({ inference_geo: 'us' }).unpriced).toEqual(['inference_geo']);
  expect(read({ speed: 'ludicrous' }).unpriced).toEqual(['speed']);
  expect(read({ fallbacks: 'default' }).unpriced).toEqual(['fallbacks']);
  const tools = [
    { type: 'code_execution_20250825' },
    { type: 'advisor_20260301' },
    { type: 'custom', name: 'advisor_' },
  ];
  expect(read({ tools }).unpriced).toEqual(['code_execution_20250825', 'advisor_20260301']);
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
  expect(read(withBlocks(compaction)).unpriced).toEqual(['code_execution_20250825']);
});

test('an object stored at the provider is detected wherever it may be named', () => {
  const file = { type: 'image', source: { type: 'file', file_id: 'file_1' } };
  const cases: [Record<string, unknown>, string | null][] = [
    [{ container: 'container_1' }, 'container'],
    [{ container: { skills: [{ type: 'anthropic', skill_id: 'pdf' }] } }, 'container'],
    [{ diagnostics: { previous_message_id: 'msg_1' } }, 'diagnostics.previous_message_id'],
    [{ diagnostics: { previous_message_id: null } }, null],
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
