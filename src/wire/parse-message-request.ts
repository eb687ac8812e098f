// Parses a message request. Checks only what this service relies on; the provider judges the rest.

import { isWholeNumber } from '../base/checked-number.ts';
import { ownTurn } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { exactBody, plainBody } from './exact-json.ts';
import { isLong, pauseAfter } from './long-texts.ts';
import type { JsonObject, JsonValue, MessageRequest, NativeBody, Protocol, ReceivedBody } from './message-request.ts';
import { decodeBody, decodeBytes, isJsonObject, jsonObjects, objectOf, parseJson, sizeOf } from './message-request.ts';
import { scanJson } from './scan-json.ts';

const REQUIRED = 'Field required';
const LIST = 'Input should be a valid list';
const DICTIONARY = 'Input should be a valid dictionary';
const STRING_OR_LIST = 'Input should be a valid string or list';

/** The error for one field: invalid_request, the message beginning with the path. */
export function wrongField(path: string, sentence: string): TurnpikeError {
  return new TurnpikeError('invalid_request', `${path}: ${sentence}`);
}

/** Throws invalid_request for anything but a text. */
export function requireText(value: JsonValue | undefined, path: string): string {
  if (typeof value !== 'string') throw wrongField(path, textFault(value));
  return value;
}

/** The name of a tool. Throws invalid_request. */
export function requireToolName(value: JsonValue | undefined, path: string): string {
  const name = requireText(value, path);
  if (isLongToolName(name)) throw wrongField(path, TOOL_NAME_TOO_LONG);
  return name;
}

/** A name may be replaced at a provider, and is put back in each call. */
function isLongToolName(name: JsonValue | undefined): boolean {
  return typeof name === 'string' && name.length > bounds.toolNameCharactersMax;
}

const TOOL_NAME_TOO_LONG = `String should have at most ${bounds.toolNameCharactersMax} characters`;

function textFault(value: JsonValue | undefined): string {
  return value === undefined ? REQUIRED : 'Input should be a valid string';
}

/** Throws invalid_request for anything but a list. */
export function requireList(value: JsonValue | undefined, path: string): JsonValue[] {
  if (value === undefined) throw wrongField(path, REQUIRED);
  if (!Array.isArray(value)) throw wrongField(path, LIST);
  return value;
}

/** Throws invalid_request unless it is a list of messages. */
function checkMessages(value: JsonValue | undefined): void {
  const messages = requireList(value, 'messages');
  if (messages.length === 0) throw wrongField('messages', 'at least one message is required');
  if (messages.length > bounds.messagesMax)
    throw wrongField('messages', `List should have at most ${bounds.messagesMax} items`);
  for (let index = 0; index < messages.length; index++) checkMessage(messages[index], index);
}

/** Checks all fields but model, messages, max_tokens and stream; null counts as absent. Throws invalid_request. */
function checkOptionalFields(body: JsonObject, protocol: Protocol): void {
  checkSystem(body['system'] ?? '');
  const tools = requireList(body['tools'] ?? NONE, 'tools');
  for (let place = 0; place < tools.length; place++) {
    const tool = tools[place];
    if (!isJsonObject(tool)) throw wrongField(`tools.${place}`, DICTIONARY);
    if (isLongToolName(tool['name'])) throw wrongField(`tools.${place}.name`, TOOL_NAME_TOO_LONG);
  }
  const toolChoice = body['tool_choice'] ?? null;
  if (toolChoice !== null) {
    if (!isJsonObject(toolChoice)) throw wrongField('tool_choice', DICTIONARY);
    requireText(toolChoice['type'], 'tool_choice.type');
  }
  const stops = requireList(body['stop_sequences'] ?? NONE, 'stop_sequences');
  for (let place = 0; place < stops.length; place++)
    if (typeof stops[place] !== 'string') throw wrongField(`stop_sequences.${place}`, textFault(stops[place]));
  for (const name of NUMBERS) {
    const value = body[name] ?? null;
    if (value !== null && typeof value !== 'number') throw wrongField(name, 'Input should be a valid number');
  }
  if (protocol === 'messages') checkTemperature(body['temperature'] ?? null);
  for (const name of OBJECTS) {
    const value = body[name] ?? null;
    if (value !== null && !isJsonObject(value)) throw wrongField(name, DICTIONARY);
  }
}

/** 0 to 1: https://platform.claude.com/docs/en/api/messages (29 November 2026). Other protocols have ranges of their own. */
function checkTemperature(value: JsonValue): void {
  if (typeof value !== 'number' || (value >= 0 && value <= 1)) return;
  throw wrongField(
    'temperature',
    `Input should be ${value < 0 ? 'greater than or equal to 0' : 'less than or equal to 1'}`,
  );
}

