// The calls that people may try, from the API's own description: every operation with values that its schemas allow. Ids and secrets are
// named by their place among those that the callers have seen, so that a call means the same when an episode is repeated.

import type { Json } from '../../../contract/admin-api/installation.ts';
import type { Dice } from '../sends.ts';

export interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: readonly unknown[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  anyOf?: readonly Schema[];
  items?: Schema;
  pattern?: string;
  maxItems?: number;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  schema: Schema;
}

export interface Operation {
  /** Method and path: "PATCH /api/v1/keys/{id}". */
  name: string;
  method: string;
  path: string;
  parameters: readonly Parameter[];
  body: Schema | null;
  /** The roles that may call it; null: anybody, without a token. */
  roles: readonly string[] | null;
}

interface Described {
  responses: Record<string, { content?: Record<string, unknown> }>;
  parameters?: Parameter[];
  requestBody?: { content: { 'application/json'?: { schema: Schema } } };
  'x-roles'?: string[];
}

export function readOperations(document: { paths: Record<string, Record<string, Described>> }): Operation[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { responses }]) => isJson(responses) && !path.endsWith('/openapi.json'))
      .map(([method, described]) => ({
        name: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        parameters: described.parameters ?? [],
        body: described.requestBody?.content['application/json']?.schema ?? null,
        roles: described['x-roles'] ?? null,
      })),
  );
}

/** Files are written by threads, for which virtual time does not wait. */
function isJson(responses: Described['responses']): boolean {
  const { content = {} } = responses['200'] ?? responses['201'] ?? {};
  return 'application/json' in content;
}

export interface CallShape {
  /** Names of ids by the parameter. */
  path: Readonly<Record<string, string>>;
  query: Readonly<Record<string, string>>;
  body: Json | null;
}

const TEXTS = [
  ...['0', '0.01', '0.5', '3.00', '100.00', '9000000', 'x', 'default', 'dear', 'gold', 'bytes', 'quarters', '*'],
  ...['cost_centre', 'cc-other', 'mail@other.example.com', '192.0.2.0/24', 'https://other.example.com', '0s', '24h'],
  ...['2099-01-01T00:00:00Z', '2026-11-18T12:00:30Z', '2026-11-01', 'owner', 'operator', '@code:0', '@link:0'],
];
const PLACES = 60; // of ids, which are taken around
const QUERY_CHANCE = 0.25;
const ODD_CHANCE = 0.02;
const DEPTH_MAX = 4;

/** A call of the operation with any values that it may take; mostly few members, as one wrong member refuses all. */
export function anyCall(dice: Dice, { parameters, body }: Operation): CallShape {
  const path: Record<string, string> = {};
  const query: Record<string, string> = {};
  for (const { name, in: place, required = false, schema } of parameters) {
    if (place === 'path') path[name] = String(valueFor(dice, schema));
    else if (place === 'query' && (required || dice.chance(QUERY_CHANCE)))
      query[name] = String(name === 'limit' ? 1_000 : valueFor(dice, schema));
  }
  if (body === null) return { path, query, body: null };
  const made = valueFor(dice, { ...body, type: 'object' });
  return { path, query, body: isObject(made) ? made : {} };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function valueFor(dice: Dice, schema: Schema, depth = 0): unknown {
  const { anyOf, type, enum: words, items = {} } = schema;
  if (depth > DEPTH_MAX || dice.chance(ODD_CHANCE)) return dice.one([null, 7, true, ...TEXTS, anyId(dice, 'acct')]);
  if (words !== undefined) return dice.one(words);
  const kind = Array.isArray(type) ? dice.one(type) : type;
  if (kind === 'null') return null;
  if (kind === 'object') return objectFor(dice, schema, depth);
  if (kind === 'array') {
    const count = Math.min(schema.maxItems ?? 3, dice.between(1, 2));
    return Array.from({ length: count }, () => valueFor(dice, items, depth + 1));
  }
  if (kind === 'integer' || kind === 'number') return dice.one([1, 2, 50, 1_000]);
  if (kind === 'boolean') return dice.chance(0.5);
  if (anyOf !== undefined && schema.pattern === undefined && type === undefined)
    return valueFor(dice, dice.one(anyOf), depth + 1);
  return textFor(dice, schema.pattern);
}

function objectFor(dice: Dice, { properties = {}, required = [] }: Schema, depth: number): Json {
  const names = Object.keys(properties);
  if (names.length === 0) return dice.chance(0.5) ? {} : { cost_centre: 'cc-other' };
  const chosen = new Set(required);
  for (let left = dice.one([0, 1, 1, 1, 2, 4]); left > 0; left--) chosen.add(dice.one(names));
  return Object.fromEntries([...chosen].map((name) => [name, valueFor(dice, properties[name] ?? {}, depth + 1)]));
}

function textFor(dice: Dice, pattern = ''): string {
  const kind = /^\^([a-z]+)_/.exec(pattern)?.[1];
  if (kind !== undefined) return anyId(dice, kind);
  const form = new RegExp(pattern);
  const fitting = TEXTS.filter((text) => form.test(text));
  return dice.one(fitting.length > 0 ? fitting : TEXTS);
}

function anyId(dice: Dice, kind: string): string {
  return `@${kind}:${dice.below(PLACES)}`;
}

/** The value with the names of ids and secrets in it replaced. */
export function resolve<Value>(value: Value, find: (kind: string, place: number) => string): Value {
  if (typeof value === 'string') {
    const [, kind, place] = /^@([a-z]+):(\d+)$/.exec(value) ?? [];
    return (kind === undefined ? value : find(kind, Number(place))) as Value;
  }
  if (Array.isArray(value)) return value.map((each) => resolve(each, find)) as Value;
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, find)])) as Value;
}
