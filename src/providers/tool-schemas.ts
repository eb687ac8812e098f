// Schemas of tools and answers within the rules of a provider. Keys keep their order, which prompt caches need.

import { bounds } from '../config/config.ts';
import { isExactObject } from '../protocols/placed.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../wire/wire.ts';
import { refuseField } from './lost-fields.ts';
import type { RequestRules } from './request-rules.ts';

/** Bounds the parts of all schemas of a request that are read: references can multiply them. */
export interface NodeBudget {
  left: number;
}

export function makeNodeBudget(): NodeBudget {
  return { left: bounds.requestSchemaNodesMax };
}

/**
 * The schema of a function within the rules: an object at the top, without the keywords that its top may not have. What is
 * sent is no longer than what was given, because it was measured as given.
 */
export function completeSchema(schema: JsonObject, rules: TopRules, nodes: NodeBudget): JsonObject {
  const object = asObject(rules.isDraft2020 ? modernSchema(schema) : schema);
  const joined = rules.notAtTop.some((keyword) => keyword in object) ? joinTop(object, rules.notAtTop, nodes) : object;
  return isJsonObject(joined['properties']) ? joined : { ...joined, properties: {} };
}

type TopRules = Pick<RequestRules, 'notAtTop' | 'isDraft2020'>;

/** Arguments are an object: a schema of another type is said in words. */
function asObject(schema: JsonObject): JsonObject {
  const { type, required } = schema;
  const listed = required === undefined || Array.isArray(required) ? schema : omit(schema, 'required');
  if (type === 'object') return listed;
  const isObject = type === undefined || type === null || namesOf(type).includes('object');
  if (isObject) return 'type' in listed ? { ...listed, type: 'object' } : { type: 'object', ...listed };
  return { type: 'object', properties: {}, ...describe(schema['description'], { schema }) };
}

function namesOf(type: JsonValue): string[] {
  return (Array.isArray(type) ? type : [type]).map((name) => String(name).toLowerCase());
}

function omit({ ...schema }: JsonObject, name: string): JsonObject {
  delete schema[name];
  return schema;
}

/** One object with the properties of all variants. It requires what each variant requires. */
function joinTop(schema: JsonObject, notAtTop: readonly string[], nodes: NodeBudget): JsonObject {
  const { properties, required } = new VariantReader(schema, nodes).read(schema, 0);
  const rest = Object.fromEntries(
    Object.entries(schema).filter(([name]) => !notAtTop.includes(name) && name !== 'required' && name !== 'properties'),
  );
  let charactersLeft = JSON.stringify(schema).length - JSON.stringify(rest).length;
  // By entries, because a property may have any name, including "__proto__".
  const joined = [...properties].map(([name, forms]) => {
    const form = charactersLeft > 0 ? joinForms(forms, charactersLeft) : {};
    charactersLeft -= JSON.stringify(form).length + name.length;
    return [name, charactersLeft >= 0 ? form : {}] as const;
  });
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(joined),
    ...(required.size > 0 && { required: [...required] }),
  };
}

interface Members {
  /** The different forms of each property. */
  properties: Map<string, Set<JsonValue>>;
  required: ReadonlySet<JsonValue>;
}

const NOTHING: Members = { properties: new Map(), required: new Set() };

