// Unsupported parts of a request are refused with the path of their field, or are left out and documented as such.

import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chatCompletions } from '../../../../src/fronts/chat-completions/chat-completions.ts';
import {
  DROPPED_FIELDS,
  DROPPED_MEMBERS,
  REFUSED_FIELDS,
} from '../../../../src/fronts/chat-completions/chat-fields.ts';
import { translateBody } from '../../../../src/fronts/fronts.ts';
import { bytesOf, type Json, readAsMessages, refusalOf, user } from './read-as-messages.ts';

const asked = {
  operation: { asks: 'message' },
  query: '',
  headers: new Headers(),
  requestId: 'req_1',
  receivedAtMs: 0,
  clock: { nowMs: () => 0 },
} as const;

const page = readFileSync(join(import.meta.dir, '..', '..', '..', '..', 'docs', 'chat-completions.md'), 'utf8');
const paragraph = (word: string) => page.split('\n\n').find((text) => text.startsWith(`**${word}**`)) ?? '';
const namesIn = (text: string) => [...text.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');

test('the refused fields are those that the documentation names', () => {
  expect(namesIn(paragraph('Refused')).sort()).toEqual(Object.keys(REFUSED_FIELDS).sort());
});

test('the ignored fields are those that the documentation names', () => {
  expect(namesIn(paragraph('Left out')).sort()).toEqual([...DROPPED_FIELDS, ...DROPPED_MEMBERS].sort());
});

const sentRequest: Record<string, unknown> = {
  conversation: 'conv_1',
  logprobs: true,
  moderation: { model: 'm' },
  n: 2,
  previous_response_id: 'resp_1',
  top_logprobs: 3,
  web_search_options: {},
};

test.each(Object.entries(sentRequest))('%s is refused if it has an effect', (name, value) => {
  expect(refusalOf({ [name]: value })).toEqual({
    code: 'invalid_request',
    message: expect.stringMatching(new RegExp(`^${name}: \\w`)),
  });
});

test('every refused field is covered by these tests, and is accepted if it is empty', () => {
  expect(Object.keys(sentRequest).sort()).toEqual(Object.keys(REFUSED_FIELDS).sort());
  const empty = {
    n: 1,
    modalities: ['text'],
    logprobs: false,
    top_logprobs: 0,
    audio: null,
  };
  expect(readAsMessages(empty)).toEqual(readAsMessages({}));
});

test('hints are left out', () => {
  const hints = Object.fromEntries(DROPPED_FIELDS.map((name) => [name, { a: 1 }]));
  expect(readAsMessages(hints)).toEqual(readAsMessages({}));
  const name = {
    role: 'user',
    name: 'ann',
    content: [{ type: 'text', text: 'Good morning!', prompt_cache_breakpoint: {} }],
  };
  expect(readAsMessages({ messages: [name] })).toEqual(readAsMessages({}));
});

test('other fields are kept apart, where a provider may get them, and those of extra_body are read as the request’s own', () => {
  const plain = readAsMessages({});
  const extra = { min_p: 0, think: false, plugins: { a: 1 } };
  const kept = { ...plain, extra_body: extra };
  expect(readAsMessages({ ...extra, top_a: null })).toEqual(kept);
  expect(readAsMessages({ min_p: 0, extra_body: { ...extra, min_p: 1 } })).toEqual(kept);
  expect(readAsMessages({ extra_body: { top_k: 7, temperature: 1 } })).toEqual({ ...plain, top_k: 7, temperature: 1 });
  expect(refusalOf({ extra_body: { n: 2 } })).toMatchObject({ message: expect.stringMatching(/^n: /) });
  for (const extra_body of [null, [], 'x', {}]) expect(readAsMessages({ extra_body })).toEqual(plain);
});

const call = (called: unknown) => [{ role: 'assistant', content: null, tool_calls: [called] }];
const called = (args: unknown) => call({ id: 'a', type: 'function', function: { name: 'f', arguments: args } });

const wrong: [path: string, members: Json][] = [
  ['messages', { messages: undefined }],
  ['messages', { messages: 'hello' }],
  ['messages.0', { messages: ['hello'] }],
  ['messages.0.role', { messages: [{ content: 'x' }] }],
  ['messages.0.role', { messages: [{ role: 'narrator', content: 'x' }] }],
  ['messages.0.role', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
  ['messages.0.content', { messages: [{ role: 'user' }] }],
  ['messages.0.content', { messages: [user(null)] }],
  ['messages.0.content.0', { messages: [user(['x'])] }],
  ['messages.0.content.0.type', { messages: [user([{ type: 'video_url' }])] }],
  ['messages.0.content.1.text', { messages: [user([{ type: 'text', text: 'x' }, { type: 'text' }])] }],
  [
    'messages.0.content.0.input_audio.data',
    { messages: [user([{ type: 'input_audio', input_audio: { format: 'wav' } }])] },
  ],
  ['messages.0.content.0.image_url', { messages: [user([{ type: 'image_url' }])] }],
  [
    'messages.0.content.0.image_url.url',
    { messages: [user([{ type: 'image_url', image_url: { url: 'file:///etc/passwd' } }])] },
  ],
  [
    'messages.0.content.0.file.file_data',
    { messages: [user([{ type: 'file', file: { file_data: 'data:application/zip;base64,AA' } }])] },
  ],
  [
    'messages.0.content.0.file.file_data',
    { messages: [user([{ type: 'file', file: { file_data: 'data:text/plain;base64,/w==' } }])] },
  ],
  [
    'messages.0.content.0.type',
    { messages: [{ role: 'system', content: [{ type: 'image_url', image_url: 'https://a' }] }] },
  ],
  ['messages.0.audio', { messages: [{ role: 'assistant', audio: 'a' }] }],
  ['messages.0.audio.id', { messages: [{ role: 'assistant', audio: { expires_at: 1 } }] }],
  ['messages.0.function_call', { messages: [{ role: 'assistant', function_call: 'f' }] }],
  [
    'messages.0.function_call.arguments',
    { messages: [{ role: 'assistant', function_call: { name: 'f', arguments: [] } }] },
  ],
  ['functions', { functions: {} }],
  ['functions', { functions: [{ name: 'f' }], tools: [{ type: 'function', function: { name: 'g' } }] }],
  ['functions.0.name', { functions: [{}] }],
  ['function_call', { function_call: { name: 'f' } }],
  ['function_call.name', { function_call: {}, functions: [{ name: 'f' }] }],
  ['messages.0.tool_calls', { messages: [{ role: 'assistant', tool_calls: {} }] }],
  ['messages.0.tool_calls.0.type', { messages: call({ id: 'a', type: 'mcp', mcp: {} }) }],
  ['messages.0.tool_calls.0.custom', { messages: call({ id: 'a', type: 'custom' }) }],
  ['messages.0.tool_calls.0.custom.name', { messages: call({ id: 'a', type: 'custom', custom: {} }) }],
  ['messages.0.tool_calls.0.custom.input', { messages: call({ id: 'a', type: 'custom', custom: { name: 'f' } }) }],
  ['messages.0.tool_calls.0.id', { messages: call({ type: 'function', function: { name: 'f' } }) }],
  ['messages.0.tool_calls.0.function.name', { messages: call({ id: 'a', function: {} }) }],
  ['messages.0.tool_calls.0.function.arguments', { messages: called(7) }],
  ['messages.0.tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
  ['tools', { tools: {} }],
  ['tools.0.type', { tools: [{ type: 'mcp' }] }],
  ['tools.0.custom', { tools: [{ type: 'custom', custom: [] }] }],
  ['tools.0.custom.name', { tools: [{ type: 'custom', custom: {} }] }],
  ['tools.0.name', { tools: [{ type: 'custom' }] }],
  ['tools.0.function', { tools: [{ type: 'function' }] }],
  ['tools.0.function.name', { tools: [{ type: 'function', function: {} }] }],
  ['tools.0.function.parameters', { tools: [{ type: 'function', function: { name: 'f', parameters: [] } }] }],
  ['tool_choice', { tool_choice: 'required' }],
  ['tool_choice', { tool_choice: 'always' }],
  ['tool_choice.type', { tool_choice: { type: 'mcp' } }],
  ['tool_choice.custom', { tool_choice: { type: 'custom' } }],
  ['tool_choice.function', { tool_choice: { type: 'function' } }],
  ['tool_choice.allowed_tools.mode', { tool_choice: { type: 'allowed_tools', allowed_tools: {} } }],
  [
    'tool_choice.allowed_tools.tools',
    { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } } },
  ],
  [
    'tool_choice.allowed_tools.tools',
    {
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'g' } }] },
      },
    },
  ],
  ['stop.1', { stop: ['a', 1] }],
  ['stop', { stop: 1 }],
  ['reasoning_effort', { reasoning_effort: 'huge' }],
  ['reasoning.effort', { reasoning: { effort: 'huge' } }],
  ['response_format', { response_format: 'json' }],
  ['response_format.type', { response_format: { type: 'grammar' } }],
  ['response_format.json_schema', { response_format: { type: 'json_schema' } }],
  ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }],
  ['stream_options', { stream_options: true }],
  ['stream_options.include_usage', { stream_options: { include_usage: 'yes' } }],
  ['user', { user: 7 }],
];

