// The usage record of a message as it stands at some moment: at its end, or at a checkpoint on its way.

import { type Offer, priceMessage, priceRoute, type Route, rateRecord, type Speed } from '../catalog/catalog.ts';
import { emptyRecord, type Outcome, type UsageRecord } from '../ledger/ledger.ts';
import type { CountedUsage } from '../usage/usage.ts';

/** What a record is made of, beside its usage. */
export interface Recorded {
  readonly requestId: string;
  readonly caller: { account: { id: number }; key: { id: number } };
  readonly offer: Offer;
  readonly isStream: boolean;
  /** The route that answered, or was tried last. */
  readonly route: Route | null;
  readonly attempts: UsageRecord['attempts'];
  readonly admittedMs: number | null;
  readonly firstTokenMs: number | null;
  readonly speedAsked: Speed;
}

export function makeRecord(
  message: Recorded,
  outcome: Outcome,
  status: number,
  usage: CountedUsage,
  latencyMs: number,
): UsageRecord {
  const { model, group } = message.offer;
  const { counts, source } = usage;
  const speed = speedServed(message, usage.speed);
  return {
    ...emptyRecord({
      requestId: message.requestId,
      account: message.caller.account.id,
      key: message.caller.key.id,
      group: group.name,
      model: model.name,
      stream: message.isStream,
    }),
    provider: message.route?.provider ?? null,
    upstreamModel: message.route?.upstreamModel ?? null,
    outcome,
    status,
    inputTokens: counts.input,
    outputTokens: counts.output,
    cacheReadTokens: counts.cacheRead,
    cacheWrite5mTokens: counts.cacheWrite5m,
    cacheWrite1hTokens: counts.cacheWrite1h,
    webSearches: counts.webSearches,
    usageSource: source,
    cost: source === 'none' ? 0 : priceMessage(model.price, counts, group.multiplierMillionths, speed),
    providerCost: message.route === null ? null : priceRoute(message.route, counts, speed),
    rates: source === 'none' ? {} : rateRecord(model.price, counts, group.multiplierMillionths, speed),
    attempts: message.attempts,
    admittedMs: message.admittedMs,
    latencyMs,
    firstTokenMs: message.firstTokenMs,
  };
}

/** The speed that the provider says it served; one that has no rates was not asked for, and is sold as standard. */
function speedServed({ offer, speedAsked }: Recorded, reported: Speed | null): Speed {
  const speed = reported ?? speedAsked;
  return speed === 'fast' && offer.model.price.fast === null ? 'standard' : speed;
}
