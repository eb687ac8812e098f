// Translates messages to a conversation: one user message, tool results first, between two assistant messages.

import { createHash } from 'node:crypto';
import { bounds } from '../../config.ts';
import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  type JsonValue,
  type JsonWeight,
  jsonObjects,
  parseExactly,
  requireList,
  requireText,
  weighJson,
  wrongField,
} from '../../wire/wire.ts';
import type { Origins } from './convert-error.ts';
import { thinkingOf } from './convert-message.ts';
import type { Placed } from './convert-parts.ts';
import { convertContent, isExactObject, requireObject, textBlock, withCacheControl } from './convert-parts.ts';

const TAKEN = /^[a-zA-Z0-9_-]+$/;
const MADE_CHARACTERS = 24;
/** The id of all calls in `function_call` format, which has none. */
const FUNCTION_CALL_ID = 'function_call';

interface Calls {
  made: string[];
  answeredCount: number;
}

/** The ids of one conversation, requested in order. */
class CallIds {
  readonly #made = new Set<string>();
  readonly #lastOf = new Map<string, number>();
  /** By the client's id. */
  readonly #calls = new Map<string, Calls>();

  /** The id of the next call. A repeated id is replaced: some services count from the start in every turn. */
  ofCall(id: string): string {
    const made = this.#makeUnique(takenCallId(id));
    const calls = this.#calls.get(id);
    if (calls === undefined) this.#calls.set(id, { made: [made], answeredCount: 0 });
    else calls.made.push(made);
    return made;
  }

  ofResult(id: string): string {
    const calls = this.#calls.get(id);
    return calls?.made[calls.answeredCount++] ?? takenCallId(id);
  }

  isAwaited(id: string): boolean {
    const calls = this.#calls.get(id);
    return calls !== undefined && calls.answeredCount < calls.made.length;
  }

  #makeUnique(id: string): string {
    let made = id;
    let last = this.#lastOf.get(id) ?? 1;
    while (this.#made.has(made)) made = `${id}_${++last}`;
    this.#lastOf.set(id, last);
    this.#made.add(made);
    return made;
  }
}

function takenCallId(id: string): string {
  if (TAKEN.test(id)) return id;
  return `call_${createHash('sha256').update(id).digest('base64url').slice(0, MADE_CHARACTERS)}`;
}

/** Empty arguments are an empty object. Invalid JSON, as of a truncated answer, is kept as text, to go on with. */
function readArguments(given: JsonValue, path: string): JsonObject {
  if (isExactObject(given)) return given;
  const text = requireText(given, path).trim();
  if (text === '') return {};
  try {
    const input = isTooDeep(text, bounds.jsonDepthMax) ? text : parseExactly(text); // the parser recurses
    if (input === null) return {};
    return isExactObject(input) ? input : { arguments: text };
  } catch {
    return { arguments: text };
  }
}

