// Requests to Converse where models or Converse itself differ from the Messages protocol.

import { expect, test } from 'bun:test';
import { convertBody } from '../../../../src/providers/bedrock/convert-request.ts';
import { homeOf } from '../../../../src/providers/bedrock/model-ids.ts';
import { markSignature } from '../../../../src/providers/bedrock/reasoning-signature.ts';
import { type Protocol, parseMessageRequest } from '../../../../src/wire/wire.ts';
import { makeAttempt } from '../make-attempt.ts';

type Json = Record<string, unknown>;
const NOVA = 'eu.amazon.nova-pro-v1:0';
const LLAMA = 'meta.llama3-3-70b-instruct-v1:0';
const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
const user = (...content: unknown[]) => ({ role: 'user', content });
const assistant = (...content: unknown[]) => ({ role: 'assistant', content });
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more });
const cache_control = { type: 'ephemeral', ttl: '1h' };
const tool = {
  name: 'look',
  description: '',
  input_schema: { type: 'object', $schema: 's', additionalProperties: false },
};
const used = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} };
const answered = (more: object = {}) => ({ type: 'tool_result', tool_use_id: 'toolu_1', ...more });

function bodyOf(members: object, upstreamModel = NOVA, protocol: Protocol = 'messages'): Json {
  const body = JSON.stringify({ model: 'm', max_tokens: 100, messages: [user(text('Hi'))], ...members });
  const request = parseMessageRequest(new TextEncoder().encode(body), protocol);
  const attempt = makeAttempt('', body, { request, maxTokens: request.maxTokens ?? 0 });
  return JSON.parse(convertBody({ ...attempt, upstreamModel })) as Json;
}

test('names of properties that Claude refuses are replaced, in earlier calls, too', () => {
  const properties = { 'a b': { type: 'object', properties: { 'a b': {} } }, $top: {} };
  const members = {
    tools: [{ name: 'look', input_schema: { type: 'object', properties, required: ['$top'] } }],
    messages: [user(text('Hi')), assistant({ ...used, input: { 'a b': { 'a b': 1 } } }), user(answered())],
  };
  const replaced = { a_b: { type: 'object', properties: { 'a b': {} } }, _top: {} };
  expect(bodyOf(members, CLAUDE)).toMatchObject({
    toolConfig: { tools: [{ toolSpec: { inputSchema: { json: { properties: replaced, required: ['_top'] } } } }] },
    messages: [{}, { content: [{ toolUse: { input: { a_b: { 'a b': 1 } } } }] }, {}],
  });
  expect(bodyOf(members)).toMatchObject({
    toolConfig: { tools: [{ toolSpec: { inputSchema: { json: { properties } } } }] },
  });
});

const cachePoint = { cachePoint: { type: 'default' } };

test('cache breakpoints become cache points for Claude and Nova, and are left out for others', () => {
  const members = {
    system: [text('Be kind.', { cache_control })],
    tools: [{ ...tool, cache_control }],
    messages: [user(text(' ', { cache_control }), text('Hi', { cache_control }))],
  };
  const claude = bodyOf(members, CLAUDE);
  expect(claude).toMatchObject({
    system: [{ text: 'Be kind.' }, cachePoint],
    messages: [{ content: [{ text: 'Hi' }, cachePoint] }],
    toolConfig: { tools: [{}, cachePoint] },
  });
  expect(JSON.stringify(bodyOf(members, NOVA)).split('cachePoint')).toHaveLength(3); // not for tools
  expect(JSON.stringify(bodyOf(members, LLAMA))).not.toContain('cachePoint');
});

test('a cache breakpoint within a tool result follows the result', () => {
  const messages = [user(text('Hi')), assistant(used), user(answered({ content: [text('seen', { cache_control })] }))];
  const [, , last] = bodyOf({ messages, tools: [tool] })['messages'] as Json[];
  expect(last?.['content']).toEqual([
    { toolResult: { toolUseId: 'toolu_1', content: [{ text: 'seen' }] } },
    cachePoint,
  ]);
});

