// Images and documents from URLs, data URLs and base64. URLs stay URLs: nothing is fetched.

import { TurnpikeError } from '../errors.ts';
import { type JsonObject, wrongField } from '../wire/wire.ts';
import type { Placed } from './placed.ts';

const HEAD_CHARACTERS_MAX = 200; // a data URL's part before its data
const TITLE_CHARACTERS_MAX = 500;
const PDF = 'JVBERi'; // base64 prefixes of files that some clients send without a header
const ADDRESS = /^https?:\/\//i;

/** An image, or a PDF or text in its place, from its URL at `path`. Throws invalid_request. */
export function convertImage(url: string, path: string): Placed {
  if (ADDRESS.test(url)) return isPdfAddress(url) ? convertDocument(url, path, '') : imageAt(url, path);
  const inside = readDataUrl(url);
  if (inside === null) throw wrongField(path, 'Input should be an http(s) URL or a base64 data URL');
  // Clients send a PDF in place of an image where routers take it.
  if (inside.base64.startsWith(PDF)) return convertDocument(inside.base64, path, '');
  if (inside.mediaType === 'application/pdf' || inside.mediaType.startsWith('text/'))
    return convertDocument(url, path, '');
  const media_type = inside.mediaType === 'image/jpg' ? 'image/jpeg' : inside.mediaType;
  return { block: { type: 'image', source: { type: 'base64', media_type, data: inside.base64 } }, path };
}

function imageAt(url: string, path: string): Placed {
  return { block: { type: 'image', source: { type: 'url', url } }, path };
}

function isPdfAddress(url: string): boolean {
  return /\.pdf$/i.test(URL.parse(url)?.pathname ?? '');
}

/** A PDF or a text, from its URL or data at `path`. Throws invalid_request. */
export function convertDocument(url: string, path: string, name: string): Placed {
  const title = name.slice(0, TITLE_CHARACTERS_MAX);
  const block = { type: 'document', source: documentSource(url, path), ...(title !== '' && { title }) };
  return { block, path };
}

/** The error for a file that is stored at a provider. */
export function storedFile(path: string): TurnpikeError {
  return new TurnpikeError('feature_unavailable', `${path}: stored files are not supported; send the file itself`);
}

function documentSource(url: string, path: string): JsonObject {
  if (ADDRESS.test(url)) return { type: 'url', url };
  if (url.startsWith(PDF)) return { type: 'base64', media_type: 'application/pdf', data: url };
  const { mediaType, base64 } = readDataUrl(url) ?? { mediaType: '', base64: '' };
  if (mediaType === 'application/pdf') return { type: 'base64', media_type: mediaType, data: base64 };
  if (!mediaType.startsWith('text/'))
    throw wrongField(path, 'Input should be a base64 data URL of a PDF or a text, or the http(s) URL of a PDF');
  try {
    const data = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'));
    return { type: 'text', media_type: 'text/plain', data };
  } catch {
    throw wrongField(path, 'the text is not UTF-8');
  }
}

function readDataUrl(url: string): { mediaType: string; base64: string } | null {
  const comma = url.slice(0, HEAD_CHARACTERS_MAX).indexOf(',');
  if (comma < 0 || url.slice(0, 5).toLowerCase() !== 'data:') return null;
  const [mediaType = '', ...parameters] = url
    .slice(5, comma)
    .split(';')
    .map((part) => part.trim().toLowerCase());
  return parameters.at(-1) === 'base64' ? { mediaType, base64: url.slice(comma + 1) } : null;
}
