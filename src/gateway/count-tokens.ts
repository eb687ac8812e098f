// How many tokens a prompt would have: from the provider where it can tell, else estimated. It
// counts against the requests a minute and costs nothing.

import type { Offer } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { type Attempt, ProviderFault } from '../providers/providers.ts';
import { measurePrompt } from '../usage/usage.ts';
import type { MessageRequest } from '../wire/wire.ts';
import { endpointOf, providerOfKind } from './attempts.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './fault-error.ts';
import type { Submission } from './submission.ts';

/** The JSON of the answer. Throws upstream_rejected when the provider refuses the content. */
export async function countPrompt(
  gateway: Gateway,
  submission: Submission,
  request: MessageRequest,
  offer: Offer,
): Promise<string> {
  return JSON.stringify({
    input_tokens:
      (await countByProvider(gateway, submission, request, offer, bounds.countTokensSecondsMax)) ??
      measurePrompt(request).typicalTokens,
  });
}

/**
 * The provider's count; null when it has none to give, or cannot give it now. Throws upstream_rejected when it
 * refuses the content.
 */
export async function countByProvider(
  gateway: Gateway,
  submission: Submission,
  request: MessageRequest,
  offer: Offer,
  secondsMax: number,
): Promise<number | null> {
  const catalogue = gateway.catalogue();
  const { upstreamSilenceSeconds } = catalogue.settings;
  // One bound for all routes, and a short one: an estimate in time is worth more than a count.
  const late = AbortSignal.timeout(Math.min(upstreamSilenceSeconds, secondsMax) * 1000);
  const signal = AbortSignal.any([submission.signal, late]);
  for (const route of offer.routes) {
    const provider = catalogue.providers.get(route.provider);
    if (provider === undefined) continue;
    const attempt: Attempt = {
      provider: endpointOf(provider),
      request,
      upstreamModel: route.upstreamModel,
      maxTokens: 1,
      version: submission.version,
      betas: submission.betas,
      requestId: submission.requestId,
      trace: submission.trace,
      signal,
    };
    try {
      const count = await providerOfKind(gateway, provider).countTokens(attempt);
      if (count !== null) return count;
    } catch (thrown) {
      if (thrown instanceof ProviderFault && thrown.kind === 'rejected') throw faultError(thrown);
      // Otherwise an estimate serves better than an error: nothing is billed by it.
    }
    if (signal.aborted) return null;
  }
  return null;
}
