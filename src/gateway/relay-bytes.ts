// Relays an answer that is not of the Messages protocol as it arrives, such as sound: the provider's bytes, no faster than the client
// reads. Its last chunk is sent only when the message is billed.

import { hiddenFromAccounts } from '../catalog/catalog.ts';
import { asTurnpikeError } from '../errors.ts';
import type { ByteReply } from '../providers/providers.ts';
import { endedElsewhere, faultError } from './message-errors.ts';
import type { OpenAttempt } from './open-attempt.ts';
import type { OpenMessage } from './open-message.ts';

export class ByteRelay implements AsyncIterableIterator<Uint8Array> {
  readonly contentType: string;
  readonly #message: OpenMessage;
  readonly #attempt: OpenAttempt;
  readonly #reply: ByteReply;
  /** Kept back until the next one arrives, or the end. */
  #kept: Uint8Array | null = null;
  #isDone = false;
  /** One read at a time. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(message: OpenMessage, attempt: OpenAttempt, reply: ByteReply) {
    this.contentType = reply.contentType;
    this.#message = message;
    this.#attempt = attempt;
    this.#reply = reply;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Rejects, which breaks the connection, if the provider fails, the key is revoked, or the message cannot be billed. */
  async next(): Promise<IteratorResult<Uint8Array>> {
    this.#message.watch.resume();
    const result = await this.#nextInTurn();
    if (!this.#message.isCutOff) {
      this.#message.watch.pause();
      return result;
    }
    void this.drain();
    throw this.#message.stopError;
  }

  #nextInTurn(): Promise<IteratorResult<Uint8Array>> {
    const reading = this.#reading.then(() => this.#next());
    this.#reading = reading.catch(() => {});
    return reading;
  }

  /** The client disconnected: the rest is read all the same, because its end says what it costs. */
  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#message.watch.resume();
    this.#message.leave();
    void this.drain();
    return { done: true, value: undefined };
  }

  /** A client that disconnects before the first read leaves nobody who would end the message. */
  leaveWith(signal: AbortSignal): void {
    const leave = () => void this.return();
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
  }

  /** Reads to the end, without a client. Never rejects. */
  async drain(): Promise<void> {
    try {
      while ((await this.#nextInTurn()).done !== true);
    } catch {
      // the failure has ended the message
    }
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    while (!this.#isDone) {
      const chunk = await this.#read();
      const before = this.#kept;
      this.#kept = chunk;
      if (chunk === null) await this.#end();
      if (before !== null) return { done: false, value: before };
    }
    return { done: true, value: undefined };
  }

  /** null at the end. Rejects once the message has failed. */
  async #read(): Promise<Uint8Array | null> {
    const { watch } = this.#message;
    watch.begin();
    try {
      const { done, value } = await this.#reply.chunks.next();
      watch.end();
      return done === true ? null : value;
    } catch (thrown) {
      this.#isDone = true;
      const fault = this.#attempt.faultOf(thrown, this.#message.stopReason === 'timeout');
      const error = this.#message.stopError ?? faultError(fault, hiddenFromAccounts(this.#message.admitted.catalog));
      this.#attempt.observeBytesEnd(this.#reply, false);
      await this.#message.fail(error, 'upstream_cut');
      throw error;
    }
  }

  async #end(): Promise<void> {
    this.#isDone = true;
    this.#attempt.observeBytesEnd(this.#reply, true);
    try {
      const settlement = await this.#message.complete();
      if (!settlement.ok) throw endedElsewhere();
    } catch (thrown) {
      this.#kept = null;
      throw asTurnpikeError(thrown);
    }
  }
}
