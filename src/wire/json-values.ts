// What a JSON value is, asked in words. Pure.

import type { JsonObject, JsonValue } from './message-request.ts';

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value's objects, when it is an array; else none. */
export function jsonObjects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
