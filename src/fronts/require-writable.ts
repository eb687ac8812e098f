// Bounds the texts of a message that a body had in base64, before they are written as JSON: there they may be six times as long.

import { bounds } from '../config/config.ts';
import {
  type JsonObject,
  type JsonValue,
  jsonObjects,
  objectOf,
  TOO_ESCAPED,
  textOf,
  wrongField,
} from '../wire/wire.ts';
import { type Origins, withClientPaths } from './origins.ts';

const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_ESCAPES = '\b\t\n\f\r'; // with two characters; others have six

/** Throws invalid_request, with the client's path. */
export function requireWritable(message: JsonObject, origins: Origins): void {
  const budget = { characters: bounds.jsonEscapedCharactersMax };
  for (const [place, { content }] of jsonObjects(message['messages']).entries()) {
    const rest = findExcess(content, budget);
    if (rest !== null) throw withClientPaths(wrongField(`messages.${place}.content.${rest}`, TOO_ESCAPED), origins);
  }
}

/** The rest of the path of the text that exceeds the budget; null if none does. */
function findExcess(content: JsonValue | undefined, budget: { characters: number }): string | null {
  if (!Array.isArray(content)) return null;
  for (const [place, block] of content.entries()) {
    const { type, source, thinking, content: inside } = objectOf(block);
    if (type === 'document' && exceeds(objectOf(source)['data'], budget)) return `${place}.source.data`;
    if (type === 'thinking' && exceeds(thinking, budget)) return `${place}.thinking`;
    const rest = type === 'tool_result' ? findExcess(inside, budget) : null;
    if (rest !== null) return `${place}.content.${rest}`;
  }
  return null;
}

/** Counts a text that has escapes in JSON, as far as the budget goes. */
function exceeds(value: JsonValue | undefined, budget: { characters: number }): boolean {
  const text = textOf(value);
  if (!/[^ !#-[\]-\uffff]/.test(text)) return false;
  for (let at = 0; at < text.length && budget.characters >= 0; at++)
    budget.characters -= writtenLength(text.charCodeAt(at));
  return budget.characters < 0;
}

function writtenLength(code: number): number {
  if (code >= SPACE) return code === QUOTE || code === BACKSLASH ? 2 : 1;
  return SHORT_ESCAPES.includes(String.fromCharCode(code)) ? 2 : 6;
}
