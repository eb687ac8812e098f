// Translation of a Chat Completions request: every field with an equivalent in the Messages protocol.

import { describe, expect, test } from 'bun:test';
import { readAsMessages, refusalOf, termsOf, textOf, user } from './read-as-messages.ts';

const tool = (name: string, more = {}) => ({ type: 'function', function: { name, ...more } });
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

test('a plain request keeps its model, sampling and stream, and gets no max_tokens', () => {
  expect(readAsMessages({ temperature: 1.7, top_p: 0.5, top_k: 3, stream: true, max_tokens: null })).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Good morning!' }] }],
    temperature: 1.7,
    top_p: 0.5,
    top_k: 3,
    stream: true,
  });
});

test('fields that only some providers know are passed on if they have an effect', () => {
  const known = { frequency_penalty: -0.5, presence_penalty: 1, seed: 0 };
  expect(readAsMessages(known)).toMatchObject(known);
  expect(readAsMessages({ frequency_penalty: 0, presence_penalty: 0, seed: null })).toEqual(readAsMessages({}));
});

test('max_tokens has two names, and the newer one takes precedence', () => {
  expect(readAsMessages({ max_tokens: 7 })).toMatchObject({ max_tokens: 7 });
  expect(readAsMessages({ max_completion_tokens: 9, max_tokens: 7 })).toMatchObject({ max_tokens: 9 });
  expect(readAsMessages({ max_tokens: -1 })).not.toHaveProperty('max_tokens'); // no limit, as in local servers
});

test('stop sequences may be one string or a list', () => {
  expect(readAsMessages({ stop: 'END' })['stop_sequences']).toEqual(['END']);
  expect(readAsMessages({ stop: ['a', 'b'] })['stop_sequences']).toEqual(['a', 'b']);
  expect(readAsMessages({ stop: ['', 'b'] })['stop_sequences']).toEqual(['b']);
  for (const stop of [null, [], '']) expect(readAsMessages({ stop })).not.toHaveProperty('stop_sequences');
});

describe('tools', () => {
  test('are functions with their schema, description and strictness; one without parameters has an empty schema', () => {
    const tools = [tool('weather', { description: 'Of a city', parameters: schema, strict: true }), tool('now')];
    expect(readAsMessages({ tools })['tools']).toEqual([
      { name: 'weather', description: 'Of a city', input_schema: schema, strict: true },
      { name: 'now', input_schema: { type: 'object' } },
    ]);
  });

  test('may be written in the format of other protocols', () => {
    const flat = { name: 'weather', description: 'Of a city', parameters: schema, strict: null };
    const expected = [{ name: 'weather', description: 'Of a city', input_schema: schema }];
    expect(readAsMessages({ tools: [{ type: 'function', ...flat }] })['tools']).toEqual(expected);
    const { parameters: _, ...named } = flat;
    expect(readAsMessages({ tools: [{ ...named, input_schema: schema }] })['tools']).toEqual(expected);
    const tools = [tool('now')];
    const choiceOf = (tool_choice: unknown) => readAsMessages({ tools, tool_choice })['tool_choice'];
    expect(choiceOf({ type: 'auto' })).toEqual({ type: 'auto' });
    expect(choiceOf('any')).toEqual({ type: 'any' });
    expect(choiceOf({ type: 'function', name: 'now' })).toEqual({ type: 'tool', name: 'now' });
  });

  test('under the older field name are called one at a time', () => {
    const functions = [{ name: 'now', parameters: schema }];
    expect(readAsMessages({ functions })).toMatchObject({
      tools: [{ name: 'now', input_schema: schema }],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    });
    expect(readAsMessages({ functions, function_call: { name: 'now' } })['tool_choice']).toMatchObject({
      type: 'tool',
    });
    expect(readAsMessages({ functions, function_call: 'none' })['tool_choice']).toEqual({ type: 'none' });
    for (const none of [{ functions: [] }, { functions: null, function_call: 'auto' }])
      expect(readAsMessages(none)).toEqual(readAsMessages({}));
    expect(termsOf({ functions }).callsFunctions).toBe(true);
    expect(termsOf({ tools: [tool('now')] }).callsFunctions).toBe(false);
  });

  test('can be chosen, required, forbidden, and limited to one call at a time', () => {
    const tools = [tool('weather'), tool('now')];
    const choiceOf = (members: object) => readAsMessages({ tools, ...members })['tool_choice'];
    expect(choiceOf({})).toBeUndefined();
    expect(choiceOf({ tool_choice: 'auto' })).toEqual({ type: 'auto' });
    expect(choiceOf({ tool_choice: 'none', parallel_tool_calls: false })).toEqual({ type: 'none' });
    expect(choiceOf({ tool_choice: 'required' })).toEqual({ type: 'any' });
    expect(choiceOf({ tool_choice: tool('now') })).toEqual({ type: 'tool', name: 'now' });
    expect(choiceOf({ parallel_tool_calls: false })).toEqual({ type: 'auto', disable_parallel_tool_use: true });
    expect(choiceOf({ parallel_tool_calls: false, tool_choice: 'required' })).toEqual({
      type: 'any',
      disable_parallel_tool_use: true,
    });
  });

  test('of which only some are allowed are sent without the others', () => {
    const tools = [tool('weather'), tool('now')];
    const allowed = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [tool('now')] } });
    expect(readAsMessages({ tools, tool_choice: allowed('required') })).toMatchObject({
      tools: [{ name: 'now' }],
      tool_choice: { type: 'any' },
    });
    expect(readAsMessages({ tools, tool_choice: allowed('auto') })['tool_choice']).toEqual({ type: 'auto' });
  });

  test('in an empty list leave no tool choice', () => {
    expect(readAsMessages({ tools: [], tool_choice: 'auto', parallel_tool_calls: false })).not.toContainKeys([
      'tools',
      'tool_choice',
    ]);
  });
});

