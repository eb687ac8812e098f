// The answer to a request for a stream, whatever its form: as events, or, of a provider that does not stream, as a
// whole whose events come all at once.

import type { StreamEvent } from '../wire/wire.ts';
import { type EventSource, ProviderFault, type ProviderReply } from './provider.ts';
import { readUpstreamRequestId } from './read-answer.ts';
import { cancelBody } from './upstream.ts';

/** The two ways in which a provider's answer is read. */
export interface StreamReader {
  stream(body: ReadableStream<Uint8Array>): EventSource;
  /** The events of the answer that came whole. Throws ProviderFault. */
  whole(): Promise<StreamEvent[]>;
}

/** Throws ProviderFault for what is neither events nor JSON. */
export async function openStream(response: Response, reader: StreamReader): Promise<ProviderReply> {
  const upstreamRequestId = readUpstreamRequestId(response.headers);
  const contentType = response.headers.get('content-type') ?? 'text/event-stream';
  if (contentType.includes('json'))
    return { form: 'stream', events: giveOnce(await reader.whole()), upstreamRequestId };
  if (!contentType.includes('text/event-stream') || response.body === null) {
    await cancelBody(response);
    throw new ProviderFault('failed', 'the provider answered a stream with something else', { upstreamRequestId });
  }
  return { form: 'stream', events: reader.stream(response.body), upstreamRequestId };
}

function giveOnce(events: StreamEvent[]): EventSource {
  const batches = [events];
  return { next: async () => batches.shift() ?? null };
}
