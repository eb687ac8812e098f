// Fetches the images and documents at web addresses in a message, for a provider whose setting says so, and puts their content in place
// of the addresses. It runs before the plan, so that the hold covers what is sent.

import { type Caller, topOf } from '../accounts/accounts.ts';
import { type FetchedFile, type FetchOptions, fetchFile } from '../base/fetch-file.ts';
import type { Catalog, Offer } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  fileInMemory,
  findBlock,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type MessageRequest,
  mediaTypeOf,
  type NativeBody,
  objectOf,
  PDF,
  parseExactly,
  pauseAfter,
  remakeRequest,
  type SentFile,
  scanJson,
  textOf,
} from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';
import type { Gateway } from './dependencies.ts';

/** Networks whose addresses are fetched for providers of these routes: the narrowest that one of them allows. */
type Reach = 'off' | 'public' | 'any';

export function reachOf({ providers }: Catalog, { routes }: Offer): Reach {
  const reaches = new Set(routes.map(({ provider }) => providers.get(provider)?.fetchUrls ?? 'off'));
  if (reaches.has('public')) return 'public';
  return reaches.has('any') ? 'any' : 'off';
}

export function fetchOptions(lookup: FetchOptions['lookup'], isPrivateAllowed: boolean): FetchOptions {
  const { fetchedFileBytesMax: bytesMax, fetchedRedirectsMax: redirectsMax } = bounds;
  return { lookup, isPrivateAllowed, isPlainAllowed: true, bytesMax, redirectsMax };
}

interface Content {
  mediaType: string;
  base64: string;
  /** null: it is not a text. */
  text: string | null;
}

/**
 * The request with the content of its addresses; the same one if it has none, or nothing is to be fetched. Rejects with invalid_request by
 * the path of an address, body_too_large, overloaded.
 */
export async function inlineAddresses(
  { lookup }: Pick<Gateway, 'lookup'>,
  caller: Caller,
  clientRequest: Pick<ClientRequest, 'growBody' | 'signal'>,
  request: MessageRequest,
  reach: Reach,
  bytesMax: number,
): Promise<MessageRequest> {
  const signal = AbortSignal.any([clientRequest.signal, AbortSignal.timeout(bounds.fetchedFilesMsMax)]);
  const options = reach === 'off' || lookup === undefined ? null : fetchOptions(lookup, reach === 'any');
  let bytes = request.bytes;
  const grow = (added: number, path: string) => {
    bytes += added;
    if (bytes > bytesMax)
      throw new TurnpikeError('body_too_large', `${path}: with its files, the request exceeds ${bytesMax} bytes.`);
    clientRequest.growBody(added, topOf(caller));
  };
  const { form } = request;
  if (form !== undefined)
    return { ...request, form: { ...form, files: await fetchSent(form.files, options, signal, grow) } };
  if (options === null || findBlock(request.body, isAtAddress) === null) return request;
  const message = parseExactly(request.text) as JsonObject;
  const contents = await fetchBlocks(message, options, signal, grow);
  const native = request.native === null ? null : await inlineNative(request.native, contents);
  return await remakeRequest(request, message, native);
}

/** Puts content into the blocks of the message, and returns it by address. */
async function fetchBlocks(
  message: JsonObject,
  options: FetchOptions,
  signal: AbortSignal,
  grow: (bytes: number, path: string) => void,
): Promise<ReadonlyMap<string, Content>> {
  const contents = new Map<string, Content>();
  const blocks = gather(message);
  for (const block of blocks) {
    const path = `${findBlock(message, (one) => one === block)}.source.url`;
    if (blocks.length > bounds.fetchedFilesMax)
      throw new TurnpikeError('invalid_request', `${path}: at most ${bounds.fetchedFilesMax} addresses are fetched`);
    const key = hrefOf(objectOf(block['source'])['url']);
    const fetched = contents.get(key) ?? (await fetchContent(key, options, signal));
    if ('error' in fetched) throw cannotFetch(path, fetched.error);
    contents.set(key, fetched);
    grow(fetched.base64.length, path);
    const fault = putSource(block, fetched);
    if (fault !== null) throw new TurnpikeError('invalid_request', `${path}: ${fault}`);
  }
  return contents;
}

