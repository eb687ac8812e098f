// Schemas of tools and answers within the rules of a provider. Keys keep their order, which prompt caches need.

import { bounds } from '../config.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../wire/wire.ts';
import type { RequestRules } from './request-rules.ts';

/** Bounds the parts of all schemas of a request that are read: references can multiply them. */
export interface NodeBudget {
  left: number;
}

export function makeNodeBudget(): NodeBudget {
  return { left: bounds.requestSchemaNodesMax };
}

/** With the members that the schema of a function must have, and without keywords that its top may not have. */
export function completeSchema(
  schema: JsonObject,
  { notAtTop }: Pick<RequestRules, 'notAtTop'>,
  nodes: NodeBudget,
): JsonObject {
  const joined = notAtTop.some((keyword) => keyword in schema) ? joinTop(schema, notAtTop, nodes) : schema;
  const typed = 'type' in joined ? joined : { type: 'object', ...joined };
  return isJsonObject(typed['properties']) ? typed : { ...typed, properties: {} };
}

/** One object with the properties of all variants. It requires what each variant requires. */
function joinTop(schema: JsonObject, notAtTop: readonly string[], nodes: NodeBudget): JsonObject {
  const { properties, required } = new VariantReader(schema, nodes).read(schema, 0);
  const rest = Object.entries(schema).filter(([name]) => !notAtTop.includes(name) && name !== 'required');
  return {
    ...Object.fromEntries(rest),
    type: 'object',
    // By entries, because a property may have any name, including "__proto__".
    properties: Object.fromEntries([...properties].map(([name, forms]) => [name, joinForms(forms)])),
    ...(required.size > 0 && { required: [...required] }),
  };
}

interface Members {
  /** The different forms of each property. */
  properties: Map<string, Set<JsonValue>>;
  required: ReadonlySet<JsonValue>;
}

const NOTHING: Members = { properties: new Map(), required: new Set() };

/** Variants may be references, many of them to one definition: each is read once. */
class VariantReader {
  readonly #root: JsonObject;
  readonly #budget: NodeBudget;
  /** By reference. */
  readonly #definitions = new Map<string, Members>();

  constructor(root: JsonObject, budget: NodeBudget) {
    this.#root = root;
    this.#budget = budget;
  }

