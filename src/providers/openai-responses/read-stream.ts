// The provider's event stream as Messages events, pulled: a chunk is read only when someone asks for it. A stream that
// ends before its message does is a fault.

import { EventStreamParser, isJsonObject, type JsonObject, type JsonValue, type StreamEvent } from '../../wire/wire.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { upstreamFault } from '../upstream.ts';
import { type AnswerTerms, ChunkConverter } from './convert-chunk.ts';

// How long the upstream may take to end its answer after its last event, so that its connection is kept.
const AFTER_END_MS_MAX = 1_000;

/** Reads a body as a Messages stream; `signal` is the one its fetch was given. It is closed by its end, a fault, or the signal. */
export function readStream(body: ReadableStream<Uint8Array>, signal: AbortSignal, terms: AnswerTerms): EventSource {
  return new UpstreamStream(body.getReader(), signal, terms);
}

class UpstreamStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #parser = new EventStreamParser();
  readonly #converter: ChunkConverter;
  #fault: ProviderFault | null = null; // thrown once the events before it have been given out

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal, terms: AnswerTerms) {
    this.#reader = reader;
    this.#signal = signal;
    this.#converter = new ChunkConverter(terms);
  }

  async next(): Promise<StreamEvent[] | null> {
    // Bounded by the stream's end and by the signal: an upstream that says nothing is the gateway's to give up.
    while (!this.#converter.isFinished) {
      if (this.#fault !== null) throw this.#fault;
      let events: StreamEvent[];
      try {
        this.#signal.throwIfAborted();
        const { done, value } = await this.#reader.read();
        if (done) throw new ProviderFault('failed', 'the stream ended before the message did');
        events = this.#take(value);
      } catch (thrown) {
        this.#fault = upstreamFault(thrown, this.#signal);
        throw this.#fault;
      }
      if (events.length > 0) return events;
    }
    return null;
  }

  /** The events that follow from a chunk, up to a fault or to the end of the message. */
  #take(chunk: Uint8Array): StreamEvent[] {
    const events: StreamEvent[] = [];
    try {
      for (const { text } of this.#parser.push(chunk)) {
        if (text === '[DONE]') continue; // some servers have it from another protocol
        events.push(...this.#converter.add(parseObject(text)));
        if (!this.#converter.isFinished) continue;
        this.#awaitEnd();
        break;
      }
    } catch (thrown) {
      this.#fault = upstreamFault(thrown, this.#signal);
      this.#cancel();
    }
    return events;
  }

  /** Not awaited: the message is complete, and this is about the connection alone. */
  #awaitEnd(): void {
    const timer = setTimeout(() => this.#cancel(), AFTER_END_MS_MAX);
    const drain = async () => {
      while (!(await this.#reader.read()).done);
    };
    drain().then(
      () => clearTimeout(timer),
      () => clearTimeout(timer), // broken or aborted: nothing is left to keep
    );
  }

  /** Not awaited: whether the upstream hears of it changes nothing here. */
  #cancel(): void {
    this.#reader.cancel().catch(() => undefined);
  }
}

function parseObject(text: string): JsonObject {
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
