// Values that the sandbox makes for schemas, judged by a validator that shares no code with it.

import { expect, test } from 'bun:test';
import Ajv2020 from 'ajv/dist/2020';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { type Attempt, type Provider, ProviderFault, providerKinds } from '../../../src/providers/providers.ts';
import { jsonObjects } from '../../../src/wire/wire.ts';
import { makeAttempt } from './make-attempt.ts';

const sandbox = providerKinds.get('sandbox') as Provider;

/** The value for a schema, or the message of the refusal. */
async function fill(schema: unknown): Promise<{ value: unknown } | { refused: string }> {
  const attempt: Attempt = makeAttempt('', {
    model: 'sandbox-echo',
    max_tokens: 1_000_000,
    messages: [{ role: 'user', content: 'Hi' }],
    output_config: { format: { type: 'json_schema', schema } },
  });
  try {
    const reply = await sandbox.submit(attempt);
    if (reply.form !== 'message') throw new Error('streamed');
    return { value: JSON.parse(String(jsonObjects(reply.message['content'])[0]?.['text'])) };
  } catch (fault) {
    if (!(fault instanceof ProviderFault) || fault.kind !== 'rejected') throw fault;
    return { refused: fault.message.replace('output_config.format.schema: ', '') };
  }
}

/** One for all schemas, because it compiles the schema of schemas first. */
const ajv = addFormats(new Ajv2020({ strict: false, logger: false, allErrors: true }));

function expectValid(schema: object, made: object): void {
  if (!('value' in made)) throw new Error(`${JSON.stringify(made)} for ${JSON.stringify(schema)}`);
  const validate = ajv.compile(schema);
  ajv.removeSchema(schema);
  expect({ schema, made, errors: validate(made.value) ? null : validate.errors }).toEqual({
    schema,
    made,
    errors: null,
  });
}

const THEN = 'then'; // no name of a method here

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

const FILLED: Readonly<Record<string, readonly [schema: object, value: unknown]>> = {
  'members in their order, the required ones only': [
    {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: ['null', 'number'] }, c: {}, d: { type: 'boolean' } },
      required: ['d', 'b', 'a', 'toString'],
    },
    { d: true, b: 1, a: 'text', toString: 'text' },
  ],
  'a tree': [tree, { value: 1, left: null, right: null, others: [] }],
  'a definition behind escapes': [
    { $ref: '#/$defs/a~1b~0c/anyOf/0', $defs: { 'a/b~c': { anyOf: [{ const: 7 }] } } },
    7,
  ],
  'a definition that is a reference': [
    { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { enum: ['x'] } } },
    'x',
  ],
  'all of several': [
    {
      allOf: [
        { type: 'object', properties: { a: { minimum: 5 } } },
        { properties: { a: { maximum: 5 } }, required: ['a'] },
      ],
    },
    { a: 5 },
  ],
  'the first possible alternative': [
    { anyOf: [false, { type: 'integer', minimum: 3, maximum: 2 }, { type: 'null' }] },
    null,
  ],
  'exactly one alternative': [{ oneOf: [{ type: 'number' }, { type: 'integer' }, { type: 'string' }] }, 'text'],
  'an alternative by its tag': [
    {
      oneOf: ['cat', 'dog'].map((kind) => ({
        type: 'object',
        properties: { kind: { const: kind }, [kind]: { type: 'boolean' } },
        required: ['kind', kind],
      })),
    },
    { kind: 'cat', cat: true },
  ],
  'what is not excluded': [{ type: 'boolean', not: { const: true } }, false],
  'a condition': [
    {
      properties: { a: { const: 1 } },
      required: ['a'],
      if: { properties: { a: { const: 1 } } },
      [THEN]: { required: ['b'] },
    },
    { a: 1, b: 'text' },
  ],
  'whole numbers': [{ type: 'integer', exclusiveMinimum: 2.5, maximum: 9 }, 3],
  'negative numbers': [{ type: 'integer', exclusiveMaximum: -2 }, -3],
  'numbers between': [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.5 }, 0.25],
  multiples: [{ type: 'integer', multipleOf: 7, minimum: 15 }, 21],
  'long texts': [{ type: 'string', minLength: 6 }, 'texttext'.slice(0, 6)],
  'short texts': [{ type: 'string', maxLength: 2 }, 'te'],
  'as many items': [{ type: 'array', items: { const: 0 }, minItems: 3 }, [0, 0, 0]],
  'no items where none may be': [{ type: 'array', items: false }, []],
  'different items': [{ type: 'array', items: { type: 'integer' }, minItems: 3, uniqueItems: true }, [1, 2, 3]],
  'different words': [{ type: 'array', items: { enum: ['a', 'b'] }, minItems: 2, uniqueItems: true }, ['a', 'b']],
  tuples: [{ type: 'array', prefixItems: [{ const: 1 }, { type: 'string' }], minItems: 3 }, [1, 'text', 'text']],
  records: [
    { type: 'object', additionalProperties: { type: 'number' }, minProperties: 2 },
    { member1: 1, member2: 1 },
  ],
  'patterns of names': [
    {
      type: 'object',
      patternProperties: { '^x_': { type: 'integer' } },
      additionalProperties: false,
      required: ['x_a'],
    },
    { x_a: 1 },
  ],
  'dependent members': [
    { required: ['a'], dependentRequired: { a: ['b'] } },
    { a: 'text', b: 'text' },
  ],
};

