// A conversation of the client tests: the client's requests, the provider's responses, and the expected result on
// both sides and in the books.

import { expect } from 'bun:test';
import type { RecordedRequest, Script, ScriptedUpstream } from '../../../support/scripted-upstream.ts';

export type Json = Record<string, unknown>;

/**
 * The result as the client sees it, in one format for all clients. Fields that a client does not expose are absent.
 */
export interface Got {
  text?: string;
  stopReason?: string;
  usage?: { input: number; cacheRead?: number; cacheWrite?: number; output: number };
  object?: unknown;
  inputTokens?: number;
  models?: string[];
  vectors?: number[][];
  /** A file that was uploaded, named in a message and deleted: what the client read of it, and the status after its deletion. */
  file?: { content: string; bytes: number; isListed: boolean; statusOfDeleted: number };
  /** Places of documents with their scores. */
  ranking?: [place: number, score: number][];
  /** Images or sound, in base64. */
  files?: string[];
  /** Class of the error that was thrown. */
  fault?: string;
  refusals?: { fault: string; status: number; code: string }[];
}

/** Requests to the provider in one conversation, which the model name identifies. */
export interface Sent extends RecordedRequest {
  json: Json;
}

/** One conversation after it ended. */
export interface Held {
  got: Got;
  sent: Sent[];
  /** Usage records, oldest first. */
  records: Json[];
  upstream: ScriptedUpstream;
  /** Number of requests refused with this code before admission. */
  refusedCount(code: string): Promise<number>;
}

export interface Conversation {
  name: string;
  /** Request in the format of the Messages API, without the model. Clients of other APIs send an equivalent one. */
  body: Json;
  isStreamed?: boolean;
  /** Results of tools, by tool name: the members of a tool_result. */
  results?: Record<string, Json>;
  /** Next user message after the model ended its turn. */
  next?: string[];
  /** Clients that hold it; absent: all but those that say otherwise. */
  only?: readonly string[];
  /** Members of the provider and the model where they differ from the others'. */
  provider?: Json;
  model?: Json;
  /** Responses of the provider, one per request; the last one repeats. */
  upstream: [Script, ...Script[]];
  check(held: Held): void | Promise<void>;
}

/** A model name that clients know: some send other requests for unknown models. */
export const modelOf = (name: string) => `claude-sonnet-4-5-${name}`;
export const price = { input: '3', output: '15', cache_read: '0.3', cache_write_5m: '3.75', cache_write_1h: '6' };

/** One pixel, as base64: a small PNG. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
export const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } };

export const user = (content: unknown) => ({ role: 'user', content });

/** Checks the record of a conversation's only or last request. */
export function expectRecord(records: readonly Json[], count: number, members: Json): void {
  expect(records).toHaveLength(count);
  expect(records.at(-1)).toMatchObject(members);
}

/** Default cost of a response: 20 input tokens, 100 cached ones, 30 output tokens. */
export const USUAL = {
  outcome: 'completed',
  usage_source: 'reported',
  input_tokens: 20,
  cache_read_input_tokens: 100,
  output_tokens: 30,
  cost: '0.00054',
};
export const USUAL_USAGE = { input: 20, cacheRead: 100, output: 30 };

/** All blocks of this type in messages and tool results. */
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

/** All text of user messages. */
export function saidTo(sent: Sent | undefined): string {
  const messages = (sent?.json['messages'] ?? []) as Json[];
  return messages
    .filter(({ role }) => role === 'user')
    .flatMap(({ content }) =>
      typeof content === 'string' ? [content] : (content as Json[]).map(({ text }) => text ?? ''),
    )
    .join('');
}
