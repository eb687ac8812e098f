// The request to Gemini: its address, its key, and everything in its body except the conversation.

import { describe, expect, test } from 'bun:test';
import {
  convertBody,
  convertCountBody,
  convertHeaders,
  convertUrl,
  versionedUrl,
} from '../../../../src/providers/gemini/convert-request.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { JsonObject, JsonValue } from '../../../../src/wire/wire.ts';
import {
  answered,
  callOf,
  GEMINI_KEY,
  geminiAttempt,
  refusalOf,
  resultOf,
  sentBody,
  userMessage,
} from './gemini-attempt.ts';

const config = (body: object, changes = {}) =>
  sentBody({ messages: [userMessage()], ...body }, changes)['generationConfig'] as JsonObject;
const partsOf = (...content: JsonObject[]) =>
  (sentBody({ messages: [userMessage(content)] })['contents'] as { parts: JsonValue }[])[0]?.parts;
const refusedBlock = (block: JsonObject) => refusalOf({ messages: [userMessage([block])] });

describe('the address', () => {
  test('contains the model name with and without "models/", on a base URL with and without a version', () => {
    const wanted = 'https://g.example/v1beta/models/gemini-2.5-pro:generateContent';
    for (const base of ['https://g.example', 'https://g.example/', 'https://g.example/v1beta'])
      for (const model of ['gemini-2.5-pro', 'models/gemini-2.5-pro'])
        expect(convertUrl(base, model, 'generateContent')).toBe(wanted);
    expect(convertUrl('https://g.example/v1', 'm', 'countTokens')).toBe('https://g.example/v1/models/m:countTokens');
    expect(convertUrl('https://g', 'tunedModels/mine', 'x')).toBe('https://g/v1beta/tunedModels/mine:x');
    expect(versionedUrl('https://g.example/')).toBe('https://g.example/v1beta');
  });

  test('cannot be changed by a model name', () => {
    expect(convertUrl('https://g', 'a?b#c d', 'x')).toBe('https://g/v1beta/models/a%3Fb%23c%20d:x');
  });

  test('never contains the key, which is sent in a header', () => {
    const attempt = geminiAttempt({ messages: [userMessage()] });
    expect(convertHeaders(attempt, 'text/event-stream')).toEqual({
      'content-type': 'application/json',
      accept: 'text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
      'x-goog-api-key': GEMINI_KEY,
    });
    expect(convertBody(attempt)).not.toContain(GEMINI_KEY);
  });
});

test('a trace context is forwarded; a key that a header cannot contain is refused', () => {
  const trace = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, tracestate: 'a=b' };
  expect(convertHeaders(geminiAttempt({ messages: [userMessage()] }, { trace }), 'x')).toMatchObject(trace);
  const provider = { name: 'g', kind: 'gemini', baseUrl: 'http://p', credential: new Secret('a\nb') };
  expect(() => convertHeaders(geminiAttempt({ messages: [userMessage()] }, { provider }), 'x')).toThrow(
    'a header cannot contain',
  );
});

describe('the limits of a response', () => {
  test('have Gemini’s names', () => {
    const body = { temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['END', 'STOP'], max_tokens: 77 };
    expect(config(body, { maxTokens: 55 })).toEqual({
      maxOutputTokens: 55,
      temperature: 0.5,
      topP: 0.9,
      topK: 40,
      stopSequences: ['END', 'STOP'],
      thinkingConfig: { thinkingBudget: 0 },
    });
  });

  test('have no sampling from Gemini 3.6 Flash on, which deprecates it', () => {
    const sampling = { temperature: 0.5, top_p: 0.9, top_k: 40 };
    const namesAt = (upstreamModel: string) => Object.keys(config(sampling, { upstreamModel }));
    for (const model of ['gemini-3.6-flash', 'gemini-3.10-pro', 'models/gemini-4-pro', 'gemini-10-flash'])
      expect(namesAt(model)).not.toContainAnyValues(['temperature', 'topP', 'topK']);
    for (const model of ['gemini-2.5-pro', 'gemini-3-pro', 'gemini-3.5-flash', 'other'])
      expect(namesAt(model)).toContainValues(['temperature', 'topP', 'topK']);
  });

  test('that mean "unset" are left out', () => {
    expect(config({ temperature: null, top_p: -1, top_k: -1, stop_sequences: [] })).toEqual({
      maxOutputTokens: 100,
      thinkingConfig: { thinkingBudget: 0 },
    });
    expect(config({ temperature: 0, top_k: 0 })).toMatchObject({ temperature: 0, topK: 0 });
  });

  test('that Gemini does not have are refused', () => {
    expect(refusalOf({ messages: [userMessage()], stop_sequences: ['1', '2', '3', '4', '5', '6'] })).toStartWith(
      'stop_sequences: ',
    );
    expect(refusalOf({ messages: [userMessage()], max_tokens: 0 })).toStartWith('max_tokens: ');
  });
});

