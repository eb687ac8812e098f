// Converts a JSON Schema to the schema of Gemini's functions, a small subset: resolves references, converts members with
// an equivalent, and drops the rest, which only narrows values. Gemini refuses a request for one unknown member.

import { bounds } from '../../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { REQUEST_RULES } from '../request-rules.ts';
import { completeSchema, findDefinition, makeNodeBudget, type NodeBudget } from '../tool-schemas.ts';

/** Members with the same meaning, by the types that may have them. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  ARRAY: ['minItems', 'maxItems'],
  OBJECT: ['minProperties', 'maxProperties'],
  STRING: ['minLength', 'maxLength', 'pattern'],
  INTEGER: ['minimum', 'maximum'],
  NUMBER: ['minimum', 'maximum'],
};
const KEPT_FORMATS: Readonly<Record<string, readonly string[]>> = {
  STRING: ['date-time'],
  INTEGER: ['int32', 'int64'],
  NUMBER: ['float', 'double'],
};
const TYPES: readonly string[] = ['STRING', 'NUMBER', 'INTEGER', 'BOOLEAN', 'ARRAY', 'OBJECT'];
const ANYTHING: readonly JsonObject[] = ['STRING', 'NUMBER', 'BOOLEAN', 'OBJECT'].map((type) => ({ type }));
const OPEN_OBJECT: JsonObject = { type: 'OBJECT' };

/** null for a function without parameters: an object without properties is refused at the top level. */
export function cleanSchema(schema: JsonObject, nodes: NodeBudget = makeNodeBudget()): JsonObject | null {
  const joined = completeSchema(schema, REQUEST_RULES.gemini, nodes);
  const cleaned = new SchemaCleaner(joined, nodes).clean({ ...joined, type: 'object' }, []);
  return isJsonObject(cleaned['properties']) ? cleaned : null;
}

class SchemaCleaner {
  readonly #root: JsonObject;
  readonly #budget: NodeBudget;
  #nodes = 0;
  /** By reference. */
  readonly #characters = new Map<string, number>();

  constructor(root: JsonObject, budget: NodeBudget) {
    this.#root = root;
    this.#budget = budget;
  }

