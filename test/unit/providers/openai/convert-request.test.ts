// Parameters, tools, addresses and headers of a Chat Completions request, for each family.

import { describe, expect, test } from 'bun:test';
import { convertBody, convertHeaders, convertModelUrl } from '../../../../src/providers/openai/convert-request.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { makeAttempt } from '../make-attempt.ts';
import { attemptAt, type Family } from './read-fixture.ts';

function bodyOf(members: object, family: Family = 'openai', upstreamModel = 'gpt-4.1'): JsonObject {
  const attempt = attemptAt(family, members, { upstreamModel });
  return convertBody(attempt, chooseProfile(attempt.provider.baseUrl, upstreamModel));
}

function refusalOf(members: object, family: Family = 'openai', model?: string): string {
  try {
    bodyOf(members, family, model);
  } catch (thrown) {
    if (thrown instanceof ProviderFault && thrown.kind === 'rejected' && thrown.status === 400) return thrown.message;
    throw thrown;
  }
  return 'the request was not refused';
}

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ name: 'get_weather', description: 'Tells the weather', input_schema: schema }];
const think = (budget_tokens: number) => ({ type: 'enabled', budget_tokens });

describe('a request', () => {
  test('has the requested parameters and no others', () => {
    expect(bodyOf({ temperature: 0.5, top_p: 0.9, top_k: 40, stop_sequences: ['END'] })).toEqual({
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Hi' }],
      max_completion_tokens: 100,
      temperature: 0.5,
      top_p: 0.9,
      stop: ['END'],
      service_tier: 'default',
    });
  });

  test('for a stream requests its usage, except from a family that refuses that', () => {
    const stream = { stream: true, stream_options: { include_usage: true } };
    expect(bodyOf({ stream: true })).toMatchObject(stream);
    expect(bodyOf({ stream: true }, 'compatible')).toMatchObject(stream);
    const mistral = bodyOf({ stream: true }, 'mistral');
    expect(mistral['stream']).toBe(true);
    expect(mistral).not.toHaveProperty('stream_options');
  });

  test('limits its output by the parameter of its family', () => {
    const named = (family: Family) => Object.keys(bodyOf({}, family)).find((name) => name.startsWith('max_'));
    for (const family of ['openai', 'azure', 'groq', 'xai'] as const)
      expect(named(family)).toBe('max_completion_tokens');
    for (const family of ['openrouter', 'deepseek', 'mistral', 'moonshot', 'ollama', 'compatible'] as const)
      expect(named(family)).toBe('max_tokens');
    expect(refusalOf({ max_tokens: 0 })).toStartWith('max_tokens: ');
  });

  test('has penalties and a seed from Chat Completions clients, if the model supports sampling', () => {
    const requested = { frequency_penalty: -0.5, presence_penalty: 1, seed: 7 };
    const sentTo = (family: Family, model: string, protocol: 'messages' | 'chat-completions') => {
      const attempt = attemptAt(family, requested, { upstreamModel: model });
      const request = { ...attempt.request, protocol };
      return convertBody({ ...attempt, request }, chooseProfile(attempt.provider.baseUrl, model));
    };
    expect(sentTo('compatible', 'm', 'chat-completions')).toMatchObject(requested);
    expect(sentTo('openai', 'gpt-4.1', 'chat-completions')).toMatchObject(requested);
    expect(sentTo('mistral', 'm', 'chat-completions')).not.toHaveProperty('seed');
    expect(sentTo('openai', 'gpt-5', 'chat-completions')).not.toContainAnyKeys(Object.keys(requested));
    expect(sentTo('compatible', 'm', 'messages')).not.toContainAnyKeys(Object.keys(requested));
  });

  test('leaves out hints: top_k, sampling for models that reason, values that mean unset', () => {
    expect(bodyOf({ top_k: 5 }, 'openrouter')).toHaveProperty('top_k', 5);
    expect(bodyOf({ top_k: 5 }, 'compatible')).not.toHaveProperty('top_k');
    const reasoning = bodyOf({ temperature: 0.2, top_p: 0.5 }, 'openai', 'gpt-5.6');
    expect([reasoning['temperature'], reasoning['top_p']]).toEqual([undefined, undefined]);
    expect(bodyOf({ top_p: -1 })).not.toHaveProperty('top_p');
    expect(bodyOf({ temperature: 0.2 }, 'openai', 'gpt-5-chat-latest')).toHaveProperty('temperature', 0.2);
  });

  test('with more stop sequences than its provider accepts is refused with their name', () => {
    expect(refusalOf({ stop_sequences: ['a', 'b', 'c', 'd', 'e'] })).toStartWith('stop_sequences: ');
    expect(refusalOf({ stop_sequences: ['a'] }, 'openai', 'o3')).toStartWith('stop_sequences: ');
    expect(bodyOf({ stop_sequences: ['a', 'b', 'c', 'd', 'e'] }, 'compatible')).toHaveProperty('stop.length', 5);
    expect(bodyOf({ stop_sequences: [] })).not.toHaveProperty('stop');
  });

  test('with a user identifier sends a hash of it if the family supports one', () => {
    const metadata = { user_id: '{"device_id":"someone"}' };
    expect(bodyOf({ metadata })['safety_identifier']).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(bodyOf({ metadata }, 'mistral'))).not.toContain('someone');
  });

  test('for JSON with a schema requests it, or is refused with an error text on which clients correct themselves', () => {
    const format = { type: 'json_schema', schema };
    const requested = (strict: boolean) => ({ type: 'json_schema', json_schema: { name: 'output', schema, strict } });
    const expected = requested(true);
    const shut = { ...schema, additionalProperties: false, required: Object.keys(schema.properties) };
    const strictly = { output_config: { format: { ...format, schema: shut } } };
    expect(bodyOf(strictly)['response_format']).toMatchObject({ json_schema: { schema: shut, strict: true } });
    // OpenAI refuses a strict schema with optional properties, and accepts it as a plain one.
    expect(bodyOf({ output_config: { format } })['response_format']).toEqual(requested(false));
    expect(bodyOf({ output_format: format }, 'compatible')['response_format']).toEqual(expected);
    expect(refusalOf({ output_config: { format } }, 'deepseek')).toBe(
      'output_config.format: Extra inputs are not permitted',
    );
    expect(bodyOf({ output_config: { format: null } })).not.toHaveProperty('response_format');
  });
});

