// Reads the table of a PDF font that says which text its codes stand for.

import { parseHex } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';

const TOKENS = /<([\s0-9a-fA-F]*)>|[[\]]|[A-Za-z]+/g;
const TOKENS_PER_STEP = 1_000;
const CODES_IN_RANGE_MAX = 65_536;

interface Range {
  from: number;
  to: number;
  /** The text of the first code; its last character grows with the code. */
  text: string;
}

type Section = 'codespacerange' | 'bfchar' | 'bfrange' | null;

/** Reads the table in short steps. Throws UnreadableDocument. */
export async function readCodes(table: Buffer, work: DocumentWork): Promise<PdfCodes> {
  if (table.length > bounds.documentTextBytesMax) throw new UnreadableDocument('a table of codes is too long');
  const codes = new PdfCodes(work);
  let tokens = 0;
  for (const [token, digits] of table.toString('latin1').matchAll(TOKENS)) {
    codes.take(token, digits?.replaceAll(/\s/g, '') ?? null);
    if (++tokens % TOKENS_PER_STEP === 0) await work.pause();
  }
  return codes;
}

export class PdfCodes {
  /** The most UTF-8 bytes that a code stands for. */
  bytesMost = 0;
  #codeDigits = Number.POSITIVE_INFINITY;
  #section: Section = null;
  #given: string[] = [];
  #isInList = false;
  readonly #texts = new Map<number, string>();
  readonly #ranges: Range[] = [];
  readonly #work: DocumentWork;

  constructor(work: DocumentWork) {
    this.#work = work;
  }

  /** The bytes of the shortest code; null if the table does not say. */
  get codeBytes(): number | null {
    return Number.isFinite(this.#codeDigits) ? Math.max(1, Math.floor(this.#codeDigits / 2)) : null;
  }

  /** The text of a code; null if the table does not have it. */
  textOf(code: number): string | null {
    const known = this.#texts.get(code);
    if (known !== undefined) return known;
    this.#work.addStep(this.#ranges.length);
    const range = this.#ranges.find(({ from, to }) => code >= from && code <= to);
    if (range === undefined) return null;
    const text = grown(range.text, code - range.from);
    this.#texts.set(code, text);
    return text;
  }

  /** `digits`: of a string in hexadecimal digits; null for another token. */
  take(token: string, digits: string | null): void {
    if (digits !== null) {
      this.bytesMost = Math.max(this.bytesMost, utf8Bytes(digits));
      this.#takeDigits(digits);
    } else if (token === '[') this.#isInList = true;
    else if (token === ']') {
      this.#isInList = false;
      this.#given = [];
    } else if (token.startsWith('begin')) this.#begin(token.slice('begin'.length));
    else if (token.startsWith('end')) this.#begin('');
  }

  #begin(section: string): void {
    this.#section = section === 'codespacerange' || section === 'bfchar' || section === 'bfrange' ? section : null;
    this.#given = [];
    this.#isInList = false;
  }

  #takeDigits(digits: string): void {
    if (this.#section === 'codespacerange') this.#codeDigits = Math.min(this.#codeDigits, digits.length);
    this.#given.push(digits);
    const [first = '', second = '', third] = this.#given;
    if (this.#section === 'bfchar' && this.#given.length === 2) {
      this.#add(codeOf(first), second);
      this.#given = [];
    } else if (this.#section === 'bfrange' && third !== undefined) {
      if (this.#isInList) this.#add(codeOf(first) + this.#given.length - 3, digits);
      else {
        this.#ranges.push({ from: codeOf(first), to: codeOf(second), text: textOfDigits(third) });
        this.#given = [];
      }
    } else if (this.#section === null) this.#given = [];
  }

  #add(code: number, digits: string): void {
    this.#texts.set(code, textOfDigits(digits));
  }
}

function codeOf(digits: string): number {
  return parseHex(digits) ?? 0;
}

function grown(text: string, by: number): string {
  if (by === 0 || by > CODES_IN_RANGE_MAX || text === '') return text;
  const last = text.codePointAt(
    text.length > 1 && isLowSurrogate(text, text.length - 1) ? text.length - 2 : text.length - 1,
  );
  const code = (last as number) + by;
  const kept = text.slice(0, text.length - String.fromCodePoint(last as number).length);
  return code > 0x10_ffff ? text : kept + String.fromCodePoint(code);
}

function isLowSurrogate(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xdc00;
}

/** UTF-16 in hexadecimal digits; a single byte is one character. */
function textOfDigits(digits: string): string {
  const bytes = Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex');
  if (bytes.length === 1) return String.fromCharCode(bytes[0] as number);
  return bytes
    .subarray(0, bytes.length & ~1)
    .swap16()
    .toString('utf16le');
}

function utf8Bytes(digits: string): number {
  let bytes = 0;
  for (let at = 0; at < digits.length; at += 4) {
    const unit = parseHex(digits.slice(at, at + 4)) ?? 0xffff;
    bytes += unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3;
  }
  return bytes;
}
