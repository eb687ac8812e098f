// JSON text as a value, or the refusal that its caller reads. How deep it may be is asked before: see scan-json.ts.

import { TurnpikeError } from '../errors.ts';
import type { JsonValue } from './message-request.ts';

const PARSER_MESSAGE_CHARACTERS_MAX = 200;

/** The value of a body. Throws invalid_json. */
export function parseJson(text: string, parse: (text: string) => JsonValue = JSON.parse): JsonValue {
  try {
    return parse(text);
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, '') : String(cause);
    const message = `The request body is not valid JSON: ${said.slice(0, PARSER_MESSAGE_CHARACTERS_MAX)}`;
    throw new TurnpikeError('invalid_json', message, { cause });
  }
}
