// Finds what a value violates in a JSON schema. One-sided: what is rejected is surely invalid. All work on one schema,
// however its references multiply it, is bounded by one budget.

import { bounds } from '../../config/config.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, textOf } from '../../wire/wire.ts';
import { Budget } from './budget.ts';
import { mayMatch, type Part, parsePattern } from './pattern.ts';
import { withHints } from './read-hints.ts';

export class SchemaCheck {
  readonly #root: JsonObject;
  readonly #budget: Budget;
  readonly #patterns = new Map<string, Part | null>();
  readonly #hinted = new Map<JsonObject, JsonObject>();

  constructor(root: JsonObject) {
    this.#root = root;
    const isTooLong = JSON.stringify(root).length > bounds.sandboxSchemaCharactersMax;
    this.#budget = new Budget(isTooLong ? 0 : bounds.sandboxSchemaStepsMax);
  }

  get budget(): Budget {
    return this.#budget;
  }

  /** The schemas, and those that they refer to or consist of; false is among them if nothing is valid. */
  expand(given: readonly JsonValue[]): Set<JsonObject | false> {
    const found = new Set<JsonObject | false>();
    const open = [...given];
    for (let next = open.pop(); next !== undefined && this.#budget.spend(); next = open.pop()) {
      if (next === false) found.add(false);
      const schema = isJsonObject(next) ? this.#withHints(next) : null;
      if (schema === null || found.has(schema)) continue;
      found.add(schema);
      const { $ref: reference, allOf } = schema;
      if (typeof reference === 'string') open.push(this.#resolve(reference) ?? false);
      for (const member of listOf(allOf)) open.push(member);
    }
    return found;
  }

  /** null: it is not supported. */
  pattern(text: string): Part | null {
    const known = this.#patterns.get(text);
    if (known !== undefined) return known;
    const parsed = parsePattern(text, this.#budget);
    this.#patterns.set(text, parsed);
    return parsed;
  }

  /** Whether the value is surely invalid; also true once the budget is spent. */
  rejects(given: JsonValue | undefined, value: JsonValue, depth = 0): boolean {
    if (!this.#budget.spend() || given === false) return true;
    if (!isJsonObject(given) || depth > bounds.sandboxSchemaDepthMax) return false;
    const schema = this.#withHints(given);
    const { $ref: reference, allOf, anyOf, oneOf, enum: listed } = schema;
    const rejects = (other: JsonValue) => this.rejects(other, value, depth + 1);
    if (typeof reference === 'string' && rejects(this.#resolve(reference) ?? true)) return true;
    if (listOf(allOf).some(rejects)) return true;
    if ([anyOf, oneOf].some((choices) => listOf(choices).length > 0 && listOf(choices).every(rejects))) return true;
    if ('const' in schema && !this.#isSame(schema['const'], value)) return true;
    if (Array.isArray(listed) && !this.has(listed, value)) return true;
    if (typeNames(schema)?.some((name) => isOfType(value, name)) === false) return true;
    if (typeof value === 'number') return rejectsNumber(schema, value);
    if (typeof value === 'string') return this.#rejectsText(schema, value);
    if (Array.isArray(value)) return this.#rejectsArray(schema, value, depth);
    return isJsonObject(value) && this.#rejectsObject(schema, value, depth);
  }

  /** Members of objects count in their order: all values are made by the same code. */
  #isSame(one: JsonValue | undefined, other: JsonValue): boolean {
    if (typeof one !== 'object' || typeof other !== 'object') return one === other;
    const [text, otherText] = [JSON.stringify(one), JSON.stringify(other)];
    return this.#budget.spend(text.length + otherText.length) && text === otherText;
  }

  /** Whether the values have it; also true once the budget is spent. */
  has(values: readonly JsonValue[], value: JsonValue): boolean {
    return values.some((one) => !this.#budget.spend() || this.#isSame(one, value));
  }

  #withHints(schema: JsonObject): JsonObject {
    const known = this.#hinted.get(schema);
    if (known !== undefined) return known;
    const hinted = withHints(schema);
    this.#hinted.set(schema, hinted);
    this.#hinted.set(hinted, hinted);
    return hinted;
  }

  #resolve(reference: string): JsonValue | undefined {
    if (!/^#(?:\/|$)/.test(reference) || !this.#budget.spend(reference.length)) return undefined;
    let found: JsonValue | undefined = this.#root;
    for (const part of reference.split('/').slice(1)) {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
      const isMember: boolean = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
      found = isMember ? (found as JsonObject)[name] : undefined;
    }
    return found;
  }

  #rejectsText({ minLength, maxLength, pattern }: JsonObject, value: string): boolean {
    if (!this.#budget.spend(value.length)) return true;
    const length = [...value].length;
    if (isAbove(minLength, length) || isBelow(maxLength, length)) return true;
    const part = typeof pattern === 'string' ? this.pattern(pattern) : null;
    return part !== null && !mayMatch(part, value, this.#budget);
  }

  #rejectsArray(schema: JsonObject, value: JsonValue[], depth: number): boolean {
    if (isAbove(schema['minItems'], value.length) || isBelow(schema['maxItems'], value.length)) return true;
    if (schema['uniqueItems'] === true && value.some((one, at) => this.has(value.slice(0, at), one))) return true;
    return value.some((one, at) => this.rejects(itemSchema(schema, at), one, depth + 1));
  }

  #rejectsObject(schema: JsonObject, value: JsonObject, depth: number): boolean {
    const names = Object.keys(value);
    if (isAbove(schema['minProperties'], names.length) || isBelow(schema['maxProperties'], names.length)) return true;
    const isMissing = (name: JsonValue) => typeof name === 'string' && !Object.hasOwn(value, name);
    if (listOf(schema['required']).some((name) => !this.#budget.spend() || isMissing(name))) return true;
    return names.some(
      (name) =>
        this.rejects(schema['propertyNames'], name, depth + 1) ||
        this.memberSchemas(schema, name).some((member) => this.rejects(member, value[name] ?? null, depth + 1)),
    );
  }

  /** The schemas of a member. A pattern that is not supported allows none. */
  memberSchemas(schema: JsonObject, name: string): JsonValue[] {
    const { properties, patternProperties, additionalProperties } = schema;
    const found: JsonValue[] = [];
    const own = ownMember(properties, name);
    if (own !== undefined) found.push(own);
    for (const [pattern, member] of Object.entries(objectOf(patternProperties))) {
      if (!this.#budget.spend()) return [false];
      const part = this.pattern(pattern);
      if (part === null) found.push(false);
      else if (mayMatch(part, name, this.#budget)) found.push(member);
    }
    if (found.length === 0 && additionalProperties !== undefined) found.push(additionalProperties);
    return found;
  }
}

export function listOf(value: JsonValue | undefined): JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function ownMember(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

const TYPES_MAX = 7;

/** null: all types. */
export function typeNames({ type }: JsonObject): JsonValue[] | null {
  if (type === undefined) return null;
  return Array.isArray(type) ? type.slice(0, TYPES_MAX) : [type];
}

/** How many items have a schema of their own. */
export function prefixLength({ prefixItems, items }: JsonObject): number {
  return Array.isArray(items) ? items.length : listOf(prefixItems).length;
}

/** The schema of one item; an array of schemas in `items` is the older form of `prefixItems`. */
export function itemSchema(schema: JsonObject, at: number): JsonValue | undefined {
  const { prefixItems, items, additionalItems } = schema;
  if (Array.isArray(items)) return at < items.length ? items[at] : additionalItems;
  const prefix = listOf(prefixItems);
  return at < prefix.length ? prefix[at] : items;
}

export function isOfType(value: JsonValue, type: JsonValue): boolean {
  switch (type) {
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    case 'object':
      return isJsonObject(value);
    case 'null':
      return value === null;
    default:
      return typeof value === textOf(type);
  }
}

function rejectsNumber(schema: JsonObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  return (
    !Number.isFinite(value) || // no JSON
    isAbove(minimum, value) ||
    isBelow(maximum, value) ||
    (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) ||
    (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) ||
    (typeof multipleOf === 'number' && multipleOf > 0 && !Number.isInteger(value / multipleOf))
  );
}

function isAbove(bound: JsonValue | undefined, value: number): boolean {
  return typeof bound === 'number' && bound > value;
}

function isBelow(bound: JsonValue | undefined, value: number): boolean {
  return typeof bound === 'number' && bound < value;
}
