// From the bytes of a body to a message request. Checks only what this service itself relies on;
// everything else is the provider's to judge and travels on untouched.

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { checkMessages, checkOptionalFields, wrongField } from './check-fields.ts';
import { decodeBody } from './decode-body.ts';
import { isJsonObject } from './json-values.ts';
import type { JsonValue, MessageRequest, Protocol } from './message-request.ts';
import { parseJson } from './parse-json.ts';
import { scanJson } from './scan-json.ts';

/**
 * Reads a body. Throws invalid_json (not UTF-8, not JSON), invalid_request (its message begins with the
 * path of the field) and thread_unsupported_request.
 */
export function parseMessageRequest(bytes: Uint8Array, protocol: Protocol = 'messages'): MessageRequest {
  const text = decodeBody(bytes);
  const members = scanJson(text); // first: it bounds the depth that JSON.parse meets
  const body = parseJson(text);
  if (!isJsonObject(body)) throw wrongField('body', 'Input should be a valid dictionary');
  const model = checkModel(body['model']);
  checkMessages(body['messages']);
  const maxTokens = checkMaxTokens(body['max_tokens']);
  const stream = body['stream'] ?? false;
  if (typeof stream !== 'boolean') throw wrongField('stream', 'Input should be a valid boolean');
  checkOptionalFields(body);
  refuseThread(body['thread']);
  return { text, bytes: bytes.length - byteOrderMarkBytes(bytes), body, members, model, stream, maxTokens, protocol };
}

function byteOrderMarkBytes(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
}

function checkModel(model: JsonValue | undefined): string {
  if (model === undefined) throw wrongField('model', 'Field required');
  if (typeof model !== 'string') throw wrongField('model', 'Input should be a valid string');
  if (model === '') throw wrongField('model', 'String should have at least 1 character');
  if (model.length > bounds.modelNameCharactersMax)
    throw wrongField('model', `String should have at most ${bounds.modelNameCharactersMax} characters`);
  return model;
}

function checkMaxTokens(maxTokens: JsonValue | undefined): number | null {
  if (maxTokens === undefined || maxTokens === null) return null;
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens))
    throw wrongField('max_tokens', 'Input should be a valid integer');
  if (maxTokens < 0) throw wrongField('max_tokens', 'Input should be greater than or equal to 0');
  // Beyond it a number of JSON is not the one that was written; what is only too large is clamped later.
  if (maxTokens > Number.MAX_SAFE_INTEGER)
    throw wrongField('max_tokens', `Input should be less than or equal to ${Number.MAX_SAFE_INTEGER}`);
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
