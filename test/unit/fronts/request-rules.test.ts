// Requests that break the rules of a provider, of every front to every kind: names of tools, choices at the top of a schema,
// keywords of an enforced schema, spaces at the end, and stop sequences of white space. The rules are written here again, from
// the vendors' documentation and refusals.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { chatCompletions } from '../../../src/fronts/chat-completions/chat-completions.ts';
import type { Front } from '../../../src/fronts/front.ts';
import { gemini } from '../../../src/fronts/gemini/gemini.ts';
import { responses } from '../../../src/fronts/responses/responses.ts';
import type { Attempt } from '../../../src/providers/providers.ts';
import { parseMessageRequest } from '../../../src/wire/wire.ts';
import { bytesOf, type Driver, type Json, objectsOf } from '../providers/conformance/driver.ts';
import { drivers } from '../providers/conformance/drivers.ts';
import { ask, attemptOf, json, streamed } from '../providers/conformance/exchange.ts';
import { call, replyOf, text } from '../providers/conformance/model-reply.ts';
import { translateBytes } from './translate-bytes.ts';

/** Each breaks the form of some provider; the last two are alike but for a character that none takes. */
const NAMES = ['fine_name', 'issues.search', 'mcp:files/read it', '1st', '-dash', 'ü', 'n'.repeat(140), 'a.b', 'a:b'];

interface Asked {
  names: readonly string[];
  schema: Json;
  /** The input of each earlier call; absent: empty. */
  input?: Json;
  /** The schema of the answer; absent: none. */
  answer?: Json;
  strict?: boolean;
  stops?: readonly string[];
  /** The beginning of the answer; absent: none. */
  begun?: string;
}

interface Writer {
  front: Front;
  write(asked: Asked): Json;
}

const WRITERS: readonly Writer[] = [
  {
    front: chatCompletions,
    write: ({ names, schema, input = {}, answer, strict = false, stops, begun }) => ({
      model: 'm',
      messages: [
        { role: 'user', content: 'Hi' },
        ...names.flatMap((name, index) => [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: `c${index}`, type: 'function', function: { name, arguments: JSON.stringify(input) } }],
          },
          { role: 'tool', tool_call_id: `c${index}`, content: 'Seen.' },
        ]),
        ...(begun === undefined ? [] : [{ role: 'assistant', content: begun }]),
      ],
      ...(names.length > 0 && {
        tools: names.map((name) => ({ type: 'function', function: { name, parameters: schema, strict } })),
      }),
      ...(answer !== undefined && {
        response_format: { type: 'json_schema', json_schema: { name: 'x', schema: answer } },
      }),
      ...(stops !== undefined && { stop: stops }),
    }),
  },
  {
    front: responses,
    write: ({ names, schema, input = {}, answer, strict = false, begun }) => ({
      model: 'm',
      input: [
        { role: 'user', content: 'Hi' },
        ...names.flatMap((name, index) => [
          { type: 'function_call', call_id: `c${index}`, name, arguments: JSON.stringify(input) },
          { type: 'function_call_output', call_id: `c${index}`, output: 'Seen.' },
        ]),
        ...(begun === undefined ? [] : [{ role: 'assistant', content: begun }]),
      ],
      tools: names.map((name) => ({ type: 'function', name, parameters: schema, strict })),
      ...(answer !== undefined && { text: { format: { type: 'json_schema', name: 'x', schema: answer } } }),
    }),
  },
  {
    front: gemini,
    write: ({ names, schema, input = {}, answer, stops, begun }) => ({
      contents: [
        { role: 'user', parts: [{ text: 'Hi' }] },
        ...names.flatMap((name) => [
          { role: 'model', parts: [{ functionCall: { name, args: input } }] },
          { role: 'user', parts: [{ functionResponse: { name, response: { output: 'Seen.' } } }] },
        ]),
        ...(begun === undefined ? [] : [{ role: 'model', parts: [{ text: begun }] }]),
      ],
      ...(names.length > 0 && {
        tools: [{ functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })) }],
      }),
      generationConfig: {
        ...(answer !== undefined && { responseMimeType: 'application/json', responseJsonSchema: answer }),
        ...(stops !== undefined && { stopSequences: stops }),
      },
    }),
  },
];

const cases = WRITERS.flatMap((writer) =>
  drivers.map((driver) => [writer.front.protocol, driver.name, writer, driver] as const),
);
/** Drivers whose requests have the form of Claude's. */
const ofClaude = cases.filter(([, , , { speaksMessages }]) => speaksMessages);

