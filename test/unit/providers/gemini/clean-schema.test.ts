// JSON Schemas for Gemini's functions: keywords with an equivalent are translated, and keywords that would make
// Gemini refuse the request are removed.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../../src/config/config.ts';
import { cleanSchema } from '../../../../src/providers/gemini/clean-schema.ts';
import { convertTools } from '../../../../src/providers/gemini/convert-request.ts';
import type { JsonObject, JsonValue } from '../../../../src/wire/wire.ts';

/** The translation of a property with this schema. */
function cleanProperty(schema: JsonValue, root: JsonObject = {}): JsonValue | undefined {
  const cleaned = cleanSchema({ type: 'object', properties: { p: schema }, ...root });
  if (cleaned === null) throw new Error('the schema has no properties');
  return (cleaned['properties'] as JsonObject)['p'];
}

/** Every field of Gemini's Schema; any other makes Gemini refuse the request. */
const KNOWN = [
  'type format title description nullable enum maxItems minItems properties required minProperties maxProperties',
  'minLength maxLength pattern minimum maximum anyOf propertyOrdering items',
].flatMap((names) => names.split(' '));

/** Expects only fields that Gemini knows, and a type wherever one is required. */
function expectTaken(schema: JsonValue | undefined, depth = 0): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) throw new Error('no schema');
  expect(Object.keys(schema).filter((name) => !KNOWN.includes(name))).toEqual([]);
  expect(depth).toBeLessThanOrEqual(2 * bounds.schemaDepthMax + 2);
  const choices = schema['anyOf'];
  if (choices !== undefined) expect(Object.keys(schema)).toEqual(['anyOf']);
  else expect(schema['type']).toMatch(/^(STRING|NUMBER|INTEGER|BOOLEAN|ARRAY|OBJECT)$/);
  if (schema['type'] === 'ARRAY') expectTaken(schema['items'], depth + 1);
  for (const choice of (choices as JsonValue[] | undefined) ?? []) expectTaken(choice, depth + 1);
  for (const property of Object.values((schema['properties'] as JsonObject | undefined) ?? {}))
    expectTaken(property, depth + 1);
}

test('an ordinary schema keeps its order, names, descriptions and limits', () => {
  const cleaned = cleanSchema({
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    additionalProperties: false,
    properties: {
      zone: { type: 'string', description: 'Where', minLength: 1, default: 'UTC' },
      count: { type: 'integer', minimum: 1, maximum: 9, multipleOf: 2 },
      names: { type: 'array', items: { type: 'string' }, minItems: 1, uniqueItems: true },
      area: { type: 'object', properties: { wide: { type: 'boolean' } }, propertyNames: { pattern: 'x' } },
    },
    required: ['zone', 'count', 'nowhere'],
  });
  expect(cleaned).toEqual({
    type: 'OBJECT',
    properties: {
      zone: { type: 'STRING', minLength: 1, description: 'Where' },
      count: { type: 'INTEGER', minimum: 1, maximum: 9 },
      names: { type: 'ARRAY', minItems: 1, items: { type: 'STRING' } },
      area: { type: 'OBJECT', properties: { wide: { type: 'BOOLEAN' } } },
    },
    required: ['zone', 'count'],
  });
  expect(Object.keys(cleaned?.['properties'] as JsonObject)).toEqual(['zone', 'count', 'names', 'area']);
});

test('a function without parameters has no schema', () => {
  for (const schema of [
    {},
    { type: 'object' },
    { type: 'object', properties: {} },
    { type: 'object', properties: null },
  ])
    expect(cleanSchema(schema as JsonObject)).toBeNull();
});

test('the top level is always one object', () => {
  const a = {
    type: 'object',
    properties: { kind: { const: 'a' }, one: { type: 'string' } },
    required: ['kind', 'one'],
  };
  const b = {
    type: 'object',
    properties: { kind: { const: 'b' }, two: { type: 'string' } },
    required: ['kind', 'two'],
  };
  expect(cleanSchema({ anyOf: [a, b] })).toEqual({
    type: 'OBJECT',
    properties: { kind: { type: 'STRING', enum: ['a', 'b'] }, one: { type: 'STRING' }, two: { type: 'STRING' } },
    required: ['kind'],
  });
  expect(cleanSchema({ $ref: '#/$defs/a', $defs: { a } })).toMatchObject({ type: 'OBJECT', required: ['kind', 'one'] });
  expect(cleanSchema({ type: ['object', 'null'], properties: { a: { type: 'string' } } })).toEqual({
    type: 'OBJECT',
    properties: { a: { type: 'STRING' } },
  });
  expect(cleanSchema({ type: 'string' })).toBeNull();
});

