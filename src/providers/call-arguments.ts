// The input of a call, which is the text of a JSON object: some servers send the object itself instead. Its numbers
// keep their digits then, as they do in a text.

import { isJsonObject, type JsonValue, parseExactly } from '../wire/wire.ts';

const OBJECT_ARGUMENTS = /"arguments"\s*:\s*\{/;

/** What a provider sent, with every digit where it holds such an object. */
export function parseWithArguments(text: string): JsonValue {
  return OBJECT_ARGUMENTS.test(text) ? parseExactly(text) : JSON.parse(text);
}

/** The text of the input; an empty one where there is none. */
export function argumentsText(given: JsonValue | undefined): string {
  if (isJsonObject(given)) return JSON.stringify(given);
  return typeof given === 'string' ? given : '';
}
