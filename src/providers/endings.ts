// The result of an answer that ended: a stop reason, or a fault.

import type { Ending, StopReason } from '../protocols/stop-words.ts';
import type { JsonObject } from '../wire/wire.ts';
import { ProviderFault } from './provider.ts';

interface Ended {
  /** As the provider wrote it. */
  word: string;
  /** The model's output or its count was there. */
  hasOutput: boolean;
  usage: JsonObject | null;
  upstreamRequestId?: string | null;
}

/** The stop reason of an answer. Throws ProviderFault for any other ending. */
export function requireAnswer(ending: Ending, { word, hasOutput, usage, upstreamRequestId = null }: Ended): StopReason {
  if (ending === 'failed' || ending === 'overloaded')
    throw new ProviderFault(ending, `the provider ended the message early (${word})`, { upstreamRequestId });
  if (ending !== 'unusable' && ending !== 'unclear') return ending;
  // An unclear ending is never a clean one. What was produced is billed; without that, another provider may answer.
  const kind = ending === 'unusable' || (hasOutput && usage !== null) ? 'unusable' : 'failed';
  const facts = kind === 'unusable' ? { usage, upstreamRequestId } : { upstreamRequestId };
  throw new ProviderFault(kind, `the model ended without a usable answer (${word})`, facts);
}

/** The same fault with what the provider reported; others unchanged. */
export function withUsage(thrown: unknown, usage: JsonObject | null): unknown {
  if (!(thrown instanceof ProviderFault) || thrown.kind !== 'unusable' || usage === null) return thrown;
  const { message, status, upstreamRequestId, cause } = thrown;
  return new ProviderFault('unusable', message, { status, upstreamRequestId, cause, usage });
}
