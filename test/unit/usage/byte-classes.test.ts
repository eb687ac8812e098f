// Every byte of a text is counted in one class.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { addJson, addText, type ByteClasses, totalBytes } from '../../../src/usage/byte-classes.ts';
import type { JsonValue } from '../../../src/wire/wire.ts';
import { pick, randomFrom } from './synthetic-tokenizers.ts';

function classesOf(text: JsonValue | undefined): ByteClasses {
  const classes: ByteClasses = [0, 0, 0, 0, 0, 0];
  addText(classes, text);
  return classes;
}

test('letters, digits, spaces, punctuation, non-ASCII and rare pairs of letters are distinguished', () => {
  expect(classesOf('AZxq 09 \n\t{}~\u007f')).toEqual([2, 2, 2, 6, 0, 2]);
  expect(classesOf('é中😀')).toEqual([0, 0, 0, 0, 2 + 3 + 4, 0]);
});

test('random text has many rare pairs of letters and prose and code have few, however the text is split', () => {
  const rareShare = ([letters, , , , , rare]: ByteClasses) => rare / (letters + rare);
  const random = randomFrom(1);
  const letters = Array.from({ length: 4_000 }, () =>
    pick(random, 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'),
  );
  expect(rareShare(classesOf(letters.join('')))).toBeWithin(0.4, 0.6);
  for (const plain of [
    'Say what you know about rivers, bridges and TOLL roads of the old kingdom.',
    'Der Fluss trägt im Frühling das Schmelzwasser der Berge durch die alte Stadt.',
    'const held = await turnpike.admin("GET", accountPath);',
  ])
    expect(rareShare(classesOf(plain))).toBeLessThan(0.08);
  const parts: ByteClasses = [0, 0, 0, 0, 0, 0];
  let last = 0;
  for (const letter of letters) last = addText(parts, letter, last);
  expect(parts).toEqual(classesOf(letters.join('')));
});

test('the classes add up to the bytes of any text, however long', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 3000 }), (text, times) => {
      const long = text.repeat(Math.ceil(times / (text.length + 1)));
      expect(totalBytes(classesOf(long))).toBe(Buffer.byteLength(long));
    }),
  );
});

test('a page-long run of one class is counted in full', () => {
  for (const [at, character] of ['e', '7', ' ', '#'].entries()) {
    const classes = classesOf(character.repeat(100_000));
    expect(classes[at]).toBe(100_000);
    expect(totalBytes(classes)).toBe(100_000);
  }
});

test('half of a surrogate pair, as at the end of a delta, counts half', () => {
  expect(totalBytes(classesOf('\ud83d'))).toBe(2);
});

test('a value that is not text has no bytes', () => {
  for (const odd of [undefined, null, 1, true, {}, ['a']] as (JsonValue | undefined)[])
    expect(totalBytes(classesOf(odd))).toBe(0);
});

test('JSON counts by its written bytes, without escapes', () => {
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
      const classes: ByteClasses = [0, 0, 0, 0, 0, 0];
      addJson(classes, json);
      expect(totalBytes(classes)).toBe(Buffer.byteLength(JSON.stringify(json)));
    }),
  );
});
