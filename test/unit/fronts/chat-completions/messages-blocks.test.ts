// Blocks, tools and settings of the Messages protocol in a Chat Completions request.

import { expect, test } from 'bun:test';
import { type Json, messagesOf, readAsMessages, refusalOf, user } from './read-as-messages.ts';

const text = (words: string) => ({ type: 'text', text: words });
const cache_control = { type: 'ephemeral' };
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } };
const pdf = { type: 'document', source: { type: 'url', url: 'https://example.org/a.pdf' }, title: 'a' };
const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'look', input });
const result = (tool_use_id: string, content?: unknown, more: Json = {}) => ({
  type: 'tool_result',
  tool_use_id,
  ...(content !== undefined && { content }),
  ...more,
});

test('content of the user is kept as it is', () => {
  const content = [text('Hi'), image, { ...pdf, cache_control }, { type: 'search_result', source: 's', title: 't' }];
  expect(messagesOf([user(content)])).toEqual([{ role: 'user', content }]);
});

test('calls and thinking of the assistant are kept, in order', () => {
  const content = [
    { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' },
    { type: 'redacted_thinking', data: 'ZGF0YQ' },
    text('So.'),
    { ...use('a', { x: 1 }), cache_control },
  ];
  const answer = { role: 'assistant', content, reasoning_content: 'Hm.' };
  expect(messagesOf([user('go'), answer, user([result('a', 'ok')])])[1]).toEqual({ role: 'assistant', content });
});

test('thinking without a signature is that of a provider without signatures', () => {
  const own = { role: 'assistant', content: 'So.', reasoning_content: 'Hm.' };
  const blocks = { role: 'assistant', content: [{ type: 'thinking', thinking: 'Hm.' }, text('So.')] };
  expect(messagesOf([user('go'), blocks])).toEqual(messagesOf([user('go'), own]));
});

test('results come first, with text, images, errors and cache breakpoints', () => {
  const answer = { role: 'assistant', content: [use('a'), use('b'), use('c')] };
  const results = [
    text('Quick!'),
    result('a', [text('one'), image, { ...pdf, cache_control }]),
    result('b', 'failed', { is_error: true, cache_control }),
    result('c'),
  ];
  const expected = [
    result('a', [text('one'), image, pdf], { cache_control }),
    result('b', 'failed', { is_error: true, cache_control }),
    result('c'),
    text('Quick!'),
  ];
  expect(messagesOf([user('go'), answer, user(results)]).at(-1)).toEqual({ role: 'user', content: expected });
  const ofTool = messagesOf([user('go'), answer, { role: 'tool', content: results.slice(1) }]);
  expect(ofTool.at(-1)).toEqual({ role: 'user', content: expected.slice(0, -1) });
});

test('ids of calls and results match in both forms, also where they repeat', () => {
  const turn = [
    { role: 'assistant', content: [use('f:0')] },
    { role: 'tool', tool_call_id: 'f:0', content: 'ok' },
  ];
  const [, first, , second, last] = messagesOf([
    user('go'),
    ...turn,
    { role: 'assistant', tool_calls: [{ id: 'f:0', type: 'function', function: { name: 'look', arguments: '{}' } }] },
    user([result('f:0', 'ok')]),
  ]) as { content: Record<string, string>[] }[];
  expect(second?.content[0]?.['id']).not.toBe(first?.content[0]?.['id'] as string);
  expect(last?.content[0]?.['tool_use_id']).toBe(second?.content[0]?.['id'] as string);
});

test('a system prompt beside the messages comes before those in them', () => {
  for (const system of ['One.', [{ ...text('One.') }]])
    expect(readAsMessages({ system, messages: [{ role: 'system', content: 'Two.' }, user('Hi')] })).toMatchObject({
      system: [text('One.'), text('Two.')],
      messages: [{ content: [text('Hi')] }],
    });
});

test('tools, a tool choice and stop sequences are those of a message', () => {
  const tools = [{ name: 'look', input_schema: { type: 'object' } }];
  const expected = { tools, tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true } };
  for (const given of [tools, [{ type: 'custom', ...tools[0] }]])
    expect(readAsMessages({ ...expected, tools: given, stop_sequences: ['END'] })).toEqual({
      ...readAsMessages({}),
      ...expected,
      stop_sequences: ['END'],
    });
  for (const type of ['auto', 'any', 'none'])
    expect(readAsMessages({ tools, tool_choice: { type } })['tool_choice']).toEqual({ type });
});

const said = (...content: Json[]) => ({ messages: [user('go'), { role: 'assistant', content }] });

test.each<[path: string, members: Json, code?: string]>([
  ['messages.0.content.0.source', { messages: [user([{ type: 'image' }])] }],
  ['messages.0.content.0.type', { messages: [user([use('a')])] }],
  ['messages.0.content.0.tool_use_id', { messages: [user([{ type: 'tool_result' }])] }],
  ['messages.0.content.0.content', { messages: [user([result('a', {})])] }],
  ['messages.0.content.0.content.0.type', { messages: [user([result('a', [use('a')])])] }],
  ['messages.1.content.0.id', said({ type: 'tool_use' })],
  ['messages.1.content.0.name', said({ type: 'tool_use', id: 'a' })],
  ['messages.1.content.0.input', said(use('a', '{}'))],
  ['messages.1.content.0.thinking', said({ type: 'thinking' })],
  ['messages.1.content.0.signature', said({ type: 'thinking', thinking: 'a', signature: 1 })],
  ['messages.1.content.0.data', said({ type: 'redacted_thinking' })],
  ['messages.1.content.0.type', said(image)],
  ['messages.1.content.0.type', said({ type: 'server_tool_use', id: 'a', name: 'web_search', input: {} })],
  ['system', { system: {} }],
  ['system.0.type', { system: [image] }],
  ['stop_sequences.0', { stop_sequences: [1] }],
  ['tools.0.type', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
  ['tool_choice.name', { tools: [{ name: 'f' }], tool_choice: { type: 'tool' } }],
  [
    'messages.0.content.0.source.file_id',
    { messages: [user([{ type: 'document', source: { type: 'file', file_id: 'file_1' } }])] },
    'feature_unavailable',
  ],
])('%s is named where it is wrong', (path, members, code = 'invalid_request') => {
  expect(refusalOf(members)).toEqual({ code, message: expect.stringMatching(new RegExp(`^${path}: \\w`)) });
});
