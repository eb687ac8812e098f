// A message request for the provider: every supported parameter, and a refusal with the field's path for every other.

import { describe, expect, test } from 'bun:test';
import { convertBody, convertHeaders, convertUrl } from '../../../../src/providers/openai-responses/convert-request.ts';

import { encodeReasoning, homeOf } from '../../../../src/providers/openai-responses/reasoning-signature.ts';
import { type Attempt, type ProviderEndpoint, ProviderFault } from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { makeAttempt } from '../make-attempt.ts';

const HELLO = { model: 'some-model', max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] };
const SAID = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] };
const LOOK = {
  name: 'look',
  description: 'Looks.',
  input_schema: { type: 'object', properties: { at: { type: 'string' } } },
};
const THINKING = { type: 'adaptive' };

const convert = (members: object = {}, changes: Partial<Attempt> = {}): JsonObject =>
  convertBody(makeAttempt('http://upstream', { ...HELLO, ...members }, changes));

function refusalOf(members: object, changes: Partial<Attempt> = {}): ProviderFault {
  try {
    convert(members, changes);
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return thrown;
    throw thrown;
  }
  throw new Error('the request was not refused');
}

describe('a request', () => {
  test('stores nothing at the provider, and has no parameters that were not requested', () => {
    expect(convert()).toEqual({
      model: 'some-model',
      input: [SAID],
      max_output_tokens: 100,
      store: false,
      stream: false,
    });
  });

  test('has the model name of the provider and the max_tokens of the attempt, and is streamed as requested', () => {
    const changes = { upstreamModel: 'gpt-theirs', maxTokens: 50 };
    expect(convert({ stream: true }, changes)).toMatchObject({
      model: 'gpt-theirs',
      max_output_tokens: 50,
      stream: true,
    });
  });

  test('requests at least the provider’s minimum of tokens, and refuses to request none', () => {
    expect(convert({ max_tokens: 1 })['max_output_tokens']).toBe(16);
    expect(refusalOf({ max_tokens: 0 }).message).toStartWith('max_tokens: ');
  });

  test.each<[unknown, string | undefined]>([
    ['Be brief.', 'Be brief.'],
    ['', undefined],
    [[], undefined],
    [
      [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.', cache_control: { type: 'ephemeral' } },
      ],
      'Be brief.\n\nBe kind.',
    ],
    [
      [
        { type: 'text', text: 'x-anthropic-billing-header: cc_version=2;' },
        { type: 'text', text: 'Be brief.' },
      ],
      'Be brief.',
    ],
  ])('has the system prompt %j as instructions', (system, instructions) => {
    expect(convert({ system })['instructions']).toBe(instructions as never);
  });

  test('has sampling parameters, unless they are unset or default, or the model reasons', () => {
    expect(convert({ temperature: 0.2, top_p: 0.9 })).toMatchObject({ temperature: 0.2, top_p: 0.9 });
    expect(convert({ temperature: 0 })['temperature']).toBe(0);
    for (const members of [{ temperature: 1, top_p: 1 }, { top_p: -1 }, { temperature: 0.2, thinking: THINKING }]) {
      const body = convert(members);
      expect([body['temperature'], body['top_p']]).toEqual([undefined, undefined]);
    }
    for (const upstreamModel of ['o3', 'o4-mini', 'gpt-5', 'gpt-5.2-codex'])
      expect(convert({ temperature: 0.2 }, { upstreamModel })).not.toHaveProperty('temperature');
    for (const upstreamModel of ['gpt-4o', 'gpt-5-chat-latest', 'orca', 'ft:gpt-4.1:us'])
      expect(convert({ temperature: 0.2 }, { upstreamModel })).toMatchObject({ temperature: 0.2 });
  });

  test('has tool inputs with every digit', () => {
    const text = JSON.stringify({
      ...HELLO,
      temperature: 0.30000000000000004,
      messages: [
        HELLO.messages[0],
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: { id: 0 } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
      ],
    }).replace('"id":0', '"id":12345678901234567890');
    const body = convertBody(makeAttempt('http://upstream', text));
    expect((body['input'] as JsonObject[])[1]).toMatchObject({ arguments: '{"id":12345678901234567890}' });
    expect(body['temperature']).toBe(0.30000000000000004);
  });

  test('that must not use a faster tier requests the standard one', () => {
    expect(convert({ service_tier: 'standard_only' })['service_tier']).toBe('default');
    expect(convert({ service_tier: 'auto' })).not.toHaveProperty('service_tier');
  });
});