describe('an enumeration', () => {
  test('of one value may be a constant', () => {
    expect(cleanProperty({ const: 'only' })).toEqual({ type: 'STRING', enum: ['only'] });
  });

  test('of strings is preserved', () => {
    expect(cleanProperty({ enum: ['a', 'b', 'a'] })).toEqual({ type: 'STRING', enum: ['a', 'b'] });
    expect(cleanProperty({ type: 'string', enum: ['a', null] })).toEqual({
      type: 'STRING',
      enum: ['a'],
      nullable: true,
    });
  });

  test('that cannot be expressed is described in words', () => {
    expect(cleanProperty({ type: 'integer', enum: [1, 2] })).toEqual({ type: 'INTEGER', description: 'One of: 1, 2' });
    expect(cleanProperty({ const: true, description: 'Always.' })).toEqual({
      type: 'BOOLEAN',
      description: 'Always. One of: true',
    });
    expect(cleanProperty({ type: 'string', enum: ['', 'a'] })).toEqual({
      type: 'STRING',
      description: 'One of: "", "a"',
    });
  });
});

describe('a union of types', () => {
  test('with null becomes a nullable type', () => {
    expect(cleanProperty({ type: ['string', 'null'] })).toEqual({ type: 'STRING', nullable: true });
    expect(cleanProperty({ anyOf: [{ type: 'integer' }, { type: 'null' }], description: 'How many' })).toEqual({
      type: 'INTEGER',
      description: 'How many',
      nullable: true,
    });
  });

  test('becomes a list of alternatives without other keywords', () => {
    expect(cleanProperty({ type: ['string', 'integer', 'null'], description: 'An id' })).toEqual({
      anyOf: [
        { description: 'An id', type: 'STRING', nullable: true },
        { description: 'An id', type: 'INTEGER', nullable: true },
      ],
    });
    expect(cleanProperty({ oneOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] })).toEqual({
      anyOf: [{ type: 'STRING' }, { type: 'ARRAY', items: { type: 'STRING' } }],
    });
  });

  test('of constants becomes one enumeration', () => {
    expect(cleanProperty({ anyOf: [{ const: 'a' }, { const: 'b' }, { type: 'null' }] })).toEqual({
      type: 'STRING',
      enum: ['a', 'b'],
      nullable: true,
    });
  });

  test('inside another is flattened', () => {
    const cleaned = cleanProperty({
      anyOf: [{ anyOf: [{ type: 'string' }, { type: 'integer' }] }, { type: 'boolean' }],
    });
    expect(cleaned).toEqual({ anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }, { type: 'BOOLEAN' }] });
  });

  test('that only requires properties is dropped, and its object stays', () => {
    const schema = { type: 'object', properties: { a: { type: 'string' } }, anyOf: [{ required: ['a'] }] };
    expect(cleanProperty(schema)).toEqual({ type: 'OBJECT', properties: { a: { type: 'STRING' } } });
  });

  test('an intersection of schemas becomes one merged schema', () => {
    const schema = {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { properties: { b: { type: 'integer' } }, required: ['b'] },
      ],
    };
    expect(cleanProperty(schema)).toEqual({
      type: 'OBJECT',
      properties: { a: { type: 'STRING' }, b: { type: 'INTEGER' } },
      required: ['a', 'b'],
    });
  });
});

test.each([
  [
    { type: 'string', format: 'date-time' },
    { type: 'STRING', format: 'date-time' },
  ],
  [{ type: 'string', format: 'uri' }, { type: 'STRING' }],
  [
    { type: 'integer', format: 'int64' },
    { type: 'INTEGER', format: 'int64' },
  ],
  [
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 10 },
    { type: 'INTEGER', minimum: 1, maximum: 9 },
  ],
  [
    { type: 'number', exclusiveMinimum: 0 },
    { type: 'NUMBER', minimum: 0 },
  ],
  [{ properties: { a: { type: 'string' } } }, { type: 'OBJECT', properties: { a: { type: 'STRING' } } }],
  [{ items: { type: 'string' } }, { type: 'ARRAY', items: { type: 'STRING' } }],
  [
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }] },
    { type: 'ARRAY', items: { anyOf: [{ type: 'STRING' }, { type: 'INTEGER' }] } },
  ],
  [{ type: 'object', additionalProperties: { type: 'string' } }, { type: 'OBJECT' }],
])('the schema %j becomes %j', (schema, cleaned) => {
  expect(cleanProperty(schema as unknown as JsonValue)).toEqual(cleaned as unknown as JsonValue);
});

