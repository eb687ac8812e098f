// Rewrites the text of Messages events as another protocol's. Events that a provider of that protocol sent are kept.

import { isJsonObject, type JsonObject, type JsonValue, NATIVE_MARK, parseExactly } from '../wire/wire.ts';

const EVENT_END = '\n\n';
const DATA = 'data: ';

export abstract class EventWriter {
  #rest = ''; // an incomplete event; its size is bounded by the relay
  #isOver = false;

  /** The text for events, which may be split anywhere; empty if there is none. */
  push(text: string): string {
    const whole = this.#rest + text;
    let written = '';
    let start = 0;
    for (let end = whole.indexOf(EVENT_END); end >= 0; end = whole.indexOf(EVENT_END, start)) {
      if (!this.#isOver) written += this.#take(whole.slice(start, end));
      start = end + EVENT_END.length;
    }
    this.#rest = whole.slice(start);
    return written;
  }

  /** The text after the last event. */
  last(): string {
    return '';
  }

  #take(lines: string): string {
    if (lines.startsWith(NATIVE_MARK)) return this.keepNative(lines.slice(NATIVE_MARK.length) + EVENT_END);
    const at = lines.startsWith(DATA) ? 0 : lines.indexOf(`\n${DATA}`) + 1;
    const json = lines.slice(at + DATA.length);
    // Only blocks that arrive whole can have long numbers.
    const event: JsonValue = json.includes('content_block_start') ? parseExactly(json) : JSON.parse(json);
    return isJsonObject(event) ? this.convert(event) : '';
  }

  /** Further events are ignored. */
  protected end(): void {
    this.#isOver = true;
  }

  /** An event of the front's own protocol, whole. */
  protected keepNative(text: string): string {
    return text;
  }

  /** The text for an event of the Messages protocol, a ping or an error. */
  protected abstract convert(event: JsonObject): string;
}

/** Propagates cancellation to its source. */
export async function* convertEvents(
  events: AsyncIterable<string | Uint8Array>,
  writer: EventWriter,
): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of events) {
    const written = writer.push(typeof piece === 'string' ? piece : decoder.decode(piece)); // bytes are whole events
    if (written !== '') yield written;
  }
  const last = writer.last();
  if (last !== '') yield last;
}
