// The dimensions of an image, read from the beginning of its file, or from a text such as "1024x768".

import { parseDigits } from '../base/checked-number.ts';

export interface ImageSize {
  width: number;
  height: number;
}

const HEAD_CHARACTERS_MAX = 128 * 1024; // of base64: metadata of a JPEG file may come before its dimensions
const JPEG_SEGMENTS_MAX = 1_000;

/** The size in a text such as "1024x768"; null: not one, or an edge of 0 or more than four digits. */
export function parseImageSize(text: string): ImageSize | null {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(text) ?? [];
  if (width === undefined || height === undefined) return null;
  const size = { width: parseDigits(width), height: parseDigits(height) };
  return size.width > 0 && size.height > 0 ? size : null;
}

/** null: not a PNG, JPEG, GIF or WebP file, or its dimensions are not at its beginning. */
export function readImageSize(base64: string): ImageSize | null {
  const file = Buffer.from(base64.slice(0, HEAD_CHARACTERS_MAX), 'base64');
  const size = readPng(file) ?? readGif(file) ?? readJpeg(file) ?? readWebp(file);
  return size === null || size.width === 0 || size.height === 0 ? null : size;
}

function has(file: Buffer, at: number, text: string): boolean {
  return file.length >= at + text.length && file.toString('latin1', at, at + text.length) === text;
}

function readPng(file: Buffer): ImageSize | null {
  if (file.length < 24 || !has(file, 0, '\x89PNG\r\n\x1a\n') || !has(file, 12, 'IHDR')) return null;
  return { width: file.readUInt32BE(16), height: file.readUInt32BE(20) };
}

function readGif(file: Buffer): ImageSize | null {
  if (file.length < 10 || !has(file, 0, 'GIF8')) return null;
  return { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
}

/** Frame headers are the markers C0 to CF, but for those of tables and arithmetic coding. */
function readJpeg(file: Buffer): ImageSize | null {
  if (!has(file, 0, '\xff\xd8')) return null;
  let at = 2;
  for (let segments = 0; segments < JPEG_SEGMENTS_MAX && at + 9 <= file.length; segments++) {
    if (file[at] !== 0xff) return null;
    const marker = file[at + 1] as number;
    if (marker === 0xff) at += 1;
    else if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { width: file.readUInt16BE(at + 7), height: file.readUInt16BE(at + 5) };
    else at += 2 + file.readUInt16BE(at + 2);
  }
  return null;
}

function readWebp(file: Buffer): ImageSize | null {
  if (file.length < 30 || !has(file, 0, 'RIFF') || !has(file, 8, 'WEBP')) return null;
  if (has(file, 12, 'VP8X')) return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 };
  if (has(file, 12, 'VP8L')) {
    const bits = file.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  if (has(file, 12, 'VP8 ')) return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff };
  return null;
}
