// Translates message content to blocks: parts of Chat Completions and of Responses, which clients mix. URLs stay URLs;
// content that no block can carry is refused with its path.

import { readPlainDataUrl } from '../protocols/data-url.ts';
import { type Placed, requireObject, textBlock, withCacheControl } from '../protocols/placed.ts';
import { SOUND_FORMATS, soundBlock, soundTypeOf } from '../protocols/sound.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  requireText,
  textOf,
  wrongField,
} from '../wire/wire.ts';
import { convertDocument, convertImage, storedFile } from './convert-media.ts';
import { type BlockReader, readUserBlock } from './messages-blocks.ts';

const TYPE_CHARACTERS_MAX = 64;

/**
 * The blocks of a text or a list of parts, without blank texts. Parts are first read by `read`, if they are not only text.
 * Throws invalid_request, feature_unavailable.
 */
export function convertContent(
  content: JsonValue | undefined,
  path: string,
  isTextOnly: boolean,
  read: BlockReader = isTextOnly ? readNothing : readUserBlock,
): Placed[] {
  if (content === undefined) throw wrongField(path, 'Field required');
  if (typeof content === 'string') return textBlock(content, path);
  if (!Array.isArray(content)) throw wrongField(path, 'Input should be a valid string or list');
  return content.flatMap((part, place) => {
    const partPath = `${path}.${place}`;
    if (!isJsonObject(part)) throw wrongField(partPath, 'Input should be a valid dictionary');
    return withCacheControl(read(part, partPath) ?? convertPart(part, partPath, isTextOnly), part);
  });
}

const readNothing = () => null;

function convertPart(part: JsonObject, path: string, isTextOnly: boolean): Placed[] {
  const type = requireText(part['type'], `${path}.type`);
  if (TEXTS.includes(type)) return textBlock(requireText(part['text'], `${path}.text`), `${path}.text`);
  if (type === 'refusal') return textBlock(requireText(part['refusal'], `${path}.refusal`), `${path}.refusal`);
  if (isTextOnly) throw wrongField(`${path}.type`, "Input should be 'text'");
  switch (type) {
    case 'input_image':
      requireNoStoredFile(part, path);
      return [convertImageUrl(part['image_url'], `${path}.image_url`)];
    case 'image_url':
      return [convertImageUrl(part['image_url'], `${path}.image_url`)];
    case 'input_file':
      return [convertInputFile(part, path)];
    case 'file':
      return [convertFile(requireObject(part['file'], `${path}.file`), `${path}.file`)];
    case 'input_audio':
      return [convertSound(requireObject(part['input_audio'], `${path}.input_audio`), `${path}.input_audio`)];
    default:
      throw wrongField(`${path}.type`, `parts of the type ${shownType(type)} are not supported here`);
  }
}

const TEXTS: readonly string[] = ['text', 'input_text', 'output_text'];

export function shownType(type: string): string {
  return JSON.stringify(type.slice(0, TYPE_CHARACTERS_MAX));
}

/** Some clients write the URL of one protocol in the form of the other. */
function convertImageUrl(image: JsonValue | undefined, path: string): Placed {
  const { url = null } = objectOf(image);
  if (url === null) return convertImage(requireText(image, path), path);
  return convertImage(requireText(url, `${path}.url`), `${path}.url`);
}

function convertFile(file: JsonObject, path: string): Placed {
  if (file['file_data'] === undefined && (file['file_id'] ?? null) !== null) throw storedFile(`${path}.file_id`);
  const dataPath = `${path}.file_data`;
  return convertDocument(requireText(file['file_data'], dataPath), dataPath, textOf(file['filename']));
}

function convertSound(sound: JsonObject, path: string): Placed {
  const data = requireText(sound['data'], `${path}.data`);
  const mediaType = soundTypeOf(requireText(sound['format'], `${path}.format`));
  if (mediaType === null) throw wrongField(`${path}.format`, `Input should be ${SOUND_FORMATS.join(' or ')}`);
  // Some clients send a data URL.
  return { block: soundBlock(mediaType, readPlainDataUrl(data)?.base64 ?? data), path };
}

/** Beside the content, too: it may be a file of another account. */
function requireNoStoredFile(part: JsonObject, path: string): void {
  if ((part['file_id'] ?? null) !== null) throw storedFile(`${path}.file_id`);
}

function convertInputFile(part: JsonObject, path: string): Placed {
  requireNoStoredFile(part, path);
  const isUrl = (part['file_url'] ?? null) !== null;
  // A provider of Responses gets the part as it is: each of the two would have to be held.
  if (isUrl && (part['file_data'] ?? null) !== null) throw wrongField(path, 'has both `file_data` and `file_url`');
  const member = isUrl ? 'file_url' : 'file_data';
  return convertDocument(requireText(part[member], `${path}.${member}`), `${path}.${member}`, textOf(part['filename']));
}
