// The events of a Gemini stream, pulled: a chunk is read only when someone asks for it. Gemini ends its stream by
// ending it; whether the message was at its end then, the converter knows.

import { EventStreamParser, type JsonValue, type StreamEvent } from '../../wire/wire.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { upstreamFault } from '../upstream.ts';
import type { ChunkConverter } from './convert-chunk.ts';
import { parseExactly } from './exact-json.ts';

/** Reads a body as a Messages stream; `signal` is the one its fetch was given. It is closed by its end, a fault, or the signal. */
export function readStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  converter: ChunkConverter,
): EventSource {
  return new ConvertedStream(body.getReader(), signal, converter);
}

class ConvertedStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #converter: ChunkConverter;
  readonly #parser = new EventStreamParser();
  #fault: ProviderFault | null = null; // thrown once the events before it have been given out
  #isEnded = false;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal, converter: ChunkConverter) {
    this.#reader = reader;
    this.#signal = signal;
    this.#converter = converter;
  }

  async next(): Promise<StreamEvent[] | null> {
    // Bounded by the stream's end and by the signal: an upstream that sends nothing is the gateway's to give up.
    while (!this.#isEnded) {
      if (this.#fault !== null) throw this.#fault;
      const events: StreamEvent[] = [];
      try {
        this.#signal.throwIfAborted();
        const { done, value } = await this.#reader.read();
        if (value !== undefined) this.#take(value, events);
        else if (done) this.#end(events);
      } catch (thrown) {
        this.#fail(thrown);
      }
      if (events.length > 0) return events;
    }
    return null;
  }

  #take(bytes: Uint8Array, events: StreamEvent[]): void {
    for (const { text } of this.#parser.push(bytes)) events.push(...this.#converter.push(parseChunk(text)));
  }

  #end(events: StreamEvent[]): void {
    if (!this.#parser.end()) throw new ProviderFault('failed', 'the stream ended before the message did');
    events.push(...this.#converter.end());
    this.#isEnded = true;
  }

  #fail(thrown: unknown): void {
    this.#fault = upstreamFault(thrown, this.#signal);
    // Not awaited: whether the upstream hears of it changes nothing here.
    this.#reader.cancel().catch(() => undefined);
  }
}

function parseChunk(text: string): JsonValue {
  try {
    return parseExactly(text);
  } catch {
    // Without the parser's own words: they quote what could not be parsed.
    throw new ProviderFault('failed', 'the provider sent a chunk that is not JSON');
  }
}
