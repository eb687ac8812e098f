// Properties of tools whose names Claude refuses: they get other names there, and the client's again in its calls.

import { bounds } from '../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../wire/wire.ts';
import { gatherTools } from './client-tools.ts';
import { REQUEST_RULES } from './request-rules.ts';
import { completeSchema, makeNodeBudget } from './tool-schemas.ts';

/** Names of properties, from one side's to the other's. */
export type PropertyNames = ReadonlyMap<string, string>;

const NO_PROPERTIES: PropertyNames = new Map();

const RULES = REQUEST_RULES.anthropic;
const NAME_CHARACTERS_MAX = 64;
const ENDING_CHARACTERS_MAX = 8;
/** Such a schema has its own properties further inside, under the names that the client gave them. */
const REFERS_TO_ITSELF = /"\$ref":"#(?:"|\/"|\/properties)/;

/**
 * The names at the provider by those of the client: readable, unique in the tool, the same for the same schema, and no
 * longer, because the prompt was measured with the others. Empty if none is refused, and for a schema in which they cannot
 * be replaced.
 */
function replaceProperties({ properties }: JsonObject, schema: JsonObject): PropertyNames {
  if (!isJsonObject(properties)) return NO_PROPERTIES;
  const names = Object.keys(properties);
  const wrong = names.filter((name) => !RULES.propertyName.test(name));
  if (wrong.length === 0 || wrong.some(isTooLong) || REFERS_TO_ITSELF.test(JSON.stringify(schema)))
    return NO_PROPERTIES;
  const used = new Set(names);
  const lastOf = new Map<string, number>();
  const replacements = new Map<string, string>();
  for (const name of wrong) {
    const replacement = freeName(name, used, lastOf);
    if (replacement === null) return NO_PROPERTIES;
    used.add(replacement);
    replacements.set(name, replacement);
  }
  return replacements;
}

/** An answer may repeat it in each call. */
function isTooLong(name: string): boolean {
  return JSON.stringify(name).length - 2 > bounds.replacedPropertyCharactersMax;
}

/** A name with at most as many bytes. `lastOf` has the last number of names that begin alike. null: all are used. */
function freeName(name: string, used: ReadonlySet<string>, lastOf: Map<string, number>): string | null {
  const charactersMax = Math.min(NAME_CHARACTERS_MAX, Buffer.byteLength(name));
  if (charactersMax === 0) return null;
  const plain = name.replaceAll(/[^\w.-]/g, '_').slice(0, charactersMax);
  const beginning = plain.slice(0, Math.max(0, charactersMax - ENDING_CHARACTERS_MAX));
  let free = plain;
  let last = lastOf.get(beginning) ?? 1;
  while (used.has(free)) {
    const number = (++last).toString(36);
    const ending = number.length < charactersMax ? `_${number}` : number;
    if (ending.length > charactersMax) return null;
    free = plain.slice(0, charactersMax - ending.length) + ending;
  }
  lastOf.set(beginning, last);
  return free;
}

/** The schema with these names at its top. */
export function renameProperties(schema: JsonObject, names: PropertyNames): JsonObject {
  if (names.size === 0) return schema;
  const { properties, required, dependentRequired, dependentSchemas } = schema;
  const described = Object.entries(objectOf(properties)).map(([name, part]) => [name, readable(name, part, names)]);
  const renameList = (list: JsonValue | undefined): JsonValue[] =>
    (Array.isArray(list) ? list : []).map((name) => names.get(textOf(name)) ?? name);
  return {
    ...schema,
    properties: renameKeys(Object.fromEntries(described), names),
    ...(Array.isArray(required) && { required: renameList(required) }),
    ...(isJsonObject(dependentRequired) && {
      dependentRequired: renameKeys(
        Object.fromEntries(Object.entries(dependentRequired).map(([name, list]) => [name, renameList(list)])),
        names,
      ),
    }),
    ...(isJsonObject(dependentSchemas) && { dependentSchemas: renameKeys(dependentSchemas, names) }),
  };
}

/** The property, whose description begins with its name if the replaced one has none of its letters, as in Chinese. */
function readable(name: string, part: JsonValue, names: PropertyNames): JsonValue {
  if (!names.has(name) || !isUnreadable(name) || !isJsonObject(part)) return part;
  const { description } = part;
  return { ...part, description: typeof description === 'string' ? `${name}: ${description}` : name };
}

function isUnreadable(name: string): boolean {
  return !/[A-Za-z0-9]/.test(name);
}

