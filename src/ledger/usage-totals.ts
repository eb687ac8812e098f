// Usage added up by day, model, key or account. Amounts are exact beyond what one account can hold.
// What providers charged is known for some messages only, so margins are of those.

import type { Nano } from '../base/money.ts';
import type { DailyTotal } from './rows.ts';

export const totalsGroupings = ['day', 'model', 'key', 'account'] as const;
export type TotalsGrouping = (typeof totalsGroupings)[number];

export interface TotalsQuestion {
  groupBy: TotalsGrouping;
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

/** Of what is asked for, by model, by key and by account at once. */
export type TopQuestion = Omit<TotalsQuestion, 'groupBy'>;

/** Those that cost most, at most as many as were asked for; and how many there are. */
export type TopGroups = Pick<UsageTotals, 'rows' | 'groups'>;

export interface TopUsage {
  models: TopGroups;
  keys: TopGroups;
  accounts: TopGroups;
  /** The accounts of which most was written off, without those of which nothing was. */
  writtenOff: UsageTotal[];
  /** Of everything, shown or not. */
  whole: UsageTotal;
}

type Runs = AsyncIterable<UsageTotal[]> | Iterable<UsageTotal[]>;

/** Adds up what was counted in parts, as they come, and shows the first groups. */
export async function gatherTotals(
  runs: Runs,
  { groupBy, limit }: Pick<TotalsQuestion, 'groupBy' | 'limit'>,
): Promise<UsageTotals> {
  const groups = new Groups(groupBy);
  const whole = emptyTotal();
  for await (const parts of runs)
    for (const part of parts) {
      addTo(whole, part);
      groups.add(part);
    }
  const rows = groups.first('cost');
  return { rows: rows.slice(0, limit), groups: rows.length, whole };
}

/** The same of parts that say their account, key and model: each is counted in one group of each list. */
export async function gatherTop(runs: Runs, { limit }: Pick<TopQuestion, 'limit'>): Promise<TopUsage> {
  const [models, keys, accounts] = [new Groups('model'), new Groups('key'), new Groups('account')];
  const whole = emptyTotal();
  // A key's totals of a model come again with every run: they are added up before they are told apart.
  const ofKeys = new Map<string, UsageTotal>();
  for await (const parts of runs)
    for (const part of parts) {
      const name = `${part.key} ${part.model}`;
      const one = ofKeys.get(name);
      if (one === undefined) ofKeys.set(name, { ...part });
      else addTo(one, part);
    }
  for (const one of ofKeys.values()) {
    addTo(whole, one);
    for (const groups of [models, keys, accounts]) groups.add(one);
  }
  const top = (of: Groups): TopGroups => {
    const rows = of.first('cost');
    return { rows: rows.slice(0, limit), groups: rows.length };
  };
  const writtenOff = accounts.first('writtenOff').slice(0, limit);
  return { models: top(models), keys: top(keys), accounts: top(accounts), writtenOff, whole };
}

class Groups {
  readonly #groupBy: TotalsGrouping;
  readonly #groups = new Map<number | string | null, UsageTotal>();

  constructor(groupBy: TotalsGrouping) {
    this.#groupBy = groupBy;
  }

  add(part: UsageTotal): void {
    const name = part[memberOf[this.#groupBy]];
    const group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, { ...part, ...namesOf(part, this.#groupBy) });
    else addTo(group, part);
  }

  first(most: 'cost' | 'writtenOff'): UsageTotal[] {
    return [...this.#groups.values()]
      .filter((total) => (most === 'cost' ? isOfMessages(total) : total.writtenOff > 0n))
      .sort(this.#groupBy === 'day' ? laterFirst : moreFirst(most));
  }
}

/** By which member the groups of each kind differ; a key is of one account. */
const memberOf = { day: 'dayMs', model: 'model', key: 'key', account: 'account' } as const;

type Names = Pick<UsageTotal, 'dayMs' | 'account' | 'key' | 'model'>;

/** Those of its names that a group keeps. */
function namesOf({ dayMs, account, key, model }: Names, groupBy: TotalsGrouping): Names {
  return {
    dayMs: groupBy === 'day' ? dayMs : null,
    account: groupBy === 'key' || groupBy === 'account' ? account : null,
    key: groupBy === 'key' ? key : null,
    model: groupBy === 'model' ? model : null,
  };
}

/** A day's total of one key and model, as a part of whatever groups are asked for. */
export function partOfTotals(total: DailyTotal): UsageTotal {
  return {
    ...total,
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
