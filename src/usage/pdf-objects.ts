// The objects of a PDF file, read without its cross-reference table: a file may have several tables, and readers repair
// broken ones in their own ways. Every definition of an object is kept, so that a bound holds whichever one a reader uses.

import { parseDigits, parseHex } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';

export class PdfName {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

/** A string, by its length and a bound of its tokens. */
export class PdfText {
  readonly bytes: number;
  readonly tokensMax: number;
  constructor(bytes: number, tokensMax: number) {
    this.bytes = bytes;
    this.tokensMax = tokensMax;
  }
}

export class PdfReference {
  readonly number: number;
  constructor(number: number) {
    this.number = number;
  }
}

export type PdfDictionary = Map<string, PdfValue>;
export type PdfValue = null | boolean | number | PdfName | PdfText | PdfReference | PdfValue[] | PdfDictionary;

/** One definition of an object. `data` is where a stream's data begins, to the end of the file; null without a stream. */
export interface PdfObject {
  value: PdfValue;
  data: Buffer | null;
}

/** An operator, or the end of a list: anything that is no value. */
class Keyword {
  readonly word: string;
  constructor(word: string) {
    this.word = word;
  }
}

const OBJECT_BYTES = 512; // that finding an object costs as much as reading
const TOKENS_IN_VALUE_MAX = 200_000; // read without a pause
const WORD_CHARACTERS_MAX = 256; // names have at most 127 bytes
const END = new Keyword('');

const SPACES = new Set([0x00, 0x09, 0x0a, 0x0c, 0x0d, 0x20]);
const DELIMITERS = new Set([...'()<>[]{}/%'].map((letter) => letter.charCodeAt(0)));
/** 0: a regular character, 1: white space, 2: a delimiter. */
const CLASSES = Uint8Array.from({ length: 256 }, (_, code) => (SPACES.has(code) ? 1 : DELIMITERS.has(code) ? 2 : 0));

export function isRegular(code: number): boolean {
  return CLASSES[code] === 0;
}

export function isSpace(code: number): boolean {
  return CLASSES[code] === 1;
}

/** A name without its slash, with its escapes decoded: "/Pa#67e" is "Page". */
export function decodeName(written: string): string {
  return written.includes('#')
    ? written.replace(/#([0-9a-fA-F]{2})/g, (_, digits: string) => String.fromCharCode(parseHex(digits) ?? 0))
    : written;
}

/** The most tokens of a byte of a string: a printable character, or one of several bytes in another encoding. */
export function tokensOfByte(code: number): number {
  if (code === 0) return 0; // the first half of a character in two bytes
  return code >= 0x20 && code < 0x7f ? 1.5 : 3;
}

/** Reads values from `at` on. */
export class PdfReader {
  readonly #file: Buffer;
  readonly #work: DocumentWork;
  #tokens = 0;
  at: number;

  constructor(file: Buffer, at: number, work: DocumentWork) {
    this.#file = file;
    this.#work = work;
    this.at = at;
  }

  /** The next value; null for what is none. Throws UnreadableDocument. */
  readValue(): PdfValue {
    this.#tokens = 0;
    const token = this.#readToken(0);
    return token instanceof Keyword ? null : token;
  }

  /** Whether the next word is `stream`; `at` is then at its data. */
  skipStreamWord(): boolean {
    this.#skipSpace();
    const { length } = 'stream';
    if (this.#file.toString('latin1', this.at, this.at + length) !== 'stream') return false;
    this.at += length;
    if (this.#file[this.at] === 0x0d) this.at++;
    if (this.#file[this.at] === 0x0a) this.at++;
    return true;
  }

  #readToken(depth: number): PdfValue | Keyword {
    this.#work.addStep();
    if (++this.#tokens > TOKENS_IN_VALUE_MAX) throw new UnreadableDocument('a value is too large');
    if (depth > bounds.documentDepthMax) throw new UnreadableDocument('its values are nested too deeply');
    this.#skipSpace();
    const code = this.#file[this.at];
    switch (code) {
      case undefined:
        return END;
      case 0x2f: // a slash
        this.at++;
        return new PdfName(decodeName(this.#readWord()));
      case 0x28:
        return this.#readText();
      case 0x3c:
        return this.#file[this.at + 1] === 0x3c ? this.#readDictionary(depth) : this.#readHexText();
      case 0x5b:
        this.at++;
        return this.#readList(depth);
      default:
        return this.#readOther(code);
    }
  }

  #readOther(code: number): PdfValue | Keyword {
    if (!isRegular(code)) {
      this.at += code === 0x3e && this.#file[this.at + 1] === 0x3e ? 2 : 1;
      return new Keyword(String.fromCharCode(code));
    }
    const word = this.#readWord();
    const [isNumber, digits] = /^[+-]?(\d{0,15})\d*\.?\d*$/.exec(word) ?? [];
    if (isNumber !== undefined) return this.#readNumber(digits === '' ? 0 : parseDigits(digits as string));
    if (word === 'true' || word === 'false') return word === 'true';
    return word === 'null' ? null : new Keyword(word);
  }

  /** The reference "12 0 R" that begins with the number, or the number: lengths and counts, without fraction and sign. */
  #readNumber(number: number): PdfValue {
    const rest = this.#file.toString('latin1', this.at, this.at + 24);
    const [reference] = /^[\0\t\n\f\r ]+\d{1,5}[\0\t\n\f\r ]+R(?![^\0\t\n\f\r ()<>[\]{}/%])/.exec(rest) ?? [];
    if (reference === undefined) return number;
    this.at += reference.length;
    return new PdfReference(number);
  }

  #readList(depth: number): PdfValue[] {
    const list: PdfValue[] = [];
    for (;;) {
      const token = this.#readToken(depth + 1);
      if (!(token instanceof Keyword)) list.push(token);
      else if (token.word === ']' || token === END || token.word === 'endobj') return list;
    }
  }

  #readDictionary(depth: number): PdfDictionary {
    this.at += 2;
    const dictionary: PdfDictionary = new Map();
    for (;;) {
      const key = this.#readToken(depth + 1);
      if (key instanceof Keyword && (key.word === '>' || key === END || key.word === 'endobj')) return dictionary;
      if (!(key instanceof PdfName)) continue;
      const value = this.#readToken(depth + 1);
      if (value instanceof Keyword) return dictionary;
      // Readers differ in which of two members with one name they use.
      if (dictionary.has(key.name)) throw new UnreadableDocument('a dictionary has a name twice');
      dictionary.set(key.name, value);
    }
  }

  #readWord(): string {
    const from = this.at;
    while (this.at < this.#file.length && isRegular(this.#file[this.at] as number)) this.at++;
    if (this.at - from > WORD_CHARACTERS_MAX) throw new UnreadableDocument('a word is too long');
    return this.#file.toString('latin1', from, this.at);
  }

  #readText(): PdfText {
    const from = ++this.at;
    let tokensMax = 0;
    for (let depth = 1; this.at < this.#file.length; this.at++) {
      const code = this.#file[this.at] as number;
      tokensMax += tokensOfByte(code);
      if (code === 0x5c) this.at++;
      else if (code === 0x28) depth++;
      else if (code === 0x29 && --depth === 0) break;
      if (this.at - from > bounds.documentTextBytesMax) throw new UnreadableDocument('a string is too long');
    }
    this.#work.addStep(this.at - from);
    return new PdfText(this.at++ - from, tokensMax);
  }

  #readHexText(): PdfText {
    const from = ++this.at;
    const end = this.#file.indexOf(0x3e, from);
    this.at = end < 0 ? this.#file.length : end + 1;
    this.#work.addStep(this.at - from);
    const bytes = Math.ceil((this.at - from) / 2);
    return new PdfText(bytes, bytes * 3);
  }

  #skipSpace(): void {
    const from = this.at;
    for (; this.at < this.#file.length; this.at++) {
      const code = this.#file[this.at] as number;
      if (code === 0x25) this.#skipComment();
      else if (!isSpace(code)) break;
      if (this.at - from > bounds.documentTextBytesMax) throw new UnreadableDocument('a space is too long');
    }
    this.#work.addStep(this.at - from);
  }