test('structured output is requested with its schema unchanged', () => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/a' } },
    additionalProperties: false,
    $defs: { a: {} },
  };
  const wanted = { responseMimeType: 'application/json', responseJsonSchema: schema };
  expect(config({ output_config: { format: { type: 'json_schema', schema } } })).toMatchObject(wanted);
  expect(config({ output_format: { type: 'json_schema', schema } })).toMatchObject(wanted);
  expect(config({ output_config: { effort: 'low', format: null } })).not.toContainKey('responseMimeType');
  expect(refusalOf({ messages: [userMessage()], output_config: { format: { type: 'xml' } } })).toStartWith(
    'output_config.format: ',
  );
});

describe('thinking', () => {
  const thinking = (model: string, body: object = {}) =>
    config({ max_tokens: 50_000, ...body }, { upstreamModel: model })['thinkingConfig'];
  const enabled = (budget: number, display?: string) => ({
    thinking: { type: 'enabled', budget_tokens: budget, ...(display && { display }) },
  });

  test.each([
    ['gemini-2.5-flash', { thinkingBudget: 0 }],
    ['gemini-2.5-flash-lite', { thinkingBudget: 0 }],
    ['gemini-2.5-pro', { thinkingBudget: 128 }],
    ['gemini-3-flash-preview', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.5-flash-lite', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.6-flash', { thinkingLevel: 'MINIMAL' }],
    ['gemini-3.8-flash', { thinkingLevel: 'LOW' }],
    ['models/gemini-3.1-pro-preview', { thinkingLevel: 'LOW' }],
    ['gemini-3.7-flash', { thinkingLevel: 'LOW' }],
    ['gemini-2.5-flash-image', undefined],
    ['gemini-2.5-flash-preview-tts', undefined],
    ['gemma-3-27b-it', undefined],
  ])('that is not requested is set to the minimum of %s', (model, least) => {
    expect(thinking(model)).toEqual(least);
    expect(thinking(model, { thinking: { type: 'disabled' } })).toEqual(least);
  });

  test.each([
    ['gemini-2.5-flash', 2_000, { thinkingBudget: 2_000 }],
    ['gemini-2.5-flash', 31_999, { thinkingBudget: 24_576 }],
    ['gemini-2.5-pro', 31_999, { thinkingBudget: 31_999 }],
    ['a-model-of-its-own', 31_999, { thinkingBudget: 31_999 }],
    ['gemini-3.6-flash', 2_000, { thinkingLevel: 'LOW' }],
    ['gemini-3.1-pro-preview', 10_000, { thinkingLevel: 'MEDIUM' }],
    ['gemini-3-pro-preview', 10_000, { thinkingLevel: 'HIGH' }],
    ['gemini-3.1-pro-preview', 31_999, { thinkingLevel: 'HIGH' }],
  ])('of %s with a budget of %d tokens stays within the range of the model', (model, budget, amount) => {
    expect(thinking(model, enabled(budget))).toEqual({ includeThoughts: true, ...amount });
  });

  test('is controlled by the effort if the model sets its own budget', () => {
    const adaptive = { thinking: { type: 'adaptive' } };
    expect(thinking('gemini-2.5-pro', adaptive)).toEqual({ includeThoughts: true, thinkingBudget: -1 });
    const level = (effort?: string) =>
      (thinking('gemini-3.6-flash', { ...adaptive, output_config: { effort } }) as JsonObject)['thinkingLevel'];
    expect(['low', 'medium', 'high', 'max', undefined].map(level)).toEqual(['LOW', 'MEDIUM', 'HIGH', 'HIGH', 'HIGH']);
  });

  test('that is hidden is not requested', () => {
    expect(thinking('gemini-2.5-pro', enabled(2_000, 'omitted'))).toEqual({
      includeThoughts: false,
      thinkingBudget: 2_000,
    });
  });
});

