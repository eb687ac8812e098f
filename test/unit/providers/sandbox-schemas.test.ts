// Values that the sandbox makes for schemas, judged by a validator that shares no code with it.

import { expect, test } from 'bun:test';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import { type Attempt, type Provider, ProviderFault, providerKinds } from '../../../src/providers/providers.ts';
import { fillSchema } from '../../../src/providers/sandbox/fill-schema.ts';
import { type JsonObject, type JsonValue, jsonObjects } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

const sandbox = providerKinds.get('sandbox') as Provider;

/** The value for a schema as JSON text. */
async function fill(schema: unknown): Promise<string> {
  const attempt: Attempt = makeAttempt('', {
    model: 'sandbox-echo',
    max_tokens: 1_000_000,
    messages: [{ role: 'user', content: 'Hi' }],
    output_config: { format: { type: 'json_schema', schema } },
  });
  const reply = await sandbox.submit(attempt);
  if (reply.form !== 'message') throw new Error('streamed');
  return String(jsonObjects(reply.message['content'])[0]?.['text']);
}

/** One for all schemas, because it compiles the schema of schemas first. */
const ajv = addFormats(new Ajv2020({ strict: false, logger: false, allErrors: true }));

function expectValid(schema: object, value: unknown): void {
  const validate = ajv.compile(schema);
  ajv.removeSchema(schema);
  expect({ schema, errors: validate(value) ? null : validate.errors }).toEqual({ schema, errors: null });
}

const tree = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: {
        value: { type: 'integer' },
        left: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        right: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        others: { type: 'array', items: { $ref: '#/$defs/node' } },
      },
      required: ['value', 'left', 'right', 'others'],
      additionalProperties: false,
    },
  },
};

const expression = {
  $ref: '#/$defs/expression',
  $defs: {
    expression: { anyOf: [{ $ref: '#/$defs/sum' }, { type: 'number' }] },
    sum: {
      type: 'object',
      properties: { left: { $ref: '#/$defs/expression' }, right: { $ref: '#/$defs/expression' } },
      required: ['left', 'right'],
    },
  },
};

const FILLED: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
  'the required members in their order': [
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['null', 'number'] }, c: {}, d: { type: 'boolean' } },
      required: ['d', 'b', 'a', 'toString'],
    },
    { d: true, b: 1, a: 'text', toString: 'text' },
  ],
  'members without a type': [{ properties: { a: { items: { enum: ['x', 'y'] } } }, required: ['a'] }, { a: ['x'] }],
  'members by the schema of all others': [
    { type: 'object', additionalProperties: { type: 'null' }, required: ['a'] },
    { a: null },
  ],
  'a tree without children': [tree, { value: 1, left: null, right: null, others: [] }],
  'the alternative that ends a recursion': [expression, 1],
  'nothing of itself within itself': [
    { type: 'object', properties: { parent: { anyOf: [{ $ref: '#' }, { type: 'null' }] } }, required: ['parent'] },
    { parent: null },
  ],
  'a definition behind escapes': [
    { $ref: '#/$defs/a~1b~0c/anyOf/0', $defs: { 'a/b~c': { anyOf: [{ const: 7 }] } } },
    7,
  ],
  'a definition that is a reference': [
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { enum: ['x'] } } },
    'x',
  ],
  'one definition that applies twice': [
    { allOf: [{ $ref: '#/$defs/a' }, { allOf: [{ $ref: '#/$defs/a' }] }], $defs: { a: { type: 'integer' } } },
    1,
  ],
  'all of several': [
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        { properties: { a: { minimum: 5 }, b: { type: 'boolean' } }, required: ['b', 'a'] },
      ],
    },
    { a: 5, b: true },
  ],
  'the first alternative, by its tag': [
    {
      oneOf: ['cat', 'dog'].map((kind) => ({
        type: 'object',
        properties: { kind: { const: kind }, [kind]: { type: 'boolean' } },
        required: ['kind', kind],
      })),
    },
    { kind: 'cat', cat: true },
  ],
  'members besides those of an alternative': [
    { properties: { a: { const: 1 } }, required: ['a'], anyOf: [{ required: ['b'] }, { required: ['c'] }] },
    { a: 1, b: 'text' },
  ],
  'a constant that is null': [{ const: null }, null],
  'whole numbers': [{ type: 'integer', minimum: 2.5 }, 3],
  'positive numbers': [{ type: 'number', exclusiveMinimum: 0 }, 1],
  'long texts': [{ type: 'string', minLength: 6 }, 'textte'],
  'as many items': [{ type: 'array', items: { const: 0 }, minItems: 3 }, [0, 0, 0]],
};

