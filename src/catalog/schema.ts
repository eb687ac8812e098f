// Schemas of files and stored documents. Reading finds all faults. Our own, because a library for it would take 8 MB and
// 40 ms of every start.

import type { Fault } from './fault.ts';

type Path = readonly (string | number)[];

/** Read instead of a value of another type. */
const MISFIT = Symbol('misfit');

/** A fault of a value: its description, with a path below the value if it is about a member; null if there is none. */
type Check<Value> = (value: Value) => string | Fault | null;

export interface Schema<Value> {
  readonly type: 'integer' | 'boolean' | 'text' | 'list' | 'object' | 'any';
  /** Bounds of a whole number. */
  readonly least?: number;
  readonly most?: number;
  readonly isNullable?: boolean;
  /** The value of an absent member. */
  readonly byDefault?: Value;
  readonly isOptional?: boolean;
  /** The canonical value. Adds all faults; a value of the right type is also returned with faults. */
  read(value: unknown, path: Path, faults: Fault[]): Value | typeof MISFIT;
}

interface Optional<Value> extends Schema<Value> {
  readonly isOptional: true;
}

type Members = Readonly<Record<string, Schema<unknown>>>;

/** The type of the values of a schema. */
export type ValueOf<Read> = Read extends Schema<infer Value> ? Value : never;

type ObjectOf<Of extends Members> = {
  [Name in keyof Of as Of[Name] extends Optional<unknown> ? never : Name]: ValueOf<Of[Name]>;
} & { [Name in keyof Of as Of[Name] extends Optional<unknown> ? Name : never]?: ValueOf<Of[Name]> | undefined };

/** The parsed value, or null after adding all faults below `path`. */
export function readPart<Value>(schema: Schema<Value>, value: unknown, path: Path, faults: Fault[]): Value | null {
  const before = faults.length;
  const read = schema.read(value, path, faults);
  return read === MISFIT || faults.length > before ? null : read;
}

export function text(...checks: Check<string>[]): Schema<string> {
  return scalar('text', (value) => typeof value === 'string', checks);
}

export const boolean: Schema<boolean> = scalar('boolean', (value) => typeof value === 'boolean', []);

export const anything: Schema<unknown> = { type: 'any', read: (value) => value };

export function integer(least: number, most: number): Schema<number> {
  const check: Check<number> = (value) => {
    if (value < least) return `must be at least ${least}`;
    return value > most ? `must be at most ${most}` : null;
  };
  return { ...scalar('integer', (value) => Number.isInteger(value), [check]), least, most };
}

function scalar<Value>(
  type: Schema<Value>['type'],
  isOfType: (value: unknown) => boolean,
  checks: readonly Check<Value>[],
): Schema<Value> {
  return {
    type,
    read(value, path, faults) {
      if (!isOfType(value)) return misfit(type, value, path, faults);
      return checked(value as Value, checks, path, faults);
    },
  };
}

interface ListTerms<Entry> {
  most: number;
  /** The fault of an empty list; absent: it may be empty. */
  empty?: string;
  checks?: readonly Check<Entry[]>[];
  describe?(value: unknown): string | null;
}

export function list<Entry>(
  entry: Schema<Entry>,
  { most, empty, checks = [], describe }: ListTerms<Entry>,
): Schema<Entry[]> {
  const isEmpty: Check<Entry[]> = (value) => (value.length === 0 && empty !== undefined ? empty : null);
  const isLong: Check<Entry[]> = (value) => (value.length > most ? `must not have more than ${most} entries` : null);
  return {
    type: 'list',
    read(value, path, faults) {
      if (!Array.isArray(value)) return misfit('list', value, path, faults, describe);
      const entries = value.map((one, at) => entry.read(one, [...path, at], faults));
      const fitting = entries.filter((one) => one !== MISFIT);
      return fitting.length < entries.length
        ? MISFIT
        : checked(fitting as Entry[], [isEmpty, isLong, ...checks], path, faults);
    },
  };
}

interface ObjectTerms<Of extends Members> {
  checks?: readonly Check<ObjectOf<Of>>[];
  describe?(value: unknown): string | null;
}

