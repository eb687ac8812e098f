// The only place that converts text, rows and bigints to numbers. A value of the wrong kind becomes null or an error,
// never NaN. test/checked-numbers.test.ts checks that no other code in src/ converts.

import { assert } from './assert.ts';

/** Whether the value is a safe integer of at least 0, and not negative zero. */
export function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && !Object.is(value, -0);
}

/** Reads decimal digits; null for other text, and beyond Number.MAX_SAFE_INTEGER. */
export function parseWholeNumber(text: string): number | null {
  if (!/^\d+$/.test(text)) return null;
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

/** As `parseWholeNumber`, for at most 15 digits that a regular expression has matched. */
export function parseDigits(digits: string): number {
  const value = parseWholeNumber(digits);
  assert(value !== null, 'a pattern that matches digits matches no more than a number can hold');
  return value;
}

/** Reads 1 to 8 hexadecimal digits; null for other text. */
export function parseHex(text: string): number | null {
  return /^[0-9a-fA-F]{1,8}$/.test(text) ? Number.parseInt(text, 16) : null;
}

/** Reads "5" or "0.25", without sign and exponent; null for other text. At most Number.MAX_SAFE_INTEGER. */
export function parseFraction(text: string): number | null {
  return /^\d+(?:\.\d+)?$/.test(text) ? Math.min(Number(text), Number.MAX_SAFE_INTEGER) : null;
}

const SINGLE_DIGITS = 9; // tell any two single-precision floats apart

/** A single-precision float without digits that it does not have, which are a third of its text. */
export function roundSingle(value: number): number {
  return Number(value.toPrecision(SINGLE_DIGITS));
}

/** Milliseconds since 1970 of a date that the runtime can parse; null for other text. */
export function parseTimeMs(text: string): number | null {
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? null : atMs;
}

/** Reads an integer of a database row, which may be a number, a bigint or text. Throws for other values. */
export function integerOf(value: unknown): number {
  const number = typeof value === 'bigint' || isIntegerText(value) ? Number(value) : value;
  if (Number.isSafeInteger(number)) return number as number;
  throw new RangeError(`a row has ${String(value)} where an integer belongs`);
}

/** Converts a bigint that our own arithmetic keeps within the safe integers. */
export function exactNumber(value: bigint): number {
  const number = Number(value);
  assert(Number.isSafeInteger(number), 'a bigint that becomes a number is a safe integer');
  return number;
}

function isIntegerText(value: unknown): boolean {
  return typeof value === 'string' && /^-?\d+$/.test(value);
}

/** The nearest floating-point number, for shares and averages; never for money that is charged. */
export function nearestNumber(value: bigint): number {
  return Number(value);
}
