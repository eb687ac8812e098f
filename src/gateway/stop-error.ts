// Why this service stops a message before its end, and what its caller is told.

import { TurnpikeError } from '../errors.ts';
import type { CutReason } from './running-messages.ts';

/** Why the upstream was aborted by us. `money`: none is left; `elsewhere`: another node ended its hold. */
export type StopReason = CutReason | 'caller_left' | 'timeout' | 'money' | 'elsewhere';

/** The error of a message that the service itself stopped; null when it did not. */
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
      return new TurnpikeError('upstream_timeout', 'The provider of this model was silent for too long.');
    case 'caller_left':
      return new TurnpikeError('upstream_timeout', 'The caller left, and the provider did not finish in time.');
    case null:
      return null;
  }
}

/** What account and key may spend was used up in the middle of an answer. */
export function moneyError(): TurnpikeError {
  return new TurnpikeError(
    'insufficient_user_quota',
    'What the account and this key may spend is used up: the answer ends here. Recharge the account, or have the allowance or quota raised.',
  );
}

/** Someone else ended the hold: the answer may not be reported as complete. */
export function endedElsewhere(): TurnpikeError {
  return new TurnpikeError('internal', 'This message was ended by another node, which took it for abandoned.');
}