describe('tools', () => {
  const tool = (name: string, more: object = {}) => ({ name, input_schema: { type: 'object' }, ...more });
  const tools = (...list: object[]) => sentBody({ messages: [userMessage()], tools: list });

  test('are function declarations with cleaned schemas', () => {
    const input_schema = {
      $schema: 'x',
      type: 'object',
      properties: { city: { type: ['string', 'null'] } },
      required: ['city'],
      additionalProperties: false,
    };
    expect(tools(tool('weather', { description: 'Of a city', input_schema }), tool('now'))['tools']).toEqual([
      {
        functionDeclarations: [
          {
            name: 'weather',
            description: 'Of a city',
            parameters: {
              type: 'OBJECT',
              properties: { city: { type: 'STRING', nullable: true } },
              required: ['city'],
            },
          },
          { name: 'now' },
        ],
      },
    ]);
    expect(sentBody({ messages: [userMessage()], tools: [], tool_choice: { type: 'any' } })).not.toContainKeys([
      'tools',
      'toolConfig',
    ]);
  });

  test.each([
    [{ type: 'auto' }, { mode: 'AUTO' }],
    [{ type: 'any', disable_parallel_tool_use: true }, { mode: 'ANY' }],
    [
      { type: 'tool', name: 'now' },
      { mode: 'ANY', allowedFunctionNames: ['now'] },
    ],
    [{ type: 'none' }, { mode: 'NONE' }],
  ])('are chosen: %j becomes %j', (tool_choice, functionCallingConfig) => {
    const body = sentBody({ messages: [userMessage()], tools: [tool('now')], tool_choice });
    expect(body['toolConfig']).toEqual({ functionCallingConfig });
  });

  test('that the client runs by itself are functions with their known schema', () => {
    const sent = tools(
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10 },
      { type: 'memory_20250818', name: 'memory' },
      { type: 'custom', ...tool('own') },
    )['tools'] as JsonObject[];
    const declarations = (sent[0] as { functionDeclarations: JsonObject[] }).functionDeclarations;
    expect(declarations.map(({ name }) => name)).toEqual(['bash', 'str_replace_based_edit_tool', 'memory', 'own']);
    for (const declared of declarations.slice(0, 3)) expect(declared['parameters']).toMatchObject({ type: 'OBJECT' });
    expect(declarations[1]).toMatchObject({ parameters: { required: ['command', 'path'] } });
  });

  test.each([
    'web_search_20250305',
    'web_fetch_20250910',
    'code_execution_20250825',
    'tool_search_tool_bm25_20251119',
    'computer_20250124',
    'browser_toolset_20260801',
    'mcp_toolset',
    'nonesuch',
  ])('of the type %s are refused by name', (type) => {
    expect(refusalOf({ messages: [userMessage()], tools: [tool('a'), { type, name: 'x' }] })).toBe(
      `tools.1.type: a tool of type "${type}" is not available for the provider of this model`,
    );
  });

  test('have names that Gemini accepts, the same in the conversation and in the choice', () => {
    const long = `${'n'.repeat(100)}_search`;
    const body = sentBody({
      messages: [userMessage(), answered([callOf('toolu_1', long)]), userMessage([resultOf('toolu_1')])],
      tools: [tool(long), tool('9lives'), tool('plain-name_1')],
      tool_choice: { type: 'tool', name: long },
    });
    const text = JSON.stringify(body);
    const names = [...text.matchAll(/"name":"([^"]*)"/g)].map((match) => match[1] ?? '');
    for (const name of names) expect(name).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
    expect(new Set(names).size).toBe(3);
    expect(names).toContain('plain-name_1');
    expect(names.filter((name) => name.startsWith('_nnn'))).toHaveLength(3);
    expect(body['toolConfig']).toMatchObject({
      functionCallingConfig: { allowedFunctionNames: [names.find((name) => name.startsWith('_nnn'))] },
    });
  });
});

