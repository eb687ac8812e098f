// What a provider's failure is to a caller. What is the operator's trouble is never shown as the caller's.

import { TurnpikeError } from '../errors.ts';
import type { ProviderFault } from '../providers/providers.ts';

/** The error for a fault. Only a rejection of the content keeps the provider's own words. */
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
        'The provider of this model does not accept this service at the moment. Its operator has to mend it.',
        { cause: fault },
      );
    case 'rate_limited':
      return new TurnpikeError(
        'upstream_rate_limited',
        'The provider of this model limits its rate at the moment.',
        details,
      );
    case 'overloaded':
      return new TurnpikeError('upstream_overloaded', 'The provider of this model is overloaded.', details);
    case 'timeout':
      return new TurnpikeError('upstream_timeout', 'The provider of this model did not answer in time.', {
        cause: fault,
      });
    case 'failed':
    case 'aborted':
      return new TurnpikeError('upstream_failed', 'The provider of this model failed.', { cause: fault });
  }
}
