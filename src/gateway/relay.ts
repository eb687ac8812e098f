// Relays upstream events to the client with backpressure. The last event waits for settlement. Pings fill silence;
// an error after the first byte is sent as an error event, never as a clean end.

import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type EventReceiver, type EventSource, ProviderFault } from '../providers/providers.ts';
import { encodeEvent, PING_TEXT, PlainDeltas, type StreamEvent } from '../wire/wire.ts';
import type { Opened } from './attempts.ts';
import { clientTooSlow, endedElsewhere, faultError, moneyError, stopError } from './message-errors.ts';
import type { CutOutcome, OpenMessage } from './open-message.ts';

class PingWait {
  readonly #pingMs: number;
  #sinceMs = 0;
  #wake: (() => void) | null = null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(pingMs: number) {
    this.#pingMs = pingMs;
  }

  /**
   * The value of the promise, or 'ping' if it has not resolved within the interval. May be called again for the same
   * promise. One wait at a time.
   */
  for<Value>(pending: Promise<Value>): Promise<Value | 'ping'> {
    return new Promise((resolve, reject) => {
      this.begin(performance.now(), () => resolve('ping')); // no effect if the promise has resolved
      pending.then(resolve, reject);
    });
  }

  /** Calls `wake` after the interval, unless another wait begins or this one ends. */
  begin(nowMs: number, wake: () => void): void {
    this.#sinceMs = nowMs;
    this.#wake = wake;
    this.#timer ??= setTimeout(() => this.#look(), this.#pingMs);
  }

  end(): void {
    this.#wake = null;
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#wake = null;
  }

  #look(): void {
    this.#timer = null;
    if (this.#wake === null) return;
    const leftMs = this.#pingMs - (performance.now() - this.#sinceMs);
    if (leftMs > 0) this.#timer = setTimeout(() => this.#look(), leftMs);
    else this.#wake();
  }
}

const SETTLE_QUICKLY_MS = 200; // before buffered events are flushed without waiting for settlement

type Piece = string | Uint8Array;

/** The client's stream. While `opening` is pending, pings are sent. */
export function relay(message: OpenMessage, opening: Promise<Opened>, pingIntervalMs: number): AsyncIterable<Piece> {
  return new RelayedStream(message, opening, pingIntervalMs);
}

/**
 * Deltas are relayed here, with one promise and without a generator. Everything else is left to `relayEvents`, which is
 * suspended after the last events it sent, and finds the pending read in `message.pulling`.
 */
export class RelayedStream implements AsyncIterableIterator<Piece>, EventReceiver {
  readonly #message: OpenMessage;
  readonly #steps: AsyncGenerator<Piece>;
  readonly #state: RelayState;
  /** Resolves the pending `next`; null if this object does not wait for the upstream. */
  #resolve: ((result: IteratorResult<Piece> | Promise<IteratorResult<Piece>>) => void) | null = null;
  /** Resolves `message.pulling`, which replaces the pending read for `relayEvents`. */
  #handOver: ((events: StreamEvent[] | null | Promise<never>) => void) | null = null;

  constructor(message: OpenMessage, opening: Promise<Opened>, pingIntervalMs: number) {
    this.#message = message;
    this.#state = { wait: new PingWait(pingIntervalMs), source: null, covering: null };
    this.#steps = relayEvents(message, opening, this.#state);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<Piece>> {
    return this.#state.source === null || this.#message.hasDisconnected ? this.#steps.next() : new Promise(this.#pull);
  }

  /** The client disconnected. */
  return(): Promise<IteratorResult<Piece>> {
    if (this.#resolve !== null) this.#leaveRead({ done: true, value: undefined });
    return this.#steps.return(undefined);
  }

  readonly #pull = (resolve: (result: IteratorResult<Piece> | Promise<IteratorResult<Piece>>) => void) => {
    const { watch } = this.#message;
    const nowMs = performance.now();
    this.#resolve = resolve;
    this.#message.isRelaying = true;
    watch.resume(nowMs);
    watch.begin(nowMs);
    this.#state.wait.begin(nowMs, this.#ping);
    this.#state.source?.pull?.(this);
  };