describe('thinking', () => {
  const effortOf = (members: object, model: string, family: Family = 'openai') =>
    bodyOf({ max_tokens: 64_000, ...members }, family, model)['reasoning_effort'];

  test('is an effort derived from the budget, or the requested effort, as far as the model supports it', () => {
    expect([1024, 4096, 8192, 32_000].map((budget) => effortOf({ thinking: think(budget) }, 'o3'))).toEqual([
      'low',
      'medium',
      'high',
      'high',
    ]);
    const named = (effort: string, model: string) =>
      effortOf({ thinking: { type: 'adaptive' }, output_config: { effort } }, model);
    expect([named('max', 'gpt-5.6'), named('max', 'gpt-5.1'), named('low', 'gpt-5')]).toEqual(['xhigh', 'high', 'low']);
    expect(effortOf({ thinking: { type: 'adaptive' } }, 'gpt-5.6')).toBeUndefined();
    expect(effortOf({}, 'gpt-5.6')).toBeUndefined();
  });

  test('is disabled if that is possible', () => {
    const off = (model: string) => effortOf({ thinking: { type: 'disabled' } }, model);
    expect([off('gpt-5.6'), off('gpt-5'), off('o3'), off('gpt-4.1')]).toEqual([
      'none',
      'minimal',
      undefined,
      undefined,
    ]);
  });

  test('is dropped in favor of tools if a model refuses the combination', () => {
    const withTools = (model: string) => effortOf({ tools, thinking: think(32_000) }, model);
    expect([withTools('gpt-5.6-sol'), withTools('gpt-5.4'), withTools('gpt-5.1'), withTools('o3')]).toEqual([
      'none',
      undefined,
      'high',
      'high',
    ]);
  });

  test('is requested in the form of each family, and never from models without thinking', () => {
    expect(bodyOf({ thinking: think(2048) }, 'deepseek', 'deepseek-v4')).toMatchObject({
      thinking: { type: 'enabled' },
      reasoning_effort: 'medium',
    });
    expect(bodyOf({ thinking: { type: 'disabled' } }, 'deepseek', 'deepseek-v4')).toMatchObject({
      thinking: { type: 'disabled' },
    });
    expect(bodyOf({}, 'deepseek', 'deepseek-v4')).toMatchObject({ thinking: { type: 'disabled' } });
    expect(bodyOf({}, 'deepseek', 'deepseek-reasoner')).not.toHaveProperty('thinking');
    expect(bodyOf({ thinking: think(2048) }, 'openrouter')).toMatchObject({ reasoning: { max_tokens: 2048 } });
    expect(bodyOf({ thinking: { type: 'adaptive' } }, 'openrouter')).toMatchObject({ reasoning: { enabled: true } });
    expect(bodyOf({ thinking: { type: 'disabled' } }, 'openrouter')).toMatchObject({ reasoning: { effort: 'none' } });
    expect(effortOf({ thinking: think(2048) }, 'openai/gpt-oss-120b', 'groq')).toBe('medium');
    expect(effortOf({ thinking: think(2048) }, 'llama3.2', 'ollama')).toBeUndefined();
    expect(effortOf({ thinking: think(2048) }, 'gpt-4.1')).toBeUndefined();
    expect(bodyOf({ thinking: think(2048) }, 'moonshot', 'kimi-k2.5')).toMatchObject({ thinking: { type: 'enabled' } });
  });
});