/** Variants may be references, many of them to one definition: each is read once, and each copy of a name is counted. */
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
    if (!this.#has(1) || depth > bounds.schemaDepthMax) return NOTHING;
    const { properties: own, required: demanded, $ref: reference } = schema;
    if (typeof reference === 'string' && Object.keys(schema).length === 1) return this.#follow(reference, depth);
    const properties: Members['properties'] = new Map();
    const required = new Set<JsonValue>();
    if (isJsonObject(own)) this.#add(properties, () => false, Object.entries(own).map(toForms));
    if (Array.isArray(demanded)) this.#require(required, demanded);
    for (const part of this.#partsOf(schema, depth)) {
      const before = properties.size;
      const names = new Set(before > 0 && part.properties.size > 0 ? properties.keys() : []);
      if (!this.#has(names.size)) break;
      this.#add(properties, (name) => names.has(name), part.properties);
      this.#require(required, part.required);
    }
    this.#addChoices(schema, depth, properties, required);
    return { properties, required };
  }

  /** All of these hold. */
  *#partsOf(schema: JsonObject, depth: number): Generator<Members> {
    for (const part of jsonObjects(schema['allOf'])) yield this.read(part, depth + 1);
    const { $ref: reference } = schema;
    if (typeof reference === 'string') yield this.#follow(reference, depth);
  }

  /** One of these holds. */
  #addChoices(schema: JsonObject, depth: number, properties: Members['properties'], required: Set<JsonValue>): void {
    const common = new Set(properties.keys());
    for (const keyword of ['anyOf', 'oneOf']) {
      let shared: JsonValue[] | null = null;
      for (const variant of jsonObjects(schema[keyword])) {
        const { properties: more, required: demanded } = this.read(variant, depth + 1);
        this.#add(properties, (name) => common.has(name), more);
        if (!this.#has(shared?.length ?? demanded.size)) return;
        shared = (shared ?? [...demanded]).filter((name) => demanded.has(name));
      }
      for (const name of shared ?? []) required.add(name);
    }
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

  /** Takes from the budget; false once it is used up. */
  #has(nodes: number): boolean {
    this.#budget.left -= nodes;
    return this.#budget.left >= 0;
  }

  #require(required: Set<JsonValue>, more: Iterable<JsonValue>): void {
    for (const name of more) {
      if (!this.#has(1)) return;
      required.add(name);
    }
  }

  #add(
    properties: Members['properties'],
    isTaken: (name: string) => boolean,
    more: Iterable<readonly [name: string, forms: Iterable<JsonValue>]>,
  ): void {
    for (const [name, forms] of more) {
      if (!this.#has(1)) return;
      if (isTaken(name)) continue;
      const known = properties.get(name) ?? new Set();
      for (const form of forms) if (this.#has(1)) known.add(form);
      properties.set(name, known);
    }
  }
}

function toForms([name, form]: [string, JsonValue]): [string, JsonValue[]] {
  return [name, [form]];
}

/** A property that the variants describe differently may have any of its forms; too long ones, any value. */
function joinForms(forms: ReadonlySet<JsonValue>, charactersMax: number): JsonValue {
  const [first] = forms;
  if (forms.size < 2) return first ?? {};
  const different = new Map<string, JsonValue>();
  let characters = 0;
  for (const form of forms) {
    const text = JSON.stringify(form);
    characters += text.length;
    if (characters > charactersMax) return {};
    different.set(text, form);
  }
  const [only, ...others] = different.values();
  return only === undefined || others.length === 0 ? (only ?? {}) : { anyOf: [only, ...others] };
}

const PLACES = ['items', 'additionalProperties', 'not', 'if', 'then', 'else', 'contains', 'propertyNames'];
const PLACE_LISTS = ['anyOf', 'allOf', 'oneOf', 'prefixItems'];
const PLACES_BY_NAME = ['properties', '$defs', 'definitions', 'patternProperties'];

/** Rewrites keywords of earlier drafts of JSON Schema for draft 2020-12, which a provider may require. */
function modernSchema(schema: JsonObject): JsonObject {
  let isChanged = false;
  const entries = Object.entries(schema).flatMap(([name, value]): [string, JsonValue][] => {
    const made = modernMember(name, value);
    isChanged ||= made.length !== 1 || made[0]?.[0] !== name || made[0][1] !== value;
    return made;
  });
  return isChanged ? Object.fromEntries(entries) : schema;
}

function modernMember(name: string, value: JsonValue): [string, JsonValue][] {
  const modern = (one: JsonValue) => (isExactObject(one) ? modernSchema(one) : one);
  if (name === 'items' && Array.isArray(value)) return [['prefixItems', value.map(modern)]];
  if (typeof value === 'boolean' && (name.startsWith('exclusive') || name === 'required')) return [];
  if (PLACES.includes(name)) return [[name, modern(value)]];
  if (PLACE_LISTS.includes(name) && Array.isArray(value)) return [[name, sameOr(value, value.map(modern))]];
  if (!PLACES_BY_NAME.includes(name) || !isExactObject(value)) return [[name, value]];
  const made = Object.entries(value).map(([key, part]) => [key, modern(part)] as const);
  const isSame = made.every(([key, part]) => part === value[key]);
  return [[name, isSame ? value : Object.fromEntries(made)]];
}

function sameOr(list: JsonValue[], made: JsonValue[]): JsonValue[] {
  return made.every((one, place) => one === list[place]) ? list : made;
}

/** Throws ProviderFault (rejected) for a property whose name the provider refuses; `path` is that of the schema. */
export function refuseNames(
  { properties }: JsonObject,
  { propertyName }: Pick<RequestRules, 'propertyName'>,
  path: string,
): void {
  const wrong = Object.keys(isJsonObject(properties) ? properties : {}).find((name) => !propertyName.test(name));
  if (wrong === undefined) return;
  const name = JSON.stringify(wrong.slice(0, NAME_CHARACTERS_SHOWN));
  refuseField(`${path}.properties`, `the provider of this model accepts no property named ${name}`);
}

const NAME_CHARACTERS_SHOWN = 64;

/** A definition within the schema; an invalid or external reference leads to nothing. */
export function findDefinition(root: JsonObject, reference: string): JsonObject {
  return definitionAt(root, reference) ?? {};
}

function definitionAt(root: JsonObject, reference: string): JsonObject | null {
  if (!reference.startsWith('#')) return null;
  let found: JsonValue | undefined = root;
  const parts = reference.slice(1).split('/');
  for (const name of parts.filter((part) => part !== '').map(decodePointer)) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return null;
    found = (found as JsonObject)[name];
  }
  return isJsonObject(found) ? found : null;
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part; // an invalid percent-encoding
  }
}

