// Content blocks that a user or a tool gives, as parts of the provider's input. An address is passed on and never
// fetched here. What the provider cannot read is refused by its path, never left out. Pure.

import { isJsonObject, type JsonObject, type JsonValue } from '../../wire/wire.ts';
import { passAddress } from '../pass-address.ts';
import { refuseField } from '../refuse-field.ts';

const FILE_NAME = 'document.pdf'; // of a document without a title: the provider wants one

/** The parts of a content: a text, or a list of blocks. Throws ProviderFault (rejected) at a block it cannot read. */
export function convertContent(content: JsonValue | undefined, path: string): JsonObject[] {
  if (typeof content === 'string') return textParts(content);
  if (!Array.isArray(content)) return [];
  return content.flatMap((block, place) =>
    isJsonObject(block) ? convertBlock(block, `${path}.${place}`) : refuseField(`${path}.${place}`, 'no block'),
  );
}

export function convertBlock(block: JsonObject, path: string): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textParts(textOf(block['text']));
    case 'image':
      return [convertImage(sourceOf(block, path), `${path}.image.source`)];
    case 'document':
      return convertDocument(block, path);
    case 'search_result':
      return convertSearchResult(block, path);
    case 'tool_reference':
      return textParts(`The tool ${textOf(block['tool_name'])} is at hand.`);
    case 'browser_state':
      return textParts(JSON.stringify(block));
    case 'tool_addition':
    case 'tool_removal':
      return []; // all tools that a conversation ever had are given from its beginning
    default:
      return refuseBlock(block, path);
  }
}

/** Refuses a block by its kind. */
export function refuseBlock({ type }: JsonObject, path: string): never {
  return refuseField(path, `the provider of this model does not take a block of the type "${textOf(type)}" here`);
}

/** The result of a tool. One text is given as such; images and files stay what they are. */
export function convertResult(block: JsonObject, path: string): string | JsonObject[] {
  const parts = convertContent(block['content'], `${path}.tool_result.content`);
  const only = parts.length === 1 ? parts[0]?.['text'] : undefined;
  const text = parts.length === 0 ? '' : only;
  // The protocol has no member for it, so it is said in words.
  if (block['is_error'] === true)
    return typeof text === 'string' ? `Error: ${text}` : [...textParts('Error:'), ...parts];
  return typeof text === 'string' ? text : parts;
}

/** No part for an empty text: the provider refuses it. */
function textParts(text: string): JsonObject[] {
  return text === '' ? [] : [{ type: 'input_text', text }];
}

function convertImage(source: JsonObject, path: string): JsonObject {
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'base64' && typeof data === 'string')
    return { type: 'input_image', image_url: `data:${textOf(mediaType)};base64,${data}`, detail: 'auto' };
  if (type === 'url') return { type: 'input_image', image_url: passAddress(url, `${path}.url`), detail: 'auto' };
  return refuseField(path, 'an image is given as base64 or by its URL');
}

function convertDocument(block: JsonObject, path: string): JsonObject[] {
  const source = sourceOf(block, path);
  const { type, media_type: mediaType, data, url } = source;
  const title = textOf(block['title']);
  const head = lines(title && `Document: ${title}`, textOf(block['context']));
  if (type === 'text' && typeof data === 'string') return textParts(paragraphs(head, data));
  if (type === 'content') {
    const parts = convertContent(source['content'], `${path}.document.source.content`);
    return [...textParts(head), ...parts];
  }
  if (type === 'url')
    return [...textParts(head), { type: 'input_file', file_url: passAddress(url, `${path}.document.source.url`) }];
  if (type !== 'base64' || mediaType !== 'application/pdf' || typeof data !== 'string')
    return refuseField(`${path}.document.source`, 'a document is given as text, as a PDF in base64, or by its URL');
  const filename = title === '' ? FILE_NAME : /\.pdf$/i.test(title) ? title : `${title}.pdf`;
  const file = { type: 'input_file', filename, file_data: `data:application/pdf;base64,${data}` };
  return [...textParts(textOf(block['context'])), file];
}

function convertSearchResult(block: JsonObject, path: string): JsonObject[] {
  const head = lines(`Search result: ${textOf(block['title'])}`, `Source: ${textOf(block['source'])}`);
  return [...textParts(head), ...convertContent(block['content'], `${path}.search_result.content`)];
}

function sourceOf(block: JsonObject, path: string): JsonObject {
  const source = block['source'];
  return isJsonObject(source) ? source : refuseField(`${path}.${textOf(block['type'])}.source`, 'Field required');
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

function lines(...texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n');
}

function paragraphs(...texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}
