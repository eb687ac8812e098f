// Converts the conversation to input items: reasoning before its calls, tool results before other content. Pure.

import { dataUrl } from '../../protocols/data-url.ts';
import type { Placed } from '../../protocols/placed.ts';
import { SignedJson } from '../../protocols/thinking.ts';
import { isJsonObject, type JsonObject, type JsonValue, jsonObjects, objectOf, textOf } from '../../wire/wire.ts';
import { shortenToolName } from '../client-tools.ts';
import { CallIds, checkCalls, joinTurns, NO_PREFILL, partResults, placeBlocks } from '../conversation.ts';
import { passAddress, refuseField } from '../lost-fields.ts';
import { decodeReasoning } from './reasoning-signature.ts';

const FILE_NAME = 'document.pdf'; // for documents without a title, which the provider requires

/** The parts of a text or a list of blocks. Throws ProviderFault (rejected) for an unsupported block. */
function convertContent(content: JsonValue | undefined, path: string): JsonObject[] {
  if (typeof content === 'string') return textParts(content);
  if (!Array.isArray(content)) return [];
  return content.flatMap((block, place) => {
    const blockPath = `${path}.${place}`;
    return isJsonObject(block)
      ? convertBlock({ block, path: blockPath })
      : refuseField(blockPath, 'Input should be a valid dictionary');
  });
}

function convertBlock({ block, path }: Placed): JsonObject[] {
  switch (block['type']) {
    case 'text':
      return textParts(textOf(block['text']));
    case 'image':
      return [convertImage(sourceOf(block, path), `${path}.image.source`)];
    case 'document':
      return convertDocument(block, path);
    case 'search_result':
      return [
        ...textParts(lines(`Search result: ${textOf(block['title'])}`, `Source: ${textOf(block['source'])}`)),
        ...convertContent(block['content'], `${path}.search_result.content`),
      ];
    case 'tool_reference':
      return textParts(`The tool ${textOf(block['tool_name'])} is available.`);
    case 'browser_state':
      return textParts(JSON.stringify(block));
    case 'tool_addition':
    case 'tool_removal':
      return []; // all tools of a conversation are sent from its start
    default:
      return refuseBlock(block, path);
  }
}

function refuseBlock({ type }: JsonObject, path: string): never {
  return refuseField(path, `the provider of this model does not accept a block of type "${textOf(type)}" here`);
}

/** The result of a tool. A single text is sent as text; images and files stay parts. */
function convertResult(block: JsonObject, path: string): string | JsonObject[] {
  const parts = convertContent(block['content'], `${path}.tool_result.content`);
  const [first = { text: '' }] = parts;
  const text = parts.length < 2 && typeof first['text'] === 'string' ? first['text'] : null;
  if (block['is_error'] !== true) return text ?? parts;
  return text === null ? [...textParts('Error:'), ...parts] : `Error: ${text}`; // the protocol has no field for errors
}

/** Empty for an empty text, which the provider refuses. */
function textParts(text: string): JsonObject[] {
  return text === '' ? [] : [{ type: 'input_text', text }];
}

function convertImage(source: JsonObject, path: string): JsonObject {
  const { type, media_type: mediaType, data, url } = source;
  if (type === 'base64' && typeof data === 'string')
    return { type: 'input_image', image_url: dataUrl(textOf(mediaType), data), detail: 'auto' };
  if (type === 'url') return { type: 'input_image', image_url: passAddress(url, `${path}.url`), detail: 'auto' };
  return refuseField(path, 'an image must be base64 or a URL');
}