const NONE: JsonValue[] = [];
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
  const fault = findFault(content);
  if (fault !== null) throw new TurnpikeError('invalid_request', `messages.${index}.content${fault}`);
}

/** The rest of the path to the first fault in a list of blocks, and its sentence; null without a fault. */
function findFault(blocks: JsonValue[]): string | null {
  for (let place = 0; place < blocks.length; place++) {
    const block = blocks[place];
    if (!isJsonObject(block)) return `.${place}: ${DICTIONARY}`;
    const { type, text, content } = block;
    if (typeof type !== 'string') return `.${place}.type: ${textFault(type)}`;
    if (type === 'text' && typeof text !== 'string') return `.${place}.text.text: ${textFault(text)}`;
    if (type === 'tool_addition' && isLongToolName(objectOf(objectOf(block['tool'])['definition'])['name']))
      return `.${place}.tool.definition.name: ${TOOL_NAME_TOO_LONG}`;
    const inside = type === 'tool_result' && Array.isArray(content) ? findFault(content) : null;
    if (inside !== null) return `.${place}.tool_result.content${inside}`;
  }
  return null;
}

/** Blocks of the system prompt are text, so their paths name no block type. */
function checkSystem(system: JsonValue): void {
  if (typeof system === 'string') return;
  if (!Array.isArray(system)) throw wrongField('system', STRING_OR_LIST);
  for (let place = 0; place < system.length; place++) {
    const block = system[place];
    if (!isJsonObject(block)) throw wrongField(`system.${place}`, DICTIONARY);
    if (block['type'] === 'text') requireText(block['text'], `system.${place}.text`);
  }
}

/** Throws invalid_json, invalid_request (the message begins with the field's path), thread_unsupported_request. */
export function parseMessageRequest(bytes: Uint8Array, protocol: Protocol = 'messages'): MessageRequest {
  const text = decodeBytes(bytes);
  const members = scanJson(text); // first, because it bounds the depth for JSON.parse
  return checkRequest({ ...sized(text, bytes.byteLength), members, body: parseJson(text), protocol, native: null });
}

/** The length in UTF-8, without a byte order mark. A text with as many characters as bytes were received is ASCII. */
function sized(text: string, bytesReceived: number | null): Pick<MessageRequest, 'text' | 'bytes'> {
  return { text, bytes: text.length === bytesReceived ? bytesReceived : Buffer.byteLength(text) };
}

/** Like parseMessageRequest, yielding to the event loop between the steps of a long body. `change` makes the text that is read. */
export async function parseInTurns(
  received: ReceivedBody,
  change?: (text: string) => string | Promise<string>,
): Promise<MessageRequest> {
  const sent = await decodeBody(received);
  const changed = change?.(sent) ?? sent;
  const text = typeof changed === 'string' ? changed : await changed;
  const size = sized(text, text === sent ? sizeOf(received) : null);
  const isInTurns = isLong(size.bytes);
  if (isInTurns) await ownTurn();
  const members = scanJson(text);
  if (isInTurns) await ownTurn();
  const body = parseJson(text);
  if (isInTurns) await ownTurn();
  return checkRequest({ ...size, members, body, protocol: 'messages', native: null });
}

/**
 * The request of a message that was translated from a body of another protocol, with every digit of its numbers. Its JSON is
 * written, because holds and fingerprints count it, and scanned, because a translation may add values and levels. Yields and
 * throws like parseInTurns, but not invalid_json.
 */
export async function makeMessageRequest(
  message: JsonObject,
  protocol: Protocol,
  native: NativeBody | null,
): Promise<MessageRequest> {
  const text = JSON.stringify(message);
  await pauseAfter(text);
  const members = scanJson(text);
  await pauseAfter(text);
  const body = plainBody(message, text);
  await pauseAfter(text);
  return checkRequest({ ...sized(text, null), members, body, protocol, native });
}

/** The same request with another message. Rejects like makeMessageRequest. */
export async function remakeRequest(
  { protocol, named, units, unbounded, hasSound, spoken }: MessageRequest,
  message: JsonObject,
  native: NativeBody | null,
): Promise<MessageRequest> {
  return {
    ...(await makeMessageRequest(message, protocol, native)),
    ...(named !== undefined && { named }),
    ...(units !== undefined && { units }),
    ...(unbounded !== undefined && { unbounded }),
    ...(hasSound !== undefined && { hasSound }),
    ...(spoken !== undefined && { spoken }),
  };
}