function attemptAt(driver: Driver, { front, write }: Writer, asked: Asked, isStreamed: boolean): Attempt {
  const operation = { asks: 'message', model: 'm', stream: isStreamed } as const;
  const bytes = new TextEncoder().encode(JSON.stringify({ ...write(asked), ...(isStreamed && { stream: true }) }));
  const { message } = translateBytes(front, bytes, { operation });
  const body = JSON.stringify({ max_tokens: 4_000, ...message, stream: isStreamed });
  const request = parseMessageRequest(new TextEncoder().encode(body), front.protocol);
  return attemptOf(driver, body, { request });
}

async function sentBy(driver: Driver, writer: Writer, asked: Asked): Promise<string> {
  const answer = () => json(driver.whole(replyOf([text('.')])));
  const { sent, fault } = await ask(driver, attemptAt(driver, writer, asked, false), answer);
  if (fault !== null) throw fault;
  return sent?.body ?? '';
}

const EMPTY = { type: 'object', properties: {} };

describe('names of tools', () => {
  test.each(cases)(
    'of %s reach %s in its form, and come back as the client wrote them',
    async (_, __, writer, driver) => {
      const toolName = driver.speaksMessages ? /^[a-zA-Z0-9_-]{1,128}$/ : driver.toolName;
      for (const isStreamed of [false, true]) {
        const attempt = attemptAt(driver, writer, { names: NAMES, schema: EMPTY }, isStreamed);
        let sentNames: string[] = [];
        const {
          fault,
          events,
          text: whole,
        } = await ask(driver, attempt, ({ body }) => {
          const { tools, facts } = driver.read(body);
          sentNames = tools.map(({ name }) => name);
          const called = facts.flatMap((fact) => ('call' in fact ? [fact.name] : []));
          expect([...sentNames, ...called].filter((name) => !toolName.test(name))).toEqual([]);
          expect(called).toEqual(sentNames);
          const reply = driver.fit(replyOf(sentNames.map((name, index) => call(`call_${index}aaa`, name, '{}'))));
          if (!isStreamed) return json(driver.whole(reply));
          return streamed(driver, [
            bytesOf(
              driver,
              driver.stream(reply, () => 0.5),
            ),
          ]);
        });
        if (fault !== null) throw fault;
        expect(new Set(sentNames).size).toBe(NAMES.length);
        const blocks = isStreamed
          ? events.flatMap(({ name, value }) =>
              name === 'content_block_start' ? [value['content_block'] as Json] : [],
            )
          : objectsOf((JSON.parse(whole ?? '{}') as Json)['content']);
        const names = blocks.flatMap(({ type, name }) => (type === 'tool_use' ? [name] : []));
        expect(names).toEqual(NAMES.slice(0, names.length));
        expect(names).not.toBeEmpty();
      }
    },
  );
});

const A = { type: 'string' };
const B = { type: 'integer' };

test.each(WRITERS.map((writer) => [writer.front.protocol, writer] as const))(
  'a tool of %s has a name of bounded length, and a longer one is refused with its field',
  (_, { front, write }) => {
    const operation = { asks: 'message', model: 'm', stream: false } as const;
    const translate = (name: string) =>
      translateBytes(front, new TextEncoder().encode(JSON.stringify(write({ names: [name], schema: EMPTY }))), {
        operation,
      });
    const longest = 'n'.repeat(bounds.toolNameCharactersMax);
    expect(translate(longest).message).toMatchObject({ tools: [{ name: longest }] });
    expect(() => translate(`${longest}n`)).toThrow(
      /^tools\.0\.(?:function\.|functionDeclarations\.0\.)?name: String should have at most 512 characters$/,
    );
  },
);

