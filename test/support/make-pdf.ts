// PDF files with a known number of pages and a known text, written in the many ways that the format allows.

import { deflateSync } from 'node:zlib';

export interface PdfStyle {
  /** Filters of content streams, outermost first. */
  filters: readonly ('FlateDecode' | 'ASCIIHexDecode' | 'ASCII85Decode' | 'LZWDecode' | 'RunLengthDecode')[];
  /** Strings in hexadecimal digits. */
  isHex: boolean;
  /** All objects but streams are in an object stream. */
  packsObjects: boolean;
  /** Lengths and counts are in objects of their own. */
  isIndirect: boolean;
  /** Names have escapes. */
  escapesNames: boolean;
  /** How often each page is in the tree, and each form on a page; a form may be in a form. */
  timesPage: number;
  timesForm: number;
  nestsForms: boolean;
  /** An older definition of each page's content, without text, comes after it. */
  isUpdated: boolean;
  /** The text that each code of a font stands for. */
  meaning: string;
}

export const PLAIN_STYLE: PdfStyle = {
  filters: ['FlateDecode'],
  isHex: false,
  packsObjects: false,
  isIndirect: false,
  escapesNames: false,
  timesPage: 1,
  timesForm: 0,
  nestsForms: false,
  isUpdated: false,
  meaning: '',
};

export interface MadePdf {
  file: Buffer;
  pages: number;
  /** Bytes of the text as its readers see it. */
  textBytes: number;
}

/** `texts`: of each page. */
export function makePdf(texts: readonly string[], given: Partial<PdfStyle> = {}): MadePdf {
  const style = { ...PLAIN_STYLE, ...given };
  const writer = new PdfWriter(style);
  const [catalog, tree, resources, form, outer] = [1, 2, 3, 4, 5];
  const drawn = style.nestsForms ? outer : form;
  writer.add(catalog, `<< /Type /Catalog /Pages ${tree} 0 R >>`);
  writer.add(
    resources,
    `<< /Font << /F1 6 0 R >> /${writer.name('XObject')} << /${writer.name('Fm')} ${drawn} 0 R >> >>`,
  );
  writer.add(6, `<< /Type /Font /BaseFont /Any${style.meaning === '' ? '' : ' /ToUnicode 7 0 R'} >>`);
  if (style.meaning !== '') writer.addStream(7, codes(style.meaning));
  const formText = style.timesForm > 0 ? 'text of the form' : '';
  writer.addStream(form, writer.show(formText), ' /Subtype /Form');
  writer.addStream(outer, '/Inner Do /Inner Do', ` /Subtype /Form /Resources << /XObject << /Inner ${form} 0 R >> >>`);
  const kids = texts.map((text, index) => {
    const [page, content] = [10 + 2 * index, 11 + 2 * index];
    writer.add(page, `<< /Type /${writer.name('Page')} /Parent ${tree} 0 R /Contents [${content} 0 R] >>`);
    if (style.isUpdated) writer.addStream(content, writer.show(text));
    writer.addStream(
      content,
      style.isUpdated ? '' : writer.show(text) + `/${writer.name('Fm')} Do `.repeat(style.timesForm),
    );
    return `${page} 0 R `.repeat(style.timesPage);
  });
  const count = writer.indirect(texts.length * style.timesPage);
  writer.add(
    tree,
    `<< /Type /Pages /Kids [${kids.join('')}] /Count ${count} /${writer.name('Resources')} ${resources} 0 R >>`,
  );
  const forms = style.isUpdated ? 0 : style.timesForm * formText.length * (style.nestsForms ? 2 : 1);
  const perCode = style.meaning === '' ? 1 : Buffer.byteLength(style.meaning);
  const bytes = texts.reduce((sum, text) => sum + text.length + forms, 0);
  return {
    file: writer.finish(catalog),
    pages: texts.length * style.timesPage,
    textBytes: bytes * perCode * style.timesPage,
  };
}

/** A table in which each code of one byte stands for the same text. */
function codes(meaning: string): string {
  const utf16 = Buffer.from(meaning, 'utf16le').swap16().toString('hex');
  return `1 begincodespacerange <00> <ff> endcodespacerange\n1 beginbfchar <41> <${utf16}> endbfchar`;
}

