// What a conversation of the clients' tests is: what a client asks for, what the provider behind the service answers,
// and what must have come of it on both sides and in the books. No tests of its own.

import { expect } from 'bun:test';
import type { RecordedRequest, Script, ScriptedUpstream } from '../../support/scripted-upstream.ts';

export type Json = Record<string, unknown>;

/** What a client understood, in the same words for all of them. A client leaves out what it does not show. */
export interface Got {
  text?: string;
  stopReason?: string;
  usage?: { input: number; cacheRead?: number; cacheWrite?: number; output: number };
  object?: unknown;
  inputTokens?: number;
  models?: string[];
  /** The failure that was thrown, by its class. */
  fault?: string;
  refusals?: { fault: string; status: number; code: string }[];
}

/** What the provider was sent of one conversation: the answer to it is named by the model. */
export interface Sent extends RecordedRequest {
  json: Json;
}

/** One conversation after it was held. */
export interface Held {
  got: Got;
  sent: Sent[];
  /** Usage records, oldest first. */
  records: Json[];
  upstream: ScriptedUpstream;
  /** How many requests the service refused with this code before it admitted anything. */
  refusedCount(code: string): Promise<number>;
}

export interface Conversation {
  name: string;
  /** What is asked for, in the words of the Messages API, but for the model. A client with words of its own says the same. */
  body: Json;
  isStreamed?: boolean;
  /** What tools answer, by the name of the tool: the members of a tool_result. */
  results?: Record<string, Json>;
  /** What the user says when the model has ended its turn. */
  next?: string[];
  /** What the provider answers to one request after another; the last to all that follow. */
  upstream: [Script, ...Script[]];
  check(held: Held): void | Promise<void>;
}

/** A model's name that clients take for one that they know: some ask otherwise of models that they do not. */
export const modelOf = (name: string) => `claude-sonnet-4-5-${name}`;
export const price = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };

/** One point, as base64: a small PNG. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
export const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };

export const user = (content: unknown) => ({ role: 'user', content });

/** The record of a conversation's only or last request, with what it must say. */
export function expectRecord(records: readonly Json[], count: number, members: Json): void {
  expect(records).toHaveLength(count);
  expect(records.at(-1)).toMatchObject(members);
}

/** What every answer costs that a test does not count otherwise: 20 tokens read, 100 of a cache, 30 written. */
export const USUAL = {
  outcome: 'completed',
  usage_source: 'reported',
  input_tokens: 20,
  cache_read_input_tokens: 100,
  output_tokens: 30,
  cost: '0.00054',
};
export const USUAL_USAGE = { input: 20, cacheRead: 100, output: 30 };

/** Every block of this type that was sent, in any message and in results of tools. */
export function blocksOf(sent: Sent | undefined, type: string): Json[] {
  const found: Json[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (typeof value === 'object' && value !== null) {
      if ((value as Json)['type'] === type) found.push(value as Json);
      Object.values(value).forEach(walk);
    }
  };
  walk(sent?.json['messages']);
  return found;
}

/** All text of the user's messages that was sent. */
export function saidTo(sent: Sent | undefined): string {
  const messages = (sent?.json['messages'] ?? []) as Json[];
  return messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : (content as Json[]).map(({ text }) => text ?? ''),
    )
    .join('');
}
