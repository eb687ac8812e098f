// How many tokens the documents of a request may have, by their content. Documents that cannot be read may have any number.

import { DocumentWork, UnreadableDocument } from './document-work.ts';
import { imageTokens, type MediaTokens, pageImageTokens } from './image-tokens.ts';
import { measureOffice } from './measure-office.ts';
import { measurePdf } from './measure-pdf.ts';

/** A document in base64 that does not count by its bytes. */
export interface EncodedDocument {
  mediaType: string;
  base64: string;
}

// Base64 of the beginnings of files: of a PDF file, an archive, and the older formats of office programs.
const PDF = 'JVBERi';
const ZIP = 'UEsDB';
const OLE = '0M8R4KGx';
const TEXT = /^text\/|^application\/(?:json|xml|csv|x-\w+)$/;
const TOKENS_PER_OLE_BYTE = 3; // text there may have one byte per character
const TYPICAL_TEXT_SHARE = 1 / 8; // of the bound of a text
const TYPICAL_UNREADABLE_TOKENS_PER_CHARACTER = 1 / 32; // of base64: two thousand tokens a page of fifty kilobytes

export function isPdf(mediaType: string, base64: string): boolean {
  return mediaType === 'application/pdf' || base64.startsWith(PDF);
}

export function isZip(base64: string): boolean {
  return base64.startsWith(ZIP);
}

export function isOle(base64: string): boolean {
  return base64.startsWith(OLE);
}

/** A document of which each byte counts as text. */
export function isTextType(mediaType: string): boolean {
  return TEXT.test(mediaType);
}

/** Measures all documents together, because their work is bounded together. */
export async function measureDocuments(
  documents: readonly EncodedDocument[],
  models: readonly string[],
): Promise<MediaTokens> {
  const work = new DocumentWork();
  const total: MediaTokens = { most: 0, typical: 0 };
  for (const document of documents) {
    const { most, typical } = await measureOne(document, models, work);
    total.most = total.most === null || most === null ? null : total.most + most;
    total.typical += typical;
  }
  return { most: total.most === null ? null : Math.ceil(total.most), typical: Math.ceil(total.typical) };
}

async function measureOne(
  { mediaType, base64 }: EncodedDocument,
  models: readonly string[],
  work: DocumentWork,
): Promise<MediaTokens> {
  try {
    const file = Buffer.from(base64, 'base64');
    await work.pause();
    if (isPdf(mediaType, base64)) return ofPages(await measurePdf(file, work), models);
    if (isZip(base64)) return ofParts(await measureOffice(file, work), models);
    if (isOle(base64)) return ofText(TOKENS_PER_OLE_BYTE * file.length);
  } catch (thrown) {
    if (!(thrown instanceof UnreadableDocument)) throw thrown;
  }
  return { most: null, typical: 2_000 + base64.length * TYPICAL_UNREADABLE_TOKENS_PER_CHARACTER };
}

function ofPages({ pages, textTokensMax }: { pages: number; textTokensMax: number }, models: readonly string[]) {
  const page = pageImageTokens(models);
  return {
    most: textTokensMax + pages * page.most,
    typical: textTokensMax * TYPICAL_TEXT_SHARE + pages * page.typical,
  };
}

function ofParts(
  { pictures, textTokensMax }: { pictures: number; textTokensMax: number },
  models: readonly string[],
): MediaTokens {
  const { most, typical } = imageTokens(models, null);
  const text = ofText(textTokensMax);
  if (pictures === 0) return text;
  return {
    most: most === null ? null : (text.most as number) + pictures * most,
    typical: text.typical + pictures * typical,
  };
}

function ofText(tokensMax: number): MediaTokens {
  return { most: tokensMax, typical: tokensMax * TYPICAL_TEXT_SHARE };
}
