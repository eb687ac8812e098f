// The text in which answers are stored for idempotency keys. The stored events of a stream, and the JSON of a whole answer, are
// read again only here. Its form must not change: earlier versions wrote it.

import {
  encodeEvent,
  encodeNative,
  isJsonObject,
  type JsonValue,
  type Protocol,
  type StreamEvent,
  servesOf,
} from '../wire/wire.ts';
import type { WholeAnswer } from './client-request.ts';

/** Begins an event of a provider of the client's own protocol. */
const NATIVE_MARK = ': native\n';
const EVENT_END = '\n\n';
const EVENT = 'event: ';
const DATA = 'data: ';

export function storedText({ name, json, native }: StreamEvent): string {
  if (native === undefined) return encodeEvent({ name, json });
  return native.map((event) => NATIVE_MARK + encodeNative(event)).join('');
}

/** The events of a text that ends with one. */
export function readStoredEvents(text: string): StreamEvent[] {
  return text.split(EVENT_END).slice(0, -1).map(readEvent);
}

function readEvent(lines: string): StreamEvent {
  const isNative = lines.startsWith(NATIVE_MARK);
  const event = isNative ? lines.slice(NATIVE_MARK.length) : lines;
  const dataFrom = event.startsWith(DATA) ? 0 : event.indexOf(`\n${DATA}`) + 1;
  const json = event.slice(dataFrom + DATA.length);
  const name = dataFrom === 0 ? 'message' : event.slice(EVENT.length, dataFrom - 1);
  if (isNative) return { name, json: '{}', value: {}, native: [{ name, text: json }] };
  const value: JsonValue = JSON.parse(json);
  return { name, json, value: isJsonObject(value) ? value : {} };
}

/** Clients of some protocols get every text as it is stored. */
export function readStoredAnswer(text: string, protocol: Protocol): WholeAnswer {
  if (protocol === 'messages' || servesOf(protocol) !== 'messages') return { text, message: null };
  const value: JsonValue = JSON.parse(text);
  return { text, message: isJsonObject(value) && value['type'] === 'message' ? value : null };
}
