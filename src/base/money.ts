// Money in whole nanodollars (10^-9 USD), always a safe integer. Decimal text is converted without floating point.

import { assert } from './assert.ts';
import { exactNumber } from './checked-number.ts';

/** Whole nanodollars, |n| <= NANO_MAX. */
export type Nano = number;

export const NANO_PER_USD = 1_000_000_000;
export const NANO_MAX: Nano = Number.MAX_SAFE_INTEGER;

export function assertNano(amount: number, what: string): void {
  assert(Number.isSafeInteger(amount), `${what} is not a whole number of nanodollars: ${amount}`);
}

/** Reads a decimal ("-0.5") in units of 10^-fractionDigits; null for other text, or with more fraction digits. */
export function parseDecimal(text: string, fractionDigits: number): bigint | null {
  const match = /^(-?)(\d{1,20})(?:\.(\d+))?$/.exec(text.trim());
  if (match === null) return null;
  const fraction = (match[3] ?? '').replace(/0+$/, '');
  if (fraction.length > fractionDigits) return null;
  const units = BigInt(`${match[2]}${fraction.padEnd(fractionDigits, '0')}`);
  return match[1] === '-' ? -units : units;
}

/** Reads an amount in USD. Null when it is not a decimal, finer than a nanodollar, or beyond NANO_MAX. */
export function parseUsd(text: string): Nano | null {
  const units = parseDecimal(text, 9);
  if (units === null || units > BigInt(NANO_MAX) || units < BigInt(-NANO_MAX)) return null;
  return exactNumber(units);
}

/** Prints an amount in USD: "0", else at least two and at most nine fraction digits ("9.99", "0.000123"). */
export function formatUsd(amount: Nano | bigint): string {
  if (amount === 0 || amount === 0n) return '0';
  if (typeof amount === 'bigint' || !Number.isSafeInteger(amount)) return formatDecimal(BigInt(amount), 9, 2);
  // The same without bigints, because every message prints amounts.
  const digits = Math.abs(amount);
  const whole = Math.floor(digits / NANO_PER_USD);
  let fraction = digits - whole * NANO_PER_USD;
  let places = 9;
  for (; places > 2 && fraction % 10 === 0; places--) fraction /= 10;
  return `${amount < 0 ? '-' : ''}${whole}.${String(fraction).padStart(places, '0')}`;
}

/** Prints a whole number of units of 10^-fractionDigits as a decimal with at least `fractionDigitsLeast` digits. */
export function formatDecimal(units: bigint, fractionDigits: number, fractionDigitsLeast = 0): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(fractionDigits + 1, '0');
  const whole = digits.slice(0, digits.length - fractionDigits);
  const fraction = digits
    .slice(digits.length - fractionDigits)
    .replace(/0+$/, '')
    .padEnd(fractionDigitsLeast, '0');
  return fraction === '' ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}

const SHOWN_DIGITS = 24; // of any amount
const CENT = 10n ** 22n;

/** Shows an amount in USD to people: "$1,234.57", and "$0.001235" with four significant digits below a cent. Other text is as it is. */
export function showUsd(text: string): string {
  const units = parseDecimal(text, SHOWN_DIGITS);
  if (units === null) return text;
  const size = units < 0n ? -units : units;
  const unit = size === 0n || size >= CENT ? CENT : 10n ** BigInt(Math.max(0, size.toString().length - 4));
  const rounded = formatDecimal(((size + unit / 2n) / unit) * unit, SHOWN_DIGITS, 2);
  const [whole = '', fraction = ''] = rounded.split('.');
  return `${units < 0n ? '−' : ''}$${BigInt(whole).toLocaleString('en-US')}.${fraction}`;
}
