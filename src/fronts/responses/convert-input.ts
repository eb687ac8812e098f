// Translates input items, and messages of Chat Completions among them, to a conversation. Consecutive items of the
// assistant are one message.

import { TurnpikeError } from '../../errors.ts';
import { isExactObject, type Placed, requireObject, textBlock } from '../../protocols/placed.ts';
import { type JsonObject, type JsonValue, requireList, requireText, textOf, wrongField } from '../../wire/wire.ts';
import { CallIds, readArguments } from '../call-ids.ts';
import { addMessage, type Calls, convertAssistant, readCalled, readCustom, resultBlock } from '../chat-messages.ts';
import { type Conversation, ConversationBuilder } from '../conversation-builder.ts';
import { convertContent, shownType } from '../convert-parts.ts';
import type { ToolList, ToolNames } from './convert-tools.ts';
import { openThinking } from './sealed-thinking.ts';

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
    const isEmpty = type === 'message' && item['content'] === null;
    return { item: isEmpty ? { ...item, content: '' } : item, type: requireText(type, `${path}.type`), path };
  });
}

/** The lists of tools inside the conversation: those of the newest models, and those that a search found. */
export function toolListsOf(items: readonly InputItem[]): ToolList[] {
  return items
    .filter(({ type }) => type === 'additional_tools' || type === 'tool_search_output')
    .map(({ item, path }) => ({ tools: requireList(item['tools'] ?? [], `${path}.tools`), path: `${path}.tools` }));
}

const REFERENCE = 'item_reference';
/** Items that say nothing to the model: their tools and settings are read elsewhere, or their results are in the text. */
const SILENT: readonly string[] = ['additional_tools', 'configuration_update', 'web_search_call'];

/** Throws invalid_request and feature_unavailable; the message begins with the field's path. */
export function convertInput(items: readonly InputItem[], instructions: Placed[], names: ToolNames): Conversation {
  const builder = new ConversationBuilder();
  const isCustom: Calls['isCustom'] = (name) => names.called.get(name)?.kind === 'custom';
  const calls = { ids: new CallIds(), nameOf: (name: string) => names.flatName(name, null), isCustom };
  builder.addSystem(instructions, 'instructions');
  let said: Placed[] = []; // by the assistant
  let saidPath = '';
  for (const one of items) {
    const blocks = convertAssistantItem(one, calls, names);
    if (blocks !== null) {
      if (said.length === 0) saidPath = one.path;
      said.push(...blocks);
      continue;
    }
    if (SILENT.includes(one.type) || isReasoningReference(one)) continue;
    builder.addAssistant(said, saidPath);
    said = [];
    addUserItem(builder, one, calls);
  }
  builder.addAssistant(said, saidPath);
  return builder.finish();
}

/** null for an item that the assistant did not say. */
function convertAssistantItem({ item, type, path }: InputItem, calls: Calls, names: ToolNames): Placed[] | null {
  const namespace = textOf(item['namespace']) || null;
  const inNamespace = { ...calls, nameOf: (name: string) => names.flatName(name, namespace) };
  switch (type) {
    case 'message':
      return item['role'] === 'assistant' ? convertAssistant(item, path, calls) : null;
    case 'reasoning': {
      const block = openThinking(item);
      return block === null ? [] : [{ block, path }];
    }
    case 'compaction': {
      const encrypted_content = requireText(item['encrypted_content'], `${path}.encrypted_content`);
      return [{ block: { type: 'compaction', encrypted_content }, path }];
    }
    case 'function_call':
      return [callBlock(item, path, calls.ids, readCalled(item, path, inNamespace))];
    case 'custom_tool_call':
      return [callBlock(item, path, calls.ids, readCustom(item, path, inNamespace))];
    case 'tool_search_call': {
      const { arguments: given } = item;
      const input = isExactObject(given) ? given : readArguments(given ?? '', `${path}.arguments`);
      return [callBlock(item, path, calls.ids, { name: TOOL_SEARCH, input })];
    }
    default:
      return null;
  }
}

function callBlock(item: JsonObject, path: string, ids: CallIds, called: JsonObject): Placed {
  const id = ids.ofCall(requireText(item['call_id'] ?? item['id'], `${path}.call_id`));
  return { block: { type: 'tool_use', id, ...called }, path };
}

function addUserItem(builder: ConversationBuilder, { item, type, path }: InputItem, calls: Calls): void {
  if (type === 'message') addMessage(builder, item, path, calls);
  else if (type === 'function_call_output' || type === 'custom_tool_call_output')
    addResult(builder, item, path, calls, convertOutput(item['output'], `${path}.output`));
  else if (type === 'tool_search_output') addResult(builder, item, path, calls, foundTools(item));
  else throw unsupportedItem(type, path);
}

function addResult(
  builder: ConversationBuilder,
  item: JsonObject,
  path: string,
  { ids }: Calls,
  shown: Placed[],
): void {
  const id = ids.ofResult(requireText(item['call_id'], `${path}.call_id`));
  builder.addResult(resultBlock(item, id, shown, path), path);
}

function unsupportedItem(type: string, path: string): TurnpikeError {
  if (type !== REFERENCE) return wrongField(`${path}.type`, `items of the type ${shownType(type)} are not supported`);
  const advice = 'nothing is stored here; send the item itself (in some clients with `store: false`)';
  return new TurnpikeError('feature_unavailable', `${path}.id: ${advice}`);
}

/** Some clients refer to reasoning by default. It is left out, as for a client that does not return it. */
function isReasoningReference({ item, type }: Pick<InputItem, 'item' | 'type'>): boolean {
  return type === REFERENCE && textOf(item['id']).startsWith('rs_');
}

/** The output of a tool: a text or parts; anything else as JSON. */
function convertOutput(output: JsonValue | undefined, path: string): Placed[] {
  if (typeof output === 'string' || Array.isArray(output)) return convertContent(output, path, false);
  return output === undefined || output === null ? [] : textBlock(JSON.stringify(output), path);
}

/** The model sees the tools themselves in the message's `tools`. */
function foundTools(item: JsonObject): Placed[] {
  const found = Array.isArray(item['tools']) && item['tools'].length > 0;
  return textBlock(found ? 'The tools that were found are available now.' : 'No tools were found.', '');
}