describe('names of properties', () => {
  /** Claude refuses those at the top, and takes any further inside. */
  const REFUSED_NAMES = [
    'filter[id]',
    '$top',
    '名前',
    '年齢',
    'a b',
    'a_b',
    'a/b',
    'x'.repeat(70),
    `${'x'.repeat(64)}y`,
  ];
  const schema = {
    type: 'object',
    properties: Object.fromEntries(
      REFUSED_NAMES.map((name) => [name, { type: 'object', properties: { [name]: A, list: { items: A } } }]),
    ),
    required: REFUSED_NAMES.slice(1),
  };
  const input = Object.fromEntries(
    REFUSED_NAMES.map((name, place) => [name, { [name]: '", "$top": {', n: place, list: [{ $top: null }] }]),
  );

  test.each(ofClaude)(
    'of %s reach %s in its form, and come back as the client wrote them',
    async (_, __, writer, driver) => {
      for (const isStreamed of [false, true]) {
        const asked = { names: ['f', 'g:h'], schema, input };
        const {
          fault,
          events,
          text: whole,
        } = await ask(driver, attemptAt(driver, writer, asked, isStreamed), ({ body }) => {
          const { tools, messages } = JSON.parse(body) as { tools: Json[]; messages: { content: Json[] }[] };
          const sent = tools.map((tool) => tool['input_schema'] as { properties: Json; required: string[] });
          const keys = Object.keys(sent[0]?.properties ?? {});
          expect(keys.filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))).toEqual([]);
          expect(new Set(keys).size).toBe(REFUSED_NAMES.length);
          expect(keys.slice(0, 6)).toEqual(['filter_id_', '_top', '__', '___2', 'a_3', 'a_b']);
          if (writer.front.protocol !== 'gemini') expect(sent[0]?.required).toEqual(keys.slice(1));
          expect(
            Object.values(sent[0]?.properties ?? {}).map((one) => Object.keys((one as Json)['properties'] as Json)[0]),
          ).toEqual(REFUSED_NAMES);
          const calls = messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_use'));
          for (const { input: given } of calls) expect(Object.keys(given as Json)).toEqual(keys);
          expect(calls).toHaveLength(2);
          const renamed = Object.fromEntries(Object.values(input).map((value, place) => [keys[place], value]));
          const written = JSON.stringify({ ...renamed, other: 1, big: 0 }).replace(
            '"big":0',
            '"big":12345678901234567890',
          );
          const reply = driver.fit(
            replyOf(tools.map(({ name }, place) => call(`call_${place}aaa`, String(name), written))),
          );
          if (!isStreamed) return json(driver.whole(reply));
          return streamed(driver, [
            bytesOf(
              driver,
              driver.stream(reply, () => 0.5),
            ),
          ]);
        });
        if (fault !== null) throw fault;
        const inputs = isStreamed
          ? inputsOf(events)
          : (whole?.match(/"input":\{.*?"big":\d+\}/g) ?? []).map((one) => one.slice('"input":'.length));
        expect(inputs.length).toBeGreaterThan(0);
        const expected = JSON.stringify({ ...input, other: 1, big: 0 }).replace(
          '"big":0',
          '"big":12345678901234567890',
        );
        for (const one of inputs) expect(one).toBe(expected);
      }
    },
  );

  test('that are longer than an answer may repeat in each call are refused by name', async () => {
    const [, , writer, driver] = ofClaude[0] as (typeof ofClaude)[number];
    const sentWith = (name: string) =>
      sentBy(driver, writer, { names: ['f'], schema: { type: 'object', properties: { [name]: A } } });
    expect(await sentWith('$'.repeat(bounds.replacedPropertyCharactersMax))).toContain(`"${'_'.repeat(64)}"`);
    for (const name of ['$'.repeat(bounds.replacedPropertyCharactersMax + 1), '\u0001'.repeat(64)])
      expect(sentWith(name)).rejects.toThrow('accepts no property named');
  });

  test('that a schema repeats further inside are refused by name', async () => {
    const [, , writer, driver] = ofClaude[0] as (typeof ofClaude)[number];
    for (const part of [{ $ref: '#' }, { $ref: '#/properties/$top' }])
      expect(
        sentBy(driver, writer, { names: ['f'], schema: { type: 'object', properties: { $top: A, part } } }),
      ).rejects.toThrow('accepts no property named "$top"');
  });
});

/** The inputs of the calls of a stream. */
function inputsOf(events: readonly { name: string; value: unknown }[]): string[] {
  const inputs = new Map<unknown, string>();
  for (const { name, value } of events) {
    const { index, delta } = value as { index: unknown; delta?: { partial_json?: string } };
    if (name === 'content_block_delta' && delta?.partial_json !== undefined)
      inputs.set(index, (inputs.get(index) ?? '') + delta.partial_json);
  }
  return [...inputs.values()];
}
const AT_TOP = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not'];
const either = (properties: Json, ...required: string[]) => ({ type: 'object', properties, required });

