// The stream of a Gemini answer: each event's data is one chunk, and the end of the stream is the end of the answer;
// whether the message was at its end then, the converter knows.

import { parseExactly } from '../../wire/wire.ts';
import { parseJson } from '../parse-json.ts';
import type { EventSource } from '../provider.ts';
import { pullStream } from '../pull-stream.ts';
import type { ChunkConverter } from './convert-chunk.ts';

/** Reads a body as the answer that the converter knows the request of. */
export function readStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  converter: ChunkConverter,
): EventSource {
  return pullStream(body, signal, {
    isDone: false,
    take: ({ text }) => converter.push(parseJson(text, { what: 'a chunk', upstreamRequestId: null }, parseExactly)),
    end: () => converter.end(),
  });
}