/** Whether a provider that enforces schemas takes the references of this one. */
export function isEnforceable(schema: JsonObject, { recursion }: Pick<RequestRules, 'recursion'>): boolean {
  return recursion === 'any' || new ReferenceWalk(schema, recursion).isAllowed();
}

/** The schema of an answer that nothing enforces, for the model to read. */
export function schemaInWords(schema: JsonObject): string {
  return `Answer with one JSON value, and write nothing before or after it. It must match this JSON schema:\n${JSON.stringify(schema)}`;
}

/** Follows each schema to its parts and definitions, once. One that is too large or too deep is not allowed. */
class ReferenceWalk {
  readonly #root: JsonObject;
  readonly #recursion: 'optional' | 'none';
  readonly #done = new Set<JsonObject>();
  readonly #underway = new Set<JsonObject>();
  /** Schemas of optional properties, from which a reference may lead back. */
  readonly #apart: JsonObject[];

  constructor(root: JsonObject, recursion: 'optional' | 'none') {
    this.#root = root;
    this.#recursion = recursion;
    this.#apart = [root];
  }

  isAllowed(): boolean {
    for (let schema = this.#apart.pop(); schema !== undefined; schema = this.#apart.pop())
      if (!this.#visit(schema, 0)) return false;
    return true;
  }

  #visit(schema: JsonObject, depth: number): boolean {
    if (this.#done.has(schema)) return true;
    if (this.#underway.has(schema) || depth > bounds.jsonDepthMax) return false;
    if (this.#done.size >= bounds.schemaNodesMax) return false;
    this.#underway.add(schema);
    for (const [name, value] of Object.entries(schema))
      if (!this.#visitMember(schema, name, value, depth + 1)) return false;
    this.#underway.delete(schema);
    this.#done.add(schema);
    return true;
  }

  #visitMember({ required }: JsonObject, name: string, value: JsonValue, depth: number): boolean {
    if (name === '$dynamicRef') return false;
    if (name === '$ref' && typeof value === 'string') {
      const found = definitionAt(this.#root, value);
      return found !== null && this.#visit(found, depth);
    }
    const visitAll = (schemas: readonly JsonObject[]) => schemas.every((one) => this.#visit(one, depth));
    if (PLACES.includes(name)) return !isJsonObject(value) || this.#visit(value, depth);
    if (PLACE_LISTS.includes(name)) {
      const schemas = jsonObjects(value);
      const isRefused = name === 'allOf' && this.#recursion === 'none' && schemas.some((one) => '$ref' in one);
      return !isRefused && visitAll(schemas);
    }
    if (!PLACES_BY_NAME.includes(name) || !isJsonObject(value)) return true;
    if (name !== 'properties' || this.#recursion === 'none') return visitAll(jsonObjects(Object.values(value)));
    const demanded = new Set(Array.isArray(required) ? required : []);
    for (const [key, schema] of Object.entries(value))
      if (isJsonObject(schema) && !demanded.has(key)) this.#apart.push(schema);
    return visitAll(jsonObjects([...demanded].map((key) => value[String(key)] ?? null)));
  }
}

const SCHEMAS = ['items'];
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
  const limit = (one: JsonValue) => (isExactObject(one) ? limitSchema(one, rules) : one);
  if (SCHEMAS.includes(name)) return limit(value);
  if ((LISTS.includes(name) || name === 'oneOf') && Array.isArray(value)) return value.map(limit);
  if (!BY_NAME.includes(name) || !isExactObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, limit(part)]));
}

const TOLD_CHARACTERS_MAX = 1_024;

function describe(description: JsonValue | undefined, told: JsonObject): JsonObject {
  const words = Object.entries(told).map(
    ([name, value]) => `${name}: ${JSON.stringify(value).slice(0, TOLD_CHARACTERS_MAX)}`,
  );
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
  const names = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).every(([name, member]) => names.has(name) && isStrict(member));
}