describe('a parameter', () => {
  test('for the end user is sent to OpenAI only, as a hash', () => {
    const openai = { name: 'p', kind: 'openai-responses', baseUrl: 'https://api.openai.com/v1', credential: null };
    const metadata = { user_id: 'somebody' };
    expect(convert({ metadata })).toEqual(convert());
    expect(convert({ metadata }, { provider: openai })['safety_identifier']).toMatch(/^[0-9a-f]{64}$/);
    expect(convert({ metadata: { user_id: null } }, { provider: openai })).not.toHaveProperty('safety_identifier');
  });

  test('for the standard tier is not sent', () => {
    expect(convert({ speed: 'standard' })).toEqual(convert());
  });
});

describe('tools', () => {
  test('are functions that are not strict', () => {
    expect(
      convert({ tools: [LOOK, { type: 'custom', name: 'wait', input_schema: { type: 'object' } }] })['tools'],
    ).toEqual([
      {
        type: 'function',
        name: 'look',
        description: 'Looks.',
        parameters: { type: 'object', properties: { at: { type: 'string' } } },
        strict: false,
      },
      { type: 'function', name: 'wait', parameters: { type: 'object', properties: {} }, strict: false },
    ]);
  });

  test('keep the keys of their schemas in order', () => {
    const schema = { required: ['b'], properties: { b: { type: 'string' }, a: {} }, $defs: {}, type: 'object' };
    const [tool] = convert({ tools: [{ name: 'look', input_schema: schema }] })['tools'] as JsonObject[];
    expect(JSON.stringify(tool?.['parameters'])).toBe(JSON.stringify(schema));
  });

  test('are strict on request, if the provider accepts that', () => {
    const strict = {
      type: 'object',
      properties: { a: { type: 'string' } },
      required: ['a'],
      additionalProperties: false,
    };
    const nested = {
      ...strict,
      properties: { a: { type: 'array', items: { type: 'object', properties: { b: {} } } } },
    };
    for (const [schema, isStrict] of [
      [strict, true],
      [LOOK.input_schema, false],
      [nested, false],
    ])
      expect(convert({ tools: [{ ...LOOK, strict: true, input_schema: schema }] })['tools']).toMatchObject([
        { strict: isStrict },
      ]);
    expect(convert({ tools: [{ ...LOOK, input_schema: strict }] })['tools']).toMatchObject([{ strict: false }]);
  });

  test('that a client runs and names by type are sent with their schemas', () => {
    const typed = [
      { type: 'bash_20250124', name: 'bash' },
      { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool', max_characters: 10 },
      { type: 'memory_20250818', name: 'memory' },
    ];
    expect(convert({ tools: typed })['tools']).toMatchObject([
      { type: 'function', name: 'bash', strict: false, parameters: { properties: { command: {}, restart: {} } } },
      { name: 'str_replace_based_edit_tool', parameters: { properties: { insert_text: {}, view_range: {} } } },
      { name: 'memory', parameters: { properties: { old_path: {} }, required: ['command'] } },
    ]);
  });

  test.each(['web_search_20250305', 'code_execution_20250825', 'computer_toolset_20260801', 'tool_of_the_future'])(
    'that only another provider runs are refused: %s',
    (type) => {
      expect(refusalOf({ tools: [LOOK, { type, name: 'x' }] }).message).toBe(
        `tools.1: the provider of this model has no tool of type "${type}"`,
      );
    },
  );

  test('with names that are too long get shorter ones, each distinct and the same in every turn', () => {
    const names = ['a'.repeat(100), `${'a'.repeat(100)}b`, 'mcp__server__tool', 'with.dot'];
    const tools = names.map((name) => ({ ...LOOK, name }));
    const choice = { type: 'tool', name: names[0] };
    const messages = [
      HELLO.messages[0],
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: names[0], input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1' }] },
    ];
    const body = convert({ tools, tool_choice: choice, messages });
    const theirs = (body['tools'] as JsonObject[]).map(({ name }) => String(name));
    expect(new Set(theirs).size).toBe(4);
    for (const name of theirs) expect(name).toMatch(/^[\w-]{1,64}$/);
    expect(theirs[2]).toBe('mcp__server__tool');
    expect(body['tool_choice']).toEqual({ type: 'function', name: String(theirs[0]) });
    expect((body['input'] as JsonObject[])[1]).toMatchObject({ name: theirs[0] });
  });

  test.each<[object, unknown]>([
    [{ type: 'auto' }, { tool_choice: 'auto' }],
    [{ type: 'any' }, { tool_choice: 'required' }],
    [{ type: 'none' }, { tool_choice: 'none' }],
    [{ type: 'tool', name: 'look' }, { tool_choice: { type: 'function', name: 'look' } }],
    [
      { type: 'auto', disable_parallel_tool_use: true },
      { tool_choice: 'auto', parallel_tool_calls: false },
    ],
    [{ type: 'any', disable_parallel_tool_use: false }, { tool_choice: 'required' }],
  ])('are chosen according to %j', (choice, expected) => {
    const { tool_choice, parallel_tool_calls } = convert({ tools: [LOOK], tool_choice: choice });
    const sent = {
      ...(tool_choice !== undefined && { tool_choice }),
      ...(parallel_tool_calls !== undefined && { parallel_tool_calls }),
    };
    expect(sent).toEqual(expected as never);
  });

  test('that are missing cannot be required; a choice of none is no fault', () => {
    expect(refusalOf({ tool_choice: { type: 'any' } }).message).toStartWith('tool_choice: ');
    expect(convert({ tools: [], tool_choice: { type: 'auto', disable_parallel_tool_use: true } })).toEqual(convert());
  });
});

describe('tools introduced by a message', () => {
  const added = (definition: object) => ({ type: 'tool_addition', tool: { type: 'definition', definition } });
  const bringing = (definition: object) => [
    HELLO.messages[0],
    { role: 'system', content: [{ type: 'text', text: 'You can look now.' }, added(definition)] },
  ];

  test('are sent from the beginning, once', () => {
    const body = convert({ messages: bringing(LOOK) });
    expect(body['tools']).toEqual(convert({ tools: [LOOK] })['tools']);
    expect(convert({ tools: [LOOK], messages: bringing(LOOK) })['tools']).toHaveLength(1);
    expect((body['input'] as JsonObject[]).at(-1)).toMatchObject({
      role: 'developer',
      content: [{ type: 'input_text' }],
    });
  });

  test('are refused with their place', () => {
    expect(refusalOf({ messages: bringing({ type: 'web_search_20250305', name: 'x' }) }).message).toStartWith(
      'messages.1.content.1.tool.definition: ',
    );
  });
});

describe('thinking', () => {
  const include = ['reasoning.encrypted_content'];
  test.each<[object, object]>([
    [
      { thinking: { type: 'enabled', budget_tokens: 1024 } },
      { reasoning: { effort: 'low', summary: 'auto' }, include },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 2047 } },
      { reasoning: { effort: 'low', summary: 'auto' }, include },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 2048 } },
      { reasoning: { effort: 'medium', summary: 'auto' }, include },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 8192 } },
      { reasoning: { effort: 'high', summary: 'auto' }, include },
    ],
    [{ thinking: { type: 'adaptive' } }, { reasoning: { summary: 'auto' }, include }],
    [{ thinking: { type: 'adaptive', display: 'summarized' } }, { reasoning: { summary: 'auto' }, include }],
    [{ thinking: { type: 'adaptive', display: 'omitted' } }, { include }],
    [
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'xhigh' } },
      { reasoning: { effort: 'high' }, include },
    ],
    [
      { thinking: { type: 'enabled', budget_tokens: 1024 }, output_config: { effort: 'max' } },
      { reasoning: { effort: 'high', summary: 'auto' }, include },
    ],
    [{ output_config: { effort: 'low' } }, { reasoning: { effort: 'low' } }],
    [{ thinking: { type: 'disabled' } }, {}],
    [{ output_config: { effort: null } }, {}],
    [{}, {}],
  ])('%j becomes reasoning, sealed for the next turn only if requested', (members, expected) => {
    const body = convert(members);
    expect(
      Object.fromEntries(['reasoning', 'include'].flatMap((name) => (name in body ? [[name, body[name]]] : []))),
    ).toEqual(expected as never);
  });
});