describe('the response format', () => {
  test('is a schema that the provider enforces', () => {
    const response_format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } };
    expect(readAsMessages({ response_format })['output_config']).toEqual({ format: { type: 'json_schema', schema } });
  });

  test('gets a closed schema even if it is not strict, because no provider accepts an open one', () => {
    const open = {
      type: 'object',
      properties: { of: { $ref: '#/$defs/a' }, list: { type: 'array', items: schema }, any: { type: 'object' } },
      $defs: { a: { anyOf: [schema, { type: 'null' }] }, map: { ...schema, additionalProperties: { type: 'string' } } },
    };
    const schemaOf = (strict: boolean | null, asked: object) => {
      const response_format = { type: 'json_schema', json_schema: { name: 'place', strict, schema: asked } };
      return (readAsMessages({ response_format })['output_config'] as { format: { schema: object } }).format.schema;
    };
    const shut = { ...schema, additionalProperties: false };
    expect(schemaOf(false, open)).toEqual({
      type: 'object',
      additionalProperties: false,
      properties: { of: { $ref: '#/$defs/a' }, list: { type: 'array', items: shut }, any: { type: 'object' } },
      $defs: { a: { anyOf: [shut, { type: 'null' }] }, map: { ...schema, additionalProperties: { type: 'string' } } },
    });
    expect(schemaOf(true, open)).toEqual(open);
    const joined = { allOf: [schema, schema], properties: { a: {} } };
    expect(schemaOf(null, joined)).toEqual(joined);
  });

  test('is any JSON object, and the system prompt asks the model for it', () => {
    const messages = [{ role: 'system', content: 'Be brief.' }, user()];
    const { system } = readAsMessages({ messages, response_format: { type: 'json_object' } });
    expect(system).toEqual([
      { type: 'text', text: 'Be brief.' },
      { type: 'text', text: expect.stringContaining('JSON object') },
    ]);
  });

  test('is text otherwise', () => {
    for (const response_format of [null, { type: 'text' }])
      expect(readAsMessages({ response_format })).not.toContainKeys(['output_config', 'system']);
  });
});

describe('thinking', () => {
  test('is enabled by an effort, and disabled by "none"', () => {
    const effortOf = (reasoning_effort: string) => readAsMessages({ reasoning_effort })['output_config'];
    expect(effortOf('high')).toEqual({ effort: 'high' });
    expect(readAsMessages({ reasoning_effort: 'high' })['thinking']).toEqual({ type: 'adaptive' });
    expect(readAsMessages({ reasoning_effort: null })).toEqual(readAsMessages({}));
    expect(effortOf('xhigh')).toEqual({ effort: 'xhigh' });
    expect(effortOf('minimal')).toEqual({ effort: 'low' });
    expect(readAsMessages({ reasoning_effort: 'none' })).toMatchObject({ thinking: { type: 'disabled' } });
  });

  test('may be requested in the format of other services or of the Messages protocol', () => {
    expect(readAsMessages({ reasoning: { effort: 'low' } })['output_config']).toEqual({ effort: 'low' });
    expect(readAsMessages({ reasoning: { max_tokens: 2000 } })['thinking']).toEqual({
      type: 'enabled',
      budget_tokens: 2000,
    });
    expect(readAsMessages({ reasoning: { enabled: false } })['thinking']).toEqual({ type: 'disabled' });
    expect(readAsMessages({ reasoning: { enabled: true } })['thinking']).toEqual({ type: 'adaptive' });
    expect(readAsMessages({ thinking: { type: 'enabled' } })['thinking']).toEqual({ type: 'adaptive' });
    const thinking = { type: 'enabled', budget_tokens: 2000 };
    expect(readAsMessages({ thinking, reasoning_effort: 'max' })).toMatchObject({
      thinking,
      output_config: { effort: 'max' },
    });
  });
});