/** By entries, because a property may have any name, including "__proto__". */
export function renameKeys(object: JsonObject, names: PropertyNames): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]));
}

/** Replaced names of one tool. */
interface Replaced {
  /** The names at the provider by those of the client. */
  sent: PropertyNames;
  /** The names of the client by those at the provider. */
  own: PropertyNames;
}

/** By the client's tool name. Tools without replaced names are missing. */
export type ReplacedProperties = ReadonlyMap<string, Replaced>;

export const NONE_REPLACED: ReplacedProperties = new Map();

const kept = new WeakMap<JsonObject, ReplacedProperties>();

/** The replaced names in the tools of a request. */
export function replacedProperties(body: JsonObject): ReplacedProperties {
  const known = kept.get(body);
  if (known !== undefined) return known;
  const nodes = makeNodeBudget();
  const replaced = new Map<string, Replaced>();
  for (const { tool } of gatherTools(body)) {
    const { name, input_schema: schema } = tool;
    if (!isJsonObject(schema)) continue;
    // As it is sent, but for what does not concern names.
    const sent = replaceProperties(completeSchema(schema, { ...RULES, isDraft2020: false }, nodes), schema);
    if (sent.size > 0)
      replaced.set(textOf(name), { sent, own: new Map([...sent].map(([own, other]) => [other, own])) });
  }
  kept.set(body, replaced);
  return replaced;
}

const DESCRIPTION_BYTES = ',"description":'.length;

/** The most bytes by which the descriptions of replaced names make a prompt longer than it was measured. */
export function describedNamesBytes(body: JsonObject): number {
  const replaced = replacedProperties(body);
  if (replaced.size === 0) return 0;
  const bytesOf = new Map<string, number>();
  for (const [tool, { sent }] of replaced) {
    let bytes = 0;
    for (const name of sent.keys())
      if (isUnreadable(name)) bytes += DESCRIPTION_BYTES + Buffer.byteLength(JSON.stringify(name));
    bytesOf.set(tool, bytes);
  }
  return gatherTools(body).reduce((sum, { tool }) => sum + (bytesOf.get(textOf(tool['name'])) ?? 0), 0);
}

const KEY_CHARACTERS_MAX = 6 * NAME_CHARACTERS_MAX + 2; // each may be written as \uXXXX

/** Renames the keys at the top of an object whose JSON comes in pieces. Only a key that is not complete is held back. */
export class KeyRenamer {
  readonly #names: PropertyNames;
  #depth = 0;
  #isObject = false; // the value at the top
  #isKeyNext = false;
  #isText = false;
  #isEscaped = false;
  /** The beginning of a key with its quote; null: what comes is passed on. */
  #key: string | null = null;

  constructor(names: PropertyNames) {
    this.#names = names;
  }

  /** The next piece; empty while a key is incomplete. */
  push(piece: string): string {
    let out = '';
    for (const character of piece) {
      const isInKey = this.#key !== null || (!this.#isText && character === '"' && this.#isAtKey());
      this.#read(character);
      if (!isInKey) {
        out += character;
        continue;
      }
      this.#key = (this.#key ?? '') + character;
      if (!this.#isText) out += this.#renamed(this.#key);
      else if (this.#key.length > KEY_CHARACTERS_MAX) out += this.#key;
      else continue;
      this.#key = null;
    }
    return out;
  }

  /** The rest, if the JSON ended within a key. */
  end(): string {
    const rest = this.#key ?? '';
    this.#key = null;
    return rest;
  }

  #isAtKey(): boolean {
    return this.#depth === 1 && this.#isObject && this.#isKeyNext;
  }

  #read(character: string): void {
    if (this.#isText) {
      if (this.#isEscaped) this.#isEscaped = false;
      else if (character === '\\') this.#isEscaped = true;
      else if (character === '"') this.#isText = false;
      return;
    }
    switch (character) {
      case '"':
        this.#isText = true;
        break;
      case '{':
      case '[':
        if (this.#depth++ === 0) this.#isObject = character === '{';
        this.#isKeyNext = true;
        break;
      case '}':
      case ']':
        this.#depth--;
        this.#isKeyNext = false;
        break;
      case ',':
        this.#isKeyNext = true;
        break;
      case ':':
        this.#isKeyNext = false;
    }
  }

  #renamed(json: string): string {
    try {
      const name = this.#names.get(JSON.parse(json));
      return name === undefined ? json : JSON.stringify(name);
    } catch {
      return json; // not valid JSON, as of a broken model
    }
  }
}
