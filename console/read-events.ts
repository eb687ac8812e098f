// Reads server-sent events as the standard has them, however the bytes of a stream are split. The browser's own
// EventSource cannot send a body or a header.

export interface StreamEvent {
  /** "message" where the stream names none. */
  name: string;
  text: string;
}

/** What one event may have, in characters: a stream that never ends an event is not collected for ever. */
const EVENT_CHARACTERS_MAX = 16 * 1024 * 1024;

/** Every event of the stream until its end; one that has not ended by then is none. Who leaves early ends the stream. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder(); // takes a byte order mark away
  const takeText = makeEventReader();
  try {
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read())
      yield* takeText(decoder.decode(chunk.value, { stream: true }));
    yield* takeText(decoder.decode());
  } finally {
    // Not waited for: what the other end makes of it changes nothing here.
    reader.cancel().catch(() => {});
  }
}

/** Takes the text of a stream piece after piece, and gives the events that each has ended. */
export function makeEventReader(): (text: string) => StreamEvent[] {
  let rest = '';
  let endedInReturn = false;
  let name = '';
  let lines: string[] = [];
  let characters = 0;

  const takeLine = (line: string): StreamEvent | null => {
    if (line === '') {
      const event = lines.length === 0 ? null : { name: name === '' ? 'message' : name, text: lines.join('\n') };
      [name, lines, characters] = ['', [], 0];
      return event;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon); // a comment begins with the colon: a field without a name
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'event') name = value;
    if (field === 'data') lines.push(value);
    characters += line.length;
    return null;
  };

  return (text) => {
    // The second half of a line's end whose first half came before.
    const piece = endedInReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text !== '') endedInReturn = piece.endsWith('\r');
    const ended = (rest + piece).split(/\r\n|\r|\n/);
    rest = ended.pop() ?? '';
    const events = ended.map(takeLine).filter((event) => event !== null);
    if (characters + rest.length > EVENT_CHARACTERS_MAX) throw new Error('an event of the stream is too long');
    return events;
  };
}
