// Attempts at Gemini, and the requests that they send. It has no tests of its own.

import { convertBody } from '../../../../src/providers/gemini/convert-request.ts';
import { type Attempt, ProviderFault } from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { JsonObject, JsonValue } from '../../../../src/wire/wire.ts';
import { makeAttempt } from '../make-attempt.ts';

export const GEMINI_KEY = 'AIzaOurKeyAtGemini0123456789';

/** An attempt with this body; a model and max_tokens are added if missing. */
export function geminiAttempt(
  body: object | string,
  changes: Partial<Attempt> = {},
  baseUrl = 'https://gemini.example.com',
): Attempt {
  const whole = typeof body === 'string' ? body : { model: 'gemini-2.5-flash', max_tokens: 100, ...body };
  return makeAttempt(baseUrl, whole, {
    provider: { name: 'g', kind: 'gemini', baseUrl, credential: new Secret(GEMINI_KEY) },
    ...changes,
  });
}

/** The body that Gemini gets. */
export function sentBody(body: object | string, changes: Partial<Attempt> = {}): JsonObject {
  return JSON.parse(convertBody(geminiAttempt(body, changes)));
}

/** `contents` of a conversation. */
export function sentContents(messages: JsonValue[], more: object = {}): JsonValue | undefined {
  return sentBody({ messages, ...more })['contents'];
}

/** The error message for a refused body. */
export function refusalOf(body: object): string {
  try {
    sentBody(body);
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
    const { kind, status, errorType, message } = thrown;
    if (kind === 'rejected' && status === 400 && errorType === 'invalid_request_error') return message;
    throw new Error(`unexpected fault: ${kind} ${status} ${errorType}`);
  }
  throw new Error('the request was not refused');
}

/** A message of the user. */
export const userMessage = (content: JsonValue = 'Hi'): JsonObject => ({ role: 'user', content });
export const answered = (content: JsonValue): JsonObject => ({ role: 'assistant', content });
export const callOf = (id: string, name = 'look', input: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name,
  input,
});
export const resultOf = (id: string, content: JsonValue = 'seen', more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
  ...more,
});