test('a schema for any value still has types', () => {
  for (const schema of [true, {}, { description: 'Any value' }, { type: 'array' }, { not: { type: 'string' } }])
    expectTaken(cleanProperty(schema));
});

describe('a reference', () => {
  const $defs = {
    city: { type: 'string', description: 'A city' },
    node: { type: 'object', properties: { name: { type: 'string' }, next: { $ref: '#/$defs/node' } } },
    'a/b': { type: 'integer' },
  };

  test('is replaced by its target, together with the keywords beside it', () => {
    expect(cleanProperty({ $ref: '#/$defs/city' }, { $defs })).toEqual({ type: 'STRING', description: 'A city' });
    expect(cleanProperty({ $ref: '#/$defs/city', description: 'Home' }, { $defs })).toEqual({
      type: 'STRING',
      description: 'Home',
    });
    expect(cleanProperty({ $ref: '#/definitions/x' }, { definitions: { x: { type: 'boolean' } } })).toEqual({
      type: 'BOOLEAN',
    });
    expect(cleanProperty({ $ref: '#/$defs/a~1b' }, { $defs })).toEqual({ type: 'INTEGER' });
    expect(cleanProperty({ allOf: [{ $ref: '#/$defs/city' }], description: 'Home' }, { $defs })).toEqual({
      type: 'STRING',
      description: 'Home',
    });
  });

  test('that is recursive ends as an object of any form', () => {
    expect(cleanProperty({ $ref: '#/$defs/node' }, { $defs })).toEqual({
      type: 'OBJECT',
      properties: { name: { type: 'STRING' }, next: { type: 'OBJECT' } },
    });
    const round = { x: { $ref: '#/$defs/y' }, y: { allOf: [{ $ref: '#/$defs/x' }] } };
    expectTaken(cleanProperty({ $ref: '#/$defs/x' }, { $defs: round }));
    expectTaken(cleanProperty({ $ref: '#' }));
  });

  test('to nowhere or out of the schema means any value', () => {
    for (const $ref of ['#/$defs/none', 'https://example.com/schema.json', '#/toString', '#/%', '#/properties/p/type'])
      expectTaken(cleanProperty({ $ref }));
  });
});

test('a schema that would expand without end stays bounded', () => {
  const $defs: JsonObject = { d0: { type: 'string' } };
  for (let level = 1; level <= 30; level++) {
    const of = { $ref: `#/$defs/d${level - 1}` };
    $defs[`d${level}`] = { type: 'object', properties: { a: of, b: of, c: { allOf: [of, of] } } };
  }
  const cleaned = cleanProperty({ $ref: '#/$defs/d30' }, { $defs });
  expectTaken(cleaned);
  expect(JSON.stringify(cleaned).length).toBeLessThan(bounds.schemaNodesMax * 200);
});

test('a schema that is too deep ends as an object of any form', () => {
  let schema: JsonObject = { type: 'string' };
  for (let level = 0; level < 2 * bounds.schemaDepthMax; level++) schema = { type: 'array', items: schema };
  const cleaned = cleanProperty(schema);
  expectTaken(cleaned);
  expect(JSON.stringify(cleaned)).toContain('"OBJECT"');
});

test('a property may have any name', () => {
  const root = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"},"type":{"type":"integer"}}}');
  expect(JSON.stringify(cleanSchema(root))).toBe(
    '{"type":"OBJECT","properties":{"__proto__":{"type":"STRING"},"type":{"type":"INTEGER"}}}',
  );
});

test('the tools of one request have a bounded number of schema parts in total, however often they refer to one another', () => {
  const half = (level: number): [string, JsonObject] => {
    const next = { $ref: `#/$defs/${level + 1}` };
    return [String(level), level === 10 ? { type: 'string' } : { properties: { x: next, y: next } }];
  };
  const $defs = Object.fromEntries(Array.from({ length: 11 }, (_, level) => half(level)));
  const input_schema: JsonObject = { type: 'object', properties: { z: { $ref: '#/$defs/0' } }, $defs };
  const tools = Array.from({ length: 100 }, (_, index) => ({ name: `t${index}`, input_schema }));
  const text = JSON.stringify(convertTools({ tools }));
  expect(text.split('"type"').length).toBeLessThan(2 * bounds.requestSchemaNodesMax);
});
