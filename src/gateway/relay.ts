// Relays upstream events to the client with backpressure. The last event waits for settlement. Pings fill silence;
// an error after the first byte is sent as an error event, never as a clean end.

import { assert } from '../base/assert.ts';
import { type Catalog, hiddenFromAccounts } from '../catalog/catalog.ts';
import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type EventReceiver, type EventSource, ProviderFault } from '../providers/providers.ts';
import { PING, PlainDeltas, type StreamEvent, type StreamPiece } from '../wire/wire.ts';
import type { Opened } from './attempts.ts';
import { clientTooSlow, endedElsewhere, faultError, moneyError } from './message-errors.ts';
import type { CutOutcome, OpenMessage } from './open-message.ts';
import { PingTimer } from './ping-timer.ts';

const SETTLE_QUICKLY_MS = 200; // before buffered events are flushed without waiting for settlement

type Arrived = StreamEvent[] | null;
type Asked = (result: IteratorResult<StreamPiece>) => void;

const PINGS: readonly StreamEvent[] = [PING];
const DONE: IteratorResult<StreamPiece> = { done: true, value: undefined };

/**
 * The upstream's side: `idle`, nothing is read; `reading`, one read is pending; `arrived`, `#run` has its events, or will
 * have them when the client asks; `ended`, nothing is read anymore, and what arrives is ignored.
 */
type State = 'idle' | 'reading' | 'arrived' | 'ended';

/**
 * The stream of one message, from its opening to its settlement. `#run` does everything in order, and alone awaits: the
 * opening, events, the ledger, the client. Deltas that are covered pass it by, from the read to the client's request. When the
 * client has left, `#run` goes on without it, as far as the message may go on.
 */
export class Relay implements AsyncIterableIterator<StreamPiece>, EventReceiver {
  readonly #message: OpenMessage;
  readonly #opening: Promise<Opened>;
  readonly #pings: PingTimer;
  #state: State = 'idle';
  #source: EventSource | null = null;
  /** Resolves the wait of `#run` for events. */
  #waiting: ((arrived: Arrived) => void) | null = null;
  /** Ended the last read. */
  #fault: { thrown: unknown } | null = null;
  /** The pending answer of `StreamHold.see` for the events that `#run` gets next. */
  #covering: Promise<boolean> | null = null;
  #isRunning = false;
  /** `#run` has events that the client gets with the next ones: nothing may pass it by. */
  #isHolding = false;
  /** The client's pending request for a piece. */
  #asked: Asked | null = null;
  /** A piece that came after the client had a ping instead. */
  #ready: StreamPiece | null = null;
  /** Wakes `#run` when the client asks again, or has left. */
  #onAsk: (() => void) | null = null;
  /** The client gets no more: it left, or got the end. */
  #isClosed = false;

  constructor(message: OpenMessage, opening: Promise<Opened>, pingIntervalMs: number) {
    this.#message = message;
    this.#opening = opening;
    this.#pings = new PingTimer(pingIntervalMs, () => this.#ping());
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<StreamPiece>> {
    if (!this.#isClosed) return new Promise(this.#ask);
    const value = this.#ready; // an error that the client did not ask for yet
    this.#ready = null;
    return Promise.resolve(value === null ? DONE : { done: false, value });
  }

  /** The client disconnected. */
  return(): Promise<IteratorResult<StreamPiece>> {
    this.leave();
    this.#ready = null;
    return Promise.resolve(DONE);
  }

  /** The client disconnected, or gets no more because its key was revoked. May be called at any time. */
  leave(): void {
    const message = this.#message;
    message.leave();
    if (!this.#isClosed) this.#close();
    if (message.hasEnded) this.#end();
    this.#goOn();
  }

  // ——— The client's side.

  readonly #ask = (resolve: Asked) => {
    assert(this.#asked === null, 'a client asks for one piece at a time');
    const nowMs = performance.now();
    this.#asked = resolve;
    this.#message.watch.resume(nowMs);
    this.#pings.begin(nowMs);
    if (!this.#isRunning) this.#message.beginReply();
    if (this.#ready === null) this.#goOn(nowMs);
    else {
      this.#answer(this.#ready, nowMs);
      this.#ready = null;
    }
  };

  /** The client asked, or has left. */
  #goOn(nowMs?: number): void {
    const onAsk = this.#onAsk;
    this.#onAsk = null;
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run(); // never rejects
    } else if (onAsk !== null) onAsk();
    else if (this.#state === 'idle' && this.#waiting !== null) this.#read(nowMs);
  }

  #answer(piece: StreamPiece, nowMs: number): void {
    const asked = this.#asked;
    this.#asked = null;
    this.#pings.end();
    this.#message.watch.pause(nowMs);
    asked?.({ done: false, value: piece });
  }

  #ping(): void {
    if (this.#asked !== null) this.#answer(PINGS, performance.now());
  }

  /** Sends a piece. Resolves when the client asks for the next one, or has left: nothing is read from the upstream before. */
  #give(piece: StreamPiece): Promise<void> | null {
    if (this.#isClosed) return null;
    if (this.#asked === null) this.#ready = piece;
    else this.#answer(piece, performance.now());
    return this.#untilAsked();
  }

  #untilAsked(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAsk = resolve;
    });
  }

  /** The client gets nothing more. */
  #close(): void {
    this.#isClosed = true;
    this.#pings.close();
    this.#message.watch.resume();
    this.#message.admitted.clientRequest.expect('end');
    this.#asked?.(DONE);
    this.#asked = null;
  }

