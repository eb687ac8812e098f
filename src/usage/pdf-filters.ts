// Decodes the data of a PDF stream by its chain of filters.

import { isWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { inflate } from './inflate.ts';
import { isSpace, type PdfDictionary, PdfName, type PdfValue } from './pdf-objects.ts';

const SHORT: ReadonlyMap<string, string> = new Map([
  ['Fl', 'FlateDecode'],
  ['LZW', 'LZWDecode'],
  ['AHx', 'ASCIIHexDecode'],
  ['A85', 'ASCII85Decode'],
  ['RL', 'RunLengthDecode'],
]);
/** They make pictures, which have no text. */
const PICTURES = ['DCTDecode', 'DCT', 'JPXDecode', 'CCITTFaxDecode', 'CCF', 'JBIG2Decode'];
const FILTERS_MAX = 8;

export interface Filter {
  name: string;
  parameters: PdfDictionary | null;
}

/** The filters of a stream; `resolve` follows a reference. Throws UnreadableDocument. */
export function filtersOf(dictionary: PdfDictionary, resolve: (value: PdfValue | undefined) => PdfValue): Filter[] {
  if (dictionary.has('F') && !(resolve(dictionary.get('F')) instanceof PdfName))
    throw new UnreadableDocument('a stream is in another file');
  const listOf = (value: PdfValue) => (Array.isArray(value) ? value.map(resolve) : value === null ? [] : [value]);
  const parameters = listOf(resolve(dictionary.get('DecodeParms') ?? dictionary.get('DP')));
  const names = listOf(resolve(dictionary.get('Filter') ?? dictionary.get('F')));
  if (names.length > FILTERS_MAX) throw new UnreadableDocument('a stream has too many filters');
  return names.map((given, place) => {
    const own = parameters[place];
    if (!(given instanceof PdfName)) throw new UnreadableDocument('a filter has no name');
    return { name: SHORT.get(given.name) ?? given.name, parameters: own instanceof Map ? own : null };
  });
}

/** `data` goes on beyond the stream, whose stated length may be wrong. Throws UnreadableDocument. */
export async function decodeStream(
  data: Buffer,
  length: number,
  filters: readonly Filter[],
  work: DocumentWork,
): Promise<Buffer> {
  // Compressed data know their own end; their bytes may include any word.
  let decoded = filters[0]?.name === 'FlateDecode' ? data : data.subarray(0, lengthOf(data, length, work));
  if (filters.length === 0) work.addBytes(decoded.length);
  for (const { name, parameters } of filters) {
    if (PICTURES.includes(name)) return Buffer.alloc(0);
    decoded = await decodeOnce(name, decoded, parameters, work);
    await work.pause();
  }
  return decoded;
}

/** The longer one of both lengths that a reader may use. */
function lengthOf(data: Buffer, length: number, work: DocumentWork): number {
  const end = data.indexOf('endstream');
  work.addStep(end < 0 ? data.length : end);
  return end < 0 ? data.length : Math.max(end, Math.min(length, data.length));
}

async function decodeOnce(
  name: string,
  data: Buffer,
  parameters: PdfDictionary | null,
  work: DocumentWork,
): Promise<Buffer> {
  if (name !== 'FlateDecode' && data.length > bounds.documentTextBytesMax / 4)
    throw new UnreadableDocument('the data of a filter are too long');
  switch (name) {
    case 'FlateDecode':
      return unpredict(await inflate(data, 'zlib', work), parameters);
    case 'LZWDecode':
      return unpredict(decodeLzw(data, parameters?.get('EarlyChange') !== 0, work), parameters);
    case 'ASCIIHexDecode':
      return counted(decodeHex(data), work);
    case 'ASCII85Decode':
      return counted(decodeAscii85(data), work);
    case 'RunLengthDecode':
      return decodeRuns(data, work);
    default:
      throw new UnreadableDocument(`the filter ${name} is not known`);
  }
}

function counted(decoded: Buffer, work: DocumentWork): Buffer {
  work.addBytes(decoded.length);
  return decoded;
}

/** Undoes a PNG predictor. */
function unpredict(data: Buffer, parameters: PdfDictionary | null): Buffer {
  const numberOf = (name: string, usual: number) => {
    const value = parameters?.get(name) ?? usual;
    if (!isWholeNumber(value)) throw new UnreadableDocument('a predictor has no numbers');
    return value;
  };
  const predictor = numberOf('Predictor', 1);
  if (predictor === 1) return data;
  const bits = numberOf('Colors', 1) * numberOf('BitsPerComponent', 8);
  const rowBytes = Math.ceil((bits * numberOf('Columns', 1)) / 8);
  if (
    predictor < 10 ||
    !Number.isInteger(rowBytes) ||
    rowBytes < 1 ||
    rowBytes > data.length ||
    data.length > 4 * bounds.documentTextBytesMax
  )
    throw new UnreadableDocument('a predictor is not known');
  return unpredictPng(data, rowBytes, Math.max(1, Math.ceil(bits / 8)));
}

function unpredictPng(data: Buffer, rowBytes: number, pixelBytes: number): Buffer {
  const rows = Math.ceil(data.length / (rowBytes + 1));
  const out = Buffer.alloc(rows * rowBytes);
  for (let row = 0; row < rows; row++) {
    const type = data[row * (rowBytes + 1)] as number;
    for (let column = 0; column < rowBytes; column++) {
      const at = row * rowBytes + column;
      const left = column >= pixelBytes ? (out[at - pixelBytes] as number) : 0;
      const above = row > 0 ? (out[at - rowBytes] as number) : 0;
      const corner = row > 0 && column >= pixelBytes ? (out[at - rowBytes - pixelBytes] as number) : 0;
      out[at] = (data[row * (rowBytes + 1) + 1 + column] ?? 0) + predicted(type, left, above, corner);
    }
  }
  return out;
}

function predicted(type: number, left: number, above: number, corner: number): number {
  switch (type) {
    case 1:
      return left;
    case 2:
      return above;
    case 3:
      return (left + above) >> 1;
    case 4: {
      const [toLeft, toAbove, toCorner] = [left, above, corner].map((one) => Math.abs(left + above - corner - one)) as [
        number,
        number,
        number,
      ];
      return toLeft <= toAbove && toLeft <= toCorner ? left : toAbove <= toCorner ? above : corner;
    }
    default:
      return 0;
  }
}

export function decodeHex(data: Buffer): Buffer {
  const end = data.indexOf('>');
  const digits = data.toString('latin1', 0, end < 0 ? data.length : end).replaceAll(/[^0-9a-fA-F]/g, '');
  return Buffer.from(digits.length % 2 === 0 ? digits : `${digits}0`, 'hex');
}

function decodeAscii85(data: Buffer): Buffer {
  const out = Buffer.alloc(data.length * 4);
  let length = 0;
  let group: number[] = [];
  const flush = () => {
    const kept = group.length - 1;
    while (group.length < 5) group.push(84);
    out.writeUInt32BE(group.reduce((sum, digit) => sum * 85 + digit, 0) % 0x1_0000_0000, length);
    length += Math.min(4, kept);
    group = [];
  };
  for (const code of data) {
    if (code === 0x7e) break;
    if (code === 0x7a && group.length === 0) length += 4;
    else if (code >= 0x21 && code <= 0x75) {
      group.push(code - 0x21);
      if (group.length === 5) flush();
    } else if (!isSpace(code)) break;
  }
  if (group.length > 1) flush();
  return out.subarray(0, length);
}

/** A byte below 128 begins so many literal bytes, one above 128 a repeated byte. */
function decodeRuns(data: Buffer, work: DocumentWork): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < data.length && data[at] !== 128; ) {
    const code = data[at] as number;
    const piece = code < 128 ? data.subarray(at + 1, at + 2 + code) : Buffer.alloc(257 - code, data[at + 1] ?? 0);
    work.addBytes(piece.length);
    pieces.push(piece);
    at += code < 128 ? code + 2 : 2;
  }
  return Buffer.concat(pieces);
}