test('the user of a conversation is taken from the most specific of three fields', () => {
  expect(readAsMessages({ user: 'u' })['metadata']).toEqual({ user_id: 'u' });
  expect(readAsMessages({ user: 'u', safety_identifier: 's' })['metadata']).toEqual({ user_id: 's' });
  expect(readAsMessages({ user: 'u', safety_identifier: 's', prompt_cache_key: 'c' })['metadata']).toEqual({
    user_id: 'c',
  });
  const { user_id } = readAsMessages({ user: 'u'.repeat(600) })['metadata'] as { user_id: string };
  expect(user_id).toMatch(/^[0-9a-f]{64}$/); // the provider with the strictest limit accepts 256 characters
});

test('a service tier is requested by the names of OpenAI, and refused by any other', () => {
  for (const service_tier of ['auto', 'default', 'standard', null])
    expect(readAsMessages({ service_tier })).not.toContainAnyKeys(['service_tier', 'speed']);
  for (const service_tier of ['priority', 'fast']) expect(readAsMessages({ service_tier })['speed']).toBe('fast');
  for (const service_tier of ['flex', 'ultrafast'])
    expect(readAsMessages({ service_tier })).toMatchObject({ service_tier });
  for (const service_tier of ['scale', 'standard_only', 'toString', 7])
    expect(refusalOf({ service_tier })).toEqual({
      code: 'feature_unavailable',
      message: 'service_tier: Input should be "auto", "default", "priority", "fast", "flex" or "ultrafast"',
    });
});

test('a stream has its usage where the request asks for it, and otherwise in its last chunk', () => {
  const placeOf = (stream_options: unknown) => termsOf({ stream_options }).usage;
  expect(placeOf({ include_usage: true })).toBe('own chunk');
  expect(placeOf({ include_usage: false })).toBe('none');
  for (const options of [undefined, null, {}, { include_usage: null }]) expect(placeOf(options)).toBe('last chunk');
  expect(termsOf({ usage: { include: true } }).usage).toBe('last chunk');
});

test('cache breakpoints are passed on from every place', () => {
  const cache_control = { type: 'ephemeral', ttl: '1h' };
  const text = (words: string) => ({ type: 'text', text: words, cache_control });
  const image = { type: 'image_url', image_url: { url: 'https://example.org/a.png' }, cache_control };
  const request = readAsMessages({
    cache_control,
    tools: [{ ...tool('now'), cache_control }],
    messages: [
      { role: 'system', content: [text('Be brief.')] },
      { role: 'user', content: [{ type: 'text', text: 'Look:' }, image] },
      { role: 'assistant', content: 'A cat.', cache_control },
      user(),
    ],
  });
  expect(request).toMatchObject({
    cache_control,
    tools: [{ name: 'now', cache_control }],
    system: [{ text: 'Be brief.', cache_control }],
    messages: [
      { content: [{ text: 'Look:' }, { type: 'image', cache_control }] },
      { content: [{ text: 'A cat.', cache_control }] },
      { role: 'user' },
    ],
  });
  expect(request).not.toMatchObject({ messages: [{ content: [{ cache_control }] }] });
});

test('numbers keep every digit as written', () => {
  const long = '123456789012345678901';
  const parameters = `{"type":"object","properties":{"id":{"const":${long}}}}`;
  const written = JSON.stringify(`{"id": ${long}, "share": 0.10000000000000000001}`);
  const text = textOf(
    `{"model":"m","messages":[{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
      "function":{"name":"f","arguments":${written}}}]},{"role":"tool","tool_call_id":"c","content":"ok"}],
      "tools":[{"type":"function","function":{"name":"f","parameters":${parameters}}}]}`,
  );
  expect(text).toContain(`"input":{"id":${long},"share":0.10000000000000000001}`);
  expect(text).toContain(`"const":${long}`);
});

test('the same request always gives the same bytes', () => {
  const request = { model: 'm', messages: [user()], tools: [tool('now')], user: 'u', seed: 7 };
  expect(textOf(request)).toBe(textOf(structuredClone(request)));
});
