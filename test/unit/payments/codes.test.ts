// The format of redemption codes: what a person may mistype, and what is never accepted.

import { describe, expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { makeCode } from '../../../src/payments/codes.ts';
import { codesOf, hashCode, makeCodeSeed, readCode } from '../../../src/payments/payments.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const code = makeCode(Buffer.from([...Array(19).keys()].map((at) => at * 11)));
const typed = code.replaceAll('-', '');

describe('a code', () => {
  test('has four groups of five characters that cannot be confused', () => {
    expect(code).toMatch(/^[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){3}$/);
    expect(makeCode(Buffer.alloc(19))).toBe('00000-00000-00000-00000');
  });

  test('is read in any case, with any spaces and hyphens, and with letters that look like digits', () => {
    const all = makeCode(Buffer.from([0, 1, 0, 1, ...randomBytes(15)]));
    const asRead = all.replaceAll('-', '');
    for (const text of [
      all,
      all.toLowerCase(),
      ` ${all.replaceAll('-', ' ')}\n`,
      asRead,
      all.replaceAll('-', '\u2013'), // a mail program made dashes of its hyphens
      all.replaceAll('-', '\u00a0'),
      all.replaceAll('1', 'l').replaceAll('0', 'o'),
      all.replaceAll('1', 'I').replaceAll('0', 'O'),
    ])
      expect([text, readCode(text)]).toEqual([text, asRead]);
    expect(hashCode(all.toLowerCase())).toBe(hashCode(asRead));
  });

  test('with any one character replaced is not a code', () => {
    for (let at = 0; at < typed.length; at++)
      for (const other of ALPHABET)
        if (other !== typed[at]) expect(readCode(typed.slice(0, at) + other + typed.slice(at + 1))).toBeNull();
  });

  test('with any two different characters exchanged is not a code', () => {
    const characters = [...typed];
    for (let one = 0; one < typed.length; one++)
      for (let other = one + 1; other < typed.length; other++) {
        if (characters[one] === characters[other]) continue;
        const exchanged = [...characters];
        [exchanged[one], exchanged[other]] = [characters[other] as string, characters[one] as string];
        expect(readCode(exchanged.join(''))).toBeNull();
      }
  });

  test('is nothing else: other lengths, other characters, other alphabets', () => {
    for (const text of ['', '-', typed.slice(1), `${typed}0`, typed.replace(/.$/, 'U'), typed.replace(/.$/, '٣'), '🎁'])
      expect([text, readCode(text)]).toEqual([text, null]);
  });
});

describe('the codes of a batch', () => {
  test('follow from its seed, and are all different', () => {
    const seed = makeCodeSeed();
    const codes = codesOf(seed, 1_000);
    expect(codesOf(seed, 10)).toEqual(codes.slice(0, 10));
    expect(new Set(codes).size).toBe(1_000);
    expect(codes.every((one) => readCode(one) === one.replaceAll('-', ''))).toBe(true);
    expect(codesOf(makeCodeSeed(), 10)).not.toEqual(codes.slice(0, 10));
  });

  test('use every character at every place', () => {
    const codes = codesOf(makeCodeSeed(), 1_000).map((one) => one.replaceAll('-', ''));
    for (let at = 0; at < 20; at++) expect(new Set(codes.map((one) => one[at])).size).toBe(32);
  });
});
