// The usage record of a message at its end, or at a checkpoint.

import type { Nano } from '../base/money.ts';
import {
  type Catalog,
  hasTier,
  type Offer,
  priceMessage,
  priceRoute,
  type Route,
  rateRecord,
  UNBILLED_RATES,
} from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { storableMessage, type TurnpikeError } from '../errors.ts';
import { emptyRecord, type Outcome, type Settlement, type UsageRecord } from '../ledger/ledger.ts';
import {
  BILLS,
  type CountedUsage,
  type Ending,
  type Held,
  isOfUnknownTier,
  knownOf,
  type MadeCounts,
  type MessageCounter,
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
} from '../wire/wire.ts';
import type { WholeAnswer } from './client-request.ts';
import type { Gateway } from './dependencies.ts';
import type { StopReason } from './message-errors.ts';
import type { MessagePlan } from './plan-message.ts';
import type { StreamHold } from './stream-hold.ts';

/** The properties of a message that its record needs, besides usage. */
export interface RecordedMessage {
  readonly requestId: string;
  readonly caller: { account: { id: number }; key: { id: number } };
  readonly offer: Offer;
  readonly isStream: boolean;
  /** The route that answered, or was tried last. */
  readonly route: Route | null;
  readonly attempts: UsageRecord['attempts'];
  readonly admittedMs: number | null;
  readonly firstTokenMs: number | null;
  readonly tierAsked: ServiceTier;
  /** The provider does not bill the answer, so it costs nothing, whatever its tokens. */
  readonly isUnbilled: boolean;
}

export function makeRecord(
  message: RecordedMessage,
  outcome: Outcome,
  status: number,
  usage: CountedUsage,
  latencyMs: number,
  error: TurnpikeError | null,
): UsageRecord {
  const { isUnbilled, offer } = message;
  const { model, group } = offer;
  const { counts, source } = usage;
  const tier = tierServed(message, usage.tier);
  return {
    requestId: message.requestId,
    atMs: 0,
    account: message.caller.account.id,
    key: message.caller.key.id,
    group: group.name,
    model: model.name,
    provider: message.route?.provider ?? null,
    upstreamModel: message.route?.upstreamModel ?? null,
    stream: message.isStream,
    outcome,
    status,
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWrite5mTokens: counts.cacheWrite5m,
    cacheWrite1hTokens: counts.cacheWrite1h,
    webSearches: counts.webSearches,
    usageSource: source,
    cost: source === 'none' || isUnbilled ? 0 : priceMessage(model.price, counts, group.multiplierMillionths, tier),
    writtenOff: 0,
    planPaid: 0,
    providerCost: isUnbilled ? 0 : costOf(message, usage),
    rates:
      source === 'none'
        ? {}
        : isUnbilled
          ? UNBILLED_RATES
          : rateRecord(model.price, counts, group.multiplierMillionths, tier),
    attempts: message.attempts,
    error: error && { code: error.code, message: storableMessage(error).slice(0, bounds.recordedErrorCharactersMax) },
    admittedMs: message.admittedMs,
    latencyMs,
    firstTokenMs: message.firstTokenMs,
    meters: null,
  };
}

/**
 * Reason of a write-off: `prompt` if the amount paid does not cover the prompt, otherwise `output` (including web
 * searches). null: no write-off.
 */
export function writeOffReason(
  message: RecordedMessage,
  record: UsageRecord,
  usage: CountedUsage,
): 'prompt' | 'output' | null {
  if (record.writtenOff === 0) return null;
  const { model, group } = message.offer;
  const prompt = { ...usage.counts, output: 0, webSearches: 0 };
  const promptCost = priceMessage(model.price, prompt, group.multiplierMillionths, tierServed(message, usage.tier));
  return record.cost - record.writtenOff < promptCost ? 'prompt' : 'output';
}

/** The provider's charge; null if it is unknown, also for a service tier without rates, which nobody requested. */
function costOf({ route, tierAsked }: RecordedMessage, usage: CountedUsage): Nano | null {
  if (route === null || isOfUnknownTier(usage)) return null;
  return priceRoute(route, usage.counts, usage.tier ?? tierAsked);
}

/** Names of what the provider reported and nobody expected, for the operator: numbers, and a service tier that was not requested. */
export function unknownIn({ tierAsked }: RecordedMessage, { unknown, tier }: CountedUsage): string[] {
  if (tier === null || tier === 'standard' || tier === tierAsked) return unknown;
  return [...unknown, tier === 'fast' ? 'speed.fast' : `service_tier.${tier}`];
}

