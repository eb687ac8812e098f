// The events of a provider's stream that speaks the Messages protocol. The data of each event stays the text
// that came; it is parsed once, here.

import type { ServerSentEvent, StreamEvent } from '../../wire/wire.ts';
import { mapErrorEvent } from '../map-fault.ts';
import { parseObject } from '../parse-json.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { type EventConverter, pullStream } from '../pull-stream.ts';

/** Reads a body as a Messages stream; `signal` is the one its fetch was given. It is closed by its end, a fault, or the signal. */
export function readStream(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal,
  upstreamRequestId: string | null,
): EventSource {
  return pullStream(body, signal, new MessagesReader(upstreamRequestId));
}

/** Passes events on as they are, but for the provider's keep-alives. */
class MessagesReader implements EventConverter {
  isDone = false;
  #isBegun = false;
  readonly #upstreamRequestId: string | null;

  constructor(upstreamRequestId: string | null) {
    this.#upstreamRequestId = upstreamRequestId;
  }

  take({ name, text }: ServerSentEvent): StreamEvent[] {
    if (name === 'ping') return [];
    const event = readEvent(text, this.#upstreamRequestId);
    if (event.name === 'ping') return [];
    if (event.name === 'message_start') this.#begin();
    if (event.name === 'message_stop') this.isDone = true;
    return [event];
  }

  /** Another answer behind a part of one, as of a proxy that tried again: a caller must not get both as one. */
  #begin(): void {
    if (this.#isBegun)
      throw new ProviderFault('failed', 'the provider began its message twice', {
        upstreamRequestId: this.#upstreamRequestId,
      });
    this.#isBegun = true;
  }

  end(): StreamEvent[] {
    throw new ProviderFault('failed', 'the stream ended before the message did', {
      upstreamRequestId: this.#upstreamRequestId,
    });
  }
}

function readEvent(text: string, upstreamRequestId: string | null): StreamEvent {
  const value = parseObject(text, { what: 'an event', upstreamRequestId });
  const name = value['type'];
  if (typeof name !== 'string')
    throw new ProviderFault('failed', 'the provider sent an event without a type', { upstreamRequestId });
  if (name === 'error') throw mapErrorEvent(value, upstreamRequestId);
  // Line feeds can only stand between the parts of the JSON: inside its strings they are escaped.
  return { name, json: text.includes('\n') ? text.replaceAll('\n', ' ') : text, value };
}