for (const [name, [schema, value]] of Object.entries(FILLED))
  test(`the value of a schema has ${name}`, async () => {
    const made = await fill(schema);
    expectValid(schema, JSON.parse(made));
    expect(JSON.parse(made)).toEqual(value);
    expect(await fill(schema)).toBe(made);
  });

test('texts have the format that they should have', async () => {
  const formats = 'date-time date time duration email hostname ipv4 ipv6 uri uuid'.split(' ');
  const properties = Object.fromEntries(formats.map((format) => [format, { type: 'string', format }]));
  const schema = { type: 'object', properties, required: formats };
  expectValid(schema, JSON.parse(await fill(schema)));
});

const SIMPLEST: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
  'another document, which is not read': [{ $ref: 'https://example.com/schema' }, 'text'],
  'a definition that does not exist': [{ $ref: '#/$defs/a' }, 'text'],
  'a pattern, which is not read': [{ type: 'string', pattern: '^(?=a)a$' }, 'text'],
  'members without an end': [{ properties: { a: { $ref: '#' } }, required: ['a'] }, null],
  'a reference to itself': [{ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } }, 'text'],
  'too many items': [{ type: 'array', items: { type: 'string' }, minItems: 1e9 }, null],
  'too long a text': [{ type: 'string', minLength: 1e9 }, null],
  'a large value many times': [{ type: 'array', items: { const: 'x'.repeat(5_000) }, minItems: 1_000 }, null],
};

for (const [name, [schema, value]] of Object.entries(SIMPLEST))
  test(`a schema with ${name} has the simplest value`, async () => {
    expect(JSON.parse(await fill(schema))).toEqual(value);
  });

test('definitions and alternatives that multiply each other, or are nested too deep, end with null', async () => {
  const names = Array.from({ length: 100 }, (_, place) => `p${place}`);
  const levelOf = (level: number, members: readonly string[]) => ({
    type: 'object',
    properties: Object.fromEntries(members.map((name) => [name, { $ref: `#/$defs/p${level + 1}` }])),
    required: members,
  });
  const levels = (members: readonly string[]) =>
    Object.fromEntries(names.map((name, level) => [name, levelOf(level, members)]));
  expect(await fill({ $ref: '#/$defs/p0', $defs: levels(names.slice(0, 10)) })).toBe('null');
  expect(await fill({ $ref: '#/$defs/p0', $defs: levels(names.slice(0, 1)) })).toBe('null');
  const endless = { anyOf: names.map(() => ({ $ref: '#' })) };
  expect(await fill({ allOf: names.map(() => ({ ...endless })) })).toBe('null');
});

/** A list that counts how often a member of it is read. */
function counted(values: readonly unknown[]): { list: JsonValue[]; reads(): number } {
  let reads = 0;
  const get = (target: JsonValue[], name: string | symbol) => {
    if (typeof name === 'string' && /^\d+$/.test(name)) reads++;
    return Reflect.get(target, name) as unknown;
  };
  return { list: new Proxy([...values] as JsonValue[], { get }), reads: () => reads };
}

test('the alternatives of a value with many schemas are tried within the bound on steps', () => {
  const { list, reads } = counted(new Array(100_000).fill({ $ref: '#' }));
  const first = { type: 'object', required: ['a'], properties: { a: { anyOf: list } } };
  const others = Array.from({ length: 1_000 }, () => ({ properties: { a: {} } }));
  expect(fillSchema({ allOf: [first, ...others] } as unknown as JsonObject)).toBeNull();
  expect(reads()).toBeLessThan(1_000);
});

for (const [keyword, schemaWith] of Object.entries({
  type: (list: JsonValue) => ({ type: list }),
  items: (items: JsonValue) => ({ type: 'array', items }),
  additionalProperties: (list: JsonValue) => ({ type: 'object', required: ['a'], additionalProperties: list }),
  properties: (list: JsonValue) => ({ type: 'object', required: ['a'], properties: { a: list } }),
}))
  test(`a long list as \`${keyword}\` is not read whole for each reference to it`, () => {
    const { list, reads } = counted(new Array(1_000).fill(0));
    const names = Array.from({ length: 16 }, (_, place) => place.toString(2).padStart(4, '0'));
    const spelled = names.map((digits) => `#/${digits.replaceAll('0', '~').replaceAll('1', '~0')}`);
    const schema = { allOf: spelled.map(($ref) => ({ $ref })), '~~~~': schemaWith(list) };
    fillSchema(schema as unknown as JsonObject);
    expect(reads()).toBeLessThan(200);
  });

test('a format without a schema is refused', async () => {
  const refusal = await fill(7).catch((fault: unknown) => fault);
  expect(refusal).toBeInstanceOf(ProviderFault);
  expect(refusal).toMatchObject({ kind: 'rejected', message: expect.stringContaining('output_config.format:') });
});
