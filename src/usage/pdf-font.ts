// A font of a PDF file, as far as its codes stand for text and take space on a line.

import { isWholeNumber, parseHex } from '../base/checked-number.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { type PdfCodes, readCodes } from './pdf-codes.ts';
import type { PdfFile } from './pdf-file.ts';
import { type PdfDictionary, PdfName, type PdfValue } from './pdf-objects.ts';

export interface ShownText {
  text: string;
  /** Widths of all codes, in ems. */
  ems: number;
  codes: number;
  spaces: number;
  /** Codes that stand for text which the file does not tell. */
  untold: number;
}

/** The tables of a font. */
interface FontTables {
  codeBytes: number;
  /** Codes of several bytes are UTF-16. */
  isUnicode: boolean;
  codes: PdfCodes | null;
  names: ReadonlyMap<number, string>;
  widths: ReadonlyMap<number, number>;
  /** The width of other codes; null: estimated by their character. */
  widthElse: number | null;
}

const WIDTHS_MAX = 65_536;
const CODE_BYTES = 16; // that setting a width costs as much as reading
const SIMPLE_CODES = 256;
const PER_EM = 1_000;

/** Throws UnreadableDocument. */
export async function readFont(pdf: PdfFile, font: PdfDictionary, work: DocumentWork): Promise<PdfFont> {
  const table = pdf.definitionsOf(font.get('ToUnicode')).findLast(({ data }) => data !== null);
  const codes = table === undefined ? null : await readCodes(await pdf.decode(table), work);
  const descendant = pdf.dictionariesOf(lastList(pdf, font.get('DescendantFonts'))[0]).at(-1);
  if (descendant === undefined) return new PdfFont(simpleTables(pdf, font, codes, work), work);
  const encoding = pdf.definitionsOf(font.get('Encoding')).at(-1);
  const ownCodes = encoding?.data === null || encoding === undefined ? null : codes?.codeBytes;
  const name = encoding?.value instanceof PdfName ? encoding.value.name : '';
  const given = lastOf(pdf, descendant.get('DW'));
  return new PdfFont(
    {
      codeBytes: ownCodes ?? 2,
      isUnicode: /UCS2|UTF16/.test(name),
      codes,
      names: new Map(),
      widths: await wideWidths(pdf, lastList(pdf, descendant.get('W')), work),
      widthElse: isWholeNumber(given) ? given : PER_EM,
    },
    work,
  );
}

function simpleTables(pdf: PdfFile, font: PdfDictionary, codes: PdfCodes | null, work: DocumentWork): FontTables {
  const names = new Map<number, string>();
  let code = 0;
  for (const encoding of pdf.dictionariesOf(font.get('Encoding')))
    for (const one of lastList(pdf, encoding.get('Differences'))) {
      if (isWholeNumber(one)) code = one;
      else if (one instanceof PdfName) names.set(code++, one.name);
    }
  const first = lastOf(pdf, font.get('FirstChar'));
  const widths = new Map<number, number>();
  for (const width of lastList(pdf, font.get('Widths')).slice(0, SIMPLE_CODES)) {
    const value = lastOf(pdf, width);
    work.addStep();
    if (isWholeNumber(value)) widths.set((isWholeNumber(first) ? first : 0) + widths.size, value);
  }
  return { codeBytes: 1, isUnicode: false, codes, names, widths, widthElse: null };
}

/** Lists "first [width width …]" and "first last width". */
async function wideWidths(pdf: PdfFile, list: readonly PdfValue[], work: DocumentWork): Promise<Map<number, number>> {
  const widths = new Map<number, number>();
  for (let at = 0; at < list.length; ) {
    const [first, second, third] = [list[at], lastOf(pdf, list[at + 1]), list[at + 2]];
    const given = Array.isArray(second) ? second : null;
    if (!isWholeNumber(first)) at++;
    else if (given !== null) {
      for (const [index, width] of given.entries()) if (isWholeNumber(width)) widths.set(first + index, width);
      at += 2;
    } else if (isWholeNumber(second) && isWholeNumber(third)) {
      work.addStep(CODE_BYTES * Math.max(0, Math.min(second, WIDTHS_MAX) - first));
      for (let code = first; code <= Math.min(second, WIDTHS_MAX); code++) widths.set(code, third);
      at += 3;
    } else at++;
    if (widths.size > WIDTHS_MAX) throw new UnreadableDocument('a font has too many widths');
    work.addStep();
    await work.pause();
  }
  return widths;
}

function lastOf(pdf: PdfFile, value: PdfValue | undefined): PdfValue {
  return pdf.valuesOf(value).at(-1) ?? null;
}

function lastList(pdf: PdfFile, value: PdfValue | undefined): PdfValue[] {
  const list = lastOf(pdf, value);
  return Array.isArray(list) ? list : [];
}

export class PdfFont {
  readonly #tables: FontTables;
  readonly #work: DocumentWork;

  constructor(tables: FontTables, work: DocumentWork) {
    this.#tables = tables;
    this.#work = work;
  }

