// The provider's event stream: each event's data is one JSON object that names itself. What they mean is in
// convert-chunk.ts.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ServerSentEvent,
  type StreamEvent,
} from '../../wire/wire.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { type EventConverter, pullStream } from '../pull-stream.ts';
import { type AnswerTerms, ChunkConverter } from './convert-chunk.ts';

/** Reads a body as the answer; `signal` is the one its fetch was given. */
export function readStream(body: ReadableStream<Uint8Array>, signal: AbortSignal, terms: AnswerTerms): EventSource {
  return pullStream(body, signal, new ResponseEvents(terms));
}

class ResponseEvents implements EventConverter {
  readonly #chunks: ChunkConverter;

  constructor(terms: AnswerTerms) {
    this.#chunks = new ChunkConverter(terms);
  }

  get isDone(): boolean {
    return this.#chunks.isFinished;
  }

  take({ text }: ServerSentEvent): StreamEvent[] {
    return text === '[DONE]' ? [] : this.#chunks.add(parseChunk(text)); // some servers have that from another protocol
  }

  end(): StreamEvent[] {
    throw new ProviderFault('failed', 'the stream ended before the message did');
  }
}

function parseChunk(text: string): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch {
    // Without the parser's own words: they quote what could not be parsed.
    throw new ProviderFault('failed', 'the provider sent an event that is not JSON');
  }
  if (isJsonObject(value)) return value;
  throw new ProviderFault('failed', 'the provider sent an event that is no JSON object');
}
