// A provider's own events, relayed one by one: only one is in memory, and the last one is a chunk of its own.

import {
  EventStreamParser,
  EventTooLong,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type ServerSentEvent,
} from '../wire/wire.ts';
import { parseObject, readUpstreamRequestId } from './parse-json.ts';
import { ProviderFault } from './provider.ts';
import { upstreamFault } from './upstream.ts';

export const EVENT_STREAM = 'text/event-stream';

export interface OwnEvent {
  value: JsonObject;
  /** As a chunk for the client. */
  bytes: Uint8Array;
}

export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.includes(EVENT_STREAM) === true;
}

/** The chunks of a body; rejects with ProviderFault. Ended early, the body is cancelled. */
export async function* readBytes({ body }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const reader = body?.getReader();
  if (reader === undefined) return;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } catch (thrown) {
    throw upstreamFault(thrown, signal);
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}

/** The events of a stream up to the one for which `isLast`, or its [DONE]. Rejects with ProviderFault, also without either. */
export async function* readOwnEvents(
  response: Response,
  signal: AbortSignal,
  isLast: (event: JsonObject) => boolean,
): AsyncGenerator<OwnEvent, void> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const parser = new EventStreamParser();
  for await (const bytes of readBytes(response, signal)) {
    for (const event of parse(parser, bytes)) {
      if (event.text.trim() === '[DONE]') return;
      const value = parseObject(event.text, { what: 'an event', upstreamRequestId });
      refuseError(value, event.name, upstreamRequestId);
      yield { value, bytes: encodeOwn(event.name, event.text) };
      if (isLast(value)) return;
    }
  }
  throw new ProviderFault('failed', 'the stream ended early', { upstreamRequestId });
}

/** Reads the first one, so that its failure comes before the answer begins. Rejects with ProviderFault. */
export async function begin<One>(source: AsyncGenerator<One, void>): Promise<AsyncGenerator<One, void>> {
  const first = await source.next();
  if (first.done === true) throw new ProviderFault('failed', 'the answer of the provider is empty');
  return prepend(first.value, source);
}

async function* prepend<One>(first: One, rest: AsyncGenerator<One, void>): AsyncGenerator<One, void> {
  yield first;
  yield* rest;
}

export function encodeOwn(name: string, json: string): Uint8Array {
  return Buffer.from(`${name === 'message' ? '' : `event: ${name}\n`}data: ${json}\n\n`);
}

function parse(parser: EventStreamParser, bytes: Uint8Array): ServerSentEvent[] {
  try {
    return parser.push(bytes);
  } catch (thrown) {
    if (!(thrown instanceof EventTooLong)) throw thrown;
    throw new ProviderFault('failed', 'an event of the provider is too long', { cause: thrown });
  }
}

function refuseError({ type, error }: JsonObject, name: string, upstreamRequestId: string | null): void {
  const isError = (one: JsonValue | undefined) => one === 'error';
  if (isError(name) || isError(type) || isJsonObject(error))
    throw new ProviderFault('failed', 'the provider ended the stream with an error', { upstreamRequestId });
}
