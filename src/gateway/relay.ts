// Upstream events to the client, no faster than it reads. The last event waits until the message
// is billed. Pings fill silence; an error after the first byte is an event, never a clean end.

import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import { type EventSource, ProviderFault } from '../providers/providers.ts';
import { encodeEvent, PING_TEXT, type StreamEvent } from '../wire/wire.ts';
import { type Opened, stopError } from './attempts.ts';
import { faultError } from './fault-error.ts';
import type { OpenMessage } from './open-message.ts';
import { PatientWait } from './patient-wait.ts';

const SETTLE_QUICKLY_MS = 200; // how long text that is ready waits for its end to be billed

/** The text of the stream that the client gets. `opening` may still be under way: pings flow until it is done. */
export async function* relay(
  message: OpenMessage,
  opening: Promise<Opened>,
  pingIntervalMs: number,
): AsyncGenerator<string> {
  const wait = new PatientWait(pingIntervalMs);
  try {
    let events: EventSource | null = null;
    let pending: Promise<StreamEvent[] | null> = opening.then((opened) => {
      const stream = requireStream(opened);
      events = stream.events;
      return stream.first;
    });
    for (let isCounted = true; ; isCounted = false) {
      let arrived = await wait.for(pending);
      while (arrived === 'ping') {
        if (!isCounted) pending = countOnArrival(message, pending);
        isCounted = true;
        yield PING_TEXT;
        arrived = await wait.for(pending);
      }
      message.watch.end();
      if (arrived === null) throw new ProviderFault('failed', 'the stream ended before the message did');
      if (!isCounted) count(message, arrived);
      if (message.callerHasLeft) return;
      if (message.counter.finished) {
        yield* finish(message, arrived, wait);
        return;
      }
      yield encode(arrived);
      if (events === null) return;
      pending = pull(message, events);
    }
  } catch (thrown) {
    const failing = fail(message, thrown); // it is billed first, which may take long
    let end = await wait.for(failing);
    while (end === 'ping') {
      yield PING_TEXT;
      end = await wait.for(failing);
    }
    yield end;
  } finally {
    // The client's reader went away: its signal says so too, whichever comes first.
    wait.close();
    leaveMessage(message, opening);
    message.submission.expect('end');
  }
}

/** The caller has left, or will not read on. Nothing when the message has ended, or when this was known. */
export function leaveMessage(message: OpenMessage, opening: Promise<Opened>): void {
  if (message.hasEnded || message.callerHasLeft) return;
  message.leave();
  if (message.isStream && !message.hasEnded) void finishWithoutCaller(message, opening);
}

/** Reads a stream to its end for a caller who left before it began, so that it is billed as reported. */
async function finishWithoutCaller(message: OpenMessage, opening: Promise<Opened>): Promise<void> {
  try {
    const { events } = requireStream(await opening);
    while (!message.counter.finished) {
      const arrived = await pull(message, events);
      if (arrived === null) break;
      count(message, arrived);
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

function pull(message: OpenMessage, events: EventSource): Promise<StreamEvent[] | null> {
  message.watch.begin();
  return events.next();
}

function count(message: OpenMessage, events: readonly StreamEvent[]): void {
  message.watch.end();
  for (const event of events) message.counter.observe(event);
}

/** While the caller is sent a ping it may rest: what comes meanwhile has come, and its provider is not silent. */
function countOnArrival(message: OpenMessage, pending: Promise<StreamEvent[] | null>): Promise<StreamEvent[] | null> {
  const counted = pending
    .then((arrived) => {
      if (arrived !== null) count(message, arrived);
      return arrived;
    })
    .finally(() => message.watch.end());
  counted.catch(() => {}); // a caller who leaves at its ping never asks for it
  return counted;
}

/** Bills, then gives out the end. What came with the end is not kept waiting when billing takes long. */
async function* finish(message: OpenMessage, arrived: StreamEvent[], wait: PatientWait): AsyncGenerator<string> {
  const stopIndex = arrived.findIndex((event) => event.name === 'message_stop');
  let before = encode(arrived.slice(0, stopIndex));
  const quick = new PatientWait(SETTLE_QUICKLY_MS);
  let end: string;
  try {
    const settling = message.complete();
    let settled = await quick.for(settling);
    while (settled === 'ping') {
      yield before === '' ? PING_TEXT : before;
      before = '';
      settled = await wait.for(settling);
    }
    end = settled.ok ? encodeEvent(arrived[stopIndex] as StreamEvent) : errorEvent(message, endedElsewhere());
  } catch (failure) {
    end = errorEvent(message, asTurnpikeError(failure)); // the answer is complete, and its billing follows
  } finally {
    quick.close();
  }
  yield before + end;
}

/** Ends a message whose stream broke, and gives the event that says so. */
async function fail(message: OpenMessage, thrown: unknown): Promise<string> {
  const error = stopError(message) ?? (thrown instanceof ProviderFault ? faultError(thrown) : asTurnpikeError(thrown));
  try {
    if (!message.counter.started) await message.fail(error);
    else if (message.callerHasLeft) await message.complete();
    else await message.end('upstream_cut', 200, error);
  } catch (failure) {
    return errorEvent(message, asTurnpikeError(failure));
  }
  return errorEvent(message, error);
}

/** Someone else ended the hold: the answer may not be reported as complete. */
function endedElsewhere(): TurnpikeError {
  return new TurnpikeError('internal', 'This message was ended by another node, which took it for abandoned.');
}

function errorEvent(message: OpenMessage, error: TurnpikeError): string {
  return encodeEvent({ name: 'error', json: error.body(message.submission.requestId) });
}

function encode(events: readonly StreamEvent[]): string {
  let text = '';
  for (const event of events) text += encodeEvent(event);
  return text;
}
