// Messages of Chat Completions, with the forms of Messages and Responses that clients mix into them, as turns of a
// conversation.

import { CUSTOM_INPUT, customInput } from '../protocols/custom-tool.ts';
import { type Placed, requireObject, textBlock, withCacheControl } from '../protocols/placed.ts';
import { thinkingBlock, thinkingOf } from '../protocols/thinking.ts';
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
  textOf,
  weighJson,
  wrongField,
} from '../wire/wire.ts';
import { type CallIds, readArguments } from './call-ids.ts';
import type { ConversationBuilder } from './conversation-builder.ts';
import { convertContent } from './convert-parts.ts';
import { type BlockReader, readAssistantBlock, readUserBlock } from './messages-blocks.ts';
import { requests } from './request-fields.ts';

/** The calls of a conversation. */
export interface Calls {
  ids: CallIds;
  /** The name in the message of a tool that the client calls `name`. */
  nameOf(name: string): string;
  /** Whether the input of the tool, by its name in the message, is a text. */
  isCustom(name: string): boolean;
}

/** The id of all calls in `function_call` format, which has none. */
const FUNCTION_CALL_ID = 'function_call';

/** Whether only Chat Completions or Messages have such an element of a conversation. */
export function isOfChat({ role, tool_calls, function_call, content }: JsonObject): boolean {
  const hasCalls = requests(tool_calls) || requests(function_call);
  return hasCalls || role === 'tool' || role === 'function' || jsonObjects(content).some(isPartOfChat);
}

/** Types of parts of Chat Completions and Messages that Responses does not have. */
const PARTS: readonly string[] = [
  ...['document', 'file', 'image', 'image_url', 'redacted_thinking', 'search_result'],
  ...['thinking', 'tool_result', 'tool_use'],
];

function isPartOfChat({ type }: JsonObject): boolean {
  return typeof type === 'string' && PARTS.includes(type);
}

/**
 * Adds the arguments in messages, and in items of Responses, to the weight of the body. `name` is the list's. Throws
 * invalid_request.
 */
export function weighArguments(list: JsonValue | undefined, name: string, weight: JsonWeight): void {
  if (!Array.isArray(list)) return;
  for (const [index, element] of list.entries()) {
    if (!isJsonObject(element)) continue;
    const path = `${name}.${index}`;
    weighCall(element, path, weight);
    weighCall(element['function_call'], `${path}.function_call`, weight);
    for (const [place, call] of jsonObjects(element['tool_calls']).entries())
      weighCall(call['function'], `${path}.tool_calls.${place}.function`, weight);
  }
}

function weighCall(called: JsonValue | undefined, path: string, weight: JsonWeight): void {
  const text = isJsonObject(called) ? called['arguments'] : undefined;
  if (typeof text === 'string') weighJson(text, `${path}.arguments`, weight);
}

/** The blocks of a message of the assistant; empty for an empty one. Throws invalid_request. */
export function convertAssistant(message: JsonObject, path: string, calls: Calls): Placed[] {
  const { ids } = calls;
  const content = message['content'] ?? '';
  const { refusal } = message;
  const read: BlockReader = (part, partPath) => readAssistantBlock(part, partPath, ids);
  const written = withCacheControl(convertContent(content, `${path}.content`, true, read), message);
  const said = withSpoken(written, message['audio'] ?? null, `${path}.audio`);
  return [
    ...(said.some(({ block }) => isThinking(block)) ? [] : thinkingOf(message, path)),
    ...said,
    ...textBlock(typeof refusal === 'string' ? refusal : '', `${path}.refusal`),
    ...requireList(message['tool_calls'] ?? [], `${path}.tool_calls`).flatMap((call, place) =>
      convertCall(call, `${path}.tool_calls.${place}`, calls),
    ),
    ...convertFunctionCall(message['function_call'] ?? null, `${path}.function_call`, calls),
  ];
}

