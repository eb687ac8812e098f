// Inserts new values into the client's text and keeps every other byte.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { rewriteRequest, scanJson } from '../../../src/wire/wire.ts';

function rewrite(text: string, changes: Parameters<typeof rewriteRequest>[1]): string {
  return rewriteRequest({ text, members: scanJson(text) }, changes);
}

test('a changed field is replaced and nothing else moves', () => {
  expect(rewrite('{ "a" : 1.0 ,\n "b":"\\u0061", "c":[1, 2] } ', { b: { x: 'y' } })).toBe(
    '{ "a" : 1.0 ,\n "b":{"x":"y"}, "c":[1, 2] } ',
  );
});

test('one field can be removed at the beginning, in the middle or at the end, and so can all fields', () => {
  const text = '{ "a":1 , "b":2 ,"c":3 }';
  expect(rewrite(text, { a: undefined })).toBe('{ "b":2 ,"c":3 }');
  expect(rewrite(text, { b: undefined })).toBe('{ "a":1 ,"c":3 }');
  expect(rewrite(text, { c: undefined })).toBe('{ "a":1 , "b":2 }');
  expect(JSON.parse(rewrite(text, { a: undefined, b: undefined, c: undefined }))).toEqual({});
  expect(JSON.parse(rewrite(text, { a: undefined, c: undefined, d: 4 }))).toEqual({ b: 2, d: 4 });
});

test('a missing field is added at the end', () => {
  expect(rewrite('{"a":1}', { 'b"': null, gone: undefined })).toBe('{"a":1,"b\\"":null}');
  expect(rewrite(' { } ', { b: true })).toBe(' {"b":true } ');
});

test('without changes the text is the same', () => {
  expect(rewrite(' {"a": 1 }', {})).toBe(' {"a": 1 }');
});

test('fields named like properties that every object inherits are left alone', () => {
  const text = '{"__proto__":1,"constructor":2,"toString":3}';
  expect(rewrite(text, { b: 4 })).toBe('{"__proto__":1,"constructor":2,"toString":3,"b":4}');
});

test('whatever is changed, added or removed, the rest parses to the same values', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'dé', 'e"');
  const values = fc.jsonValue({ maxDepth: 2 }).map((value) => JSON.parse(JSON.stringify(value)));
  const changes = fc.dictionary(names, fc.option(values, { nil: undefined }));
  fc.assert(
    fc.property(fc.dictionary(names, values), changes, fc.constantFrom(0, 2, '\t'), (value, changed, indent) => {
      const expected = new Map(Object.entries(value));
      for (const [name, change] of Object.entries(changed)) {
        if (change === undefined) expected.delete(name);
        else expected.set(name, change);
      }
      expect(JSON.parse(rewrite(JSON.stringify(value, null, indent), changed))).toEqual(Object.fromEntries(expected));
    }),
  );
});
