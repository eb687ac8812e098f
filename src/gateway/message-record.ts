// The usage record of a message at its end, or at a checkpoint.

import { exactNumber } from '../base/checked-number.ts';
import { type Nano, parseUsd } from '../base/money.ts';
import {
  hasTier,
  type Offer,
  priceMessage,
  priceRoute,
  type Route,
  rateRecord,
  UNBILLED_RATES,
  unitCostsOf,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { storableMessage, type TurnpikeError } from '../errors.ts';
import { emptyRecord, type Outcome, type Settlement, type UsageRecord } from '../ledger/ledger.ts';
import {
  BILLS,
  type CountedUsage,
  type Ending,
  isOfUnknownTier,
  knownOf,
  type MadeCounts,
  MessageCounter,
  splitSound,
} from '../usage/usage.ts';
import {
  dearerTier,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  makeEvent,
  type ServiceTier,
  type StreamEvent,
  type TokenCounts,
  type Units,
  unitEntries,
  unitsOf,
} from '../wire/wire.ts';
import type { MessageReport, WholeAnswer } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { ResponseCollector } from './idempotency-records.ts';
import type { OpenAttempt } from './open-attempt.ts';
import type { AdmissionRequest, AdmittedRequest, MessagePlan } from './plan-message.ts';

/** A message at its end, or at a checkpoint. */
export interface EndedMessage {
  readonly admitted: AdmittedRequest;
  /** The one that answered, or the last one; null before the first. */
  readonly attempt: OpenAttempt | null;
  readonly attempts: UsageRecord['attempts'];
  readonly outcome: Outcome;
  readonly ending: Ending;
  readonly status: number;
  readonly error: TurnpikeError | null;
  /** Output tokens that the hold of a stream pays for; null if the message is not streamed. */
  readonly coveredTokens: number | null;
}

export function makeRecord(
  { clock }: Pick<Gateway, 'clock'>,
  { admitted, attempt, attempts, outcome, status, error }: EndedMessage,
  usage: CountedUsage,
): UsageRecord {
  const { clientRequest, caller, offer, plan, isStream, attribution } = admitted;
  const { tags, session, agent, tagSet } = attribution;
  const { model, group } = offer;
  const { counts, source } = usage;
  const isUnbilled = attempt?.isUnbilled === true; // by the provider: it costs nothing, whatever its tokens
  const route = attempt?.target.route ?? null;
  const tierAsked = plan.firstCase.tier;
  const rated = [model.price, counts, group.multiplierMillionths, tierServed(offer, tierAsked, usage.tier)] as const;
  const { startedMs, admittedMs } = clientRequest.times;
  const cost = source === 'none' || isUnbilled ? 0 : priceMessage(...rated);
  const rates = source === 'none' ? {} : isUnbilled ? UNBILLED_RATES : rateRecord(...rated);
  const unitCosts = unitCostsOf(cost, rates, counts);
  return {
    requestId: clientRequest.requestId,
    atMs: 0,
    account: caller.account.id,
    key: caller.key.id,
    above: [],
    payer: caller.account.id,
    person: null,
    group: group.name,
    model: model.name,
    provider: route?.provider ?? null,
    upstreamModel: route?.upstreamModel ?? null,
    stream: isStream,
    outcome,
    status,
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWrite5mTokens: counts.cacheWrite5m,
    cacheWrite1hTokens: counts.cacheWrite1h,
    webSearches: counts.webSearches,
    usageSource: source,
    cost,
    writtenOff: 0,
    planPaid: 0,
    providerCost: isUnbilled ? 0 : costInBatch(costOf(route, tierAsked, usage), admitted, attempt),
    rates,
    attempts,
    error: error && { code: error.code, message: storableMessage(error).slice(0, bounds.recordedErrorCharactersMax) },
    admittedMs: admittedMs === null ? null : Math.round(admittedMs - startedMs),
    latencyMs: Math.max(0, clock.nowMs() - clientRequest.receivedAtMs),
    firstTokenMs: attempt?.firstTokenMs ?? null,
    meters: null,
    tags,
    session,
    agent,
    tagSet,
    ...(model.serves !== 'messages' && { endpoint: model.serves }),
    ...(counts.units !== undefined && { units: counts.units }),
    ...(unitCosts !== undefined && { unitCosts }),
  };
}

export function makeReport(
  { admitted, attempt, error }: EndedMessage,
  record: UsageRecord,
  usage: CountedUsage,
): MessageReport {
  return {
    record,
    caller: admitted.caller,
    tagsInMetrics: admitted.catalog.settings.tagsInMetrics,
    clientRequest: admitted.clientRequest,
    providerKind: attempt?.target.settings.kind ?? null,
    responseModel: attempt?.counter.model ?? null,
    stopReason: attempt?.counter.stopReason ?? null,
    code: error?.code ?? null,
    cause: error?.details.cause ?? null,
    upstreamRequestId: attempt?.upstreamRequestId ?? null,
    disbelieved: usage.disbelieved,
    unknown: unknownIn(admitted, usage),
    contradicted: usage.contradicted,
    leftOut: attempt?.leftOut ?? [],
    writeOffReason: writeOffReason(admitted, record, usage),
  };
}

/**
 * Reason of a write-off: `prompt` if the amount paid does not cover the prompt, otherwise `output` (including web
 * searches). null: no write-off.
 */
function writeOffReason(
  { offer, plan }: AdmittedRequest,
  record: UsageRecord,
  usage: CountedUsage,
): 'prompt' | 'output' | null {
  if (record.writtenOff === 0) return null;
  const { model, group } = offer;
  const prompt = { ...usage.counts, output: 0, webSearches: 0 };
  const tier = tierServed(offer, plan.firstCase.tier, usage.tier);
  const promptCost = priceMessage(model.price, prompt, group.multiplierMillionths, tier);
  return record.cost - record.writtenOff < promptCost ? 'prompt' : 'output';
}

/** The provider's charge; null if it is unknown, also for a service tier without rates, which nobody requested. */
function costOf(route: Route | null, tierAsked: ServiceTier, usage: CountedUsage): Nano | null {
  if (route === null || isOfUnknownTier(usage)) return null;
  return priceRoute(route, usage.counts, usage.tier ?? tierAsked);
}

const MILLION = 1_000_000n;

/** The provider's charge for work that it did in a batch of its own, rounded up. */
function costInBatch(cost: Nano | null, { clientRequest }: AdmittedRequest, attempt: OpenAttempt | null): Nano | null {
  if (cost === null || attempt === null || clientRequest.item?.done == null) return cost;
  const { batchCostMillionths } = attempt.target.settings;
  return exactNumber((BigInt(cost) * batchCostMillionths + MILLION - 1n) / MILLION);
}

/** Names of what the provider reported and nobody expected, for the operator: numbers, and a service tier that was not requested. */
function unknownIn({ plan }: AdmittedRequest, { unknown, tier }: CountedUsage): string[] {
  if (tier === null || tier === 'standard' || tier === plan.firstCase.tier) return unknown;
  return [...unknown, tier === 'fast' ? 'speed.fast' : `service_tier.${tier}`];
}

/** The tier reported by the provider. One without rates was not requested: what was requested is billed, or standard if that is dearer. */
function tierServed({ model }: Offer, tierAsked: ServiceTier, reported: ServiceTier | null): ServiceTier {
  const tier = reported ?? tierAsked;
  return hasTier(model.price, tier) ? tier : dearerTier(tierAsked, 'standard');
}

/** The facts that decide a bill. */
export interface Billing extends Pick<EndedMessage, 'ending' | 'coveredTokens'> {
  readonly admitted: Pick<AdmittedRequest, 'maxTokens'> & {
    readonly offer: { readonly model: Pick<Offer['model'], 'serves'> };
    readonly plan: Pick<MessagePlan, 'thinks' | 'firstCase' | 'hasServerTools' | 'isCompacted'>;
  };
  readonly attempt: { readonly counter: MessageCounter; readonly units?: Units | null } | null;
}

/** The counter of a message before its first attempt. */
export const NOTHING_SENT = new MessageCounter();

/** Token counts to bill, and their source. `none` is not charged. */
export function billMessage({ attempt, admitted, coveredTokens, ending }: Billing, made: MadeCounts): CountedUsage {
  const { plan, maxTokens, offer } = admitted;
  const isMessage = offer.model.serves === 'messages';
  const counter = attempt?.counter ?? NOTHING_SENT;
  const isPromptCorrected =
    coveredTokens !== null && counter.reportedPrompt() !== null && !plan.hasServerTools && !plan.isCompacted;
  const { inputTokens, webSearches, units, speaks } = plan.firstCase;
  const sound = isMessage ? (units?.counts.input_audio_tokens ?? 0) : 0;
  const held = {
    inputTokens: isPromptCorrected ? 0 : inputTokens + sound, // beyond what was reported
    webSearches,
    outputTokens: coveredTokens ?? maxTokens,
  };
  const usage = counter.bill(ending, { held, outputTokensMax: maxTokens }, plan.thinks, made);
  if ((units === undefined && speaks === undefined) || usage.source === 'none') return usage;
  if (isMessage) return { ...usage, counts: splitSound(usage.counts, plan.firstCase, counter.reportedSound()) };
  if (units === undefined) return usage;
  return { ...usage, counts: { ...usage.counts, units: billUnits(units, attempt?.units ?? null) } };
}

/**
 * The reported units, none more than the request may use; without a report, what the request may use. The length of a file of sound is what
 * its head says, so more seconds may be reported.
 */
function billUnits(most: Units, reported: Units | null): Units {
  const counts = unitEntries(most).map(([unit, held]) => {
    const credible = unit === 'seconds' ? bounds.soundSecondsMax : held;
    return [unit, Math.min(credible, reported?.counts[unit] ?? held)];
  });
  return unitsOf(Object.fromEntries(counts), reported?.image ?? most.image);
}

/** Whether counts that the provider did not report would change the bill. */
export function needsCounts({ attempt, admitted, ending }: Billing): boolean {
  if (attempt === null) return false;
  const known = knownOf(attempt.counter.evidence(admitted.maxTokens, admitted.plan.thinks));
  return BILLS[ending][known] !== 'nothing' && known !== 'nothing' && known !== 'final';
}

/** Gives the counts so far: reported ones, and estimates of the others. */
type CountsSoFar = () => TokenCounts;

/** The same events, with estimates in place of missing required counts. */
export function completeEvents(events: StreamEvent[], countsSoFar: CountsSoFar): StreamEvent[] {
  if (!events.some(isLacking)) return events; // the common case
  return events.map((event) => (isLacking(event) ? completeEvent(event.value, countsSoFar()) : event));
}

/** A whole message with its JSON, and with missing required counts filled in. */
export function completeMessage(whole: JsonObject, text: string, countsSoFar: CountsSoFar): WholeAnswer {
  const { usage } = whole;
  if (!lacks(usage, 'input_tokens') && !lacks(usage, 'output_tokens')) return { text, message: whole };
  const counted = { ...whole, usage: completed(usage, countsSoFar()) };
  return { text: JSON.stringify(counted), message: counted };
}

/** The same events, with this output count in place of an estimate. */
export function withOutputCount(events: StreamEvent[], output: number): StreamEvent[] {
  return events.map((event) => {
    const { usage } = event.value;
    if (event.name !== 'message_delta' || event.native !== undefined || !isJsonObject(usage)) return event;
    return makeEvent({ ...event.value, type: 'message_delta', usage: { ...usage, output_tokens: output } });
  });
}

function isLacking({ name, value, native }: StreamEvent): boolean {
  if (name === 'content_block_delta' || native !== undefined) return false;
  if (value['type'] === 'message_delta') return lacks(value['usage'], 'output_tokens');
  const { message } = value;
  return value['type'] === 'message_start' && isJsonObject(message) && lacks(message['usage'], 'input_tokens');
}

/** A `usage` that is not an object is passed on as it is. */
function lacks(usage: JsonValue | undefined, name: string): usage is JsonObject {
  return isJsonObject(usage) && typeof usage[name] !== 'number';
}

function completeEvent(value: JsonObject, counts: TokenCounts): StreamEvent {
  const { message, usage } = value;
  if (value['type'] === 'message_delta')
    return makeEvent({ ...value, type: 'message_delta', usage: completed(usage, counts) });
  const begun = isJsonObject(message) ? message : {};
  const atStart = { ...counts, output: 0 };
  return makeEvent({
    ...value,
    type: 'message_start',
    message: { ...begun, usage: completed(begun['usage'], atStart) },
  });
}

function completed(usage: JsonValue | undefined, counts: TokenCounts): JsonObject {
  return {
    input_tokens: counts.input,
    cache_creation_input_tokens: counts.cacheWrite5m + counts.cacheWrite1h,
    cache_read_input_tokens: counts.cacheRead,
    output_tokens: counts.output,
    ...(isJsonObject(usage)
      ? Object.fromEntries(Object.entries(usage).filter(([, reported]) => reported !== null))
      : {}),
  };
}

/**
 * Settles or releases the hold of a message. An answer that was delivered to its end, or would have been without the disconnect,
 * answers the idempotency record. Rejects with store_unavailable.
 */
export function endHold(
  { ledger, answers, clock }: Gateway,
  { catalog: { settings }, clientRequest, offer }: Pick<AdmittedRequest, 'catalog' | 'clientRequest' | 'offer'>,
  answer: ResponseCollector | null,
  record: UsageRecord,
): Promise<Settlement> {
  const { requestId, outcome, usageSource } = record;
  const waitMs = settings.settleWaitSeconds * 1000;
  const done = clientRequest.item?.done == null ? {} : ({ isDone: true } as const);
  if (answer === null || (outcome !== 'completed' && !(outcome === 'client_gone' && answer.isWhole)))
    return ledger.end(
      usageSource === 'none'
        ? { kind: 'release', requestId, record, ...reserveOf(clientRequest, offer) }
        : { kind: 'settle', requestId, record, ...done },
      waitMs,
    );
  let rows: unknown[] = [];
  try {
    rows = answers.rowsOf(answer, requestId, clock.nowMs());
  } catch {
    // A response that cannot be sealed is not stored; the message is billed all the same.
  }
  const reversalsMax = parseUsd(settings.reversalsPerAccountDay) ?? 0;
  return ledger.end({ kind: 'settle', requestId, record, isAnswer: true, reversalsMax, ...done }, waitMs, rows);
}

/** The reserve that a request of a batch returns its hold to, because it is perhaps sent again. */
function reserveOf({ item }: AdmittedRequest['clientRequest'], { group }: Offer): { reserve?: string } {
  const reserve = item?.reserveOf(group.name) ?? null;
  return reserve === null ? {} : { reserve };
}

/** Releases the hold of a message, and records that it failed. Rejects with store_unavailable. */
export function releaseHold(
  gateway: Gateway,
  {
    clientRequest,
    caller,
    catalog,
    offer,
    attribution,
  }: Pick<AdmissionRequest, 'clientRequest' | 'caller' | 'catalog' | 'offer' | 'attribution'>,
  stream: boolean,
): Promise<Settlement> {
  const { requestId } = clientRequest;
  const { account, key } = caller;
  const { group, model } = offer;
  const known = {
    requestId,
    account: account.id,
    key: key.id,
    group: group.name,
    model: model.name,
    stream,
    ...attribution,
  };
  const record = { ...emptyRecord(known), outcome: 'failed' as const };
  const release = { kind: 'release' as const, requestId, record, ...reserveOf(clientRequest, offer) };
  return gateway.ledger.end(release, catalog.settings.settleWaitSeconds * 1000);
}