  #skipComment(): void {
    while (this.at < this.#file.length && this.#file[this.at] !== 0x0a && this.#file[this.at] !== 0x0d) this.at++;
  }
}

/** All definitions in the file itself, by number. Throws UnreadableDocument. */
export async function scanObjects(file: Buffer, work: DocumentWork): Promise<Map<number, PdfObject[]>> {
  const objects = new Map<number, PdfObject[]>();
  for (let at = file.indexOf('obj'); at >= 0; at = file.indexOf('obj', at + 3)) {
    if (file[at - 1] === 0x64) continue; // "endobj"
    work.addStep(OBJECT_BYTES);
    await work.pause();
    const number = numberBefore(file, at);
    if (number === null) continue;
    const reader = new PdfReader(file, at + 3, work);
    const value = reader.readValue();
    const data = value instanceof Map && reader.skipStreamWord() ? file.subarray(reader.at) : null;
    addObject(objects, number, { value, data });
  }
  return objects;
}

export function addObject(objects: Map<number, PdfObject[]>, number: number, object: PdfObject): void {
  const others = objects.get(number);
  if (others === undefined) objects.set(number, [object]);
  else others.push(object);
}

/** The object number in "12 0 obj"; null if this is no beginning of an object. Throws UnreadableDocument in doubt. */
function numberBefore(file: Buffer, at: number): number | null {
  const before = file.toString('latin1', Math.max(0, at - 64), at);
  const [, number] = /(\d{1,10})[\0\t\n\f\r ]+\d{1,5}[\0\t\n\f\r ]*$/.exec(before) ?? [];
  if (number !== undefined) return parseDigits(number);
  const last = file[at - 1];
  const next = file[at + 3];
  const isWord = (last === undefined || !isRegular(last)) && (next === undefined || !isRegular(next));
  if (isWord) throw new UnreadableDocument('an object has no number');
  return null;
}
