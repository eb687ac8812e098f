// Converts the conversation to Converse's messages: alternating turns, results before other content. Pure.

import { readPlainDataUrl } from '../../protocols/data-url.ts';
import { type Placed, remind } from '../../protocols/placed.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { shortenToolName } from '../client-tools.ts';
import {
  addTurn,
  CallIds,
  checkCalls,
  heading,
  isBillingLine,
  joinTurns,
  partResults,
  placeBlocks,
} from '../conversation.ts';
import { refuseField, refuseType } from '../lost-fields.ts';
import { type ReplacedProperties, renameKeys } from '../property-names.ts';
import type { Family } from './families.ts';
import { openReasoning } from './reasoning-signature.ts';

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
};
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
};
const NO_ADDRESS = 'the provider of this model accepts only bytes, and fetches no addresses';
const CACHE_POINT: JsonObject = { cachePoint: { type: 'default' } };
/** Texts for places where Converse requires one and a client may have none. */
const NO_OUTPUT: JsonObject = { text: '(no output)' };
const NO_WORDS: JsonObject = { text: '(see the document)' };

interface Terms {
  family: Family;
  /** The model whose reasoning is sent back. */
  home: string;
  properties: ReplacedProperties;
}

/** `messages`. Throws ProviderFault (rejected) for unsupported content, and for calls and results that do not match. */
export function convertMessages(messages: JsonValue | undefined, terms: Terms): JsonObject[] {
  const turns = joinTurns(messages, (blocks) => blocks.map(remind));
  checkCalls(turns, { pathOfUnanswered: ({ path }) => path.replace(/\.content.*$/, ''), mayRepeatResults: false });
  const writer = new TurnWriter(terms);
  const converted: JsonObject[] = [];
  for (const { role, blocks } of turns) {
    const content = role === 'assistant' ? writer.assistant(blocks) : writer.user(blocks);
    addTurn(converted, role === 'assistant' ? role : 'user', 'content', content);
  }
  return converted;
}

/** `system`; empty without text. */
export function convertSystem(system: JsonValue | undefined, { cachePoints }: Family): JsonObject[] {
  const content: JsonObject[] = [];
  for (const { block } of placeBlocks(system, 'system')) {
    if (!isBillingLine(block)) content.push(...textContent(textOf(block['text'])));
    pushCachePoint(content, cachePoints && isBreakpoint(block));
  }
  return content;
}

/** Adds a breakpoint after the content so far, unless there is none. */
export function pushCachePoint(content: JsonObject[], isWanted: boolean): void {
  if (isWanted && content.length > 0 && content.at(-1) !== CACHE_POINT) content.push(CACHE_POINT);
}

export function isBreakpoint(holder: JsonObject): boolean {
  return isJsonObject(holder['cache_control']);
}

/** Empty for a blank text, which the provider refuses. */
function textContent(text: string): JsonObject[] {
  return text.trim() === '' ? [] : [{ text }];
}

class TurnWriter {
  readonly #terms: Terms;
  readonly #calls = new CallIds(/^[a-zA-Z0-9_.:-]{1,64}$/);
  #documents = 0;

  constructor(terms: Terms) {
    this.#terms = terms;
  }