interface Parsed extends Pick<MessageRequest, 'text' | 'bytes' | 'members' | 'protocol' | 'native'> {
  body: JsonValue;
}

function checkRequest({ text, bytes, members, body, protocol, native }: Parsed): MessageRequest {
  if (!isJsonObject(body)) throw wrongField('body', DICTIONARY);
  const model = checkModel(body['model']);
  checkMessages(body['messages']);
  const maxTokens = checkMaxTokens(body['max_tokens']);
  const stream = body['stream'] ?? false;
  if (typeof stream !== 'boolean') throw wrongField('stream', 'Input should be a valid boolean');
  checkOptionalFields(body, protocol);
  // The next turn of a thread would omit its history, which nothing here could count (docs/providers.md, "Message threads").
  // Clients repeat a request that is refused with this code without it.
  if ((body['thread'] ?? null) !== null)
    throw new TurnpikeError('thread_unsupported_request', 'thread is not supported by this endpoint');
  // A native body may have content that the message lacks.
  const most = native === null ? bytes : Math.max(bytes, Buffer.byteLength(native.text));
  return withoutAdvisors({ text, bytes: most, body, members, model, stream, maxTokens, protocol, native });
}

const ADVISOR = /^advisor_/;

/**
 * The request without advisor tools, unless it demands one, which is then refused as not offered: some versions of Claude Code send
 * one with every request, whatever the user chose (2.1.275, https://github.com/anthropics/claude-code/releases/tag/v2.1.276).
 */
function withoutAdvisors(request: MessageRequest): MessageRequest {
  const isAdvisor = ({ type }: JsonObject) => typeof type === 'string' && ADVISOR.test(type);
  const { tools, tool_choice: choice } = request.body;
  const advisors = jsonObjects(tools).filter(isAdvisor);
  if (advisors.length === 0 || advisors.some(({ name }) => name === objectOf(choice)['name'])) return request;
  const kept = jsonObjects(exactBody(request)['tools']).filter((tool) => !isAdvisor(tool));
  const changes = kept.length > 0 ? { tools: kept } : { tools: undefined, tool_choice: undefined };
  const text = rewriteRequest(request, changes);
  return { ...request, text, members: scanJson(text), body: parseJson(text) as JsonObject };
}

function checkModel(value: JsonValue | undefined): string {
  const model = requireText(value, 'model');
  if (model === '') throw wrongField('model', 'String should have at least 1 character');
  if (model.length > bounds.modelNameCharactersMax)
    throw wrongField('model', `String should have at most ${bounds.modelNameCharactersMax} characters`);
  return model;
}

function checkMaxTokens(maxTokens: JsonValue | undefined): number | null {
  if (maxTokens === undefined || maxTokens === null) return null;
  if (isWholeNumber(maxTokens)) return maxTokens; // larger values are clamped later
  if (typeof maxTokens !== 'number' || !Number.isInteger(maxTokens) || maxTokens === 0)
    throw wrongField('max_tokens', 'Input should be a valid integer');
  if (maxTokens < 0) throw wrongField('max_tokens', 'Input should be greater than or equal to 0');
  // Beyond it a JSON number may not be the one that was written.
  throw wrongField('max_tokens', `Input should be less than or equal to ${Number.MAX_SAFE_INTEGER}`);
}

/** The request's text with `changes`: a value replaces or adds a member, undefined removes it. Pure. */
export function rewriteRequest(
  request: Pick<MessageRequest, 'text' | 'members'>,
  changes: Record<string, JsonValue | undefined>,
): string {
  const { text, members } = request;
  const firstFrom = text.indexOf('{') + 1;
  let written = text.slice(0, firstFrom);
  let previousEnd = firstFrom; // in the text, of the previous member, kept or not
  let isFirst = true;
  for (const [name, span] of members) {
    const isChanged = Object.hasOwn(changes, name);
    const value = changes[name];
    if (!isChanged || value !== undefined) {
      // The first kept member leaves out the comma that separated it from a removed one.
      const comma = isFirst ? text.indexOf(',', previousEnd) : -1;
      written += text.slice(comma >= 0 && comma < span.from ? comma + 1 : previousEnd, span.start);
      written += isChanged ? JSON.stringify(value) : text.slice(span.start, span.end);
      isFirst = false;
    }
    previousEnd = span.end;
  }
  for (const name of Object.keys(changes)) {
    if (members.has(name) || changes[name] === undefined) continue;
    written += `${isFirst ? '' : ','}${JSON.stringify(name)}:${JSON.stringify(changes[name])}`;
    isFirst = false;
  }
  return written + text.slice(previousEnd);
}
