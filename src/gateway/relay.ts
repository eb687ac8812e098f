// Upstream events to the client, no faster than it reads. The last event waits until the message
// is billed. Pings fill silence; an error after the first byte is an event, never a clean end.

import { asTurnpikeError, type TurnpikeError } from '../errors.ts';
import { type EventSource, ProviderFault } from '../providers/providers.ts';
import { encodeEvent, PING_TEXT, type StreamEvent } from '../wire/wire.ts';
import type { Opened } from './attempts.ts';
import { faultError } from './fault-error.ts';
import type { OpenMessage } from './open-message.ts';
import { PatientWait } from './patient-wait.ts';
import { endedElsewhere, moneyError, stopError } from './stop-error.ts';

const SETTLE_QUICKLY_MS = 200; // how long text that is ready waits for its end to be billed

/** The text of the stream that the client gets. `opening` may still be under way: pings flow until it is done. */
export async function* relay(
  message: OpenMessage,
  opening: Promise<Opened>,
  pingIntervalMs: number,
): AsyncGenerator<string> {
  message.hasReply = true;
  const wait = new PatientWait(pingIntervalMs);
  let events: EventSource | null = null;
  let pending: Promise<StreamEvent[] | null> = opening.then((opened) => {
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
        if (message.callerHasLeft) return; // while nobody read here: it is finished there
        message.isRelaying = true;
        arrived = await wait.for(pending);
      }
      message.pulling = null;
      if (arrived === null) throw new ProviderFault('failed', 'the stream ended before the message did');
      if (message.callerHasLeft) {
        if (!message.hasEnded) await finishWithoutCaller(message, opening);
        return;
      }
      const covering = message.cover?.see() ?? null;
      if (covering !== null && !(yield* patiently(message, wait, covering)) && endsForMoney(message)) {
        yield* give(message, encode(payablePart(message, arrived)));
        message.stopForMoney();
        throw stopError(message);
      }
      if (message.counter.finished && message.hasEnded) {
        yield* give(message, encode(payablePart(message, arrived))); // it was cut while nobody read here
        throw stopError(message) ?? endedElsewhere();
      }
      if (message.counter.finished) {
        for await (const text of finish(message, arrived, wait)) yield* give(message, text);
        return;
      }
      message.isRelaying = false;
      yield encode(arrived);
      if (message.callerHasLeft) return;
      pending = pull(message, events as unknown as EventSource);
    }
  } catch (thrown) {
    yield* give(message, yield* patiently(message, wait, fail(message, thrown))); // it is billed first, which may take long
  } finally {
    // The client's reader went away: its signal says so too, whichever comes first.
    wait.close();
    message.isRelaying = false;
    leaveMessage(message, opening);
    message.submission.expect('end');
  }
}

/** What the promise gives, with pings to the client as long as it does not. */
async function* patiently<Value>(
  message: OpenMessage,
  wait: PatientWait,
  pending: Promise<Value>,
): AsyncGenerator<string, Value> {
  message.isRelaying = true;
  for (;;) {
    const value = await wait.for(pending);
    if (value !== 'ping') return value;
    yield* give(message, PING_TEXT);
    message.isRelaying = true;
  }
}

/** Text for the client. While it has not asked for more, nobody reads of the upstream. */
function* give(message: OpenMessage, text: string): Generator<string, void> {
  message.isRelaying = false;
  yield text;
}

/** Of what has come not all is covered, and there is no more money: it ends, unless it is whole and that could not be foreseen. */
function endsForMoney({ counter, cover, plan, maxTokens }: OpenMessage): boolean {
  const isForeseen = !plan.thinks && counter.seenTokens(maxTokens) > (cover?.coveredTokens ?? 0);
  return !counter.finished || isForeseen;
}

