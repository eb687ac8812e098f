// Parses an event stream (WHATWG HTML, 9.2.6) from bytes split anywhere. Ignores `id` and `retry`.

import { bounds } from '../config/config.ts';
import { type PlainDeltas, readPlainDeltas } from './plain-deltas.ts';

export interface ServerSentEvent {
  /** "message" if the stream named none. */
  name: string;
  /** The data lines, joined by line feeds. */
  text: string;
}

/** An event exceeds bounds.upstreamEventBytesMax characters. The parser is unusable afterwards. */
export class EventTooLong extends Error {
  override name = 'EventTooLong';
}

const LINE_FEED = 0x0a;

export class EventStreamParser {
  readonly #decoder = new TextDecoder(); // strips a byte order mark, and replaces invalid UTF-8
  #lineParts: string[] = []; // the incomplete line
  #name = '';
  #data: string | null = null;
  #heldCharacters = 0; // of the incomplete line and event
  #endedWithReturn = false;
  #isAtLine = false; // the last byte ended a line; not at the beginning, where the decoder may find a byte order mark
  #tail: Uint8Array | null = null; // the beginning of a delta, not decoded yet

  /**
   * The events that these bytes completed, if they are only plain deltas; they may be none. null: nothing was taken, and
   * the bytes must be pushed.
   */
  pushPlain(bytes: Uint8Array): PlainDeltas | null {
    if (!this.#isAtLine || this.#name !== '' || this.#data !== null) return null;
    const whole = this.#withTail(bytes);
    const deltas = readPlainDeltas(whole);
    if (deltas === null) return null;
    const end = deltas.bytes.length;
    this.#tail = end === whole.length ? null : whole.slice(end);
    return deltas;
  }

  /** The events that these bytes completed. An event without its blank line is never returned. Throws EventTooLong. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const whole = this.#withTail(bytes);
    this.#tail = null;
    if (whole.length > 0) this.#isAtLine = whole.at(-1) === LINE_FEED;
    const text = this.#normalized(this.#decoder.decode(whole, { stream: true }));
    const events: ServerSentEvent[] = [];
    let start = this.#takeWhole(text, events);
    for (let end = text.indexOf('\n', start); end >= 0; end = text.indexOf('\n', start)) {
      this.#take(this.#lineTo(text.slice(start, end)), events);
      start = end + 1;
    }
    if (start < text.length) this.#hold(text.slice(start));
    return events;
  }

  #withTail(bytes: Uint8Array): Uint8Array {
    return this.#tail === null ? bytes : Buffer.concat([this.#tail, bytes]);
  }

  /** Takes events with one `data` line and at most an `event` line before it, the common form. Returns their end. */
  #takeWhole(text: string, events: ServerSentEvent[]): number {
    let start = 0;
    while (this.#data === null && this.#name === '' && this.#lineParts.length === 0) {
      const isNamed = text.startsWith('event: ', start);
      const data = isNamed ? text.indexOf('\n', start) + 1 : start;
      const end = data < start || !text.startsWith('data: ', data) ? -1 : text.indexOf('\n', data);
      if (end < 0 || text.charCodeAt(end + 1) !== LINE_FEED || end - data > bounds.upstreamEventBytesMax) break;
      const name = (isNamed && text.slice(start + 'event: '.length, data - 1)) || 'message';
      const from = data + 'data: '.length;
      if (end > from) events.push({ name, text: text.slice(from, end) });
      start = end + 2;
    }
    return start;
  }

  /** The text with line feeds as line ends, even if CR LF was split between two pushes. */
  #normalized(text: string): string {
    if (text === '') return text;
    const rest = this.#endedWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.#endedWithReturn = text.endsWith('\r');
    return rest.includes('\r') ? rest.replaceAll(/\r\n?/g, '\n') : rest;
  }

  #hold(part: string): void {
    this.#lineParts.push(part);
    this.#count(part.length);
  }

  #lineTo(part: string): string {
    if (this.#lineParts.length === 0) return part;
    const line = this.#lineParts.join('') + part;
    this.#heldCharacters -= line.length - part.length;
    this.#lineParts = [];
    return line;
  }

  #take(line: string, events: ServerSentEvent[]): void {
    if (line === '') {
      this.#end(events);
      this.#name = '';
    } else if (line.startsWith('data')) {
      const value = fieldValue(line, 4);
      if (value === null) return;
      // Some servers leave out the line between events.
      if (this.#data !== null && isWhole(this.#data) && beginsEvent(value)) this.#end(events);
      this.#count(value.length + 1);
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('event')) {
      this.#name = fieldValue(line, 5) ?? this.#name;
    }
  }

  /** An event without data is a keep-alive. */
  #end(events: ServerSentEvent[]): void {
    if (this.#data !== null && this.#data !== '') events.push({ name: this.#name || 'message', text: this.#data });
    this.#data = null;
    this.#heldCharacters = 0;
  }

  #count(characters: number): void {
    this.#heldCharacters += characters;
    // There are never more characters than bytes.
    if (this.#heldCharacters > bounds.upstreamEventBytesMax)
      throw new EventTooLong(`an event is longer than ${bounds.upstreamEventBytesMax} bytes`);
  }
}

function isWhole(data: string): boolean {
  return data.startsWith('{') && data.endsWith('}') && !data.includes('\n');
}

function beginsEvent(data: string): boolean {
  return data.startsWith('{') || data === '[DONE]';
}

/** The value after a field name of `length` characters; null if the name is longer. */
function fieldValue(line: string, length: number): string | null {
  if (line.length === length) return '';
  if (line.charCodeAt(length) !== 0x3a) return null;
  return line.slice(line.charCodeAt(length + 1) === 0x20 ? length + 2 : length + 1);
}
