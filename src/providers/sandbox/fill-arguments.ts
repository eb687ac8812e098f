// Arguments for a tool, made from its schema alone: the required ones, by type. What a schema says
// beside types, enums and bounds of numbers is not obeyed.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

// References may lead in circles, and each level may fan out.
const DEPTH_MAX = 16;
const VALUES_MAX = 1_000;

/** The input for a tool with this `input_schema`. */
export function fillArguments(schema: JsonValue | undefined): JsonObject {
  const root = isJsonObject(schema) ? schema : {};
  return fillObject(root, { root, valuesLeft: VALUES_MAX }, 0);
}

interface Filling {
  root: JsonObject;
  valuesLeft: number;
}

function fillObject(schema: JsonObject, filling: Filling, depth: number): JsonObject {
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const members: [string, JsonValue][] = [];
  for (const name of required) {
    if (typeof name !== 'string' || filling.valuesLeft <= 0) continue;
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    members.push([name, fillValue(property, filling, depth + 1)]);
  }
  return Object.fromEntries(members);
}

function fillValue(given: JsonValue | undefined, filling: Filling, depth: number): JsonValue {
  filling.valuesLeft--;
  if (depth > DEPTH_MAX || filling.valuesLeft < 0) return null;
  const schema = resolveReference(given, filling.root);
  if (schema['const'] !== undefined) return schema['const'];
  const values = schema['enum'];
  if (Array.isArray(values) && values[0] !== undefined) return values[0];
  for (const word of ['anyOf', 'oneOf', 'allOf']) {
    const choices = schema[word];
    if (Array.isArray(choices) && choices.length > 0) return fillValue(choices[0], filling, depth + 1);
  }
  switch (typeOf(schema)) {
    case 'integer':
      return Math.ceil(lowest(schema));
    case 'number':
      return lowest(schema);
    case 'boolean':
      return true;
    case 'array':
      return schema['items'] === undefined ? [] : [fillValue(schema['items'], filling, depth + 1)];
    case 'object':
      return fillObject(schema, filling, depth);
    case 'null':
      return null;
    default:
      return 'text';
  }
}

function typeOf(schema: JsonObject): JsonValue | undefined {
  const type = schema['type'] ?? (isJsonObject(schema['properties']) ? 'object' : 'string');
  return Array.isArray(type) ? (type.find((name) => name !== 'null') ?? 'null') : type;
}

function lowest(schema: JsonObject): number {
  const { minimum, exclusiveMinimum } = schema;
  if (typeof minimum === 'number') return minimum;
  return typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1;
}

/** A schema behind `#/…`; one step, because a definition that is itself a reference is filled as text. */
function resolveReference(schema: JsonValue | undefined, root: JsonObject): JsonObject {
  if (!isJsonObject(schema)) return {};
  const reference = schema['$ref'];
  if (typeof reference !== 'string' || !reference.startsWith('#/')) return schema;
  let found: JsonValue | undefined = root;
  for (const part of reference.slice(2).split('/')) {
    found = isJsonObject(found) && Object.hasOwn(found, part) ? found[part] : undefined;
  }
  return isJsonObject(found) ? found : {};
}
