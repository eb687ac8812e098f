// Reads a content stream of a PDF file: its strings, and the forms that it draws by name.

import { bounds } from '../config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { decodeName, isRegular, tokensOfByte } from './pdf-objects.ts';

export interface PdfContent {
  textBytes: number;
  /** The most tokens of its strings in an ordinary encoding. */
  tokensMax: number;
  strings: number;
  /** Names that are drawn, and names of marked properties, with how often. */
  drawn: Map<string, number>;
  marked: Map<string, number>;
}

const PIECE_BYTES = 256 * 1024;
const WORD_CHARACTERS_MAX = 256;
/** With the binary data of a picture, readers disagree about what is a string. */
const PICTURE_WORDS = ['BI', 'ID', 'EI'];

/** Throws UnreadableDocument. */
export async function readContent(stream: Buffer, work: DocumentWork): Promise<PdfContent> {
  const scanner = await scan(stream, new ContentScanner(true), work);
  if (!scanner.hasPictures) return scanner;
  const words = await scan(stream, new ContentScanner(false), work);
  return { ...words, textBytes: stream.length, tokensMax: 3 * stream.length, strings: scanner.strings };
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

type State = 'words' | 'text' | 'escape' | 'angle' | 'hex' | 'comment';

class ContentScanner implements PdfContent {
  textBytes = 0;
  tokensMax = 0;
  strings = 0;
  hasPictures = false;
  readonly drawn = new Map<string, number>();
  readonly marked = new Map<string, number>();
  readonly #readsStrings: boolean;
  #state: State = 'words';
  #depth = 0;
  #word = '';
  #name = '';

  constructor(readsStrings: boolean) {
    this.#readsStrings = readsStrings;
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
    else if (word === 'Do') count(this.drawn, this.#name);
    else if (word === 'BDC' || word === 'DP') count(this.marked, this.#name);
    else if (PICTURE_WORDS.includes(word)) this.hasPictures = true;
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
    this.strings++;
  }

  #takeText(code: number): void {
    if (code === 0x29 && --this.#depth === 0) {
      this.#state = 'words';
      return;
    }
    this.textBytes++;
    this.tokensMax += tokensOfByte(code);
    if (code === 0x28) this.#depth++;
    else if (code === 0x5c) this.#state = 'escape';
  }

  #takeOther(code: number): void {
    switch (this.#state) {
      case 'escape':
        this.textBytes++;
        this.tokensMax += 3; // of any byte, in up to three digits
        this.#state = 'text';
        break;
      case 'angle':
        if (code === 0x3c || code === 0x3e)
          this.#state = 'words'; // a dictionary, or no digits
        else {
          this.#begin('hex');
          this.#takeDigit();
        }
        break;
      case 'hex':
        if (code === 0x3e) this.#state = 'words';
        else this.#takeDigit();
        break;
      default:
        if (code === 0x0a || code === 0x0d) this.#state = 'words';
    }
  }

  #takeDigit(): void {
    this.textBytes += 0.5;
    this.tokensMax += 1.5;
  }
}

function count(names: Map<string, number>, name: string): void {
  const known = names.get(name);
  if (known === undefined && names.size >= bounds.documentNamesMax)
    throw new UnreadableDocument('a content has too many names');
  names.set(name, (known ?? 0) + 1);
}
