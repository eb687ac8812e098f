// The messages of a Chat Completions request as a Messages conversation. What stands between two answers of the
// assistant is one message of the user, the results of tools first in it.

import { type JsonObject, type JsonValue, wrongField } from '../wire/wire.ts';
import { CallIds, FUNCTION_CALL_ID } from './call-ids.ts';
import { convertAssistant } from './convert-assistant.ts';
import { convertContent, type Placed, requireObject, requireText, withCacheControl } from './convert-parts.ts';
import type { Origins } from './origins.ts';

export interface Conversation {
  system: Placed[];
  messages: JsonObject[];
  origins: Origins['messages'];
}

// A conversation begins with the user there, and here it need not.
const BEGINNING = '(The assistant begins.)';

/** What is said to the assistant before its next answer. */
interface Turn {
  path: string;
  /** A message of the user or of a tool was there, if only an empty one. */
  isBegun: boolean;
  results: Placed[];
  said: Placed[];
  /** What the system says in the middle of the conversation. */
  reminders: Placed[];
}

/** Throws invalid_request and feature_unavailable, the message beginning with the path of the field. */
export function convertConversation(value: JsonValue | undefined): Conversation {
  if (value === undefined) throw wrongField('messages', 'Field required');
  if (!Array.isArray(value)) throw wrongField('messages', 'Input should be a valid list');
  const conversation: Conversation = { system: [], messages: [], origins: [] };
  let turn: Turn | null = null;
  const ids = new CallIds();
  for (const [index, given] of value.entries()) {
    const path = `messages.${index}`;
    const message = requireObject(given, path);
    const role = readRole(message, path);
    if (role === 'system' && turn === null && conversation.messages.length === 0) {
      conversation.system.push(...convertSystem(message, path));
      continue;
    }
    if (role !== 'assistant') {
      turn ??= openTurn(path);
      take(role === 'function' ? asTool(message, path, ids) : message, role, path, turn, ids);
      continue;
    }
    const blocks = convertAssistant(message, path, ids);
    if (blocks.length === 0) continue; // it said nothing
    if (turn !== null) close(conversation, turn);
    else if (conversation.messages.length === 0) say(conversation, 'user', [reminder(BEGINNING, path)], path);
    turn = null;
    say(conversation, 'assistant', blocks, path);
  }
  if (turn !== null) close(conversation, turn);
  return conversation.messages.length === 0 ? ofSystemAlone(conversation) : conversation;
}

type Role = 'system' | 'user' | 'assistant' | 'tool' | 'function';

function readRole(message: JsonObject, path: string): Role {
  const role = requireText(message['role'], `${path}.role`);
  switch (role) {
    case 'developer':
      return 'system';
    case 'system':
    case 'user':
    case 'assistant':
    case 'tool':
    case 'function':
      return role;
    default:
      throw wrongField(`${path}.role`, "Input should be 'system', 'developer', 'user', 'assistant' or 'tool'");
  }
}

function openTurn(path: string): Turn {
  return { path, isBegun: false, results: [], said: [], reminders: [] };
}

/** The result of a function as that of a tool. */
function asTool(message: JsonObject, path: string, ids: CallIds): JsonObject {
  if (!ids.isAwaited(FUNCTION_CALL_ID)) throw wrongField(`${path}.role`, 'there is no `function_call` before it');
  return { ...message, tool_call_id: FUNCTION_CALL_ID };
}

function take(message: JsonObject, role: Exclude<Role, 'assistant'>, path: string, turn: Turn, ids: CallIds): void {
  if (role === 'system') {
    turn.reminders.push(...convertSystem(message, path));
    return;
  }
  turn.isBegun = true;
  if (role === 'tool' || role === 'function') turn.results.push(convertResult(message, path, ids));
  else turn.said.push(...withCacheControl(convertContent(message['content'], `${path}.content`, false), message));
}

function convertSystem(message: JsonObject, path: string): Placed[] {
  return withCacheControl(convertContent(message['content'], `${path}.content`, true), message);
}

/** A cache breakpoint within a result is none: one of its parts stands for one behind it. */
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

/** What the system says behind what it says it to; where nothing else is said, it is the user's to say. */
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

function reminder(text: string, path: string): Placed {
  return { block: { type: 'text', text }, path };
}

function asReminder({ block, path }: Placed): Placed {
  const text = `<system-reminder>\n${String(block['text'])}\n</system-reminder>`;
  return { block: { ...block, text }, path };
}

/** Without anyone else what the system says last is what is asked. */
function ofSystemAlone({ system, messages, origins }: Conversation): Conversation {
  const last = system.at(-1);
  if (last === undefined) return { system, messages, origins };
  const alone: Conversation = { system: system.slice(0, -1), messages, origins };
  say(alone, 'user', [last], last.path);
  return alone;
}
