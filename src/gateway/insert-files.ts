// Puts the content of files into a message in place of their ids, before it is parsed: limits, holds and providers see what is really
// sent. Only ids of this service; those of a provider stay.

import { type Caller, topOf } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type FileReader, parseFileId, type StoredFile } from '../files/files.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonObjects,
  objectOf,
  parseExactly,
  parseJson,
  pauseAfter,
  scanJson,
  textOf,
} from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';
import type { Gateway } from './dependencies.ts';

/** The members with an id, of Gemini's protocol in either case. */
const MEMBERS: readonly string[] = ['"file_id"', '"fileUri"', '"file_uri"'];
const ID_OF_OURS = /"(?:file_id|fileUri|file_uri)"\s*:\s*"(?:files\/)?file[-_][\dA-Za-z]{9}"/; // in a string, the quotes would be escaped
const BASE64_CHARACTERS_PER_BYTE = 4 / 3;

/** A block or part with an id. */
interface Place {
  id: string;
  path: string;
  put(file: StoredFile, content: Buffer): void;
}

/** Whether a message names files of this service, which their client may delete at any time. */
export function namesFiles(text: string): boolean {
  return MEMBERS.some((member) => text.includes(member)) && ID_OF_OURS.test(text);
}

/** The text, or, if it names files, a promise of that with their content. Throws and rejects with invalid_request, body_too_large, overloaded. */
export function insertFiles(
  gateway: Pick<Gateway, 'files' | 'clock'>,
  caller: Caller,
  clientRequest: Pick<ClientRequest, 'growBody'>,
  text: string,
  bytesMax: number,
): string | Promise<string> {
  if (gateway.files === undefined || !namesFiles(text)) return text;
  const { account, key } = caller;
  const reader = { accountId: account.id, keyId: key.id, nowMs: gateway.clock.nowMs() };
  const grow = (bytes: number) => clientRequest.growBody(bytes, topOf(caller));
  return insert(gateway.files, reader, text, bytesMax, grow);
}

async function insert(
  files: NonNullable<Gateway['files']>,
  reader: FileReader,
  text: string,
  bytesMax: number,
  grow: (bytes: number) => void,
): Promise<string> {
  scanJson(text); // before parsing: bounds depth and cost
  await pauseAfter(text);
  const body = parseJson(text, parseExactly);
  const places = findPlaces(body);
  if (places.length > bounds.fileIdsMax)
    throw new TurnpikeError('invalid_request', `body: must not name more than ${bounds.fileIdsMax} files`);
  let bytes = Buffer.byteLength(text);
  for (const place of places) {
    const file = await find(files, place, reader);
    const added = Math.ceil(file.bytes * BASE64_CHARACTERS_PER_BYTE);
    bytes += added;
    if (bytes > bytesMax)
      throw new TurnpikeError(
        'body_too_large',
        `${place.path}: with its files, the request exceeds ${bytesMax} bytes.`,
      );
    grow(added);
    const pieces = await files.read(file);
    place.put(file, Buffer.concat(await Array.fromAsync(pieces)));
  }
  return JSON.stringify(body);
}

async function find(
  files: NonNullable<Gateway['files']>,
  { id, path }: Place,
  reader: FileReader,
): Promise<StoredFile> {
  try {
    return await files.find(id, reader);
  } catch (failure) {
    if (!(failure instanceof TurnpikeError) || failure.code !== 'object_not_found') throw failure;
    throw new TurnpikeError('invalid_request', `${path}: No such file`);
  }
}

/** Where content is, in any protocol: messages, their content, results of tools, items of Responses, and Gemini's contents. */
function findPlaces(body: JsonValue): Place[] {
  const found: Place[] = [];
  const visit = (list: JsonValue | undefined, path: string) => {
    if (!Array.isArray(list)) return;
    for (const [at, one] of list.entries()) {
      if (!isJsonObject(one)) continue;
      const place = placeOf(one, `${path}.${at}`);
      if (place !== null && parseFileId(place.id) !== null) found.push(place);
      for (const name of ['content', 'output', 'parts']) visit(one[name], `${path}.${at}.${name}`);
    }
  };
  for (const name of ['messages', 'input', 'contents']) visit(objectOf(body)[name], name);
  const { images, mask } = objectOf(body);
  for (const [at, one] of jsonObjects(images).entries()) addReference(found, one, `images.${at}`);
  if (isJsonObject(mask)) addReference(found, mask, 'mask');
  return found;
}

/** An image of an edit, as OpenAI's clients name it in JSON. */
function addReference(found: Place[], part: JsonObject, path: string): void {
  const id = textOf(part['file_id']);
  if (parseFileId(id) === null) return;
  found.push({ id, path: `${path}.file_id`, put: (file, content) => putUrl(part, 'image_url', file, content) });
}

function placeOf(part: JsonObject, path: string): Place | null {
  switch (part['type']) {
    case 'image':
    case 'document': {
      const { type, file_id } = objectOf(part['source']);
      if (type !== 'file') return null;
      return {
        id: textOf(file_id),
        path: `${path}.source.file_id`,
        put: (file, content) => putSource(part, file, content, path),
      };
    }
    case 'input_image':
      return {
        id: textOf(part['file_id']),
        path: `${path}.file_id`,
        put: (file, content) => putUrl(part, 'image_url', file, content),
      };
    case 'input_file':
      return {
        id: textOf(part['file_id']),
        path: `${path}.file_id`,
        put: (file, content) => putFile(part, file, content),
      };
    case 'file': {
      const inner = objectOf(part['file']);
      return {
        id: textOf(inner['file_id']),
        path: `${path}.file.file_id`,
        put: (file, content) => putFile(inner, file, content),
      };
    }
    default:
      return placeOfGemini(part, path);
  }
}

/** Its parts have no type. The content takes the place of the address. */
function placeOfGemini(part: JsonObject, path: string): Place | null {
  const member = 'file_data' in part ? 'file_data' : 'fileData';
  const { fileUri, file_uri } = objectOf(part[member]);
  const id = textOf(fileUri ?? file_uri).replace(/^files\//, '');
  if (id === '') return null;
  return {
    id,
    path: `${path}.${member}.${fileUri === undefined ? 'file_uri' : 'fileUri'}`,
    put({ mediaType: mimeType, name: displayName }, content) {
      delete part[member];
      part['inlineData'] = { mimeType, displayName, data: content.toString('base64') };
    },
  };
}

/** Text is sent as text, because a document in base64 must be a PDF. */
function putSource(part: JsonObject, { mediaType, name }: StoredFile, content: Buffer, path: string): void {
  const isText = part['type'] === 'document' && mediaType.startsWith('text/');
  part['source'] = isText
    ? { type: 'text', media_type: 'text/plain', data: decode(content, path) }
    : { type: 'base64', media_type: mediaType, data: content.toString('base64') };
  if (part['type'] === 'document') part['title'] ??= name;
}

function decode(content: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (cause) {
    throw new TurnpikeError('invalid_request', `${path}.source.file_id: the text is not UTF-8`, { cause });
  }
}

function putFile(part: JsonObject, file: StoredFile, content: Buffer): void {
  part['filename'] ??= file.name;
  putUrl(part, 'file_data', file, content);
}

function putUrl(part: JsonObject, member: string, { mediaType }: StoredFile, content: Buffer): void {
  delete part['file_id'];
  part[member] = `data:${mediaType};base64,${content.toString('base64')}`;
}
