// Maps refusals of the ledger to errors that a client can act on.

import { formatUsd } from '../base/money.ts';
import { type ErrorDetails, TurnpikeError } from '../errors.ts';
import type { Admission, IdempotencyRefusal, Refusal } from '../ledger/ledger.ts';

const CLAIM_RETRY_MS = 1_000; // the end of a message cannot be predicted; polling too often is wasteful

/** Facts for the error message besides the refusal. */
export interface RefusalContext {
  nowMs: number;
  /** The amount that must be available. */
  amount: number;
  /** The message may cost more than `amount`; otherwise `amount` is its maximum cost. */
  isLeast: boolean;
  headers: Record<string, string>;
  /** The largest max_tokens that the available amount pays for; null if lowering it would not help. */
  maxTokensThatFit: ((available: number) => number) | null;
}

/** The error for a refusal of the ledger. */
export function refusalError(refusal: Refusal, context: RefusalContext): TurnpikeError {
  const details: ErrorDetails = { headers: context.headers };
  if (refusal.retryAtMs !== null) details.retryAfterMs = refusal.retryAtMs - context.nowMs;
  const owner = refusal.ofKey ? 'this key' : 'the account';
  switch (refusal.reason) {
    case 'key_disabled':
      return new TurnpikeError('key_disabled', 'This API key is disabled.', details);
    case 'key_expired':
      return new TurnpikeError('key_expired', 'This API key has expired. Create a new one.', details);
    case 'account_disabled':
      return new TurnpikeError('account_disabled', 'The account of this key is disabled.', details);
    case 'insufficient':
      return insufficient(refusal, context);
    case 'requests_rate':
      return new TurnpikeError(
        'requests_rate_exceeded',
        `The limit on requests per minute for ${owner} has been reached.`,
        details,
      );
    case 'input_tokens_rate':
      return new TurnpikeError(
        'input_tokens_rate_exceeded',
        `The limit on input tokens per minute for ${owner} has been reached.`,
        details,
      );
    case 'output_tokens_rate':
      return new TurnpikeError(
        'output_tokens_rate_exceeded',
        `The limit on output tokens per minute for ${owner} has been reached.`,
        details,
      );
    case 'concurrency':
      return new TurnpikeError(
        'concurrency_exceeded',
        `The limit on concurrent messages for ${owner} has been reached. Wait for one to finish.`,
        details,
      );
    case 'not_owner':
      return new TurnpikeError('store_unavailable', 'This node has no lease on the ledger.', details);
  }
}

export function isIdempotencyRefusal(admission: Admission): admission is IdempotencyRefusal {
  return !admission.ok && 'requestId' in admission;
}

/** The error for an idempotency key that belongs to another message. */
export function idempotencyError({ reason, requestId }: IdempotencyRefusal): TurnpikeError {
  if (reason === 'claim_mismatch')
    return new TurnpikeError(
      'idempotency_mismatch',
      `This idempotency key was already used for a different request (${requestId}). Use a new key.`,
    );
  return new TurnpikeError(
    'idempotency_in_progress',
    `A request with this idempotency key is still in progress (${requestId}). Retry when it has finished.`,
    { retryAfterMs: CLAIM_RETRY_MS },
  );
}

function insufficient(refusal: Refusal, context: RefusalContext): TurnpikeError {
  const what = {
    wallet: 'The balance of the account is too low',
    allowance: 'The allowance of the account for this period is too low',
    quota: 'The quota of this key is too low',
  }[refusal.meter as 'wallet' | 'allowance' | 'quota'];
  const remedy = {
    wallet: 'Add credit to the account',
    allowance: 'Wait for the next period or ask for a higher allowance',
    quota: 'Use another key or ask for a higher quota',
  }[refusal.meter as 'wallet' | 'allowance' | 'quota'];
  const fits = context.maxTokensThatFit?.(refusal.available) ?? 0;
  const sentences = [
    `${what}: this request ${context.isLeast ? 'needs at least' : 'may cost up to'} ${formatUsd(context.amount)} USD, but ${formatUsd(refusal.available)} USD is available.`,
    refusal.behindHolds
      ? 'The missing amount is held by messages in progress: retry when they have finished.'
      : `${remedy}${fits > 0 ? `, or send max_tokens of at most ${fits}` : ''}.`,
  ];
  // If only holds of other messages stand in the way, retrying makes sense.
  return new TurnpikeError('insufficient_user_quota', sentences.join(' '), {
    headers: context.headers,
    retry: refusal.behindHolds,
  });
}
