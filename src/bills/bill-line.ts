// Lines of a provider's bill, added up by day, model, feature and tier: exact amounts, bounded in number.

import { parseDigits } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { formatDecimal } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';

export const billFeatures = ['input', 'output', 'cache_read', 'cache_write', 'web_search', 'batch', 'other'] as const;
export type BillFeature = (typeof billFeatures)[number];

/** The kinds of bills that can be read. */
export const billKinds = ['anthropic', 'openai', 'aws'] as const;
export type BillKind = (typeof billKinds)[number];

/** An amount of USD in units of 10⁻³⁶: vendors print more digits than a nanodollar has. */
export type BillUnits = bigint;

export const BILL_DIGITS = 36;
export const UNITS_PER_NANO = 10n ** 27n;
const AMOUNT_MAX = 10n ** 9n * 10n ** 36n;
const QUANTITY_DIGITS = 12;
const QUANTITY_MAX = BigInt(Number.MAX_SAFE_INTEGER);

/** The tier of work without a special one. */
export const STANDARD = 'standard';

export interface BillLine {
  /** Midnight, UTC. */
  dayMs: number;
  /** As the bill names it; '' if the line is about no model. */
  model: string;
  feature: BillFeature;
  tier: string;
  amount: BillUnits;
  /** Tokens, or searches; null if the bill does not tell. */
  quantity: number | null;
  /** Rows of the report that are added up in it. */
  rows: number;
}

/** A bill that cannot be read: the message names the row or the member. */
export function unreadableBill(message: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `The bill cannot be read: ${message}`);
}

const DECIMAL = /^(-?)(\d{1,15})(?:\.(\d{1,40}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Reads a decimal, also with an exponent as JSON may have one, in units of 10^-digits; null for other text, and with more
 * digits. `places` is the number of its fraction digits.
 */
export function readDecimal(text: string, digits: number): { units: bigint; places: number } | null {
  const match = DECIMAL.exec(text);
  if (match === null) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const power = (exponent.startsWith('-') ? -1 : 1) * parseDigits(exponent.replace(/^[+-]/, ''));
  const kept = fraction.replace(/0+$/, '');
  const value = BigInt(whole + kept);
  const places = value === 0n ? 0 : kept.length - power;
  if (places > digits) return null;
  const units = value * 10n ** BigInt(digits - (value === 0n ? digits : places));
  return { units: sign === '-' ? -units : units, places: Math.max(places, 0) };
}

/** Prints an amount exactly, with at least two fraction digits unless it is zero. */
export function formatUnits(units: BillUnits): string {
  return units === 0n ? '0' : formatDecimal(units, BILL_DIGITS, 2);
}

/** Reads what formatUnits printed. */
export function parseUnits(text: string): BillUnits {
  return readDecimal(text, BILL_DIGITS)?.units ?? 0n;
}

/** A row of a report. */
export interface BillRow {
  dayMs: number;
  model: string;
  feature: BillFeature;
  tier: string;
  /** Absent: the row has only a quantity. */
  amount?: { text: string; currency: string; isInCents?: boolean; mayBeNegative?: boolean };
  /** A decimal; absent if the row has none. `times`: tokens in a unit. */
  quantity?: { text: string; times: number };
  /** Where it stands, for errors: "row 12". */
  at: string;
}

export interface CollectedBill {
  lines: BillLine[];
  /** The days that the report covers, also those without a line, in order. */
  days: number[];
  /** Fraction digits of the most precise amount: others may have been rounded to as many. */
  places: number;
}

/** Adds rows up. Every `add` throws invalid_request for a row that cannot be right. */
export class BillCollector {
  readonly #lines = new Map<string, BillLine>();
  readonly #days = new Set<number>();
  #places = 2;

  /** The day is on the bill, with or without a line. */
  cover(dayMs: number): void {
    this.#days.add(dayMs);
    if (this.#days.size > bounds.billDaysMax) throw unreadableBill(`it has more than ${bounds.billDaysMax} days`);
  }

  has({ dayMs, model, feature, tier }: Pick<BillLine, 'dayMs' | 'model' | 'feature' | 'tier'>): boolean {
    return this.#lines.has(keyOf(dayMs, model, feature, tier));
  }

  add(row: BillRow): void {
    const { dayMs, model, feature, tier, at } = row;
    if (dayMs % DAY_MS !== 0) throw unreadableBill(`${at}: the day must begin at midnight, UTC`);
    if ([...model].length > bounds.modelNameCharactersMax || /\p{Cc}/u.test(model))
      throw unreadableBill(
        `${at}: the name of the model is not one of at most ${bounds.modelNameCharactersMax} characters`,
      );
    const amount = row.amount === undefined ? 0n : this.#readAmount(row.amount, at);
    const quantity = row.quantity === undefined ? null : readQuantity(row.quantity, at);
    this.cover(dayMs);
    const key = keyOf(dayMs, model, feature, tier);
    const line = this.#lines.get(key) ?? { dayMs, model, feature, tier, amount: 0n, quantity: null, rows: 0 };
    line.amount += amount;
    if (row.amount !== undefined) line.rows++;
    if (quantity !== null) line.quantity = addQuantity(line.quantity ?? 0, quantity, at);
    if (line.amount > AMOUNT_MAX || line.amount < -AMOUNT_MAX) throw unreadableBill(`${at}: the sum is too large`);
    this.#lines.set(key, line);
    if (this.#lines.size > bounds.billLinesMax)
      throw unreadableBill(`it has more than ${bounds.billLinesMax} lines by day, model, feature and tier`);
  }

  collected(): CollectedBill {
    return {
      lines: [...this.#lines.values()],
      days: [...this.#days].sort((one, other) => one - other),
      places: this.#places,
    };
  }

  #readAmount(
    { text, currency, isInCents = false, mayBeNegative = false }: NonNullable<BillRow['amount']>,
    at: string,
  ) {
    if (currency.toUpperCase() !== 'USD')
      throw unreadableBill(`${at}: the currency must be USD, not ${JSON.stringify(currency.slice(0, 20))}`);
    const read = readDecimal(text, isInCents ? BILL_DIGITS - 2 : BILL_DIGITS);
    if (read === null || read.units > AMOUNT_MAX || read.units < -AMOUNT_MAX)
      throw unreadableBill(`${at}: ${JSON.stringify(text.slice(0, 60))} is not an amount of at most a billion USD`);
    if (read.units < 0n && !mayBeNegative) throw unreadableBill(`${at}: the amount must not be negative`);
    this.#places = Math.max(this.#places, read.places + (isInCents ? 2 : 0));
    return read.units;
  }
}

function keyOf(dayMs: number, model: string, feature: string, tier: string): string {
  return `${dayMs}\n${model}\n${feature}\n${tier}`;
}

function readQuantity({ text, times }: NonNullable<BillRow['quantity']>, at: string): number {
  const units = readDecimal(text, QUANTITY_DIGITS)?.units ?? -1n;
  const scale = 10n ** BigInt(QUANTITY_DIGITS);
  const quantity = (units * BigInt(times) + scale / 2n) / scale; // reports print thousands of tokens as fractions
  if (units < 0n || quantity > QUANTITY_MAX)
    throw unreadableBill(`${at}: ${JSON.stringify(text.slice(0, 60))} is not a quantity`);
  return parseDigits(String(quantity));
}

function addQuantity(quantity: number, more: number, at: string): number {
  const sum = quantity + more;
  if (!Number.isSafeInteger(sum)) throw unreadableBill(`${at}: the quantities add up to too much`);
  return sum;
}
