// From the bytes of a body to a message request. Checks only what this service itself relies on;
// everything else is the provider's to judge and travels on untouched.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { decodeBody } from './decode-body.ts';
import { isJsonObject } from './json-values.ts';
import type { JsonValue, MessageRequest } from './message-request.ts';
import { scanJson } from './scan-json.ts';

const MAX_TOKENS_MAX = 1_000_000_000; // no model comes near; sums of it stay exact
const PARSER_MESSAGE_CHARACTERS_MAX = 200;

/**
 * Reads a body. Throws invalid_json (not UTF-8, not JSON), invalid_request (its message begins with the
 * path of the field) and thread_unsupported_request.
 */
export function parseMessageRequest(bytes: Uint8Array): MessageRequest {
  const text = decodeBody(bytes);
  const members = scanJson(text); // first: it bounds the depth that JSON.parse meets
  const body = parseJson(text);
  if (!isJsonObject(body)) throw wrong('body', 'Input should be a valid dictionary');
  const model = checkModel(body['model']);
  checkMessages(body['messages']);
  const maxTokens = checkMaxTokens(body['max_tokens']);
  const stream = body['stream'] ?? false;
  if (typeof stream !== 'boolean') throw wrong('stream', 'Input should be a valid boolean');
  const system = body['system'] ?? '';
  if (typeof system !== 'string' && !Array.isArray(system))
    throw wrong('system', 'Input should be a valid string or list');
  if (!Array.isArray(body['tools'] ?? [])) throw wrong('tools', 'Input should be a valid list');
  refuseThread(body['thread']);
  return { text, bytes: bytes.length - byteOrderMarkBytes(bytes), body, members, model, stream, maxTokens };
}

function parseJson(text: string): JsonValue {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.replace(/^JSON Parse error: /, '') : String(cause);
    const message = `The request body is not valid JSON: ${said.slice(0, PARSER_MESSAGE_CHARACTERS_MAX)}`;
    throw new TurnpikeError('invalid_json', message, { cause });
  }
}

function byteOrderMarkBytes(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function checkModel(model: JsonValue | undefined): string {
  if (model === undefined) throw wrong('model', 'Field required');
  if (typeof model !== 'string') throw wrong('model', 'Input should be a valid string');
  if (model === '') throw wrong('model', 'String should have at least 1 character');
  if (model.length > bounds.modelNameCharactersMax)
    throw wrong('model', `String should have at most ${bounds.modelNameCharactersMax} characters`);
  return model;
}

function checkMessages(messages: JsonValue | undefined): void {
  if (messages === undefined) throw wrong('messages', 'Field required');
  if (!Array.isArray(messages)) throw wrong('messages', 'Input should be a valid list');
  if (messages.length === 0) throw wrong('messages', 'at least one message is required');
  if (messages.length > bounds.messagesMax)
    throw wrong('messages', `List should have at most ${bounds.messagesMax} items`);
  for (let index = 0; index < messages.length; index++) checkMessage(messages[index], index);
}

function checkMessage(message: JsonValue | undefined, index: number): void {
  if (!isJsonObject(message)) throw wrong(`messages.${index}`, 'Input should be a valid dictionary');
  const role = message['role'];
  if (role === undefined) throw wrong(`messages.${index}.role`, 'Field required');
  if (role !== 'user' && role !== 'assistant' && role !== 'system')
    throw wrong(`messages.${index}.role`, "Input should be 'user', 'assistant' or 'system'");
  const content = message['content'];
  if (content === undefined) throw wrong(`messages.${index}.content`, 'Field required');
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw wrong(`messages.${index}.content`, 'Input should be a valid string or list');
  for (let place = 0; place < content.length; place++) {
    const block = content[place];
    if (!isJsonObject(block)) throw wrong(`messages.${index}.content.${place}`, 'Input should be a valid dictionary');
    if (typeof block['type'] === 'string') continue;
    const path = `messages.${index}.content.${place}.type`;
    throw wrong(path, block['type'] === undefined ? 'Field required' : 'Input should be a valid string');
  }
}

function checkMaxTokens(maxTokens: JsonValue | undefined): number | null {
  if (maxTokens === undefined || maxTokens === null) return null;
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens))
    throw wrong('max_tokens', 'Input should be a valid integer');
  if (maxTokens < 0) throw wrong('max_tokens', 'Input should be greater than or equal to 0');
  if (maxTokens > MAX_TOKENS_MAX) throw wrong('max_tokens', `Input should be less than or equal to ${MAX_TOKENS_MAX}`);
  return maxTokens;
}

/**
 * A thread would have its next turn sent without its history. Refused by this code, a client repeats the
 * call without it; ignored, the following turn would be an orphan.
 */
function refuseThread(thread: JsonValue | undefined): void {
  if (thread === undefined || thread === null) return;
  throw new TurnpikeError('thread_unsupported_request', 'thread is not supported by this endpoint');
}

function wrong(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: ${sentence}`);
}
