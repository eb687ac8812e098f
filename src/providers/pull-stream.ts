// Pulls a provider's stream through a converter: a chunk is read only for a call of `next`, up to the first fault.

import { ownTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import {
  EventStreamParser,
  isLong,
  type JsonObject,
  makeEvent,
  PlainDeltas,
  type ServerSentEvent,
  type StreamEvent,
} from '../wire/wire.ts';
import { withUsage } from './endings.ts';
import { type EventReceiver, type EventSource, ProviderFault } from './provider.ts';
import { upstreamFault } from './upstream.ts';

// How long the upstream may take to end its response after the message, so that the connection can be reused.
const AFTER_END_MS_MAX = 1_000;

export interface EventConverter {
  /** The message is complete: later events are not part of it. */
  readonly isDone: boolean;
  /** Plain deltas are passed on as they are, without `take`. */
  readonly passesDeltas?: boolean;
  /** Absent: the events themselves have all counts. */
  readonly counts?: StreamCounts;
  /** Converts the next event; may return no events. Throws ProviderFault. */
  take(event: ServerSentEvent): StreamEvent[];
  /** Converts the end of the stream. Throws ProviderFault when the message is incomplete. */
  end(): StreamEvent[];
}

/** The counts of an answer while it streams. */
export interface StreamCounts {
  /** Adds counts that no event has yet to the last of these events, or to a ping or message_start of their own. */
  carry(events: StreamEvent[]): void;
  /** Takes only the counts of an event; true: no more of them follow. */
  read(event: ServerSentEvent): boolean;
  /** The largest so far, in the form of a message's usage; null: none was reported. */
  readonly usage: JsonObject | null;
}

/** Splits bytes, cut anywhere, into events. */
export interface EventParser {
  /** The events that these bytes completed; throws after those before a fault. */
  push(bytes: Uint8Array): Iterable<ServerSentEvent>;
  /** For converters that pass deltas; absent: the parser has none. See EventStreamParser. */
  pushPlain?(bytes: Uint8Array): PlainDeltas | null;
}

const PING = makeEvent({ type: 'ping' });

function isUnusable(thrown: unknown): thrown is ProviderFault {
  return thrown instanceof ProviderFault && thrown.kind === 'unusable';
}

const IGNORES: EventReceiver = { onEvents: () => undefined, onFault: () => undefined };

export function endedEarly(upstreamRequestId: string | null): ProviderFault {
  return new ProviderFault('failed', 'the stream ended before the message was complete', { upstreamRequestId });
}

/** Converts a body that turned out to be JSON: a whole answer in place of a stream. Throws ProviderFault. */
interface WholeReader {
  whole(chunks: Uint8Array<ArrayBuffer>[]): Promise<StreamEvent[]>;
}

const [BRACE, BRACKET] = [0x7b, 0x5b];
const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Reads a body; `signal` is its fetch's. Closed by its end, a fault, or the signal. */
export class PulledStream implements EventSource {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #signal: AbortSignal;
  readonly #converter: EventConverter;
  readonly #parser: EventParser;
  /** Gets the result of the pending read. */
  #receiver: EventReceiver = IGNORES;
  #mapFault: ((fault: ProviderFault) => ProviderFault) | null = null;
  #fault: ProviderFault | null = null; // thrown after the preceding events
  #unusable: ProviderFault | null = null; // thrown once the answer's counts are known
  #unusableBytes = 0;
  #rest: Uint8Array | null = null; // of a chunk that is too long for one turn
  #isLongEvent = false; // in the piece that was taken last
  #isEnded = false;
  /** Until the first byte tells the form. */
  #wholeReader: WholeReader | null;

  constructor(
    body: ReadableStream<Uint8Array>,
    signal: AbortSignal,
    converter: EventConverter,
    format: EventParser | WholeReader = new EventStreamParser(),
  ) {
    this.#reader = body.getReader();
    this.#wholeReader = 'whole' in format ? format : null;
    this.#parser = 'whole' in format ? new EventStreamParser() : format;
    this.#signal = signal;
    this.#converter = converter;
  }

  mapFaults(map: (fault: ProviderFault) => ProviderFault): void {
    this.#mapFault = map;
  }

  next(): Promise<StreamEvent[] | null> {
    return new Promise((resolve, reject) => {
      const onEvents: EventReceiver['onEvents'] = (batch) =>
        resolve(batch instanceof PlainDeltas ? batch.events() : batch);
      this.pull({ onEvents, onFault: reject });
    });
  }

  pull(receiver: EventReceiver): void {
    if (this.#fault !== null) receiver.onFault(this.#fault);
    else if (this.#isEnded) receiver.onEvents(null);
    else if (this.#signal.aborted) receiver.onFault(this.#fail(this.#signal.reason));
    else {
      this.#receiver = receiver;
      this.#read();
    }
  }

  #read(): void {
    if (this.#rest === null) this.#reader.read().then(this.#onRead, this.#onFailure);
    else ownTurn().then(this.#onRest);
  }

  readonly #onRest = () => {
    const value = this.#rest ?? undefined;
    this.#rest = null;
    if (this.#signal.aborted) this.#receiver.onFault(this.#fail(this.#signal.reason));
    else this.#onRead({ done: false, value });
  };

  // Bound once, because a function per chunk would cost as much as parsing it.
  readonly #onRead = ({ done, value }: { done: boolean; value?: Uint8Array | undefined }) => {
    if (done) this.#isEnded = true;
    if (this.#wholeReader !== null && value !== undefined && this.#isJson(value)) return;
    const batch = value === undefined ? this.#atEnd() : this.#take(this.#firstOf(value));
    if (batch !== null && this.#isLongEvent) ownTurn().then(() => this.#receiver.onEvents(batch));
    else if (batch !== null) this.#receiver.onEvents(batch);
    else if (this.#fault !== null) this.#receiver.onFault(this.#fault);
    else if (this.#isEnded) this.#receiver.onEvents(null);
    else this.#read(); // bounded by the end of the stream and the signal
  };

  /** Whether the body begins as JSON; then all of it is read as a whole answer. */
  #isJson(chunk: Uint8Array): boolean {
    const first = chunk.find((byte) => !isSpace(byte));
    const reader = this.#wholeReader;
    if (first === undefined || reader === null) return false;
    this.#wholeReader = null;
    if (first !== BRACE && first !== BRACKET) return false;
    this.#readWhole(reader, chunk).then(
      (events) => this.#receiver.onEvents(events),
      (thrown) => this.#receiver.onFault(this.#fail(thrown)),
    );
    return true;
  }

  async #readWhole(reader: WholeReader, first: Uint8Array): Promise<StreamEvent[]> {
    const chunks = [first as Uint8Array<ArrayBuffer>];
    let bytes = first.length;
    for (let next = await this.#reader.read(); !next.done; next = await this.#reader.read()) {
      bytes += next.value.length;
      if (bytes > bounds.upstreamBodyBytesMax) {
        this.#cancel();
        throw new ProviderFault('failed', 'the response of the provider is too long');
      }
      chunks.push(next.value as Uint8Array<ArrayBuffer>);
    }
    this.#isEnded = true;
    return await reader.whole(chunks);
  }

  /** The part of a chunk for one turn; the rest is kept. */
  #firstOf(chunk: Uint8Array): Uint8Array {
    if (chunk.length <= bounds.upstreamBytesAtOnceMax) return chunk;
    this.#rest = chunk.subarray(bounds.upstreamBytesAtOnceMax);
    return chunk.subarray(0, bounds.upstreamBytesAtOnceMax);
  }

  readonly #onFailure = (thrown: unknown) => {
    this.#receiver.onFault(this.#fail(thrown));
  };

  /** An answer that was unusable before its stream ended or broke stays unusable, unless this service aborted it. */
  #fail(thrown: unknown): ProviderFault {
    const cause = this.#signal.aborted ? thrown : (this.#unusable ?? thrown);
    const fault = upstreamFault(withUsage(cause, this.#converter.counts?.usage ?? null), this.#signal);
    this.#fault = this.#mapFault === null ? fault : this.#mapFault(fault);
    return this.#fault;
  }

  #atEnd(): StreamEvent[] | null {
    let events: StreamEvent[] = [];
    try {
      if (this.#unusable !== null) throw this.#unusable;
      events = this.#converter.end();
    } catch (thrown) {
      this.#fail(thrown);
    }
    return this.#withCounts(events);
  }

  /** The events completed by a chunk, up to a fault or the end of the message; null without any. */
  #take(chunk: Uint8Array): StreamEvent[] | PlainDeltas | null {
    this.#isLongEvent = false;
    const deltas = this.#converter.passesDeltas === true ? (this.#parser.pushPlain?.(chunk) ?? null) : null;
    if (deltas !== null) return deltas.texts.length > 0 ? deltas : null;
    const events: StreamEvent[] = [];
    try {
      for (const event of this.#parser.push(chunk)) {
        this.#isLongEvent ||= isLong(event.text.length);
        if (this.#unusable !== null) this.#readCounts(event);
        else this.#convert(event, events);
        if (!this.#converter.isDone) continue;
        this.#isEnded = true;
        this.#awaitEnd();
        break;
      }
    } catch (thrown) {
      this.#fail(thrown);
      this.#cancel();
    }
    if (this.#unusable !== null && this.#fault === null) this.#waitForCounts(chunk.length, events);
    return this.#withCounts(events);
  }

  #convert(event: ServerSentEvent, events: StreamEvent[]): void {
    try {
      for (const converted of this.#converter.take(event)) events.push(converted);
    } catch (thrown) {
      if (this.#converter.counts === undefined || !isUnusable(thrown)) throw thrown;
      this.#unusable = thrown;
      this.#readCounts(event);
    }
  }

  /** Throws the fault if the event has the last counts. */
  #readCounts(event: ServerSentEvent): void {
    if (this.#converter.counts?.read(event) === true) throw this.#unusable;
  }

  /** The provider bills the whole answer, so its counts are awaited. Pings tell the gateway that it still sends. */
  #waitForCounts(bytes: number, events: StreamEvent[]): void {
    this.#unusableBytes += bytes;
    if (this.#unusableBytes <= bounds.unusableAnswerBytesMax) events.push(PING);
    else {
      this.#fail(this.#unusable);
      this.#cancel();
    }
  }

  /** null without any event. */
  #withCounts(events: StreamEvent[]): StreamEvent[] | null {
    this.#converter.counts?.carry(events);
    return events.length > 0 ? events : null;
  }

  /** Not awaited: the message is complete; this only concerns the connection. */
  #awaitEnd(): void {
    const timer = setTimeout(() => this.#cancel(), AFTER_END_MS_MAX);
    const drain = async () => {
      while (!(await this.#reader.read()).done);
    };
    drain().then(
      () => clearTimeout(timer),
      () => clearTimeout(timer), // broken or aborted: the connection cannot be reused
    );
  }

  /** Not awaited: the result does not matter. */
  #cancel(): void {
    this.#reader.cancel().catch(() => undefined);
  }
}
