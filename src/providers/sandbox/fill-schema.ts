// Makes a simple value for a JSON schema, the same each time: the required members, the first alternative, the shortest
// lists. Keywords that only restrict values further, such as patterns, are ignored.

import { bounds } from '../../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../wire/wire.ts';

/** null if it is recursive without an end, or its value would be too large. */
export function fillSchema(schema: JsonObject): JsonValue {
  return new Filler(schema).fill([schema], START) ?? null;
}

/** The arguments of a call; none where the schema has no value, or another than an object. */
export function fillArguments(schema: JsonObject): JsonObject {
  return objectOf(new Filler(schema).fill([schema, { type: 'object' }], START));
}

interface Place {
  depth: number;
  /** References to the values around this one. The root is around all. */
  around: ReadonlySet<string>;
  /** Lists of alternatives of which one was taken for this value. */
  taken: readonly JsonValue[];
}

const TYPES_MAX = 7; // the six of JSON, and integers
const START: Place = { depth: 0, around: new Set(['#']), taken: [] };

/** A value has all schemas of a list. undefined: recursive without an end, or too large. */
class Filler {
  readonly #root: JsonObject;
  #stepsLeft: number = bounds.sandboxSchemaStepsMax;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  fill(given: readonly JsonValue[], place: Place): JsonValue | undefined {
    if (place.depth > bounds.sandboxSchemaDepthMax || !this.#spend(1 + place.around.size)) return undefined;
    const found = this.#expand(given, place.around);
    if (found === undefined) return undefined;
    const { schemas, references } = found;
    const depth = place.depth + 1;
    const lists = schemas.flatMap(({ anyOf, oneOf }) => [listOf(anyOf), listOf(oneOf)]);
    const alternatives = lists.find((list) => list.length > 0 && !place.taken.includes(list));
    if (alternatives === undefined) return this.#make(schemas, { depth, around: references, taken: [] });
    const taken = [...place.taken, alternatives];
    for (const alternative of alternatives) {
      if (!this.#spend(1 + given.length)) return undefined; // the list is copied
      const value = this.fill([...given, alternative], { ...place, depth, taken });
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #spend(steps: number): boolean {
    this.#stepsLeft -= steps;
    return this.#stepsLeft >= 0;
  }

  /** The schemas with those that they refer to or consist of, and all references. */
  #expand(given: readonly JsonValue[], around: ReadonlySet<string>) {
    const schemas: JsonObject[] = [];
    const references = new Set(around);
    const open = [...given];
    for (const schema of open) {
      const { $ref: reference, allOf, required } = objectOf(schema);
      if (!this.#spend(1 + listOf(allOf).length + listOf(required).length)) return undefined;
      if (isJsonObject(schema)) schemas.push(schema);
      for (const part of listOf(allOf)) open.push(part);
      if (typeof reference !== 'string') continue;
      if (around.has(reference) || !this.#spend(reference.length)) return undefined;
      if (!references.has(reference)) open.push(resolve(this.#root, reference));
      references.add(reference);
    }
    return { schemas, references };
  }

  #make(schemas: readonly JsonObject[], place: Place): JsonValue | undefined {
    const fixed = schemas.map((schema) => ('const' in schema ? schema['const'] : listOf(schema['enum'])[0]));
    const value = fixed.find((one) => one !== undefined);
    if (value !== undefined) return this.#spend(JSON.stringify(value).length) ? value : undefined;
    switch (typeOf(schemas)) {
      case 'object':
        return this.#makeObject(schemas, place);
      case 'array':
        return this.#makeArray(schemas, place);
      case 'integer':
      case 'number':
        return Math.ceil(largest(schemas, 'minimum', 1));
      case 'boolean':
        return true;
      case 'null':
        return null;
      default:
        return this.#makeText(schemas);
    }
  }

  #makeText(schemas: readonly JsonObject[]): string | undefined {
    const length = largest(schemas, 'minLength', 0);
    if (!this.#spend(length)) return undefined;
    const sample = schemas.map(({ format }) => SAMPLES.get(format)).find((text) => text !== undefined);
    return sample ?? 'text'.padEnd(length, 'text');
  }

  #makeObject(schemas: readonly JsonObject[], place: Place): JsonObject | undefined {
    const members: [string, JsonValue][] = [];
    for (const name of new Set(schemas.flatMap(({ required }) => listOf(required)))) {
      if (typeof name !== 'string') continue;
      if (!this.#spend(schemas.length)) return undefined;
      const own = schemas.map(({ properties }) => ownMember(properties, name)).filter((one) => one !== undefined);
      const others = schemas.map((schema) => schema['additionalProperties']).filter((one) => one !== undefined);
      const member = this.fill(own.length > 0 ? own : others, place);
      if (member === undefined) return undefined;
      members.push([name, member]);
    }
    return Object.fromEntries(members);
  }

  /** One item, or as many as are required. */
  #makeArray(schemas: readonly JsonObject[], place: Place): JsonValue[] | undefined {
    const items = schemas.map((schema) => schema['items']).filter((one) => one !== undefined);
    const least = largest(schemas, 'minItems', 0);
    const values: JsonValue[] = [];
    while (values.length < Math.max(least, items.length > 0 ? 1 : 0)) {
      const value = this.fill(items, place);
      if (value === undefined) return values.length < least ? undefined : values;
      values.push(value);
    }
    return values;
  }
}

/** The target of a local reference. A reference to anything else allows any value. */
function resolve(root: JsonObject, reference: string): JsonValue {
  if (!/^#(?:\/|$)/.test(reference)) return true;
  let found: JsonValue | undefined = root;
  for (const part of reference.split('/').slice(1))
    found = ownMember(found, part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return found ?? true;
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function ownMember(value: JsonValue | undefined, name: string): JsonValue | undefined {
  const isOwn = typeof value === 'object' && value !== null && Object.hasOwn(value, name);
  return isOwn ? (value as JsonObject)[name] : undefined;
}

/** The first type that is named, null last; without any, the type that their keywords are for. */
function typeOf(schemas: readonly JsonObject[]): JsonValue | undefined {
  const types = schemas.flatMap(({ type }) => (Array.isArray(type) ? type.slice(0, TYPES_MAX) : (type ?? [])));
  if (types.length > 0) return types.find((type) => type !== 'null') ?? 'null';
  if (schemas.some(({ properties, required }) => properties !== undefined || required !== undefined)) return 'object';
  return schemas.some(({ items }) => items !== undefined) ? 'array' : 'string';
}

function largest(schemas: readonly JsonObject[], keyword: string, least: number): number {
  const values = schemas.map((schema) => schema[keyword]).filter((value) => typeof value === 'number');
  return values.reduce((most, value) => Math.max(most, value), least);
}

/** The formats of structured outputs at OpenAI and Anthropic. */
const SAMPLES: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['date-time', '2026-01-01T00:00:00Z'],
  ['date', '2026-01-01'],
  ['time', '00:00:00Z'],
  ['duration', 'P1D'],
  ['email', 'user@example.com'],
  ['hostname', 'example.com'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['uri', 'https://example.com/'],
  ['uuid', '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'],
]);