describe('a choice at the top of a schema', () => {
  test.each(cases)('of %s is one object at %s', async (_, __, writer, driver) => {
    const choices: readonly [schema: Json, required: string[]][] = [
      [{ type: 'object', properties: { a: A, b: B }, anyOf: [{ required: ['a'] }, { required: ['b'] }] }, []],
      [{ oneOf: [either({ a: A, b: B }, 'a', 'b'), either({ a: A, b: A }, 'a')] }, ['a']],
      [{ type: 'object', allOf: [either({ a: A }, 'a'), either({ b: B }, 'b')] }, ['a', 'b']],
      [{ anyOf: [{ $ref: '#/$defs/x' }], $defs: { x: either({ a: A, b: B }, 'a') } }, ['a']],
      [{ ...either({ a: A }, 'a'), oneOf: [{ allOf: [{ properties: { b: B } }] }] }, ['a']],
      [{ anyOf: [either({ a: A, b: B }), { $ref: '#' }, { $ref: '#/$defs/none' }, { $ref: 'https://x.example' }] }, []],
    ];
    for (const [schema, required] of choices) {
      const [tool] = driver.read(await sentBy(driver, writer, { names: ['f'], schema })).tools;
      const sent = tool?.schema as Json;
      expect(Object.keys(sent).filter((keyword) => AT_TOP.includes(keyword))).toEqual([]);
      expect(Object.keys(sent['properties'] as Json).sort()).toEqual(['a', 'b']);
      expect([...((sent['required'] as string[] | undefined) ?? [])].sort()).toEqual(required);
    }
  });
});

