// Every byte of a text is counted, in one class.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { addJson, addText, type ByteClasses, totalBytes } from '../../src/usage/byte-classes.ts';
import type { JsonValue } from '../../src/wire/wire.ts';

function classesOf(text: JsonValue | undefined): ByteClasses {
  const classes: ByteClasses = [0, 0, 0, 0, 0];
  addText(classes, text);
  return classes;
}

test('letters, digits, spaces, signs and what is beyond ASCII are told apart', () => {
  expect(classesOf('AZaz 09 \n\t{}~\u007f')).toEqual([4, 2, 2, 6, 0]);
  expect(classesOf('é中😀')).toEqual([0, 0, 0, 0, 2 + 3 + 4]);
});

test('the classes add up to the bytes of any text, however long', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 3000 }), (text, times) => {
      const long = text.repeat(Math.ceil(times / (text.length + 1)));
      expect(totalBytes(classesOf(long))).toBe(Buffer.byteLength(long));
    }),
  );
});

test('a run of one class as long as a page is counted whole', () => {
  for (const [at, character] of ['x', '7', ' ', '#'].entries()) {
    const classes = classesOf(character.repeat(100_000));
    expect(classes[at]).toBe(100_000);
    expect(totalBytes(classes)).toBe(100_000);
  }
});

test('half of a pair of surrogates, as an end of a delta may leave it, counts half', () => {
  expect(totalBytes(classesOf('\ud83d'))).toBe(2);
});

test('what is no text has no bytes', () => {
  for (const odd of [undefined, null, 1, true, {}, ['a']] as (JsonValue | undefined)[])
    expect(totalBytes(classesOf(odd))).toBe(0);
});

test('JSON has the bytes that it is written with, but for escapes', () => {
  const plain = fc.string({ unit: fc.constantFrom('a', 'Z', '0', ' ', 'é', '中', ':') });
  const value = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      plain,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(plain, tie('value'), { maxKeys: 4 }),
    ),
  })).value;
  fc.assert(
    fc.property(value, (json) => {
      const classes: ByteClasses = [0, 0, 0, 0, 0];
      addJson(classes, json);
      expect(totalBytes(classes)).toBe(Buffer.byteLength(JSON.stringify(json)));
    }),
  );
});