/** An object with these members and no others. */
export function object<Of extends Members>(
  members: Of,
  { checks = [], describe }: ObjectTerms<Of> = {},
): Schema<ObjectOf<Of>> & { members: Of } {
  const entries = Object.entries(members);
  return {
    type: 'object',
    members,
    read(value, path, faults) {
      if (!isObject(value)) return misfit('object', value, path, faults, describe);
      const result: Record<string, unknown> = {};
      let fits = true;
      for (const [name, schema] of entries) {
        if (value[name] === undefined && schema.isOptional) continue;
        const member =
          value[name] === undefined && schema.byDefault !== undefined
            ? schema.byDefault
            : schema.read(value[name], [...path, name], faults);
        if (member === MISFIT) fits = false;
        result[name] = member;
      }
      for (const name of Object.keys(value))
        if (!Object.hasOwn(members, name)) faults.push({ path: [...path, name], message: 'unknown member' });
      return fits ? checked(result as ObjectOf<Of>, checks, path, faults) : MISFIT;
    },
  };
}

/** An object with members of one kind, of any number. */
export function record<Value>(name: Schema<string>, member: Schema<Value>): Schema<Record<string, Value>> {
  return {
    type: 'object',
    read(value, path, faults) {
      if (!isObject(value)) return misfit('object', value, path, faults);
      const entries = Object.entries(value).map(([key, one]) => {
        name.read(key, [...path, key], faults);
        return [key, member.read(one, [...path, key], faults)] as const;
      });
      return entries.some(([, one]) => one === MISFIT)
        ? MISFIT
        : (Object.fromEntries(entries) as Record<string, Value>);
    },
  };
}

export function nullable<Value>(schema: Schema<Value>): Schema<Value | null> {
  return {
    ...schema,
    isNullable: true,
    read: (value, path, faults) => (value === null ? null : schema.read(value, path, faults)),
  } as Schema<Value | null>;
}

/** A member that may be absent, and then has this value. */
export function byDefault<Value>(schema: Schema<Value>, value: Value): Schema<Value> {
  return { ...schema, byDefault: value };
}

/** A member that may be null or absent. */
export function orNull<Value>(schema: Schema<Value>): Schema<Value | null> {
  return byDefault(nullable(schema), null);
}

/** A member that may be absent. */
export function optional<Value>(schema: Schema<Value>): Optional<Value> {
  return { ...schema, isOptional: true };
}

/** Members that all may be absent. */
export function allOptional<Of extends Members>(members: Of): { [Name in keyof Of]: Optional<ValueOf<Of[Name]>> } {
  const entries = Object.entries(members).map(([name, schema]) => [name, optional(schema)]);
  return Object.fromEntries(entries) as { [Name in keyof Of]: Optional<ValueOf<Of[Name]>> };
}

/** Text of at least one and at most this many characters. */
export function charactersMax(most: number): Check<string> {
  return (value) => {
    if (value === '') return 'must not be empty';
    return value.length > most ? `must not have more than ${most} characters` : null;
  };
}

/** `words`: the fault of other values. */
export function must<Value>(isRight: (value: Value) => boolean, words: string): Check<Value> {
  return (value) => (isRight(value) ? null : words);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checked<Value>(value: Value, checks: readonly Check<Value>[], path: Path, faults: Fault[]): Value {
  for (const check of checks) {
    const found = check(value);
    if (typeof found === 'string') faults.push({ path: [...path], message: found });
    else if (found !== null) faults.push({ path: [...path, ...found.path], message: found.message });
  }
  return value;
}

const TYPE_WORDS: Record<Schema<unknown>['type'], string> = {
  integer: 'a whole number',
  boolean: 'true or false',
  text: 'a string',
  list: 'a list',
  object: 'an object',
  any: 'present',
};

/** Adds the fault of a value of another type; `describe` is for those that the usual words do not suffice. */
export function misfit(
  type: Schema<unknown>['type'],
  value: unknown,
  path: Path,
  faults: Fault[],
  describe?: (value: unknown) => string | null,
): typeof MISFIT {
  const isQuotedNumber = type === 'integer' && typeof value === 'string' && /^\d{1,15}$/.test(value);
  const words = `must be ${TYPE_WORDS[type]}${isQuotedNumber ? ' without quotes' : ''}`;
  faults.push({ path: [...path], message: describe?.(value) ?? (value === undefined ? 'is missing' : words) });
  return MISFIT;
}
