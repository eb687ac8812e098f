// Errors that the client of a message gets: refusals of the ledger, faults of providers, and early ends.

import { formatUsd } from '../base/money.ts';
import type { Hidden } from '../catalog/catalog.ts';
import { type ErrorCode, type ErrorDetails, type LimitScope, TurnpikeError } from '../errors.ts';
import type { Admission, IdempotencyRefusal, Refusal } from '../ledger/ledger.ts';
import type { FaultKind, ProviderFault } from '../providers/providers.ts';
import type { CutReason } from './running-messages.ts';

const CLAIM_RETRY_MS = 1_000; // the end of a message cannot be predicted; polling too often is wasteful

/** Facts for the error message besides the refusal. */
export interface RefusalContext {
  nowMs: number;
  /** The amount that must be available. */
  amount: number;
  /** The message may cost more than `amount`; otherwise `amount` is its maximum cost. */
  isLeast: boolean;
  headers: Record<string, string>;
  /** The largest max_tokens that the available amount pays for; 0 if lowering it would not help. */
  maxTokensThatFit: number;
}

/** `owner`: the key or the account whose limit was reached. */
const REFUSALS: Readonly<
  Record<Exclude<Refusal['reason'], 'insufficient'>, [code: ErrorCode, text: (owner: string) => string]>
> = {
  key_disabled: ['key_disabled', () => 'This API key is disabled.'],
  key_expired: ['key_expired', () => 'This API key has expired. Create a new one.'],
  account_disabled: ['account_disabled', () => 'The account of this key, or one above it, is disabled.'],
  person_disabled: ['key_disabled', () => 'The person whose API key this is has been disabled.'],
  requests_rate: ['requests_rate_exceeded', (owner) => rateText('requests', owner)],
  input_tokens_rate: ['input_tokens_rate_exceeded', (owner) => rateText('input tokens', owner)],
  output_tokens_rate: ['output_tokens_rate_exceeded', (owner) => rateText('output tokens', owner)],
  concurrency: [
    'concurrency_exceeded',
    (owner) => `The limit on concurrent messages for ${owner} has been reached. Wait for one to finish.`,
  ],
  not_owner: ['store_unavailable', () => 'This node has no lease on the ledger.'],
};

function rateText(counted: string, owner: string): string {
  return `The limit on ${counted} per minute for ${owner} has been reached.`;
}

/** The error for a refusal of the ledger. */
export function refusalError(refusal: Refusal, context: RefusalContext): TurnpikeError {
  if (refusal.reason === 'insufficient') return insufficient(refusal, context);
  const details: ErrorDetails = { headers: context.headers, scope: refusal.ofKey ? 'key' : 'account' };
  if (refusal.retryAtMs !== null) details.retryAfterMs = refusal.retryAtMs - context.nowMs;
  const [code, text] = REFUSALS[refusal.reason];
  return new TurnpikeError(code, text(refusal.ofKey ? 'this key' : ownerOf(refusal)), details);
}

