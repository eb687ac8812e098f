// An answer that came whole, through the same machine as a stream.

import type { JsonValue, StreamEvent } from '../../wire/wire.ts';
import { type Asked, ChunkConverter } from './convert-chunk.ts';

/** The events of an answer: of one chunk, or of a list of them. Throws ProviderFault. */
export function convertAnswer(answer: JsonValue, asked: Asked): StreamEvent[] {
  const converter = new ChunkConverter(asked);
  const chunks = Array.isArray(answer) ? answer : [answer];
  return [...chunks.flatMap((chunk) => converter.push(chunk)), ...converter.end()];
}