  // ——— The upstream's side.

  #read(nowMs = performance.now()): void {
    assert(this.#state === 'idle' && this.#source !== null, `a stream that is ${this.#state} is not read`);
    this.#state = 'reading';
    this.#message.watch.begin(nowMs);
    if (this.#source.pull !== undefined) this.#source.pull(this);
    else
      this.#source.next().then(
        (events) => this.onEvents(events),
        (fault) => this.onFault(fault),
      );
  }

  onEvents(arrived: StreamEvent[] | PlainDeltas | null): void {
    if (this.#state === 'ended') return;
    assert(this.#state === 'reading', `events come to a stream that is ${this.#state}`);
    try {
      this.#take(arrived);
    } catch (thrown) {
      this.onFault(thrown);
    }
  }

  onFault(thrown: unknown): void {
    if (this.#state === 'ended') return;
    this.#state = 'arrived';
    this.#fault = { thrown };
    this.#message.watch.endAttempt();
    this.#waiting?.(null);
  }

  /** Counts events on arrival: backpressure from the client does not look like upstream silence. */
  #take(arrived: StreamEvent[] | PlainDeltas | null): void {
    const { watch, streamHold } = this.#message;
    const nowMs = performance.now();
    if (arrived === null) watch.endAttempt();
    else watch.end(nowMs);
    const events = arrived === null ? null : this.#message.take(arrived);
    if (events !== null && this.#asked !== null && !this.#isHolding && isDeltas(events)) {
      this.#covering = streamHold?.see() ?? null;
      this.#covering?.catch(() => undefined); // the message may end before `#run` gets to it
      if (this.#covering === null) {
        this.#state = 'idle';
        this.#answer(events, nowMs);
        return;
      }
    }
    this.#state = 'arrived';
    this.#waiting?.(events instanceof PlainDeltas ? events.events() : events);
  }

  /** The next events that are more than covered deltas, once the client asks; null at the end. Throws what reading threw. */
  async #next(): Promise<Arrived> {
    if (this.#state === 'ended') return null;
    const arrived = await new Promise<Arrived>((resolve) => {
      this.#waiting = resolve;
      this.#read();
    });
    this.#waiting = null;
    if (this.#asked === null && !this.#isClosed) await this.#untilAsked();
    if (this.#fault !== null) throw this.#fault.thrown;
    if (this.#state === 'arrived') this.#state = 'idle';
    return arrived;
  }

  /** The message has ended: what still arrives is ignored. */
  #end(): void {
    this.#state = 'ended';
    this.#waiting?.(null);
  }

  // ——— The message, in order.

  async #run(): Promise<void> {
    const message = this.#message;
    try {
      await this.#relay();
    } catch (thrown) {
      await this.#give([await fail(message, thrown)]); // settlement comes first, and may take long
    }
    this.#end();
    if (!this.#isClosed) this.#close();
  }

  async #relay(): Promise<void> {
    const message = this.#message;
    message.whenCutOff((error) => this.#cutOff(error));
    const { events, first } = requireStream(await this.#opening);
    this.#source = events;
    let arrived: Arrived = first;
    for (;;) {
      if (this.#state === 'ended') return;
      if (arrived === null && !this.#isClosed)
        throw new ProviderFault('failed', 'the stream ended before the message was complete');
      if (!(await this.#mayGoOn())) {
        await this.#give(payablePart(message, arrived ?? []));
        message.stop('money');
        throw message.stopError;
      }
      if (this.#isClosed) {
        if (arrived === null || message.counter.finished) break;
      } else if (message.counter.finished) {
        await this.#finish(arrived as StreamEvent[]);
        return;
      } else if (message.counter.isFinal && message.isLowered) {
        // Whether the message ends for lack of money is decided with its last event: its stop reason is held back
        // until then.
        this.#isHolding = true;
        const next = await this.#next();
        this.#isHolding = false;
        arrived = next && [...(arrived as StreamEvent[]), ...next];
        continue;
      } else await this.#give(arrived as StreamEvent[]);
      arrived = await this.#next();
    }
    await message.complete();
  }

  /** Whether the output is covered, if need be after a recharge, or does not end the message. */
  async #mayGoOn(): Promise<boolean> {
    const message = this.#message;
    const covering = this.#covering ?? message.streamHold?.see() ?? null;
    this.#covering = null;
    if (covering === null || (await covering) || !endsForMoney(message)) return true;
    return !this.#isClosed && message.streamHold !== null && (await message.streamHold.seeAfterRecharge());
  }

  /** Settles, then sends the last event. Flushes buffered events if settlement takes longer than 200 ms. */
  async #finish(arrived: StreamEvent[]): Promise<void> {
    const message = this.#message;
    if (message.hasEnded) {
      await this.#give(payablePart(message, arrived)); // it was cut while the client was not reading
      throw message.stopError ?? endedElsewhere();
    }
    const { attempt } = message;
    const events = attempt?.lacksCounts === true ? await attempt.completeLast(arrived) : arrived;
    const stopIndex = events.findIndex((event) => event.name === 'message_stop');
    const isCut = message.isCutByMoney;
    const reported = events.slice(0, stopIndex).filter((event) => !isCut || event.name !== 'message_delta');
    let before: readonly StreamEvent[] = reported;
    let end: StreamEvent;
    try {
      const settling = message.complete();
      if (!(await isSettledWithin(settling, SETTLE_QUICKLY_MS))) {
        await this.#give(before.length === 0 ? PINGS : before);
        before = [];
      }
      const settled = await settling;
      if (!settled.ok) end = errorEvent(message, endedElsewhere());
      else end = isCut ? errorEvent(message, moneyError()) : (events[stopIndex] as StreamEvent);
    } catch (failure) {
      end = errorEvent(message, asTurnpikeError(failure)); // the answer is complete; settlement is retried
    }
    await this.#give([...before, end]);
  }

  /** The client gets the error, and the upstream goes on for its bill. */
  #cutOff(error: TurnpikeError): void {
    if (this.#isClosed) return;
    const piece = [errorEvent(this.#message, error)];
    if (this.#asked === null) this.#ready = piece;
    else this.#answer(piece, performance.now());
    this.leave();
  }
}

/** The promise's value. Rejects if the message is cut off before. */
export function untilCutOff<Value>(message: OpenMessage, pending: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    message.whenCutOff(reject);
    pending.then(resolve, reject);
  });
}

function isDeltas(events: StreamEvent[] | PlainDeltas): boolean {
  return events instanceof PlainDeltas || events.every(({ name }) => name === 'content_block_delta');
}

/**
 * The output exceeds what is covered and no more money is available. The message ends, unless no more output will be
 * produced and the excess could not be foreseen.
 */
function endsForMoney({ counter, streamHold, admitted: { plan, maxTokens } }: OpenMessage): boolean {
  const isForeseen = !plan.thinks && counter.seenTokens(maxTokens) > (streamHold?.coveredTokens ?? 0);
  return !(counter.isFinal || counter.finished) || isForeseen;
}

/** The last events, as far as they are paid for. */
function payablePart({ streamHold }: OpenMessage, arrived: readonly StreamEvent[]): StreamEvent[] {
  const content = arrived.filter(({ name }) => name !== 'message_delta' && name !== 'message_stop');
  let left = (streamHold?.payableShare() ?? 0) * content.reduce((sum, { json }) => sum + json.length, 0);
  return content.filter(({ json }) => {
    left -= json.length;
    return left >= 0;
  });
}

function requireStream(opened: Opened): Extract<Opened, { form: 'stream' }> {
  if (opened.form === 'stream') return opened;
  throw new ProviderFault('failed', 'the provider answered a streaming request with a whole message');
}

/** Whether the promise resolves or rejects within this time. */
function isSettledWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), ms);
    const settle = () => {
      clearTimeout(timer);
      resolve(true);
    };
    promise.then(settle, settle);
  });
}

/** Ends a message whose stream broke, and returns the error event. */
async function fail(message: OpenMessage, thrown: unknown): Promise<StreamEvent> {
  message.attempt?.abort(); // if the upstream did not fail, it is still sending
  if (thrown instanceof ProviderFault && thrown.kind === 'unusable') message.takeUnusable(thrown);
  const outcome = cutBy(message, thrown);
  const error =
    message.stopError ?? (outcome === 'client_gone' ? clientTooSlow() : asCutError(thrown, message.admitted.catalog));
  try {
    await message.fail(error, outcome);
  } catch (failure) {
    return errorEvent(message, asTurnpikeError(failure));
  }
  return errorEvent(message, error);
}

/** Attributes a broken stream to upstream or client. An upstream that gave up during backpressure from a slow client did not fail. */
function cutBy({ stopReason, watch }: OpenMessage, thrown: unknown): CutOutcome {
  if (stopReason === 'timeout') return 'upstream_cut';
  if (stopReason !== null || !(thrown instanceof ProviderFault)) return 'service_cut';
  return watch.isBehind ? 'client_gone' : 'upstream_cut';
}

function asCutError(thrown: unknown, catalog: Catalog): TurnpikeError {
  return thrown instanceof ProviderFault ? faultError(thrown, hiddenFromAccounts(catalog)) : asTurnpikeError(thrown);
}

function errorEvent(message: OpenMessage, error: TurnpikeError): StreamEvent {
  const json = error.body(message.requestId);
  return { name: 'error', json, value: JSON.parse(json) };
}
