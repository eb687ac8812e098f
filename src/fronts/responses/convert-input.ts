// Translates input items to a conversation. Consecutive items of the assistant are one message.

import { TurnpikeError } from '../../errors.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type JsonWeight,
  requireList,
  requireText,
  textOf,
  weighJson,
  wrongField,
} from '../../wire/wire.ts';
import { CallIds, readArguments } from '../call-ids.ts';
import { type Conversation, ConversationBuilder } from '../conversation-builder.ts';
import { convertDocument, convertImage, storedFile } from '../convert-media.ts';
import { isExactObject, type Placed, requireObject, textBlock } from '../placed.ts';
import { CUSTOM_INPUT, type ToolList, type ToolNames } from './convert-tools.ts';
import { customInput } from './output-items.ts';
import { openThinking } from './sealed-thinking.ts';

const TYPE_CHARACTERS_MAX = 64;
const TOOL_SEARCH = 'tool_search';

/** An item and its path. */
export interface InputItem {
  item: JsonObject;
  type: string;
  path: string;
}

/** The items of the member `name`, such as `input`; a text is one message. Throws invalid_request. */
export function readItems(input: JsonValue | undefined, name: string): InputItem[] {
  if (typeof input === 'string') return [{ item: { role: 'user', content: input }, type: 'message', path: name }];
  return requireList(input, name).map((value, index) => {
    const path = `${name}.${index}`;
    const item = requireObject(value, path);
    // Messages need no type.
    const type = item['type'] === undefined && item['role'] !== undefined ? 'message' : item['type'];
    return { item, type: requireText(type, `${path}.type`), path };
  });
}

/** The lists of tools inside the conversation: those of the newest models, and those that a search found. */
export function toolListsOf(items: readonly InputItem[]): ToolList[] {
  return items
    .filter(({ type }) => type === 'additional_tools' || type === 'tool_search_output')
    .map(({ item, path }) => ({ tools: requireList(item['tools'] ?? [], `${path}.tools`), path: `${path}.tools` }));
}

/** Adds `arguments` of the items of the member `name` to the weight of the body. Throws invalid_request. */
export function weighArguments(input: JsonValue | undefined, name: string, weight: JsonWeight): void {
  if (!Array.isArray(input)) return;
  for (const [index, item] of input.entries()) {
    const text = isJsonObject(item) ? item['arguments'] : undefined;
    if (typeof text === 'string') weighJson(text, `${name}.${index}.arguments`, weight);
  }
}

const REFERENCE = 'item_reference';
/** Items that say nothing to the model: their tools and settings are read elsewhere, or their results are in the text. */
const SILENT: readonly string[] = ['additional_tools', 'configuration_update', 'web_search_call'];

/** Throws invalid_request and feature_unavailable; the message begins with the field's path. */
export function convertInput(items: readonly InputItem[], instructions: Placed[], names: ToolNames): Conversation {
  const builder = new ConversationBuilder();
  const ids = new CallIds();
  builder.addSystem(instructions, 'instructions');
  let said: Placed[] = []; // by the assistant
  let saidPath = '';
  for (const one of items) {
    const blocks = convertAssistantItem(one, ids, names);
    if (blocks !== null) {
      if (said.length === 0) saidPath = one.path;
      said.push(...blocks);
      continue;
    }
    if (SILENT.includes(one.type) || isReasoningReference(one)) continue;
    builder.addAssistant(said, saidPath);
    said = [];
    addUserItem(builder, one, ids);
  }
  builder.addAssistant(said, saidPath);
  return builder.finish();
}

/** null for an item that the assistant did not say. */
function convertAssistantItem({ item, type, path }: InputItem, ids: CallIds, names: ToolNames): Placed[] | null {
  switch (type) {
    case 'message':
      return item['role'] === 'assistant' ? convertParts(item['content'], `${path}.content`, true) : null;
    case 'reasoning': {
      const block = openThinking(item);
      return block === null ? [] : [{ block, path }];
    }
    case 'function_call': {
      const name = names.flatName(requireText(item['name'], `${path}.name`), textOf(item['namespace']) || null);
      return [callBlock(item, path, ids, name, readInput(item['arguments'] ?? '', `${path}.arguments`, name, names))];
    }
    case 'custom_tool_call': {
      const name = names.flatName(requireText(item['name'], `${path}.name`), textOf(item['namespace']) || null);
      return [callBlock(item, path, ids, name, { [CUSTOM_INPUT]: requireText(item['input'], `${path}.input`) })];
    }
    case 'tool_search_call': {
      const { arguments: given } = item;
      const input = isExactObject(given) ? given : readArguments(given ?? '', `${path}.arguments`);
      return [callBlock(item, path, ids, TOOL_SEARCH, input)];
    }
    default:
      return null;
  }
}

/** Clients that read answers as Chat Completions return the text of a custom tool as the arguments of a function. */
function readInput(given: JsonValue, path: string, name: string, { called }: ToolNames): JsonObject {
  if (called.get(name)?.kind !== 'custom') return readArguments(given, path);
  return { [CUSTOM_INPUT]: customInput(requireText(given, path)) };
}

