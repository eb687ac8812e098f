// Stored responses of messages with an idempotency key: collected while relayed, sealed for the store, opened for a
// retry. Memory use is bounded by a fair-share quota.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { bounds } from '../config.ts';
import { overloaded } from '../errors.ts';
import type { AnswerStore } from '../ledger/ledger.ts';
import { SealBroken, type Vault } from '../secrets/secrets.ts';
import { encodeEvent, type StreamEvent } from '../wire/wire.ts';

/** Reserved memory for one response. */
export interface MemoryReservation {
  /** Only the first call counts. */
  giveBack(): void;
}

export class IdempotencyRecords {
  readonly #store: AnswerStore;
  readonly #vault: Pick<Vault, 'seal' | 'open'>;
  readonly #room = new FairShareQuota(() => bounds.answersCollectedBytesMax);

  constructor(store: AnswerStore, vault: Pick<Vault, 'seal' | 'open'>) {
    this.#store = store;
    this.#vault = vault;
  }

  /** Bytes of all responses being collected or replayed. */
  get bytesInMemory(): number {
    return this.#room.taken;
  }

  /** Collects the response of one message, until `giveBack`. */
  collect(accountId: number): ResponseCollector {
    return new ResponseCollector(this.#room, accountId);
  }

  /** The row to co-commit with the settlement; none if the response was not collected whole. */
  rowsOf(answer: ResponseCollector, requestId: string, atMs: number): unknown[] {
    const text = answer.text();
    if (text === null) return [];
    const sealed = this.#vault.seal(text, contextOf(requestId));
    return [this.#store.answerRow({ requestId, atMs, bytes: sealed.length, sealed })];
  }

  /**
   * The response as the client received it; null if it was not stored, was dropped, or was sealed under an unknown
   * secret. Throws store_unavailable.
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

  /** Reserves memory for a text that is sent as fast as the client reads. Throws overloaded. */
  reserve(accountId: number, text: string): MemoryReservation {
    const bytes = Buffer.byteLength(text);
    if (this.#room.take(accountId, bytes) !== null)
      throw overloaded('Too many stored responses are being replayed. Try again in a moment.');
    let isTaken = true;
    const giveBack = () => {
      if (isTaken) this.#room.giveBack(accountId, bytes);
      isTaken = false;
    };
    return { giveBack };
  }
}

/** Collects the response of one message. A response that becomes too large is discarded at once. */
export class ResponseCollector implements MemoryReservation {
  readonly #room: FairShareQuota;
  readonly #accountId: number;
  #parts: string[] = [];
  #bytes = 0;
  #hasEnd = false;
  #isForgotten = false;

  /** Use `IdempotencyRecords.collect`. */
  constructor(room: FairShareQuota, accountId: number) {
    this.#room = room;
    this.#accountId = accountId;
  }

  /** The response is complete and was collected whole. */
  get isWhole(): boolean {
    return this.#hasEnd && !this.#isForgotten;
  }

  /** The JSON of a message that is not streamed. */
  addMessage(text: string): void {
    this.#keep(text);
    this.#hasEnd = true;
  }

  /** Events as sent to the client. Events after the end are ignored. */
  addEvents(events: readonly StreamEvent[]): void {
    if (this.#hasEnd || this.#isForgotten) return;
    let text = '';
    for (const event of events) {
      text += encodeEvent(event);
      this.#hasEnd = event.name === 'message_stop';
      if (this.#hasEnd) break;
    }
    this.#keep(text);
  }

  /** The text of events other than the last. */
  addText(text: string): void {
    if (!this.#hasEnd && !this.#isForgotten) this.#keep(text);
  }

  /** The whole response; null if incomplete. */
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
