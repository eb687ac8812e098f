// An answer that came whole, through the same machine as a stream: as its events, or folded into one message.

import { type JsonObject, type JsonValue, MessageFold, type StreamEvent } from '../../wire/wire.ts';
import { type Asked, ChunkConverter } from './convert-chunk.ts';

/** The events of an answer: one chunk, or a list of them. Throws ProviderFault. */
export function convertWhole(answer: JsonValue, asked: Asked): StreamEvent[] {
  const converter = new ChunkConverter(asked);
  const chunks = Array.isArray(answer) ? answer : [answer];
  return [...chunks.flatMap((chunk) => converter.push(chunk)), ...converter.end()];
}

/** The message of an answer. Throws ProviderFault. */
export function convertAnswer(answer: JsonValue, asked: Asked): JsonObject {
  const fold = new MessageFold();
  for (const event of convertWhole(answer, asked)) fold.add(event);
  return fold.message();
}
