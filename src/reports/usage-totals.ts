// Usage totals by day, account, key, person, group, provider, model or tag, or by two of them. Sums are bigints, because they may exceed a safe integer. Provider cost
// is known only for some messages, and margins cover only those.

import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import type { Serves } from '../wire/wire.ts';

export const totalsGroupings = ['day', 'model', 'key', 'account', 'provider', 'group', 'person', 'tag'] as const;
export type TotalsGrouping = (typeof totalsGroupings)[number];
/** Totals of records know more than the daily totals. */
export const recordGroupings = [...totalsGroupings, 'session', 'agent'] as const;
export type RecordGrouping = (typeof recordGroupings)[number];

export interface TagFilter {
  name: string;
  value: string;
}

/** The tags that totals know are those of the message's set of tags. */
export interface TotalsQuestion {
  groupBy: TotalsGrouping;
  /** Divides each group, in turn. Absent: none does. */
  thenBy?: readonly TotalsGrouping[];
  /** The name of the tag to group by. */
  tagName?: string | null;
  /** Only messages with this tag. Absent: all. */
  tag?: TagFilter | null;
  account: number | null;
  /** Also usage of the accounts below `account`, by their present places. */
  below?: boolean;
  key: number | null;
  /** Only usage of keys that this actor created; null: all. */
  madeBy: string | null;
  model: string | null;
  /** Only messages that this group sold. Absent: all. */
  group?: string | null;
  /** Only messages of this endpoint, which only records know. Absent: all. */
  endpoint?: Serves | null;
  /** Both inclusive. */
  sinceMs: number | null;
  untilMs: number | null;
  /** Whether these times are exact: of days that they divide, records are added up. Absent: whole days, UTC. */
  isExact?: boolean;
  /** Maximum number of groups to return. */
  limit: number;
}

/** The quantity of a unit that messages used, and its part of their cost. */
export interface UnitUse {
  quantity: number;
  cost: bigint;
}

/** By the names of units. null: there are too many totals of units to add up. */
export type UnitUses = Readonly<Record<string, UnitUse>> | null;

export const NO_UNITS: UnitUses = Object.freeze({});

/** Usage of a group of messages. Names that it is not grouped by are null. */
export interface UsageTotal {
  dayMs: number | null;
  account: number | null;
  key: number | null;
  model: string | null;
  /** null also without one, and where the totals do not know it. */
  provider: string | null;
  /** As of a provider. */
  group: string | null;
  person: number | null;
  /** The value of the tag. */
  tag: string | null;
  session: string | null;
  agent: string | null;
  messages: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  cost: bigint;
  writtenOff: bigint;
  /** Sums over the messages whose provider cost is known; revenue is cost minus write-offs. */
  providerCost: bigint;
  costedMessages: number;
  costedRevenue: bigint;
  units: UnitUses;
}

export interface UsageTotals {
  /** The latest days, or the groups with the highest cost. At most `limit`. */
  rows: UsageTotal[];
  /** Number of groups in all. */
  groups: number;
  /** Sum over all groups, returned or not. */
  whole: UsageTotal;
  /** Earlier messages are not counted; 0 if all are. */
  countedSinceMs: number;
}

/** Totals of two periods, whose times are inclusive. */
export interface ComparisonQuestion extends Omit<TotalsQuestion, 'thenBy' | 'isExact'> {
  previous: { sinceMs: number; untilMs: number };
}

/** A group in both periods; without messages, its total is zero. */
export interface ComparedTotal {
  total: UsageTotal;
  previous: UsageTotal;
}

export interface Comparison {
  /** The groups with the highest revenue whose provider cost is known, at most `limit`. */
  rows: ComparedTotal[];
  /** Number of groups in all. */
  groups: number;
  /** Totals of each period by model, group and provider. */
  now: UsageTotals;
  before: UsageTotals;
}

/** A model's traffic by group and provider. */
export const cellGroupings = ['model', 'group', 'provider'] as const satisfies TotalsGrouping[];

/** Grouped by model, by key and by account at once. */
export type TopQuestion = Omit<TotalsQuestion, 'groupBy' | 'thenBy' | 'tagName'>;

/** The groups with the highest cost, at most `limit`, and the number of groups. */
export type TopGroups = Pick<UsageTotals, 'rows' | 'groups'>;

export interface TopUsage {
  models: TopGroups;
  keys: TopGroups;
  accounts: TopGroups;
  /** The accounts with the highest write-offs, without those with none. */
  writtenOff: UsageTotal[];
  /** Sum over all groups, returned or not. */
  whole: UsageTotal;
  countedSinceMs: number;
}

