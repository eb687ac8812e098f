// The fields of a message request that have a shape of their own, and the blocks of its content. Only what is
// certainly wrong is refused; what is merely unknown, and what a value means, is the provider's to judge.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { isJsonObject } from './json-values.ts';
import type { JsonObject, JsonValue } from './message-request.ts';

/** The refusal of one field: invalid_request, its message beginning with the path. */
export function wrongField(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: ${sentence}`);
}

/** Throws invalid_request for messages that are no list of messages. */
export function checkMessages(messages: JsonValue | undefined): void {
  if (messages === undefined) throw wrongField('messages', REQUIRED);
  if (!Array.isArray(messages)) throw wrongField('messages', LIST);
  if (messages.length === 0) throw wrongField('messages', 'at least one message is required');
  if (messages.length > bounds.messagesMax)
    throw wrongField('messages', `List should have at most ${bounds.messagesMax} items`);
  for (let index = 0; index < messages.length; index++) checkMessage(messages[index], index);
}

/** Throws invalid_request for the first field beside model, messages, max_tokens and stream that is wrong. Null is absent. */
export function checkOptionalFields(body: JsonObject): void {
  checkSystem(body['system'] ?? '');
  const tools = body['tools'] ?? null;
  if (tools !== null) checkMembers(tools, 'tools', isJsonObject, DICTIONARY);
  const toolChoice = body['tool_choice'] ?? null;
  if (toolChoice !== null) {
    if (!isJsonObject(toolChoice)) throw wrongField('tool_choice', DICTIONARY);
    requireString(toolChoice['type'], 'tool_choice.type');
  }
  const stopSequences = body['stop_sequences'] ?? null;
  if (stopSequences !== null) checkMembers(stopSequences, 'stop_sequences', isString, STRING);
  for (const name of NUMBERS) {
    const value = body[name] ?? null;
    if (value !== null && typeof value !== 'number') throw wrongField(name, 'Input should be a valid number');
  }
  for (const name of OBJECTS) {
    const value = body[name] ?? null;
    if (value !== null && !isJsonObject(value)) throw wrongField(name, DICTIONARY);
  }
}

const REQUIRED = 'Field required';
const STRING = 'Input should be a valid string';
const LIST = 'Input should be a valid list';
const DICTIONARY = 'Input should be a valid dictionary';
const STRING_OR_LIST = 'Input should be a valid string or list';

const NUMBERS = ['temperature', 'top_p', 'top_k'];
const OBJECTS = ['metadata', 'thinking', 'output_config'];

function checkMessage(message: JsonValue | undefined, index: number): void {
  if (!isJsonObject(message)) throw wrongField(`messages.${index}`, DICTIONARY);
  const role = message['role'];
  if (role === undefined) throw wrongField(`messages.${index}.role`, REQUIRED);
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw wrongField(`messages.${index}.role`, "Input should be 'user', 'assistant' or 'system'");
  const content = message['content'];
  if (content === undefined) throw wrongField(`messages.${index}.content`, REQUIRED);
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw wrongField(`messages.${index}.content`, STRING_OR_LIST);
  for (let place = 0; place < content.length; place++)
    checkBlock(content[place], () => `messages.${index}.content.${place}`);
}

/** The path is written only where a fault is: most blocks have none. */
function checkBlock(block: JsonValue | undefined, path: () => string): void {
  if (!isJsonObject(block)) throw wrongField(path(), DICTIONARY);
  const type = block['type'];
  if (typeof type !== 'string') requireString(type, `${path()}.type`);
  if (type === 'text' && typeof block['text'] !== 'string') requireString(block['text'], `${path()}.text.text`);
  if (type !== 'tool_result' || !Array.isArray(block['content'])) return;
  const { content } = block;
  for (let place = 0; place < content.length; place++)
    checkBlock(content[place], () => `${path()}.tool_result.content.${place}`);
}

/** Blocks of the system prompt are text, so their paths name no kind of block. */
function checkSystem(system: JsonValue): void {
  if (typeof system === 'string') return;
  if (!Array.isArray(system)) throw wrongField('system', STRING_OR_LIST);
  for (let place = 0; place < system.length; place++) {
    const block = system[place];
    if (!isJsonObject(block)) throw wrongField(`system.${place}`, DICTIONARY);
    if (block['type'] === 'text') requireString(block['text'], `system.${place}.text`);
  }
}

function checkMembers(
  list: JsonValue,
  path: string,
  isRight: (member: JsonValue | undefined) => boolean,
  sentence: string,
): void {
  if (!Array.isArray(list)) throw wrongField(path, LIST);
  for (let place = 0; place < list.length; place++)
    if (!isRight(list[place])) throw wrongField(`${path}.${place}`, sentence);
}

function isString(value: JsonValue | undefined): boolean {
  return typeof value === 'string';
}

function requireString(value: JsonValue | undefined, path: string): void {
  if (value === undefined) throw wrongField(path, REQUIRED);
  if (typeof value !== 'string') throw wrongField(path, STRING);
}