const CLEAR = 256;
const LZW_END = 257;
const LZW_CODES_MAX = 4_096;

/** `early`: codes grow by a bit one code earlier than needed, as usual. */
function decodeLzw(data: Buffer, early: boolean, work: DocumentWork): Buffer {
  const pieces: Buffer[] = [];
  let table: Buffer[] = [];
  let width = 9;
  let previous: Buffer | null = null;
  let bits = 0;
  let bitCount = 0;
  const clear = () => {
    table = Array.from({ length: 256 }, (_, code) => Buffer.from([code]));
    table.push(Buffer.alloc(0), Buffer.alloc(0));
    width = 9;
    previous = null;
  };
  clear();
  for (const byte of data) {
    bits = ((bits << 8) | byte) & 0xff_ffff;
    bitCount += 8;
    if (bitCount < width) continue;
    bitCount -= width;
    const code = (bits >> bitCount) & ((1 << width) - 1);
    if (code === LZW_END) break;
    if (code === CLEAR) {
      clear();
      continue;
    }
    const last: Buffer | null = previous;
    const known: Buffer | undefined = table[code];
    if (known === undefined && last === null) break; // damaged
    const entry: Buffer = known ?? Buffer.concat([last as Buffer, (last as Buffer).subarray(0, 1)]);
    work.addBytes(entry.length);
    pieces.push(entry);
    if (last !== null && table.length < LZW_CODES_MAX) table.push(Buffer.concat([last, entry.subarray(0, 1)]));
    previous = entry;
    width = Math.min(12, Math.max(9, 32 - Math.clz32(table.length + (early ? 1 : 0))));
  }
  return Buffer.concat(pieces);
}
