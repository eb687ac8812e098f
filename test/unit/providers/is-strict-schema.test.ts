// A schema is declared strict only if the provider accepts it as such; otherwise it would refuse the whole request.

import { expect, test } from 'bun:test';
import { isStrictSchema } from '../../../src/providers/tool-schemas.ts';
import type { JsonObject } from '../../../src/wire/wire.ts';

const objectOf = (properties: JsonObject, members: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
  ...members,
});
const text = { type: 'string' };

test.each<[string, JsonObject]>([
  ['only required properties', objectOf({ a: text, b: { type: ['string', 'null'] } })],
  ['no properties', objectOf({})],
  ['objects inside', objectOf({ a: objectOf({ b: text }), c: { type: 'array', items: objectOf({ d: text }) } })],
  [
    'alternatives and references',
    objectOf({ a: { anyOf: [text, { $ref: '#/$defs/b' }] } }, { $defs: { b: objectOf({}) } }),
  ],
  ['properties named like schema keywords', objectOf({ not: text, properties: text, type: text, if: text })],
  ['enumerations', objectOf({ a: { enum: ['b', 'c'] }, d: { const: 1 } })],
])('an object with %s is strict', (_words, schema) => {
  expect(isStrictSchema(schema)).toBe(true);
});

test.each<[string, JsonObject]>([
  ['an optional property', objectOf({ a: text, b: text }, { required: ['a'] })],
  ['further properties allowed', { type: 'object', properties: { a: text }, required: ['a'] }],
  ['no properties defined', { type: 'object', additionalProperties: false }],
  ['a nested object that is not strict', objectOf({ a: { type: 'object', properties: { b: text } } })],
  ['a list of objects that are not strict', objectOf({ a: { type: 'array', items: { type: 'object' } } })],
  ['an alternative that is not strict', objectOf({ a: { anyOf: [text, { type: 'object' }] } })],
  ['a definition that is not strict', objectOf({ a: { $ref: '#/$defs/b' } }, { $defs: { b: { type: 'object' } } })],
  ['a property of any type', objectOf({ a: {} })],
  ['keywords that are not enforced', objectOf({ a: { type: 'string', not: { const: 'b' } } })],
  ['a root that is not an object', { anyOf: [objectOf({})] }],
])('an object with %s is not strict', (_words, schema) => {
  expect(isStrictSchema(schema)).toBe(false);
});