/** The files of an edit, with those at addresses. Rejects with invalid_request, feature_unavailable, body_too_large, overloaded. */
async function fetchSent(
  files: readonly SentFile[],
  options: FetchOptions | null,
  signal: AbortSignal,
  grow: (bytes: number, path: string) => void,
): Promise<SentFile[]> {
  const sent: SentFile[] = [];
  for (const { at, ...file } of files) {
    if (at === undefined) {
      sent.push(file);
      continue;
    }
    const { url, path } = at;
    const words = 'addresses are not fetched for the provider of this model; send a data URL';
    if (options === null) throw new TurnpikeError('feature_unavailable', `${path}: ${words}`);
    const fetched = await fetchContent(url, options, signal);
    if ('error' in fetched) throw cannotFetch(path, fetched.error);
    if (!fetched.mediaType.startsWith('image/')) throw cannotFetch(path, 'it has no image');
    grow(fetched.base64.length, path);
    const { field, name } = file;
    sent.push(fileInMemory({ field, name, mediaType: fetched.mediaType }, Buffer.from(fetched.base64, 'base64')));
  }
  return sent;
}

function cannotFetch(path: string, why: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: the address cannot be fetched: ${why}`);
}

function isAtAddress({ type, source }: JsonObject): boolean {
  return (type === 'image' || type === 'document') && objectOf(source)['type'] === 'url';
}

function gather(message: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  findBlock(message, (block) => {
    if (isAtAddress(block)) found.push(block);
    return false;
  });
  return found;
}

function hrefOf(url: JsonValue | undefined): string {
  return URL.parse(textOf(url))?.href ?? textOf(url);
}

async function fetchContent(
  url: string,
  options: FetchOptions,
  signal: AbortSignal,
): Promise<Content | { error: string }> {
  const file = await fetchFile(url, options, signal);
  if ('error' in file) return file;
  const base64 = file.bytes.toString('base64');
  const mediaType = mediaTypeOf(base64);
  return mediaType === null ? readText(file) : { mediaType, base64, text: null };
}

function readText({ bytes, contentType }: FetchedFile): Content | { error: string } {
  const error = 'it is neither an image (PNG, JPEG, GIF, WebP), a PDF nor a text';
  if (!contentType.startsWith('text/')) return { error };
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { mediaType: 'text/plain', base64: bytes.toString('base64'), text };
  } catch {
    return { error };
  }
}

/** Returns why the content cannot be that of the block; null: it is. */
function putSource(block: JsonObject, { mediaType: media_type, base64, text }: Content): string | null {
  const isImage = media_type.startsWith('image/');
  if (isImage !== (block['type'] === 'image')) return `the address has ${isImage ? 'an image' : 'no image'}`;
  block['source'] =
    text === null ? { type: 'base64', media_type, data: base64 } : { type: 'text', media_type, data: text };
  return null;
}

/** The client's own body, in the protocols that have one, with the same content. */
async function inlineNative(native: NativeBody, contents: ReadonlyMap<string, Content>): Promise<NativeBody> {
  const body = parseExactly(native.text);
  visit(body, (part) => putNative(part, (url) => contents.get(hrefOf(url)) ?? null));
  const text = JSON.stringify(body);
  await pauseAfter(text);
  return { ...native, text, members: scanJson(text) };
}

function visit(value: JsonValue, put: (part: JsonObject) => void): void {
  const rest: JsonValue[] = [value];
  for (let one = rest.pop(); one !== undefined; one = rest.pop()) {
    if (typeof one !== 'object' || one === null) continue;
    if (isJsonObject(one)) put(one);
    for (const inner of Object.values(one)) rest.push(inner);
  }
}

function putNative(part: JsonObject, find: (url: JsonValue | undefined) => Content | null): void {
  for (const member of ['fileData', 'file_data']) {
    const { fileUri, file_uri } = objectOf(part[member]);
    const content = find(fileUri ?? file_uri);
    if (content === null) continue;
    delete part[member];
    part['inlineData'] = { mimeType: content.mediaType, data: content.base64 };
  }
  const { type, image_url: image, file_url: file } = part;
  const found = type === 'input_image' ? find(image) : type === 'input_file' ? find(file) : null;
  if (found === null) return;
  const url = `data:${found.mediaType};base64,${found.base64}`;
  if (type === 'input_image') part['image_url'] = url;
  else {
    delete part['file_url'];
    part['file_data'] = url;
    part['filename'] ??= found.mediaType === PDF ? 'document.pdf' : 'document.txt';
  }
}
