// Parses and writes JSON with every digit of numbers beyond double precision, such as ids in tool inputs.

import type { JsonObject, JsonValue, MessageRequest } from './message-request.ts';
import { closingQuote } from './scan-json.ts';

const { rawJSON } = JSON as unknown as { rawJSON(text: string): JsonValue };
const SURE_DIGITS = 15; // that a double represents exactly
const QUOTE = 0x22;
const PLUS = 0x2b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_CASE = 0x20;
const EXPONENT = 0x65;

/** JSON.stringify writes the result as it was read; a number that would lose digits is a runtime object. */
export function parseExactly(text: string): JsonValue {
  const value: JsonValue = JSON.parse(text); // first, because it stops at the first fault
  if (!mayLose(text)) return value;
  const keepDigits = (_name: string, value: JsonValue, { source }: { source?: string } = {}) =>
    typeof value === 'number' && source !== undefined && isLost(value, source) ? rawJSON(source) : value;
  return (JSON.parse as (text: string, reviver: typeof keepDigits) => JsonValue)(text, keepDigits);
}

/** Whether a number has more digits, or an exponent that may be out of range. */
function mayLose(text: string): boolean {
  let run = 0; // of digits and points
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isDigit(code) || code === POINT) {
      if (++run > SURE_DIGITS) return true;
      continue;
    }
    if ((code | LOWER_CASE) === EXPONENT && run > 0 && hasLongExponent(text, at + 1)) return true;
    run = 0;
    if (code !== QUOTE) continue;
    at = closingQuote(text, at + 1, Number.POSITIVE_INFINITY); // strings contain no numbers
    if (at < 0) return false;
  }
  return false;
}

function hasLongExponent(text: string, from: number): boolean {
  const sign = text.charCodeAt(from);
  const at = sign === PLUS || sign === MINUS ? from + 1 : from;
  return [at, at + 1, at + 2].every((place) => isDigit(text.charCodeAt(place)));
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

function isLost(value: number, source: string): boolean {
  if (source.length <= SURE_DIGITS && !/e/i.test(source)) return false;
  if (String(value) === source) return false;
  const digits = digitsOf(source);
  return digits > SURE_DIGITS || !Number.isFinite(value) || (value === 0 && digits > 0);
}

/** Digits from the first nonzero one to the exponent, as far as they are significant. */
function digitsOf(source: string): number {
  let digits = 0;
  for (let at = 0; at < source.length && digits <= SURE_DIGITS; at++) {
    const code = source.charCodeAt(at);
    if ((code | LOWER_CASE) === EXPONENT) break;
    if (isDigit(code) && (digits > 0 || code !== ZERO)) digits++;
  }
  return digits;
}

/** Bodies whose numbers all are as they were written: nearly all. */
const exactAsTheyAre = new WeakSet<JsonObject>();

/** The body with every digit of its numbers. Not to be changed. */
export function exactBody({ text, body }: Pick<MessageRequest, 'text' | 'body'>): JsonObject {
  return isExact(body, text) ? body : (parseExactly(text) as JsonObject);
}

/** The body in which numbers are numbers, from one with every digit and its JSON. */
export function plainBody(exact: JsonObject, text: string): JsonObject {
  return isExact(exact, text) ? exact : (JSON.parse(text) as JsonObject);
}

/** `text` is the JSON of `body`. */
function isExact(body: JsonObject, text: string): boolean {
  if (exactAsTheyAre.has(body)) return true;
  if (mayLose(text)) return false;
  exactAsTheyAre.add(body);
  return true;
}
