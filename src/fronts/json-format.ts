// Structured output: any JSON object, or a schema.

import type { JsonObject, JsonValue } from '../wire/wire.ts';
import { isExactObject, requireObject } from './placed.ts';

/** Asks for a JSON object without a schema; nothing enforces it. */
export const ANY_JSON = 'Answer with one JSON object, and write nothing before or after it.';

/** `output_config.format` from an object with `schema` and `strict`. Throws invalid_request. */
export function schemaFormat(described: JsonObject, path: string): JsonObject {
  const schema = requireObject(described['schema'], `${path}.schema`);
  return { type: 'json_schema', schema: described['strict'] === true ? schema : closeSchema(schema) };
}

/** Schema members that are lists of schemas, or schemas by name. */
const LISTS = ['anyOf', 'oneOf', 'prefixItems'];
const BY_NAME = ['properties', '$defs', 'definitions'];

/**
 * The schema with `additionalProperties: false` in each object with properties that does not say otherwise. Parts of
 * `allOf` stay open: closed separately, they would match nothing. Does not change its argument.
 */
function closeSchema(schema: JsonValue): JsonValue {
  if (!isExactObject(schema) || 'allOf' in schema) return schema;
  const made: JsonObject = { ...schema };
  if (made['items'] !== undefined) made['items'] = closeSchema(made['items']);
  for (const name of LISTS) if (Array.isArray(made[name])) made[name] = (made[name] as JsonValue[]).map(closeSchema);
  for (const name of BY_NAME) {
    const members = made[name];
    if (isExactObject(members))
      made[name] = Object.fromEntries(Object.entries(members).map(([key, part]) => [key, closeSchema(part)]));
  }
  const { properties } = made;
  // An object without properties may have any members; closed, it would be empty.
  const hasProperties = isExactObject(properties) && Object.keys(properties).length > 0;
  if (hasProperties && made['additionalProperties'] === undefined) made['additionalProperties'] = false;
  return made;
}
