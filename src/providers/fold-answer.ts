// The events of an answer that came whole as the one message of them, and as its text: in that the inputs of tools
// are as they came, to the last digit of their numbers.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  MalformedStream,
  MessageFold,
  parseExactly,
  type StreamEvent,
} from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

/** Throws ProviderFault (failed) for events that make no message. */
export function foldAnswer(events: readonly StreamEvent[]): { message: JsonObject; text: string } {
  const fold = new MessageFold();
  try {
    for (const event of events) fold.add(event);
    const message = fold.message();
    return { message, text: JSON.stringify({ ...message, content: exactContent(message, events) }) };
  } catch (cause) {
    // A RangeError: nested deeper than can be written.
    if (!(cause instanceof MalformedStream || cause instanceof RangeError)) throw cause;
    throw new ProviderFault('failed', 'the provider answered with what makes no message', { cause });
  }
}

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