/** Keywords that Claude and Converse refuse in a schema that they enforce. */
const REFUSED = ['minimum', 'maximum', 'multipleOf', 'minLength', 'maxLength', 'maxItems', 'oneOf', 'uniqueItems'];
const LIMITED = {
  type: 'object',
  properties: {
    stars: { type: 'integer', minimum: 1, maximum: 5, description: 'How many.' },
    name: { type: 'string', minLength: 1, maxLength: 20, format: 'color' },
    day: { type: 'string', format: 'date' },
    list: { type: 'array', items: { oneOf: [{ type: 'number', multipleOf: 2 }, A] }, minItems: 3, uniqueItems: true },
    maximum: { type: 'string' },
    open: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['stars', 'maximum'],
};

function expectLimited(schema: Json): void {
  const properties = schema['properties'] as Record<string, Json>;
  expect(schema['additionalProperties']).toBe(false);
  expect(properties['stars']).toEqual({ type: 'integer', description: 'How many. (minimum: 1, maximum: 5)' });
  expect(properties['day']).toEqual({ type: 'string', format: 'date' });
  expect(properties['maximum']).toEqual({ type: 'string' });
  expect(properties['name']).not.toContainAnyKeys([...REFUSED, 'format']);
  expect(properties['list']).not.toContainAnyKeys([...REFUSED, 'minItems']);
  expect((properties['list'] as { items: Json }).items['anyOf']).toEqual([
    { type: 'number', description: '(multipleOf: 2)' },
    A,
  ]);
  expect(properties['open']).toMatchObject({ type: 'object', additionalProperties: false });
  expect(schema['required']).toEqual(['stars', 'maximum']);
}

describe('an enforced schema', () => {
  test.each(ofClaude)('of an answer, of %s, says at %s what cannot be enforced', async (_, __, writer, driver) => {
    const body = JSON.parse(await sentBy(driver, writer, { names: [], schema: EMPTY, answer: LIMITED })) as Json;
    expectLimited(((body['output_config'] as Json)['format'] as Json)['schema'] as Json);
  });

  const strict = ofClaude.filter(([protocol]) => protocol !== 'gemini');
  test.each(strict)('of a strict tool, of %s, says at %s what cannot be enforced', async (_, __, writer, driver) => {
    const names = Array.from({ length: 25 }, (_, index) => `f${index}`);
    const body = JSON.parse(await sentBy(driver, writer, { names, schema: LIMITED, strict: true })) as Json;
    const tools = objectsOf(body['tools']);
    expect(tools.filter((tool) => tool['strict'] === true)).toHaveLength(20);
    expectLimited(tools[0]?.['input_schema'] as Json);
    expect(tools.at(-1)?.['input_schema']).toEqual(LIMITED);
  });
});

const node = (...required: string[]) => ({
  type: 'object',
  properties: { name: A, next: { $ref: '#/$defs/node' } },
  required,
  additionalProperties: false,
});
const treeOf = (...required: string[]) => ({ $ref: '#/$defs/node', $defs: { node: node(...required) } });
const holding = (part: Json, more: Json = {}) => ({
  type: 'object',
  properties: { part },
  required: ['part'],
  additionalProperties: false,
  ...more,
});
/** Schemas with references, and which kinds of providers enforce them. */
const REFERENCES: readonly [what: string, schema: Json, enforcedBy: 'all' | 'Gemini and OpenAI' | 'OpenAI'][] = [
  [
    'a definition that is used twice',
    holding({ anyOf: [{ $ref: '#/$defs/a' }, { type: 'array', items: { $ref: '#/$defs/a' } }] }, { $defs: { a: A } }),
    'all',
  ],
  [
    'no way back to a schema that is named like one',
    holding({ type: 'object', properties: { $ref: A }, additionalProperties: false }),
    'all',
  ],
  ['an optional way back', treeOf('name'), 'Gemini and OpenAI'],
  ['a required way back', treeOf('name', 'next'), 'OpenAI'],
  ['a way back to the top', holding({ type: 'array', items: { $ref: '#' } }), 'OpenAI'],
  [
    'a way back through several',
    holding({ $ref: '#/$defs/a' }, { $defs: { a: holding({ $ref: '#/$defs/b' }), b: holding({ $ref: '#/$defs/a' }) } }),
    'OpenAI',
  ],
  ['a way back that nothing uses', holding(A, { $defs: { a: { $ref: '#/$defs/a' } } }), 'OpenAI'],
];

/** The texts of a request, and the texts of the texts that are JSON. */
function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe('a schema of an answer with', () => {
  const family = ({ name, speaksMessages }: Driver) =>
    speaksMessages || name.startsWith('bedrock') ? 'Claude' : /gemini/i.test(name) ? 'Gemini' : 'OpenAI';
  test.each(REFERENCES)('%s is enforced where the provider takes it, and else told', async (_, answer, enforcedBy) => {
    for (const [protocol, , writer, driver] of cases) {
      const body = await sentBy(driver, writer, { names: [], schema: EMPTY, answer }).catch((thrown: Error) => thrown);
      if (body instanceof Error) {
        expect(body.message).toBe('output_config.format: Extra inputs are not permitted'); // it takes no schemas
        continue;
      }
      const isEnforced = enforcedBy === 'all' || enforcedBy.includes(family(driver));
      const isTold = textsIn(JSON.parse(body)).some((said) => said.includes('must match this JSON schema:\n{'));
      expect([protocol, driver.name, isTold]).toEqual([protocol, driver.name, !isEnforced]);
      const format = /"(?:responseJsonSchema|json_schema|textFormat|output_config|jsonSchema)":/.test(body);
      expect([protocol, driver.name, format || body.includes('"format":')]).toEqual([
        protocol,
        driver.name,
        isEnforced,
      ]);
    }
  });

  test.each(ofClaude.filter(([protocol]) => protocol !== 'gemini'))(
    'a way back, of a strict tool of %s, is not strict at %s, and the others are',
    async (_, __, writer, driver) => {
      for (const [, schema, enforcedBy] of REFERENCES) {
        const body = JSON.parse(await sentBy(driver, writer, { names: ['f'], schema, strict: true })) as Json;
        expect(objectsOf(body['tools'])[0]?.['strict'] === true).toBe(enforcedBy === 'all');
      }
    },
  );
});

describe('the end of a begun answer', () => {
  test.each(ofClaude)('of %s has no space at %s', async (_, __, writer, driver) => {
    const body = JSON.parse(await sentBy(driver, writer, { names: [], schema: EMPTY, begun: ' So:\n\t ' })) as Json;
    expect(objectsOf(body['messages']).at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: ' So:' }],
    });
  });
});

describe('stop sequences of white space', () => {
  const stopping = ofClaude.filter(([protocol]) => protocol !== 'responses');
  test.each(stopping)('of %s are not sent to %s', async (_, __, writer, driver) => {
    const stopsOf = async (...stops: string[]) =>
      (JSON.parse(await sentBy(driver, writer, { names: [], schema: EMPTY, stops })) as Json)['stop_sequences'];
    expect(await stopsOf('\n', 'END', ' ')).toEqual(['END']);
    expect(await stopsOf('\n')).toBeUndefined();
  });
});
