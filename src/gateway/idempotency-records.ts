// Idempotency keys of messages: reading the key, and collecting, sealing and replaying the stored response. The ledger
// decides who holds a key, and how long (ledger/idempotency.ts). Memory use is bounded by a fair-share quota.

import { FairShareQuota } from '../base/fair-share-quota.ts';
import { bounds } from '../config/config.ts';
import { overloaded, TurnpikeError } from '../errors.ts';
import type { AnswerStore, IdempotencyClaim, IdempotencyRefusal } from '../ledger/ledger.ts';
import { SealBroken, type Vault } from '../secrets/secrets.ts';
import { type MessageRequest, pauseAfter, type ReceivedBody, type StreamEvent } from '../wire/wire.ts';
import type { ClientRequest, Reply } from './client-request.ts';
import { idempotencyError } from './message-errors.ts';
import type { AdmissionRequest } from './plan-message.ts';
import { readStoredAnswer, readStoredEvents, storedText } from './stored-answer.ts';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * The idempotency key and body hash of a request; null without a key. Throws invalid_request. The hash is not keyed:
 * it must survive a change of the installation secret.
 */
export function checkIdempotency(
  { idempotencyKey, item }: Pick<ClientRequest, 'idempotencyKey' | 'item'>,
  request: Pick<MessageRequest, 'text' | 'native'>,
): IdempotencyClaim | null {
  if (item !== null) return claimOf(item.claim, request);
  if (idempotencyKey === null) return null;
  if (idempotencyKey.length > bounds.idempotencyKeyCharactersMax || !VISIBLE_ASCII.test(idempotencyKey))
    throw new TurnpikeError(
      'invalid_request',
      `idempotency-key: must be 1 to ${bounds.idempotencyKeyCharactersMax} printable characters without spaces`,
    );
  return claimOf(idempotencyKey, request);
}

function claimOf(name: string, { text, native }: Pick<MessageRequest, 'text' | 'native'>): IdempotencyClaim {
  const hash = new Bun.CryptoHasher('sha256').update(text);
  if (native !== null) hash.update(native.text); // may lack what its path says, such as the model
  return { name, requestHash: hash.digest('base64url') };
}

/**
 * Replays the stored response of the message that holds the idempotency key, free of charge. Throws
 * idempotency_in_progress, idempotency_mismatch, idempotency_answer_gone, requests_rate_exceeded, overloaded,
 * store_unavailable.
 */
export async function replayResponse(
  answers: IdempotencyRecords,
  { clientRequest, caller, request }: Pick<AdmissionRequest, 'clientRequest' | 'caller' | 'request'>,
  refusal: IdempotencyRefusal,
  headers: Record<string, string>,
): Promise<Reply> {
  if (refusal.reason !== 'claim_answered') throw idempotencyError(refusal);
  const { requestId } = refusal;
  const text = await answers.replay(requestId, caller.account.id, clientRequest.receivedAtMs);
  if (text === null) throw answerGone(requestId);
  const reply = {
    status: 200,
    headers: { ...headers, 'idempotency-replayed': 'true', 'idempotency-original-request-id': requestId },
  };
  if (!request.stream) {
    await pauseAfter(text);
    clientRequest.replayOf = requestId;
    return { ...reply, body: readStoredAnswer(text, request.protocol) };
  }
  const room = answers.reserve(caller.account.id, text);
  clientRequest.replayOf = requestId;
  clientRequest.signal.addEventListener('abort', room.giveBack);
  if (clientRequest.signal.aborted) room.giveBack();
  clientRequest.expect('stream');
  return { ...reply, body: inPieces(text, clientRequest, room) };
}

/** The stored response of a request of a batch, without admission: nothing of it is charged. null: it is not stored any more. */
export async function findResponse(
  answers: Pick<IdempotencyRecords, 'find'>,
  { parseBody }: ClientRequest,
  body: ReceivedBody,
  requestId: string,
): Promise<Reply | null> {
  const text = await answers.find(requestId);
  if (text === null) return null;
  const { protocol } = await parseBody(body, (sent) => sent);
  return { status: 200, headers: {}, body: readStoredAnswer(text, protocol) };
}

