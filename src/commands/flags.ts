// Reads the values of flags. What has a wrong form is refused here, by the flag's name, before
// anything is asked of the service: wrong usage. What depends on the service's state or clock is
// for it to refuse: a failure.

import { parseRange } from '../base/address-range.ts';
import { isExactOrigin } from '../base/exact-origin.ts';
import { parseUsd } from '../base/money.ts';
import { bounds, type ConfigFlags } from '../config.ts';
import { type Invocation, WrongUsage } from './command.ts';

type Flags = Invocation['flags'];

/** The text of a flag; undefined when it is absent. Empty text is refused. */
export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  if (typeof value !== 'string') return undefined;
  if (value.trim() === '') throw new WrongUsage(`--${name} is empty`);
  return value;
}

/** A list separated by commas. */
export function listFlag(flags: Flags, name: string): string[] | undefined {
  const members = textFlag(flags, name)
    ?.split(',')
    .map((member) => member.trim());
  if (members?.includes('')) throw new WrongUsage(`--${name}: there is nothing between two commas`);
  return members;
}

/** An amount in USD that bounds or adds: not below zero. Kept as the text that was given. */
export function amountFlag(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const amount = checkAmount(text, `--${name}`);
  if (amount.startsWith('-')) throw new WrongUsage(`--${name} must not be negative`);
  return amount;
}

/** What `read` makes of a flag, or null where its one word says that there is to be no such bound: "none", or "any" of a scope. */
export function orNull<Value>(
  flags: Flags,
  name: string,
  word: 'none' | 'any',
  read: (flags: Flags, name: string) => Value | undefined,
): Value | null | undefined {
  return flags[name] === word ? null : read(flags, name);
}

/** Address ranges, separated by commas. */
export function addressesFlag(flags: Flags, name: string): string[] | undefined {
  const ranges = listFlag(flags, name);
  const wrong = ranges?.find((range) => parseRange(range) === null);
  if (wrong !== undefined)
    throw new WrongUsage(`--${name} must be addresses or CIDR ranges such as 203.0.113.0/24, not "${wrong}"`);
  return ranges;
}

/** Exact origins, separated by commas. */
export function originsFlag(flags: Flags, name: string): string[] | undefined {
  const origins = listFlag(flags, name);
  const wrong = origins?.find((origin) => !isExactOrigin(origin));
  if (wrong !== undefined)
    throw new WrongUsage(`--${name} must be origins as a browser sends them, https://app.example.com, not "${wrong}"`);
  return origins;
}

export function checkAmount(text: string, name: string): string {
  if (parseUsd(text) === null)
    throw new WrongUsage(
      `${name} must be an amount in USD with at most 9 fraction digits, such as 10.00, not "${text}"`,
    );
  return text.trim();
}

/** A whole number, at least one. */
export function countFlag(flags: Flags, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,15}$/.test(text) || !Number.isSafeInteger(Number(text)))
    throw new WrongUsage(`--${name} must be a whole number of at least 1, not "${text}"`);
  return Number(text);
}

/** A limit a minute, or at once. */
export function limitFlag(flags: Flags, name: string): number | undefined {
  const limit = countFlag(flags, name);
  if (limit !== undefined && limit > bounds.rateLimitMax)
    throw new WrongUsage(`--${name} must be at most ${bounds.rateLimitMax}; without it there is no limit`);
  return limit;
}

/** A time, in ISO 8601 and UTC unless it says otherwise; returned with milliseconds and "Z". */
export function timeFlag(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/i.exec(text);
  const atMs = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2] ?? '00:00'}${match[3] ?? 'Z'}`);
  // A date that does not exist, such as 30 February, must not become another one.
  const isDate = match !== null && new Date(`${match[1]}T00:00Z`).toJSON()?.startsWith(match[1] as string);
  if (!isDate || Number.isNaN(atMs))
    throw new WrongUsage(`--${name} must be a time such as 2027-01-31T00:00:00Z, not "${text}"`);
  return new Date(atMs).toISOString();
}

/** A length of time such as 24h: kept as the text that was given. */
export function durationFlag(flags: Flags, name: string): string | undefined {
  const text = textFlag(flags, name);
  if (text !== undefined && !/^\d{1,9}[smhd]$/.test(text))
    throw new WrongUsage(`--${name} must be a number with its unit (s, m, h, d), such as 24h, not "${text}"`);
  return text;
}

export function choiceFlag(flags: Flags, name: string, choices: readonly string[]): string | undefined {
  const text = textFlag(flags, name);
  if (text !== undefined && !choices.includes(text))
    throw new WrongUsage(`--${name} must be ${choices.join(' or ')}, not "${text}"`);
  return text;
}

/** The flags that say where the store is, as the settings take them. */
export function storeOf(flags: Flags): ConfigFlags {
  const [data, database] = [textFlag(flags, 'data'), textFlag(flags, 'database')];
  return { ...(data !== undefined && { data }), ...(database !== undefined && { database }) };
}
