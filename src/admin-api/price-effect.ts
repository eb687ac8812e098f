// The effect that a price would have had on the recent messages of a model: each is priced again, with its own counts, multiplier
// and service tier.

import { formatDecimal, parseDecimal } from '../base/money.ts';
import { hasTier, type ModelPrice, priceMessage, tierOfRates } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { countsOf, type StoredUsageRecord } from '../ledger/ledger.ts';
import { NO_FILTER, type UsageSearch } from '../reports/reports.ts';
import { requesterOf } from './pages.ts';
import type { Call } from './route.ts';

const MULTIPLIER_DIGITS = 6;

interface EffectSum {
  messages: number;
  /** As billed, and at the other price. */
  billed: bigint;
  billedThen: bigint;
  /** Sums of the messages whose provider cost is known. */
  costedMessages: number;
  providerCost: bigint;
}

export interface PriceEffect extends EffectSum {
  sinceMs: number;
  untilMs: number;
  /** Earlier messages are not counted; null if all are. */
  countedSinceMs: number | null;
  /** Those of the whole time and their bill, of which `messages` and `billed` are a sample if earlier ones are not counted. */
  allMessages: number;
  allBilled: bigint;
  /** Messages in a service tier that the other price does not have: they would have been refused. */
  notSold: number;
  groups: (EffectSum & { group: string; multiplier: string })[];
}

/** Reads a bounded number of the newest messages within the time. */
export async function readPriceEffect(call: Call, model: string, price: ModelPrice): Promise<PriceEffect> {
  const untilMs = call.clock.nowMs();
  const sinceMs = untilMs - bounds.priceEffectMs;
  const all = { allMessages: 0, allBilled: 0n, countedSinceMs: null };
  const effect: PriceEffect = { ...emptySum(), ...all, sinceMs, untilMs, notSold: 0, groups: [] };
  const search: Omit<UsageSearch, 'before'> = {
    ...NO_FILTER,
    account: null,
    key: null,
    madeBy: null,
    outcome: null,
    model,
    sinceMs,
    untilMs,
    order: 'newest',
    limit: bounds.pageItemsMax,
  };
  const startedMs = performance.now();
  let lastAtMs = untilMs;
  for (let before: number | null = null; ; ) {
    const { rows, next } = await call.usage.searchUsage({ ...search, before }, requesterOf(call));
    for (const row of rows) addRecord(effect, row, price);
    lastAtMs = rows.at(-1)?.atMs ?? lastAtMs;
    if (next === null) return inOrder({ ...effect, allMessages: effect.messages, allBilled: effect.billed });
    const isOver =
      effect.messages >= bounds.priceEffectRecordsMax || performance.now() - startedMs > bounds.priceEffectReadMsMax;
    if (isOver)
      return inOrder({ ...effect, ...(await readAll(call, { model, sinceMs, untilMs })), countedSinceMs: lastAtMs });
    before = next;
  }
}

/** From the totals, which are read fast however many messages there are. */
async function readAll(call: Call, of: Pick<UsageSearch, 'model' | 'sinceMs' | 'untilMs'>) {
  const everything = { account: null, key: null, madeBy: null, groupBy: 'model' as const, limit: 1 };
  const { whole } = await call.usage.totalUsage({ ...everything, ...of }, requesterOf(call));
  return { allMessages: whole.messages, allBilled: whole.cost };
}

function emptySum(): EffectSum {
  return { messages: 0, billed: 0n, billedThen: 0n, costedMessages: 0, providerCost: 0n };
}

function addRecord(effect: PriceEffect, record: StoredUsageRecord, price: ModelPrice): void {
  const { group, rates, cost, providerCost } = record;
  const tier = tierOfRates(rates);
  const multiplier = tier === null ? null : parseDecimal(rates['multiplier'] ?? '1', MULTIPLIER_DIGITS);
  const isSold = tier !== null && hasTier(price, tier);
  if (tier !== null && !isSold) effect.notSold++;
  const then = isSold && multiplier !== null ? priceMessage(price, countsOf(record), multiplier, tier) : 0;
  for (const sum of [effect, groupOf(effect, group, multiplier)]) {
    sum.messages++;
    sum.billed += BigInt(cost);
    sum.billedThen += BigInt(then);
    if (providerCost !== null) {
      sum.costedMessages++;
      sum.providerCost += BigInt(providerCost);
    }
  }
}

/** By group and multiplier: one that changed within the time has several rows. An answer that is not billed has none of its own. */
function groupOf({ groups }: PriceEffect, group: string, units: bigint | null): EffectSum {
  const multiplier = units === null ? null : formatDecimal(units, MULTIPLIER_DIGITS);
  const found = groups.find((one) => one.group === group && (multiplier === null || one.multiplier === multiplier));
  if (found !== undefined) return found;
  const made = { ...emptySum(), group, multiplier: multiplier ?? '1' };
  groups.push(made);
  return made;
}

function inOrder(effect: PriceEffect): PriceEffect {
  effect.groups.sort((one, other) => (one.billed < other.billed ? 1 : -1));
  return effect;
}
