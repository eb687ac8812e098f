// Reads a content stream of a PDF file: its strings, and the forms that it draws by name; or its operations, one by one.

import { parseDigits, parseFraction } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { decodeHex } from './pdf-filters.ts';
import { decodeName, isRegular, isSpace, tokensOfByte } from './pdf-objects.ts';

export interface PdfContent {
  textBytes: number;
  /** The most tokens of its strings in an ordinary encoding. */
  tokensMax: number;
  strings: number;
  /** Names that are drawn, and names of marked properties, with how often. */
  drawn: Map<string, number>;
  marked: Map<string, number>;
}

/** An operator that matters to text, with what precedes it. */
export interface PdfOperation {
  operator: string;
  /** Numbers, and strings whose characters are bytes. */
  operands: readonly (number | string)[];
  /** The last name before it. */
  name: string;
  /** The text that a reader takes instead of what is marked. */
  actualText: string | null;
}

const TEXT_OPERATORS = new Set([
  'BT',
  'Tf',
  'Td',
  'TD',
  'Tm',
  'T*',
  'TL',
  'Tc',
  'Tw',
  'Tz',
  'Tj',
  'TJ',
  "'",
  '"',
  'Do',
  'q',
  'Q',
  'cm',
  'BDC',
  'BMC',
  'EMC',
]);
const NUMBER = /^([+-]?)(\d{0,15}(?:\.\d{0,15})?)\d*$/;
const OPERANDS_MAX = 100_000;
const PIECE_BYTES = 256 * 1024;
const COLLECTED_PIECE_BYTES = 32 * 1024;
const WORD_CHARACTERS_MAX = 256;
const STRING_CHARACTERS_MAX = 256 * 1024; // as written
const PICTURE_END_CHARACTERS = 8;
/** With the binary data of a picture, readers disagree about what is a string. */
const PICTURE_WORDS = ['BI', 'ID', 'EI'];

/** Throws UnreadableDocument. */
export async function readContent(stream: Buffer, work: DocumentWork): Promise<PdfContent> {
  const scanner = await scan(stream, new ContentScanner(true), work);
  if (!scanner.hasPictures) return scanner;
  const words = await scan(stream, new ContentScanner(false), work);
  return { ...words, textBytes: stream.length, tokensMax: 3 * stream.length, strings: scanner.strings };
}

/** Reads the operations that matter to text, some at a time. Throws UnreadableDocument. */
export async function readOperations(
  stream: Buffer,
  work: DocumentWork,
  take: (operations: readonly PdfOperation[]) => Promise<void>,
): Promise<void> {
  const scanner = new ContentScanner(true, true);
  for (let at = 0; at < stream.length; at += COLLECTED_PIECE_BYTES) {
    const piece = stream.subarray(at, at + COLLECTED_PIECE_BYTES);
    work.addStep(piece.length / 2);
    scanner.take(piece);
    await take(scanner.takeOperations());
    await work.pause();
  }
  scanner.endWord();
  if (scanner.isInPicture) throw new UnreadableDocument('a picture has no end');
  await take(scanner.takeOperations());
}

async function scan(stream: Buffer, scanner: ContentScanner, work: DocumentWork): Promise<ContentScanner> {
  for (let at = 0; at < stream.length; at += PIECE_BYTES) {
    work.addStep(Math.min(PIECE_BYTES, stream.length - at) / 2);
    scanner.take(stream.subarray(at, at + PIECE_BYTES));
    await work.pause();
  }
  scanner.endWord();
  return scanner;
}

type State = 'words' | 'text' | 'escape' | 'angle' | 'hex' | 'comment' | 'picture';

class ContentScanner implements PdfContent {
  textBytes = 0;
  tokensMax = 0;
  strings = 0;
  hasPictures = false;
  readonly drawn = new Map<string, number>();
  readonly marked = new Map<string, number>();
  readonly #readsStrings: boolean;
  readonly #collects: boolean;
  #state: State = 'words';
  #operations: PdfOperation[] = [];
  #operands: (number | string)[] = [];
  #actualText: string | null = null;
  /** The string as it is written, or the end of a picture's data. */
  #raw = '';
  #depth = 0;
  #word = '';
  #name = '';

  /** `collects`: operations are kept, and data of pictures is passed over. */
  constructor(readsStrings: boolean, collects = false) {
    this.#readsStrings = readsStrings;
    this.#collects = collects;
  }

  get isInPicture(): boolean {
    return this.#state === 'picture';
  }