  read(schema: JsonObject, depth: number): Members {
    if (--this.#budget.left < 0 || depth > bounds.schemaDepthMax) return NOTHING;
    const { properties: own, required: demanded, $ref: reference } = schema;
    const properties: Members['properties'] = new Map();
    const required = new Set<JsonValue>(Array.isArray(demanded) ? demanded : []);
    if (isJsonObject(own))
      this.#add(
        properties,
        new Set(),
        Object.entries(own).map(([name, form]) => [name, [form]]),
      );
    const parts = jsonObjects(schema['allOf']).map((part) => this.read(part, depth + 1));
    if (typeof reference === 'string') parts.push(this.#follow(reference, depth));
    for (const part of parts) {
      this.#add(properties, new Set(properties.keys()), part.properties);
      for (const name of part.required) required.add(name);
    }
    const common = new Set(properties.keys());
    for (const keyword of ['anyOf', 'oneOf']) {
      const variants = jsonObjects(schema[keyword]).map((variant) => this.read(variant, depth + 1));
      for (const variant of variants) this.#add(properties, common, variant.properties);
      const [first, ...others] = variants;
      for (const name of first?.required ?? [])
        if (others.every((variant) => variant.required.has(name))) required.add(name);
    }
    return { properties, required };
  }

  /** A definition that leads to itself adds nothing. */
  #follow(reference: string, depth: number): Members {
    const known = this.#definitions.get(reference);
    if (known !== undefined) return known;
    this.#definitions.set(reference, NOTHING);
    const members = this.read(findDefinition(this.#root, reference), depth + 1);
    this.#definitions.set(reference, members);
    return members;
  }

  #add(
    properties: Members['properties'],
    taken: ReadonlySet<string>,
    more: Iterable<readonly [name: string, forms: Iterable<JsonValue>]>,
  ): void {
    for (const [name, forms] of more) {
      if (this.#budget.left < 0) return;
      if (taken.has(name)) continue;
      const known = properties.get(name) ?? new Set();
      for (const form of forms) if (--this.#budget.left >= 0) known.add(form);
      properties.set(name, known);
    }
  }
}

/** A property that the variants describe differently may have any of its forms. */
function joinForms(forms: ReadonlySet<JsonValue>): JsonValue {
  const different = new Map([...forms].map((form) => [forms.size > 1 ? JSON.stringify(form) : '', form]));
  const [only, ...others] = different.values();
  return only === undefined || others.length === 0 ? (only ?? {}) : { anyOf: [only, ...others] };
}

/** A definition within the schema; an invalid or external reference leads to nothing. */
export function findDefinition(root: JsonObject, reference: string): JsonObject {
  if (!reference.startsWith('#')) return {};
  let found: JsonValue | undefined = root;
  const parts = reference.slice(1).split('/');
  for (const name of parts.filter((part) => part !== '').map(decodePointer)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return {};
    found = (found as JsonObject)[name];
  }
  return isJsonObject(found) ? found : {};
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part; // an invalid percent-encoding
  }
}

const SCHEMAS = ['items', 'additionalProperties'];
const LISTS = ['anyOf', 'allOf'];
const BY_NAME = ['properties', '$defs', 'definitions'];

/** A schema that is enforced: objects are closed, and what cannot be enforced is said in descriptions. */
export function limitSchema(schema: JsonObject, rules: Pick<RequestRules, 'notEnforced' | 'formats'>): JsonObject {
  const told: JsonObject = {};
  const kept = Object.entries(schema).filter(([name, value]) => {
    const isKept = isEnforced(name, value, rules);
    if (!isKept) told[name] = value;
    return isKept;
  });
  const made: JsonObject = Object.fromEntries(kept.map(([name, value]) => [name, limitMember(name, value, rules)]));
  const { oneOf, additionalProperties, ...rest } = made;
  const isObject = rest['type'] === 'object' || isJsonObject(rest['properties']);
  if (additionalProperties !== undefined && additionalProperties !== false && isObject)
    told['additionalProperties'] = schema['additionalProperties'] as JsonValue;
  return {
    ...rest,
    ...(Array.isArray(oneOf) && { anyOf: [...(Array.isArray(rest['anyOf']) ? rest['anyOf'] : []), ...oneOf] }),
    ...(isObject && { additionalProperties: false }),
    ...describe(schema['description'], told),
  };
}

function isEnforced(name: string, value: JsonValue, { notEnforced, formats }: Parameters<typeof limitSchema>[1]) {
  if (name === 'minItems') return value === 0 || value === 1;
  if (name === 'format') return typeof value === 'string' && formats.includes(value);
  return !notEnforced.includes(name);
}

function limitMember(name: string, value: JsonValue, rules: Parameters<typeof limitSchema>[1]): JsonValue {
  const limit = (one: JsonValue) => (isSchema(one) ? limitSchema(one, rules) : one);
  if (SCHEMAS.includes(name)) return limit(value);
  if ((LISTS.includes(name) || name === 'oneOf') && Array.isArray(value)) return value.map(limit);
  if (!BY_NAME.includes(name) || !isSchema(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, limit(part)]));
}

/** A number kept with all its digits is an object without a prototype. */
function isSchema(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.getPrototypeOf(value) !== null;
}

function describe(description: JsonValue | undefined, told: JsonObject): JsonObject {
  const words = Object.entries(told).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  if (words.length === 0) return {};
  const said = typeof description === 'string' && description !== '' ? [description] : [];
  return { description: [...said, `(${words.join(', ')})`].join(' ') };
}

const UNSUPPORTED_KEYWORDS = 'allOf dependentRequired dependentSchemas else if not oneOf patternProperties then'.split(
  ' ',
);
const TYPE_KEYWORDS = ['$ref', 'anyOf', 'const', 'enum', 'type'];

/** Whether OpenAI takes the schema as strict. The request parser bounds its depth. */
export function isStrictSchema(schema: JsonObject): boolean {
  return schema['type'] === 'object' && isStrict(schema);
}

function isStrict(schema: JsonValue | undefined): boolean {
  if (!isJsonObject(schema) || UNSUPPORTED_KEYWORDS.some((word) => word in schema)) return false;
  const { items, anyOf, $defs, definitions } = schema;
  return (
    TYPE_KEYWORDS.some((word) => word in schema) &&
    hasStrictMembers(schema) &&
    (items === undefined || isStrict(items)) &&
    (anyOf === undefined || (Array.isArray(anyOf) && anyOf.every(isStrict))) &&
    [$defs, definitions].every((schemas) => !isJsonObject(schemas) || Object.values(schemas).every(isStrict))
  );
}

function hasStrictMembers({ type, properties, required, additionalProperties }: JsonObject): boolean {
  const isObject = type === 'object' || (Array.isArray(type) && type.includes('object')) || properties !== undefined;
  if (!isObject) return true;
  if (additionalProperties !== false || !isJsonObject(properties)) return false;
  const names = Array.isArray(required) ? required : [];
  return Object.entries(properties).every(([name, member]) => names.includes(name) && isStrict(member));
}
