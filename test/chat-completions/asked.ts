// What tests of this translation share: a request read, and the refusal of one. No tests of its own.

import { type ChatTerms, readChatRequest } from '../../src/chat-completions/chat-completions.ts';
import { TurnpikeError } from '../../src/errors.ts';

export type Json = Record<string, unknown>;

export const user = (content: unknown = 'Good morning!') => ({ role: 'user', content });

/** The Messages request that a Chat Completions request becomes. Members that are given replace or add. */
export function readAsMessages(members: Json): Json {
  return JSON.parse(textOf({ model: 'm', messages: [user()], ...members }));
}

/** The messages that these become. */
export function messagesOf(messages: unknown[]): Json[] {
  return readAsMessages({ messages })['messages'] as Json[];
}

/** The text of the Messages request that a request becomes, which is given as its value or as its own text. */
export function textOf(request: Json | string): string {
  return new TextDecoder().decode(readChatRequest(bytesOf(request)).bytes);
}

export function termsOf(members: Json): ChatTerms {
  return readChatRequest(bytesOf({ model: 'm', messages: [user()], ...members })).terms;
}

export function bytesOf(request: Json | string): Uint8Array {
  return new TextEncoder().encode(typeof request === 'string' ? request : JSON.stringify(request));
}

/** The refusal of a request, its code and message. Throws when it is not refused. */
export function refusalOf(members: Json): { code: string; message: string } {
  try {
    readAsMessages(members);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  throw new Error('the request was not refused');
}
