// Numbers from outside: which texts and values are accepted, and that no parser returns NaN.

import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  exactNumber,
  integerOf,
  isWholeNumber,
  parseFraction,
  parseHex,
  parseTimeMs,
  parseWholeNumber,
} from '../../../src/base/checked-number.ts';

const NO_WHOLE = [
  '',
  ' ',
  ' 5',
  '5 ',
  '+5',
  '-5',
  '-0',
  '0x5',
  '5e0',
  '5.0',
  '5,5',
  '5, 5',
  '٥',
  '5n',
  'NaN',
  'Infinity',
];

test('a whole number has digits only, up to the largest exact one', () => {
  expect(['0', '5', '007', '9007199254740991'].map(parseWholeNumber)).toEqual([0, 5, 7, Number.MAX_SAFE_INTEGER]);
  expect([...NO_WHOLE, '9007199254740992', '9'.repeat(400)].map(parseWholeNumber)).toEqual(
    Array(NO_WHOLE.length + 2).fill(null),
  );
});

test('a count is a non-negative safe integer', () => {
  expect([0, 1, Number.MAX_SAFE_INTEGER].every(isWholeNumber)).toBe(true);
  const others = [
    -0,
    -1,
    0.5,
    1e-5,
    1e308,
    2 ** 53,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    '1',
    1n,
    null,
    undefined,
    [1],
  ];
  expect(others.filter(isWholeNumber)).toEqual([]);
});

test('a fraction has no sign and no exponent, and is at most the largest whole number', () => {
  expect(['0.25', '37', '9'.repeat(400)].map(parseFraction)).toEqual([0.25, 37, Number.MAX_SAFE_INTEGER]);
  expect([...NO_WHOLE, '.5', '5.'].filter((text) => text !== '5.0').map(parseFraction)).toEqual(Array(17).fill(null));
});

test('no parser returns NaN or infinity', () => {
  const text = fc.oneof(fc.string(), fc.double().map(String), fc.bigInt().map(String));
  fc.assert(
    fc.property(text, (one) => {
      for (const value of [parseWholeNumber(one), parseFraction(one), parseHex(one), parseTimeMs(one)])
        expect(value === null || Number.isFinite(value)).toBe(true);
    }),
  );
});

test('a row without an exact integer is an error', () => {
  expect([5, -5, 5n, '5', '-5'].map(integerOf)).toEqual([5, -5, 5, 5, -5]);
  for (const value of [undefined, null, '', 'x', 1.5, Number.NaN, 2n ** 53n, '9007199254740992', {}])
    expect(() => integerOf(value)).toThrow('a row has');
  expect(() => exactNumber(2n ** 53n)).toThrow('safe integer');
});
