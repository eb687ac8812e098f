// Schemas of tools that are made one object: variants by reference, and the bound of what references can multiply.

import { describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { REQUEST_RULES } from '../../../src/providers/request-rules.ts';
import {
  completeSchema,
  isEnforceable,
  limitSchema,
  makeNodeBudget,
  refuseNames,
} from '../../../src/providers/tool-schemas.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';

const complete = (schema: JsonObject) => completeSchema(schema, REQUEST_RULES.openai, makeNodeBudget());

test('a schema without a choice at the top stays as it is, and gets what a function must have', () => {
  const schema: JsonObject = { type: 'object', properties: { a: { anyOf: [{ type: 'string' }] } } };
  expect(complete(schema)).toBe(schema);
  expect(complete({})).toEqual({ type: 'object', properties: {} });
});

test('a property that variants describe differently may have any of their forms, each once', () => {
  const variant = (kind: string, size: JsonObject) => ({ properties: { kind: { const: kind }, size } });
  const schema = { anyOf: [variant('x', { type: 'string' }), variant('y', { type: 'string' }), variant('x', {})] };
  expect(complete(schema)['properties']).toEqual({
    kind: { anyOf: [{ const: 'x' }, { const: 'y' }] },
    size: { anyOf: [{ type: 'string' }, {}] },
  });
});

test('members of the object itself take precedence over those of its variants', () => {
  const own: JsonObject = { type: 'integer' };
  const schema = { properties: { a: own }, required: ['a'], oneOf: [{ properties: { a: { type: 'string' } } }] };
  expect(complete(schema)).toEqual({ type: 'object', properties: { a: own }, required: ['a'] });
});

test('a property may have any name', () => {
  const schema = JSON.parse('{"anyOf":[{"properties":{"__proto__":{"type":"string"}}}]}');
  expect(JSON.stringify(complete(schema))).toBe('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
});

test('references multiply no more parts than a request may have', () => {
  const refs = Array.from({ length: 300 }, (_, index) => ({ $ref: `#/$defs/${index}` }));
  const property = (index: number) => Object.fromEntries(refs.map((_, at) => [`p${index}_${at}`, {}]));
  const $defs = Object.fromEntries(refs.map((_, index) => [index, { properties: property(index), anyOf: refs }]));
  const nodes = makeNodeBudget();
  const { properties } = completeSchema({ anyOf: refs, $defs }, REQUEST_RULES.openai, nodes);
  expect(nodes.left).toBeLessThan(0);
  expect(nodes.left).toBeGreaterThan(-bounds.requestSchemaNodesMax);
  expect(Object.keys(properties as JsonObject).length).toBeLessThan(bounds.requestSchemaNodesMax);
});

test('a chain of references that is longer than any schema ends', () => {
  const chain = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [at, { $ref: `#/$defs/${at + 1}` }]));
  expect(complete({ anyOf: [{ $ref: '#/$defs/0' }], $defs: chain })['properties']).toEqual({});
});

test('an enforced schema keeps numbers with all their digits', () => {
  const schema = { type: 'object', properties: { a: { const: 1 } }, required: ['a'], additionalProperties: false };
  expect(limitSchema(schema, REQUEST_RULES.anthropic)).toEqual(schema);
});

test('names that many variants require are copied no more often than a request may have parts', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `a${index}`);
  const $defs = { d: { required: names } };
  const reference = { $ref: '#/$defs/d' };
  for (const keyword of ['anyOf', 'allOf']) {
    const nodes = makeNodeBudget();
    completeSchema({ $defs, [keyword]: names.map(() => reference) }, REQUEST_RULES.openai, nodes);
    expect(nodes.left).toBeGreaterThan(-2 * bounds.requestSchemaNodesMax);
  }
  const properties = Object.fromEntries(names.map((name) => [name, {}]));
  const nodes = makeNodeBudget();
  completeSchema({ properties, allOf: names.map(() => ({})) }, REQUEST_RULES.openai, nodes);
  expect(nodes.left).toBeGreaterThan(-2 * bounds.requestSchemaNodesMax);
});

test('a schema that is joined is no longer than it was, however its variants overlap', () => {
  let nested: JsonObject = { description: 'x'.repeat(20_000) };
  for (let level = 0; level < 20; level++) nested = { properties: { p: nested } };
  const at = (level: number) => ({ $ref: `#/$defs/d${'/properties/p'.repeat(level)}` });
  const schema = { $defs: { d: nested }, anyOf: Array.from({ length: 20 }, (_, level) => at(level)) };
  expect(JSON.stringify(complete(schema)).length).toBeLessThan(JSON.stringify(schema).length + 100);
  const inner = { $defs: { d: { properties: { p: { properties: { q: { description: 'x'.repeat(9_000) } } } } } } };
  const different = { ...inner, anyOf: [at(0), at(1)] };
  expect(JSON.stringify(complete(different)).length).toBeLessThan(JSON.stringify(different).length + 100);
});

