// An answer that was not streamed, by the same way as a stream: as if its items had come whole. Pure.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  MalformedStream,
  MessageFold,
  type StreamEvent,
} from '../../wire/wire.ts';
import { parseExactly } from '../exact-json.ts';
import { ProviderFault } from '../provider.ts';
import { type AnswerTerms, ChunkConverter } from './convert-chunk.ts';

/** The events of the whole message. Throws ProviderFault for a response that failed, or is none. */
export function convertAnswerEvents(response: JsonObject, terms: AnswerTerms): StreamEvent[] {
  const { status, output } = response;
  const converter = new ChunkConverter(terms);
  if (!Array.isArray(output) || status === 'failed' || status === 'cancelled' || isJsonObject(response['error']))
    converter.add({ type: 'response.failed', response }); // throws what it says
  if (status !== 'completed' && status !== 'incomplete' && status !== undefined)
    throw new ProviderFault('failed', 'the provider answered before it was done');
  return converter.add({ type: 'response.completed', response: withoutCutCalls(response) });
}

/** The message and its text. Throws ProviderFault as `convertAnswerEvents` does. */
export function convertAnswer(response: JsonObject, terms: AnswerTerms): { message: JsonObject; text: string } {
  const events = convertAnswerEvents(response, terms);
  const fold = new MessageFold();
  try {
    for (const event of events) fold.add(event);
    const message = fold.message();
    return { message, text: JSON.stringify({ ...message, content: exactContent(message, events) }) };
  } catch (thrown) {
    if (!(thrown instanceof MalformedStream)) throw thrown;
    throw new ProviderFault('failed', 'the provider answered with what makes no message', { cause: thrown });
  }
}

/** The content with the inputs of its tools as they came, to the last digit of their numbers. */
function exactContent(message: JsonObject, events: readonly StreamEvent[]): JsonObject[] {
  const inputs = new Map<JsonValue | undefined, string>();
  for (const { value } of events) {
    const piece = isJsonObject(value['delta']) ? value['delta']['partial_json'] : undefined;
    if (typeof piece === 'string') inputs.set(value['index'], (inputs.get(value['index']) ?? '') + piece);
  }
  return jsonObjects(message['content']).map((block, index) => {
    const input = inputs.get(index);
    return input === undefined ? block : { ...block, input: parseExactly(input) };
  });
}

/** Half the input of a tool would be no JSON; a client who sees the message as a whole is better off without it. */
function withoutCutCalls(response: JsonObject): JsonObject {
  const { status, output } = response;
  if (status !== 'incomplete' || !Array.isArray(output)) return response;
  return { ...response, output: output.filter((item) => !isJsonObject(item) || !isCutCall(item)) };
}

function isCutCall(item: JsonObject): boolean {
  if (item['type'] !== 'function_call') return false;
  try {
    return !isJsonObject(JSON.parse(String(item['arguments'])));
  } catch {
    return true;
  }
}
