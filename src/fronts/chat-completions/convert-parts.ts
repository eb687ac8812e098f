// Translates message content to blocks. URLs stay URLs; content that no block can carry is refused with its path.

import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  requireText,
  textOf,
  wrongField,
} from '../../wire/wire.ts';
import { convertDocument, convertImage, storedFile } from '../convert-media.ts';
import { type Placed, requireObject, textBlock, withCacheControl } from '../placed.ts';
import { convertInputPart } from '../responses/responses.ts';
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
  if (type === 'text') return textBlock(requireText(part['text'], `${path}.text`), `${path}.text`);
  if (type === 'refusal') return textBlock(requireText(part['refusal'], `${path}.refusal`), `${path}.refusal`);
  if (TEXTS_OF_RESPONSES.includes(type)) return convertInputPart(part, path, isTextOnly);
  if (isTextOnly) throw wrongField(`${path}.type`, "Input should be 'text'");
  if (type === 'image_url') return [convertImageUrl(part['image_url'], `${path}.image_url`)];
  if (MEDIA_OF_RESPONSES.includes(type)) return convertInputPart(withPlainUrl(part), path, isTextOnly);
  if (type === 'file') return [convertFile(requireObject(part['file'], `${path}.file`), `${path}.file`)];
  if (type === 'input_audio') throw wrongField(`${path}.input_audio`, 'audio is not supported; send a transcript');
  const shown = JSON.stringify(type.slice(0, TYPE_CHARACTERS_MAX));
  throw wrongField(`${path}.type`, `Input should be 'text', 'image_url' or 'file', not ${shown}`);
}

const TEXTS_OF_RESPONSES: readonly string[] = ['input_text', 'output_text'];
const MEDIA_OF_RESPONSES: readonly string[] = ['input_image', 'input_file'];

/** Some clients write the URL of an `input_image` as that of an `image_url`. */
function withPlainUrl(part: JsonObject): JsonObject {
  const { url = null } = objectOf(part['image_url']);
  return url === null ? part : { ...part, image_url: url };
}

function convertImageUrl(image: JsonValue | undefined, path: string): Placed {
  if (typeof image === 'string') return convertImage(image, path); // as some clients send it
  const urlPath = `${path}.url`;
  return convertImage(requireText(requireObject(image, path)['url'], urlPath), urlPath);
}

function convertFile(file: JsonObject, path: string): Placed {
  if (file['file_data'] === undefined && (file['file_id'] ?? null) !== null) throw storedFile(`${path}.file_id`);
  const dataPath = `${path}.file_data`;
  return convertDocument(requireText(file['file_data'], dataPath), dataPath, textOf(file['filename']));
}