test.each([
  [
    { type: ['object', 'null'], properties: { a: {} } },
    { type: 'object', properties: { a: {} } },
  ],
  [
    { type: null, properties: {}, required: null },
    { type: 'object', properties: {} },
  ],
  [
    { type: 'OBJECT', properties: {} },
    { type: 'object', properties: {} },
  ],
  [
    { $ref: '#/$defs/a', $defs: { a: { properties: { b: {} }, required: ['b'] } } },
    { properties: { b: {} }, required: ['b'] },
  ],
  [{ type: 'string' }, { type: 'object', properties: {}, description: '(schema: {"type":"string"})' }],
  [
    { type: 'array', items: {} },
    { type: 'object', properties: {} },
  ],
] as [JsonObject, JsonObject][])('arguments are an object: %p', (schema, expected) => {
  for (const rules of [REQUEST_RULES.openai, REQUEST_RULES.anthropic, REQUEST_RULES.gemini]) {
    const made = completeSchema(schema, rules, makeNodeBudget());
    expect(made).toMatchObject({ type: 'object', ...expected });
    expect(made['required'] ?? []).toBeArray();
  }
});

test('earlier drafts of JSON Schema become draft 2020-12 where the provider requires it', () => {
  const old: JsonObject = {
    type: 'object',
    properties: {
      pair: { type: 'array', items: [{ type: 'string' }, { type: 'integer', minimum: 1, exclusiveMinimum: true }] },
      required: { type: 'string', required: true },
    },
    $defs: { a: { items: [{}] } },
  };
  expect(completeSchema(old, REQUEST_RULES.anthropic, makeNodeBudget())).toEqual({
    type: 'object',
    properties: {
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer', minimum: 1 }] },
      required: { type: 'string' },
    },
    $defs: { a: { prefixItems: [{}] } },
  });
  expect(complete(old)).toBe(old);
});

test('a property whose name Claude refuses is refused by name', () => {
  const refuse = (name: string) =>
    refuseNames({ properties: { [name]: {} } }, REQUEST_RULES.anthropic, 'tools.0.input_schema');
  for (const name of ['filter[id]', '$top', 'a b', 'x'.repeat(65)])
    expect(() => refuse(name)).toThrow(
      'tools.0.input_schema.properties: the provider of this model accepts no property named',
    );
  for (const name of ['a.b-c_D1', 'x'.repeat(64)]) expect(() => refuse(name)).not.toThrow();
});

test('what is said of a schema in its description is bounded', () => {
  let schema: JsonObject = { description: 'x'.repeat(9_000) };
  for (let level = 0; level < 100; level++) schema = { type: 'object', additionalProperties: schema };
  expect(JSON.stringify(limitSchema(schema, REQUEST_RULES.anthropic)).length).toBeLessThan(3_000);
});

describe('whether references can be enforced', () => {
  const takes = (schema: JsonObject) =>
    (['bedrock', 'gemini', 'openai'] as const).map((kind) => isEnforceable(schema, REQUEST_RULES[kind]));

  test.each<[what: string, schema: JsonObject, taken: boolean[]]>([
    ['none', { properties: { a: { type: 'string' } } }, [true, true, true]],
    ['one to nothing', { properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] }, [false, false, true]],
    [
      'one to another place',
      { properties: { a: { $ref: 'https://x.example' } }, required: ['a'] },
      [false, false, true],
    ],
    ['one within allOf', { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: {} } }, [false, true, true]],
    ['one that is resolved at run time', { items: { $dynamicRef: '#a' } }, [false, false, true]],
    ['one in a value', { enum: [{ $ref: '#' }], const: { $ref: '#' } }, [true, true, true]],
    [
      'an optional one to a required one',
      { properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { items: { $ref: '#/$defs/b' } } } },
      [false, false, true],
    ],
  ])('%s', (_, schema, taken) => {
    expect(takes(schema)).toEqual(taken);
  });

  test('is decided soon for a schema of any size and depth', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `d${index}`);
    const wide = Object.fromEntries(
      names.map((name) => [name, { anyOf: names.slice(0, 20).map((to) => ({ $ref: `#/$defs/${to}` })) }]),
    );
    expect(takes({ $defs: { ...wide } })).toEqual([false, false, true]);
    const chain = names.map((name, index) => [name, { $ref: `#/$defs/d${index + 1}` }]);
    expect(takes({ $defs: { ...Object.fromEntries(chain), d20000: {} } })).toEqual([false, false, true]);
    const flat = names.map((name) => [name, { $ref: '#/$defs/a' }]);
    const many = { properties: Object.fromEntries(flat), $defs: { a: {} }, required: names };
    expect(takes(many)).toEqual([false, false, true]); // too many for any provider
  });
});
