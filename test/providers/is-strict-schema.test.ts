// A schema is called strict only where the provider would take it so: otherwise it would refuse the whole request.

import { expect, test } from 'bun:test';
import { isStrictSchema } from '../../src/providers/is-strict-schema.ts';
import type { JsonObject } from '../../src/wire/wire.ts';

const objectOf = (properties: JsonObject, members: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...members,
});
const text = { type: 'string' };

test.each<[string, JsonObject]>([
  ['only members that are required', objectOf({ a: text, b: { type: ['string', 'null'] } })],
  ['no members', objectOf({})],
  ['objects inside', objectOf({ a: objectOf({ b: text }), c: { type: 'array', items: objectOf({ d: text }) } })],
  [
    'alternatives and references',
    objectOf({ a: { anyOf: [text, { $ref: '#/$defs/b' }] } }, { $defs: { b: objectOf({}) } }),
  ],
  ['members that are named like words of a schema', objectOf({ not: text, properties: text, type: text, if: text })],
  ['values to choose from', objectOf({ a: { enum: ['b', 'c'] }, d: { const: 1 } })],
])('an object with %s is strict', (_words, schema) => {
  expect(isStrictSchema(schema)).toBe(true);
});

test.each<[string, JsonObject]>([
  ['a member that is not required', objectOf({ a: text, b: text }, { required: ['a'] })],
  ['members beside', { type: 'object', properties: { a: text }, required: ['a'] }],
  ['any members', { type: 'object', additionalProperties: false }],
  ['an object inside that is not', objectOf({ a: { type: 'object', properties: { b: text } } })],
  ['a list of objects that are not', objectOf({ a: { type: 'array', items: { type: 'object' } } })],
  ['an alternative that is not', objectOf({ a: { anyOf: [text, { type: 'object' }] } })],
  ['a definition that is not', objectOf({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'object' } } })],
  ['a member that may be anything', objectOf({ a: {} })],
  ['words that no model is held to', objectOf({ a: { type: 'string', not: { const: 'b' } } })],
  ['another root', { anyOf: [objectOf({})] }],
])('what has %s is not', (_words, schema) => {
  expect(isStrictSchema(schema)).toBe(false);
});