class PdfWriter {
  readonly #style: PdfStyle;
  readonly #parts: Buffer[] = [Buffer.from('%PDF-1.7\n')];
  readonly #packed: { number: number; text: string }[] = [];
  #next = 10_000;

  constructor(style: PdfStyle) {
    this.#style = style;
  }

  name(name: string): string {
    const [first = '', ...rest] = name;
    return this.#style.escapesNames ? `#${first.charCodeAt(0).toString(16)}${rest.join('')}` : name;
  }

  show(text: string): string {
    if (text === '') return '';
    const escaped = text.replaceAll(/[()\\]/g, (letter) => `\\${letter}`);
    return `BT /F1 12 Tf ${this.#style.isHex ? `<${Buffer.from(text).toString('hex')}>` : `(${escaped})`} Tj ET `;
  }

  indirect(number: number): string {
    if (!this.#style.isIndirect) return String(number);
    const own = this.#next++;
    this.#write(own, Buffer.from(String(number)));
    return `${own} 0 R`;
  }

  add(number: number, text: string): void {
    if (this.#style.packsObjects) this.#packed.push({ number, text });
    else this.#write(number, Buffer.from(text));
  }

  addStream(number: number, content: string, members = ''): void {
    const encoded = this.#style.filters.reduceRight(encode, Buffer.from(content, 'latin1'));
    const filters = this.#style.filters.map((filter) => `/${filter}`).join(' ');
    this.#writeStream(number, encoded, `/Filter [${filters}]${members}`);
  }

  finish(root: number): Buffer {
    if (this.#packed.length > 0) {
      const bodies = this.#packed.map(({ text }) => `${text} `);
      let offset = 0;
      const head = this.#packed.map(({ number }, index) => {
        const pair = `${number} ${offset} `;
        offset += (bodies[index] as string).length;
        return pair;
      });
      const first = head.join('').length;
      const members = `/Type /ObjStm /N ${head.length} /First ${first} /Filter /FlateDecode`;
      this.#writeStream(this.#next++, deflateSync(Buffer.from(head.join('') + bodies.join(''))), members);
    }
    return Buffer.concat([...this.#parts, Buffer.from(`trailer << /Root ${root} 0 R >>\n%%EOF`)]);
  }

  #writeStream(number: number, data: Buffer, members: string): void {
    const head = Buffer.from(`<< /Length ${this.indirect(data.length)} ${members} >>\nstream\r\n`);
    this.#write(number, Buffer.concat([head, data, Buffer.from('\nendstream')]));
  }

  #write(number: number, body: Buffer): void {
    this.#parts.push(Buffer.from(`${number} 0 obj\n`), body, Buffer.from('\nendobj\n'));
  }
}

function encode(data: Buffer, filter: PdfStyle['filters'][number]): Buffer {
  switch (filter) {
    case 'FlateDecode':
      return deflateSync(data);
    case 'ASCIIHexDecode':
      return Buffer.from(`${data.toString('hex')}>`);
    case 'ASCII85Decode':
      return Buffer.from(`${ascii85(data)}~>`);
    case 'RunLengthDecode':
      return Buffer.concat([...data].map((byte) => Buffer.from([0, byte])).concat(Buffer.from([128])));
    case 'LZWDecode':
      return lzw(data);
  }
}

function ascii85(data: Buffer): string {
  let text = '';
  for (let at = 0; at < data.length; at += 4) {
    const group = Buffer.alloc(4);
    const length = data.copy(group, 0, at, at + 4);
    let value = group.readUInt32BE(0);
    const digits = Array.from({ length: 5 }, () => {
      const digit = String.fromCharCode(0x21 + (value % 85));
      value = Math.floor(value / 85);
      return digit;
    }).reverse();
    text += value === 0 && length === 4 && group.readUInt32BE(0) === 0 ? 'z' : digits.slice(0, length + 1).join('');
  }
  return text;
}

/** With a clear code before each hundred bytes, so that codes stay at nine bits. */
function lzw(data: Buffer): Buffer {
  const codes = [...data].flatMap((byte, index) => (index % 100 === 0 ? [256, byte] : [byte])).concat(257);
  const bits = codes.map((code) => code.toString(2).padStart(9, '0')).join('');
  return Buffer.from((bits.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2)));
}
