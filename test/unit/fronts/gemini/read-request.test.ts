// Translates requests of Gemini: conversation, tools, settings, and the names that Google accepts.

import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { encodeThinking } from '../../../../src/fronts/gemini/carried-thinking.ts';
import { REFUSED_NAMES } from '../../../../src/fronts/gemini/read-body.ts';
import { call, type Json, messageOf, refusalOf, result, says, translate, turnsOf } from './read-gemini.ts';

const model = (...parts: object[]) => ({ role: 'model', parts });
const user = (...parts: object[]) => ({ role: 'user', parts });
const blocksOf = (...parts: object[]) =>
  (messageOf({ contents: [user(...parts)] })['messages'] as { content: object[] }[])[0]?.content;

describe('contents', () => {
  test('may have media of a user, inside or at a URL', () => {
    const base64 = Buffer.from('Grüße').toString('base64');
    expect(
      blocksOf(
        { inlineData: { mimeType: 'image/jpg', data: 'AAAA' } },
        { inline_data: { mime_type: 'application/pdf', data: 'JVBE', display_name: 'a.pdf' } },
        { inlineData: { mimeType: 'text/markdown; charset=utf-8', data: base64 } },
        { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/b.png' } },
        { fileData: { mimeType: 'application/pdf', fileUri: 'https://a.example/b' } },
      ),
    ).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.pdf' },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Grüße' } },
      { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
      { type: 'document', source: { type: 'url', url: 'https://a.example/b' } },
    ]);
  });

  test('of one role in a row are one turn, and results come first', () => {
    expect(
      turnsOf(model({ text: 'a' }), model(call('f', { id: 'x' })), says('b'), {
        role: 'function',
        parts: [result('f', { output: 'done' }, { id: 'x' })],
      }),
    ).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'a' },
          { type: 'tool_use', id: 'x', name: 'f', input: {} },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'x', content: 'done' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
  });

  test('may begin with the model, and may have blank and empty parts', () => {
    const contents = [model({ text: 'a' }), user({ text: ' ' }, {}, { text: 'b' }), model({ text: '' })];
    expect(messageOf({ contents })['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ text: 'a' }] },
      { role: 'user', content: [{ text: 'b' }] },
    ]);
  });
});

describe('results', () => {
  const answered = (parts: object[], ...calls: object[]) => turnsOf(model(...calls), user(...parts))[1]?.['content'];

  test('without ids belong to calls of their name, in order', () => {
    const [asked, answers] = turnsOf(
      model(call('f'), call('g'), call('f')),
      user(result('g', { output: 'g' }), result('f', { output: '1' }), result('f', { output: '2' })),
    );
    const ids = ((asked as Json)['content'] as { id: string }[]).map(({ id }) => id);
    expect(new Set(ids).size).toBe(3);
    expect(answers?.['content']).toMatchObject([
      { tool_use_id: ids[1], content: 'g' },
      { tool_use_id: ids[0], content: '1' },
      { tool_use_id: ids[2], content: '2' },
    ]);
  });

  test('of a call without an id may have one, and a repeated result counts once', () => {
    const again = result('f', { output: 'done' }, { id: 'x' });
    expect(answered([again, again], call('f'))).toEqual([
      { type: 'tool_result', tool_use_id: expect.any(String), content: 'done' },
    ]);
    expect(answered([again, again], call('f', { id: 'x' }))).toHaveLength(1);
  });

  test('are a text in the object of each client, an error, or JSON', () => {
    const texts = (response: unknown) => answered([result('f', response)], call('f'));
    for (const response of [{ output: 'a' }, { result: 'a' }, { content: 'a' }, { name: 'f', content: 'a' }])
      expect(texts(response)).toMatchObject([{ content: 'a' }]);
    expect(texts({ error: 'a' })).toMatchObject([{ content: 'a', is_error: true }]);
    expect(texts({ degrees: 21 })).toMatchObject([{ content: '{"degrees":21}' }]);
    expect(texts({ output: 'a', error: 'b' })).toMatchObject([{ content: '{"output":"a","error":"b"}' }]);
    expect(texts({})).toMatchObject([{ content: '{}' }]);
  });

  test('may have images', () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }];
    expect(answered([result('f', { output: 'a' }, { parts })], call('f'))).toMatchObject([
      { content: [{ type: 'text', text: 'a' }, { type: 'image' }] },
    ]);
  });

  test('have their images counted, even where the result is repeated', () => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }];
    const twice = [result('f', { output: 'a' }, { parts }), result('f', { output: 'a' }, { parts })];
    expect(answered(twice, call('f'))).toMatchObject([
      { type: 'tool_result', content: [{ type: 'text' }, { type: 'image' }] },
      { type: 'image' },
    ]);
  });

  test('without a call are refused', () => {
    const contents = [says('a'), model(call('f')), user(result('g', { output: 'b' }))];
    expect(refusalOf({ contents })).toStartWith('invalid_request: contents.2.parts.0.functionResponse: ');
    expect(refusalOf({ contents: [user(call('f'))] })).toStartWith(
      'invalid_request: contents.0.parts.0.functionCall: ',
    );
  });
});

