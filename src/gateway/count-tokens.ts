// Counts the tokens of a prompt: by the provider if it can, otherwise estimated. Takes one request of the rate limit;
// free of charge.

import { hiddenFromAccounts } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { ProviderFault } from '../providers/providers.ts';
import { isOfCredential } from './attempts.ts';
import type { Gateway } from './dependencies.ts';
import { faultError } from './message-errors.ts';
import { type AdmissionRequest, measureFor } from './plan-message.ts';
import { makeAttempt, providerOfKind } from './provider-request.ts';
import type { BreakerState } from './route-health.ts';
import { AttemptIterator, findTargets, presentTarget } from './targets.ts';

/** The request to count, and its caller. */
export type CountRequest = Pick<AdmissionRequest, 'clientRequest' | 'caller' | 'catalog' | 'request' | 'offer'>;

/** The JSON of the answer. Throws upstream_rejected if the provider rejects the prompt by a field of it. */
export async function countPrompt(gateway: Gateway, counted: CountRequest): Promise<string> {
  const tokens = await countByProvider(gateway, counted, bounds.countTokensSecondsMax);
  const input_tokens = tokens ?? (await measureFor(counted.request, counted.offer)).typicalTokens;
  return JSON.stringify({ input_tokens });
}

/** The provider's count; null if it cannot count now. Throws upstream_rejected if it rejects the prompt by a field of it. */
export async function countByProvider(
  gateway: Gateway,
  counted: CountRequest,
  secondsMax: number,
): Promise<number | null> {
  const { clientRequest, caller, catalog, request, offer } = counted;
  const { upstreamSilenceSeconds } = catalog.settings;
  // One short time limit for all targets: an early estimate is worth more than a late count.
  const late = AbortSignal.timeout(Math.min(upstreamSilenceSeconds, secondsMax) * 1000);
  const signal = AbortSignal.any([clientRequest.signal, late]);
  const admissionRequest = { account: caller.account.id, key: caller.key.id, offer, request };
  const attemptIterator = new AttemptIterator(findTargets(gateway, catalog, admissionRequest).targets, secondsMax);
  let refusal: ProviderFault | null = null; // by the first provider that does not support the request
  let hasFailed = false;
  for (let listed = attemptIterator.next(); listed !== null; listed = attemptIterator.next()) {
    const target = presentTarget(gateway.catalog(), counted, listed);
    if (target === null) continue;
    const provider = providerOfKind(gateway, target.settings);
    const exact = provider.countLocally(request);
    if (exact !== null) return exact;
    if (isUnhealthy(gateway.health.breakerState(target))) continue;
    attemptIterator.begin(target);
    const attempt = makeAttempt({ request, clientRequest, maxTokens: 1 }, target, signal, clientRequest.trace);
    try {
      const count = await provider.countTokens(attempt);
      if (count !== null) {
        gateway.counting.noteCounter(target.settings.name);
        return count;
      }
      attemptIterator.giveUp(target); // the provider cannot count, whatever the credential
    } catch (thrown) {
      const kind = thrown instanceof ProviderFault ? thrown.kind : 'failed';
      if (kind === 'rejected') {
        const fault = thrown as ProviderFault;
        if (refusesContent(fault)) throw faultError(fault, hiddenFromAccounts(catalog));
        if (fault.isUnsupported) refusal ??= fault;
        else hasFailed = true;
      } else hasFailed = true;
      // On other failures an estimate serves better than an error: nothing is billed by it.
      if (!isOfCredential(kind)) attemptIterator.giveUp(target);
    }
    if (signal.aborted) return null;
  }
  if (refusal !== null && !hasFailed) throw faultError(refusal, hiddenFromAccounts(catalog));
  return null;
}

/** A field of the prompt, in the words of the Messages protocol: "messages.0.content: …". */
const OF_PROMPT = /^(?:messages|system|tools|tool_choice)(?:\.[\w-]+)*: (?!Extra inputs are not permitted)/;

/**
 * Whether a counter refuses the prompt, which the model would refuse, too. Any other refusal is only the counter's: of the
 * model, which it cannot count (Bedrock: "The provided model doesn't support counting tokens."), or of a field.
 */
function refusesContent({ isUnsupported, message }: ProviderFault): boolean {
  return !isUnsupported && OF_PROMPT.test(message);
}

/** Counting must not probe unhealthy targets; messages do that. */
function isUnhealthy(breakerState: BreakerState): boolean {
  return breakerState === 'open' || breakerState === 'resting';
}