for (const [name, [schema, value]] of Object.entries(FILLED))
  test(`the value of a schema has ${name}`, async () => {
    const made = await fill(schema);
    expectValid(schema, made);
    expect(made).toEqual({ value });
    expect(JSON.stringify(await fill(schema))).toBe(JSON.stringify(made));
  });

const PATTERNS = [
  '^[A-Z]{3}-\\d{4}$',
  '^(?:red|green)$',
  '^\\+?[1-9][0-9]{1,14}$',
  '^[^a-z]+$',
  '^\\w[\\w.-]*@\\w+\\.[a-z]{2,}$',
  'b',
  '^$',
  '^(a|bb)*?c$',
  '^[\\d-]x\\.[\\u0041-\\x5a]\\/$',
  '^[^\\S]{2}$',
  '(?<year>[0-9]{4})|never',
  '^.\\*$',
  '^😀{2}$',
];

test('texts match the usual patterns, at every length that they allow', async () => {
  for (const pattern of PATTERNS) {
    const schema = { type: 'string', pattern };
    expectValid(schema, await fill(schema));
  }
  const lengths = { type: 'string', pattern: '^[a-z]{2,8}$', minLength: 5, maxLength: 5 };
  expect(await fill(lengths)).toEqual({ value: 'aaaaa' });
  const different = { type: 'array', items: { type: 'string', pattern: '^x+$' }, minItems: 3, uniqueItems: true };
  expect(await fill(different)).toEqual({ value: ['x', 'xx', 'xxx'] });
});

test('texts have the format that they should have', async () => {
  const formats = 'date-time date time duration email hostname ipv4 ipv6 uri uri-reference uuid json-pointer'.split(
    ' ',
  );
  const properties = Object.fromEntries(formats.map((format) => [format, { type: 'string', format }]));
  const schema = { type: 'object', properties, required: formats };
  expectValid(schema, await fill(schema));
});

const REFUSED: Readonly<Record<string, readonly [schema: object, reason: RegExp]>> = {
  'members without an end': [
    { $ref: '#/$defs/a', $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } } },
    /recursive/,
  ],
  'a reference to another document': [{ $ref: 'https://example.com/schema' }, /no value/],
  'a reference to nothing': [{ $ref: '#/$defs/a' }, /no value/],
  'a pattern with lookahead': [{ type: 'string', pattern: '^(?=a)a$' }, /pattern/],
  'a pattern nested too deep': [{ type: 'string', pattern: `${'('.repeat(5_000)}${')'.repeat(5_000)}` }, /pattern/],
  'a contradiction': [{ type: 'string', minLength: 3, maxLength: 2 }, /no value/],
  'a keyword that is not supported': [{ type: 'array', contains: { type: 'integer' } }, /contains/],
  'too many items': [{ type: 'array', items: { type: 'string' }, minItems: 1e9 }, /too large/],
  'too many different items': [
    { type: 'array', items: { type: 'integer' }, minItems: 1e5, uniqueItems: true },
    /too large/,
  ],
  'too long a text': [{ type: 'string', minLength: 1e9 }, /too large/],
  'too long a repetition': [{ type: 'string', pattern: '^(?:(?:(?:a{9999}){9999}){9999})$' }, /too large/],
  'a repetition of nothing': [{ type: 'string', pattern: '^(?:(?:){999999999}){999999999}$' }, /too large/],
  'too many members': [{ type: 'object', minProperties: 1e9 }, /too large/],
  'a large value many times': [{ type: 'array', items: { const: 'x'.repeat(50_000) }, minItems: 1_000 }, /too large/],
  'a schema that is too large': [{ type: 'string', description: 'x'.repeat(300_000) }, /too large/],
  'a bound beyond all numbers': [
    { type: 'number', minimum: Number.MAX_VALUE, exclusiveMinimum: Number.MAX_VALUE },
    /no value/,
  ],
};

