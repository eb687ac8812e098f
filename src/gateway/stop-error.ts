// Why the service stops a message early, and the error that its client gets.

import { TurnpikeError } from '../errors.ts';
import type { ProviderFault } from '../providers/providers.ts';
import type { CutReason } from './running-messages.ts';

/**
 * Why the service aborted the upstream. `money`: exhausted; `elsewhere`: another node ended the hold; `client_slow`:
 * the client did not read.
 */
export type StopReason = CutReason | 'caller_left' | 'client_slow' | 'timeout' | 'money' | 'elsewhere';

/** The error of a message that the service stopped; null if it did not. */
export function stopError({ stopReason }: { stopReason: StopReason | null }): TurnpikeError | null {
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
      return new TurnpikeError('upstream_timeout', 'The provider of this model sent no data for too long.');
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
    'The balance, allowance or quota available to this key is exhausted, so the response ends here. Add credit to the account, or ask for a higher allowance or quota.',
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

/** The error for a fault. Only a rejection of the content keeps the provider's text. */
export function faultError(fault: ProviderFault): TurnpikeError {
  const details = { cause: fault, ...(fault.retryAfterMs === null ? {} : { retryAfterMs: fault.retryAfterMs }) };
  switch (fault.kind) {
    case 'rejected':
      return new TurnpikeError('upstream_rejected', fault.message, {
        cause: fault,
        status: fault.status === 413 ? 413 : 400,
        type: fault.errorType ?? 'invalid_request_error',
      });
    case 'credentials':
      return new TurnpikeError(
        'upstream_credentials',
        'The provider of this model rejects the credentials of this service. The operator of this service must fix this.',
        { cause: fault },
      );
    case 'rate_limited':
      return new TurnpikeError(
        'upstream_rate_limited',
        'The provider of this model is limiting the request rate of this service.',
        details,
      );
    case 'overloaded':
      return new TurnpikeError('upstream_overloaded', 'The provider of this model is overloaded.', details);
    case 'timeout':
      return new TurnpikeError('upstream_timeout', 'The provider of this model did not respond in time.', {
        cause: fault,
      });
    case 'failed':
    case 'aborted':
      return new TurnpikeError('upstream_failed', 'The provider of this model failed.', { cause: fault });
  }
}