/** The events that came last, as far as they are paid for. */
function payablePart({ cover }: OpenMessage, arrived: readonly StreamEvent[]): StreamEvent[] {
  const content = arrived.filter(({ name }) => name !== 'message_delta' && name !== 'message_stop');
  let left = (cover?.payableShare() ?? 0) * content.reduce((sum, { json }) => sum + json.length, 0);
  return content.filter(({ json }) => {
    left -= json.length;
    return left >= 0;
  });
}

/** The caller has left, or will not read on. Nothing when the message has ended. */
export function leaveMessage(message: OpenMessage, opening: Promise<Opened>): void {
  if (message.hasEnded) return;
  message.leave();
  // Where the relay waits for the upstream, it goes on by itself.
  if (message.isStream && !message.hasEnded && !message.isRelaying) void finishWithoutCaller(message, opening);
}

/** Reads a stream to its end for a caller who left, so that it is billed as reported. Never rejects. */
async function finishWithoutCaller(message: OpenMessage, opening: Promise<Opened>): Promise<void> {
  if (message.isFinishing) return;
  message.isFinishing = true;
  try {
    const { events } = requireStream(await opening);
    for (;;) {
      const covering = message.cover?.see() ?? null;
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
  throw new ProviderFault('failed', 'the provider answered a stream with a whole message');
}

/** What comes next, counted when it comes: a caller who rests meanwhile does not make its provider silent. */
function pull(message: OpenMessage, events: EventSource): Promise<StreamEvent[] | null> {
  message.watch.begin();
  const pulling = events.next().then(
    (arrived) => {
      message.watch.end();
      return arrived === null ? null : message.take(arrived);
    },
    (failure) => {
      message.watch.end();
      throw failure;
    },
  );
  message.pulling = pulling;
  return pulling;
}

/** Bills, then gives out the end. What came with the end is not kept waiting when billing takes long. */
async function* finish(message: OpenMessage, arrived: StreamEvent[], wait: PatientWait): AsyncGenerator<string> {
  const stopIndex = arrived.findIndex((event) => event.name === 'message_stop');
  const isCut = message.isLowered && message.counter.stopReason === 'max_tokens';
  const told = arrived.slice(0, stopIndex).filter((event) => !isCut || event.name !== 'message_delta');
  let before = encode(told);
  const quick = new PatientWait(SETTLE_QUICKLY_MS);
  let end: string;
  try {
    const settling = isCut ? message.endForMoney() : message.complete();
    let settled = await quick.for(settling);
    while (settled === 'ping') {
      yield before === '' ? PING_TEXT : before;
      before = '';
      settled = await wait.for(settling);
    }
    if (!settled.ok) end = errorEvent(message, endedElsewhere());
    else end = isCut ? errorEvent(message, moneyError()) : encodeEvent(arrived[stopIndex] as StreamEvent);
  } catch (failure) {
    end = errorEvent(message, asTurnpikeError(failure)); // the answer is complete, and its billing follows
  } finally {
    quick.close();
  }
  yield before + end;
}

/** Ends a message whose stream broke, and gives the event that says so. */
async function fail(message: OpenMessage, thrown: unknown): Promise<string> {
  message.dropAttempt(); // where it was not the upstream that failed, it still sends
  const error = stopError(message) ?? (thrown instanceof ProviderFault ? faultError(thrown) : asTurnpikeError(thrown));
  try {
    if (message.counter.started) await message.cutShort(error, 200, isOfUpstream(message, thrown));
    else await message.fail(error);
  } catch (failure) {
    return errorEvent(message, asTurnpikeError(failure));
  }
  return errorEvent(message, error);
}

function isOfUpstream({ stopReason }: OpenMessage, thrown: unknown): boolean {
  return stopReason === 'timeout' || (stopReason === null && thrown instanceof ProviderFault);
}

function errorEvent(message: OpenMessage, error: TurnpikeError): string {
  return encodeEvent({ name: 'error', json: error.body(message.submission.requestId) });
}

function encode(events: readonly StreamEvent[]): string {
  let text = '';
  for (const event of events) text += encodeEvent(event);
  return text;
}
