// Recorded streams of the provider, and their conversion. It has no tests of its own.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnswerTerms } from '../../../../src/providers/openai-responses/convert-chunk.ts';
import { convertEvents } from '../../../../src/providers/openai-responses/openai-responses.ts';
import { ProviderFault } from '../../../../src/providers/providers.ts';
import { PulledStream } from '../../../../src/providers/pull-stream.ts';
import { EventStreamParser, type JsonObject, MessageFold, type StreamEvent } from '../../../../src/wire/wire.ts';

const FIXTURES = join(import.meta.dir, 'fixtures');

export const fixtureNames = readdirSync(FIXTURES).map((name) => name.replace('.txt', ''));

export const TERMS: AnswerTerms = {
  messageId: 'msg_ours',
  model: 'upstream-model',
  display: 'shown',
  home: 'home',
  toolNames: new Map(),
  upstreamRequestId: 'req_theirs',
};

export function readFixture(name: string): Buffer {
  return readFileSync(join(FIXTURES, `${name}.txt`));
}

/** The provider's own events of a fixture. */
export function chunksOf(name: string): JsonObject[] {
  return new EventStreamParser()
    .push(readFixture(name))
    .filter(({ text }) => text !== '[DONE]')
    .map(({ text }) => JSON.parse(text));
}

/** The response in the last event of a fixture: the provider's response without streaming. */
export function responseOf(name: string): JsonObject {
  return chunksOf(name).at(-1)?.['response'] as JsonObject;
}

export interface Converted {
  events: StreamEvent[];
  fault: ProviderFault | null;
}

/** The result of a stream that arrives in these pieces. */
export async function convertPieces(
  pieces: readonly Uint8Array[],
  changes: Partial<AnswerTerms> = {},
): Promise<Converted> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) if (piece.length > 0) controller.enqueue(piece);
      controller.close();
    },
  });
  const source = new PulledStream(body, new AbortController().signal, convertEvents({ ...TERMS, ...changes }));
  const events: StreamEvent[] = [];
  try {
    for (let batch = await source.next(); batch !== null; batch = await source.next()) events.push(...batch);
  } catch (thrown) {
    if (thrown instanceof ProviderFault) return { events, fault: thrown };
    throw thrown;
  }
  return { events, fault: null };
}

/** The events of a whole fixture, which must end without a fault. */
export async function eventsOf(name: string, changes: Partial<AnswerTerms> = {}): Promise<StreamEvent[]> {
  const { events, fault } = await convertPieces([readFixture(name)], changes);
  if (fault !== null) throw fault;
  return events;
}

export function fold(events: readonly StreamEvent[]): JsonObject {
  const message = new MessageFold();
  for (const event of events) message.add(event);
  return message.message();
}

/** The message of a whole fixture. */
export async function messageOf(name: string, changes: Partial<AnswerTerms> = {}): Promise<JsonObject> {
  return fold(await eventsOf(name, changes));
}
