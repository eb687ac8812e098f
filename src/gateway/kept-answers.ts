// Answers to messages that have an idempotency key: collected as they pass, sealed for the store, and
// opened again for who repeats the message. What they take in memory is bounded, and shared fairly.

import { FairRoom } from '../base/fair-room.ts';
import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import type { AnswerStore } from '../ledger/ledger.ts';
import { SealBroken, type Vault } from '../secrets/secrets.ts';
import { encodeEvent, type StreamEvent } from '../wire/wire.ts';

/** Room in memory for one answer. */
export interface AnswerRoom {
  /** The first call counts. */
  giveBack(): void;
}

export class KeptAnswers {
  readonly #store: AnswerStore;
  readonly #vault: Pick<Vault, 'seal' | 'open'>;
  readonly #room = new FairRoom(() => bounds.answersCollectedBytesMax);

  constructor(store: AnswerStore, vault: Pick<Vault, 'seal' | 'open'>) {
    this.#store = store;
    this.#vault = vault;
  }

  /** Of all answers that are collected or given once more. */
  get bytesInMemory(): number {
    return this.#room.taken;
  }

  /** For one message of the account, until it gives back what it took. */
  collect(accountId: number): CollectedAnswer {
    return new CollectedAnswer(this.#room, accountId);
  }

  /** What is to be written with the settlement of the message: one row, or none where the answer was not kept whole. */
  rowsOf(answer: CollectedAnswer, requestId: string, atMs: number): unknown[] {
    const text = answer.text();
    if (text === null) return [];
    const sealed = this.#vault.seal(text, contextOf(requestId));
    return [this.#store.answerRow({ requestId, atMs, bytes: sealed.length, sealed })];
  }

  /**
   * The answer to a message, as its caller got it; null when it was not kept, is kept no more, or was sealed under a
   * secret that is not here. Throws store_unavailable.
   */
  async find(requestId: string): Promise<string | null> {
    const stored = await this.#store.findAnswer(requestId);
    if (stored === null) return null;
    try {
      return this.#vault.open(stored.sealed, contextOf(requestId));
    } catch (failure) {
      if (failure instanceof SealBroken) return null;
      throw failure;
    }
  }

  /** Room for a text that is given out as slowly as its caller reads. Throws overloaded. */
  takeRoom(accountId: number, text: string): AnswerRoom {
    const bytes = Buffer.byteLength(text);
    if (this.#room.take(accountId, bytes) !== null)
      throw overloaded('Too many answers are being given once more. Try again in a moment.');
    let isTaken = true;
    const giveBack = () => {
      if (isTaken) this.#room.giveBack(accountId, bytes);
      isTaken = false;
    };
    return { giveBack };
  }
}

/** The answer to one message as it passes. One that becomes too large is forgotten at once. */
export class CollectedAnswer implements AnswerRoom {
  readonly #room: FairRoom;
  readonly #accountId: number;
  #parts: string[] = [];
  #bytes = 0;
  #hasEnd = false;
  #isForgotten = false;

  /** For `KeptAnswers.collect`. */
  constructor(room: FairRoom, accountId: number) {
    this.#room = room;
    this.#accountId = accountId;
  }

  /** It came to its end, and all of it is here. */
  get isWhole(): boolean {
    return this.#hasEnd && !this.#isForgotten;
  }

  /** The JSON of a message that is not streamed. */
  keepMessage(text: string): void {
    this.#keep(text);
    this.#hasEnd = true;
  }

  /** Events as they are given to the caller; what a provider sends behind the end is given to nobody. */
  keepEvents(events: readonly StreamEvent[]): void {
    if (this.#hasEnd || this.#isForgotten) return;
    let text = '';
    for (const event of events) {
      text += encodeEvent(event);
      this.#hasEnd = event.name === 'message_stop';
      if (this.#hasEnd) break;
    }
    this.#keep(text);
  }

  /** All of it; null where it is not whole. */
  text(): string | null {
    return this.isWhole ? this.#parts.join('') : null;
  }

  giveBack(): void {
    this.#isForgotten = true;
    this.#parts = [];
    this.#room.giveBack(this.#accountId, this.#bytes);
    this.#bytes = 0;
  }

  #keep(text: string): void {
    if (this.#isForgotten) return;
    const bytes = Buffer.byteLength(text);
    const isTooLarge = this.#bytes + bytes > bounds.answerBytesMax;
    if (isTooLarge || this.#room.take(this.#accountId, bytes, this.#bytes) !== null) {
      this.giveBack();
      return;
    }
    this.#bytes += bytes;
    this.#parts.push(text);
  }
}

function contextOf(requestId: string): string {
  return `answer:${requestId}`;
}
