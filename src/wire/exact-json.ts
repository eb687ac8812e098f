// JSON with numbers beyond 2^53, as ids in the input of a tool often are: read and written again they have every
// digit that they came with. Everything else is what JSON.parse makes of it.

import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';

const LONG_NUMBER = /\d{16}/; // shorter ones are exact

/** What is parsed so is written by JSON.stringify as it was read; a long number in it is an object of the runtime's. */
export function parseExactly(text: string): JsonValue {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  const keepDigits = (_name: string, value: JsonValue, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined && source.length >= 16 && String(value) !== source
      ? rawJson(source)
      : value;
  return (JSON.parse as (text: string, reviver: typeof keepDigits) => JsonValue)(text, keepDigits);
}

/** The body of a request. */
export function exactBody({ text, body }: MessageRequest): JsonObject {
  return LONG_NUMBER.test(text) ? (parseExactly(text) as JsonObject) : body;
}

function rawJson(source: string): JsonValue {
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(source);
}
