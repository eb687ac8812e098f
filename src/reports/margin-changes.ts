// Effects of single factors on the margin between two periods. The margin of a part of the traffic is: units × share of its model × share of its
// group × share of its provider × (list rate × multiplier × paid share − provider rate), where rates depend on how units divide into
// uncached input, cached input and output. One factor after the other takes its value in the later period; the change of the sum at
// each step is the effect of that factor, so that the effects add up to the change exactly. Pure arithmetic.

import { nearestNumber } from '../base/checked-number.ts';

/** In this order. `other`: what no factor explains, such as web searches. */
export const marginEffects = [
  'traffic',
  'models',
  'groups',
  'routes',
  'cache',
  'lengths',
  'multiplier',
  'written_off',
  'price',
  'provider_price',
  'other',
] as const;
export type MarginEffect = (typeof marginEffects)[number];

/** Tokens of each kind, or a rate of each in any unit. */
export interface ByKind {
  input: number;
  cacheRead: number;
  cacheWrite: number;
  output: number;
}

/** The traffic of a period whose provider cost is known, by model, group and provider. Amounts are nanodollars. */
export interface MarginCell {
  model: string;
  group: string;
  provider: string;
  messages: number;
  tokens: ByKind;
  /** The cost to customers before the multiplier of the group; null: not known. */
  listed: bigint | null;
  /** The cost to customers. */
  cost: bigint;
  /** The part of it that was paid: without what was written off. */
  revenue: bigint;
  providerCost: bigint;
}

/** Relative rates of a model's price and of a route's cost; null: not known. */
export interface Rating {
  priceOf(model: string): ByKind | null;
  costOf(model: string, provider: string): ByKind | null;
}

export interface MarginPart {
  model: string | null;
  group: string | null;
  provider: string | null;
  amount: bigint;
}

export interface MarginChange {
  effect: MarginEffect;
  amount: bigint;
  /** By what the effect distinguishes, the largest first. They add up to the amount, but for roundings. */
  parts: MarginPart[];
}

/** Names that the parts of an effect distinguish. */
const partsBy: Readonly<Record<MarginEffect, readonly ('model' | 'group' | 'provider')[]>> = {
  traffic: [],
  models: ['model'],
  groups: ['model', 'group'],
  routes: ['model', 'provider'],
  cache: ['model'],
  lengths: ['model'],
  multiplier: ['group'],
  written_off: ['group'],
  price: ['model'],
  provider_price: ['model', 'provider'],
  other: [],
};

/** The effects of each factor, without those that changed nothing. Without traffic in one of the periods, all is traffic. */
export function explainMargin(
  before: readonly MarginCell[],
  after: readonly MarginCell[],
  rating: Rating,
): MarginChange[] {
  const change = marginOfCells(after) - marginOfCells(before);
  const [earlier, later] = [new Period(before), new Period(after)];
  if (earlier.units === 0 || later.units === 0)
    return change === 0n ? [] : [{ effect: 'traffic', amount: change, parts: [] }];
  const pairs = pairsOf(before, after).map((pair) => new Pair(pair, earlier, later, rating));
  const changes: MarginChange[] = [];
  let explained = 0n;
  let values = pairs.map((pair) => pair.valueAfter(0));
  for (const [at, effect] of marginEffects.entries()) {
    if (effect === 'other') continue;
    const next = pairs.map((pair) => pair.valueAfter(at + 1));
    const differences = next.map((value, place) => value - (values[place] ?? 0));
    const amount = wholeNano(differences.reduce((sum, difference) => sum + difference, 0));
    if (amount !== 0n) changes.push({ effect, amount, parts: partsOf(effect, pairs, differences) });
    explained += amount;
    values = next;
  }
  if (change !== explained) changes.push({ effect: 'other', amount: change - explained, parts: [] });
  return changes;
}

export function marginOfCells(cells: readonly MarginCell[]): bigint {
  return cells.reduce((sum, { revenue, providerCost }) => sum + revenue - providerCost, 0n);
}

/** Tokens, and one for each message, so that messages without tokens count. */
function unitsOf({ messages, tokens }: MarginCell): number {
  return messages + tokens.input + tokens.cacheRead + tokens.cacheWrite + tokens.output;
}

type Names = Pick<MarginCell, 'model' | 'group' | 'provider'>;

