// Images and documents as parts. Nothing is fetched here: an address goes to Gemini, which reads it itself, or is
// refused.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { refuseField } from '../refuse-field.ts';

const IMAGE_TYPES: readonly string[] = ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'];
const TYPES_BY_SUFFIX: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  heic: 'image/heic',
  heif: 'image/heif',
};
/** Of an image whose address does not tell: without a type Gemini would take a film too, which nobody has paid for. */
const TYPE_UNTOLD = 'image/jpeg';
const PDF = 'application/pdf';
const OF_GOOGLE = /(^|\.)(googleapis\.com|storage\.cloud\.google\.com|youtube\.com|youtu\.be)\.?$/;

/** The part of an image's source. Throws ProviderFault (rejected). */
export function convertImage(block: JsonObject, path: string): JsonObject {
  const source = sourceOf(block, path);
  switch (source['type']) {
    case 'base64':
      return inline(
        imageType(source['media_type'], `${path}.source.media_type`),
        source['data'],
        `${path}.source.data`,
      );
    case 'url':
      return imageAt(source['url'], `${path}.source.url`);
    default:
      return refuseSource(path);
  }
}

/** The part of a document that is a PDF; null for one that is text. Throws ProviderFault (rejected). */
export function convertPdf(block: JsonObject, path: string): JsonObject | null {
  const source = sourceOf(block, path);
  switch (source['type']) {
    case 'base64':
      if (source['media_type'] !== PDF) refuseField(`${path}.source.media_type`, `Input should be '${PDF}'`);
      return inline(PDF, source['data'], `${path}.source.data`);
    case 'url': {
      const address = readAddress(source['url'], `${path}.source.url`);
      return { fileData: { fileUri: address.href, mimeType: PDF } };
    }
    case 'text':
    case 'content':
      return null;
    default:
      return refuseSource(path);
  }
}

function sourceOf(block: JsonObject, path: string): JsonObject {
  const source = block['source'];
  if (!isJsonObject(source)) refuseField(`${path}.source`, 'Field required');
  return source;
}

function refuseSource(path: string): never {
  refuseField(`${path}.source.type`, 'this kind of source is not available for the provider of this model');
}

function imageType(type: JsonValue | undefined, path: string): string {
  if (typeof type === 'string' && IMAGE_TYPES.includes(type)) return type;
  refuseField(path, `the provider of this model takes ${IMAGE_TYPES.join(', ')}`);
}

function inline(mimeType: string, data: JsonValue | undefined, path: string): JsonObject {
  if (typeof data !== 'string' || data === '') refuseField(path, 'Field required');
  return { inlineData: { mimeType, data } };
}

function imageAt(url: JsonValue | undefined, path: string): JsonObject {
  const inside = typeof url === 'string' ? /^data:([^;,]+);base64,(.*)$/s.exec(url) : null;
  if (inside !== null) return inline(imageType(inside[1], path), inside[2], path);
  const address = readAddress(url, path);
  const suffix = /\.([A-Za-z0-9]{1,5})$/.exec(address.pathname)?.[1]?.toLowerCase();
  const type = suffix === undefined ? TYPE_UNTOLD : TYPES_BY_SUFFIX[suffix];
  return { fileData: { fileUri: address.href, mimeType: imageType(type, path) } };
}

/**
 * Google reads its own addresses with the rights of the key, which is the operator's: no caller may name what lies there.
 * And at one of them every address is a film.
 */
function readAddress(url: JsonValue | undefined, path: string): URL {
  const address = typeof url === 'string' ? URL.parse(url) : null;
  if (address === null || address.protocol !== 'https:')
    refuseField(path, 'the provider of this model takes addresses that begin with https:// only');
  if (OF_GOOGLE.test(address.hostname)) refuseField(path, "addresses of Google's own cannot be used here");
  return address;
}