  /** Whether this many more parts exceed the bound. */
  #isTooMuch(nodes: number): boolean {
    this.#nodes += nodes;
    this.#budget.left -= nodes;
    return this.#nodes > bounds.schemaNodesMax || this.#budget.left < 0;
  }

  /** `path` are the references that lead here: a repeated one would be endless. */
  clean(value: JsonValue | undefined, path: readonly string[], depth = 0): JsonObject {
    if (this.#isTooMuch(1) || depth > bounds.schemaDepthMax) return OPEN_OBJECT;
    if (!isJsonObject(value)) return anything(undefined);
    const reference = value['$ref'];
    if (typeof reference === 'string') {
      if (path.includes(reference)) return { ...OPEN_OBJECT, ...described(value) };
      const { $ref: _, ...beside } = value;
      return this.clean({ ...this.#resolve(reference), ...beside }, [...path, reference], depth);
    }
    const schema = this.#merged(value, path);
    if (schema['$ref'] !== undefined) return this.clean(schema, path, depth);
    const { types, isNullable } = typesOf(schema);
    const cleaned = this.#choose(schema, types, path, depth);
    return isNullable ? nullable(cleaned) : cleaned;
  }

  #choose(schema: JsonObject, types: readonly string[], path: readonly string[], depth: number): JsonObject {
    const choices = [...jsonObjects(schema['anyOf']), ...jsonObjects(schema['oneOf'])];
    if (choices.length > 0 && !isJsonObject(schema['properties'])) {
      const [type] = types;
      const common = type === undefined ? {} : { type: type.toLowerCase(), ...limits(schema, type) };
      const variants = choices.map((choice) => ({ ...common, ...choice }));
      return this.#oneOf(schema, variants, path, depth);
    }
    if (types.length === 0) return anything(schema);
    const cleaned = types.map((type) => this.#typed(schema, type, path, depth));
    return cleaned.length === 1 ? { ...cleaned[0], ...described(schema) } : anyOf(cleaned, schema);
  }

  /** Beside a choice nothing else is allowed: common members are repeated in each variant. */
  #oneOf(schema: JsonObject, choices: readonly JsonObject[], path: readonly string[], depth: number): JsonObject {
    const isNull = (choice: JsonObject) => choice['type'] === 'null' || choice['const'] === null;
    const cleaned = choices.filter((choice) => !isNull(choice)).map((choice) => this.clean(choice, path, depth + 1));
    const flat = cleaned.flatMap((choice) => (choice['anyOf'] ? jsonObjects(choice['anyOf']) : [choice]));
    const joined = flat.length === 0 ? anything(schema) : anyOf(joinEnums(flat), schema);
    return choices.some(isNull) ? nullable(joined) : joined;
  }

  #typed(schema: JsonObject, type: string, path: readonly string[], depth: number): JsonObject {
    const cleaned: JsonObject = { type, ...limits(schema, type), ...choicesOf(schema, type) };
    if (type === 'ARRAY') cleaned['items'] = this.#items(schema, path, depth);
    if (type !== 'OBJECT' || !isJsonObject(schema['properties'])) return cleaned;
    const names = Object.keys(schema['properties']);
    if (names.length === 0) return cleaned;
    const properties = schema['properties'];
    // By entries, because a property may have any name, including "__proto__".
    const entries = names.map((name) => [name, this.clean(properties[name], path, depth + 1)]);
    cleaned['properties'] = Object.fromEntries(entries);
    const required = Array.isArray(schema['required']) ? schema['required'] : [];
    const known = required.filter((name) => Object.hasOwn(properties, String(name)));
    if (known.length > 0) cleaned['required'] = known;
    return cleaned;
  }

  /** Tuple items have no equivalent: each item may be any of them. */
  #items(schema: JsonObject, path: readonly string[], depth: number): JsonObject {
    const { items, prefixItems } = schema;
    const placed = [...jsonObjects(prefixItems), ...jsonObjects(items)];
    if (placed.length === 0) return this.clean(items, path, depth + 1);
    const all = isJsonObject(items) ? [...placed, items] : placed;
    return this.#oneOf({}, all, path, depth);
  }

  #merged(schema: JsonObject, path: readonly string[]): JsonObject {
    if (!Array.isArray(schema['allOf'])) return schema;
    const { allOf, ...own } = schema;
    let merged: JsonObject = own;
    for (const part of jsonObjects(allOf)) merged = mergeSchemas(merged, this.#open(part, path));
    return merged;
  }

  #open(part: JsonObject, path: readonly string[]): JsonObject {
    const reference = part['$ref'];
    if (typeof reference !== 'string' || path.includes(reference)) return this.#merged(withoutReference(part), path);
    if (this.#isTooMuch(1) || path.length > bounds.schemaDepthMax) return {};
    return this.#open({ ...this.#resolve(reference), ...withoutReference(part) }, [...path, reference]);
  }

  /** All members of a definition, such as its description, are sent again for each reference. */
  #resolve(reference: string): JsonObject {
    const found = findDefinition(this.#root, reference);
    const characters = this.#characters.get(reference) ?? ownCharacters(found);
    this.#characters.set(reference, characters);
    return this.#isTooMuch(Math.floor(characters / CHARACTERS_PER_NODE)) ? {} : found;
  }
}

const CHARACTERS_PER_NODE = 64;

/** Characters of the members that are copied as they are: texts, and lists of values. */
function ownCharacters(schema: JsonObject): number {
  const { description, title, enum: values, const: only, required, pattern } = schema;
  const copied = [description, title, values, only, required, pattern].filter((member) => member !== undefined);
  return copied.length === 0 ? 0 : JSON.stringify(copied).length;
}

function withoutReference({ $ref: _, ...schema }: JsonObject): JsonObject {
  return schema;
}

function mergeSchemas(one: JsonObject, other: JsonObject): JsonObject {
  const merged: JsonObject = { ...other, ...one };
  for (const name of ['properties', '$defs', 'definitions']) {
    if (isJsonObject(one[name]) && isJsonObject(other[name])) merged[name] = { ...other[name], ...one[name] };
  }
  if (Array.isArray(one['required']) && Array.isArray(other['required']))
    merged['required'] = [...new Set([...one['required'], ...other['required']])];
  return merged;
}

