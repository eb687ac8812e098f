// What the ledger refuses, in the words that a caller can act on.

import { formatUsd } from '../base/money.ts';
import { type ErrorDetails, TurnpikeError } from '../errors.ts';
import type { Admission, ClaimRefusal, Refusal } from '../ledger/ledger.ts';

const CLAIM_RETRY_MS = 1_000; // nobody knows when a message ends; its answer is looked up for nothing

/** What the caller is told beside the refusal itself. */
export interface RefusalContext {
  nowMs: number;
  /** What must be there. */
  amount: number;
  /** It may cost more than that; else it is the most that it may cost. */
  isLeast: boolean;
  headers: Record<string, string>;
  /** The largest max_tokens that what is available would pay; null where it is of no use. */
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
        `The limit of requests per minute of ${owner} is reached.`,
        details,
      );
    case 'input_tokens_rate':
      return new TurnpikeError(
        'input_tokens_rate_exceeded',
        `The limit of input tokens per minute of ${owner} is reached.`,
        details,
      );
    case 'output_tokens_rate':
      return new TurnpikeError(
        'output_tokens_rate_exceeded',
        `The limit of output tokens per minute of ${owner} is reached.`,
        details,
      );
    case 'concurrency':
      return new TurnpikeError(
        'concurrency_exceeded',
        `The limit of messages at once of ${owner} is reached. Wait for one to end.`,
        details,
      );
    case 'not_owner':
      return new TurnpikeError('store_unavailable', 'This node has no lease on the ledger at the moment.', details);
  }
}

export function isClaimRefusal(admission: Admission): admission is ClaimRefusal {
  return !admission.ok && 'requestId' in admission;
}

/** The error for an idempotency key that stands for another message. */
export function claimError({ reason, requestId }: ClaimRefusal): TurnpikeError {
  if (reason === 'claim_mismatch')
    return new TurnpikeError(
      'idempotency_mismatch',
      `This idempotency-key was used for another request (${requestId}). Use a new one.`,
    );
  return new TurnpikeError(
    'idempotency_in_progress',
    `The request of this idempotency-key is in progress (${requestId}). Send it again when that has ended.`,
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
    wallet: 'Recharge the account',
    allowance: 'Wait for the next period or have the allowance raised',
    quota: 'Use another key or have the quota raised',
  }[refusal.meter as 'wallet' | 'allowance' | 'quota'];
  const fits = context.maxTokensThatFit?.(refusal.available) ?? 0;
  const sentences = [
    `${what}: this request ${context.isLeast ? 'needs at least' : 'may cost up to'} ${formatUsd(context.amount)} USD, ${formatUsd(refusal.available)} USD is available.`,
    refusal.behindHolds
      ? 'Only messages that run now stand in its way: it may fit when they have ended.'
      : `${remedy}${fits > 0 ? `, or send max_tokens of at most ${fits}` : ''}.`,
  ];
  // Where only others' holds stand in the way, a retry is not forbidden.
  return new TurnpikeError('insufficient_user_quota', sentences.join(' '), {
    headers: context.headers,
    retry: refusal.behindHolds,
  });
}