for (const [name, [schema, reason]] of Object.entries(REFUSED))
  test(`a schema with ${name} is refused`, async () => {
    expect(await fill(schema)).toEqual({ refused: expect.stringMatching(reason) });
  });

test('references that multiply each other are refused, and so are alternatives that do', async () => {
  const names = Array.from({ length: 10 }, (_, place) => `p${place}`);
  const levelOf = (level: number) => ({
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { $ref: `#/$defs/l${level + 1}` }])),
    required: names,
  });
  const levels = Object.fromEntries(names.map((_, level) => [`l${level}`, levelOf(level)]));
  const wide = { $ref: '#/$defs/l0', $defs: { ...levels, l10: {} } };
  expect(await fill(wide)).toEqual({ refused: expect.stringMatching(/too large/) });
  const impossible = { anyOf: Array.from({ length: 30 }, () => ({ properties: { a: { const: 1 } } })) };
  const pairs = {
    required: ['a'],
    properties: { a: { const: 2 } },
    allOf: Array.from({ length: 30 }, () => impossible),
  };
  expect(await fill(pairs)).toEqual({ refused: expect.stringMatching(/too large|no value/) });
});

test('a format without a schema is refused', async () => {
  expect(await fill(7)).toEqual({ refused: expect.stringContaining('output_config.format:') });
});

const anySchema = fc.letrec<{ schema: object }>((tie) => {
  const bound = fc.integer({ min: -5, max: 5 });
  const few = fc.integer({ min: 0, max: 3 });
  const list = fc.array(tie('schema'), { minLength: 1, maxLength: 3 });
  const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'));
  const literal = fc.constantFrom<unknown>(null, true, 1, -3, 0.5, 'a', 'text', [], { a: 1 });
  const type = fc.constantFrom('string', 'integer', 'number', 'boolean', 'null', 'array', 'object');
  const keywords: Record<string, fc.Arbitrary<unknown>> = {
    ...{ type, enum: fc.uniqueArray(literal, { minLength: 1, maxLength: 3 }), const: literal },
    ...{ minimum: bound, exclusiveMaximum: bound, multipleOf: fc.constantFrom(2, 3, 0.5) },
    ...{ minLength: few, maxLength: few, pattern: fc.constantFrom('^[ab]+$', 'c', '^(?!x)') },
    ...{ items: tie('schema'), prefixItems: list, minItems: few, maxItems: few, uniqueItems: fc.boolean() },
    ...{ required: names, properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')) },
    ...{ additionalProperties: fc.oneof(fc.boolean(), tie('schema')), minProperties: few, maxProperties: few },
    ...{
      allOf: list,
      anyOf: list,
      oneOf: list,
      not: tie('schema'),
      $ref: fc.constantFrom('#', '#/$defs/a', '#/$defs/b'),
    },
    ...{ if: tie('schema'), [THEN]: tie('schema'), else: tie('schema') },
  };
  const keyword = fc.constantFrom(...Object.keys(keywords));
  const some = fc.uniqueArray(keyword, { maxLength: 4 });
  const schema = some.chain((chosen) =>
    fc.record(Object.fromEntries(chosen.map((word) => [word, keywords[word] as fc.Arbitrary<unknown>]))),
  );
  return { schema: fc.oneof({ maxDepth: 4 }, fc.record({ type }), schema) };
}).schema;

test('a value is valid for its schema, whatever the schema is', async () => {
  let filled = 0;
  const one = fc.asyncProperty(anySchema, anySchema, anySchema, async (schema, a, b) => {
    const root = { ...schema, $defs: { a, b } };
    const made = await fill(root);
    if ('refused' in made) return;
    filled++;
    try {
      expectValid(root, made);
    } catch (failure) {
      if (!(failure instanceof RangeError)) throw failure; // the validator does not follow a circle of references
    }
  });
  await fc.assert(one, { numRuns: 100, seed: 17 });
  expect(filled).toBeGreaterThan(50);
});
