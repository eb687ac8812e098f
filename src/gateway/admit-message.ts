// Admission of a message: planned by what is likely, held by the ledger. Where a prompt of one token a byte could
// not be paid, its provider is asked for its count before the message is refused.

import type { Caller } from '../accounts/accounts.ts';
import { type Offer, priceWorstCase } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import type { TurnpikeError } from '../errors.ts';
import type { Admission, Claim, Refusal } from '../ledger/ledger.ts';
import type { MessageRequest } from '../wire/wire.ts';
import { countByProvider } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { type MessagePlan, maxTokensThatFit, type PlanTerms, planMessage } from './plan-message.ts';
import { isClaimRefusal, refusalError } from './refusal-error.ts';
import type { Submission } from './submission.ts';

/** What is asked to be admitted. */
export interface Asked {
  submission: Submission;
  caller: Caller;
  request: MessageRequest;
  offer: Offer;
  terms: PlanTerms;
  claim: Claim | null;
}

/** One decision over all meters, with the plan that it was made by. */
export async function admitMessage(
  gateway: Gateway,
  asked: Asked,
): Promise<{ plan: MessagePlan; admission: Admission }> {
  const { times } = asked.submission;
  times.askedMs = performance.now();
  let plan = planMessage(asked.request, asked.offer, asked.terms);
  let admission = await askLedger(gateway, asked, plan);
  if (!admission.ok && !isClaimRefusal(admission) && mayFit(asked, plan, admission)) {
    const counted = await countPrompt(gateway, asked);
    if (counted !== null) {
      plan = planMessage(asked.request, asked.offer, asked.terms, counted);
      admission = await askLedger(gateway, asked, plan);
      if (admission.ok) gateway.counting.noteUseful(asked.caller.account.id);
    }
  }
  times.admittedMs = performance.now();
  return { plan, admission };
}

function askLedger({ ledger }: Gateway, asked: Asked, { amount, least }: MessagePlan): Promise<Admission> {
  const { submission, caller, request, offer, claim } = asked;
  return ledger.admit({
    kind: 'admit',
    requestId: submission.requestId,
    account: caller.account.id,
    key: caller.key.id,
    group: offer.group.name,
    limits: offer.group.limits,
    amount,
    least,
    owner: ledger.owner,
    ...(claim !== null && { claim }),
    draft: { model: offer.model.name, stream: request.stream },
  });
}

/** Whether it is the prompt's estimate alone that stands in the way: by a likely count it could be paid. */
function mayFit({ offer }: Asked, plan: MessagePlan, refusal: Refusal): boolean {
  if (refusal.reason !== 'insufficient' || plan.isCounted) return false;
  const likely = { ...plan.worstCase, inputTokens: Math.floor(plan.inputEstimate / 2) };
  return priceWorstCase(offer.model.price, likely, offer.group.multiplierMillionths) <= refusal.available;
}

/** The provider's count, or null when it has none to give soon, or too many are being asked for. */
async function countPrompt(gateway: Gateway, asked: Asked): Promise<number | null> {
  const { caller } = asked;
  if (!gateway.counting.take(caller.account.id, gateway.clock.nowMs())) return null;
  try {
    return await countByProvider(gateway, asked, bounds.promptCountSecondsMax);
  } catch {
    return null; // the message is refused for its money, whatever else is wrong with it
  } finally {
    gateway.counting.giveBack(caller.account.id);
  }
}

/** The error of a message that was refused. */
export function refuseMessage(
  gateway: Gateway,
  { request, offer }: Asked,
  plan: MessagePlan,
  refusal: Refusal,
  headers: Record<string, string>,
): TurnpikeError {
  return refusalError(refusal, {
    nowMs: gateway.clock.nowMs(),
    amount: plan.least,
    isLeast: request.stream,
    headers,
    maxTokensThatFit: request.stream ? null : (available) => maxTokensThatFit(plan, offer, available),
  });
}
