// New values in the caller's own text, with every other byte as it was.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { rewriteRequest, scanJson } from '../../src/wire/wire.ts';

function rewrite(text: string, changes: Parameters<typeof rewriteRequest>[1]): string {
  return rewriteRequest({ text, members: scanJson(text) }, changes);
}

test('a changed member is spliced in and nothing else moves', () => {
  expect(rewrite('{ "a" : 1.0 ,\n "b":"\\u0061", "c":[1, 2] } ', { b: { x: 'y' } })).toBe(
    '{ "a" : 1.0 ,\n "b":{"x":"y"}, "c":[1, 2] } ',
  );
});

test('a member is removed at the beginning, in the middle, at the end, and all of them', () => {
  const text = '{ "a":1 , "b":2 ,"c":3 }';
  expect(rewrite(text, { a: undefined })).toBe('{ "b":2 ,"c":3 }');
  expect(rewrite(text, { b: undefined })).toBe('{ "a":1 ,"c":3 }');
  expect(rewrite(text, { c: undefined })).toBe('{ "a":1 , "b":2 }');
  expect(JSON.parse(rewrite(text, { a: undefined, b: undefined, c: undefined }))).toEqual({});
  expect(JSON.parse(rewrite(text, { a: undefined, c: undefined, d: 4 }))).toEqual({ b: 2, d: 4 });
});

test('a member that was not there is added at the end', () => {
  expect(rewrite('{"a":1}', { 'b"': null, gone: undefined })).toBe('{"a":1,"b\\"":null}');
  expect(rewrite(' { } ', { b: true })).toBe(' {"b":true } ');
});

test('without changes the text is the same', () => {
  expect(rewrite(' {"a": 1 }', {})).toBe(' {"a": 1 }');
});

test('members named like what every object inherits are left alone', () => {
  const text = '{"__proto__":1,"constructor":2,"toString":3}';
  expect(rewrite(text, { b: 4 })).toBe('{"__proto__":1,"constructor":2,"toString":3,"b":4}');
});

test('whatever is changed, added and removed, the rest parses to the same', () => {
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