/** The tier reported by the provider. One without rates was not requested: what was requested is billed, or standard if that is dearer. */
function tierServed({ offer, tierAsked }: RecordedMessage, reported: ServiceTier | null): ServiceTier {
  const tier = reported ?? tierAsked;
  return hasTier(offer.model.price, tier) ? tier : dearerTier(tierAsked, 'standard');
}

/** The properties of a message that decide its bill. */
export interface BilledMessage {
  readonly counter: MessageCounter;
  readonly plan: Pick<MessagePlan, 'inputEstimate' | 'thinks' | 'firstCase' | 'hasServerTools' | 'isCompacted'>;
  /** The max_tokens sent to the provider. */
  readonly maxTokens: number;
  /** null if the message is not streamed. */
  readonly streamHold: Pick<StreamHold, 'coveredTokens' | 'isExhausted'> | null;
  readonly stopReason: StopReason | null;
  /** The model left no usable answer. */
  readonly isUnusable: boolean;
  /** null if it was sent to no provider. */
  readonly route: Route | null;
}

/** Who ended a message, by its outcome. */
export function endingOf(message: BilledMessage, outcome: Outcome): Ending {
  if (message.isUnusable) return 'unusable';
  if (outcome === 'failed' || message.route === null) return 'refused';
  if (outcome === 'quota_cut') return 'money';
  if (outcome === 'completed' || message.counter.finished) return 'answered';
  if (outcome === 'client_gone') return message.streamHold?.isExhausted === true ? 'money' : 'client';
  if (outcome === 'upstream_cut') return 'provider';
  return message.stopReason === 'revoked' ? 'revoked' : 'service';
}

/** Token counts to bill, and their source. `none` is not charged. */
export function billMessage(message: BilledMessage, outcome: Outcome, made: MadeCounts): CountedUsage {
  const limits = { held: heldBy(message), outputTokensMax: message.maxTokens };
  return message.counter.bill(endingOf(message, outcome), limits, message.plan.thinks, made);
}

/** Whether counts that the provider did not report would change the bill. */
export function needsCounts(message: BilledMessage, outcome: Outcome): boolean {
  const { counter, maxTokens, plan } = message;
  const known = knownOf(counter.evidence(maxTokens, plan.thinks));
  return BILLS[endingOf(message, outcome)][known] !== 'nothing' && known !== 'nothing' && known !== 'final';
}

/** The amounts that the hold of the message pays for. */
function heldBy({ counter, plan, maxTokens, streamHold }: BilledMessage): Held {
  const { inputTokens, webSearches } = plan.firstCase;
  const isCorrected =
    streamHold !== null && counter.reportedPrompt() !== null && !plan.hasServerTools && !plan.isCompacted;
  return {
    inputTokens: isCorrected ? 0 : inputTokens, // beyond what was reported
    webSearches,
    outputTokens: streamHold?.coveredTokens ?? maxTokens,
  };
}

/** Estimates of what was not reported, made without waiting. */
export function estimateUsage({ counter, plan, maxTokens }: BilledMessage): CountedUsage {
  return counter.estimate({ inputEstimate: plan.inputEstimate, outputTokensMax: maxTokens });
}

interface CountingMessage {
  /** Reported counts, and estimates of the others. */
  countsSoFar(): TokenCounts;
}

/** The same events, with estimates in place of missing required counts. */
export function completeEvents(events: StreamEvent[], message: CountingMessage): StreamEvent[] {
  if (!events.some(isLacking)) return events; // the common case
  return events.map((event) => (isLacking(event) ? completeEvent(event.value, message.countsSoFar()) : event));
}

/** A whole message with its JSON, and with missing required counts filled in. */
export function completeMessage(whole: JsonObject, text: string, message: CountingMessage): WholeAnswer {
  const { usage } = whole;
  if (!lacks(usage, 'input_tokens') && !lacks(usage, 'output_tokens')) return { text, message: whole };
  const counted = { ...whole, usage: completed(usage, message.countsSoFar()) };
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

/** A message with a hold and no record. */
export interface HeldMessage extends Pick<RecordedMessage, 'requestId' | 'caller' | 'offer' | 'isStream'> {
  readonly catalog: Catalog;
}

/** Releases the hold and records that the message failed. Rejects with store_unavailable. */
export function releaseHold(
  gateway: Gateway,
  { requestId, caller, catalog, offer, isStream }: HeldMessage,
): Promise<Settlement> {
  const { account, key } = caller;
  const { group, model } = offer;
  const known = { requestId, account: account.id, key: key.id, group: group.name, model: model.name, stream: isStream };
  const record = { ...emptyRecord(known), outcome: 'failed' as const };
  const waitMs = catalog.settings.settleWaitSeconds * 1000;
  return gateway.ledger.end({ kind: 'release', requestId, record }, waitMs);
}