  /** Results first, as models expect them. */
  user(blocks: readonly Placed[]): JsonObject[] {
    const { results, said } = partResults(blocks);
    const content: JsonObject[] = [];
    const beside: JsonObject[] = [];
    for (const placed of results) this.#addResult(content, beside, placed);
    content.push(...beside);
    for (const placed of said) {
      content.push(...this.#convertBlock(placed));
      this.#breakAfter(content, isBreakpoint(placed.block));
    }
    const hasText = content.some((part) => part['text'] !== undefined);
    return content.some((part) => part['document'] !== undefined) && !hasText ? [...content, NO_WORDS] : content;
  }

  assistant(blocks: readonly Placed[]): JsonObject[] {
    const content: JsonObject[] = [];
    for (const { block, path } of blocks) {
      if (block['type'] === 'text') content.push(...textContent(textOf(block['text'])));
      else if (block['type'] === 'tool_use') content.push(this.#convertCall(block, path));
      else if (block['type'] === 'thinking') {
        const reasoning = openReasoning(block, this.#terms.home);
        if (reasoning !== null) content.push(reasoning);
      } else if (block['type'] !== 'redacted_thinking') refuseType('block', block['type'], path);
      this.#breakAfter(content, isBreakpoint(block));
    }
    return content;
  }

  #breakAfter(content: JsonObject[], isWanted: boolean): void {
    pushCachePoint(content, isWanted && this.#terms.family.cachePoints);
  }

  #convertCall(block: JsonObject, path: string): JsonObject {
    const { id, name, input } = block;
    if (typeof name !== 'string' || name === '') refuseField(`${path}.name`, 'Field required');
    const toolUseId = this.#calls.begin(textOf(id), path);
    const names = this.#terms.properties.get(name)?.sent;
    const sent = names === undefined ? objectOf(input) : renameKeys(objectOf(input), names);
    return { toolUse: { toolUseId, name: shortenToolName(name), input: sent } };
  }

  /** Attachments come `beside` the results if the family accepts only texts in them. */
  #addResult(content: JsonObject[], beside: JsonObject[], { block, path }: Placed): void {
    const { fullResults } = this.#terms.family;
    const inner = placeBlocks(block['content'], `${path}.content`);
    const parts = inner.flatMap((placed) => this.#convertBlock(placed));
    const kept = fullResults ? parts : parts.filter((part) => part['text'] !== undefined);
    const isError = block['is_error'] === true;
    if (!fullResults && kept.length < parts.length) {
      kept.push({ text: '(an attachment, which follows)' });
      beside.push(...parts.filter((part) => part['text'] === undefined));
    }
    const result: JsonObject = {
      toolUseId: this.#calls.answer(textOf(block['tool_use_id'])),
      content: [...(isError && !fullResults ? [{ text: 'Error:' }] : []), ...(kept.length > 0 ? kept : [NO_OUTPUT])],
      ...(isError && fullResults && { status: 'error' }),
    };
    content.push({ toolResult: result });
    this.#breakAfter(content, isBreakpoint(block) || inner.some((placed) => isBreakpoint(placed.block)));
  }

  /** The content of a user's block; empty for a blank text. Throws ProviderFault (rejected). */
  #convertBlock({ block, path }: Placed): JsonObject[] {
    switch (block['type']) {
      case 'text':
        return textContent(textOf(block['text']));
      case 'image':
        return [convertImage(sourceOf(block, path), `${path}.source`)];
      case 'document':
        return this.#convertDocument(block, path);
      case 'search_result':
        return [
          ...textContent(heading({ 'Search result': block['title'], Source: block['source'] })),
          ...placeBlocks(block['content'], `${path}.content`).flatMap((placed) => this.#convertBlock(placed)),
        ];
      case 'tool_reference':
        return textContent(`The tool ${textOf(block['tool_name'])} is available.`);
      case 'tool_addition':
      case 'tool_removal':
        return []; // all tools of a conversation are sent from its start
      default:
        return refuseType('block', block['type'], path);
    }
  }

  #convertDocument(block: JsonObject, path: string): JsonObject[] {
    const source = sourceOf(block, path);
    const { type, data, content, media_type: mediaType } = source;
    const head = textContent(heading({ Document: block['title'], Context: block['context'] }));
    if (type === 'text') return [...head, ...textContent(textOf(data))];
    if (type === 'content')
      return [
        ...head,
        ...placeBlocks(content, `${path}.source.content`).flatMap((placed) => this.#convertBlock(placed)),
      ];
    if (type === 'url') return refuseField(`${path}.source.url`, NO_ADDRESS);
    if (type !== 'base64')
      refuseField(`${path}.source.type`, 'this kind of source is not available for the provider of this model');
    const format = formatOf(DOCUMENT_FORMATS, mediaType, `${path}.source.media_type`);
    // Numbered, because the model reads the name, and names must differ: a title may be anything.
    const name = `document-${++this.#documents}`;
    return [...head, { document: { format, name, source: { bytes: bytesOf(data, `${path}.source.data`) } } }];
  }
}

function convertImage({ type, media_type: mediaType, data, url }: JsonObject, path: string): JsonObject {
  const image = (media: JsonValue | undefined, bytes: JsonValue | undefined, field: string): JsonObject => {
    const format = formatOf(IMAGE_FORMATS, media, field === 'data' ? `${path}.media_type` : `${path}.${field}`);
    return { image: { format, source: { bytes: bytesOf(bytes, `${path}.${field}`) } } };
  };
  if (type === 'base64') return image(mediaType, data, 'data');
  const inside = readPlainDataUrl(url);
  if (inside !== null) return image(inside.mediaType, inside.base64, 'url');
  if (type === 'url') return refuseField(`${path}.url`, NO_ADDRESS);
  return refuseField(`${path}.type`, 'this kind of source is not available for the provider of this model');
}

function formatOf(formats: Readonly<Record<string, string>>, type: JsonValue | undefined, path: string): string {
  const format = typeof type === 'string' && Object.hasOwn(formats, type) ? formats[type] : undefined;
  return format ?? refuseField(path, `the provider of this model accepts only ${Object.keys(formats).join(', ')}`);
}

/** In base64, as the protocol has bytes in JSON. */
function bytesOf(data: JsonValue | undefined, path: string): string {
  return typeof data === 'string' && data !== '' ? data : refuseField(path, 'Field required');
}

function sourceOf(block: JsonObject, path: string): JsonObject {
  const { source } = block;
  return isJsonObject(source) ? source : refuseField(`${path}.source`, 'Field required');
}

/** The names of the tools that the conversation has called. */
export function calledNames(messages: JsonValue | undefined): string[] {
  const blocks = jsonObjects(messages).flatMap(({ content }) => jsonObjects(content));
  const names = blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => textOf(name));
  return [...new Set(names)];
}
