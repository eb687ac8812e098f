// Bounds a message before it is written as JSON: text that a body had in base64 may have six times its length there.

import { bounds } from '../config.ts';
import { type JsonObject, type JsonValue, TOO_ESCAPED, wrongField } from '../wire/wire.ts';
import type { AnswerTranslator } from './front.ts';

const SHORT_CHARACTERS = 32; // shorter texts stay small even escaped: the parser bounds their number
const ESCAPED = /[^ !#-[\]-\uffff]/; // quotes, backslashes and control characters
const SPACE = 0x20;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const SHORT_ESCAPES = '\b\t\n\f\r'; // with two characters; others have six

/** Throws invalid_request, with the client's path. */
export function requireWritable(message: JsonObject, answer: Pick<AnswerTranslator, 'error'>): void {
  const path = new EscapedText().findExcess(message);
  if (path !== null) throw answer.error(wrongField(path, TOO_ESCAPED));
}

class EscapedText {
  #left: number = bounds.jsonEscapedCharactersMax;

  /** The path of the text that exceeds the bound; null if none does. The parser bounds the depth. */
  findExcess(value: JsonValue): string | null {
    if (typeof value === 'string') return this.#exceeds(value) ? '' : null;
    if (typeof value !== 'object' || value === null) return null;
    for (const name of Object.keys(value)) {
      const rest = this.findExcess((value as JsonObject)[name] as JsonValue);
      if (rest !== null) return rest === '' ? name : `${name}.${rest}`;
    }
    return null;
  }

  #exceeds(text: string): boolean {
    if (text.length <= SHORT_CHARACTERS || !ESCAPED.test(text)) return false;
    for (let at = 0; at < text.length && this.#left >= 0; at++) this.#left -= writtenLength(text.charCodeAt(at));
    return this.#left < 0;
  }
}

/** Characters in JSON. A lone surrogate has six, too, but is counted where the client wrote them. */
function writtenLength(code: number): number {
  if (code >= SPACE) return code === QUOTE || code === BACKSLASH ? 2 : 1;
  return SHORT_ESCAPES.includes(String.fromCharCode(code)) ? 2 : 6;
}
