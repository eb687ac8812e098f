// Admission of a message. The hold covers the worst case of the prompt, one token per byte of text. If that is not
// available, or images and documents make it a large part of what is, the provider's token count is requested. If only
// uncounted prompts of the same account stand in the way, or the message must run alone, it waits. If the wallet is
// short, it waits for an automatic recharge.

import { payingAccountOf, topOf } from '../accounts/accounts.ts';
import { priceWorstCase } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { TurnpikeError } from '../errors.ts';
import { type Admission, type Admit, type Attribution, NO_ATTRIBUTION, type Refusal } from '../ledger/ledger.ts';
import { countByProvider } from './count-tokens.ts';
import type { Gateway } from './dependencies.ts';
import { refusalError } from './message-errors.ts';
import { type AdmissionRequest, maxTokensThatFit, planHeld, planMessage } from './plan-message.ts';
import { mayRecharge } from './recharges.ts';

const COUNTED_FIRST_TOKENS = 30_000; // of images and documents; fewer are held without a count
const LARGE_SHARE = 16; // of what is available, one part: a larger hold is counted first

/** One decision over all meters. A promise only if it must be waited for. */
export function admitMessage(gateway: Gateway, admissionRequest: AdmissionRequest): Admission | Promise<Admission> {
  const { times } = admissionRequest.clientRequest;
  times.askedMs = performance.now();
  const version = gateway.admissions.version(topOf(admissionRequest.caller));
  const admission = askLedger(gateway, admissionRequest, isCountedFirst(admissionRequest) ? LARGE_SHARE : 1);
  if (admission instanceof Promise || isMoneyShort(admission))
    return waitForAdmission(gateway, admissionRequest, admission, version);
  noteAdmitted(admissionRequest, admission);
  return admission;
}

function noteAdmitted(admissionRequest: AdmissionRequest, admission: Admission): void {
  const { offer, plan } = admissionRequest;
  if (admission.ok && plan.isAloneIfShort) admissionRequest.plan = planHeld(plan, offer, admission.amount);
  admissionRequest.clientRequest.times.admittedMs = performance.now();
}

/** Whether the bound may be far above the count, and a count is worth its time if the hold is not small. */
function isCountedFirst({ plan: { isCounted, hasServerTools, measure } }: AdmissionRequest): boolean {
  const isLarge = !measure.isBounded || measure.mediaTokensMax >= COUNTED_FIRST_TOKENS;
  return isLarge && !isCounted && !hasServerTools;
}

async function waitForAdmission(
  gateway: Gateway,
  admissionRequest: AdmissionRequest,
  first: Admission | Promise<Admission>,
  firstVersion: number | null,
): Promise<Admission> {
  const { signal } = admissionRequest.clientRequest;
  const { account, key } = admissionRequest.caller;
  const [top, paying] = [topOf(admissionRequest.caller), payingAccountOf(admissionRequest.caller)];
  const waitUntilMs = performance.now() + bounds.holdWaitMsMax;
  let isAsked = false;
  let version = firstVersion;
  let admission = await first;
  if (isMoneyShort(admission) && isCountedFirst(admissionRequest)) {
    isAsked = true;
    await countPrompt(gateway, admissionRequest);
    version = gateway.admissions.version(top);
    admission = await askLedger(gateway, admissionRequest);
  }
  if (mayRecharge(gateway, paying, admission)) gateway.recharges?.start(paying); // while the prompt is counted
  // Other messages are noticed from here on, so the ledger is asked once more before the wait.
  using _watch = gateway.admissions.watch(top, admissionRequest.plan.isAloneIfShort && isMoneyShort(admission));
  while (mayChange(admissionRequest, admission)) {
    const isCounting: boolean = !isAsked && mayFit(admissionRequest, admission);
    isAsked ||= isCounting;
    if (!isCounting || !(await countPrompt(gateway, admissionRequest))) {
      const waitMs = waitUntilMs - performance.now();
      if (!admission.behindHolds || !(await gateway.admissions.wait(top, version, waitMs, signal))) break;
      gateway.ledger.askAnew(account.id, key.id);
    }
    version = gateway.admissions.version(top);
    admission = await askLedger(gateway, admissionRequest);
  }
  if (mayRecharge(gateway, paying, admission))
    admission = await admitAfterRecharge(gateway, admissionRequest, admission);
  if (admission.ok && isAsked) gateway.counting.noteUseful(top);
  noteAdmitted(admissionRequest, admission);
  return admission;
}

