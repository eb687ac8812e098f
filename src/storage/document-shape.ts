// Shapes of stored JSON: they read a document, and describe it for the records of its versions (test/storage/stored-shapes).
// Members that a shape does not know are kept: a later release may have written them.

/** Why a stored document cannot be read, and where in it. */
export class DocumentUnreadable extends Error {
  override name = 'DocumentUnreadable';
}

export interface Shape<Value> {
  /** Takes a value that was just parsed. Throws DocumentUnreadable. */
  read(value: unknown, place: string): Value;
  /** As a JSON schema, without further members. */
  describe(): object;
  /** Never called. It makes a shape fit exactly its type: one that lacks a word or null does not compile. */
  fits?: (value: Value) => void;
}

/** The shape of a member that documents may lack. */
export interface OptionalShape<Value> extends Shape<Value> {
  isOptional: true;
}

/** One shape fits lists that may be changed and those that may not. */
type Listed<Value> = Value extends readonly (infer One)[]
  ? number extends Value['length']
    ? readonly One[]
    : Value
  : Value;

type ShapeOf<Value> = Shape<Listed<Exclude<Value, undefined>>>;

/** Each member of the type, and no other. */
type MembersOf<Value> = {
  readonly [Name in keyof Value]-?: object extends Pick<Value, Name>
    ? ShapeOf<Value[Name]> & Pick<OptionalShape<never>, 'isOptional'>
    : ShapeOf<Value[Name]>;
};

export const text: Shape<string> = simple('string', 'a text', (value) => typeof value === 'string');
export const flag: Shape<boolean> = simple('boolean', 'true or false', (value) => typeof value === 'boolean');
export const number: Shape<number> = simple('number', 'a number', Number.isFinite);
/** A whole number, which may be negative. */
export const whole: Shape<number> = simple('integer', 'a whole number', Number.isSafeInteger);
export const anything: Shape<unknown> = { read: (value) => value, describe: () => ({}) };

function simple<Value>(type: string, words: string, is: (value: unknown) => boolean): Shape<Value> {
  return {
    read(value, place) {
      if (!is(value)) throw unlike(value, place, words);
      return value as Value;
    },
    describe: () => ({ type }),
  };
}

export function words<const Words extends readonly (string | number)[]>(...known: Words): Shape<Words[number]> {
  return {
    read(value, place) {
      if (!known.includes(value as Words[number])) throw unlike(value, place, `one of ${known.join(', ')}`);
      return value as Words[number];
    },
    describe: () => ({ enum: known }),
  };
}

export function nullable<Value>(shape: Shape<Value>): Shape<Value | null> {
  return {
    read: (value, place) => (value === null ? null : shape.read(value, place)),
    describe: () => ({ anyOf: [shape.describe(), { type: 'null' }] }),
  };
}

export function optional<Value>(shape: Shape<Value>): OptionalShape<Value> {
  return { ...shape, isOptional: true };
}

export function list<Value>(shape: Shape<Value>): Shape<readonly Value[]> {
  return {
    read(value, place) {
      if (!Array.isArray(value)) throw unlike(value, place, 'a list');
      for (let at = 0; at < value.length; at++) value[at] = shape.read(value[at], `${place}[${at}]`);
      return value;
    },
    describe: () => ({ type: 'array', items: shape.describe() }),
  };
}

/** A list whose places have meanings. The first `least` are required. */
export function tuple<Value extends readonly unknown[]>(
  shapes: { readonly [At in keyof Value]-?: ShapeOf<Value[At]> },
  least: number = shapes.length,
): Shape<Value> {
  return {
    read(value, place) {
      if (!Array.isArray(value)) throw unlike(value, place, 'a list');
      if (value.length < least) throw new DocumentUnreadable(`${placed(place)} has fewer than ${least} members`);
      const known = Math.min(value.length, shapes.length);
      for (let at = 0; at < known; at++) value[at] = shapes[at]?.read(value[at], `${place}[${at}]`);
      return value as unknown as Value;
    },
    describe: () => ({
      type: 'array',
      prefixItems: shapes.map((shape) => shape.describe()),
      items: false,
      minItems: least,
    }),
  };
}

export function map<Value>(shape: Shape<Value>): Shape<Record<string, Value>> {
  return {
    read(value, place) {
      if (!isObject(value)) throw unlike(value, place, 'an object');
      for (const name of Object.keys(value)) value[name] = shape.read(value[name], join(place, name));
      return value as Record<string, Value>;
    },
    describe: () => ({ type: 'object', additionalProperties: shape.describe() }),
  };
}

export function object<Value extends object>(members: MembersOf<Value>): Shape<Value> {
  const known = Object.entries(members) as [string, Shape<unknown> & Partial<OptionalShape<unknown>>][];
  return {
    read(value, place) {
      if (!isObject(value)) throw unlike(value, place, 'an object');
      for (const [name, { read, isOptional }] of known) {
        const member = value[name];
        if (member !== undefined) value[name] = read(member, join(place, name));
        else if (!isOptional) throw new DocumentUnreadable(`${placed(join(place, name))} is missing`);
      }
      return value as Value;
    },
    describe: () => ({
      type: 'object',
      properties: Object.fromEntries(known.map(([name, shape]) => [name, shape.describe()])),
      required: known.filter(([, { isOptional }]) => !isOptional).map(([name]) => name),
      additionalProperties: false,
    }),
  };
}

/** One of several objects, which the member `kind` tells apart. */
export function union<Value extends { kind: string }>(
  shapes: {
    readonly [Kind in Value['kind']]: Shape<Extract<Value, { kind: Kind }>>;
  },
): Shape<Value> {
  const known = Object.keys(shapes) as Value['kind'][];
  const kinds = words(...known);
  return {
    read(value, place) {
      if (!isObject(value)) throw unlike(value, place, 'an object');
      const kind = kinds.read(value['kind'], join(place, 'kind'));
      return (shapes[kind] as unknown as Shape<Value>).read(value, place);
    },
    describe: () => ({ anyOf: known.map((kind) => shapes[kind].describe()) }),
  };
}

/** Throws DocumentUnreadable. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new DocumentUnreadable('it is not JSON');
  }
}

/** The members of a parsed value; none if it is no object. */
export function membersOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function join(place: string, name: string): string {
  return place === '' ? name : `${place}.${name}`;
}

function placed(place: string): string {
  return place === '' ? 'it' : place;
}

const SHOWN_CHARACTERS_MAX = 40;

function unlike(value: unknown, place: string, words: string): DocumentUnreadable {
  const shown = typeof value === 'string' ? `, but "${value.slice(0, SHOWN_CHARACTERS_MAX)}"` : '';
  return new DocumentUnreadable(`${placed(place)} is not ${words}${shown}`);
}