describe('images and documents', () => {
  const image = (source: JsonObject) => ({ type: 'image', source });
  const document = (source: JsonObject, more: JsonObject = {}) => ({ type: 'document', source, ...more });

  test('in the request are sent as they are', () => {
    const png = image({ type: 'base64', media_type: 'image/png', data: 'aW1n' });
    const pdf = document({ type: 'base64', media_type: 'application/pdf', data: 'cGRm' }, { title: 'Report' });
    expect(partsOf({ type: 'text', text: 'See' }, png, pdf)).toEqual([
      { text: 'See' },
      { inlineData: { mimeType: 'image/png', data: 'aW1n' } },
      { text: 'title: Report' },
      { inlineData: { mimeType: 'application/pdf', data: 'cGRm' } },
    ]);
    expect(partsOf(image({ type: 'url', url: 'data:image/webp;base64,aW1n' }))).toEqual([
      { inlineData: { mimeType: 'image/webp', data: 'aW1n' } },
    ]);
  });

  test('at an address are left for Gemini to read', () => {
    expect(
      partsOf(
        image({ type: 'url', url: 'https://example.com/a.JPG?x=1' }),
        image({ type: 'url', url: 'https://example.com/picture' }),
        document({ type: 'url', url: 'https://example.com/a.pdf' }),
      ),
    ).toEqual([
      { fileData: { fileUri: 'https://example.com/a.JPG?x=1', mimeType: 'image/jpeg' } },
      { fileData: { fileUri: 'https://example.com/picture', mimeType: 'image/jpeg' } },
      { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
    ]);
  });

  test.each([
    'http://example.com/a.png',
    'gs://bucket/a.png',
    'file:///etc/passwd',
    'nonsense',
    '',
    'https://generativelanguage.googleapis.com/v1beta/files/abc',
    'https://storage.googleapis.com./bucket/a.png',
    'https://GenerativeLanguage.GoogleAPIs.com/v1beta/files/abc',
    'https://storage.cloud.google.com/bucket/a.png',
    'https://www.youtube.com/watch?v=abc',
    'https://youtu.be/abc',
  ])('at %p are refused', (url) => {
    expect(refusedBlock(image({ type: 'url', url }))).toStartWith('messages.0.content.0.source.url: ');
    expect(refusedBlock(document({ type: 'url', url }))).toStartWith('messages.0.content.0.source.url: ');
  });

  test('of unsupported kinds are refused with their field', () => {
    const of = (media_type: string) => ({ type: 'base64', media_type, data: 'eA==' });
    expect(refusedBlock(image(of('image/gif')))).toStartWith('messages.0.content.0.source.media_type: ');
    for (const name of ['a.gif', 'film.mp4', 'page.html', 'a.svg'])
      expect(refusedBlock(image({ type: 'url', url: `https://example.com/${name}` }))).toStartWith(
        'messages.0.content.0.source.url: ',
      );
    expect(refusedBlock(document(of('text/html')))).toStartWith('messages.0.content.0.source.media_type: ');
    expect(refusedBlock(image({ type: 'file', file_id: 'f' }))).toStartWith('messages.0.content.0.source.type: ');
    const result = resultOf('toolu_1', [image(of('image/gif'))]);
    expect(refusalOf({ messages: [userMessage(), answered([callOf('toolu_1')]), userMessage([result])] })).toStartWith(
      'messages.2.content.0.content.0.source.media_type: ',
    );
  });

  test('that are text are sent as text, with their title and context', () => {
    const text = document({ type: 'text', media_type: 'text/plain', data: 'Once.' }, { title: 'T', context: 'C' });
    const content = document({
      type: 'content',
      content: [{ type: 'text', text: 'a' }, image({ type: 'base64', media_type: 'image/png', data: 'aW1n' })],
    });
    const found = { type: 'search_result', source: 'https://s', title: 'S', content: [{ type: 'text', text: 'b' }] };
    expect(partsOf(text, content, document({ type: 'content', content: 'plain' }), found)).toEqual([
      { text: 'title: T\ncontext: C' },
      { text: 'Once.' },
      { text: 'a' },
      { inlineData: { mimeType: 'image/png', data: 'aW1n' } },
      { text: 'plain' },
      { text: 'title: S\nsource: https://s' },
      { text: 'b' },
    ]);
  });
});

describe('content that Gemini does not support', () => {
  test.each([
    'server_tool_use',
    'web_search_tool_result',
    'mcp_tool_use',
    'container_upload',
    'browser_state',
    'compaction',
    'nonesuch',
  ])('of the type %s is refused with its path, in every role', (type) => {
    const words = `a block of type "${type}" is not available for the provider of this model`;
    expect(refusedBlock({ type })).toBe(`messages.0.content.0: ${words}`);
    expect(
      refusalOf({ messages: [userMessage(), answered([{ type: 'text', text: 'a' }, { type }]), userMessage()] }),
    ).toBe(`messages.1.content.1: ${words}`);
  });
});

test('a count is requested with the prompt and its tools, and nothing else', () => {
  const body = {
    system: 'Be kind.',
    messages: [userMessage()],
    tools: [{ name: 'a', input_schema: {} }],
    temperature: 0.1,
    thinking: { type: 'adaptive' },
  };
  const counted = JSON.parse(convertCountBody(geminiAttempt(body, { upstreamModel: 'gemini-2.5-pro' })));
  expect(counted).toEqual({
    generateContentRequest: {
      model: 'models/gemini-2.5-pro',
      contents: [{ role: 'user', parts: [{ text: 'Hi' }] }],
      systemInstruction: { parts: [{ text: 'Be kind.' }] },
      tools: [{ functionDeclarations: [{ name: 'a' }] }],
    },
  });
});
