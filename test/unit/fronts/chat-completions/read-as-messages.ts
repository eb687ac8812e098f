// Shared by the tests of this translation: reads a request, or its refusal. It has no tests of its own.

import { TurnpikeError } from '../../../../src/errors.ts';
import { AnswerStream } from '../../../../src/fronts/answer-stream.ts';
import { chatCompletions } from '../../../../src/fronts/chat-completions/chat-completions.ts';
import { type ChatTerms, convertRequest } from '../../../../src/fronts/chat-completions/chat-request.ts';
import { ChunkWriter } from '../../../../src/fronts/chat-completions/chunk-writer.ts';
import type { JsonObject } from '../../../../src/wire/wire.ts';
import { translateBytes } from '../translate-bytes.ts';

export type Json = Record<string, unknown>;

export const user = (content: unknown = 'Good morning!') => ({ role: 'user', content });

/** The Messages request for a Chat Completions request; `members` replaces or adds fields. */
export function readAsMessages(members: Json): Json {
  return JSON.parse(textOf({ model: 'm', messages: [user()], ...members }));
}

/** The translated messages. */
export function messagesOf(messages: unknown[]): Json[] {
  return readAsMessages({ messages })['messages'] as Json[];
}

/** The text of the Messages request for a request given as a value or as text. */
export function textOf(request: Json | string): string {
  return readBytes(bytesOf(request));
}

/** The text of the Messages request for a body. Throws as `translateBody` rejects. */
export function readBytes(bytes: Uint8Array): string {
  return JSON.stringify(translateBytes(chatCompletions, bytes).message);
}

export function termsOf(members: Json): ChatTerms {
  return convertRequest({ model: 'm', messages: [user()], ...members } as JsonObject).terms;
}

export function bytesOf(request: Json | string): Uint8Array {
  return new TextEncoder().encode(typeof request === 'string' ? request : JSON.stringify(request));
}

/** A stream for these terms. */
export function streamWith(terms: ChatTerms, createdAtMs = 0): AnswerStream {
  return new AnswerStream({ origins: terms.origins, writer: () => new ChunkWriter(terms, createdAtMs) });
}

/** The code and message of a refusal. Throws if the request is accepted. */
export function refusalOf(members: Json): { code: string; message: string } {
  try {
    readAsMessages(members);
  } catch (thrown) {
    if (thrown instanceof TurnpikeError) return { code: thrown.code, message: thrown.message };
    throw thrown;
  }
  throw new Error('the request was not refused');
}
