// Translates message content to blocks. URLs stay URLs; content that no block can carry is refused with its path.

import { TurnpikeError } from '../../errors.ts';
import { isJsonObject, type JsonObject, type JsonValue, requireText, textOf, wrongField } from '../../wire/wire.ts';

/** A block and its path in the client's request, such as "messages.0.content.1". */
export interface Placed {
  block: JsonObject;
  path: string;
}

const HEAD_CHARACTERS_MAX = 200; // of a data URL, before its data
const TITLE_CHARACTERS_MAX = 500;
const TYPE_CHARACTERS_MAX = 64;
const SAYS = /\S/;
const PDF = 'JVBERi'; // base64 prefixes of files that some clients send without a header
const ADDRESS = /^https?:\/\//i;

/** The blocks of a text or a list of parts, without blank texts. Throws invalid_request, feature_unavailable. */
export function convertContent(content: JsonValue | undefined, path: string, isTextOnly: boolean): Placed[] {
  if (content === undefined) throw wrongField(path, 'Field required');
  if (typeof content === 'string') return textBlock(content, path);
  if (!Array.isArray(content)) throw wrongField(path, 'Input should be a valid string or list');
  return content.flatMap((part, place) => {
    const partPath = `${path}.${place}`;
    if (!isJsonObject(part)) throw wrongField(partPath, 'Input should be a valid dictionary');
    return withCacheControl(convertPart(part, partPath, isTextOnly), part);
  });
}

/** The blocks; the last one has the holder's cache breakpoint, if any. */
export function withCacheControl(blocks: Placed[], holder: JsonObject): Placed[] {
  const control = holder['cache_control'];
  const last = blocks.at(-1);
  if (!isJsonObject(control) || last === undefined) return blocks;
  return [...blocks.slice(0, -1), { ...last, block: { ...last.block, cache_control: control } }];
}

export function requireObject(value: JsonValue | undefined, path: string): JsonObject {
  if (value === undefined) throw wrongField(path, 'Field required');
  if (!isExactObject(value)) throw wrongField(path, 'Input should be a valid dictionary');
  return value;
}

/** A number kept with all its digits is an object without a prototype. */
export function isExactObject(value: JsonValue | undefined): value is JsonObject {
  return isJsonObject(value) && Object.getPrototypeOf(value) !== null;
}

/** Empty for a blank text, which some models write before a tool call: providers refuse it when sent back. */
export function textBlock(text: string, path: string): Placed[] {
  return SAYS.test(text) ? [{ block: { type: 'text', text }, path }] : [];
}

function convertPart(part: JsonObject, path: string, isTextOnly: boolean): Placed[] {
  const type = requireText(part['type'], `${path}.type`);
  if (type === 'text') return textBlock(requireText(part['text'], `${path}.text`), `${path}.text`);
  if (type === 'refusal') return textBlock(requireText(part['refusal'], `${path}.refusal`), `${path}.refusal`);
  if (isTextOnly) throw wrongField(`${path}.type`, "Input should be 'text'");
  if (type === 'image_url') return [convertImage(part['image_url'], `${path}.image_url`)];
  if (type === 'file') return [convertFile(requireObject(part['file'], `${path}.file`), `${path}.file`)];
  if (type === 'input_audio') throw wrongField(`${path}.input_audio`, 'audio is not supported; send a transcript');
  const shown = JSON.stringify(type.slice(0, TYPE_CHARACTERS_MAX));
  throw wrongField(`${path}.type`, `Input should be 'text', 'image_url' or 'file', not ${shown}`);
}

function convertImage(image: JsonValue | undefined, path: string): Placed {
  const isBare = typeof image === 'string'; // as some clients send it
  const urlPath = isBare ? path : `${path}.url`;
  const url = isBare ? image : requireText(requireObject(image, path)['url'], urlPath);
  if (ADDRESS.test(url)) return { block: { type: 'image', source: { type: 'url', url } }, path: urlPath };
  const inside = readDataUrl(url);
  if (inside === null) throw wrongField(urlPath, 'Input should be an http(s) URL or a base64 data URL');
  const media_type = inside.mediaType === 'image/jpg' ? 'image/jpeg' : inside.mediaType;
  return { block: { type: 'image', source: { type: 'base64', media_type, data: inside.base64 } }, path: urlPath };
}

function convertFile(file: JsonObject, path: string): Placed {
  if (file['file_data'] === undefined && (file['file_id'] ?? null) !== null)
    throw new TurnpikeError(
      'feature_unavailable',
      `${path}.file_id: stored files are not supported; send the file itself`,
    );
  const dataPath = `${path}.file_data`;
  const url = requireText(file['file_data'], dataPath);
  const title = textOf(file['filename']).slice(0, TITLE_CHARACTERS_MAX);
  const source = documentSource(url, dataPath);
  return { block: { type: 'document', source, ...(title !== '' && { title }) }, path: dataPath };
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
