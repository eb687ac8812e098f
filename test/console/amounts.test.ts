// Amounts as people type them in the fields of the console.

import { expect, test } from 'bun:test';
import { amountOf, isBegun, readAmount } from '../../console/amounts.ts';

test('an amount is read in the forms that people type', () => {
  const read: [typed: string, usd: string][] = [
    ['50', '50'],
    ['$50', '50'],
    ['50 USD', '50'],
    ['US$ 50', '50'],
    ['50.00', '50.00'],
    ['0,5', '0.5'],
    ['.5', '0.5'],
    ['5.', '5'],
    ['1,0', '1.0'],
    ['1,000', '1000'],
    ['1,000.50', '1000.50'],
    ['1.000,50', '1000.50'],
    ['1 000.50', '1000.50'],
    ['1\u00a0000,50', '1000.50'],
    ['1\u202f234\u202f567', '1234567'],
    ["1'000.50", '1000.50'],
    ['1,000,000', '1000000'],
    ['1.000.000', '1000000'],
    ['1.000.000,5', '1000000.5'],
    ['1.000', '1.000'],
    ['0,500', '0.500'],
    ['1000,500', '1000.500'],
    ['12,3456', '12.3456'],
    ['0.000000001', '0.000000001'],
    ['-5', '-5'],
    ['−$1,000', '-1000'],
    ['-$5', '-5'],
    ['007', '7'],
    [' 50 ', '50'],
  ];
  expect(read.map(([typed]) => [typed, readAmount(typed).usd, readAmount(typed).fault])).toEqual(
    read.map(([typed, usd]) => [typed, usd, null]),
  );
});

test('an amount that looks different from what was read is shown beside the field', () => {
  const shown = (typed: string) => readAmount(typed).isConverted;
  expect(['1,000', '1.000', '0,5', '$50', '1.000,50', '1 000'].map(shown)).toEqual(Array(6).fill(true));
  expect(['50', '50.00', '0.5', '0.0001', '-5', ''].map(shown)).toEqual(Array(6).fill(false));
});

test('a text that is not an amount says what is expected, and reaches the API unchanged', () => {
  for (const typed of [
    'abc',
    '1,00,000',
    '1.00.000',
    '12,34,56',
    '1,000.5.0',
    '1 00',
    '5 EUR',
    '--5',
    '$',
    '1..5',
    '1e3',
  ]) {
    expect([typed, readAmount(typed).fault]).toEqual([typed, 'Enter an amount, for example 1,000 or 0.50.']);
    expect(amountOf(typed)).toBe(typed);
  }
  expect(readAmount('0.0000000001').fault).toBe('Enter at most 9 digits after the decimal point.');
  expect(readAmount('0.0000000001', 12).fault).toBeNull();
  expect(readAmount('').fault).toBeNull();
});

test('a text that more digits make an amount is no fault yet', () => {
  expect(['', '-', '$', '−$', '1,', '1,000,0', '1 00'].map(isBegun)).toEqual(Array(7).fill(true));
  expect(['abc', '5 EUR', '1,00,000', '--5'].map(isBegun)).toEqual(Array(4).fill(false));
});

test('an amount that was read is read as the same amount again', () => {
  for (const typed of ['1,000', '1.000', '1.000,500', '0,5', '$1 000 000.25', '1000,500'])
    expect(Number(amountOf(amountOf(typed)))).toBe(Number(amountOf(typed)));
});
