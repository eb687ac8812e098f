// Shapes of stored documents: what they read, what they refuse with which reason, and what they keep of later releases.

import { describe, expect, test } from 'bun:test';
import {
  flag,
  list,
  map,
  nullable,
  number,
  object,
  optional,
  text,
  tuple,
  union,
  whole,
  words,
} from '../../src/storage/document-shape.ts';
import { documents, readCatalogRow, readStored } from '../../src/storage/stored-documents.ts';

interface One {
  id: number;
  name?: string;
  tags: readonly string[];
  state: 'on' | 'off';
  inner: { ratio: number; isOpen: boolean } | null;
}

const one = object<One>({
  id: whole,
  name: optional(text),
  tags: list(text),
  state: words('on', 'off'),
  inner: nullable(object<NonNullable<One['inner']>>({ ratio: number, isOpen: flag })),
});
const VALUE: One = { id: -7, tags: ['a'], state: 'on', inner: { ratio: 0.5, isOpen: false } };

describe('a document', () => {
  test('is read as it is, without members that it may lack', () => {
    expect(one.read(structuredClone(VALUE), '')).toStrictEqual(VALUE);
    expect(one.read({ ...VALUE, name: 'x', inner: null }, '')).toStrictEqual({ ...VALUE, name: 'x', inner: null });
  });

  test('keeps members of a later release, at every depth', () => {
    const later = { ...VALUE, colour: 'red', inner: { ratio: 1, isOpen: true, depth: 3 } };
    expect(one.read(structuredClone(later), '')).toStrictEqual(later as One);
  });

  test.each([
    ['no object', [], 'it is not an object'],
    ['null', null, 'it is not an object'],
    ['without a member', { ...VALUE, id: undefined }, 'id is missing'],
    ['with a fraction', { ...VALUE, id: 1.5 }, 'id is not a whole number'],
    ['with a number as text', { ...VALUE, id: '7' }, 'id is not a whole number, but "7"'],
    ['with another type in a list', { ...VALUE, tags: ['a', 2] }, 'tags[1] is not a text'],
    ['with no list', { ...VALUE, tags: 'a' }, 'tags is not a list, but "a"'],
    ['with a word of a later release', { ...VALUE, state: 'paused' }, 'state is not one of on, off, but "paused"'],
    ['with a fault inside', { ...VALUE, inner: { ratio: 1 } }, 'inner.isOpen is missing'],
    ['with no flag', { ...VALUE, inner: { ratio: 1, isOpen: 1 } }, 'inner.isOpen is not true or false'],
    ['with no number', { ...VALUE, inner: { ratio: null, isOpen: true } }, 'inner.ratio is not a number'],
  ])('%s is refused with the place', (_, value, reason) => {
    expect(() => one.read(value, '')).toThrow(reason);
  });
});

test('a map reads each value, and names the faulty one', () => {
  expect(map(whole).read({ a: 1, b: 2 }, 'counts')).toEqual({ a: 1, b: 2 });
  expect(() => map(whole).read({ a: 1, b: null }, 'counts')).toThrow('counts.b is not a whole number');
  expect(() => map(whole).read([], 'counts')).toThrow('counts is not an object');
});

test('a tuple has at least its required places, and keeps those of a later release', () => {
  const pair = tuple<[string, number?]>([text, whole], 1);
  expect(pair.read(['a'], 'pair')).toEqual(['a']);
  expect(pair.read(['a', 2, 'later'], 'pair') as unknown[]).toEqual(['a', 2, 'later']);
  expect(() => pair.read([], 'pair')).toThrow('pair has fewer than 1 members');
  expect(() => pair.read(['a', 'b'], 'pair')).toThrow('pair[1] is not a whole number, but "b"');
});

test('a union is read by its kind', () => {
  const mail = union<{ kind: 'a'; size: number } | { kind: 'b' }>({
    a: object<{ kind: 'a'; size: number }>({ kind: words('a'), size: whole }),
    b: object<{ kind: 'b' }>({ kind: words('b') }),
  });
  expect(mail.read({ kind: 'a', size: 2 }, '')).toEqual({ kind: 'a', size: 2 });
  expect(() => mail.read({ kind: 'a' }, '')).toThrow('size is missing');
  expect(() => mail.read({ kind: 'c' }, '')).toThrow('kind is not one of a, b, but "c"');
});

test('a reason names table and column, and quotes little of the document', () => {
  expect(() => readStored(documents.account, '{')).toThrow('accounts.document: it is not JSON');
  const long = JSON.stringify({ version: 'x'.repeat(100) });
  expect(() => readStored(documents.samples, long)).toThrow(
    `learned.document: version is not one of 2, but "${'x'.repeat(40)}"`,
  );
});

test('an object of the catalog that is not JSON has only the reason, which no schema allows', () => {
  const row = { kind: 'settings', name: 'settings', origin: 'api', document: '[]' } as const;
  expect(readCatalogRow(row).document).toEqual({ unreadable: 'catalog.document: it is not an object' });
});