describe('thinking', () => {
  const thought = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' };
  const sealed = { type: 'redacted_thinking', data: 'ZGF0YQ' };
  const signed = (...carried: Parameters<typeof encodeThinking>[0]) => ({
    thoughtSignature: encodeThinking(carried) as string,
  });
  const asked = (...parts: object[]) => turnsOf(model(...parts))[0]?.['content'];

  test('comes back with the signature of its call, before or after the text', () => {
    expect(
      asked({ text: 'a' }, call('f', {}, signed(thought, 'text', sealed)), call('g', {}, signed(thought))),
    ).toEqual([
      thought,
      { type: 'text', text: 'a' },
      sealed,
      expect.objectContaining({ name: 'f' }),
      thought,
      expect.objectContaining({ name: 'g' }),
    ]);
  });

  test('comes back when the client has written the signature in the URL-safe alphabet', () => {
    const odd = { ...thought, thinking: '¿?>~ÿÿ¿¿??>>' };
    const { thoughtSignature } = signed(odd);
    const safe = thoughtSignature.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
    expect(asked(call('f', {}, { thought_signature: safe }))).toMatchObject([odd, { name: 'f' }]);
  });

  test('without a signature, or with one of Google or a broken one, is left out', () => {
    const { thoughtSignature } = signed(thought);
    for (const other of ['skip_thought_signature_validator', 'R29vZ2xl', thoughtSignature.slice(0, -8), ''])
      expect(asked({ text: 'Hm.', thought: true }, call('f', {}, { thoughtSignature: other }))).toMatchObject([
        { type: 'tool_use' },
      ]);
  });

  test('in signatures is weighed together with the body', () => {
    const many = `turnpike1${JSON.stringify(Array(200_000).fill(0))}`;
    const part = call('f', {}, { thoughtSignature: Buffer.from(many).toString('base64') });
    expect(refusalOf({ contents: Array(12).fill(model(part)) })).toMatch(
      /thoughtSignature: Input should not have more/,
    );
  });

  test('in signatures has no spelling that is not weighed', () => {
    const { thoughtSignature } = signed(thought);
    expect(
      refusalOf({ contents: [says('Hi'), model(call('f', {}, { _thoughtSignature: thoughtSignature }))] }),
    ).toContain('contents.1.parts.0._thoughtSignature: Input should be text');
    expect(refusalOf({ contents: undefined, _contents: [says('Hi')] })).toContain('contents: Field required');
  });

  test.each([
    [{ thinkingBudget: 0 }, { thinking: { type: 'disabled' } }],
    [{ thinkingBudget: -1 }, { thinking: { type: 'adaptive' } }],
    [{ thinkingBudget: 128 }, { thinking: { type: 'enabled', budget_tokens: 1_024 } }],
    [{ thinking_budget: 5_000 }, { thinking: { type: 'enabled', budget_tokens: 5_000 } }],
    [{ includeThoughts: true }, { thinking: { type: 'adaptive' } }],
    [{ includeThoughts: false }, {}],
    [{ thinkingLevel: 'MINIMAL' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    [{ thinkingLevel: 'high' }, { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
  ])('is requested as %j', (thinkingConfig, expected) => {
    const { thinking, output_config } = messageOf({ generationConfig: { thinkingConfig } });
    expect(JSON.parse(JSON.stringify({ thinking, output_config }))).toEqual(expected);
  });

  test('fits below the limit of the output, or is not requested', () => {
    const asking = (maxOutputTokens: number) =>
      messageOf({ generationConfig: { maxOutputTokens, thinkingConfig: { thinkingBudget: 8_192 } } })['thinking'];
    expect(asking(8_193)).toEqual({ type: 'enabled', budget_tokens: 8_192 });
    expect(asking(8_192)).toEqual({ type: 'enabled', budget_tokens: 4_096 });
    expect(asking(2_000)).toBeUndefined();
  });
});

describe('tools', () => {
  const declare = (...functionDeclarations: object[]) => ({ tools: [{ functionDeclarations }] });

  test('have schemas of Gemini or JSON schemas', () => {
    const schema = {
      type: 'OBJECT',
      propertyOrdering: ['a'],
      properties: {
        a: { type: 'STRING', nullable: true, enum: ['x'], format: 'enum' },
        type: { type: 'ARRAY', items: { type: 'INTEGER', format: 'int32' }, minItems: '1' },
        b: { anyOf: [{ type: 'NUMBER' }], nullable: true },
      },
      required: ['a'],
    };
    const plain = { type: 'object', properties: { type: { type: 'STRING' } } };
    expect(
      messageOf(
        declare({ name: 'f', description: 'd', parameters: schema }, { name: 'g', parametersJsonSchema: plain }),
      ),
    ).toMatchObject({
      tools: [
        {
          name: 'f',
          description: 'd',
          input_schema: {
            type: 'object',
            properties: {
              a: { type: ['string', 'null'], enum: ['x', null] },
              type: { type: 'array', items: { type: 'integer' }, minItems: 1 },
              b: { anyOf: [{ type: 'number' }, { type: 'null' }] },
            },
            required: ['a'],
          },
        },
        { name: 'g', input_schema: { type: 'object', properties: { type: { type: 'string' } } } },
      ],
    });
    expect(messageOf(declare({ name: 'f' }))['tools']).toEqual([{ name: 'f', input_schema: { type: 'object' } }]);
  });

  test.each([
    [{ mode: 'AUTO' }, { type: 'auto' }, ['f', 'g']],
    [{ mode: 'NONE' }, { type: 'none' }, ['f', 'g']],
    [{ mode: 'ANY' }, { type: 'any' }, ['f', 'g']],
    [{ mode: 'any', allowed_function_names: ['g'] }, { type: 'tool', name: 'g' }, ['g']],
    [{ mode: 'VALIDATED', allowedFunctionNames: ['f'] }, { type: 'auto' }, ['f']],
    [{}, undefined, ['f', 'g']],
  ])('are chosen by %j', (functionCallingConfig, choice, names) => {
    const toolConfig = { functionCallingConfig };
    const { tools, tool_choice } = messageOf({ ...declare({ name: 'f' }, { name: 'g' }), toolConfig });
    expect({ tool_choice, names: (tools as { name: string }[]).map(({ name }) => name) }).toEqual({
      tool_choice: choice,
      names,
    });
  });
});

describe('one value in place of a list', () => {
  const tool = { name: 'f', description: 'd', parameters: { type: 'OBJECT' } };
  const usual = {
    contents: [{ parts: [{ text: 'Hi' }] }],
    systemInstruction: { parts: [{ text: 'Be brief.' }] },
    tools: [{ functionDeclarations: [tool] }],
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['f'] } },
    generationConfig: { stopSequences: ['END'] },
    safetySettings: [{ category: 'c', threshold: 't' }],
  };
  const single = {
    contents: { parts: { text: 'Hi' } },
    systemInstruction: { parts: { text: 'Be brief.' } },
    tools: { functionDeclarations: tool },
    toolConfig: { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: 'f' } },
    generationConfig: { stopSequences: 'END' },
    safetySettings: { category: 'c', threshold: 't' },
  };
  const written = (body: Json): { message: Json; native: Json } => {
    const { message, native } = translate(body);
    return { message, native: JSON.parse(native?.text ?? '') as Json };
  };

  test.each(Object.entries(single))('%s is a list of one, for every kind of provider', (name, value) => {
    expect(written({ ...usual, [name]: value })).toEqual(written(usual));
  });

  test.each<[what: string, body: Json]>([
    ['contents', { contents: 'Hi' }],
    ['contents in a list', { contents: ['Hi'] }],
    ['parts', { contents: [{ parts: 'Hi' }] }],
    ['parts in a list', { contents: [{ parts: ['Hi'] }] }],
    ['contents without parts', { contents: [{ text: 'Hi' }] }],
    ['a system instruction', { systemInstruction: 'Be brief.' }],
    ['a system instruction without parts', { system_instruction: { text: 'Be brief.' } }],
    ['a system instruction with a role', { systemInstruction: { role: 'system', parts: ['Be brief.'] } }],
  ])('a text in place of %s is its text', (_, body) => {
    const { systemInstruction: system, ...rest } = usual;
    const own = 'system_instruction' in body ? rest : { ...rest, systemInstruction: system };
    const { message, native } = written({ ...own, ...body });
    expect(message).toEqual(messageOf(usual));
    expect(JSON.stringify(native)).not.toMatch(/"(?:contents|parts|systemInstruction)":(?:"|\["|\{"text")/);
  });

  test('is a result’s parts, too', () => {
    const inlineData = { mimeType: 'image/png', data: 'AAAA' };
    const turns = (parts: unknown) =>
      turnsOf({ role: 'model', parts: call('f') }, { parts: result('f', { output: 'ok' }, { parts }) });
    expect(turns({ inlineData })).toEqual(turns([{ inlineData }]));
  });

  test('is weighed with the body', () => {
    const many = Buffer.from(`turnpike1${JSON.stringify(Array(200_000).fill(0))}`).toString('base64');
    for (const contents of [
      { role: 'model', parts: call('f', {}, { thoughtSignature: many }) },
      [{ role: 'model', parts: call('f', {}, { thought_signature: many }) }],
    ])
      expect(refusalOf({ contents })).toMatch(/^invalid_request: contents\.0\.parts\.0\.thoughtSignature: /);
  });

  test.each([
    ['contents', { contents: 1 }],
    ['tools', { tools: true }],
    ['contents.0.parts', { contents: { parts: 1 } }],
    ['contents.0.role', { contents: { role: 'x', parts: 'a' } }],
    ['contents.0.parts.0.text', { contents: { text: 1 } }],
    ['tools.0.functionDeclarations.0.name', { tools: { functionDeclarations: {} } }],
  ])('%s is named where it is wrong', (path, body) => {
    expect(refusalOf(body)).toStartWith(`invalid_request: ${path}: `);
  });
});

test('settings have their names in Messages, and unset ones are left out', () => {
  expect(
    messageOf({
      system_instruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: {
        ...{ maxOutputTokens: 7, temperature: 0, top_p: 0.5, topK: 4, stopSequences: ['x', ''] },
        ...{ frequencyPenalty: 0.5, presencePenalty: 0, seed: 0, candidateCount: 1, responseModalities: ['TEXT'] },
      },
    }),
  ).toEqual({
    model: 'm',
    ...{ max_tokens: 7, temperature: 0, top_p: 0.5, top_k: 4, stop_sequences: ['x'], frequency_penalty: 0.5, seed: 0 },
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
  const unset = { maxOutputTokens: 0, topK: 0, topP: null, stopSequences: [], responseSchema: null };
  expect(messageOf({ generationConfig: unset, tools: [], systemInstruction: null })).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  });
});

test('a format is a closed schema, or an instruction without one', () => {
  const responseMimeType = 'application/json';
  const schema = { type: 'OBJECT', properties: { a: { type: 'STRING' } } };
  const closed = { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: false };
  for (const name of ['responseSchema', 'response_json_schema', 'responseJsonSchema', '_responseJsonSchema'])
    expect(messageOf({ generationConfig: { responseMimeType, [name]: schema } })).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: closed } },
    });
  expect(messageOf({ generationConfig: { responseMimeType } })['system']).toMatchObject([{ type: 'text' }]);
});

test('a refused member is refused with content, and not with an empty list or false', () => {
  const generationConfig = { responseModalities: ['TEXT', 'AUDIO'] };
  expect(refusalOf({ generationConfig })).toStartWith('feature_not_priced: generationConfig.responseModalities: ');
  expect(refusalOf({ tools: [{ mcpServers: [{ name: 'a' }] }] })).toStartWith('feature_not_priced: ');
  expect(refusalOf({ store: true })).toStartWith('feature_unavailable: ');
  const harmless = messageOf({ generationConfig: { responseModalities: [] }, store: false });
  expect(harmless['messages']).toBeArray();
});

test('the documentation names every refused member', () => {
  const page = readFileSync(join(import.meta.dir, '..', '..', '..', '..', 'docs', 'gemini.md'), 'utf8');
  const paragraph = page.split('\n\n').find((text) => text.startsWith('**Refused**')) ?? '';
  const names = [...paragraph.matchAll(/`(\w+)`/g)].map((match) => match[1] ?? '');
  expect(names.filter((name) => !['tools', 'generationConfig'].includes(name)).sort()).toEqual(
    [...REFUSED_NAMES].sort(),
  );
});