/** The units of a period, and their shares. */
class Period {
  units = 0;
  readonly #units = new Map<string, number>();

  constructor(cells: readonly MarginCell[]) {
    for (const cell of cells) {
      const units = unitsOf(cell);
      this.units += units;
      for (const name of namesOf(cell)) this.#units.set(name, this.#unitsOf(name) + units);
    }
  }

  /** Shares of the model in all, of the group in the model, and of the provider in both; null: the whole is empty. */
  sharesOf(cell: Names): [model: number | null, group: number | null, route: number | null] {
    const [model = 0, group = 0, route = 0] = namesOf(cell).map((name) => this.#unitsOf(name));
    return [shareOf(model, this.units), shareOf(group, model), shareOf(route, group)];
  }

  #unitsOf(name: string): number {
    return this.#units.get(name) ?? 0;
  }
}

function namesOf({ model, group, provider }: Names): string[] {
  return [[model], [model, group], [model, group, provider]].map((names) => JSON.stringify(names));
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

interface CellPair extends Names {
  before: MarginCell | null;
  after: MarginCell | null;
}

function pairsOf(before: readonly MarginCell[], after: readonly MarginCell[]): CellPair[] {
  const pairs = new Map<string, CellPair>();
  const add = (cell: MarginCell, period: 'before' | 'after') => {
    const { model, group, provider } = cell;
    const name = JSON.stringify([model, group, provider]);
    const pair = pairs.get(name) ?? { model, group, provider, before: null, after: null };
    pairs.set(name, { ...pair, [period]: cell });
  };
  for (const cell of before) if (unitsOf(cell) > 0) add(cell, 'before');
  for (const cell of after) if (unitsOf(cell) > 0) add(cell, 'after');
  return [...pairs.values()];
}

/** The rates of a cell in a period: amounts a unit, whose kinds have the weights of today's rates. */
interface Rates {
  kinds: ByKind;
  list: number;
  multiplier: number;
  paid: number;
  provider: number;
}

/** A cell in both periods. What it does not have in one of them is as in the other, so that only a share changes. */
class Pair {
  readonly names: Names;
  readonly #units: readonly [number, number];
  readonly #shares: readonly (readonly [number, number])[];
  readonly #before: Rates;
  readonly #after: Rates;
  readonly #priceWeights: ByKind | null;
  readonly #costWeights: ByKind | null;

  constructor(pair: CellPair, earlier: Period, later: Period, rating: Rating) {
    const { model, provider } = pair;
    this.names = pair;
    this.#units = [earlier.units, later.units];
    const [before, after] = [earlier.sharesOf(pair), later.sharesOf(pair)];
    this.#shares = before.map((share, at) => [share ?? after[at] ?? 0, after[at] ?? share ?? 0]);
    const cells = [pair.before, pair.after].filter((cell) => cell !== null);
    this.#priceWeights = usableWeights(rating.priceOf(model), cells);
    this.#costWeights = usableWeights(rating.costOf(model, provider), cells);
    const isListed = cells.every(({ listed }) => listed !== null && listed > 0n);
    const [first, last] = cells.map((cell) => this.#ratesOf(cell, isListed)) as [Rates, Rates | undefined];
    this.#before = first;
    this.#after = last ?? first;
  }

  /** The margin once the first `steps` of the effects have taken place. */
  valueAfter(steps: number): number {
    const has = (effect: MarginEffect) => marginEffects.indexOf(effect) < steps;
    const [before, after] = [this.#before, this.#after];
    const now = (effect: MarginEffect) => (has(effect) ? after : before);
    const shares = (['models', 'groups', 'routes'] as const).map(
      (effect, at) => this.#shares[at]?.[has(effect) ? 1 : 0] ?? 0,
    );
    const units = shares.reduce((product, share) => product * share, this.#units[has('traffic') ? 1 : 0]);
    const kinds = has('lengths') ? after.kinds : has('cache') ? withCacheOf(after.kinds, before.kinds) : before.kinds;
    const list = weighed(kinds, this.#priceWeights) * now('price').list;
    const revenue = list * now('multiplier').multiplier * now('written_off').paid;
    return units * (revenue - weighed(kinds, this.#costWeights) * now('provider_price').provider);
  }

  #ratesOf(cell: MarginCell, isListed: boolean): Rates {
    const units = unitsOf(cell);
    const kinds = kindsOf(cell);
    const [cost, revenue] = [nearestNumber(cell.cost), nearestNumber(cell.revenue)];
    const listed = isListed ? nearestNumber(cell.listed ?? cell.cost) : cost;
    return {
      kinds,
      list: listed / units / weighed(kinds, this.#priceWeights),
      multiplier: listed === 0 ? 1 : cost / listed,
      paid: cost === 0 ? 1 : revenue / cost,
      provider: nearestNumber(cell.providerCost) / units / weighed(kinds, this.#costWeights),
    };
  }
}

function kindsOf(cell: MarginCell): ByKind {
  const units = unitsOf(cell);
  const { input, cacheRead, cacheWrite, output } = cell.tokens;
  return { input: input / units, cacheRead: cacheRead / units, cacheWrite: cacheWrite / units, output: output / units };
}

const EVEN: ByKind = { input: 1, cacheRead: 1, cacheWrite: 1, output: 1 };

/** The first weights by which no cell weighs nothing; null: what it weighs does not matter. */
function usableWeights(given: ByKind | null, cells: readonly MarginCell[]): ByKind | null {
  const canWeigh = (weights: ByKind) => cells.every((cell) => weighed(kindsOf(cell), weights) > 0);
  return [given, EVEN].find((weights) => weights !== null && canWeigh(weights)) ?? null;
}

function weighed(kinds: ByKind, weights: ByKind | null): number {
  if (weights === null) return 1;
  return (
    kinds.input * weights.input +
    kinds.cacheRead * weights.cacheRead +
    kinds.cacheWrite * weights.cacheWrite +
    kinds.output * weights.output
  );
}

/** Prompt and output as in `lengths`, and the prompt divided as in `cached`. */
function withCacheOf(cached: ByKind, lengths: ByKind): ByKind {
  const promptOf = ({ input, cacheRead, cacheWrite }: ByKind) => input + cacheRead + cacheWrite;
  if (promptOf(cached) === 0) return lengths;
  const scale = promptOf(lengths) / promptOf(cached);
  const { input, cacheRead, cacheWrite } = cached;
  return { input: input * scale, cacheRead: cacheRead * scale, cacheWrite: cacheWrite * scale, output: lengths.output };
}

function partsOf(effect: MarginEffect, pairs: readonly Pair[], differences: readonly number[]): MarginPart[] {
  const by = partsBy[effect];
  if (by.length === 0) return [];
  const sums = new Map<string, { part: Omit<MarginPart, 'amount'>; sum: number }>();
  for (const [at, { names }] of pairs.entries()) {
    const nameIn = (member: 'model' | 'group' | 'provider') => (by.includes(member) ? names[member] : null);
    const part = { model: nameIn('model'), group: nameIn('group'), provider: nameIn('provider') };
    const name = JSON.stringify(part);
    const sum = (sums.get(name)?.sum ?? 0) + (differences[at] ?? 0);
    sums.set(name, { part, sum });
  }
  return [...sums.values()]
    .map(({ part, sum }) => ({ ...part, amount: wholeNano(sum) }))
    .filter(({ amount }) => amount !== 0n)
    .sort((one, other) => Math.abs(nearestNumber(other.amount)) - Math.abs(nearestNumber(one.amount)));
}

function wholeNano(amount: number): bigint {
  return BigInt(Math.round(amount));
}

/** The multipliers of a group. */
export interface MultiplierHistory {
  /** Each was in force until its time; the latest first. */
  changes: readonly { untilMs: number; multiplier: number }[];
  /** null: the group was removed. */
  current: number | null;
}

/** The average over a time; null: not known. */
export function averageMultiplier(
  { changes, current }: MultiplierHistory,
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): number | null {
  const steps = [...(current === null ? [] : [{ untilMs: Number.MAX_SAFE_INTEGER, multiplier: current }]), ...changes];
  let [sum, lengthMs] = [0, 0];
  for (const [at, step] of steps.entries()) {
    const beginMs = Math.max(sinceMs, steps[at + 1]?.untilMs ?? 0);
    const stepMs = Math.max(0, Math.min(untilMs + 1, step.untilMs) - beginMs);
    sum += step.multiplier * stepMs;
    lengthMs += stepMs;
  }
  return lengthMs === 0 ? null : sum / lengthMs;
}
