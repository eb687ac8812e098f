// The official SDKs check values of structured output by keywords that the API does not accept in a schema, and tell the
// model of them in the description, as in "Age\n\n{minimum: 18, maximum: 99}".

import { type JsonObject, type JsonValue, textOf } from '../../wire/wire.ts';

const NUMBERS = /^(?:(?:m(?:in|ax)imum)|exclusiveM(?:in|ax)imum|multipleOf|m(?:in|ax)(?:Length|Items|Properties))$/;
const NUMBER = /^-?\d{1,20}(?:\.\d{1,20})?(?:e[+-]?\d{1,2})?$/;
const TEXTS = /^(?:pattern|format)$/;
const TEXT = /^"(?:[^"\\]|\\.)*"$/s;

/** The schema, with keywords that only its description has. */
export function withHints(schema: JsonObject): JsonObject {
  const description = textOf(schema['description']);
  if (!description.endsWith('}')) return schema;
  const from = description.startsWith('{') ? 0 : description.lastIndexOf('\n\n{') + 2;
  if (description[from] !== '{') return schema;
  const hints: JsonObject = {};
  for (const entry of description.slice(from + 1, -1).split(/, (?=[A-Za-z]+: )/)) {
    const [keyword = '', ...rest] = entry.split(': ');
    const value = readValue(keyword, rest.join(': '));
    if (value !== undefined) hints[keyword] = value;
  }
  return { ...hints, ...schema };
}

/** TypeScript writes JSON, Python the bare text. */
function readValue(keyword: string, text: string): JsonValue | undefined {
  if (NUMBERS.test(keyword)) return NUMBER.test(text) ? JSON.parse(text) : undefined;
  if (!TEXTS.test(keyword)) return undefined;
  try {
    return TEXT.test(text) ? JSON.parse(text) : text;
  } catch {
    return undefined; // a broken escape
  }
}