test.each(wrong)('the error for an invalid %s has its path', (path, members) => {
  const { code, message } = refusalOf(members);
  expect(code).toBe('invalid_request');
  expect(message).toStartWith(`${path}: `);
});

test('a file stored at a provider is refused as such', () => {
  expect(refusalOf({ messages: [user([{ type: 'file', file: { file_id: 'file-1' } }])] })).toEqual({
    code: 'feature_unavailable',
    message: expect.stringMatching(/^messages\.0\.content\.0\.file\.file_id: /),
  });
});

test('a body that is not JSON, not UTF-8, has duplicate keys or is too deep is refused before it is read', async () => {
  const refused = (bytes: Uint8Array) =>
    translateBody(chatCompletions, bytes, asked).then(
      () => 'read',
      (thrown) => (thrown as { code: string }).code,
    );
  expect(await refused(bytesOf('{"model":'))).toBe('invalid_json');
  expect(await refused(new Uint8Array([0xff, 0x7b]))).toBe('invalid_json');
  expect(await refused(bytesOf('[]'))).toBe('invalid_request');
  expect(await refused(bytesOf('{"model":"a","model":"b","messages":[]}'))).toBe('invalid_request');
  expect(await refused(bytesOf(`{"x":${'['.repeat(100_000)}`))).toBe('invalid_request');
});
