// How many tokens a document in a ZIP archive may have, such as docx and xlsx: the text of all its parts.

import { parseDigits } from '../base/checked-number.ts';
import { type DocumentWork, UnreadableDocument } from './document-work.ts';
import { inflate } from './inflate.ts';

export interface OfficeMeasure {
  textTokensMax: number;
  pictures: number;
}

/** The parts of an archive, in the order of its directory. Pictures are known by their beginnings. */
export interface OfficeParts {
  pictures: Buffer[];
  others: Buffer[];
}

const END_SIGNATURE = Buffer.from('PK\x05\x06', 'latin1');
const ENTRY_SIGNATURE = 0x0201_4b50;
const FILE_SIGNATURE = 0x0403_4b50;
const ENTRY_BYTES = 46;
const FILE_BYTES = 30;
const END_BYTES = 22;
const ENTRIES_MAX = 10_000;
const STORED = 0;
const DEFLATED = 8;
const PICTURES = ['\x89PNG', '\xff\xd8\xff', 'GIF8', 'RIFF', 'BM'];

/** Throws UnreadableDocument. */
export async function measureOffice(file: Buffer, work: DocumentWork): Promise<OfficeMeasure> {
  const { pictures, others: parts } = await readParts(file, work);
  const total: OfficeMeasure = { textTokensMax: 0, pictures: pictures.length };
  for (const part of parts) total.textTokensMax += part.length;
  total.textTokensMax += await repeatedTokens(parts, work);
  return total;
}

/** Throws UnreadableDocument. */
export async function readParts(file: Buffer, work: DocumentWork): Promise<OfficeParts> {
  const parts: OfficeParts = { pictures: [], others: [] };
  for (const entry of listEntries(file)) {
    work.addStep();
    await work.pause();
    const part = await readEntry(file, entry, work);
    const isPicture = PICTURES.some((beginning) => part.toString('latin1', 0, beginning.length) === beginning);
    (isPicture ? parts.pictures : parts.others).push(part);
  }
  return parts;
}

interface Entry {
  method: number;
  bytes: number;
  at: number;
}

/** Throws UnreadableDocument for anything that readers may take for different archives. */
function listEntries(file: Buffer): Entry[] {
  const end = file.lastIndexOf(END_SIGNATURE);
  if (end < 0 || end + END_BYTES > file.length) throw new UnreadableDocument('it is no archive');
  if (file.indexOf(END_SIGNATURE) !== end) throw new UnreadableDocument('it may be two archives');
  const count = file.readUInt16LE(end + 10);
  if (count > ENTRIES_MAX) throw new UnreadableDocument('it has too many parts');
  const entries: Entry[] = [];
  let at = file.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (at + ENTRY_BYTES > file.length || file.readUInt32LE(at) !== ENTRY_SIGNATURE)
      throw new UnreadableDocument('its directory is damaged');
    if ((file.readUInt16LE(at + 8) & 1) === 1) throw new UnreadableDocument('it is encrypted');
    entries.push({
      method: file.readUInt16LE(at + 10),
      bytes: file.readUInt32LE(at + 20),
      at: file.readUInt32LE(at + 42),
    });
    at += ENTRY_BYTES + file.readUInt16LE(at + 28) + file.readUInt16LE(at + 30) + file.readUInt16LE(at + 32);
  }
  return entries;
}

async function readEntry(file: Buffer, { method, bytes, at }: Entry, work: DocumentWork): Promise<Buffer> {
  if (at + FILE_BYTES > file.length || file.readUInt32LE(at) !== FILE_SIGNATURE)
    throw new UnreadableDocument('a part is damaged');
  const from = at + FILE_BYTES + file.readUInt16LE(at + 26) + file.readUInt16LE(at + 28);
  if (method === DEFLATED) return inflate(file.subarray(from), 'raw', work);
  if (method !== STORED || from + bytes > file.length) throw new UnreadableDocument('a part is compressed unusually');
  work.addBytes(bytes);
  return file.subarray(from, from + bytes);
}

const PIECE_CHARACTERS = 1024 * 1024;
const STRING_ITEM = /<(?:[\w.-]+:)?si[\s>/]/g;
const CELL = /<(?:[\w.-]+:)?c\b[^>]{0,500}?\bt\s*=\s*["']s["'][^>]{0,500}>\s*<(?:[\w.-]+:)?v[^>]{0,100}>\s*(\d{1,9})/g;
const VALUE = /<(?:[\w.-]+:)?v[\s>]/g;

/** Cells of a workbook refer to shared strings, each as often as they like. */
async function repeatedTokens(parts: readonly Buffer[], work: DocumentWork): Promise<number> {
  const strings: number[] = [];
  for (const part of parts) {
    if (!part.includes('sst')) continue;
    const places = [...part.toString('latin1').matchAll(STRING_ITEM)].map(({ index }) => index);
    for (const [order, place] of places.entries()) strings.push((places[order + 1] ?? part.length) - place);
    work.addStep(part.length);
    await work.pause();
  }
  if (strings.length === 0) return 0;
  const longest = strings.reduce((most, length) => Math.max(most, length), 0);
  let tokens = 0;
  for (const part of parts) {
    for (let at = 0; at < part.length; at += PIECE_CHARACTERS) {
      tokens += tokensOfCells(part.toString('latin1', at, at + PIECE_CHARACTERS), strings, longest);
      work.addStep(PIECE_CHARACTERS);
      await work.pause();
    }
  }
  return tokens;
}

/** A cell that is not written as usual counts as the longest string. */
function tokensOfCells(text: string, strings: readonly number[], longest: number): number {
  const values = text.match(VALUE)?.length ?? 0;
  let tokens = 0;
  let usual = 0;
  for (const [, index = '0'] of text.matchAll(CELL)) {
    usual++;
    tokens += strings[parseDigits(index)] ?? 0;
  }
  const isUsual = !/&#|<!/.test(text) && text.split(/\bt\s*=\s*["']s["']/).length - 1 <= usual;
  return isUsual ? tokens : values * longest;
}
