// A message of the assistant as blocks: what it thought, said and called, in this order.

import { bounds } from '../config.ts';
import { type JsonObject, type JsonValue, parseExactly, wrongField } from '../wire/wire.ts';
import { takenCallId } from './call-ids.ts';
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
export function convertAssistant(message: JsonObject, path: string): Placed[] {
  if ((message['audio'] ?? null) !== null) throw wrongField(`${path}.audio`, 'there is no audio here; send its text');
  const content = message['content'] ?? '';
  const { refusal } = message;
  return [
    ...thinkingOf(message, path),
    ...withCacheControl(convertContent(content, `${path}.content`, true), message),
    ...textBlock(typeof refusal === 'string' ? refusal : '', `${path}.refusal`),
    ...convertCalls(message['tool_calls'] ?? [], `${path}.tool_calls`),
    ...convertFunctionCall(message['function_call'] ?? null, `${path}.function_call`),
  ];
}

/** The call of a function has no id of its own: its result is what stands behind it. */
export function functionCallId(path: string): string {
  return takenCallId(`${path}.function_call`);
}

function convertFunctionCall(value: JsonValue, path: string): Placed[] {
  if (value === null) return [];
  const id = takenCallId(path);
  return [{ block: { type: 'tool_use', id, ...readCalled(requireObject(value, path), path) }, path }];
}

function convertCalls(calls: JsonValue, path: string): Placed[] {
  if (!Array.isArray(calls)) throw wrongField(path, 'Input should be a valid list');
  return calls.map((call, place) => convertCall(call, `${path}.${place}`));
}

function convertCall(value: JsonValue, path: string): Placed {
  const call = requireObject(value, path);
  if ((call['type'] ?? 'function') !== 'function') throw wrongField(`${path}.type`, "Input should be 'function'");
  const id = takenCallId(requireText(call['id'], `${path}.id`));
  const called = readCalled(requireObject(call['function'], `${path}.function`), `${path}.function`);
  return { block: { type: 'tool_use', id, ...called }, path };
}

function readCalled(called: JsonObject, path: string): JsonObject {
  const name = requireText(called['name'], `${path}.name`);
  return { name, input: readArguments(called['arguments'] ?? '', `${path}.arguments`) };
}

/** Arguments that are nothing are none; some clients send the object itself. */
function readArguments(given: JsonValue, path: string): JsonObject {
  if (isExactObject(given)) return given;
  const text = requireText(given, path).trim();
  if (text === '') return {};
  if (isTooDeep(text)) throw wrongField(path, `Input should not be nested deeper than ${bounds.jsonDepthMax} levels`);
  let input: JsonValue;
  try {
    input = parseExactly(text);
  } catch {
    throw wrongField(path, 'Input should be valid JSON'); // without the parser's words, which quote the text
  }
  if (!isExactObject(input)) throw wrongField(path, 'Input should be the JSON of an object');
  return input;
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