  onEvents(events: StreamEvent[] | PlainDeltas | null): void {
    try {
      this.#take(events);
    } catch (thrown) {
      this.onFault(thrown);
    }
  }

  onFault(fault: unknown): void {
    this.#message.watch.endAttempt();
    this.#giveUp(Promise.reject(fault));
  }

  #take(arrived: StreamEvent[] | PlainDeltas | null): void {
    const message = this.#message;
    const nowMs = performance.now();
    if (arrived === null) message.watch.endAttempt();
    else message.watch.end(nowMs);
    const events = arrived === null ? null : count(message, arrived);
    if (events !== null && this.#resolve !== null && !message.hasDisconnected && isDeltas(events)) {
      const covering = message.streamHold?.see() ?? null;
      if (covering === null) {
        this.#give(events instanceof PlainDeltas ? events.bytes : encode(events), nowMs);
        return;
      }
      this.#state.covering = covering;
    }
    this.#giveUp(events instanceof PlainDeltas ? events.events() : events);
  }

  #give(piece: Piece, nowMs: number): void {
    const resolve = this.#resolve;
    this.#resolve = null;
    this.#state.wait.end();
    this.#message.isRelaying = false;
    this.#message.watch.pause(nowMs);
    resolve?.({ done: false, value: piece });
  }

  /** The read has ended in another way: `relayEvents` goes on with it. */
  #giveUp(events: StreamEvent[] | null | Promise<never>): void {
    const handOver = this.#handOver;
    this.#handOver = null;
    if (handOver !== null) {
      handOver(events);
      return;
    }
    const pulling = Promise.resolve(events);
    pulling.catch(() => undefined); // the generator may not get to it
    this.#message.pulling = pulling;
    this.#state.source = null;
    const resolve = this.#resolve;
    this.#resolve = null;
    resolve?.(this.#steps.next());
  }

  readonly #ping = () => {
    if (this.#resolve !== null) this.#leaveRead({ done: false, value: PING_TEXT });
  };

  /** Answers the pending `next` before the read has ended. */
  #leaveRead(result: IteratorResult<Piece>): void {
    const pulling = new Promise<StreamEvent[] | null>((resolve) => {
      this.#handOver = resolve;
    });
    pulling.catch(() => undefined);
    this.#message.pulling = pulling;
    this.#state.source = null;
    const resolve = this.#resolve;
    this.#resolve = null;
    this.#state.wait.end();
    this.#message.isRelaying = false;
    this.#message.watch.pause();
    resolve?.(result);
  }
}

function isDeltas(events: StreamEvent[] | PlainDeltas): boolean {
  return events instanceof PlainDeltas || events.every(({ name }) => name === 'content_block_delta');
}

function count(message: OpenMessage, events: StreamEvent[] | PlainDeltas): StreamEvent[] | PlainDeltas {
  if (!(events instanceof PlainDeltas)) return message.take(events);
  message.takePlain(events);
  return events;
}

interface RelayState {
  readonly wait: PingWait;
  /** While `relayEvents` is suspended between two reads, and leaves the next one to RelayedStream. */
  source: EventSource | null;
  /** The pending answer of `StreamHold.see` for the events in `message.pulling`. */
  covering: Promise<boolean> | null;
}