/** The types in capitals, without "null", which is separate; empty if unspecified. */
function typesOf(schema: JsonObject): { types: string[]; isNullable: boolean } {
  const { type, enum: values } = schema;
  const named = (Array.isArray(type) ? type : [type]).filter((name) => typeof name === 'string');
  const types = named.map((name) => name.toUpperCase()).filter((name) => TYPES.includes(name));
  const hasNull = named.some((name) => name.toLowerCase() === 'null') || schema['nullable'] === true;
  const isNullable = hasNull || (Array.isArray(values) && values.includes(null));
  return { types: types.length > 0 ? [...new Set(types)] : inferTypes(schema), isNullable };
}

function inferTypes(schema: JsonObject): string[] {
  if (isJsonObject(schema['properties'])) return ['OBJECT'];
  if (schema['items'] !== undefined || schema['prefixItems'] !== undefined) return ['ARRAY'];
  return [...new Set(valuesOf(schema).map(typeOfValue))];
}

function typeOfValue(value: JsonValue): string {
  if (typeof value === 'number') return Number.isInteger(value) ? 'INTEGER' : 'NUMBER';
  return Array.isArray(value) ? 'ARRAY' : (typeof value).toUpperCase();
}

/** The values other than null to which the schema is limited. */
function valuesOf({ const: only, enum: several }: JsonObject): JsonValue[] {
  const values = only !== undefined ? [only] : Array.isArray(several) ? several : [];
  return values.filter((value) => value !== null);
}

/** Enums may contain only non-empty texts; other values go into the description. */
function choicesOf(schema: JsonObject, type: string): JsonObject {
  const values = valuesOf(schema);
  return type === 'STRING' && values.length > 0 && values.every(isListed) ? { enum: [...new Set(values)] } : {};
}

function isListed(value: JsonValue): boolean {
  return typeof value === 'string' && value !== '';
}

function described(schema: JsonObject): JsonObject {
  const { title, description } = schema;
  const values = valuesOf(schema);
  const words = typeof description === 'string' && description !== '' ? [description] : [];
  if (!values.every(isListed)) words.push(`One of: ${values.map((value) => JSON.stringify(value)).join(', ')}`);
  return {
    ...(typeof title === 'string' && title !== '' && { title }),
    ...(words.length > 0 && { description: words.join(' ') }),
  };
}

function limits(schema: JsonObject, type: string): JsonObject {
  const kept = Object.fromEntries(
    (KEPT[type] ?? []).filter((name) => schema[name] !== undefined).map((name) => [name, schema[name] as JsonValue]),
  );
  const { format, exclusiveMinimum, exclusiveMaximum } = schema;
  const step = type === 'INTEGER' ? 1 : 0;
  if (KEPT[type]?.includes('minimum') === true) {
    if (typeof exclusiveMinimum === 'number') kept['minimum'] ??= exclusiveMinimum + step;
    if (typeof exclusiveMaximum === 'number') kept['maximum'] ??= exclusiveMaximum - step;
  }
  if (typeof format === 'string' && KEPT_FORMATS[type]?.includes(format) === true) kept['format'] = format;
  return kept;
}

function anything(schema: JsonObject | undefined): JsonObject {
  return anyOf(ANYTHING, schema ?? {});
}

function anyOf(choices: readonly JsonObject[], schema: JsonObject): JsonObject {
  const words = described(schema);
  const [first] = choices;
  if (choices.length === 1) return { ...first, ...words };
  return { anyOf: choices.map((choice) => ({ ...words, ...choice })) };
}

function joinEnums(choices: readonly JsonObject[]): JsonObject[] {
  const isPlainList = (choice: JsonObject) =>
    Array.isArray(choice['enum']) && Object.keys(choice).every((name) => name === 'type' || name === 'enum');
  const lists = choices.filter(isPlainList);
  if (lists.length < 2) return [...choices];
  const texts = [...new Set(lists.flatMap((choice) => choice['enum'] as JsonValue[]))];
  return [{ type: 'STRING', enum: texts }, ...choices.filter((choice) => !isPlainList(choice))];
}

function nullable(schema: JsonObject): JsonObject {
  const choices = schema['anyOf'];
  if (!Array.isArray(choices)) return { ...schema, nullable: true };
  return { anyOf: jsonObjects(choices).map((choice) => ({ ...choice, nullable: true })) };
}
