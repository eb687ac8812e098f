// A message of the assistant as blocks: what it thought, said and called, in this order.

import { bounds } from '../config.ts';
import { type JsonObject, type JsonValue, parseExactly, wrongField } from '../wire/wire.ts';
import { type CallIds, FUNCTION_CALL_ID } from './call-ids.ts';
import {
  convertContent,
  isExactObject,
  type Placed,
  requireObject,
  requireText,
  textBlock,
  withCacheControl,
} from './convert-parts.ts';
import { thinkingOf } from './reasoning-details.ts';

/** Its blocks; none for a message that says nothing. Throws invalid_request. */
export function convertAssistant(message: JsonObject, path: string, ids: CallIds): Placed[] {
  if ((message['audio'] ?? null) !== null) throw wrongField(`${path}.audio`, 'there is no audio here; send its text');
  const content = message['content'] ?? '';
  const { refusal } = message;
  return [
    ...thinkingOf(message, path),
    ...withCacheControl(convertContent(content, `${path}.content`, true), message),
    ...textBlock(typeof refusal === 'string' ? refusal : '', `${path}.refusal`),
    ...convertCalls(message['tool_calls'] ?? [], `${path}.tool_calls`, ids),
    ...convertFunctionCall(message['function_call'] ?? null, `${path}.function_call`, ids),
  ];
}

/** The call of a function has no id: its result is what stands behind it. */
function convertFunctionCall(value: JsonValue, path: string, ids: CallIds): Placed[] {
  if (value === null) return [];
  const id = ids.ofCall(FUNCTION_CALL_ID);
  return [{ block: { type: 'tool_use', id, ...readCalled(requireObject(value, path), path) }, path }];
}

function convertCalls(calls: JsonValue, path: string, ids: CallIds): Placed[] {
  if (!Array.isArray(calls)) throw wrongField(path, 'Input should be a valid list');
  return calls.map((call, place) => convertCall(call, `${path}.${place}`, ids));
}

function convertCall(value: JsonValue, path: string, ids: CallIds): Placed {
  const call = requireObject(value, path);
  if ((call['type'] ?? 'function') !== 'function') throw wrongField(`${path}.type`, "Input should be 'function'");
  const id = ids.ofCall(requireText(call['id'], `${path}.id`));
  const called = readCalled(requireObject(call['function'], `${path}.function`), `${path}.function`);
  return { block: { type: 'tool_use', id, ...called }, path };
}

function readCalled(called: JsonObject, path: string): JsonObject {
  const name = requireText(called['name'], `${path}.name`);
  return { name, input: readArguments(called['arguments'] ?? '', `${path}.arguments`) };
}

/**
 * Arguments that are nothing are none; some clients send the object itself. What is no JSON of an object, since the model
 * wrote none or was cut, is kept as the text that it is: else the conversation could not go on.
 */
function readArguments(given: JsonValue, path: string): JsonObject {
  if (isExactObject(given)) return given;
  const text = requireText(given, path).trim();
  if (text === '') return {};
  const input = isTooDeep(text) ? text : parseAny(text);
  if (input === null) return {};
  return isExactObject(input) ? input : { arguments: text };
}

function parseAny(text: string): JsonValue {
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** Asked before the text is parsed: the parser goes as deep as it is led. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const sign = text[at];
    if (isInString && sign === '\\') at++;
    else if (sign === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (sign === '{' || sign === '[') depth++;
    else if (sign === '}' || sign === ']') depth--;
    if (depth > bounds.jsonDepthMax) return true;
  }
  return false;
}
