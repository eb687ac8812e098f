// The provider's event stream: each event's data is one JSON object that names itself. What they mean is in
// convert-chunk.ts.

import type { ServerSentEvent, StreamEvent } from '../../wire/wire.ts';
import { parseWithArguments } from '../call-arguments.ts';
import { parseObject } from '../parse-json.ts';
import { type EventSource, ProviderFault } from '../provider.ts';
import { type EventConverter, pullStream } from '../pull-stream.ts';
import { type AnswerTerms, ChunkConverter } from './convert-chunk.ts';

/** Reads a body as the answer; `signal` is the one its fetch was given. */
export function readStream(body: ReadableStream<Uint8Array>, signal: AbortSignal, terms: AnswerTerms): EventSource {
  return pullStream(body, signal, new ResponseEvents(terms));
}

class ResponseEvents implements EventConverter {
  readonly #chunks: ChunkConverter;
  readonly #upstreamRequestId: string | null;

  constructor(terms: AnswerTerms) {
    this.#chunks = new ChunkConverter(terms);
    this.#upstreamRequestId = terms.upstreamRequestId;
  }

  get isDone(): boolean {
    return this.#chunks.isFinished;
  }

  take({ text }: ServerSentEvent): StreamEvent[] {
    return text === '[DONE]'
      ? []
      : this.#chunks.add(
          parseObject(text, { what: 'an event', upstreamRequestId: this.#upstreamRequestId }, parseWithArguments),
        ); // some servers have that from another protocol
  }

  end(): StreamEvent[] {
    throw new ProviderFault('failed', 'the stream ended before the message did', {
      upstreamRequestId: this.#upstreamRequestId,
    });
  }
}
