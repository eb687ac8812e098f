// Schemas of tools that are made one object: variants by reference, and the bound of what references can multiply.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config.ts';
import { REQUEST_RULES } from '../../../src/providers/request-rules.ts';
import { completeSchema, limitSchema, makeNodeBudget } from '../../../src/providers/tool-schemas.ts';
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
