// Whether a JSON Schema may be given to the provider as strict: it refuses one in which an object has optional or
// additional members. One that is not goes as a plain schema, which the model follows as well as it can. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';

/** Its depth is bounded by the parser of requests. */
export function isStrictSchema(schema: JsonObject): boolean {
  return isStrictHere(schema) && Object.values(schema).every(isStrictInside);
}

function isStrictInside(value: JsonValue): boolean {
  if (Array.isArray(value)) return value.every(isStrictInside);
  return !isJsonObject(value) || isStrictSchema(value);
}

function isStrictHere(schema: JsonObject): boolean {
  const { type, properties, required } = schema;
  if (!isJsonObject(properties)) return type !== 'object';
  const names = Array.isArray(required) ? required : [];
  return schema['additionalProperties'] === false && Object.keys(properties).every((name) => names.includes(name));
}