function convertDocument(block: JsonObject, path: string): JsonObject[] {
  const source = sourceOf(block, path);
  const { type, media_type: mediaType, data, url } = source;
  const title = textOf(block['title']);
  const head = lines(title && `Document: ${title}`, textOf(block['context']));
  if (type === 'text' && typeof data === 'string') return textParts([head, data].filter(Boolean).join('\n\n'));
  if (type === 'content')
    return [...textParts(head), ...convertContent(source['content'], `${path}.document.source.content`)];
  if (type === 'url')
    return [...textParts(head), { type: 'input_file', file_url: passAddress(url, `${path}.document.source.url`) }];
  if (type !== 'base64' || mediaType !== 'application/pdf' || typeof data !== 'string')
    return refuseField(`${path}.document.source`, 'a document must be text, a base64 PDF or a URL');
  const filename = title === '' ? FILE_NAME : /\.pdf$/i.test(title) ? title : `${title}.pdf`;
  const file = { type: 'input_file', filename, file_data: dataUrl(mediaType, data) };
  return [...textParts(textOf(block['context'])), file];
}

function sourceOf(block: JsonObject, path: string): JsonObject {
  const source = block['source'];
  return isJsonObject(source) ? source : refuseField(`${path}.${textOf(block['type'])}.source`, 'Field required');
}

function lines(...texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n');
}

interface Reasoning {
  /** The provider whose reasoning items are sent back; null: none are, because thinking was not requested. */
  home: string | null;
  signed: SignedJson;
}

const CALL_ID = /^.{0,64}$/s;

/** Throws ProviderFault (rejected), its message starting with the path of the unsupported content. */
export function convertMessages(body: JsonObject, home: string | null): JsonObject[] {
  const messages = jsonObjects(body['messages']);
  if (messages.at(-1)?.['role'] === 'assistant') refuseField(`messages.${messages.length - 1}`, NO_PREFILL);
  const turns = joinTurns(messages, () => []); // system messages between calls and results are allowed
  checkCalls(turns, { pathOfUnanswered: ({ path }) => path, mayRepeatResults: false });
  const calls = new CallIds(CALL_ID);
  const reasoning = { home, signed: new SignedJson() };
  const items = messages.flatMap((message, index) => {
    const placed = placeBlocks(message['content'], `messages.${index}.content`);
    if (message['role'] === 'user') return convertUser(placed, calls);
    if (message['role'] === 'assistant') return placed.flatMap((one) => convertAssistantBlock(one, calls, reasoning));
    return messageItem('developer', placed.flatMap(convertBlock));
  });
  return withoutLooseReasoning(items);
}

function convertUser(placed: readonly Placed[], calls: CallIds): JsonObject[] {
  const { results, said } = partResults(placed);
  const outputs = results.map(({ block, path }) => ({
    type: 'function_call_output',
    call_id: calls.answer(textOf(block['tool_use_id'])),
    output: convertResult(block, path),
  }));
  return [...outputs, ...messageItem('user', said.flatMap(convertBlock))];
}

function convertAssistantBlock({ block, path }: Placed, calls: CallIds, reasoning: Reasoning): JsonObject[] {
  switch (block['type']) {
    case 'text': {
      const text = textOf(block['text']);
      return text === '' ? [] : [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }];
    }
    case 'thinking': {
      const { home, signed } = reasoning;
      if (home === null) return [];
      const item = decodeReasoning(textOf(block['thinking']), textOf(block['signature']), home, signed);
      return item === null ? [] : [item]; // signed by another provider
    }
    case 'redacted_thinking':
      return [];
    case 'tool_use':
      return [
        {
          type: 'function_call',
          call_id: calls.begin(textOf(block['id']), path),
          name: shortenToolName(textOf(block['name'])),
          arguments: JSON.stringify(objectOf(block['input'])),
        },
      ];
    default:
      return refuseBlock(block, path);
  }
}

function messageItem(role: 'user' | 'developer', content: JsonObject[]): JsonObject[] {
  return content.length === 0 ? [] : [{ type: 'message', role, content }];
}

/** The provider refuses reasoning without a following item of the same answer, as after truncation. */
function withoutLooseReasoning(items: readonly JsonObject[]): JsonObject[] {
  const kept: JsonObject[] = [];
  for (const item of items.toReversed()) {
    const next = kept.at(-1);
    const isFollowed =
      ['reasoning', 'function_call'].includes(textOf(next?.['type'])) || next?.['role'] === 'assistant';
    if (item['type'] !== 'reasoning' || isFollowed) kept.push(item);
  }
  return kept.reverse();
}
