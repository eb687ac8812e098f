// The rule by which amounts are shown: totals in cents, amounts of one request and below a cent to four significant digits, amounts that
// somebody entered as they are. The exact amount is beside each, on hover and in CSV files. Pure; the API sends exact
// decimal strings.

import { printDecimal, readDecimal } from './figures.ts';

const NANO_DIGITS = 9;
const NANO_PER_USD = 10n ** 9n;
const CENT_DIGITS = 2;
const SIGNIFICANT_DIGITS = 4;
/** More than any amount has: a token may cost less than a nanodollar. */
const DIGITS_MAX = 24;
const CENT = 10n ** BigInt(DIGITS_MAX - CENT_DIGITS);

/** Which of the rules an amount follows. */
export type Precision = 'total' | 'request' | 'exact';

export function formatAmount(usd: string, precision: Precision): string {
  if (precision === 'request') return formatRequestMoney(usd);
  return precision === 'total' ? formatMoney(usd) : formatExactMoney(usd);
}

/** A total: "$1,234.57", and below a cent as an amount of one request. */
export function formatMoney(usd: string): string {
  const units = unitsOf(usd);
  const size = units < 0n ? -units : units;
  if (size < CENT) return formatRequestMoney(usd);
  return formatExactMoney(printDecimal(roundTo(units, CENT_DIGITS), DIGITS_MAX));
}

/** An amount of one request: "$0.001813", "$12.35". */
export function formatRequestMoney(usd: string): string {
  const units = unitsOf(usd);
  const length = (units < 0n ? -units : units).toString().length;
  const digits = Math.max(CENT_DIGITS, DIGITS_MAX - length + SIGNIFICANT_DIGITS);
  return formatExactMoney(printDecimal(roundTo(units, digits), DIGITS_MAX));
}

/** "$1,234.567" with all digits, and at least `digitsLeast` fraction digits. Accepts any number of digits. */
export function formatExactMoney(usd: string, digitsLeast = CENT_DIGITS): string {
  const [, sign = '', whole = '0', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(usd) ?? [];
  const kept = fraction.replace(/0+$/, '').padEnd(Math.max(CENT_DIGITS, digitsLeast), '0');
  return `${sign === '' ? '' : '−'}$${BigInt(whole).toLocaleString('en-US')}.${kept}`;
}

/** A message of the service, with its amounts as the console shows them: "0.000519 USD" is "$0.000519". */
export function withMoney(message: string): string {
  return message.replace(/(-?\d+(?:\.\d+)?) USD\b/g, (_, usd: string) => formatRequestMoney(usd));
}

/** How a chart of amounts, which are floating-point numbers, labels its axis and its values. */
export const chartFormats = {
  /** The labels of an axis have the same digits, which its steps need: round ones of at least a fifth of `most`. */
  format: (usd: number, most = 0) => formatExactMoney(usd.toFixed(stepDigits(most / 4)), stepDigits(most / 4)),
  formatValue: (usd: number) => formatRequestMoney(usd.toFixed(NANO_DIGITS)),
};

/** The fraction digits of a step of an axis, which has at most two significant digits. */
function stepDigits(usd: number): number {
  return usd > 0 ? Math.min(NANO_DIGITS, Math.max(CENT_DIGITS, 1 - Math.floor(Math.log10(usd)))) : CENT_DIGITS;
}

/** The highest number of fraction digits of these rates. */
export function digitsOf(rates: readonly (string | null)[]): number {
  return Math.max(0, ...rates.map((usd) => /\.(\d*[1-9])0*$/.exec(usd ?? '')?.[1]?.length ?? 0));
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

export const RATE_DIGITS = 12;
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

function unitsOf(usd: string): bigint {
  return readDecimal(usd, DIGITS_MAX) ?? 0n;
}

/** Rounds half away from zero. */
function roundTo(units: bigint, digits: number): bigint {
  if (digits >= DIGITS_MAX) return units;
  const unit = 10n ** BigInt(DIGITS_MAX - digits);
  const size = units < 0n ? -units : units;
  const rounded = ((size + unit / 2n) / unit) * unit;
  return units < 0n ? -rounded : rounded;
}
