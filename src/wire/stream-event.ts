// One event of a Messages stream on its way to the client, and how it is written on the wire.

import type { JsonObject } from './message-request.ts';

export interface StreamEvent {
  /** The event's name, equal to the `type` in its JSON. */
  name: string;
  /** One line of JSON, as the provider sent it. */
  json: string;
  /** The same, parsed. */
  value: JsonObject;
}

export const PING_TEXT = 'event: ping\ndata: {"type":"ping"}\n\n';

/** The event as text of an event stream. */
export function encodeEvent(event: { name: string; json: string }): string {
  return `event: ${event.name}\ndata: ${event.json}\n\n`;
}

/** An event made here from its JSON value. */
export function makeEvent(value: JsonObject & { type: string }): StreamEvent {
  return { name: value.type, json: JSON.stringify(value), value };
}
