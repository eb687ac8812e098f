// The events of a provider's stream, pulled: a chunk is read only when someone asks for it. The data
// of each event stays the text that came; it is parsed once, here.

import { EventStreamParser, isJsonObject, type JsonObject, type StreamEvent } from '../../wire/wire.ts';
import { mapErrorEvent } from '../map-fault.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { upstreamFault } from '../upstream.ts';

// How long the upstream may take to end its answer after message_stop, so that its connection is kept.
const AFTER_STOP_MS_MAX = 1_000;

/** Reads a body as a Messages stream; `signal` is the one its fetch was given. It is closed by its end, a fault, or the signal. */
export function readStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  upstreamRequestId: string | null,
): EventSource {
  return new UpstreamStream(body.getReader(), signal, upstreamRequestId);
}

class UpstreamStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #upstreamRequestId: string | null;
  readonly #parser = new EventStreamParser();
  #fault: ProviderFault | null = null; // thrown once the events before it have been given out
  #isEnded = false;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal, upstreamRequestId: string | null) {
    this.#reader = reader;
    this.#signal = signal;
    this.#upstreamRequestId = upstreamRequestId;
  }

  async next(): Promise<StreamEvent[] | null> {
    // Bounded by the stream's end and by the signal: an upstream that only pings is the gateway's to give up.
    while (!this.#isEnded) {
      if (this.#fault !== null) throw this.#fault;
      let events: StreamEvent[];
      try {
        this.#signal.throwIfAborted();
        const { done, value } = await this.#reader.read();
        this.#isEnded = done;
        events = value === undefined ? [] : this.#take(value);
      } catch (thrown) {
        this.#fault = upstreamFault(thrown, this.#signal);
        throw this.#fault;
      }
      if (events.length > 0) return events;
    }
    return null;
  }

  /** The events that a chunk completed, up to a fault or to message_stop. */
  #take(chunk: Uint8Array): StreamEvent[] {
    const events: StreamEvent[] = [];
    try {
      for (const { name, text } of this.#parser.push(chunk)) {
        if (name === 'ping') continue;
        const event = readEvent(text, this.#upstreamRequestId);
        if (event.name === 'ping') continue;
        events.push(event);
        if (event.name === 'message_stop') {
          this.#isEnded = true; // what may follow it is not part of the message
          this.#awaitEnd();
          break;
        }
      }
    } catch (thrown) {
      this.#fault = upstreamFault(thrown, this.#signal);
      this.#cancel();
    }
    return events;
  }

  /** Not awaited: the message is complete, and this is about the connection alone. */
  #awaitEnd(): void {
    const timer = setTimeout(() => this.#cancel(), AFTER_STOP_MS_MAX);
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

function readEvent(text: string, upstreamRequestId: string | null): StreamEvent {
  const value = parseObject(text);
  const name = value['type'];
  if (typeof name !== 'string')
    throw new ProviderFault('failed', 'the provider sent an event without a type', { upstreamRequestId });
  if (name === 'error') throw mapErrorEvent(value, upstreamRequestId);
  // Line feeds can only stand between the parts of the JSON: inside its strings they are escaped.
  return { name, json: text.includes('\n') ? text.replaceAll('\n', ' ') : text, value };
}

function parseObject(text: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Without the parser's own words: they quote what could not be parsed.
    throw new ProviderFault('failed', 'the provider sent an event that is not JSON');
  }
  if (!isJsonObject(value as JsonObject))
    throw new ProviderFault('failed', 'the provider sent an event that is no JSON object');
  return value as JsonObject;
}
