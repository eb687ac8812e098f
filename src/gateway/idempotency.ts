// Idempotency keys of messages: reading the key, and replaying the stored response. The ledger decides who holds a
// key, and how long (ledger/idempotency.ts).

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { IdempotencyClaim, IdempotencyRefusal } from '../ledger/ledger.ts';
import type { AdmissionRequest } from './admit-message.ts';
import type { ClientRequest, Reply } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { MemoryReservation } from './idempotency-records.ts';
import { idempotencyError } from './refusal-error.ts';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * The idempotency key and body hash of a request; null without a key. Throws invalid_request. The hash is not keyed:
 * it must survive a change of the installation secret.
 */
export function checkIdempotency(idempotencyKey: string | null, body: string): IdempotencyClaim | null {
  if (idempotencyKey === null) return null;
  if (idempotencyKey.length > bounds.idempotencyKeyCharactersMax || !VISIBLE_ASCII.test(idempotencyKey))
    throw new TurnpikeError(
      'invalid_request',
      `idempotency-key: must be 1 to ${bounds.idempotencyKeyCharactersMax} printable characters without spaces`,
    );
  return { name: idempotencyKey, requestHash: new Bun.CryptoHasher('sha256').update(body).digest('base64url') };
}

/**
 * Replays the stored response of the message that holds the idempotency key, free of charge. Throws
 * idempotency_in_progress, idempotency_mismatch, idempotency_answer_gone, overloaded, store_unavailable.
 */
export async function replayResponse(
  gateway: Gateway,
  { clientRequest, caller, request }: AdmissionRequest,
  refusal: IdempotencyRefusal,
  headers: Record<string, string>,
): Promise<Reply> {
  if (refusal.reason !== 'claim_answered') throw idempotencyError(refusal);
  const { requestId } = refusal;
  const text = await gateway.answers.find(requestId);
  if (text === null) throw answerGone(requestId);
  const reply = {
    status: 200,
    headers: { ...headers, 'idempotency-replayed': 'true', 'idempotency-original-request-id': requestId },
  };
  if (!request.stream) {
    clientRequest.replayOf = requestId;
    return { ...reply, body: text };
  }
  const room = gateway.answers.reserve(caller.account.id, text);
  clientRequest.replayOf = requestId;
  clientRequest.signal.addEventListener('abort', room.giveBack);
  if (clientRequest.signal.aborted) room.giveBack();
  clientRequest.expect('stream');
  return { ...reply, body: inPieces(text, clientRequest, room) };
}

/** The events of a stream in chunks, as fast as the client reads. */
async function* inPieces(text: string, clientRequest: ClientRequest, room: MemoryReservation): AsyncGenerator<string> {
  try {
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n\n', start + bounds.replayPieceCharactersLeast);
      const next = end < 0 ? text.length : end + 2;
      yield text.slice(start, next);
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
