// Admission of a message. The hold covers the worst case of the prompt, one token per byte. If that is not available,
// the provider's token count is requested. If only uncounted prompts of the same account stand in the way, the
// message waits for them.

import type { Caller } from '../accounts/accounts.ts';
import { type Offer, priceWorstCase } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import type { TurnpikeError } from '../errors.ts';
import type { Admission, IdempotencyClaim, Refusal } from '../ledger/ledger.ts';
import type { MessageRequest } from '../wire/wire.ts';
import type { ClientRequest } from './client-request.ts';
import { countByProvider } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { type MessagePlan, maxTokensThatFit, type PlanTerms, planMessage } from './plan-message.ts';
import { isIdempotencyRefusal, refusalError } from './refusal-error.ts';

/** A message that requests admission. */
export interface AdmissionRequest {
  clientRequest: ClientRequest;
  caller: Caller;
  request: MessageRequest;
  offer: Offer;
  terms: PlanTerms;
  claim: IdempotencyClaim | null;
}

/** One decision over all meters, with the plan that it is based on. */
export async function admitMessage(
  gateway: Gateway,
  admissionRequest: AdmissionRequest,
): Promise<{ plan: MessagePlan; admission: Admission }> {
  const { times } = admissionRequest.clientRequest;
  times.askedMs = performance.now();
  const { account, key } = admissionRequest.caller;
  let plan = planMessage(admissionRequest.request, admissionRequest.offer, admissionRequest.terms);
  let isAsked = false;
  let isCounted = false;
  for (const waitUntilMs = times.askedMs + bounds.holdWaitMsMax; ; ) {
    const version = gateway.admissions.version(account.id);
    const admission = await askLedger(gateway, admissionRequest, plan);
    if (admission.ok || isIdempotencyRefusal(admission) || admission.reason !== 'insufficient') {
      if (admission.ok && isCounted) gateway.counting.noteUseful(account.id);
      times.admittedMs = performance.now();
      return { plan, admission };
    }
    if (!isAsked && mayFit(admissionRequest, plan, admission)) {
      isAsked = true;
      const counted = await countPrompt(gateway, admissionRequest);
      isCounted = counted !== null;
      if (isCounted) {
        plan = planMessage(admissionRequest.request, admissionRequest.offer, admissionRequest.terms, counted);
        continue;
      }
    }
    const waitMs = waitUntilMs - performance.now();
    const { signal } = admissionRequest.clientRequest;
    if (!admission.behindHolds || !(await gateway.admissions.wait(account.id, version, waitMs, signal))) {
      times.admittedMs = performance.now();
      return { plan, admission };
    }
    gateway.ledger.askAnew(account.id, key.id);
  }
}

function askLedger(
  { ledger }: Gateway,
  admissionRequest: AdmissionRequest,
  { amount, least }: MessagePlan,
): Admission | Promise<Admission> {
  const { clientRequest, caller, request, offer, claim } = admissionRequest;
  return ledger.admit({
    kind: 'admit',
    requestId: clientRequest.requestId,
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

/** Whether only the prompt estimate stands in the way: a likely count would fit. */
function mayFit({ offer }: AdmissionRequest, plan: MessagePlan, refusal: Refusal): boolean {
  if (refusal.reason !== 'insufficient' || plan.isCounted) return false;
  const likely = { ...plan.worstCase, inputTokens: Math.floor(plan.inputEstimate / 2) };
  return priceWorstCase(offer.model.price, likely, offer.group.multiplierMillionths) <= refusal.available;
}

/** The provider's count; null if it cannot count, or too many counts are in progress. */
async function countPrompt(gateway: Gateway, admissionRequest: AdmissionRequest): Promise<number | null> {
  const { caller } = admissionRequest;
  if (!gateway.counting.take(caller.account.id, gateway.clock.nowMs())) return null;
  try {
    return await countByProvider(gateway, admissionRequest, bounds.promptCountSecondsMax);
  } catch {
    return null; // the message is refused for insufficient balance, whatever else is wrong with it
  } finally {
    gateway.counting.giveBack(caller.account.id);
  }
}

/** The error for a refused message. */
export function refuseMessage(
  gateway: Gateway,
  { request, offer }: AdmissionRequest,
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