describe('tools', () => {
  const namesOf = (body: JsonObject) =>
    (body['tools'] as JsonObject[]).map((tool) => (tool['function'] as JsonObject)['name']);

  test('are functions with the client’s own schema', () => {
    expect(bodyOf({ tools })['tools']).toEqual([
      { type: 'function', function: { name: 'get_weather', description: 'Tells the weather', parameters: schema } },
    ]);
    const bare = [
      { name: 'now', input_schema: { type: 'object' }, strict: true, cache_control: { type: 'ephemeral' } },
    ];
    expect(bodyOf({ tools: bare })['tools']).toEqual([
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} }, strict: true } },
    ]);
    expect(JSON.stringify(bodyOf({ tools: bare }, 'compatible'))).not.toContain('strict');
    expect(bodyOf({ tools: [] })).not.toHaveProperty('tools');
  });

  test('are chosen as the client requested', () => {
    const choiceOf = (tool_choice: object, family: Family = 'openai') =>
      bodyOf({ tools, tool_choice }, family)['tool_choice'];
    expect([choiceOf({ type: 'auto' }), choiceOf({ type: 'any' }), choiceOf({ type: 'none' })]).toEqual([
      'auto',
      'required',
      'none',
    ]);
    expect(choiceOf({ type: 'tool', name: 'get_weather' })).toEqual({
      type: 'function',
      function: { name: 'get_weather' },
    });
    expect(bodyOf({ tools })).not.toHaveProperty('tool_choice');
    expect(bodyOf({ tool_choice: { type: 'any' } })).not.toHaveProperty('tool_choice');
    expect(refusalOf({ tools, tool_choice: { type: 'any' } }, 'ollama')).toStartWith('tool_choice: ');
    expect(bodyOf({ tools, tool_choice: { type: 'none' } }, 'ollama')).not.toHaveProperty('tools');
  });

  test('are used one at a time if the family supports that', () => {
    const tool_choice = { type: 'auto', disable_parallel_tool_use: true };
    expect(bodyOf({ tools, tool_choice })).toHaveProperty('parallel_tool_calls', false);
    expect(bodyOf({ tools, tool_choice }, 'deepseek')).not.toHaveProperty('parallel_tool_calls');
    expect(bodyOf({ tools, tool_choice }, 'openai', 'o3')).not.toHaveProperty('parallel_tool_calls');
    expect(bodyOf({ tools, tool_choice: { type: 'auto' } })).not.toHaveProperty('parallel_tool_calls');
    expect(bodyOf({ tool_choice })).not.toHaveProperty('parallel_tool_calls');
  });

  test('with names that are too long get shorter ones, each distinct, also in the conversation and the choice', () => {
    const name = `mcp__server__${'x'.repeat(80)}`;
    const long = [
      { name: `${name}1`, input_schema: schema },
      { name: `${name}2`, input_schema: schema },
    ];
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_a', name: `${name}2`, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_a', content: 'x' }] },
    ];
    const body = bodyOf({ tools: long, messages, tool_choice: { type: 'tool', name: `${name}2` } });
    const [first, second] = namesOf(body);
    expect(first).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(second).not.toBe(first);
    expect(body['tool_choice']).toMatchObject({ function: { name: second } });
    expect((body['messages'] as JsonObject[])[1]).toMatchObject({ tool_calls: [{ function: { name: second } }] });
  });

  test('that a client runs by itself are functions with their known schema; those of another provider are refused', () => {
    const own = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
      { type: 'memory_20250818', name: 'memory' },
    ];
    expect(namesOf(bodyOf({ tools: own }))).toEqual(['bash', 'str_replace_based_edit_tool', 'memory']);
    for (const type of ['web_search_20250305', 'code_execution_20250825', 'computer_20250124', 'mcp_toolset'])
      expect(refusalOf({ tools: [...tools, { type, name: 'x' }] })).toStartWith('tools.1.type: ');
  });

  test('that a message introduces in the middle of the conversation are included', () => {
    const added = { type: 'tool_addition', tool: { definition: { name: 'later', input_schema: schema } } };
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'system', content: [added] },
    ];
    expect(namesOf(bodyOf({ tools, messages }))).toEqual(['get_weather', 'later']);
  });
});

