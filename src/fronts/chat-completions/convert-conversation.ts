// Translates messages to a conversation: one user message, tool results first, between two assistant messages.

import {
  isJsonObject,
  isThinking,
  type JsonObject,
  type JsonValue,
  type JsonWeight,
  jsonObjects,
  placeSignature,
  requireList,
  requireText,
  signatureOfChatCall,
  weighJson,
  wrongField,
} from '../../wire/wire.ts';
import { CallIds, readArguments } from '../call-ids.ts';
import { type Conversation, ConversationBuilder } from '../conversation-builder.ts';
import { type Placed, requireObject, textBlock, withCacheControl } from '../placed.ts';
import { CUSTOM_INPUT, customInput } from '../responses/responses.ts';
import { thinkingBlock } from '../thinking-block.ts';
import { thinkingOf } from './convert-message.ts';
import { convertContent } from './convert-parts.ts';
import type { CustomTools } from './convert-tools.ts';
import { type BlockReader, readAssistantBlock, readUserBlock } from './messages-blocks.ts';

/** The id of all calls in `function_call` format, which has none. */
const FUNCTION_CALL_ID = 'function_call';

/** Throws invalid_request if arguments and body together are more costly to parse than a body may be. */
export function weighArguments(messages: JsonValue | undefined, name: string, weight: JsonWeight): void {
  if (!Array.isArray(messages)) return;
  for (const [index, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    const path = `${name}.${index}`;
    weighCall(message['function_call'], `${path}.function_call`, weight);
    for (const [place, call] of jsonObjects(message['tool_calls']).entries())
      weighCall(call['function'], `${path}.tool_calls.${place}.function`, weight);
  }
}

function weighCall(called: JsonValue | undefined, path: string, weight: JsonWeight): void {
  const text = isJsonObject(called) ? called['arguments'] : undefined;
  if (typeof text === 'string') weighJson(text, `${path}.arguments`, weight);
}

/** The blocks; empty for an empty message. Throws invalid_request. */
function convertAssistant(message: JsonObject, path: string, { ids, customTools }: Calls): Placed[] {
  if ((message['audio'] ?? null) !== null)
    throw wrongField(`${path}.audio`, 'audio is not supported; send a transcript');
  const content = message['content'] ?? '';
  const { refusal } = message;
  const read: BlockReader = (part, partPath) => readAssistantBlock(part, partPath, ids);
  const said = withCacheControl(convertContent(content, `${path}.content`, true, read), message);
  return [
    ...(said.some(({ block }) => isThinking(block)) ? [] : thinkingOf(message, path)),
    ...said,
    ...textBlock(typeof refusal === 'string' ? refusal : '', `${path}.refusal`),
    ...requireList(message['tool_calls'] ?? [], `${path}.tool_calls`).flatMap((call, place) =>
      convertCall(call, `${path}.tool_calls.${place}`, { ids, customTools }),
    ),
    ...convertFunctionCall(message['function_call'] ?? null, `${path}.function_call`, ids),
  ];
}

/** A function call has no id: its result is the next message. */
function convertFunctionCall(value: JsonValue, path: string, ids: CallIds): Placed[] {
  if (value === null) return [];
  const id = ids.ofCall(FUNCTION_CALL_ID);
  return [{ block: { type: 'tool_use', id, ...readCalled(requireObject(value, path), path, NONE) }, path }];
}

/** The calls of a conversation, and the tools whose input is a text. */
interface Calls {
  ids: CallIds;
  customTools: CustomTools;
}

const NONE: CustomTools = new Map();

/** The call, after the thinking block with its signature, if it has one. */
function convertCall(value: JsonValue, path: string, { ids, customTools }: Calls): Placed[] {
  const call = requireObject(value, path);
  const type = call['type'] ?? 'function';
  if (type !== 'function' && type !== 'custom')
    throw wrongField(`${path}.type`, "Input should be 'function' or 'custom'");
  const id = ids.ofCall(requireText(call['id'], `${path}.id`));
  const given = requireObject(call[type], `${path}.${type}`);
  const called =
    type === 'custom' ? readCustom(given, `${path}.custom`) : readCalled(given, `${path}.function`, customTools);
  const signature = signatureOfChatCall(call);
  const thought = signature === '' ? [] : [{ block: thinkingBlock('', placeSignature('call', signature)), path }];
  return [...thought, { block: { type: 'tool_use', id, ...called }, path }];
}

/** Arguments of a custom tool are its text, for clients that know only functions. */
function readCalled(called: JsonObject, path: string, customTools: CustomTools): JsonObject {
  const name = requireText(called['name'], `${path}.name`);
  const given = called['arguments'] ?? '';
  if (!customTools.has(name)) return { name, input: readArguments(given, `${path}.arguments`) };
  return { name, input: { [CUSTOM_INPUT]: customInput(requireText(given, `${path}.arguments`)) } };
}

function readCustom(called: JsonObject, path: string): JsonObject {
  const name = requireText(called['name'], `${path}.name`);
  return { name, input: { [CUSTOM_INPUT]: requireText(called['input'], `${path}.input`) } };
}

/**
 * `listName` is the member with the messages. Throws invalid_request and feature_unavailable; the message begins with the
 * field's path.
 */
export function convertConversation(body: JsonObject, listName: string, customTools: CustomTools): Conversation {
  const builder = new ConversationBuilder();
  const calls = { ids: new CallIds(), customTools };
  for (const name of SYSTEM_FIELDS) builder.addSystem(readSystem(body, name), name);
  for (const [index, given] of requireList(body[listName], listName).entries()) {
    const path = `${listName}.${index}`;
    add(builder, requireObject(given, path), path, calls);
  }
  return builder.finish();
}

/** Beside the conversation: of Messages and of Responses. */
const SYSTEM_FIELDS = ['system', 'instructions'];

/** The blocks of a system prompt beside the conversation; empty without one. Throws invalid_request. */
export function readSystem(body: JsonObject, name: string): Placed[] {
  const given = body[name] ?? null;
  return given === null ? [] : convertContent(given, name, true);
}

/** The first field with a system prompt; null: there is none beside the conversation. */
export function systemField(body: JsonObject): string | null {
  return SYSTEM_FIELDS.find((name) => (body[name] ?? null) !== null) ?? null;
}

const ROLES = ['system', 'user', 'assistant', 'tool', 'function'] as const;
type Role = (typeof ROLES)[number];

function readRole(message: JsonObject, path: string): Role {
  const given = requireText(message['role'], `${path}.role`);
  const role = given === 'developer' ? 'system' : ROLES.find((one) => one === given);
  if (role !== undefined) return role;
  throw wrongField(`${path}.role`, "Input should be 'system', 'developer', 'user', 'assistant' or 'tool'");
}

function add(builder: ConversationBuilder, message: JsonObject, path: string, calls: Calls): void {
  const { ids } = calls;
  const role = readRole(message, path);
  if (role === 'system') builder.addSystem(convertSystem(message, path), path);
  else if (role === 'assistant') builder.addAssistant(convertAssistant(message, path, calls), path);
  else if (role === 'user' || (role === 'tool' && hasResults(message))) addUser(builder, message, path, ids);
  else {
    const result = role === 'tool' ? message : asTool(message, path, ids);
    builder.addResult(convertResult(result, 'tool_call_id', path, ids), path);
  }
}

/** Whether the results of a tool message are blocks of Messages, which have the ids of their calls. */
function hasResults({ content, tool_call_id = null }: JsonObject): boolean {
  return tool_call_id === null && jsonObjects(content).some(isResult);
}

function isResult({ type }: JsonObject): boolean {
  return type === 'tool_result';
}

/** A function's result as a tool's. */
function asTool(message: JsonObject, path: string, ids: CallIds): JsonObject {
  if (!ids.isAwaited(FUNCTION_CALL_ID)) throw wrongField(`${path}.role`, 'there is no `function_call` before it');
  return { ...message, tool_call_id: FUNCTION_CALL_ID };
}

function addUser(builder: ConversationBuilder, message: JsonObject, path: string, ids: CallIds): void {
  const read: BlockReader = (part, partPath) =>
    isResult(part) ? [convertResult(part, 'tool_use_id', partPath, ids)] : readUserBlock(part, partPath);
  const blocks = withCacheControl(convertContent(message['content'], `${path}.content`, false, read), message);
  for (const placed of blocks) if (isResult(placed.block)) builder.addResult(placed, path);
  builder.addUser(
    blocks.filter(({ block }) => !isResult(block)),
    path,
  );
}

function convertSystem(message: JsonObject, path: string): Placed[] {
  return withCacheControl(convertContent(message['content'], `${path}.content`, true), message);
}

/** A result has one cache breakpoint: the last one of its parts. */
function convertResult(
  message: JsonObject,
  idMember: 'tool_call_id' | 'tool_use_id',
  path: string,
  ids: CallIds,
): Placed {
  const tool_use_id = ids.ofResult(requireText(message[idMember], `${path}.${idMember}`));
  const shown = convertContent(message['content'] ?? '', `${path}.content`, false);
  const holder = [message, ...shown.map(({ block }) => block)].findLast((one) => 'cache_control' in one) ?? {};
  const blocks = shown.map(({ block: { cache_control: _, ...block } }) => block as JsonObject);
  const [only] = blocks;
  const content = blocks.length === 1 && only?.['type'] === 'text' ? (only['text'] ?? '') : blocks;
  const isError = message['is_error'] === true;
  const block = {
    type: 'tool_result',
    tool_use_id,
    ...(blocks.length > 0 && { content }),
    ...(isError && { is_error: true }),
  };
  return withCacheControl([{ block, path }], holder)[0] as Placed;
}