describe('a model', () => {
  test.each<[string, object, object]>([
    ['gpt-5', { output_config: { effort: 'max' } }, { reasoning: { effort: 'high' } }],
    ['gpt-5.2', { output_config: { effort: 'max' } }, { reasoning: { effort: 'xhigh' } }],
    ['o3', { thinking: { type: 'disabled' } }, {}],
    ['gpt-5-mini', { thinking: { type: 'disabled' } }, { reasoning: { effort: 'minimal' } }],
    ['gpt-5.1', { thinking: { type: 'disabled' } }, { reasoning: { effort: 'none' } }],
    ['openai/gpt-5.1', { output_config: { effort: 'low' } }, { reasoning: { effort: 'low' } }],
    ['gpt-4o', { thinking: { type: 'enabled', budget_tokens: 4096 }, output_config: { effort: 'low' } }, {}],
    ['gpt-5-chat-latest', { thinking: { type: 'adaptive' } }, {}],
  ])('%s gets the parameters that it supports from %j', (upstreamModel, members, expected) => {
    const { reasoning, include } = convert(members, { upstreamModel });
    expect(reasoning).toEqual((expected as JsonObject)['reasoning']);
    expect(include).toBeUndefined();
  });

  test('without reasoning does not get thinking of another model', () => {
    const parts = [{ of: 'summary' as const, characters: 3 }];
    const { provider } = makeAttempt('http://upstream', HELLO);
    const signature = encodeReasoning({ id: 'rs_1', encryptedContent: 'gAAAA', parts }, homeOf(provider));
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'text', text: 'Yes.' },
    ];
    const messages = [HELLO.messages[0], { role: 'assistant', content }, HELLO.messages[0]];
    const typesFor = (upstreamModel: string) =>
      (convert({ messages, thinking: THINKING }, { upstreamModel })['input'] as JsonObject[]).map(({ type }) => type);
    expect(typesFor('gpt-5')).toEqual(['message', 'reasoning', 'message', 'message']);
    expect(typesFor('gpt-4o')).toEqual(['message', 'message', 'message']);
  });
});

