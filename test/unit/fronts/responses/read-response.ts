// Shared by the tests of this translation: reads a request, its refusal, and the events of an answer. It has no tests.

import { TurnpikeError } from '../../../../src/errors.ts';
import type { Translated } from '../../../../src/fronts/front.ts';
import { responses } from '../../../../src/fronts/responses/responses.ts';
import { translateBytes } from '../translate-bytes.ts';

export type Json = Record<string, unknown>;

export function translate(request: Json | string): Translated {
  const text = typeof request === 'string' ? request : JSON.stringify(request);
  return translateBytes(responses, new TextEncoder().encode(text));
}

/** The Messages request; `members` replaces or adds fields. */
export function readAsMessages(members: Json): Json {
  return JSON.parse(JSON.stringify(translate({ model: 'm', input: 'Good morning!', ...members }).message));
}

/** The translated messages. */
export function messagesOf(input: unknown[], members: Json = {}): Json[] {
  return readAsMessages({ ...members, input })['messages'] as Json[];
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

/** The events of a stream, without comments. Throws unless names and numbers are right. */
export function eventsOf(text: string): (Json & { type: string })[] {
  const events = text.split('\n\n').filter((event) => event.startsWith('event: '));
  return events.map((event, place) => {
    const [name = '', line = ''] = event.split('\n');
    const value = JSON.parse(line.replace('data: ', ''));
    if (`event: ${value.type}` !== name || value.sequence_number !== place) throw new Error(`a wrong event: ${event}`);
    return value;
  });
}

/** The response at the end of a stream. */
export function lastResponse(text: string): Json {
  return eventsOf(text).at(-1)?.['response'] as Json;
}
