// The edge at which an answer becomes text: in the client's protocol, no faster than the client reads.

import { AnswerStream, type AnswerTranslator } from '../fronts/fronts.ts';
import type { Reply } from '../gateway/gateway.ts';
import { encodePiece, exactBody, type StreamPiece } from '../wire/wire.ts';

/** A reply whose body is text: JSON, or that of an event stream as it arrives, perhaps as bytes of UTF-8. */
export interface EncodedReply extends Omit<Reply, 'body'> {
  body: string | AsyncIterable<string | Uint8Array>;
}

/** `answer` is null for clients of Messages. */
export function encodeReply(reply: Reply, answer: AnswerTranslator | null): EncodedReply {
  const { body } = reply;
  if (typeof body === 'string') return { ...reply, body };
  if ('text' in body) {
    const { text, message } = body;
    if (answer?.contentType !== undefined)
      return { ...reply, headers: { ...reply.headers, 'content-type': answer.contentType }, body: text };
    if (answer === null || message === null) return { ...reply, body: text };
    return { ...reply, body: answer.message(exactBody({ text, body: message })) };
  }
  if ('contentType' in body) return { ...reply, headers: { ...reply.headers, 'content-type': body.contentType }, body };
  if (answer === null) return { ...reply, body: new EncodedStream(body, MESSAGES) };
  const headers = { ...reply.headers, ...answer.streamHeaders };
  return { ...reply, headers, body: new EncodedStream(body, new AnswerStream(answer)) };
}

interface StreamEncoder {
  /** Empty: the client gets nothing for these events. */
  take(piece: StreamPiece): string | Uint8Array;
  /** The text after the last event. */
  last(): string;
}

const MESSAGES: StreamEncoder = { take: encodePiece, last: () => '' };

type Encoded = IteratorResult<string | Uint8Array>;

/** The text of a stream. A class with one promise for each piece, because every event passes it. Propagates cancellation. */
export class EncodedStream implements AsyncIterableIterator<string | Uint8Array> {
  readonly #source: AsyncIterator<StreamPiece>;
  readonly #encoder: StreamEncoder;
  #isDone = false;

  constructor(events: AsyncIterable<StreamPiece>, encoder: StreamEncoder) {
    this.#source = events[Symbol.asyncIterator]();
    this.#encoder = encoder;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<Encoded> {
    return new Promise((resolve, reject) => this.#read(resolve, reject));
  }

  async return(): Promise<Encoded> {
    this.#isDone = true;
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  /** Reads on until there is a text. */
  #read(resolve: (encoded: Encoded) => void, reject: (thrown: unknown) => void): void {
    if (this.#isDone) {
      resolve({ done: true, value: undefined });
      return;
    }
    this.#source.next().then(
      (piece) => {
        try {
          const text = this.#encode(piece);
          if (text.length > 0) resolve({ done: false, value: text });
          else this.#read(resolve, reject);
        } catch (thrown) {
          this.return().catch(() => undefined); // the runtime closes the socket, but not its source
          reject(thrown);
        }
      },
      (thrown) => {
        this.#isDone = true;
        reject(thrown);
      },
    );
  }

  #encode({ done, value }: IteratorResult<StreamPiece>): string | Uint8Array {
    if (done !== true) return this.#encoder.take(value);
    this.#isDone = true;
    return this.#encoder.last();
  }
}
