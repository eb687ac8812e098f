// Makes a value that is valid for a JSON schema, the same each time: shallow, short, and with the required members only.

import { bounds } from '../../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf } from '../../wire/wire.ts';
import { itemSchema, listOf, ownMember, prefixLength, SchemaCheck, typeNames } from './check-schema.ts';
import { generate } from './pattern.ts';

/** The value, or the reason why none was made: the schema has none, or needs keywords or a size that are not supported. */
export type Filled = { value: JsonValue } | { reason: string };

export function fillSchema(schema: JsonObject): Filled {
  return new Filler(schema).fillWhole([schema]);
}

const OBJECT: JsonObject = { type: 'object' };

/** The arguments of a call. If the schema as a whole cannot be filled, the required ones that can, and null for others. */
export function fillArguments(schema: JsonObject): JsonObject {
  const filler = new Filler(schema);
  const whole = filler.fillWhole([schema, OBJECT]);
  if ('value' in whole && isJsonObject(whole.value)) return whole.value;
  const members: [string, JsonValue][] = [];
  for (const name of filler.namesIn(schema['required']))
    members.push([name, filler.fill([ownMember(schema['properties'], name) ?? {}], START) ?? null]);
  return Object.fromEntries(members);
}

interface Place {
  depth: number;
  /** Makes values of one schema differ, where a list must not repeat them. */
  variant: number;
  /** Lists of alternatives of which one was taken. */
  taken: readonly JsonValue[];
}

const TOO_LARGE = 'a value for it would be too large';
const START: Place = { depth: 0, variant: 0, taken: [] };
const FILL_STEPS = 8; // in comparison to other steps
const VARIANTS_TRIED = 16;
const MULTIPLES_TRIED = 64;
const OPTIONS_TRIED = 8;
const UNSUPPORTED = ['contains', 'dependentSchemas', 'dependencies', '$dynamicRef', '$recursiveRef'];

/** A schema is filled as the list of all schemas that apply to the value. undefined: not possible. */
class Filler {
  readonly #check: SchemaCheck;
  /** Schemas of the values around this one. A schema within itself is never needed: the inner value would do outside. */
  readonly #around = new Set<JsonObject>();
  #reason = 'no value was found that is valid for it';

  constructor(root: JsonObject) {
    this.#check = new SchemaCheck(root);
  }

