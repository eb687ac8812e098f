// Usage added up by day, model, key or account. Amounts are exact beyond what one account can hold.
// What providers charged is known for some messages only, so margins are of those.

import type { Nano } from '../base/money.ts';
import type { DailyTotal } from './rows.ts';

export const totalsGroupings = ['day', 'model', 'key', 'account'] as const;
export type TotalsGrouping = (typeof totalsGroupings)[number];

export interface TotalsQuestion {
  groupBy: TotalsGrouping;
  /** Whose groups come first, days apart; those without any are left out where it is not the cost. The cost, where it is left out. */
  most?: 'cost' | 'writtenOff';
  account: number | null;
  key: number | null;
  /** Only usage of the keys that this actor made; null: of all. */
  madeBy: string | null;
  model: string | null;
  /** Whole days, UTC: from that of `sinceMs` to that of `untilMs`, both included. */
  sinceMs: number | null;
  untilMs: number | null;
  /** How many groups to show. */
  limit: number;
}

/** What a group of messages used. Of `dayMs`, `account`, `key`, `model` those are null by which it was not grouped. */
export interface UsageTotal {
  dayMs: number | null;
  account: number | null;
  key: number | null;
  model: string | null;
  messages: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cost: bigint;
  writtenOff: bigint;
  /** Of the messages whose provider cost is known, and what was taken for those: cost less what was written off. */
  providerCost: bigint;
  costedMessages: number;
  costedRevenue: bigint;
}

export interface UsageTotals {
  /** The latest days; of other groups those that cost most. At most as many as were asked for. */
  rows: UsageTotal[];
  /** How many groups there are. */
  groups: number;
  /** Of all groups, shown or not. */
  whole: UsageTotal;
}

/** Adds up what was counted in parts, as they come, and shows the first groups. */
export async function gatherTotals(
  runs: AsyncIterable<UsageTotal[]> | Iterable<UsageTotal[]>,
  { groupBy, limit, most = 'cost' }: Pick<TotalsQuestion, 'groupBy' | 'limit' | 'most'>,
): Promise<UsageTotals> {
  const groups = new Map<string, UsageTotal>();
  const whole = emptyTotal();
  for await (const parts of runs)
    for (const part of parts) {
      addTo(whole, part);
      const name = `${part.dayMs} ${part.key ?? part.account} ${part.model}`;
      const group = groups.get(name);
      if (group === undefined) groups.set(name, { ...part });
      else addTo(group, part);
    }
  const rows = [...groups.values()]
    .filter((total) => (most === 'cost' ? isOfMessages(total) : total.writtenOff > 0n))
    .sort(groupBy === 'day' ? laterFirst : moreFirst(most));
  return { rows: rows.slice(0, limit), groups: rows.length, whole };
}

/** A day's total of one key and model, as a part of the groups that are asked for. */
export function partOfTotals(total: DailyTotal, groupBy: TotalsGrouping): UsageTotal {
  return {
    ...total,
    dayMs: groupBy === 'day' ? total.dayMs : null,
    account: groupBy === 'key' || groupBy === 'account' ? total.account : null,
    key: groupBy === 'key' ? total.key : null,
    model: groupBy === 'model' ? total.model : null,
    cost: BigInt(total.cost),
    writtenOff: BigInt(total.writtenOff),
    providerCost: BigInt(total.providerCost),
    costedRevenue: BigInt(total.costedRevenue),
  };
}

/** What the operator keeps of a message: what was taken for it, less what its provider charges. Null: not known. */
export function marginOf(record: { cost: Nano; writtenOff: Nano; providerCost: Nano | null }): Nano | null {
  return record.providerCost === null ? null : record.cost - record.writtenOff - record.providerCost;
}

/** The margin of those messages whose provider cost is known. Null: of none is it known. */
export function marginOfTotal(total: UsageTotal): bigint | null {
  return total.costedMessages === 0 ? null : total.costedRevenue - total.providerCost;
}

/** Of no messages, and of no group. */
export function emptyTotal(): UsageTotal {
  return {
    dayMs: null,
    account: null,
    key: null,
    model: null,
    messages: 0,
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    cost: 0n,
    writtenOff: 0n,
    providerCost: 0n,
    costedMessages: 0,
    costedRevenue: 0n,
  };
}

export function addTo(sum: UsageTotal, part: UsageTotal): void {
  sum.messages += part.messages;
  sum.inputTokens += part.inputTokens;
  sum.outputTokens += part.outputTokens;
  sum.cacheReadTokens += part.cacheReadTokens;
  sum.cacheWriteTokens += part.cacheWriteTokens;
  sum.cost += part.cost;
  sum.writtenOff += part.writtenOff;
  sum.providerCost += part.providerCost;
  sum.costedMessages += part.costedMessages;
  sum.costedRevenue += part.costedRevenue;
}

/** A total of no messages is left where a correction named another model. */
function isOfMessages(total: UsageTotal): boolean {
  return total.messages !== 0 || total.cost !== 0n;
}

function laterFirst(one: UsageTotal, other: UsageTotal): number {
  return (other.dayMs ?? 0) - (one.dayMs ?? 0);
}

function moreFirst(most: 'cost' | 'writtenOff') {
  return (one: UsageTotal, other: UsageTotal): number => {
    if (one[most] !== other[most]) return one[most] > other[most] ? -1 : 1;
    return other.messages - one.messages || compareNames(one, other);
  };
}

/** So that the order is the same each time. */
function compareNames(one: UsageTotal, other: UsageTotal): number {
  const difference = (one.key ?? one.account ?? 0) - (other.key ?? other.account ?? 0);
  return difference || ((one.model ?? '') < (other.model ?? '') ? -1 : 1);
}
