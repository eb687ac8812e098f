// Formatting amounts.

import { expect, test } from 'bun:test';
import { digitsOf, formatExactMoney, formatMoney, nanoOf, usdOf } from '../../console/parts/money.tsx';

test('an exact amount keeps every digit, its sign and at least two digits', () => {
  const written: [string, number | undefined, string][] = [
    ['0', undefined, '$0.00'],
    ['-0.5', undefined, '−$0.50'],
    ['1234567.000000001', undefined, '$1,234,567.000000001'],
    ['-12.30', 5, '−$12.30000'],
  ];
  for (const [usd, digits, shown] of written) expect(formatExactMoney(usd, digits)).toBe(shown);
  expect(digitsOf(['1', '0.10', '-0.0003'])).toBe(4);
  expect(digitsOf([])).toBe(0);
});

test('a displayed amount is rounded to cents, and below one dollar to its first significant digits', () => {
  const written: [string, string][] = [
    ['1234.565', '$1,234.57'],
    ['-1.004', '−$1.00'],
    ['0.000123456', '$0.000123'],
    ['0', '$0.00'],
  ];
  for (const [usd, shown] of written) expect(formatMoney(usd)).toBe(shown);
});

test('amounts survive the round trip through nanodollars', () => {
  for (const usd of ['0', '-0.000000001', '9007199.254740991', '12.5']) expect(usdOf(nanoOf(usd))).toBe(usd);
});