async function* relayEvents(message: OpenMessage, opening: Promise<Opened>, state: RelayState): AsyncGenerator<Piece> {
  message.beginReply();
  const { wait } = state;
  let events: EventSource | null = null;
  let pending: Promise<StreamEvent[] | null> = untilCutOff(message, opening).then((opened) => {
    const stream = requireStream(opened);
    events = stream.events;
    return stream.first;
  });
  try {
    for (;;) {
      message.isRelaying = true;
      let arrived = await wait.for(pending);
      while (arrived === 'ping') {
        yield* give(message, PING_TEXT);
        if (message.hasDisconnected) return; // the stream is finished in the background
        message.isRelaying = true;
        arrived = await wait.for(pending);
      }
      message.pulling = null;
      if (arrived === null) throw new ProviderFault('failed', 'the stream ended before the message was complete');
      if (message.hasDisconnected) {
        if (!message.hasEnded) await finishWithoutCaller(message, opening);
        return;
      }
      const covering = state.covering ?? message.streamHold?.see() ?? null;
      state.covering = null;
      if (covering !== null && !(yield* mayGoOn(message, wait, covering))) {
        yield* give(message, encode(payablePart(message, arrived)));
        message.stopForMoney();
        throw stopError(message);
      }
      if (message.counter.finished && message.hasEnded) {
        yield* give(message, encode(payablePart(message, arrived))); // it was cut while the client was not reading
        throw stopError(message) ?? endedElsewhere();
      }
      if (message.counter.finished) {
        const last = message.lacksCounts ? yield* withPings(message, wait, message.completeLast(arrived)) : arrived;
        for await (const text of finish(message, last, wait)) yield* give(message, text);
        return;
      }
      if (message.counter.isFinal && message.isLowered) {
        // Whether the message ends for lack of money is decided with its last event: its stop reason is held back
        // until then.
        const last = arrived;
        pending = pull(message, events as unknown as EventSource).then((next) => next && [...last, ...next]);
        continue;
      }
      message.isRelaying = false;
      const source = events as unknown as EventSource;
      if (source.pull !== undefined) state.source = source;
      yield* give(message, encode(arrived));
      state.source = null;
      if (message.hasDisconnected) return;
      pending = message.pulling ?? pull(message, source);
    }
  } catch (thrown) {
    // After a cut, the upstream goes on for its bill. Otherwise settlement comes first and may take long.
    if (message.isCutOff) yield* give(message, errorEvent(message, asCutError(thrown)));
    else yield* give(message, yield* withPings(message, wait, fail(message, thrown)));
  } finally {
    // The reader was cancelled; the disconnect signal may come before or after.
    state.source = null;
    wait.close();
    message.watch.resume();
    message.isRelaying = false;
    leaveMessage(message, opening);
    message.clientRequest.expect('end');
  }
}

/** The promise's value. Rejects if the message is cut off before. */
export function untilCutOff<Value>(message: OpenMessage, pending: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (message.isCutOff) reject(stopError(message));
    message.onCutOff = reject;
    pending.then(resolve, reject);
  });
}

/** The promise's value, with pings to the client until it resolves. */
async function* withPings<Value>(
  message: OpenMessage,
  wait: PingWait,
  pending: Promise<Value>,
): AsyncGenerator<Piece, Value> {
  message.isRelaying = true;
  for (;;) {
    const value = await wait.for(pending);
    if (value !== 'ping') return value;
    yield* give(message, PING_TEXT);
    message.isRelaying = true;
  }
}

/** Whether the output is covered, if need be after a recharge, or does not end the message. Pings meanwhile. */
async function* mayGoOn(
  message: OpenMessage,
  wait: PingWait,
  covering: Promise<boolean>,
): AsyncGenerator<Piece, boolean> {
  if ((yield* withPings(message, wait, covering)) || !endsForMoney(message)) return true;
  const { streamHold } = message;
  return streamHold !== null && (yield* withPings(message, wait, streamHold.seeAfterRecharge()));
}

/** Sends text to the client. Nothing is read from the upstream until the client asks for more. */
function* give(message: OpenMessage, text: string): Generator<string, void> {
  message.isRelaying = false;
  message.watch.pause();
  yield text;
  message.watch.resume();
}

/**
 * The output exceeds what is covered and no more money is available. The message ends, unless no more output will be
 * produced and the excess could not be foreseen.
 */
