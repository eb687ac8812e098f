// Reads the values of flags and arguments. Each reader takes the text and the name to blame in its error,
// and throws WrongUsage.

import { isExactOrigin, parseRange } from '../base/addresses.ts';
import { parseTimeMs, parseWholeNumber } from '../base/checked-number.ts';
import { parseUsd } from '../base/money.ts';
import type { ConfigFlags } from '../config/config.ts';
import { type Flag, type Invocation, WrongUsage } from './command.ts';

/** Texts of these forms are checked; all others by the service. */
const forms = {
  duration: {
    isRight: (text: string) => /^\d{1,9}[smhd]$/.test(text),
    words: 'a number with its unit (s, m, h, d), such as 24h',
  },
  origin: { isRight: isExactOrigin, words: 'origins such as https://app.example.com' },
  'address-range': {
    isRight: (text: string) => parseRange(text) !== null,
    words: 'addresses or CIDR ranges such as 203.0.113.0/24',
  },
};

/** How the text of a field of the admin API is read and checked. */
export interface FieldReader {
  kind: 'text' | 'choice' | 'list' | 'time' | 'amount' | 'count' | 'yes-or-no' | 'switch' | keyof typeof forms;
  choices?: readonly string[];
  /** Reads each member of a list. */
  member?: FieldReader;
  /** The largest count. */
  maximum?: number;
  /** Without the count there is no limit. */
  isLimit?: boolean;
  /** The amount may be negative. */
  maySubtract?: boolean;
  /** Values of words that stand for them, such as null for "none". */
  words?: Readonly<Record<string, unknown>>;
}

/** A flag that fills a field: a query parameter, or a member of the body. */
export interface FieldFlag extends Flag, FieldReader {
  field: string;
  isRequired?: boolean;
  /** Another flag that must be given with it. */
  needs?: string;
}

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

/** The values of the flags that are given, by field. Throws WrongUsage. */
export function readFields(specs: Readonly<Record<string, FieldFlag>>, flags: Invocation['flags']) {
  const fields: Record<string, unknown> = {};
  for (const [name, spec] of Object.entries(specs)) {
    if (flags[name] === true) fields[spec.field] = true;
    // An empty choice is refused with the choices.
    const value = spec.kind === 'choice' ? (flags[name] as string | undefined) : textFlag(flags, name);
    if (value === undefined && spec.isRequired === true) throw new WrongUsage(`--${name} is missing`);
    if (value === undefined) continue;
    fields[spec.field] = readValue(spec, value, `--${name}`);
    if (spec.needs !== undefined && flags[spec.needs] === undefined)
      throw new WrongUsage(`--${name} needs --${spec.needs}`);
  }
  return fields;
}

/** `name` is as the user writes it: "--quota" or "AMOUNT". */
export function readValue(spec: FieldReader, text: string, name: string): unknown {
  const { kind, words = {}, member = { kind: 'text' }, choices = [] } = spec;
  if (Object.hasOwn(words, text)) return words[text];
  if (kind === 'list') return members(text, name).map((one) => readValue(member, one, name));
  if (kind === 'time') return time(text, name);
  if (kind === 'amount') return amount(text, name, spec.maySubtract === true);
  if (kind === 'count') return count(text, name, spec.maximum, spec.isLimit ? withoutLimit(words) : '');
  if (kind === 'yes-or-no') return choice(['yes', 'no'], text, name) === 'yes';
  if (kind === 'choice') return choice(choices, text, name);
  return kind === 'text' || kind === 'switch' ? text : formedText(kind, text, name);
}

/** Members separated by commas. */
function members(value: string, name: string): string[] {
  const members = value.split(',').map((member) => member.trim());
  if (members.includes('')) throw new WrongUsage(`${name} has an empty value between two commas`);
  return members;
}

function formedText(form: keyof typeof forms, value: string, name: string): string {
  const { isRight, words } = forms[form];
  if (!isRight(value)) throw new WrongUsage(`${name} must be ${words}, not "${value}"`);
  return value;
}

/** An amount in USD, returned as text so that no digit is lost. */
function amount(value: string, name: string, maySubtract: boolean): string {
  if (parseUsd(value) === null)
    throw new WrongUsage(
      `${name} must be an amount in USD with at most 9 fraction digits, such as 10.00, not "${value}"`,
    );
  const checked = value.trim();
  if (checked.startsWith('-') && !maySubtract) throw new WrongUsage(`${name} must not be negative`);
  return checked;
}

function withoutLimit(words: object): string {
  return Object.hasOwn(words, 'none') ? '; none removes the limit' : '; leave it out for no limit';
}

/** A whole number, at least 1. `advice` follows the error about a larger one. */
export function count(value: string, name: string, maximum = Number.MAX_SAFE_INTEGER, advice = ''): number {
  const parsed = value.startsWith('0') ? null : parseWholeNumber(value);
  if (parsed === null) throw new WrongUsage(`${name} must be a whole number of at least 1, not "${value}"`);
  if (parsed > maximum) throw new WrongUsage(`${name} must be at most ${maximum}${advice}`);
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

function choice(choices: readonly string[], value: string, name: string): string {
  if (!choices.includes(value)) throw new WrongUsage(`${name} must be ${choices.join(' or ')}, not "${value}"`);
  return value;
}
