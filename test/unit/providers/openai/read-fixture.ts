// Bodies of the recorded streams, and their conversion. It has no tests of its own.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { convertEvents } from '../../../../src/providers/openai/openai.ts';
import { chooseProfile } from '../../../../src/providers/openai/profile.ts';
import type { Attempt, EventSource } from '../../../../src/providers/providers.ts';
import { PulledStream } from '../../../../src/providers/pull-stream.ts';
import { type JsonObject, MessageFold, type StreamEvent } from '../../../../src/wire/wire.ts';
import { makeAttempt } from '../make-attempt.ts';

/** Addresses by which each family is recognized. */
export const addresses = {
  openai: 'https://api.openai.com/v1',
  azure: 'https://mine.openai.azure.com',
  openrouter: 'https://openrouter.ai/api/v1',
  deepseek: 'https://api.deepseek.com',
  mistral: 'https://api.mistral.ai/v1',
  groq: 'https://api.groq.com/openai/v1',
  xai: 'https://api.x.ai/v1',
  moonshot: 'https://api.moonshot.ai/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  ollama: 'http://127.0.0.1:11434/v1',
  compatible: 'http://127.0.0.1:8000/v1',
} as const;

export type Family = keyof typeof addresses;

/** An attempt of a request at a provider of this family. */
export function attemptAt(family: Family, members: object = {}, changes: Partial<Attempt> = {}): Attempt {
  const body = { model: 'gpt-4.1', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...members };
  return makeAttempt(addresses[family], body, changes);
}

/** The bytes of a fixture. */
export function fixture(name: string): Uint8Array {
  return readFileSync(join(import.meta.dir, 'fixtures', `${name}.txt`));
}

/** The events of a stream of these chunks. */
export function openBody(chunks: Iterable<Uint8Array>, attempt: Attempt): EventSource {
  const pieces = chunks[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const { done, value } = pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
  });
  const profile = chooseProfile(attempt.provider.baseUrl, attempt.upstreamModel);
  return new PulledStream(body, attempt.signal, convertEvents(attempt, profile, 'req-1'));
}

/** A whole fixture, as a provider of the family would have sent it. */
export function openFixture(name: string, family: Family = 'openai', members: object = {}): EventSource {
  return openBody([fixture(name)], attemptAt(family, { stream: true, ...members }));
}

/** The message of these events; throws unless they are a whole stream in the right order. */
export function fold(events: readonly StreamEvent[]): JsonObject {
  const message = new MessageFold();
  for (const event of events) message.add(event);
  return message.message();
}