function endsForMoney({ counter, streamHold, plan, maxTokens }: OpenMessage): boolean {
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

/** The client disconnected or stopped reading. No effect after the end of the message. */
export function leaveMessage(message: OpenMessage, opening: Promise<Opened>): void {
  if (message.hasEnded) return;
  message.leave();
  // While the relay waits for the upstream, it notices the disconnect itself.
  if (message.isStream && !message.hasEnded && !message.isRelaying) void finishWithoutCaller(message, opening);
}

/** Reads a stream to its end after the client disconnected, so that it is billed as reported. Never rejects. */
async function finishWithoutCaller(message: OpenMessage, opening: Promise<Opened>): Promise<void> {
  if (!message.finishUnread()) return;
  message.watch.resume();
  try {
    const { events } = requireStream(await opening);
    for (;;) {
      const covering = message.streamHold?.see() ?? null;
      if (covering !== null && !(await covering) && endsForMoney(message)) {
        message.stopForMoney();
        throw stopError(message);
      }
      if (message.counter.finished) break;
      const arrived = await (message.pulling ?? pull(message, events));
      message.pulling = null;
      if (arrived === null) break;
    }
    await message.complete();
  } catch (thrown) {
    await fail(message, thrown);
  }
}

function requireStream(opened: Opened): Extract<Opened, { form: 'stream' }> {
  if (opened.form === 'stream') return opened;
  throw new ProviderFault('failed', 'the provider answered a streaming request with a whole message');
}

/** The next events, counted on arrival: backpressure from the client does not look like upstream silence. */
function pull(message: OpenMessage, events: EventSource): Promise<StreamEvent[] | null> {
  message.watch.begin();
  message.pulling = read(message, events);
  return message.pulling;
}

async function read(message: OpenMessage, events: EventSource): Promise<StreamEvent[] | null> {
  let arrived: StreamEvent[] | null = null;
  try {
    arrived = await events.next();
    if (arrived !== null) message.watch.end();
  } finally {
    if (arrived === null) message.watch.endAttempt();
  }
  return arrived && message.take(arrived);
}

/** Settles, then sends the last event. Flushes buffered events if settlement takes longer than 200 ms. */
async function* finish(message: OpenMessage, arrived: StreamEvent[], wait: PingWait): AsyncGenerator<string> {
  const stopIndex = arrived.findIndex((event) => event.name === 'message_stop');
  const isCut = message.isCutByMoney;
  const reported = arrived.slice(0, stopIndex).filter((event) => !isCut || event.name !== 'message_delta');
  let before = encode(reported);
  const quick = new PingWait(SETTLE_QUICKLY_MS);
  let end: string;
  try {
    const settling = message.complete();
    let settled = await quick.for(settling);
    while (settled === 'ping') {
      yield before === '' ? PING_TEXT : before;
      before = '';
      settled = await wait.for(settling);
    }
    if (!settled.ok) end = errorEvent(message, endedElsewhere());
    else end = isCut ? errorEvent(message, moneyError()) : encodeEvent(arrived[stopIndex] as StreamEvent);
  } catch (failure) {
    end = errorEvent(message, asTurnpikeError(failure)); // the answer is complete; settlement is retried
  } finally {
    quick.close();
  }
  yield before + end;
}

/** Ends a message whose stream broke, and returns the error event. */
async function fail(message: OpenMessage, thrown: unknown): Promise<string> {
  message.dropAttempt(); // if the upstream did not fail, it is still sending
  if (thrown instanceof ProviderFault && thrown.kind === 'unusable') message.takeUnusable(thrown);
  const outcome = cutBy(message, thrown);
  const error = stopError(message) ?? (outcome === 'client_gone' ? clientTooSlow() : asCutError(thrown));
  try {
    if (message.counter.started && !message.isUnusable) await message.cutShort(error, 200, outcome);
    else await message.fail(error);
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

function asCutError(thrown: unknown): TurnpikeError {
  return thrown instanceof ProviderFault ? faultError(thrown) : asTurnpikeError(thrown);
}

function errorEvent(message: OpenMessage, error: TurnpikeError): string {
  return encodeEvent({ name: 'error', json: error.body(message.clientRequest.requestId) });
}

function encode(events: readonly StreamEvent[]): string {
  let text = '';
  for (const event of events) text += encodeEvent(event);
  return text;
}