  /** The text of a string, whose bytes are its characters. Throws UnreadableDocument. */
  read(string: string): ShownText {
    const { codeBytes, widths, widthElse } = this.#tables;
    const shown: ShownText = { text: '', ems: 0, codes: 0, spaces: 0, untold: 0 };
    for (let at = 0; at < string.length; at += codeBytes) {
      let code = 0;
      for (let place = at; place < at + codeBytes; place++) code = code * 256 + (string.charCodeAt(place) || 0);
      const text = this.#textOf(code);
      if (text === null) shown.untold++;
      else shown.text += text;
      shown.ems += (widths.get(code) ?? widthElse ?? usualWidth(text ?? '')) / PER_EM;
      shown.codes++;
      if (codeBytes === 1 && code === 0x20) shown.spaces++;
      this.#work.addText(text?.length ?? 1);
    }
    return shown;
  }

  /** null: the file does not tell. */
  #textOf(code: number): string | null {
    const { codeBytes, codes, isUnicode, names } = this.#tables;
    const text = codes?.textOf(code) ?? null;
    if (text !== null) return text;
    if (codeBytes > 1) return isUnicode ? String.fromCharCode(code) : null;
    const name = names.get(code);
    return (name === undefined ? null : textOfName(name)) ?? LETTERS[code] ?? '';
  }
}

/** A font that the page does not have. */
export function unknownFont(work: DocumentWork): PdfFont {
  const none = new Map<number, never>();
  return new PdfFont({ codeBytes: 1, isUnicode: false, codes: null, names: none, widths: none, widthElse: null }, work);
}

/** The usual text of codes of one byte; control characters have none, spaces excepted. */
const LETTERS = Array.from(
  new TextDecoder('windows-1252').decode(Uint8Array.from({ length: 256 }, (_, code) => code)),
  (letter) => (/\s/.test(letter) ? ' ' : /\p{Cc}/u.test(letter) ? '' : letter),
);

/** As wide as the letters of Helvetica. */
function usualWidth(text: string): number {
  if (/^[ijltfrI.,;:'|!()[\] ]$/.test(text)) return 280;
  return /^[mwMW@%]$/.test(text) ? 850 : /^[A-Z]$/.test(text) ? 680 : 540;
}

const NAMES: ReadonlyMap<string, string> = new Map(
  `space=  exclam=! quotedbl=" numbersign=# dollar=$ percent=% ampersand=& quotesingle=' parenleft=( parenright=)
   asterisk=* plus=+ comma=, hyphen=- minus=- period=. slash=/ zero=0 one=1 two=2 three=3 four=4 five=5 six=6 seven=7
   eight=8 nine=9 colon=: semicolon=; less=< equal== greater=> question=? at=@ bracketleft=[ backslash=\\ bracketright=]
   asciicircum=^ underscore=_ grave=\` braceleft={ bar=| braceright=} asciitilde=~ quoteleft=‘ quoteright=’
   quotedblleft=“ quotedblright=” endash=– emdash=— bullet=• ellipsis=… ff=ff fi=fi fl=fl ffi=ffi ffl=ffl
   dotlessi=ı germandbls=ß ae=æ oe=œ oslash=ø lslash=ł AE=Æ OE=Œ Oslash=Ø Euro=€ section=§ degree=° copyright=©`
    .split(/\s+(?=\w)/)
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1) || ' '] as const),
);
const ACCENTS: ReadonlyMap<string, string> = new Map([
  ['acute', '\u0301'],
  ['grave', '\u0300'],
  ['circumflex', '\u0302'],
  ['dieresis', '\u0308'],
  ['tilde', '\u0303'],
  ['ring', '\u030a'],
  ['cedilla', '\u0327'],
  ['caron', '\u030c'],
  ['ogonek', '\u0328'],
  ['macron', '\u0304'],
  ['breve', '\u0306'],
  ['dotaccent', '\u0307'],
  ['hungarumlaut', '\u030b'],
]);

/** null: a name that stands for nothing known, such as "g12". */
function textOfName(name: string): string | null {
  const known = NAMES.get(name);
  if (known !== undefined) return known;
  if (/^[A-Za-z]$/.test(name)) return name;
  const [, digits] = /^uni((?:[0-9A-F]{4}){1,8})$/.exec(name) ?? [];
  if (digits !== undefined) return Buffer.from(digits, 'hex').swap16().toString('utf16le');
  const [, point] = /^u([0-9A-F]{4,6})$/.exec(name) ?? [];
  if (point !== undefined) return String.fromCodePoint(Math.min(parseHex(point) ?? 0, 0x10_ffff));
  const [, letter = '', accent = ''] = /^([A-Za-z])([a-z]{4,12})$/.exec(name) ?? [];
  const mark = ACCENTS.get(accent);
  if (mark !== undefined) return (letter + mark).normalize('NFC');
  return name.includes('_')
    ? name
        .split('_')
        .map((part) => NAMES.get(part) ?? part)
        .join('')
    : null;
}
