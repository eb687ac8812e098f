// How many tokens a prompt would have: from the provider where it can tell, else estimated. It
// counts against the requests a minute and costs nothing.

import { bounds } from '../config.ts';
import { ProviderFault } from '../providers/providers.ts';
import { measurePrompt } from '../usage/usage.ts';
import type { Asked } from './admit-message.ts';
import { isOfCredential, makeAttempt, providerOfKind } from './attempts.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './fault-error.ts';
import { findWays, type Standing, Tour } from './routes/routes.ts';

/** What is to be counted, for whom. */
export type Counted = Pick<Asked, 'submission' | 'caller' | 'request' | 'offer'>;

/** The JSON of the answer. Throws upstream_rejected when the provider refuses the content. */
export async function countPrompt(gateway: Gateway, counted: Counted): Promise<string> {
  const tokens = await countByProvider(gateway, counted, bounds.countTokensSecondsMax);
  return JSON.stringify({ input_tokens: tokens ?? measurePrompt(counted.request).typicalTokens });
}

/**
 * The provider's count; null when it has none to give, or cannot give it now. Throws upstream_rejected when it
 * refuses the content.
 */
export async function countByProvider(gateway: Gateway, counted: Counted, secondsMax: number): Promise<number | null> {
  const { submission, caller, request, offer } = counted;
  const { upstreamSilenceSeconds } = gateway.catalogue().settings;
  // One bound for all routes, and a short one: an estimate in time is worth more than a count.
  const late = AbortSignal.timeout(Math.min(upstreamSilenceSeconds, secondsMax) * 1000);
  const signal = AbortSignal.any([submission.signal, late]);
  const catalogue = gateway.catalogue();
  const asked = { account: caller.account.id, key: caller.key.id, offer, request };
  const tour = new Tour(findWays(gateway, catalogue, asked).candidates, secondsMax);
  for (let candidate = tour.next(); candidate !== null; candidate = tour.next()) {
    const provider = providerOfKind(gateway, candidate.settings);
    const exact = provider.countLocally(request);
    if (exact !== null) return exact;
    if (isUnwell(gateway.health.standing(candidate))) continue;
    tour.begin(candidate);
    const attempt = makeAttempt({ request, submission, maxTokens: 1 }, candidate, { trace: submission.trace, signal });
    try {
      const count = await provider.countTokens(attempt);
      if (count !== null) return count;
      tour.giveUp(candidate); // it has no counter, whatever credential it is shown
    } catch (thrown) {
      const kind = thrown instanceof ProviderFault ? thrown.kind : 'failed';
      if (kind === 'rejected') throw faultError(thrown as ProviderFault);
      // Otherwise an estimate serves better than an error: nothing is billed by it.
      if (!isOfCredential(kind)) tour.giveUp(candidate);
    }
    if (signal.aborted) return null;
  }
  return null;
}

/** What rests was told to wait, and what failed so often would take the time of the others: messages find out. */
function isUnwell(standing: Standing): boolean {
  return standing === 'open' || standing === 'resting';
}