describe('a structured output', () => {
  const strict = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  test.each<[string, object, boolean]>([
    ['output_config.format', { output_config: { format: { type: 'json_schema', schema: strict } } }, true],
    ['output_format', { output_format: { type: 'json_schema', schema: strict } }, true],
    [
      'a schema with optional properties',
      { output_config: { format: { type: 'json_schema', schema: { ...strict, required: [] } } } },
      false,
    ],
  ])('by %s is requested by its schema, strict if the provider accepts that', (_words, members, isStrict) => {
    expect(convert(members)['text']).toMatchObject({
      format: { type: 'json_schema', name: 'output', schema: { type: 'object' }, strict: isStrict },
    });
  });

  test('of another kind is refused, and a missing one is accepted', () => {
    expect(refusalOf({ output_config: { format: { type: 'regex' } } }).message).toStartWith('output_config.format: ');
    expect(convert({ output_config: { format: null } })).toEqual(convert());
  });
});

describe('the address and the headers', () => {
  test.each([
    ['https://api.openai.com', 'https://api.openai.com/v1/responses'],
    ['https://api.openai.com/v1', 'https://api.openai.com/v1/responses'],
    ['https://host/openai/v1/', 'https://host/openai/v1/responses'],
    ['https://host/api/v3', 'https://host/api/v3/responses'],
    ['https://some.openai.azure.com', 'https://some.openai.azure.com/openai/v1/responses'],
    ['https://some.openai.azure.com/openai/v1', 'https://some.openai.azure.com/openai/v1/responses'],
    ['https://some.openai.azure.com?api-version=1', 'https://some.openai.azure.com/openai/responses?api-version=1'],
    [
      'https://some.openai.azure.com/openai?api-version=1',
      'https://some.openai.azure.com/openai/responses?api-version=1',
    ],
    [
      'https://some.openai.azure.com/openai/v1?api-version=1',
      'https://some.openai.azure.com/openai/v1/responses?api-version=1',
    ],
  ])('of %s are found with or without its version', (base, url) => {
    expect(convertUrl(base, '/responses')).toBe(url);
  });

  test('have the credential and the trace context, and nothing else of the client', () => {
    const from = (endpoint: Pick<ProviderEndpoint, 'baseUrl' | 'credential'>, trace?: Attempt['trace']) => ({
      provider: { name: 'p', kind: 'openai-responses', ...endpoint },
      ...(trace && { trace }),
    });
    const trace = { traceparent: '00-1', tracestate: 'a=b' };
    const headers = convertHeaders(
      from({ baseUrl: 'http://upstream', credential: new Secret(' sk-ours ') }, trace as never),
      'application/json',
    );
    expect(headers).toEqual({
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
      authorization: 'Bearer sk-ours',
      traceparent: '00-1',
      tracestate: 'a=b',
    });
    expect(convertHeaders(from({ baseUrl: '', credential: null }), '*/*')).not.toHaveProperty('authorization');
    expect(() => convertHeaders(from({ baseUrl: '', credential: new Secret('sk\nours') }), '*/*')).toThrow(
      ProviderFault,
    );
  });
});
