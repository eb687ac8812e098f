// Prices marked up by a percentage, in integers and rounded up. Pure.

import { formatDecimal, parseDecimal } from '../base/money.ts';
import { formatRate, readDecimalRate } from './document.ts';

const PERCENT_DIGITS = 4;
const MARK_UP_PERCENT_MAX = 10_000n;
const WHOLE = 100n * 10n ** BigInt(PERCENT_DIGITS); // 100 %

/** A markup in 10^-4 percent; null unless it is a decimal from 0 to 10,000 with at most 4 fraction digits. */
export function readMarkUp(text: string): bigint | null {
  const units = parseDecimal(text, PERCENT_DIGITS);
  return units === null || units < 0n || units > MARK_UP_PERCENT_MAX * 10n ** BigInt(PERCENT_DIGITS) ? null : units;
}

export function formatMarkUp(markUp: bigint): string {
  return formatDecimal(markUp, PERCENT_DIGITS);
}

/** A price, or any part of one, with every rate marked up. Rates are texts; other members, such as thresholds, stay. */
export function markUpPrice<Part>(part: Part, markUp: bigint): Part {
  if (typeof part === 'string') return markUpRate(part, markUp) as Part;
  if (typeof part !== 'object' || part === null) return part;
  const members = Object.entries(part).map(([name, value]) => [
    name,
    name === 'from' ? value : markUpPrice(value, markUp),
  ]);
  return Object.fromEntries(members) as Part;
}

function markUpRate(text: string, markUp: bigint): string {
  const rate = readDecimalRate(text);
  return rate === null ? text : formatRate((rate * (WHOLE + markUp) + WHOLE - 1n) / WHOLE);
}