function callBlock(item: JsonObject, path: string, ids: CallIds, name: string, input: JsonObject): Placed {
  const id = ids.ofCall(requireText(item['call_id'] ?? item['id'], `${path}.call_id`));
  return { block: { type: 'tool_use', id, name, input }, path };
}

function addUserItem(builder: ConversationBuilder, { item, type, path }: InputItem, ids: CallIds): void {
  if (type === 'message') addMessage(builder, item, path);
  else if (type === 'function_call_output' || type === 'custom_tool_call_output')
    builder.addResult(resultBlock(item, path, ids, convertOutput(item['output'], `${path}.output`)), path);
  else if (type === 'tool_search_output') builder.addResult(resultBlock(item, path, ids, foundTools(item)), path);
  else throw unsupportedItem(type, path);
}

function unsupportedItem(type: string, path: string): TurnpikeError {
  if (type !== REFERENCE) return wrongField(`${path}.type`, `items of the type ${shown(type)} are not supported`);
  const advice = 'nothing is stored here; send the item itself (in some clients with `store: false`)';
  return new TurnpikeError('feature_unavailable', `${path}.id: ${advice}`);
}

/** Some clients refer to reasoning by default. It is left out, as for a client that does not return it. */
function isReasoningReference({ item, type }: Pick<InputItem, 'item' | 'type'>): boolean {
  return type === REFERENCE && textOf(item['id']).startsWith('rs_');
}

function shown(type: string): string {
  return JSON.stringify(type.slice(0, TYPE_CHARACTERS_MAX));
}

function addMessage(builder: ConversationBuilder, item: JsonObject, path: string): void {
  const role = requireText(item['role'], `${path}.role`);
  const contentPath = `${path}.content`;
  if (role === 'user') builder.addUser(convertParts(item['content'], contentPath, false), path);
  else if (role === 'system' || role === 'developer')
    builder.addSystem(convertParts(item['content'], contentPath, true), path);
  else throw wrongField(`${path}.role`, "Input should be 'system', 'developer', 'user' or 'assistant'");
}

function resultBlock(item: JsonObject, path: string, ids: CallIds, content: Placed[]): Placed {
  const tool_use_id = ids.ofResult(requireText(item['call_id'], `${path}.call_id`));
  const blocks = content.map(({ block }) => block);
  const [only] = blocks;
  const shown = blocks.length === 1 && only?.['type'] === 'text' ? (only['text'] ?? '') : blocks;
  return { block: { type: 'tool_result', tool_use_id, ...(blocks.length > 0 && { content: shown }) }, path };
}

/** The output of a tool: a text or parts; anything else as JSON. */
function convertOutput(output: JsonValue | undefined, path: string): Placed[] {
  if (typeof output === 'string' || Array.isArray(output)) return convertParts(output, path, false);
  return output === undefined || output === null ? [] : textBlock(JSON.stringify(output), path);
}

/** The model sees the tools themselves in the message's `tools`. */
function foundTools(item: JsonObject): Placed[] {
  const found = Array.isArray(item['tools']) && item['tools'].length > 0;
  return textBlock(found ? 'The tools that were found are available now.' : 'No tools were found.', '');
}

/** The blocks of a text or a list of parts, without blank texts. Throws invalid_request, feature_unavailable. */
function convertParts(content: JsonValue | undefined, path: string, isTextOnly: boolean): Placed[] {
  if (content === undefined) throw wrongField(path, 'Field required');
  if (content === null) return [];
  if (typeof content === 'string') return textBlock(content, path);
  return requireList(content, path).flatMap((part, place) => {
    const partPath = `${path}.${place}`;
    return convertPart(requireObject(part, partPath), partPath, isTextOnly);
  });
}

/** Throws invalid_request, feature_unavailable. */
export function convertPart(part: JsonObject, path: string, isTextOnly: boolean): Placed[] {
  const type = requireText(part['type'], `${path}.type`);
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textBlock(requireText(part['text'], `${path}.text`), `${path}.text`);
    case 'refusal':
      return textBlock(requireText(part['refusal'], `${path}.refusal`), `${path}.refusal`);
    case 'input_image':
      if (isTextOnly) break;
      requireNoStoredFile(part, path);
      return [convertImage(requireText(part['image_url'], `${path}.image_url`), `${path}.image_url`)];
    case 'input_file':
      if (isTextOnly) break;
      return [convertFile(part, path)];
  }
  throw wrongField(`${path}.type`, `parts of the type ${shown(type)} are not supported here`);
}

/** Beside the content, too: it may be a file of another account. */
function requireNoStoredFile(part: JsonObject, path: string): void {
  if ((part['file_id'] ?? null) !== null) throw storedFile(`${path}.file_id`);
}

function convertFile(part: JsonObject, path: string): Placed {
  requireNoStoredFile(part, path);
  const isUrl = (part['file_url'] ?? null) !== null;
  // A provider of this protocol gets the part as it is: each of the two would have to be held.
  if (isUrl && (part['file_data'] ?? null) !== null) throw wrongField(path, 'has both `file_data` and `file_url`');
  const member = isUrl ? 'file_url' : 'file_data';
  return convertDocument(requireText(part[member], `${path}.${member}`), `${path}.${member}`, textOf(part['filename']));
}