/** An earlier spoken answer, with the text beside it; without an id, its transcript. Throws invalid_request. */
function withSpoken(said: readonly Placed[], audio: JsonValue, path: string): readonly Placed[] {
  if (audio === null) return said;
  const { id = null, transcript: given } = requireObject(audio, path);
  const transcript = textOf(given);
  if (id === null && transcript !== '') return said.length > 0 ? said : textBlock(transcript, path);
  const isText = ({ block }: Placed) => block['type'] === 'text';
  const text = said.filter(isText).map(({ block }) => textOf(block['text']));
  const block = {
    type: 'audio',
    id: requireText(id ?? undefined, `${path}.id`),
    ...(text.length > 0 && { text: text.join('\n\n') }),
    ...(transcript !== '' && { transcript }),
  };
  return [...said.filter((placed) => !isText(placed)), { block, path: `${path}.id` }];
}

/** A function call has no id: its result is the next message. */
function convertFunctionCall(value: JsonValue, path: string, calls: Calls): Placed[] {
  if (value === null) return [];
  const id = calls.ids.ofCall(FUNCTION_CALL_ID);
  return [{ block: { type: 'tool_use', id, ...readCalled(requireObject(value, path), path, calls) }, path }];
}

/** The call, after the thinking block with its signature, if it has one. */
function convertCall(value: JsonValue, path: string, calls: Calls): Placed[] {
  const call = requireObject(value, path);
  const type = call['type'] ?? 'function';
  if (type !== 'function' && type !== 'custom')
    throw wrongField(`${path}.type`, "Input should be 'function' or 'custom'");
  const id = calls.ids.ofCall(requireText(call['id'], `${path}.id`));
  const given = requireObject(call[type], `${path}.${type}`);
  const called =
    type === 'custom' ? readCustom(given, `${path}.custom`, calls) : readCalled(given, `${path}.function`, calls);
  const signature = signatureOfChatCall(call);
  const thought = signature === '' ? [] : [{ block: thinkingBlock('', placeSignature('call', signature)), path }];
  return [...thought, { block: { type: 'tool_use', id, ...called }, path }];
}

/** The name and the input of a called function. Throws invalid_request. */
export function readCalled(called: JsonObject, path: string, { nameOf, isCustom }: Calls): JsonObject {
  const name = nameOf(requireText(called['name'], `${path}.name`));
  const given = called['arguments'] ?? '';
  const argumentsPath = `${path}.arguments`;
  // Arguments of a custom tool are its text, for clients that know only functions.
  if (isCustom(name)) return { name, input: { [CUSTOM_INPUT]: customInput(requireText(given, argumentsPath)) } };
  return { name, input: readArguments(given, argumentsPath) };
}

/** The name and the input of a called custom tool. Throws invalid_request. */
export function readCustom(called: JsonObject, path: string, { nameOf }: Calls): JsonObject {
  const name = nameOf(requireText(called['name'], `${path}.name`));
  return { name, input: { [CUSTOM_INPUT]: requireText(called['input'], `${path}.input`) } };
}

const ROLES = ['system', 'user', 'assistant', 'tool', 'function'] as const;
type Role = (typeof ROLES)[number];

function readRole(message: JsonObject, path: string): Role {
  const given = requireText(message['role'], `${path}.role`);
  const role = given === 'developer' ? 'system' : ROLES.find((one) => one === given);
  if (role !== undefined) return role;
  throw wrongField(`${path}.role`, "Input should be 'system', 'developer', 'user', 'assistant' or 'tool'");
}

/** Adds a message of any role. Throws invalid_request and feature_unavailable with the path of a field. */
export function addMessage(builder: ConversationBuilder, message: JsonObject, path: string, calls: Calls): void {
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

function convertResult(
  message: JsonObject,
  idMember: 'tool_call_id' | 'tool_use_id',
  path: string,
  ids: CallIds,
): Placed {
  const id = ids.ofResult(requireText(message[idMember], `${path}.${idMember}`));
  return resultBlock(message, id, convertContent(message['content'] ?? '', `${path}.content`, false), path);
}

/** The result of a call. It has one cache breakpoint: the last one of its parts. */
export function resultBlock(message: JsonObject, tool_use_id: string, shown: readonly Placed[], path: string): Placed {
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