/** The events of a stream in chunks, as fast as the client reads. */
async function* inPieces(
  text: string,
  clientRequest: ClientRequest,
  room: MemoryReservation,
): AsyncGenerator<StreamEvent[]> {
  try {
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n\n', start + bounds.replayPieceCharactersLeast);
      const next = end < 0 ? text.length : end + 2;
      yield readStoredEvents(text.slice(start, next));
      start = next;
    }
  } finally {
    room.giveBack();
    clientRequest.expect('end');
  }
}

function answerGone(requestId: string): TurnpikeError {
  return new TurnpikeError(
    'idempotency_answer_gone',
    `The request with this idempotency key was answered and charged (${requestId}), but its response is no longer stored. Use a new idempotency key to send it again.`,
  );
}

/** Reserved memory for one response. */
export interface MemoryReservation {
  /** Only the first call counts. */
  giveBack(): void;
}

export class IdempotencyRecords {
  readonly #store: AnswerStore;
  readonly #vault: Pick<Vault, 'seal' | 'open'>;
  readonly #room = new FairShareQuota(() => bounds.answersCollectedBytesMax);
  readonly #rate = new ReplayRate();

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

  /** The response, to be sent again. Throws requests_rate_exceeded, store_unavailable. */
  async replay(requestId: string, accountId: number, nowMs: number): Promise<string | null> {
    const retryAfterMs = this.#rate.waitMs(accountId, requestId, nowMs);
    if (retryAfterMs > 0)
      throw new TurnpikeError(
        'requests_rate_exceeded',
        'Stored responses of the account were replayed too often. Keep the response instead of requesting it again.',
        { retryAfterMs },
      );
    const text = await this.find(requestId);
    if (text !== null) this.#rate.take(accountId, requestId, Buffer.byteLength(text), nowMs);
    return text;
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
      text += storedText(event);
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

const MINUTE_MS = 60_000;

/**
 * How fast stored responses are replayed to one account by this node. A replay is free, but the node reads, opens and sends
 * the response again. The first replay of each response does not count, so that retries after an outage are not limited.
 */
export class ReplayRate {
  /** Responses that were replayed, by request id; the least recently replayed first. */
  readonly #replayed = new Set<string>();
  /** Bytes of repeated replays that have not drained yet, by account; the least recent first. */
  readonly #used = new Map<number, { bytes: number; atMs: number }>();

  /** Milliseconds until the response may be replayed to the account; 0: now. */
  waitMs(accountId: number, requestId: string, nowMs: number): number {
    if (!this.#replayed.has(requestId)) return 0;
    const excess = this.#usedBytes(accountId, nowMs) - bounds.replayedBytesPerMinuteMax;
    return excess < 0 ? 0 : Math.ceil(((excess + 1) * MINUTE_MS) / bounds.replayedBytesPerMinuteMax);
  }

  /** The response is replayed. One larger than what is left is replayed whole, and the account waits afterwards. */
  take(accountId: number, requestId: string, bytes: number, nowMs: number): void {
    const isRepeated = this.#replayed.delete(requestId);
    this.#replayed.add(requestId);
    const [oldest] = this.#replayed;
    if (this.#replayed.size > bounds.replayedResponsesMax && oldest !== undefined) this.#replayed.delete(oldest);
    if (isRepeated) this.#use(accountId, this.#usedBytes(accountId, nowMs) + bytes, nowMs);
  }

  #usedBytes(accountId: number, nowMs: number): number {
    const used = this.#used.get(accountId);
    if (used === undefined) return 0;
    const drained = (Math.max(0, nowMs - used.atMs) * bounds.replayedBytesPerMinuteMax) / MINUTE_MS;
    return Math.max(0, used.bytes - drained);
  }

  #use(accountId: number, bytes: number, nowMs: number): void {
    this.#used.delete(accountId);
    this.#used.set(accountId, { bytes, atMs: nowMs });
    const [least] = this.#used.keys();
    if (this.#used.size > bounds.replayAccountsMax && least !== undefined) this.#used.delete(least);
  }
}
