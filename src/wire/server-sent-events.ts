// Reads an event stream (WHATWG HTML, 9.2.6) as its bytes come, however they are split. `id` and
// `retry` are ignored: nothing here reconnects.

import { bounds } from '../config.ts';

export interface ServerSentEvent {
  /** "message" when the stream named none. */
  name: string;
  /** The data lines, joined by line feeds. */
  text: string;
}

/** One event has more than bounds.upstreamEventBytesMax characters. The parser is of no use afterwards. */
export class EventTooLong extends Error {
  override name = 'EventTooLong';
}

export class EventStreamParser {
  readonly #decoder = new TextDecoder(); // strips one byte order mark, and replaces what is not UTF-8
  #lineParts: string[] = []; // the line whose end has not come yet
  #name = '';
  #data: string | null = null;
  #heldCharacters = 0; // of the line and the event that are not complete
  #endedWithReturn = false;

  /** The events that these bytes completed. Throws EventTooLong. */
  push(bytes: Uint8Array): ServerSentEvent[] {
    const text = this.#normalized(this.#decoder.decode(bytes, { stream: true }));
    const events: ServerSentEvent[] = [];
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      this.#take(this.#lineTo(text.slice(start, end)), events);
      start = end + 1;
    }
    if (start < text.length) this.#hold(text.slice(start));
    return events;
  }

  /** Ends the stream; an event that lacks its blank line is dropped. True when nothing was dropped. */
  end(): boolean {
    return this.#lineParts.length === 0 && this.#data === null && this.#decoder.decode() === '';
  }

  /** The text with every line end as a line feed, also where CR LF was split between two pushes. */
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
      if (this.#data !== null) events.push({ name: this.#name || 'message', text: this.#data });
      this.#name = '';
      this.#data = null;
      this.#heldCharacters = 0;
    } else if (line.startsWith('data')) {
      const value = fieldValue(line, 4);
      if (value === null) return;
      this.#count(value.length + 1);
      this.#data = this.#data === null ? value : `${this.#data}\n${value}`;
    } else if (line.startsWith('event')) {
      this.#name = fieldValue(line, 5) ?? this.#name;
    }
  }

  #count(characters: number): void {
    this.#heldCharacters += characters;
    // Characters, of which there are never more than bytes.
    if (this.#heldCharacters > bounds.upstreamEventBytesMax)
      throw new EventTooLong(`an event is longer than ${bounds.upstreamEventBytesMax} bytes`);
  }
}

/** What stands after a field's name of `length` characters; null when the line's field has a longer name. */
function fieldValue(line: string, length: number): string | null {
  if (line.length === length) return '';
  if (line.charCodeAt(length) !== 0x3a) return null;
  return line.slice(line.charCodeAt(length + 1) === 0x20 ? length + 2 : length + 1);
}