  /** Throws UnreadableDocument. */
  takeOperations(): readonly PdfOperation[] {
    if (this.#raw.length > STRING_CHARACTERS_MAX) throw new UnreadableDocument('a string is too long');
    const operations = this.#operations;
    this.#operations = [];
    return operations;
  }

  take(piece: Buffer): void {
    for (let at = 0; at < piece.length; at++) {
      const code = piece[at] as number;
      if (this.#state === 'words') this.#takeWord(code);
      else if (this.#state === 'text') this.#takeText(code);
      else this.#takeOther(code);
    }
  }

  endWord(): void {
    const word = this.#word;
    if (word === '') return;
    this.#word = '';
    if (word.startsWith('/')) this.#name = decodeName(word.slice(1));
    else if (this.#collects) this.#takeOperator(word);
    else if (word === 'Do') count(this.drawn, this.#name);
    else if (word === 'BDC' || word === 'DP') count(this.marked, this.#name);
    else if (PICTURE_WORDS.includes(word)) this.hasPictures = true;
  }

  #takeOperator(word: string): void {
    const [isNumber, sign, digits = ''] = NUMBER.exec(word) ?? [];
    if (isNumber !== undefined) {
      const size = parseFraction(`0${digits.endsWith('.') ? `${digits}0` : digits}`) ?? 0;
      this.#addOperand(sign === '-' ? -size : size);
      return;
    }
    if (TEXT_OPERATORS.has(word)) {
      const [operands, name, actualText] = [this.#operands, this.#name, this.#actualText];
      this.#operations.push({ operator: word, operands, name, actualText });
    } else if (word === 'ID') this.#begin('picture');
    this.#operands = [];
    this.#actualText = null;
  }

  #addOperand(operand: number | string): void {
    if (this.#operands.length >= OPERANDS_MAX) throw new UnreadableDocument('an operator has too many operands');
    this.#operands.push(operand);
  }

  #endString(string: string): void {
    if (this.#name !== 'ActualText') this.#addOperand(string);
    else {
      this.#actualText = textString(string);
      this.#name = '';
    }
  }

  #takeWord(code: number): void {
    if (isRegular(code)) {
      this.#word += String.fromCharCode(code);
      if (this.#word.length > WORD_CHARACTERS_MAX) this.#dropLongWord();
      return;
    }
    this.endWord();
    if (code === 0x2f) this.#word = '/';
    else if (!this.#readsStrings) return;
    else if (code === 0x28) this.#begin('text');
    else if (code === 0x3c) this.#state = 'angle';
    else if (code === 0x25) this.#state = 'comment';
  }

  /** Binary data between two words is no word; a name may be one. */
  #dropLongWord(): void {
    if (this.#readsStrings && this.#word.startsWith('/')) throw new UnreadableDocument('a name is too long');
    this.#word = '';
  }

  #begin(state: State): void {
    this.#state = state;
    this.#depth = 1;
    this.#raw = '';
    this.strings++;
  }

  #takeText(code: number): void {
    if (code === 0x29 && --this.#depth === 0) {
      this.#state = 'words';
      if (this.#collects) this.#endString(withoutEscapes(this.#raw));
      return;
    }
    if (this.#collects) this.#raw += String.fromCharCode(code);
    this.textBytes++;
    this.tokensMax += tokensOfByte(code);
    if (code === 0x28) this.#depth++;
    else if (code === 0x5c) this.#state = 'escape';
  }

  #takeOther(code: number): void {
    switch (this.#state) {
      case 'escape':
        if (this.#collects) this.#raw += String.fromCharCode(code);
        this.textBytes++;
        this.tokensMax += 3; // of any byte, in up to three digits
        this.#state = 'text';
        break;
      case 'angle':
        if (code === 0x3c || code === 0x3e)
          this.#state = 'words'; // a dictionary, or no digits
        else {
          this.#begin('hex');
          this.#takeDigit(code);
        }
        break;
      case 'hex':
        if (code !== 0x3e) this.#takeDigit(code);
        else {
          this.#state = 'words';
          if (this.#collects) this.#endString(decodeHex(Buffer.from(this.#raw)).toString('latin1'));
        }
        break;
      case 'picture':
        this.#takePicture(code);
        break;
      default:
        if (code === 0x0a || code === 0x0d) this.#state = 'words';
    }
  }

  /** A reader that knows the size of a picture finds its end elsewhere, and may find text where this finds data. */
  #takePicture(code: number): void {
    if (isSpace(code) && /[\0\t\n\f\r ]EI$/.test(this.#raw)) this.#state = 'words';
    this.#raw = (this.#raw + String.fromCharCode(code)).slice(-PICTURE_END_CHARACTERS);
    if ((code === 0x6a || code === 0x4a) && /[)>\]]\s*T[jJ]$/.test(this.#raw))
      throw new UnreadableDocument('a picture may be text');
  }

  #takeDigit(code: number): void {
    if (this.#collects) this.#raw += String.fromCharCode(code);
    this.textBytes += 0.5;
    this.tokensMax += 1.5;
  }
}

/** A string without its escapes and line breaks. */
function withoutEscapes(raw: string): string {
  if (!/[\\\r]/.test(raw)) return raw;
  return raw.replace(/\\([0-7]{1,3}|\r\n|[\s\S]?)|\r\n?/g, (_, escaped: string | undefined) => {
    if (escaped === undefined) return '\n';
    if (/^[0-7]/.test(escaped)) return String.fromCharCode(octal(escaped) & 0xff);
    return ESCAPES[escaped] ?? escaped;
  });
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  '\n': '',
  '\r': '',
  '\r\n': '',
};

function octal(digits: string): number {
  return [...digits].reduce((sum, digit) => sum * 8 + parseDigits(digit), 0);
}

/** A string outside of fonts: UTF-16 with its mark, UTF-8 with its mark, or one byte a character. */
function textString(bytes: string): string {
  const whole = Buffer.from(bytes, 'latin1');
  if (bytes.startsWith('\xfe\xff'))
    return whole
      .subarray(2, whole.length & ~1)
      .swap16()
      .toString('utf16le');
  return bytes.startsWith('\xef\xbb\xbf') ? whole.toString('utf8', 3) : bytes;
}

function count(names: Map<string, number>, name: string): void {
  const known = names.get(name);
  if (known === undefined && names.size >= bounds.documentNamesMax)
    throw new UnreadableDocument('a content has too many names');
  names.set(name, (known ?? 0) + 1);
}
