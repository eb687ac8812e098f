// The rule by which amounts are shown: rounded half away from zero to cents, and below one dollar to the third significant
// digit, so that no positive amount is shown as zero. A column has the same digits in each row. A sum and its parts have
// as many digits as it takes for the shown parts to add up to the shown sum. Pure; the API sends exact decimal strings.

import { printDecimal, readDecimal } from './figures.ts';

const NANO_DIGITS = 9;
const NANO_PER_USD = 10n ** 9n;
const CENT_DIGITS = 2;
const SIGNIFICANT_DIGITS = 3;

/** "$1,234.57" and "$0.000123"; with at least `digitsLeast` fraction digits. */
export function formatMoney(usd: string, digitsLeast = CENT_DIGITS): string {
  return printMoney(nanoOf(usd), Math.max(roundedDigits(usd), digitsLeast));
}

/** "$1,234.567" with all digits, and at least `digitsLeast` fraction digits. Accepts any number of digits. */
export function formatExactMoney(usd: string, digitsLeast = CENT_DIGITS): string {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd) ?? [];
  const kept = fraction.replace(/0+$/, '').padEnd(Math.max(CENT_DIGITS, digitsLeast), '0');
  return `${sign === '' ? '' : '−'}$${BigInt(whole).toLocaleString('en-US')}.${kept}`;
}

/** How a chart of amounts, which are floating-point numbers, labels its axis and its values. */
export const chartFormats = {
  /** The labels of an axis have the same digits, which its steps need: they are at least a fourth of `most`. */
  format: (usd: number, most = 0) => formatMoney(usd.toFixed(NANO_DIGITS), stepDigits(most / 4)),
  formatValue: (usd: number) => formatExactMoney(usd.toFixed(NANO_DIGITS)),
};

/** The fraction digits of a step of an axis, which has at most two significant digits. */
function stepDigits(usd: number): number {
  return usd > 0 ? Math.min(NANO_DIGITS, Math.max(CENT_DIGITS, 1 - Math.floor(Math.log10(usd)))) : CENT_DIGITS;
}

/** The fraction digits of a column of rounded amounts: as many as the one that needs the most. */
export function roundedDigitsOf(amounts: readonly (string | null)[]): number {
  return Math.max(CENT_DIGITS, ...amounts.map((usd) => (usd === null ? 0 : roundedDigits(usd))));
}

/** The highest number of fraction digits of these amounts, which may have more than nine. */
export function digitsOf(amounts: readonly (string | null)[]): number {
  return Math.max(0, ...amounts.map((usd) => /\.(\d*[1-9])0*$/.exec(usd ?? '')?.[1]?.length ?? 0));
}

export interface Sum {
  /** A part that is subtracted is negative. */
  parts: readonly string[];
  sum: string;
}

/**
 * The fewest fraction digits on which the rounded parts of each sum add up to it, rounded. If the parts are not all of
 * their sum, the digits that show every amount exactly.
 */
export function sumDigitsOf(sums: readonly Sum[]): number {
  const all = sums.flatMap(({ parts, sum }) => [...parts, sum]);
  const digitsMost = Math.max(CENT_DIGITS, digitsOf(all));
  const exact = sums.map(({ parts, sum }) => ({ parts: parts.map(nanoOf), sum: nanoOf(sum) }));
  const agree = (digits: number) =>
    exact.every(({ parts, sum }) => totalOf(parts.map((nano) => roundTo(nano, digits))) === roundTo(sum, digits));
  if (!agree(NANO_DIGITS)) return digitsMost;
  let digits = roundedDigitsOf(all);
  while (digits < digitsMost && !agree(digits)) digits++;
  return digits;
}

/** The exact sum of amounts. */
export function sumOf(amounts: readonly string[]): string {
  return usdOf(totalOf(amounts.map(nanoOf)));
}

/** The amount with the other sign. */
export function negated(usd: string): string {
  return usdOf(-nanoOf(usd));
}

/** Parses "1.5" to nanodollars. */
export function nanoOf(usd: string): bigint {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(usd) ?? [];
  const size = BigInt(whole) * NANO_PER_USD + BigInt(fraction.padEnd(NANO_DIGITS, '0'));
  return sign === '-' ? -size : size;
}

/** Prints nanodollars in the format of the API. */
export function usdOf(nano: bigint): string {
  return printDecimal(nano, NANO_DIGITS);
}

/** 100 for a limit of zero. Two fraction digits are enough for a bar. */
export function percentOf(used: string, limit: string): number {
  const whole = nanoOf(limit);
  return whole <= 0n ? 100 : Number((nanoOf(used) * 10_000n) / whole) / 100;
}

const RATE_DIGITS = 12;
const MULTIPLIER_DIGITS = 6;

/** "$3.00", "$0.003625": exact, because a rate is multiplied by millions. */
export function formatRate(rate: string, digitsLeast = CENT_DIGITS): string {
  return /^-?\d+(?:\.\d+)?$/.test(rate) ? formatExactMoney(rate, digitsLeast) : rate;
}

/** The exact rate with the multiplier of a group; the rate itself if one of them is invalid. */
export function rateOfGroup(rate: string, multiplier: string): string {
  const [units, factor] = [readDecimal(rate, RATE_DIGITS), readDecimal(multiplier, MULTIPLIER_DIGITS)];
  return units === null || factor === null ? rate : printDecimal(units * factor, RATE_DIGITS + MULTIPLIER_DIGITS);
}

function totalOf(nanos: readonly bigint[]): bigint {
  return nanos.reduce((all, nano) => all + nano, 0n);
}

/** Cents, or the place of the third significant digit below one dollar, without zeros at the end. */
function roundedDigits(usd: string): number {
  const nano = nanoOf(usd);
  const size = nano < 0n ? -nano : nano;
  if (size === 0n || size >= NANO_PER_USD) return CENT_DIGITS;
  const digits = Math.min(NANO_DIGITS, NANO_DIGITS - size.toString().length + SIGNIFICANT_DIGITS);
  return Math.max(CENT_DIGITS, digitsOf([usdOf(roundTo(size, digits))]));
}

/** Rounds nanodollars half away from zero. */
function roundTo(nano: bigint, digits: number): bigint {
  if (digits >= NANO_DIGITS) return nano;
  const unit = 10n ** BigInt(NANO_DIGITS - digits);
  const size = nano < 0n ? -nano : nano;
  const rounded = ((size + unit / 2n) / unit) * unit;
  return nano < 0n ? -rounded : rounded;
}

function printMoney(nano: bigint, digits: number): string {
  return formatExactMoney(usdOf(roundTo(nano, digits)), digits);
}