function ownerOf({ above }: Refusal): string {
  return above === null ? 'the account' : 'an account above';
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

const SHORTAGES = {
  wallet: { what: (owner: string) => `The balance of ${owner} is too low`, remedy: 'Add credit to the account' },
  allowance: {
    what: (owner: string) => `The allowance of ${owner} for this period is too low`,
    remedy: 'Wait for the next period or ask for a higher allowance',
  },
  quota: { what: () => 'The quota of this key is too low', remedy: 'Use another key or ask for a higher quota' },
  plan: {
    what: (_owner: string, window: string) => `The allowance of the plan${window} is too low`,
    remedy: 'Wait for the next window, choose another plan or let the balance of the account pay for the rest',
  },
  budget: {
    what: (_owner: string, window: string) => `The budget of the person whose key this is${window} is too low`,
    remedy: 'Wait for the next window or ask an owner of the account for a higher budget',
  },
};
const WINDOWS = { '5h': '5 hours', day: 'the day', week: 'the week', month: 'the month' };

/** The window of the plan or budget that is exhausted, and when the next one begins. */
function whatIsShort(refusal: Refusal): { what: string; remedy: string } {
  const { meter, window, retryAtMs } = refusal;
  const { what, remedy } = SHORTAGES[meter as keyof typeof SHORTAGES];
  if (window == null) return { what: what(ownerOf(refusal), ''), remedy };
  const reset = retryAtMs === null ? '' : ` until ${new Date(retryAtMs).toISOString()}`;
  return { what: what(ownerOf(refusal), ` for ${WINDOWS[window]}`) + reset, remedy };
}

function insufficient(
  refusal: Refusal,
  { nowMs, amount, isLeast, headers, maxTokensThatFit }: RefusalContext,
): TurnpikeError {
  const { available, behindHolds } = refusal;
  const { what, remedy } = whatIsShort(refusal);
  const scope = scopeOf(refusal);
  if (behindHolds && available >= amount)
    return new TurnpikeError(
      'insufficient_user_quota',
      `This request may cost more than the ${formatUsd(available)} USD that is available, so it runs alone: retry when the messages in progress have finished.`,
      { headers, retry: true, scope },
    );
  const need = `${isLeast ? 'needs at least' : 'may cost up to'} ${formatUsd(amount)} USD`;
  const fit = maxTokensThatFit > 0 ? `, or send max_tokens of at most ${maxTokensThatFit}` : '';
  const advice = behindHolds
    ? 'The missing amount is held by messages in progress: retry when they have finished.'
    : `${remedy}${fit}.`;
  const message = `${what}: this request ${need}, but ${formatUsd(available)} USD is available. ${advice}`;
  // If only holds of other messages stand in the way, retrying makes sense.
  const details: ErrorDetails = { headers, retry: behindHolds, scope };
  if (refusal.meter === 'budget' && !behindHolds && refusal.retryAtMs !== null)
    details.retryAfterMs = refusal.retryAtMs - nowMs;
  return new TurnpikeError('insufficient_user_quota', message, details);
}

/** A quota and the budget of the person are limits of keys. */
function scopeOf({ meter, behindHolds }: Refusal): LimitScope {
  if (meter === 'quota' || meter === 'budget') return behindHolds ? 'key_held' : 'key';
  return behindHolds ? 'account_held' : 'account';
}

/**
 * Why the service aborted the upstream. `money`: exhausted; `elsewhere`: another node ended the hold; `client_slow`:
 * the client did not read.
 */
export type StopReason = CutReason | 'caller_left' | 'client_slow' | 'timeout' | 'money' | 'elsewhere';

/**
 * The error of a message that the service stopped; null if it did not. `isOverlong`: the time limit of the whole attempt was
 * exceeded.
 */
export function stopError(stopReason: StopReason | null, isOverlong = false): TurnpikeError | null {
  switch (stopReason) {
    case 'revoked':
      return new TurnpikeError('key_disabled', 'This API key was revoked while the message was in progress.');
    case 'draining':
      return new TurnpikeError('draining', 'This server is shutting down. Send the request again.', {
        headers: { connection: 'close' },
      });
    case 'money':
      return moneyError();
    case 'elsewhere':
      return endedElsewhere();
    case 'timeout':
      return new TurnpikeError(
        'upstream_timeout',
        isOverlong
          ? 'The answer took longer than this service allows for a stream.'
          : 'The provider of this model sent no data for too long.',
      );
    case 'caller_left':
      return new TurnpikeError('upstream_timeout', 'The client disconnected, and the provider did not finish in time.');
    case 'client_slow':
      return clientTooSlow();
    case null:
      return null;
  }
}

/** The available money was exhausted in the middle of an answer. */
export function moneyError(): TurnpikeError {
  return new TurnpikeError(
    'insufficient_user_quota',
    'The balance, allowance, budget or quota available to this key is exhausted, so the response ends here. Add credit to the account, or ask for a higher allowance, budget or quota.',
  );
}

/** The stream ended because its client did not read it. */
export function clientTooSlow(): TurnpikeError {
  return new TurnpikeError('client_too_slow', 'The stream was closed because the client read it too slowly.');
}

/** The hold was ended elsewhere: the answer must not be reported as complete. */
export function endedElsewhere(): TurnpikeError {
  return new TurnpikeError('internal', 'Another node ended this message because it considered it abandoned.');
}

const FAILED: [ErrorCode, string] = ['upstream_failed', 'The provider of this model failed.'];
const FAULTS: Readonly<Record<Exclude<FaultKind, 'rejected' | 'unusable'>, [code: ErrorCode, text: string]>> = {
  credentials: [
    'upstream_credentials',
    'The provider of this model rejects the credentials of this service. The operator of this service must fix this.',
  ],
  not_found: [
    'upstream_credentials',
    'The provider of this model does not have it for this service. The operator of this service must fix this.',
  ],
  rate_limited: ['upstream_rate_limited', 'The provider of this model is limiting the request rate of this service.'],
  overloaded: ['upstream_overloaded', 'The provider of this model is overloaded.'],
  timeout: ['upstream_timeout', 'The provider of this model did not respond in time.'],
  failed: FAILED,
  aborted: FAILED,
};

/** The error for a fault. Only a rejection of the content keeps the provider's text, without the names that are hidden. */
export function faultError(fault: ProviderFault, { redact }: Hidden): TurnpikeError {
  const { kind, message, status, errorType, retryAfterMs } = fault;
  if (kind === 'rejected')
    return new TurnpikeError('upstream_rejected', redact(message), {
      cause: fault,
      status: status === 413 ? 413 : 400,
      type: errorType ?? 'invalid_request_error',
    });
  if (kind === 'unusable')
    return new TurnpikeError(
      'upstream_failed',
      'The model ended its answer without a usable result. The tokens that it produced were charged. The same request may end in the same way.',
      { cause: fault, retry: false },
    );
  const mayWait = (kind === 'rate_limited' || kind === 'overloaded') && retryAfterMs !== null;
  return new TurnpikeError(...FAULTS[kind], mayWait ? { cause: fault, retryAfterMs } : { cause: fault });
}