test('Converse gets the tools of a conversation with calls, even if none may be called', () => {
  const messages = [user(text('Hi')), assistant(used), user(answered())];
  const forbidden = bodyOf({ messages, tools: [tool], tool_choice: { type: 'none' } });
  expect(forbidden['toolConfig']).toMatchObject({ tools: [{ toolSpec: { name: 'look' } }] });
  expect(forbidden['toolConfig']).not.toHaveProperty('toolChoice');
  expect(forbidden['system']).toEqual([{ text: 'This answer must not call a tool.' }]);
  const without = bodyOf({ messages });
  expect(without['toolConfig']).toEqual({
    tools: [{ toolSpec: { name: 'look', inputSchema: { json: { type: 'object', properties: {} } } } }],
  });
  expect(bodyOf({ tools: [tool], tool_choice: { type: 'none' } })).not.toHaveProperty('toolConfig');
});

test('Nova gets only the members of a schema that it accepts at the top, others get the whole schema', () => {
  const specOf = (model: string, given: object) =>
    (bodyOf({ tools: [given] }, model)['toolConfig'] as { tools: Json[] }).tools[0]?.['toolSpec'];
  expect(specOf(NOVA, tool)).toEqual({ name: 'look', inputSchema: { json: { type: 'object', properties: {} } } });
  expect(specOf(LLAMA, tool)).toMatchObject({ inputSchema: { json: { $schema: 's', additionalProperties: false } } });
  const defined = {
    name: 'look',
    input_schema: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, $defs: { a: {} } },
  };
  expect(specOf(NOVA, defined)).toMatchObject({ inputSchema: { json: { $defs: { a: {} } } } });
});

test('a family that accepts only text in results gets errors as text and attachments after the results', () => {
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QQ==' } };
  const result = answered({ is_error: true, content: [image, text('seen')] });
  const messages = [user(text('Hi')), assistant(used), user(text('And?'), result)];
  const [, , last] = bodyOf({ messages, tools: [tool] }, LLAMA)['messages'] as Json[];
  expect(last?.['content']).toEqual([
    {
      toolResult: {
        toolUseId: 'toolu_1',
        content: [{ text: 'Error:' }, { text: 'seen' }, { text: '(an attachment, which follows)' }],
      },
    },
    { image: { format: 'png', source: { bytes: 'QQ==' } } },
    { text: 'And?' },
  ]);
});

test('documents get numbers as names, and a text beside them', () => {
  const pdf = (title: string) => ({
    type: 'document',
    title,
    source: { type: 'base64', media_type: 'application/pdf', data: 'QQ==' },
  });
  const document = (name: string) => ({ document: { format: 'pdf', name, source: { bytes: 'QQ==' } } });
  const messages = [user(pdf('')), assistant(text('Yes.')), user(pdf('Ignore: <all>'))];
  expect(bodyOf({ messages })['messages']).toEqual([
    { role: 'user', content: [document('document-1'), { text: '(see the document)' }] },
    { role: 'assistant', content: [{ text: 'Yes.' }] },
    { role: 'user', content: [{ text: 'Document: Ignore: <all>' }, document('document-2')] },
  ]);
});

test.each([
  ['image', { type: 'base64', media_type: 'image/tiff', data: 'QQ==' }, 'source.media_type: '],
  ['image', { type: 'base64', media_type: 'constructor', data: 'QQ==' }, 'source.media_type: '],
  ['image', { type: 'base64', media_type: 'image/png', data: '' }, 'source.data: '],
  ['image', { type: 'url', url: 'https://example.com/a.png' }, 'source.url: '],
  ['image', { type: 'url', url: 's3://bucket/a.png' }, 'source.url: '],
  ['image', { type: 'file', file_id: 'file_1' }, 'source.type: '],
  ['document', { type: 'url', url: 'https://example.com/a.pdf' }, 'source.url: '],
  ['document', { type: 'base64', media_type: 'application/zip', data: 'QQ==' }, 'source.media_type: '],
  ['server_tool_use', {}, ''],
  ['video', {}, ''],
])('a block of the type %s with the source %j is refused by its path', (type, source, path) => {
  const members = { messages: [user(text('Hi'), { type, source })] };
  expect(() => bodyOf(members)).toThrow(`messages.0.content.1${path === '' ? ': ' : `.${path}`}`);
});

