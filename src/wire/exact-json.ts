// JSON with numbers that no double holds, as ids in the input of a tool often are: read and written again they have
// every digit that they came with. Everything else is what JSON.parse makes of it.

import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';

const SURE_DIGITS = 15; // that a double keeps
/** More digits than that, a point among them; or an exponent that may be too large or too small. */
const PERHAPS_LOST = /[\d.]{16}|\d[eE][+-]?\d{3}/;

/** What is parsed so is written by JSON.stringify as it was read; a number that would be lost is an object of the runtime's. */
export function parseExactly(text: string): JsonValue {
  if (!PERHAPS_LOST.test(text)) return JSON.parse(text);
  const keepDigits = (_name: string, value: JsonValue, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined && isLost(value, source) ? rawJson(source) : value;
  return (JSON.parse as (text: string, reviver: typeof keepDigits) => JsonValue)(text, keepDigits);
}

function isLost(value: number, source: string): boolean {
  if (String(value) === source) return false;
  const digits = source
    .replace(/[eE].*$/, '')
    .replaceAll(/\D/g, '')
    .replace(/^0+/, '');
  return digits.length > SURE_DIGITS || !Number.isFinite(value) || (value === 0 && digits !== '');
}

/** The body of a request. */
export function exactBody({ text, body }: Pick<MessageRequest, 'text' | 'body'>): JsonObject {
  return PERHAPS_LOST.test(text) ? (parseExactly(text) as JsonObject) : body;
}

function rawJson(source: string): JsonValue {
  return (JSON as unknown as { rawJSON(text: string): JsonValue }).rawJSON(source);
}
