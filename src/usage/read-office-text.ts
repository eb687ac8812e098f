// The texts of documents in a ZIP archive, such as docx, xlsx, pptx and odt: what their parts have outside of markup, with the
// shared strings of a workbook where its cells show them.

import { parseHex, parseWholeNumber } from '../base/checked-number.ts';
import type { DocumentWork } from './document-work.ts';
import { readParts } from './measure-office.ts';

export interface OfficeTexts {
  texts: string[];
  pictures: Buffer[];
}

const TAGS_PER_STEP = 2_000;
/** Elements after which a line ends, and others after which a word ends. */
const LINES = new Set(['p', 'tr', 'row', 'table-row', 'br', 'line-break', 'h', 'li', 'div', 'title']);
const WORDS = new Set(['tab', 'tc', 'c', 'table-cell', 'td', 'th', 's', 'cr', 'pt', 'si']);
/** Roots of parts that say something about the document. */
const UNREAD_ROOTS = new Set(['Properties', 'coreProperties', 'Types', 'Relationships']);

/** Throws UnreadableDocument. */
export async function readOfficeText(file: Buffer, work: DocumentWork): Promise<OfficeTexts> {
  const { pictures, others } = await readParts(file, work);
  const parts = others.map(decode);
  const roots = parts.map(rootOf);
  const strings: string[] = [];
  for (const [index, part] of parts.entries()) {
    if (roots[index] !== 'sst') continue;
    for (const [place, text] of (await readMarkup(part, [], work)).entries())
      if (text.length > (strings[place]?.length ?? -1)) strings[place] = text;
  }
  const texts: string[] = [];
  for (const [index, part] of parts.entries()) {
    const root = roots[index] ?? '';
    if (root === 'sst' || UNREAD_ROOTS.has(root)) continue;
    const text = (await readMarkup(part, strings, work)).join('');
    if (text.trim() !== '') texts.push(text);
  }
  return { texts, pictures };
}

function decode(part: Buffer): string {
  if (part[0] === 0xff && part[1] === 0xfe) return part.toString('utf16le', 2);
  if (part[0] === 0xfe && part[1] === 0xff)
    return Buffer.from(part.subarray(2, part.length & ~1))
      .swap16()
      .toString('utf16le');
  return part.toString('utf8');
}

/** The first element's name without its prefix; "" of a part without elements. */
function rootOf(part: string): string {
  return /<(?:[\w.-]{1,100}:)?([A-Za-z][\w.-]{0,100})/.exec(part.slice(0, 4_096))?.[1] ?? '';
}

/** Text outside of markup: each shared string, or one text of another part. */
async function readMarkup(part: string, strings: readonly string[], work: DocumentWork): Promise<string[]> {
  const reader = new MarkupReader(strings, work);
  let tags = 0;
  for (let at = 0; at < part.length; ) {
    const open = part.indexOf('<', at);
    reader.takeText(part.slice(at, open < 0 ? part.length : open));
    if (open < 0) break;
    const [before, after] = part.startsWith('<!--', open)
      ? ['<!--', '-->']
      : part.startsWith('<![CDATA[', open)
        ? ['<![CDATA[', ']]>']
        : ['<', '>'];
    const close = part.indexOf(after, open + before.length);
    const inside = part.slice(open + before.length, close < 0 ? part.length : close);
    if (before === '<') reader.takeTag(inside);
    else if (before !== '<!--') reader.takeText(inside);
    at = close < 0 ? part.length : close + after.length;
    work.addStep(inside.length);
    if (++tags % TAGS_PER_STEP === 0) await work.pause();
  }
  return reader.end();
}

class MarkupReader {
  readonly #strings: readonly string[];
  readonly #work: DocumentWork;
  readonly #ended: string[] = [];
  #pieces: string[] = [];
  #isShared = false;
  /** In the value of a cell that shows a shared string. */
  #index: string | null = null;
  /** In a formula, or the sound of a word. */
  #unread: string | null = null;

  constructor(strings: readonly string[], work: DocumentWork) {
    this.#strings = strings;
    this.#work = work;
  }

  takeText(written: string): void {
    if (written === '' || this.#unread !== null) return;
    if (this.#index !== null) {
      this.#index = (this.#index + written).slice(0, 64);
      return;
    }
    this.#add(entitiesDecoded(written));
  }

  takeTag(tag: string): void {
    const [, slash, name = ''] = /^(\/?)(?:[\w.-]{1,100}:)?([\w.-]{1,100})/.exec(tag) ?? [];
    const ends = slash === '/' || tag.endsWith('/');
    if (this.#unread !== null) {
      if (ends && name === this.#unread) this.#unread = null;
      return;
    }
    if (!ends) this.#open(name, tag);
    else this.#close(name);
  }

  end(): string[] {
    if (this.#pieces.length > 0) this.#ended.push(this.#pieces.join(''));
    return this.#ended;
  }

  #open(name: string, tag: string): void {
    if (name === 'si') this.#pieces = [];
    else if (name === 'c') this.#isShared = /\bt\s*=\s*["']s["']/.test(entitiesDecoded(tag));
    else if (name === 'v' && this.#isShared) this.#index = '';
    else if (name === 'f' || name === 'rPh') this.#unread = name;
  }

  #close(name: string): void {
    if (this.#index !== null) {
      const index = parseWholeNumber(entitiesDecoded(this.#index).trim());
      this.#index = null;
      this.#add((index === null ? undefined : this.#strings[index]) ?? '');
    }
    if (name === 'si') {
      this.#ended.push(this.#pieces.join(''));
      this.#pieces = [];
    } else if (LINES.has(name)) this.#add('\n');
    else if (WORDS.has(name)) this.#add(' ');
  }

  #add(text: string): void {
    this.#work.addText(text.length);
    this.#pieces.push(text);
  }
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' };

function entitiesDecoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]{1,8}));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const point = decimal === undefined ? parseHex(hex) : parseWholeNumber(decimal);
    return String.fromCodePoint(Math.min(point ?? 0, 0x10_ffff));
  });
}
