// Idempotency keys of messages: the claim that a message is submitted under, and the answer to who
// repeats it. Who has a claim, and for how long, is decided by the ledger (ledger/claims.ts).

import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Claim, ClaimRefusal } from '../ledger/ledger.ts';
import type { Asked } from './admit-message.ts';
import type { Gateway } from './dependencies.ts';
import type { AnswerRoom } from './kept-answers.ts';
import { claimError } from './refusal-error.ts';
import type { Reply, Submission } from './submission.ts';

const VISIBLE_ASCII = /^[\x21-\x7e]+$/;

/**
 * The claim of a message with this body; null when it has no idempotency key. Throws invalid_request. The hash has no
 * secret in it: it must outlast a change of the installation's, or what was sent before would pass for another request.
 */
export function readClaim(idempotencyKey: string | null, body: Uint8Array): Claim | null {
  if (idempotencyKey === null) return null;
  if (idempotencyKey.length > bounds.idempotencyKeyCharactersMax || !VISIBLE_ASCII.test(idempotencyKey))
    throw new TurnpikeError(
      'invalid_request',
      `idempotency-key: must be 1 to ${bounds.idempotencyKeyCharactersMax} printable characters without spaces`,
    );
  return { name: idempotencyKey, requestHash: new Bun.CryptoHasher('sha256').update(body).digest('base64url') };
}

/**
 * Answers a message whose claim is another message's: what that one was answered, in the same form. Throws
 * idempotency_in_progress, idempotency_mismatch, idempotency_answer_gone; overloaded and store_unavailable. It costs nothing.
 */
export async function answerOnceMore(
  gateway: Gateway,
  { submission, caller, request }: Asked,
  refusal: ClaimRefusal,
  headers: Record<string, string>,
): Promise<Reply> {
  if (refusal.reason !== 'claim_answered') throw claimError(refusal);
  const { requestId } = refusal;
  const text = await gateway.answers.find(requestId);
  if (text === null) throw answerGone(requestId);
  const reply = {
    status: 200,
    headers: { ...headers, 'idempotency-replayed': 'true', 'idempotency-original-request-id': requestId },
  };
  if (!request.stream) {
    submission.replayOf = requestId;
    return { ...reply, body: text };
  }
  const room = gateway.answers.takeRoom(caller.account.id, text);
  submission.replayOf = requestId;
  submission.signal.addEventListener('abort', room.giveBack);
  if (submission.signal.aborted) room.giveBack();
  submission.expect('stream');
  return { ...reply, body: inPieces(text, submission, room) };
}

/** The events of a stream, some at a time, no faster than they are read. */
async function* inPieces(text: string, submission: Submission, room: AnswerRoom): AsyncGenerator<string> {
  try {
    for (let start = 0; start < text.length; ) {
      const end = text.indexOf('\n\n', start + bounds.replayPieceCharactersLeast);
      const next = end < 0 ? text.length : end + 2;
      yield text.slice(start, next);
      start = next;
    }
  } finally {
    room.giveBack();
    submission.expect('end');
  }
}

function answerGone(requestId: string): TurnpikeError {
  return new TurnpikeError(
    'idempotency_answer_gone',
    `The request of this idempotency-key was answered and charged once (${requestId}), but its answer is not kept any more. Use a new idempotency-key to ask anew.`,
  );
}
