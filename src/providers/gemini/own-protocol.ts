// Requests that clients wrote in Gemini's own protocol: their bodies are sent as they are, and answers are relayed as they
// come. The message and its events are only counted.

import { bounds } from '../../config.ts';
import {
  type JsonValue,
  type MemberSpan,
  type NativeBody,
  rewriteRequest,
  type ServerSentEvent,
  type StreamEvent,
  scanJson,
} from '../../wire/wire.ts';
import { foldAnswer } from '../compose-message.ts';
import { refuseField } from '../lost-fields.ts';
import { type Attempt, ProviderFault, type WholeReply } from '../provider.ts';
import type { EventConverter } from '../pull-stream.ts';

/** The client's own body; null if it wrote in another protocol. */
export function ownBody({ request: { native } }: Pick<Attempt, 'request'>): NativeBody | null {
  return native?.kind === 'gemini' ? native : null;
}

/** Google accepts both names of a field. */
const CONFIG_NAMES = ['generationConfig', 'generation_config'];

/** The body with this limit of its output, and nothing else changed. Throws ProviderFault (rejected). */
export function limitBody(own: NativeBody, maxTokens: number): string {
  if (maxTokens < 1) refuseField('max_tokens', 'the provider of this model requires at least 1');
  const span = CONFIG_NAMES.map((name) => own.members.get(name)).find((found) => isObject(own, found));
  if (span === undefined)
    return rewriteRequest(own, { generation_config: undefined, generationConfig: { maxOutputTokens: maxTokens } });
  const text = own.text.slice(span.start, span.end);
  const limit = { max_output_tokens: undefined, maxOutputTokens: maxTokens };
  return (
    own.text.slice(0, span.start) + rewriteRequest({ text, members: scanJson(text) }, limit) + own.text.slice(span.end)
  );
}

function isObject({ text }: NativeBody, span: MemberSpan | undefined): span is MemberSpan {
  return span !== undefined && text[span.start] === '{';
}

/** The request to count the body's tokens. */
export function countedBody(own: NativeBody, model: string): string {
  return `{"generateContentRequest":${rewriteRequest(own, { model })}}`;
}

/** A whole answer in the provider's own text, with the message that is counted. Throws ProviderFault. */
export function keepAnswer(text: string, events: readonly StreamEvent[]): Pick<WholeReply, 'message' | 'text'> {
  return { message: foldAnswer(events).message, text };
}

/** The events, of which the last one sends `chunk` after settlement. */
export function keepChunk(events: readonly StreamEvent[], chunk: JsonValue): StreamEvent[] {
  return sendWith(events, [{ name: 'message', text: JSON.stringify(chunk) }]);
}

/**
 * Events that send the provider's chunks in their place: each with the last of its events, so that nothing is sent that
 * the hold does not cover. The chunk that ends the answer, and those after it, are sent after settlement.
 */
export function keepEvents(converter: EventConverter, hasEnded: () => boolean): EventConverter {
  let held: ServerSentEvent[] = [];
  let heldCharacters = 0;
  return {
    isDone: false,
    take(event) {
      const events = converter.take(event);
      heldCharacters += event.text.length;
      if (heldCharacters > bounds.upstreamEventBytesMax)
        throw new ProviderFault('failed', 'the provider sent too much that is not content');
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

function sendWith(events: readonly StreamEvent[], native: readonly ServerSentEvent[]): StreamEvent[] {
  return events.map((event, place) => ({ ...event, native: place === events.length - 1 ? native : [] }));
}
