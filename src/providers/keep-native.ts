// Answers to clients of a provider's own protocol: relayed as they come. The message and its events are only counted.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import {
  type JsonValue,
  type MessageRequest,
  type NativeBody,
  objectOf,
  type ServerSentEvent,
  type StreamEvent,
} from '../wire/wire.ts';
import { foldAnswer } from './compose-message.ts';
import { ProviderFault, type WholeReply } from './provider.ts';
import type { EventConverter, StreamCounts } from './pull-stream.ts';

/** The client's own body; null if it wrote in another protocol. */
export function nativeFor({ native }: Pick<MessageRequest, 'native'>, kind: string): NativeBody | null {
  return native?.kind === kind ? native : null;
}

/**
 * A whole answer in the provider's own text, with the message that is counted; the message's JSON if its provider did not count it.
 * Throws ProviderFault.
 */
export function keepAnswer(
  text: string,
  events: readonly StreamEvent[],
): Pick<WholeReply, 'message' | 'text' | 'isNative'> {
  const folded = foldAnswer(events);
  const { input_tokens: input, output_tokens: output } = objectOf(folded.message['usage']);
  const isCounted = isWholeNumber(input) && isWholeNumber(output);
  return isCounted ? { message: folded.message, text, isNative: true } : folded;
}

/** The events, of which the last one sends `chunk` after settlement. */
export function keepChunk(events: readonly StreamEvent[], chunk: JsonValue): StreamEvent[] {
  return sendWith(events, [{ name: 'message', text: JSON.stringify(chunk) }]);
}

/**
 * Events that send the provider's chunks in their place: each with the last of its events, so that nothing is sent that
 * the hold does not cover. The chunk that ends the answer, and those after it, are sent after settlement.
 */
export function keepEvents(converter: EventConverter, hasEnded: () => boolean = () => false): EventConverter {
  let held: ServerSentEvent[] = [];
  let heldCharacters = 0;
  const { counts } = converter;
  return {
    get isDone() {
      return converter.isDone;
    },
    ...(counts !== undefined && { counts: keepCounts(counts) }),
    take(event) {
      const events = converter.take(event);
      heldCharacters += event.text.length;
      if (heldCharacters > bounds.upstreamEventBytesMax)
        throw new ProviderFault('unusable', 'the provider sent too much that is not content');
      held.push(event);
      if (events.length === 0 || hasEnded()) return sendWith(events, []);
      const kept = sendWith(events, held);
      held = [];
      heldCharacters = 0;
      return kept;
    },
    end: () => sendWith(converter.end(), held),
  };
}

/** An event that only has counts sends nothing. */
function keepCounts(counts: StreamCounts): StreamCounts {
  return {
    carry(events) {
      const isOwn = events.length === 0;
      counts.carry(events);
      if (isOwn && events[0] !== undefined) events[0] = { ...events[0], native: [] };
    },
    read: (event) => counts.read(event),
    get usage() {
      return counts.usage;
    },
  };
}

function sendWith(events: readonly StreamEvent[], native: readonly ServerSentEvent[]): StreamEvent[] {
  return events.map((event, place) => ({ ...event, native: place === events.length - 1 ? native : [] }));
}