type Runs = AsyncIterable<UsageTotal[]> | Iterable<UsageTotal[]>;

/** Adds up parts as they arrive and returns the first groups. */
export async function gatherTotals(
  runs: Runs,
  { groupBy, thenBy = [], limit }: Pick<TotalsQuestion, 'groupBy' | 'thenBy' | 'limit'>,
): Promise<UsageTotals> {
  const groups = new Groups(groupBy, thenBy);
  const whole = emptyTotal();
  for await (const parts of runs)
    for (const part of parts) {
      addTo(whole, part);
      groups.add(part);
    }
  const rows = groups.first('cost');
  return { rows: withUnitsOf(rows.slice(0, limit), whole), groups: rows.length, whole, countedSinceMs: 0 };
}

/**
 * Compares both periods, whose totals `read` reads: by each of some lists of groupings, without a limit. Groups that the cells distinguish
 * are added up from them.
 */
export async function compareTotals(
  { previous, ...question }: ComparisonQuestion,
  read: (question: TopQuestion, groupings: readonly (readonly TotalsGrouping[])[]) => Promise<UsageTotals[]>,
): Promise<Comparison> {
  const { groupBy, limit } = question;
  const isOfCells = cellGroupings.some((grouping) => grouping === groupBy);
  const readPeriod = async (period: TopQuestion) => {
    const [cells, groups] = await read(period, isOfCells ? [cellGroupings] : [cellGroupings, [groupBy]]);
    assert(cells !== undefined, 'totals are read by each list of groupings');
    return { cells, groups: groups ?? (await gatherTotals([cells.rows], { groupBy, limit: cells.groups })) };
  };
  const exact = { ...question, isExact: true };
  const now = await readPeriod(exact);
  const before = await readPeriod({ ...exact, ...previous });
  const rows = joinTotals(now.groups.rows, before.groups.rows, groupBy);
  return { rows: rows.slice(0, limit), groups: rows.length, now: now.cells, before: before.cells };
}

/** The groups of both periods, the highest revenue of the later one first. */
function joinTotals(
  now: readonly UsageTotal[],
  before: readonly UsageTotal[],
  groupBy: TotalsGrouping,
): ComparedTotal[] {
  const nameOf = (total: UsageTotal) => total[memberOf[groupBy]];
  const former = new Map(before.map((total) => [nameOf(total), total]));
  const emptyOf = (total: UsageTotal): UsageTotal => ({ ...emptyTotal(), ...namesOf(total, [groupBy]) });
  const rows = now.map((total): ComparedTotal => {
    const previous = former.get(nameOf(total)) ?? emptyOf(total);
    former.delete(nameOf(total));
    return { total, previous };
  });
  for (const previous of former.values()) rows.push({ total: emptyOf(previous), previous });
  return rows.sort(({ total: one }, { total: other }) =>
    one.costedRevenue === other.costedRevenue ? 0 : one.costedRevenue > other.costedRevenue ? -1 : 1,
  );
}

/** Parts with account and key, and parts with the model: the same usage. Those of keys are read first. */
export type TopParts = Readonly<Record<'model' | 'key', Runs>>;

/** Like gatherTotals, for parts with account, key and model: each part counts once in every list. Those of `apart` are read after them. */
export async function gatherTop(
  runs: Runs,
  { limit }: Pick<TopQuestion, 'limit'>,
  apart: TopParts | null = null,
): Promise<TopUsage> {
  const [models, keys, accounts] = [new Groups('model'), new Groups('key'), new Groups('account')];
  const whole = emptyTotal();
  // Each run repeats the totals of a key and model: they are merged first.
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
  if (apart !== null) {
    for await (const parts of apart.key)
      for (const part of parts) {
        addTo(whole, part);
        for (const groups of [keys, accounts]) groups.add(part);
      }
    for await (const parts of apart.model) for (const part of parts) models.add(part);
  }
  const top = (of: Groups): TopGroups => {
    const rows = of.first('cost');
    return { rows: withUnitsOf(rows.slice(0, limit), whole), groups: rows.length };
  };
  const writtenOff = accounts.first('writtenOff').slice(0, limit);
  return { models: top(models), keys: top(keys), accounts: top(accounts), writtenOff, whole, countedSinceMs: 0 };
}

