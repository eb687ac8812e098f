// A provider's stream of another protocol as Messages events, pulled: a chunk is read only when someone asks
// for it. What the events mean is the converter's; here they are only read, in order, up to the first fault.

import { EventStreamParser, type ServerSentEvent, type StreamEvent } from '../wire/wire.ts';
import type { EventSource, ProviderFault } from './provider.ts';
import { upstreamFault } from './upstream.ts';

// How long the upstream may take to end its answer after the message, so that its connection is kept.
const AFTER_END_MS_MAX = 1_000;

/** Turns one provider's events into those of a Messages stream. */
export interface EventConverter {
  /** The message is whole: what may follow is not part of it. */
  readonly isDone: boolean;
  /** What follows from the next event, which may be nothing. Throws ProviderFault. */
  take(event: ServerSentEvent): StreamEvent[];
  /** What follows from the end of the stream. Throws ProviderFault when the message is not whole. */
  end(): StreamEvent[];
}

/** Reads a body; `signal` is the one its fetch was given. It is closed by its end, a fault, or the signal. */
export function pullStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  converter: EventConverter,
): EventSource {
  return new PulledStream(body.getReader(), signal, converter);
}

class PulledStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #converter: EventConverter;
  readonly #parser = new EventStreamParser();
  #fault: ProviderFault | null = null; // thrown once the events before it have been given out
  #isEnded = false;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal, converter: EventConverter) {
    this.#reader = reader;
    this.#signal = signal;
    this.#converter = converter;
  }

  async next(): Promise<StreamEvent[] | null> {
    // Bounded by the stream's end and by the signal: an upstream that says nothing is the gateway's to give up.
    while (!this.#isEnded) {
      if (this.#fault !== null) throw this.#fault;
      let events: StreamEvent[];
      try {
        this.#signal.throwIfAborted();
        const { done, value } = await this.#reader.read();
        if (done) this.#isEnded = true;
        events = value === undefined ? this.#converter.end() : this.#take(value);
      } catch (thrown) {
        this.#fault = upstreamFault(thrown, this.#signal);
        throw this.#fault;
      }
      if (events.length > 0) return events;
    }
    if (this.#fault !== null) throw this.#fault;
    return null;
  }

  /** The events that a chunk completed, up to a fault or to the end of the message. */
  #take(chunk: Uint8Array): StreamEvent[] {
    const events: StreamEvent[] = [];
    try {
      for (const event of this.#parser.push(chunk)) {
        events.push(...this.#converter.take(event));
        if (!this.#converter.isDone) continue;
        this.#isEnded = true;
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