  fillWhole(given: readonly JsonValue[]): Filled {
    const value = this.fill(given, START);
    if (!this.#check.budget.spend(0)) return { reason: TOO_LARGE }; // and checks are not reliable any more
    return value === undefined ? { reason: this.#reason } : { value };
  }

  fill(given: readonly JsonValue[], place: Place): JsonValue | undefined {
    if (
      place.depth > bounds.sandboxSchemaDepthMax ||
      !this.#check.budget.spend(FILL_STEPS + given.length + place.taken.length)
    )
      return this.#refuse(TOO_LARGE);
    const schemas: JsonObject[] = [];
    for (const schema of this.#check.expand(given)) {
      if (schema === false) return undefined;
      if (this.#around.has(schema)) return this.#refuse('it is recursive without an end');
      const unsupported = UNSUPPORTED.find((keyword) => keyword in schema);
      if (unsupported !== undefined) return this.#refuse(`the sandbox does not support the keyword ${unsupported}`);
      schemas.push(schema);
    }
    const depth = place.depth + 1;
    const choices = schemas.flatMap(choicesOf).find(({ key }) => !place.taken.includes(key));
    if (choices !== undefined) {
      const taken = [...place.taken, choices.key];
      return this.#first(rotate(choices.alternatives, place.variant), (alternative) =>
        this.fill([...schemas, alternative], { ...place, depth, taken }),
      );
    }
    for (const schema of schemas) this.#around.add(schema);
    const value = this.#first(this.#candidates(schemas, { ...place, depth, taken: [] }), (candidate) =>
      this.#isValid(schemas, candidate) ? candidate : undefined,
    );
    for (const schema of schemas) this.#around.delete(schema);
    return value;
  }

  *namesIn(names: JsonValue | undefined): Iterable<string> {
    for (const name of listOf(names)) if (this.#check.budget.spend() && typeof name === 'string') yield name;
  }

  #refuse(reason: string): undefined {
    this.#reason = reason;
  }

  #first<T>(options: Iterable<T>, attempt: (option: T) => JsonValue | undefined): JsonValue | undefined {
    for (const option of options) {
      if (!this.#check.budget.spend()) return undefined;
      const value = attempt(option);
      if (value !== undefined) return value;
    }
    return undefined;
  }

  #isValid(schemas: readonly JsonObject[], value: JsonValue): boolean {
    return schemas.every((schema) => {
      if (this.#check.rejects(schema, value)) return false;
      if ('not' in schema && !this.#check.rejects(schema['not'], value)) return false;
      return listOf(schema['oneOf']).filter((one) => !this.#check.rejects(one, value)).length <= 1;
    });
  }

  *#candidates(schemas: readonly JsonObject[], place: Place): Iterable<JsonValue> {
    const fixed = schemas.find((schema) => 'const' in schema)?.['const'];
    const listed = fixed === undefined ? schemas.find((schema) => Array.isArray(schema['enum']))?.['enum'] : [fixed];
    if (listed !== undefined) {
      for (const value of rotate(listOf(listed), place.variant))
        if (this.#check.budget.spend(JSON.stringify(value).length)) yield value;
      return;
    }
    for (const type of typesOf(schemas)) yield* this.#valuesOf(type, schemas, place);
  }

  #valuesOf(type: string, schemas: readonly JsonObject[], place: Place): Iterable<JsonValue> {
    switch (type) {
      case 'integer':
      case 'number':
        return numbers(schemas, type === 'integer', place.variant);
      case 'boolean':
        return rotate([true, false], place.variant);
      case 'null':
        return [null];
      case 'string':
        return this.#texts(schemas, place.variant);
      case 'array':
        return this.#arrays(schemas, place);
      case 'object':
        return this.#objects(schemas, place);
      default:
        return [];
    }
  }

  *#texts(schemas: readonly JsonObject[], variant: number): Iterable<string> {
    const least = largest(schemas, 'minLength', 0);
    const most = smallest(schemas, 'maxLength', Number.POSITIVE_INFINITY);
    if (!this.#check.budget.spend(least)) return;
    const sample = schemas.map(({ format }) => SAMPLES.get(format)).find((text) => text !== undefined);
    const pattern = schemas.map((schema) => schema['pattern']).find((text) => typeof text === 'string');
    if (sample !== undefined) yield sample;
    if (pattern === undefined) {
      if (sample === undefined) yield `${variant || ''}text`.padEnd(least, 'text').slice(0, most);
      return;
    }
    const part = this.#check.pattern(pattern);
    if (part === null) return this.#refuse('the sandbox does not support its pattern');
    for (let option = variant; option < variant + OPTIONS_TRIED; option++) {
      const text = generate(part, { option, growth: variant }, this.#check.budget);
      if (text === null) continue;
      yield text;
      const growth = least + variant - [...text].length;
      if (growth > 0) yield generate(part, { option, growth: growth + variant }, this.#check.budget) ?? text;
    }
  }

  *#arrays(schemas: readonly JsonObject[], place: Place): Iterable<JsonValue[]> {
    const least = largest(schemas, 'minItems', 0);
    const most = smallest(schemas, 'maxItems', Number.POSITIVE_INFINITY);
    const given = schemas.reduce((most, schema) => Math.max(most, prefixLength(schema)), 0);
    const usual = schemas.some(({ items }) => items !== undefined) ? 1 : 0;
    const length = Math.min(most, Math.max(least, given, usual));
    const isUnique = schemas.some(({ uniqueItems }) => uniqueItems === true);
    const values: JsonValue[] = [];
    while (values.length < length) {
      const members = schemas.map((schema) => itemSchema(schema, values.length) ?? true);
      const variants = isUnique ? VARIANTS_TRIED : 1;
      const first = isUnique ? values.length : place.variant;
      const value = this.#first(
        Array.from({ length: variants }, (_, more) => first + more),
        (variant) => {
          const made = this.fill(members, { ...place, variant });
          return made !== undefined && isUnique && this.#check.has(values, made) ? undefined : made;
        },
      );
      if (value === undefined) break;
      values.push(value);
    }
    if (values.length >= least) yield values;
  }

  *#objects(schemas: readonly JsonObject[], place: Place): Iterable<JsonObject> {
    const members = new Map<string, JsonValue>();
    const add = (name: string) => {
      const member = this.fill(
        schemas.flatMap((schema) => this.#check.memberSchemas(schema, name)),
        place,
      );
      if (member !== undefined) members.set(name, member);
      return member !== undefined;
    };
    const names = new Set(schemas.flatMap((schema) => [...this.namesIn(schema['required'])]));
    for (const name of names) {
      if (!add(name)) return;
      for (const schema of schemas)
        for (const other of this.namesIn(ownMember(schema['dependentRequired'], name))) names.add(other);
    }
    const least = largest(schemas, 'minProperties', 0);
    for (const { properties } of members.size < least ? schemas : []) {
      const optional = Object.keys(objectOf(properties));
      if (!this.#check.budget.spend(optional.length)) return;
      for (const name of optional) if (members.size < least && !members.has(name)) add(name);
    }
    for (let place = 1; members.size < least && add(`member${place}`); place++);
    yield Object.fromEntries(members);
  }
}

interface Choices {
  /** Identifies them in the schema. */
  key: JsonValue;
  alternatives: readonly JsonValue[];
}

function choicesOf(schema: JsonObject): Choices[] {
  const { anyOf, oneOf, if: condition, then: met = true, else: unmet = true } = schema;
  const lists = [anyOf, oneOf].filter((list) => Array.isArray(list) && list.length > 0) as JsonValue[][];
  const choices: Choices[] = lists.map((list) => ({ key: list, alternatives: list }));
  if (condition === undefined) return choices;
  const alternatives = [{ allOf: [condition, met] }, { allOf: [{ not: condition }, unmet] }];
  return [...choices, { key: schema, alternatives }];
}

function* rotate<T>(list: readonly T[], places: number): Iterable<T> {
  for (let at = 0; at < list.length; at++) yield list[(at + places) % list.length] as T;
}

const TYPES = ['object', 'array', 'string', 'integer', 'number', 'boolean', 'null'];
const KEYWORDS: readonly [type: string, keywords: readonly string[]][] = [
  ['object', ['properties', 'required', 'additionalProperties', 'patternProperties', 'minProperties', 'propertyNames']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
];

/** The types that all schemas allow, null last; without any, the type that their keywords are for. */
function typesOf(schemas: readonly JsonObject[]): string[] {
  const lists = schemas.map(typeNames).filter((names) => names !== null);
  if (lists.length === 0) {
    const isNamed = (keywords: readonly string[]) => keywords.some((word) => schemas.some((schema) => word in schema));
    return [KEYWORDS.find(([, keywords]) => isNamed(keywords))?.[0] ?? 'string'];
  }
  const isAllowed = (type: string) =>
    lists.every((names) => names.some((name) => name === type || (name === 'number' && type === 'integer')));
  const order = [...new Set([...(lists[0] as JsonValue[]), ...TYPES])] as string[];
  return order.filter((type) => type !== 'null' && isAllowed(type)).concat(isAllowed('null') ? ['null'] : []);
}

function largest(schemas: readonly JsonObject[], keyword: string, least: number): number {
  return schemas.reduce(
    (most, { [keyword]: value }) => (typeof value === 'number' && value > most ? value : most),
    least,
  );
}

function smallest(schemas: readonly JsonObject[], keyword: string, most: number): number {
  return schemas.reduce(
    (least, { [keyword]: value }) => (typeof value === 'number' && value < least ? value : least),
    most,
  );
}

/** 1 if it is within the bounds, else from the bound that is nearer to it. */
function* numbers(schemas: readonly JsonObject[], isInteger: boolean, variant: number): Iterable<number> {
  const infinity = Number.POSITIVE_INFINITY;
  const lowest = Math.max(largest(schemas, 'minimum', -infinity), largest(schemas, 'exclusiveMinimum', -infinity));
  const highest = Math.min(smallest(schemas, 'maximum', infinity), smallest(schemas, 'exclusiveMaximum', infinity));
  const start = Math.min(Math.max(1, lowest), highest);
  const direction = start < highest ? 1 : -1;
  const step = largest(schemas, 'multipleOf', isInteger ? 1 : 0);
  if (step === 0) {
    yield start + direction * variant;
    yield start + direction * (variant + 1);
    yield lowest + ((highest - lowest) * (variant + 1)) / (variant + 2);
    return;
  }
  const first = direction > 0 ? Math.ceil(start / step) : Math.floor(start / step);
  for (let tried = 0; tried < MULTIPLES_TRIED; tried++) yield (first + direction * (variant + tried)) * step + 0;
}

/** Texts of the formats that validators check. */
const SAMPLES: ReadonlyMap<JsonValue | undefined, string> = new Map([
  ['date-time', '2026-01-01T00:00:00Z'],
  ['date', '2026-01-01'],
  ['time', '00:00:00Z'],
  ['duration', 'P1D'],
  ['email', 'user@example.com'],
  ['idn-email', 'user@example.com'],
  ['hostname', 'example.com'],
  ['idn-hostname', 'example.com'],
  ['ipv4', '192.0.2.1'],
  ['ipv6', '2001:db8::1'],
  ['uri', 'https://example.com/'],
  ['uri-reference', 'https://example.com/'],
  ['iri', 'https://example.com/'],
  ['iri-reference', 'https://example.com/'],
  ['uri-template', 'https://example.com/'],
  ['url', 'https://example.com/'],
  ['uuid', '6f9619ff-8b86-4d01-b42d-00cf4fc964ff'],
  ['json-pointer', '/text'],
  ['relative-json-pointer', '0/text'],
]);
