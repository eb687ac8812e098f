// Recognizes the deltas of an answer by their bytes, so that they are relayed without decoding, parsing and encoding.

import { isUtf8 } from 'node:buffer';
import { bounds } from '../config/config.ts';
import { encodeEvent, type StreamEvent } from './fold-events.ts';

const bytesOf = (text: string) => new TextEncoder().encode(text);
const HEAD = bytesOf('event: content_block_delta\ndata: {"type":"content_block_delta","index":');
const DELTA = bytesOf(',"delta":{"type":"');
const KINDS = [
  { head: bytesOf('text_delta","text":"'), kind: 'text' },
  { head: bytesOf('input_json_delta","partial_json":"'), kind: 'input' },
  { head: bytesOf('thinking_delta","thinking":"'), kind: 'thinking' },
] as const;
const INDEX_DIGITS_MAX = 9;
const TAIL_BYTES_MAX = 4096; // a longer incomplete delta is left to the parser

const [LINE_FEED, SPACE, QUOTE, BACKSLASH, BRACE, ZERO, NINE] = [0x0a, 0x20, 0x22, 0x5c, 0x7d, 0x30, 0x39];
/** The byte that each escape of one character stands for; 0 for no such escape. */
const ESCAPED = new Uint8Array(256);
for (const [name, byte] of Object.entries({
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}))
  ESCAPED[name.charCodeAt(0)] = byte.charCodeAt(0);
const HEX: ReadonlySet<number> = new Set(bytesOf('0123456789abcdefABCDEF'));

/** The text of one delta: bytes.subarray(from, end) are the contents of its JSON string. */
export interface DeltaText {
  from: number;
  end: number;
  kind: DeltaKind;
  escapes: Escapes;
}

/** A piece of a text, of the JSON of a tool's input, or of thinking. */
export type DeltaKind = 'text' | 'input' | 'thinking';

/** `short`: only escapes of one character, such as `\n`. */
type Escapes = 'none' | 'short' | 'any';

/** Whole events that are nothing but text, tool input or thinking, in the form in which clients get them. */
export class PlainDeltas {
  readonly bytes: Uint8Array;
  readonly texts: readonly DeltaText[];

  constructor(bytes: Uint8Array, texts: readonly DeltaText[]) {
    this.bytes = bytes;
    this.texts = texts;
  }

  /** The events as text. */
  text(): string {
    return decoder.decode(this.bytes);
  }

  /** The same events, parsed. */
  events(): StreamEvent[] {
    const lines = this.text().split('\n');
    return this.texts.map((_, at) => {
      const json = (lines[3 * at + 1] as string).slice('data: '.length);
      return { name: 'content_block_delta', json, value: JSON.parse(json) };
    });
  }

  /** The text of one delta, without escapes. */
  textOf({ from, end, escapes }: DeltaText): string {
    const written = decoder.decode(this.bytes.subarray(from, end));
    return escapes === 'none' ? written : JSON.parse(`"${written}"`);
  }

  /** Writes the text of one delta with short escapes, without them, to the start of `target`. Returns its length. */
  unescapeTo(target: Uint8Array, { from, end }: DeltaText): number {
    const { bytes } = this;
    let length = 0;
    for (let at = from; at < end; at++) {
      const code = bytes[at] as number;
      target[length++] = code === BACKSLASH ? (ESCAPED[bytes[++at] as number] as number) : code;
    }
    return length;
  }
}

/** Events of an answer that are sent at once. */
export type StreamPiece = PlainDeltas | readonly StreamEvent[];

/** The events for clients of Messages: the bytes that came, where there are some. */
export function encodePiece(piece: StreamPiece): string | Uint8Array {
  if (piece instanceof PlainDeltas) return piece.bytes;
  let text = '';
  for (const event of piece) text += encodeEvent(event);
  return text;
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const NO_DELTAS = new PlainDeltas(new Uint8Array(), []);

/**
 * The plain deltas at the start of an event stream, if it has nothing else but, perhaps, the beginning of another. null:
 * the bytes must be parsed.
 */
export function readPlainDeltas(bytes: Uint8Array): PlainDeltas | null {
  const texts: DeltaText[] = [];
  const reader = new DeltaReader(bytes);
  let end = 0;
  for (let text = reader.read(); text !== null; text = reader.read()) {
    texts.push(text);
    end = reader.at;
  }
  if (end < bytes.length && !isBeginning(bytes, end)) return null;
  if (end === 0) return NO_DELTAS;
  const whole = end === bytes.length ? bytes : bytes.subarray(0, end);
  // The parser would replace invalid bytes.
  return reader.isAscii || isUtf8(whole) ? new PlainDeltas(whole, texts) : null;
}

class DeltaReader {
  readonly #bytes: Uint8Array;
  at = 0;
  isAscii = true;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Reads one delta; null at anything else. */
  read(): DeltaText | null {
    const bytes = this.#bytes;
    const start = this.at;
    if (!this.#skip(HEAD) || !this.#skipIndex() || !this.#skip(DELTA)) return null;
    const kind = KINDS.find(({ head }) => this.#skip(head));
    if (kind === undefined) return null;
    const from = this.at;
    const escapes = this.#skipText();
    if (escapes === null) return null;
    const end = this.at;
    let at = end + 1;
    if (bytes[at++] !== BRACE) return null;
    while (bytes[at] === SPACE) at++;
    if (bytes[at] !== BRACE || bytes[at + 1] !== LINE_FEED || bytes[at + 2] !== LINE_FEED) return null;
    this.at = at + 3;
    if (this.at - start > bounds.upstreamEventBytesMax) return null;
    return { from, end, kind: kind.kind, escapes };
  }

  #skip(expected: Uint8Array): boolean {
    const bytes = this.#bytes;
    const { at } = this;
    for (let index = 0; index < expected.length; index++) if (bytes[at + index] !== expected[index]) return false;
    this.at = at + expected.length;
    return true;
  }

  #skipIndex(): boolean {
    const start = this.at;
    let at = start;
    while (isDigit(this.#bytes[at])) at++;
    this.at = at;
    const digits = at - start;
    return digits === 1 || (digits > 1 && digits <= INDEX_DIGITS_MAX && this.#bytes[start] !== ZERO);
  }

  /** Moves to the quote that ends a JSON string. Returns the escapes that the string has; null if it is invalid. */
  #skipText(): Escapes | null {
    const bytes = this.#bytes;
    let escapes: Escapes = 'none';
    let at = this.at;
    for (; ; at++) {
      const code = bytes[at];
      if (code === QUOTE) break;
      if (code === undefined || code < SPACE) return null;
      if (code > 0x7f) this.isAscii = false;
      if (code !== BACKSLASH) continue;
      at++;
      if (ESCAPED[bytes[at] ?? 0] !== 0) {
        if (escapes === 'none') escapes = 'short';
        continue;
      }
      if (bytes[at] !== 0x75) return null;
      escapes = 'any';
      for (let digit = 0; digit < 4; digit++) if (!HEX.has(bytes[++at] ?? 0)) return null;
    }
    this.at = at;
    return escapes;
  }
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= ZERO && code <= NINE;
}

/** Whether a delta may begin at `start` and is not complete. */
function isBeginning(bytes: Uint8Array, start: number): boolean {
  const length = bytes.length - start;
  if (length > TAIL_BYTES_MAX) return false;
  for (let at = 0; at < Math.min(length, HEAD.length); at++) if (bytes[start + at] !== HEAD[at]) return false;
  const lineEnd = bytes.indexOf(LINE_FEED, start + HEAD.length);
  return lineEnd < 0 || lineEnd === bytes.length - 1;
}