test('an image as a data address is sent as its bytes', () => {
  const image = { type: 'image', source: { type: 'url', url: 'data:image/webp;base64,QUI=' } };
  expect(bodyOf({ messages: [user(image)] })['messages']).toEqual([
    { role: 'user', content: [{ image: { format: 'webp', source: { bytes: 'QUI=' } } }] },
  ]);
});

test('reasoning goes back only to the model that signed it, in any region', () => {
  const messages = [
    user(text('Hi')),
    assistant(
      { type: 'thinking', thinking: 'Hm.', signature: markSignature('text', homeOf(NOVA), 'SIG') },
      { type: 'thinking', thinking: '', signature: markSignature('redacted', homeOf(NOVA), 'QUJD') },
      { type: 'thinking', thinking: 'Unsigned.', signature: 'bedrock.unsigned.' },
      { type: 'thinking', thinking: 'Theirs.', signature: 'EqQBCgIYAhIM' },
      { type: 'redacted_thinking', data: 'EqQB' },
      text('Yes.'),
    ),
    user(text('So?')),
  ];
  const contentFor = (model: string) => (bodyOf({ messages }, model)['messages'] as Json[])[1]?.['content'];
  expect(contentFor('us.amazon.nova-pro-v1:0')).toEqual([
    { reasoningContent: { reasoningText: { text: 'Hm.', signature: 'SIG' } } },
    { reasoningContent: { redactedContent: 'QUJD' } },
    { text: 'Yes.' },
  ]);
  expect(contentFor('amazon.nova-lite-v1:0')).toEqual([{ text: 'Yes.' }]);
});

test('thinking is requested in the words of the family', () => {
  const enabled = { thinking: { type: 'enabled', budget_tokens: 1_500 }, temperature: 0.5, top_k: 9 };
  const fieldsFor = (model: string, members: object = enabled) =>
    bodyOf(members, model)['additionalModelRequestFields'];
  expect(fieldsFor(CLAUDE)).toEqual({ thinking: { type: 'enabled', budget_tokens: 1_500 } });
  expect(bodyOf(enabled, CLAUDE)['inferenceConfig']).toEqual({ maxTokens: 100 });
  expect(fieldsFor('us.amazon.nova-2-lite-v1:0', { ...enabled, output_config: { effort: 'max' } })).toEqual({
    inferenceConfig: { topK: 9 },
    reasoningConfig: { type: 'enabled', maxReasoningEffort: 'medium' },
  });
  expect(fieldsFor('openai.gpt-oss-120b-1:0')).toEqual({ reasoning_effort: 'low' });
  expect(fieldsFor('openai.gpt-oss-120b-1:0', {})).toEqual({ reasoning_effort: 'low' });
  expect(fieldsFor(LLAMA)).toBeUndefined();
});

test('parameters out of the range of Converse are clamped, left out or refused', () => {
  const outside = { temperature: 1.5, top_p: -1, stop_sequences: ['', 'END'] };
  expect(bodyOf(outside, NOVA, 'chat-completions')['inferenceConfig']).toEqual({
    maxTokens: 100,
    temperature: 1,
    stopSequences: ['END'],
  });
  expect(() => bodyOf({ max_tokens: 0 })).toThrow('max_tokens: ');
});

test('the billing line of an agent is not sent, and a turn without content joins its neighbours', () => {
  const system = [text('x-anthropic-billing-header: cc_version=1'), text('Be kind.')];
  expect(bodyOf({ system })['system']).toEqual([{ text: 'Be kind.' }]);
  const messages = [user(text('One')), assistant(text(' ')), user(text('Two'))];
  expect(bodyOf({ messages })['messages']).toEqual([{ role: 'user', content: [{ text: 'One' }, { text: 'Two' }] }]);
});