describe('the address and the headers', () => {
  const urlOf = (baseUrl: string) => {
    const attempt = makeAttempt(baseUrl, { model: 'm', messages: [{ role: 'user', content: 'Hi' }] });
    return convertModelUrl(attempt, '/chat/completions');
  };

  test('complete an address that an operator left incomplete, and nothing else', () => {
    expect(urlOf('https://api.openai.com')).toBe('https://api.openai.com/v1/chat/completions');
    expect(urlOf('https://api.openai.com/v1/')).toBe('https://api.openai.com/v1/chat/completions');
    expect(urlOf('https://mine.openai.azure.com')).toBe('https://mine.openai.azure.com/openai/v1/chat/completions');
    const older = 'https://mine.openai.azure.com/openai/deployments/m/chat/completions?api-version=2024-10-21';
    for (const path of ['', '/', '/openai', '/openai/deployments/m', '/openai/deployments/m/chat/completions'])
      expect(urlOf(`https://mine.openai.azure.com${path}?api-version=2024-10-21`)).toBe(older);
    expect(urlOf('https://mine.openai.azure.com/openai/v1?api-version=preview')).toBe(
      'https://mine.openai.azure.com/openai/v1/chat/completions?api-version=preview',
    );
    expect(urlOf('https://openrouter.ai')).toBe('https://openrouter.ai/api/v1/chat/completions');
    expect(urlOf('https://api.groq.com')).toBe('https://api.groq.com/openai/v1/chat/completions');
    expect(urlOf('http://127.0.0.1:8000')).toBe('http://127.0.0.1:8000/v1/chat/completions');
    expect(urlOf('https://api.deepseek.com/beta')).toBe('https://api.deepseek.com/beta/chat/completions');
    expect(urlOf('https://x.example/a/chat/completions')).toBe('https://x.example/a/chat/completions');
  });

  test('have the credential where the family expects it, and only the trace context of the client', () => {
    const headersOf = (family: Family, credential: Secret | null) => {
      const trace = { traceparent: '00-1-2-01', tracestate: null } as never;
      const changes = { version: '2023-06-01', betas: 'some-beta', trace };
      const attempt = attemptAt(family, {}, changes);
      const provider = { ...attempt.provider, credential };
      return convertHeaders({ ...attempt, provider }, 'application/json');
    };
    const plain = {
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
    };
    const traced = { ...plain, traceparent: '00-1-2-01' };
    expect(headersOf('openai', new Secret('sk-1'))).toEqual({ ...traced, authorization: 'Bearer sk-1' });
    expect(headersOf('azure', new Secret('k1'))).toEqual({ ...traced, 'api-key': 'k1' });
    expect(headersOf('ollama', null)).toEqual(traced);
    expect(() => headersOf('openai', new Secret('two words'))).toThrow('a header cannot contain');
  });
});
