// Images and documents from URLs, data URLs and base64. URLs stay URLs.

import { TurnpikeError } from '../errors.ts';
import { type InlineFile, readDataUrl } from '../protocols/data-url.ts';
import type { Placed } from '../protocols/placed.ts';
import { type JsonObject, mediaTypeOf, PDF, wrongField } from '../wire/wire.ts';

const TITLE_CHARACTERS_MAX = 500;
const ADDRESS = /^https?:\/\//i;
const PICTURE_ADDRESS = /\.(?:png|jpe?g|gif|webp)$/i;

/** An image, or a PDF or text in its place, from its URL or data at `path`. Throws invalid_request. */
export function convertImage(url: string, path: string): Placed {
  if (ADDRESS.test(url)) return { block: linkedBlock(isAt(url, /\.pdf$/i) ? 'document' : 'image', url), path };
  const file = readInline(url);
  if (file === null) throw wrongField(path, 'Input should be an http(s) URL or a base64 data URL');
  const { mediaType: media_type, base64: data } = file;
  return { block: inlineBlock(file, path) ?? { type: 'image', source: { type: 'base64', media_type, data } }, path };
}

/** A PDF or a text, or an image in its place, from its URL or data at `path`. Throws invalid_request. */
export function convertDocument(url: string, path: string, name: string): Placed {
  const block = ADDRESS.test(url)
    ? linkedBlock(isAt(url, PICTURE_ADDRESS) ? 'image' : 'document', url)
    : inlineBlock(readInline(url) ?? { mediaType: '', base64: '' }, path);
  if (block === null)
    throw wrongField(
      path,
      'Input should be a base64 data URL of a PDF, a text or an image, or the http(s) URL of a PDF',
    );
  const title = name.slice(0, TITLE_CHARACTERS_MAX);
  return { block: title === '' || block['type'] === 'image' ? block : { ...block, title }, path };
}

function linkedBlock(type: 'image' | 'document', url: string): JsonObject {
  return { type, source: { type: 'url', url } };
}

function isAt(url: string, end: RegExp): boolean {
  return end.test(URL.parse(url)?.pathname ?? '');
}

/** The error for a file that is stored at a provider. */
export function storedFile(path: string): TurnpikeError {
  return new TurnpikeError('feature_unavailable', `${path}: stored files are not supported; send the file itself`);
}

/** The block of a file, whatever the client took it for; null for one that no block can carry. Throws invalid_request. */
export function inlineBlock({ mediaType, base64 }: InlineFile, path: string): JsonObject | null {
  const begun = mediaTypeOf(base64);
  const isVague = mediaType !== PDF && !/^(?:image|text)\//.test(mediaType);
  const type = begun === PDF || (isVague && begun !== null) ? begun : mediaType;
  if (type === PDF) return { type: 'document', source: { type: 'base64', media_type: PDF, data: base64 } };
  if (type.startsWith('text/')) return { type: 'document', source: textSource(base64, path) };
  if (!type.startsWith('image/')) return null;
  const media_type = type === 'image/jpg' ? 'image/jpeg' : type;
  return { type: 'image', source: { type: 'base64', media_type, data: base64 } };
}

function textSource(base64: string, path: string): JsonObject {
  try {
    const data = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
    return { type: 'text', media_type: 'text/plain', data };
  } catch {
    throw wrongField(path, 'the text is not UTF-8');
  }
}

/** The file of a data URL, or of base64 alone. */
function readInline(url: string): InlineFile | null {
  const mediaType = mediaTypeOf(url);
  return mediaType === null ? readDataUrl(url) : { mediaType, base64: url };
}