/** Sums by group. */
export class Groups {
  readonly #by: readonly RecordGrouping[];
  readonly #groups = new Map<number | string | null, UsageTotal>();

  constructor(groupBy: RecordGrouping, thenBy: readonly RecordGrouping[] = []) {
    this.#by = [groupBy, ...thenBy];
  }

  add(part: UsageTotal): void {
    const [first, ...others] = this.#by.map((grouping) => part[memberOf[grouping]]);
    const name = others.length === 0 ? (first ?? null) : JSON.stringify([first, ...others]);
    const group = this.#groups.get(name);
    if (group === undefined) this.#groups.set(name, { ...part, ...namesOf(part, this.#by) });
    else addTo(group, part);
  }

  first(most: 'cost' | 'writtenOff'): UsageTotal[] {
    return [...this.#groups.values()]
      .filter((total) => (most === 'cost' ? isOfMessages(total) : total.writtenOff > 0n))
      .sort(
        this.#by[0] === 'day' ? (one, other) => laterFirst(one, other) || moreFirst(most)(one, other) : moreFirst(most),
      );
  }
}

/** The member that distinguishes groups of each kind. A key belongs to one account. */
const memberOf = {
  day: 'dayMs',
  model: 'model',
  key: 'key',
  account: 'account',
  provider: 'provider',
  group: 'group',
  person: 'person',
  tag: 'tag',
  session: 'session',
  agent: 'agent',
} as const satisfies Record<RecordGrouping, keyof UsageTotal>;

type Names = Pick<UsageTotal, (typeof memberOf)[RecordGrouping]>;

/** The names that identify a group. */
function namesOf(part: Names, by: readonly RecordGrouping[]): Names {
  const isBy = (grouping: RecordGrouping) => by.includes(grouping);
  return {
    dayMs: isBy('day') ? part.dayMs : null,
    account: isBy('key') || isBy('account') ? part.account : null,
    key: isBy('key') ? part.key : null,
    model: isBy('model') ? part.model : null,
    provider: isBy('provider') ? part.provider : null,
    group: isBy('group') ? part.group : null,
    person: isBy('person') ? part.person : null,
    tag: isBy('tag') ? part.tag : null,
    session: isBy('session') ? part.session : null,
    agent: isBy('agent') ? part.agent : null,
  };
}

/** The operator's margin: cost minus write-off minus provider cost. null: provider cost unknown. */
export function marginOf(record: { cost: Nano; writtenOff: Nano; providerCost: Nano | null }): Nano | null {
  return record.providerCost === null ? null : record.cost - record.writtenOff - record.providerCost;
}

/** The margin over messages whose provider cost is known; null if it is known for none. */
export function marginOfTotal(total: UsageTotal): bigint | null {
  return total.costedMessages === 0 ? null : total.costedRevenue - total.providerCost;
}

/** A total of zero messages without a group. */
export function emptyTotal(): UsageTotal {
  return {
    dayMs: null,
    account: null,
    key: null,
    model: null,
    provider: null,
    group: null,
    person: null,
    tag: null,
    session: null,
    agent: null,
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
    units: NO_UNITS,
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
  if (part.units !== NO_UNITS) sum.units = sumOfUnits(sum.units, part.units);
}

function sumOfUnits(sum: UnitUses, part: UnitUses): UnitUses {
  if (sum === null || part === null) return null;
  const units: Record<string, UnitUse> = { ...sum };
  for (const [unit, { quantity, cost }] of Object.entries(part)) {
    const { [unit]: before } = units;
    units[unit] =
      before === undefined ? { quantity, cost } : { quantity: before.quantity + quantity, cost: before.cost + cost };
  }
  return units;
}

/** The rows of a sum: units that it does not count are in none of them. */
export function withUnitsOf(rows: readonly UsageTotal[], { units }: UsageTotal): UsageTotal[] {
  return units === null ? rows.map((row) => ({ ...row, units })) : [...rows];
}

/** A correction to another model leaves a total of zero messages. */
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

/** Makes the order deterministic. */
function compareNames(one: UsageTotal, other: UsageTotal): number {
  const difference = (one.key ?? one.account ?? one.person ?? 0) - (other.key ?? other.account ?? other.person ?? 0);
  return difference || (wordsOf(one) < wordsOf(other) ? -1 : 1);
}

function wordsOf({ dayMs, model, provider, group, person, tag, session, agent }: UsageTotal): string {
  return [model, provider, group, tag, session, agent, person, dayMs].map((name) => name ?? '').join('\n');
}
