// Content blocks as parts of a Chat Completions message. What is named by an address stays an address: nothing that
// a caller names is fetched here. A block that the profile cannot carry is refused by its path.

import { isJsonObject, type JsonObject, type JsonValue, jsonObjects } from '../../wire/wire.ts';
import { passAddress } from '../pass-address.ts';
import { refuseField } from '../refuse-field.ts';
import type { Profile } from './profile.ts';

/** A block and where it stands in the request, such as "messages.0.content.1". */
export interface Placed {
  block: JsonObject;
  path: string;
}

const PDF_NAME = 'document.pdf';

/** The parts of one block of a user or of a tool's result. Throws ProviderFault (rejected). */
export function convertBlock({ block, path }: Placed, profile: Profile): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textPart(textOf(block['text']), block, profile);
    case 'image':
      return [{ type: 'image_url', image_url: { url: imageUrl(block['source'], path, profile) } }];
    case 'document':
      return convertDocument({ block, path }, profile);
    case 'search_result':
      return textPart(searchResultText(block), block, profile);
    case 'tool_reference':
      return textPart(`[The tool ${textOf(block['tool_name'])} is available.]`, block, profile);
    case 'browser_state':
      return textPart(JSON.stringify(block), block, profile);
    default:
      return refuseField(`${path}.type`, `the provider of this model takes no content of the type ${nameOf(block)}`);
  }
}

/** One text where all parts are text and nothing else; a list of parts otherwise. */
export function collapseParts(parts: JsonObject[]): JsonValue {
  const isPlain = parts.every((part) => part['type'] === 'text' && part['cache_control'] === undefined);
  return isPlain ? joinTexts(parts) : parts;
}

/** The texts of the parts, an empty line between two. */
export function joinTexts(parts: readonly JsonObject[]): string {
  return parts.map(({ text }) => textOf(text)).join('\n\n');
}

/** A part of text, with its cache breakpoint where those travel on; none for an empty text. */
export function textPart(text: string, holder: JsonObject, profile: Profile): JsonObject[] {
  if (text === '') return [];
  const isBreakpoint = profile.cacheControl && isJsonObject(holder['cache_control']);
  // Without its lifetime: what is written for an hour is billed by another rate, and the usage would not say so.
  return [{ type: 'text', text, ...(isBreakpoint && { cache_control: { type: 'ephemeral' } }) }];
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

const TYPE_CHARACTERS_MAX = 64;

export function nameOf({ type }: JsonObject): string {
  return JSON.stringify(String(type).slice(0, TYPE_CHARACTERS_MAX));
}

function imageUrl(source: JsonValue | undefined, path: string, profile: Profile): string {
  if (isJsonObject(source)) {
    if (source['type'] === 'base64') return `data:${textOf(source['media_type'])};base64,${textOf(source['data'])}`;
    if (source['type'] === 'url' && profile.imageUrls) return passAddress(source['url'], `${path}.source.url`);
    if (source['type'] === 'url')
      refuseField(
        `${path}.source.url`,
        'the provider of this model reads no addresses; send the image itself, in base64',
      );
  }
  return refuseField(`${path}.source`, 'the provider of this model takes images in base64 or by an address');
}

function convertDocument({ block, path }: Placed, profile: Profile): JsonObject[] {
  const source = isJsonObject(block['source']) ? block['source'] : {};
  switch (source['type']) {
    case 'text':
      return textPart(documentHead(block) + textOf(source['data']), block, profile);
    case 'content':
      return convertContent(block, source['content'], path, profile);
    case 'base64':
      if (profile.documents !== null && source['media_type'] === 'application/pdf')
        return fileParts(block, `data:application/pdf;base64,${textOf(source['data'])}`, profile);
      return refuseField(`${path}.source`, 'the provider of this model takes no PDF; send its text');
    case 'url':
      if (profile.documents?.urls === true)
        return fileParts(block, passAddress(source['url'], `${path}.source.url`), profile);
      return refuseField(`${path}.source.url`, 'the provider of this model reads no documents from addresses');
    default:
      return refuseField(`${path}.source`, 'the provider of this model takes documents as text or PDF');
  }
}

function convertContent(
  block: JsonObject,
  content: JsonValue | undefined,
  path: string,
  profile: Profile,
): JsonObject[] {
  const head = textPart(documentHead(block), {}, profile);
  if (typeof content === 'string') return [...head, ...textPart(content, block, profile)];
  const inner = jsonObjects(content).map((inside, place) => ({
    block: inside,
    path: `${path}.source.content.${place}`,
  }));
  return [...head, ...inner.flatMap((placed) => convertBlock(placed, profile))];
}

/** A file has room for its title alone: what else is known of it stands before it. */
function fileParts(block: JsonObject, url: string, profile: Profile): JsonObject[] {
  const title = textOf(block['title']);
  const context = textPart(documentHead({ context: block['context'] ?? '' }).trimEnd(), {}, profile);
  const part: JsonObject =
    profile.documents?.form === 'document_url'
      ? { type: 'document_url', document_url: url, ...(title && { document_name: title }) }
      : { type: 'file', file: { filename: title || PDF_NAME, file_data: url } };
  return [...context, part];
}

/** What is known of a document, as lines before its text. */
function documentHead({ title, context }: JsonObject): string {
  const lines = [title && `Document: ${textOf(title)}`, context && `Context: ${textOf(context)}`].filter(Boolean);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

function searchResultText(block: JsonObject): string {
  const head = `Search result: ${textOf(block['title'])}\nSource: ${textOf(block['source'])}`;
  return [head, ...jsonObjects(block['content']).map(({ text }) => textOf(text))].join('\n\n');
}
