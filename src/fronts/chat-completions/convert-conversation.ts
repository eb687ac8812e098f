// Translates the messages of a request to a conversation: one user message, tool results first, between two assistant
// messages.

import { type Placed, requireObject } from '../../protocols/placed.ts';
import { type JsonObject, requireList } from '../../wire/wire.ts';
import { CallIds } from '../call-ids.ts';
import { addMessage, type Calls } from '../chat-messages.ts';
import { type Conversation, ConversationBuilder } from '../conversation-builder.ts';
import { convertContent } from '../convert-parts.ts';
import type { CustomTools } from './convert-tools.ts';

/**
 * `listName` is the member with the messages. Throws invalid_request and feature_unavailable; the message begins with the
 * field's path.
 */
export function convertConversation(body: JsonObject, listName: string, customTools: CustomTools): Conversation {
  const builder = new ConversationBuilder();
  const calls: Calls = { ids: new CallIds(), nameOf: (name) => name, isCustom: (name) => customTools.has(name) };
  for (const name of SYSTEM_FIELDS) builder.addSystem(readSystem(body, name), name);
  for (const [index, given] of requireList(body[listName], listName).entries()) {
    const path = `${listName}.${index}`;
    addMessage(builder, requireObject(given, path), path, calls);
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
