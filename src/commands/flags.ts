// Reads the values of flags and arguments. Each reader takes the text and the name to blame in its error,
// and throws WrongUsage.

import { isExactOrigin, parseRange } from '../base/addresses.ts';
import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { parseUsd } from '../base/money.ts';
import { bounds, type ConfigFlags } from '../config/config.ts';
import { type Invocation, WrongUsage } from './command.ts';

/** `name` is as the user writes it: "--quota" or "AMOUNT". */
export type ValueReader = (text: string, name: string) => unknown;

/** The text of a flag; undefined when it is absent. Throws WrongUsage when it is empty. */
export function textFlag(flags: Invocation['flags'], name: string): string | undefined {
  const value = flags[name];
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '') throw new WrongUsage(`--${name} is empty`);
  return value;
}

/** Where the store is: --data and --database. */
export function storeOf(flags: Invocation['flags']): ConfigFlags {
  const [data, database] = [textFlag(flags, 'data'), textFlag(flags, 'database')];
  return { ...(data !== undefined && { data }), ...(database !== undefined && { database }) };
}

export const text: ValueReader = (value) => value;

/** Members separated by commas. */
export function list(value: string, name: string): string[] {
  const members = value.split(',').map((member) => member.trim());
  if (members.includes('')) throw new WrongUsage(`${name} has an empty value between two commas`);
  return members;
}

/** Accepts `word` in place of a value; it reads as null, which removes the bound. */
export function orNull(word: 'none' | 'any', read: ValueReader): ValueReader {
  return (value, name) => (value === word ? null : read(value, name));
}

export function addresses(value: string, name: string): string[] {
  const ranges = list(value, name);
  const wrong = ranges.find((range) => parseRange(range) === null);
  if (wrong !== undefined)
    throw new WrongUsage(`${name} must be addresses or CIDR ranges such as 203.0.113.0/24, not "${wrong}"`);
  return ranges;
}

export function origins(value: string, name: string): string[] {
  const members = list(value, name);
  const wrong = members.find((origin) => !isExactOrigin(origin));
  if (wrong !== undefined)
    throw new WrongUsage(`${name} must be origins such as https://app.example.com, not "${wrong}"`);
  return members;
}

/** An amount in USD, returned as text so that no digit is lost. It may be negative. */
export function amount(value: string, name: string): string {
  if (parseUsd(value) === null)
    throw new WrongUsage(
      `${name} must be an amount in USD with at most 9 fraction digits, such as 10.00, not "${value}"`,
    );
  return value.trim();
}

export function amountNotNegative(value: string, name: string): string {
  const checked = amount(value, name);
  if (checked.startsWith('-')) throw new WrongUsage(`${name} must not be negative`);
  return checked;
}

/** Amounts separated by commas; "none" is an empty list. */
export function amounts(value: string, name: string): string[] {
  return value === 'none' ? [] : list(value, name).map((member) => amountNotNegative(member, name));
}

/** A whole number, at least 1. */
export function count(value: string, name: string): number {
  const parsed = value.startsWith('0') ? null : parseWholeNumber(value);
  if (parsed === null) throw new WrongUsage(`${name} must be a whole number of at least 1, not "${value}"`);
  return parsed;
}

/** A rate limit or a concurrency limit. */
export function limit(value: string, name: string): number {
  const parsed = count(value, name);
  if (parsed > bounds.rateLimitMax)
    throw new WrongUsage(`${name} must be at most ${bounds.rateLimitMax}; leave it out for no limit`);
  return parsed;
}

/** An ISO 8601 time, in UTC unless it has an offset; returned with milliseconds and "Z". */
export function time(value: string, name: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(value);
  const atMs = match === null ? null : parseTimeMs(`${match[1]}T${match[2] ?? '00:00'}${match[3] ?? 'Z'}`);
  // A date that does not exist, such as 30 February, must not become another one.
  const isDate = match !== null && new Date(`${match[1]}T00:00Z`).toJSON()?.startsWith(match[1] as string);
  if (!isDate || atMs === null)
    throw new WrongUsage(`${name} must be a time such as 2027-01-31T00:00:00Z, not "${value}"`);
  return new Date(atMs).toISOString();
}

/** A duration such as 24h, returned as text. */
export function duration(value: string, name: string): string {
  if (!/^\d{1,9}[smhd]$/.test(value))
    throw new WrongUsage(`${name} must be a number with its unit (s, m, h, d), such as 24h, not "${value}"`);
  return value;
}

export function yesOrNo(value: string, name: string): boolean {
  if (value !== 'yes' && value !== 'no') throw new WrongUsage(`${name} must be yes or no, not "${value}"`);
  return value === 'yes';
}

export function choice<Choice extends string>(choices: readonly Choice[]) {
  return (value: string, name: string): Choice => {
    if (!choices.includes(value as Choice))
      throw new WrongUsage(`${name} must be ${choices.join(' or ')}, not "${value}"`);
    return value as Choice;
  };
}
