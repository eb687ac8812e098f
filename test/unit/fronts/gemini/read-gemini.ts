// Reads requests of Gemini as messages. It has no tests of its own.

import { TurnpikeError } from '../../../../src/errors.ts';
import type { Operation } from '../../../../src/fronts/front.ts';
import { gemini } from '../../../../src/fronts/gemini/gemini.ts';
import { translateBytes } from '../translate-bytes.ts';

export type Json = Record<string, unknown>;

const MESSAGE: Operation = { asks: 'message', model: 'm', stream: false };

export const says = (text: string): Json => ({ role: 'user', parts: [{ text }] });
export const call = (name: string, more: Json = {}, beside: Json = {}): Json => ({
  functionCall: { name, args: {}, ...more },
  ...beside,
});
export const result = (name: string, response: unknown, more: Json = {}): Json => ({
  functionResponse: { name, response, ...more },
});

function translateText(text: string) {
  return translateBytes(gemini, new TextEncoder().encode(text), { operation: MESSAGE, query: 'alt=sse' });
}

export function translate(body: Json) {
  return translateText(JSON.stringify({ contents: [says('Hi')], ...body }));
}

export function messageOf(body: Json): Json {
  return translate(body).message;
}

/** The messages of these contents, after the first one of the user. */
export function turnsOf(...contents: Json[]): Json[] {
  return (messageOf({ contents: [says('Hi'), ...contents] })['messages'] as Json[]).slice(1);
}

/** "code: message" of a refused request. */
export function refusalOf(body: Json): string {
  try {
    translate(body);
  } catch (thrown) {
    if (!(thrown instanceof TurnpikeError)) throw thrown;
    return `${thrown.code}: ${thrown.message}`;
  }
  throw new Error('it was accepted');
}
