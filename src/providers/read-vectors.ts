// Reads the list of vectors in an answer, a few at a time: together they have millions of numbers.

import { roundSingle } from '../base/checked-number.ts';
import { ownTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { closingQuote, isLong, type JsonObject, type JsonValue } from '../wire/wire.ts';
import { type Answer, parseObject, readText } from './parse-json.ts';
import { ProviderFault } from './provider.ts';

export type Vector = string | number[];

interface VectorList<One> {
  /** The answer's member with an object for each input. */
  name: string;
  /** The number of inputs. */
  count: number;
  /** Converts an object of the list; null if it has no vector. */
  convert(given: JsonObject, index: number): One | null;
}

interface ReadVectors<One> extends Answer<JsonObject> {
  /** One for each input. `value` has an empty list in their place. */
  converted: One[];
}

/** Yields to the event loop between steps. Throws ProviderFault (failed, aborted), also unless each input has a vector. */
export async function readVectors<One>(
  response: Response,
  signal: AbortSignal,
  { name, count, convert }: VectorList<One>,
): Promise<ReadVectors<One>> {
  const { text, upstreamRequestId } = await readText(response, signal, bounds.upstreamVectorsBytesMax);
  const parsed = { what: 'a response', upstreamRequestId };
  const scan = new ListScan(text, name, count);
  while (scan.advance()) await ownTurn();
  const { items, from, end } = scan;
  const value = parseObject(text.slice(0, from) + text.slice(end), parsed);
  const converted: One[] = [];
  let characters = 0; // since the last pause
  for (const item of items) {
    const one = convert(parseObject(text.slice(item.from, item.end), parsed), converted.length);
    if (one !== null) converted.push(one);
    characters += item.end - item.from;
    if (!isLong(characters)) continue;
    characters = 0;
    await ownTurn();
  }
  if (converted.length === count && items.length === count) return { value, text, upstreamRequestId, converted };
  throw new ProviderFault('failed', 'the provider did not send an embedding for each input', { upstreamRequestId });
}

/** The vector, floats or base64; null if it is not one. Some local servers have it within a list. */
export function vectorOf(value: JsonValue | undefined): Vector | null {
  if (typeof value === 'string') return value === '' ? null : value;
  if (!Array.isArray(value) || value.length === 0) return null;
  const vector = value.length === 1 && Array.isArray(value[0]) ? value[0] : value;
  return vector.length > 0 && vector.every((part) => typeof part === 'number') ? (vector as number[]) : null;
}

const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;

/** Base64 of single-precision floats in the byte order of OpenAI's format. */
export function asBase64(vector: Vector): string {
  if (typeof vector === 'string') return vector;
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES);
  for (const [place, value] of vector.entries()) bytes.writeFloatLE(value, place * FLOAT_BYTES);
  return bytes.toString('base64');
}

/** The floats, without digits that they do not have; null for a text that does not have whole ones. */
export function asFloats(vector: Vector): number[] | null {
  if (typeof vector !== 'string') return vector;
  const bytes = Buffer.from(vector, 'base64');
  if (bytes.length === 0 || bytes.length % FLOAT_BYTES !== 0) return null;
  const floats = Array.from({ length: bytes.length / FLOAT_BYTES }, (_, place) =>
    roundSingle(bytes.readFloatLE(place * FLOAT_BYTES)),
  );
  return floats.every(Number.isFinite) ? floats : null;
}

const QUOTE = 0x22;
const BRACKET_OPEN = 0x5b;
const BRACKET_CLOSE = 0x5d;
const BRACE_OPEN = 0x7b;
const BRACE_CLOSE = 0x7d;
const LIST_DEPTH = 2;
const ITEM_DEPTH = 3;

/** Finds the objects of a list, which is a member of the outermost object. Malformed text is left to the parser. */
class ListScan {
  readonly #text: string;
  readonly #name: string;
  readonly #most: number;
  readonly items: { from: number; end: number }[] = [];
  /** The contents of the list; nothing if there is none. */
  from = 0;
  end = 0;
  #at = 0;
  #depth = 0;
  #latest = ''; // the latest text of the outermost object: before a list, its key
  #isInList = false;
  #itemFrom = 0;

  constructor(text: string, name: string, most: number) {
    this.#text = text;
    this.#name = name;
    this.#most = most;
  }

  /** Scans a part of the text. Returns false after the last one, and after more objects than there may be. */
  advance(): boolean {
    const text = this.#text;
    const until = this.#at + bounds.bodyBytesAtOnceMax;
    for (; this.#at < text.length; this.#at++) {
      if (this.#at >= until) return true;
      switch (text.charCodeAt(this.#at)) {
        case QUOTE:
          if (!this.#skipText()) return false;
          break;
        case BRACE_OPEN:
        case BRACKET_OPEN:
          this.#open();
          break;
        case BRACE_CLOSE:
        case BRACKET_CLOSE:
          this.#close();
          if (this.items.length > this.#most) return false;
      }
    }
    return false;
  }

  #skipText(): boolean {
    const close = closingQuote(this.#text, this.#at + 1, bounds.jsonEscapedCharactersMax);
    if (close < 0) return false;
    if (this.#depth === 1) this.#latest = this.#text.slice(this.#at + 1, close);
    this.#at = close;
    return true;
  }

  #open(): void {
    this.#depth++;
    if (this.#depth === LIST_DEPTH && this.#latest === this.#name) {
      this.#isInList = true;
      this.from = this.#at + 1;
      this.items.length = 0; // of a repeated member, the last one counts
    }
    if (this.#depth === ITEM_DEPTH) this.#itemFrom = this.#at;
  }

  #close(): void {
    if (this.#isInList && this.#depth === ITEM_DEPTH) this.items.push({ from: this.#itemFrom, end: this.#at + 1 });
    if (this.#isInList && this.#depth === LIST_DEPTH) {
      this.#isInList = false;
      this.end = this.#at;
    }
    this.#depth--;
  }
}