/** Throws invalid_request if arguments and body together are more costly to parse than a body may be. */
export function weighArguments(messages: JsonValue | undefined, weight: JsonWeight): void {
  if (!Array.isArray(messages)) return;
  for (const [index, message] of messages.entries()) {
    if (!isJsonObject(message)) continue;
    const path = `messages.${index}`;
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
function convertAssistant(message: JsonObject, path: string, ids: CallIds): Placed[] {
  if ((message['audio'] ?? null) !== null)
    throw wrongField(`${path}.audio`, 'audio is not supported; send a transcript');
  const content = message['content'] ?? '';
  const { refusal } = message;
  return [
    ...thinkingOf(message, path),
    ...withCacheControl(convertContent(content, `${path}.content`, true), message),
    ...textBlock(typeof refusal === 'string' ? refusal : '', `${path}.refusal`),
    ...requireList(message['tool_calls'] ?? [], `${path}.tool_calls`).map((call, place) =>
      convertCall(call, `${path}.tool_calls.${place}`, ids),
    ),
    ...convertFunctionCall(message['function_call'] ?? null, `${path}.function_call`, ids),
  ];
}

/** A function call has no id: its result is the next message. */
function convertFunctionCall(value: JsonValue, path: string, ids: CallIds): Placed[] {
  if (value === null) return [];
  const id = ids.ofCall(FUNCTION_CALL_ID);
  return [{ block: { type: 'tool_use', id, ...readCalled(requireObject(value, path), path) }, path }];
}

function convertCall(value: JsonValue, path: string, ids: CallIds): Placed {
  const call = requireObject(value, path);
  if ((call['type'] ?? 'function') !== 'function') throw wrongField(`${path}.type`, "Input should be 'function'");
  const id = ids.ofCall(requireText(call['id'], `${path}.id`));
  const called = readCalled(requireObject(call['function'], `${path}.function`), `${path}.function`);
  return { block: { type: 'tool_use', id, ...called }, path };
}

function readCalled(called: JsonObject, path: string): JsonObject {
  const name = requireText(called['name'], `${path}.name`);
  return { name, input: readArguments(called['arguments'] ?? '', `${path}.arguments`) };
}

interface Conversation {
  system: Placed[];
  messages: JsonObject[];
  origins: Origins['messages'];
}

// Messages conversations begin with the user; Chat Completions need not.
const BEGINNING = '(The assistant begins.)';

/** Everything before the assistant's next message. */
interface Turn {
  path: string;
  /** There was a user or tool message, possibly empty. */
  isBegun: boolean;
  results: Placed[];
  said: Placed[];
  /** System messages in the middle of the conversation. */
  reminders: Placed[];
}

/** Throws invalid_request and feature_unavailable; the message begins with the field's path. */
export function convertConversation(value: JsonValue | undefined): Conversation {
  const conversation: Conversation = { system: [], messages: [], origins: [] };
  let turn: Turn | null = null;
  const ids = new CallIds();
  for (const [index, given] of requireList(value, 'messages').entries()) {
    const path = `messages.${index}`;
    const message = requireObject(given, path);
    const role = readRole(message, path);
    if (role === 'system' && turn === null && conversation.messages.length === 0) {
      conversation.system.push(...convertSystem(message, path));
      continue;
    }
    if (role !== 'assistant') {
      turn ??= { path, isBegun: false, results: [], said: [], reminders: [] };
      take(message, role, path, turn, ids);
      continue;
    }
    const blocks = convertAssistant(message, path, ids);
    if (blocks.length === 0) continue; // an empty message
    if (turn !== null) close(conversation, turn);
    else if (conversation.messages.length === 0) say(conversation, 'user', textBlock(BEGINNING, path), path);
    turn = null;
    say(conversation, 'assistant', blocks, path);
  }
  if (turn !== null) close(conversation, turn);
  return conversation.messages.length === 0 ? systemAsUser(conversation) : conversation;
}

const ROLES = ['system', 'user', 'assistant', 'tool', 'function'] as const;
type Role = (typeof ROLES)[number];

function readRole(message: JsonObject, path: string): Role {
  const given = requireText(message['role'], `${path}.role`);
  const role = given === 'developer' ? 'system' : ROLES.find((one) => one === given);
  if (role !== undefined) return role;
  throw wrongField(`${path}.role`, "Input should be 'system', 'developer', 'user', 'assistant' or 'tool'");
}

function take(message: JsonObject, role: Exclude<Role, 'assistant'>, path: string, turn: Turn, ids: CallIds): void {
  if (role === 'system') return void turn.reminders.push(...convertSystem(message, path));
  turn.isBegun = true;
  if (role === 'function' && !ids.isAwaited(FUNCTION_CALL_ID))
    throw wrongField(`${path}.role`, 'there is no `function_call` before it');
  if (role === 'function') turn.results.push(convertResult({ ...message, tool_call_id: FUNCTION_CALL_ID }, path, ids));
  else if (role === 'tool') turn.results.push(convertResult(message, path, ids));
  else turn.said.push(...withCacheControl(convertContent(message['content'], `${path}.content`, false), message));
}

function convertSystem(message: JsonObject, path: string): Placed[] {
  return withCacheControl(convertContent(message['content'], `${path}.content`, true), message);
}

/** A result has one cache breakpoint: the last one of its parts. */
function convertResult(message: JsonObject, path: string, ids: CallIds): Placed {
  const tool_use_id = ids.ofResult(requireText(message['tool_call_id'], `${path}.tool_call_id`));
  const shown = convertContent(message['content'] ?? '', `${path}.content`, false);
  const holder = [message, ...shown.map(({ block }) => block)].findLast((one) => 'cache_control' in one) ?? {};
  const blocks = shown.map(({ block: { cache_control: _, ...block } }) => block as JsonObject);
  const [only] = blocks;
  const content = blocks.length === 1 && only?.['type'] === 'text' ? (only['text'] ?? '') : blocks;
  const block = { type: 'tool_result', tool_use_id, ...(blocks.length > 0 && { content }) };
  return withCacheControl([{ block, path }], holder)[0] as Placed;
}

/** Mid-conversation system text follows the user's text; without any, it becomes the user's text. */
function close(conversation: Conversation, { path, isBegun, results, said, reminders }: Turn): void {
  const blocks = [...results, ...said];
  if (isBegun) say(conversation, 'user', blocks, path);
  if (reminders.length === 0) return;
  if (isBegun) say(conversation, 'system', reminders, reminders[0]?.path ?? path);
  else say(conversation, 'user', reminders.map(asReminder), path);
}

function say({ messages, origins }: Conversation, role: string, blocks: readonly Placed[], path: string): void {
  messages.push({ role, content: blocks.map(({ block }) => block) });
  origins.push({ path, blocks: blocks.map((placed) => placed.path) });
}

function asReminder({ block, path }: Placed): Placed {
  const text = `<system-reminder>\n${String(block['text'])}\n</system-reminder>`;
  return { block: { ...block, text }, path };
}

/** With system messages only, the last one becomes the user's message. */
function systemAsUser({ system, messages, origins }: Conversation): Conversation {
  const last = system.at(-1);
  if (last === undefined) return { system, messages, origins };
  const alone: Conversation = { system: system.slice(0, -1), messages, origins };
  say(alone, 'user', [last], last.path);
  return alone;
}