/** Waits for a recharge, and for another one if other messages spent it. */
async function admitAfterRecharge(
  gateway: Gateway,
  admissionRequest: AdmissionRequest,
  refused: Admission,
): Promise<Admission> {
  const { clientRequest, caller } = admissionRequest;
  const { account, key } = caller;
  const paying = payingAccountOf(caller);
  const waitUntilMs = performance.now() + bounds.rechargeWaitMsMax;
  let admission = refused;
  for (let asks = 0; asks < bounds.rechargeAsksMax && mayRecharge(gateway, paying, admission); asks++) {
    const waitMs = waitUntilMs - performance.now();
    if (!(await gateway.recharges?.wait(paying, waitMs, clientRequest.signal))) break;
    gateway.ledger.askAnew(account.id, key.id);
    admission = await askLedger(gateway, admissionRequest);
  }
  return admission;
}

function isMoneyShort(admission: Admission): boolean {
  return !admission.ok && admission.reason === 'insufficient';
}

/** Whether a count of the prompt, or the end of another message, may lead to admission. */
function mayChange(admissionRequest: AdmissionRequest, admission: Admission): admission is Refusal {
  if (admission.ok || admission.reason !== 'insufficient') return false;
  return admission.behindHolds || mayFit(admissionRequest, admission);
}

/** `share`: so many times the hold must be available, although only the hold is taken. */
function askLedger({ ledger }: Gateway, admissionRequest: AdmissionRequest, share = 1): Admission | Promise<Admission> {
  const { clientRequest, caller, request, offer, claim, plan, attribution } = admissionRequest;
  const admit: Admit = {
    kind: 'admit',
    requestId: clientRequest.requestId,
    account: caller.account.id,
    key: caller.key.id,
    group: offer.group.name,
    limits: offer.group.limits,
    amount: plan.amount,
    least: share === 1 ? plan.least : Math.min(bounds.nanoPerMessageMax, plan.amount * share),
    owner: ledger.owner,
    draft: draftOf(offer.model.name, request.stream, attribution),
  };
  if (plan.isAloneIfShort) admit.isAloneIfShort = true;
  if (claim !== null) admit.claim = claim;
  const { item } = clientRequest;
  const reserve = item?.reserveOf(offer.group.name) ?? null;
  if (reserve !== null) admit.reserve = reserve;
  if (item !== null && item.done !== null) admit.isDone = true;
  return ledger.admit(admit);
}

/** Most messages have no attribution, which is then neither sent nor stored. */
function draftOf(model: string, stream: boolean, attribution: Attribution): Admit['draft'] {
  if (attribution === NO_ATTRIBUTION) return { model, stream };
  const { tags, session, agent, tagSet } = attribution; // written out, because a spread costs several times as much
  return { model, stream, tags, session, agent, tagSet };
}

/** Whether only the prompt estimate stands in the way: a likely count would fit. */
function mayFit({ offer, plan }: AdmissionRequest, refusal: Refusal): boolean {
  if (plan.isCounted) return false;
  const likely = { ...plan.worstCase, inputTokens: Math.floor(plan.inputEstimate / 2) };
  return priceWorstCase(offer.model.price, likely, offer.group.multiplierMillionths) <= refusal.available;
}

/** Plans the message by the provider's count. False if it cannot count, or too many counts are in progress. */
async function countPrompt(gateway: Gateway, admissionRequest: AdmissionRequest): Promise<boolean> {
  const { caller, request, offer, terms, plan } = admissionRequest;
  if (!gateway.counting.take(topOf(caller), gateway.clock.nowMs())) return false;
  try {
    const counted = await countByProvider(gateway, admissionRequest, bounds.promptCountSecondsMax);
    if (counted !== null) admissionRequest.plan = planMessage(request, offer, terms, plan.measure, counted);
    return counted !== null;
  } catch {
    return false; // the message is refused for insufficient balance, whatever else is wrong with it
  } finally {
    gateway.counting.giveBack(topOf(caller));
  }
}

/** The error for a refused message. */
export function refuseMessage(
  gateway: Gateway,
  { request, offer, plan }: AdmissionRequest,
  refusal: Refusal,
  headers: Record<string, string>,
): TurnpikeError {
  const { reason, available } = refusal;
  const mayLower = reason === 'insufficient' && available > 0 && !request.stream;
  return refusalError(refusal, {
    nowMs: gateway.clock.nowMs(),
    amount: plan.least,
    isLeast: request.stream,
    headers,
    maxTokensThatFit: mayLower ? maxTokensThatFit(plan, offer, available) : 0,
  });
}
