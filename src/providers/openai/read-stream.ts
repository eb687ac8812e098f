// The stream of a Chat Completions answer: each event's data is one chunk, and [DONE] is the end. What a chunk
// means is in convert-chunk.ts.

import type { ServerSentEvent, StreamEvent } from '../../wire/wire.ts';
import { parseWithArguments } from '../call-arguments.ts';
import { parseObject } from '../parse-json.ts';
import type { Attempt, EventSource } from '../provider.ts';
import { type EventConverter, pullStream } from '../pull-stream.ts';
import { ChunkConverter } from './convert-chunk.ts';
import { mapChatError } from './map-error.ts';
import type { Profile } from './profile.ts';

const DONE = '[DONE]';

/** Reads a body as the answer to this attempt. */
export function readStream(
  body: ReadableStream<Uint8Array>,
  attempt: Attempt,
  profile: Profile,
  upstreamRequestId: string | null,
): EventSource {
  return pullStream(body, attempt.signal, new ChatEvents(attempt, profile, upstreamRequestId));
}

class ChatEvents implements EventConverter {
  readonly #chunks: ChunkConverter;
  readonly #upstreamRequestId: string | null;
  #isDone = false;

  constructor(attempt: Attempt, profile: Profile, upstreamRequestId: string | null) {
    this.#chunks = new ChunkConverter(attempt, profile, upstreamRequestId);
    this.#upstreamRequestId = upstreamRequestId;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  take({ name, text }: ServerSentEvent): StreamEvent[] {
    if (text.trim() === DONE) return this.end();
    const chunk = parseObject(
      text,
      { what: 'an event', upstreamRequestId: this.#upstreamRequestId },
      parseWithArguments,
    );
    if (name === 'error') throw mapChatError(chunk, this.#upstreamRequestId);
    return this.#chunks.take(chunk);
  }

  /** Some servers close the stream without [DONE]: the message is whole when its last choice said so. */
  end(): StreamEvent[] {
    const events = this.#chunks.finish();
    this.#isDone = true;
    return events;
  }
}
