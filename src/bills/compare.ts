// Compares the bill of a day with what this service recorded, and explains the difference in parts that add up to it
// exactly. Pure.

import { bounds } from '../config/config.ts';
import {
  type BillFeature,
  type BillLine,
  type BillUnits,
  billFeatures,
  formatUnits,
  STANDARD,
  UNITS_PER_NANO,
} from './bill-line.ts';
import {
  type BillPart,
  type BillParts,
  billParts,
  type ComparedDay,
  type ComparedFeature,
  type ComparedModel,
} from './bill-source.ts';
import { featureOf, OTHER_MODELS, type OurDay, type OurFeature, type OurModel } from './gather-usage.ts';
import { matchModels } from './match-models.ts';

export type PartUnits = Record<BillPart, BillUnits>;

export interface ComparedBill {
  lines: readonly BillLine[];
  ours: OurDay;
  /** Names on the bill with those at the provider. */
  mapping: Readonly<Record<string, string>>;
  /** Fraction digits to which amounts of the bill may be rounded. */
  places: number;
}

interface BilledFeature {
  amount: BillUnits;
  /** null: a line does not tell. */
  quantity: number | null;
  rows: number;
  lines: BillLine[];
}

export function compareDay({ lines, ours, mapping, places }: ComparedBill): ComparedDay {
  const rounding = 10n ** BigInt(36 - Math.min(places, 36)) / 2n; // of one amount
  const names = matchModels(new Set(lines.map(({ model }) => model)), [...ours.models.keys()], mapping);
  const billed = new Map<string, BillLine[]>();
  for (const line of lines) {
    const name = names.get(line.model) ?? line.model;
    const isKept = billed.has(name) || billed.size < bounds.billModelsPerDayMax;
    const kept = isKept ? name : OTHER_MODELS;
    const before = billed.get(kept);
    if (before === undefined) billed.set(kept, [line]);
    else before.push(line);
  }
  const models = withoutModelOnBill(ours, billed);
  const used = [...models].filter(([, { messages }]) => messages > 0).map(([model]) => model); // not only attempted
  const compared = [...new Set([...billed.keys(), ...used])]
    .sort()
    .map((model) => compareModel(model, billed.get(model) ?? [], models.get(model) ?? NOTHING(), rounding));
  const sum = (of: (one: Sums) => BillUnits) => compared.reduce((total, { sums }) => total + of(sums), 0n);
  return {
    ...shown({
      billed: sum((one) => one.billed),
      ours: sum((one) => one.ours),
      parts: Object.fromEntries(billParts.map((part) => [part, sum(({ parts }) => parts[part])])) as PartUnits,
    }),
    messages: [...ours.models.values()].reduce((total, { messages }) => total + messages, 0),
    models: compared.map(({ model }) => model),
  };
}

/** Web searches that are billed without a model are compared with those of all models. */
function withoutModelOnBill(
  { models }: OurDay,
  billed: ReadonlyMap<string, readonly BillLine[]>,
): Map<string, OurModel> {
  const moved = new Set(
    (billed.get('') ?? []).map(({ feature }) => feature).filter((feature) => feature === 'web_search'),
  );
  if (moved.size === 0) return models;
  const together = NOTHING();
  const kept = [...models].map(([name, model]): [string, OurModel] => {
    const features = new Map(model.features);
    let { cost } = model;
    together.messages += model.messages;
    together.pricedMessages += model.pricedMessages;
    for (const feature of moved) {
      const of = features.get(feature);
      if (of === undefined) continue;
      addFeature(featureOf(together, feature), of);
      together.cost += of.cost;
      cost -= of.cost;
      features.delete(feature);
    }
    return [name, { ...model, cost, features }];
  });
  return new Map([...kept, ['', together]]);
}

const NOTHING = (): OurModel => ({
  messages: 0,
  pricedMessages: 0,
  unknownAttempts: 0,
  cost: 0n,
  features: new Map(),
});

const NOT_BILLED: BilledFeature = { amount: 0n, quantity: 0, rows: 0, lines: [] };

interface Sums {
  billed: BillUnits;
  ours: BillUnits;
  parts: PartUnits;
}

function compareModel(model: string, lines: BillLine[], ours: OurModel, rounding: BillUnits) {
  const billed = billedFeatures(lines);
  const named = billFeatures.filter((feature) => billed.has(feature) || ours.features.has(feature));
  const pairs = named.map((feature) => ({
    feature,
    onBill: billed.get(feature) ?? NOT_BILLED,
    of: ours.features.get(feature) ?? featureOf(NOTHING(), feature),
  }));
  const parts = noParts();
  const isSplit = pairs.every(({ feature, of }) => feature !== 'other' || of.cost === 0n);
  // A cost that is not known by feature is compared as a whole.
  const explained = isSplit
    ? pairs.map(({ onBill, of }) => explainFeature(onBill, of, ours, rounding))
    : [explainWhole(pairs, ours, rounding)];
  for (const one of explained) for (const part of billParts) parts[part] += one[part];
  const features = pairs.map(
    ({ feature, onBill, of }): ComparedFeature => ({
      feature,
      billed: formatUnits(onBill.amount),
      ours: formatUnits(of.cost),
      difference: formatUnits(onBill.amount - of.cost),
      billedQuantity: onBill.quantity,
      ourQuantity: of.quantity,
    }),
  );
  const sums: Sums = { billed: lines.reduce((sum, { amount }) => sum + amount, 0n), ours: ours.cost, parts };
  const billedAs = [...new Set(lines.map(({ model }) => model))].sort();
  return { sums, model: { model, billedAs, ...shown(sums), features } satisfies ComparedModel };
}

function shown({ billed, ours, parts }: Sums) {
  return {
    billed: formatUnits(billed),
    ours: formatUnits(ours),
    difference: formatUnits(billed - ours),
    parts: Object.fromEntries(billParts.map((part) => [part, formatUnits(parts[part])])) as BillParts,
  };
}

function billedFeatures(lines: readonly BillLine[]): Map<BillFeature, BilledFeature> {
  const features = new Map<BillFeature, BilledFeature>();
  for (const line of lines) {
    const of = features.get(line.feature) ?? { amount: 0n, quantity: 0, rows: 0, lines: [] };
    of.amount += line.amount;
    of.quantity = of.quantity === null || line.quantity === null ? null : of.quantity + line.quantity;
    of.rows += line.rows;
    of.lines.push(line);
    features.set(line.feature, of);
  }
  return features;
}

function noParts(): PartUnits {
  return { rounding: 0n, tiers: 0n, cancelled: 0n, beside: 0n, unknownPrice: 0n, unexplained: 0n };
}

/** The parts of a feature's difference, whose sum it is. `rounding` is the most by which one amount of the bill was rounded. */
function explainFeature(billed: BilledFeature, ours: OurFeature, model: OurModel, rounding: BillUnits): PartUnits {
  const parts = noParts();
  const difference = billed.amount - ours.cost;
  const roundedMost = mostRounded(billed.rows, model, rounding);
  const lost = lostQuantity(ours, model);
  const { pricedMessages } = model;
  if (billed.quantity === null)
    explainAmount(parts, difference, billed.amount, ours, { lost, pricedMessages, roundedMost });
  else explainQuantity(parts, billed, billed.quantity, ours, lost);
  return withRest(parts, difference, roundedMost);
}

/** The same of a model whose cost is known only as a whole. */
function explainWhole(
  pairs: readonly { onBill: BilledFeature; of: OurFeature }[],
  model: OurModel,
  rounding: BillUnits,
): PartUnits {
  const parts = noParts();
  const billed = pairs.reduce((sum, { onBill }) => sum + onBill.amount, 0n);
  const difference = billed - pairs.reduce((sum, { of }) => sum + of.cost, 0n);
  const rows = pairs.reduce((sum, { onBill }) => sum + onBill.rows, 0);
  const roundedMost = mostRounded(rows, model, rounding);
  const known = pairs.filter(({ onBill }) => onBill.quantity !== null && onBill.lines.length > 0);
  for (const { onBill, of } of known) {
    const ofFeature = noParts();
    explainQuantity(ofFeature, onBill, onBill.quantity ?? 0, of, lostQuantity(of, model));
    for (const part of billParts) parts[part] += ofFeature[part];
  }
  if (known.length === 0) {
    const all = featureOf(NOTHING(), 'other');
    for (const { of } of pairs) addFeature(all, of);
    const { pricedMessages } = model;
    explainAmount(parts, difference, billed, all, { lost: lostQuantity(all, model), pricedMessages, roundedMost });
  }
  return withRest(parts, difference, roundedMost);
}

function mostRounded(rows: number, { messages }: OurModel, rounding: BillUnits): BillUnits {
  return BigInt(rows) * rounding + BigInt(messages) * UNITS_PER_NANO;
}

function withRest(parts: PartUnits, difference: BillUnits, roundedMost: BillUnits): PartUnits {
  const rest = difference - billParts.reduce((sum, part) => sum + parts[part], 0n);
  parts[magnitude(rest) <= roundedMost ? 'rounding' : 'unexplained'] += rest;
  return parts;
}

function addFeature(sum: OurFeature, more: OurFeature): void {
  for (const name of ['quantity', 'unpricedQuantity', 'unreportedQuantity', 'lostQuantity'] as const)
    sum[name] += more[name];
  sum.cost += more.cost;
  sum.unreportedCost += more.unreportedCost;
}

/** null: without a bound, as nothing tells what the attempts may have used. */
function lostQuantity(
  { lostQuantity: known, quantity }: OurFeature,
  { messages, unknownAttempts }: OurModel,
): number | null {
  if (unknownAttempts === 0) return known;
  if (messages === 0) return null;
  return known + Math.ceil(quantity / messages) * unknownAttempts;
}

/** With the bill's quantities: what is beyond ours was cancelled, or did not pass this gateway. */
function explainQuantity(
  parts: PartUnits,
  billed: BilledFeature,
  quantity: number,
  ours: OurFeature,
  lost: number | null,
): void {
  const isStandard = ({ tier }: BillLine) => tier === STANDARD || tier === 'batch';
  const usual = rateOf(billed.lines.filter(isStandard)) ?? rateOfOurs(ours) ?? rateOf(billed.lines);
  if (usual === null) return;
  for (const { tier, amount, quantity: ofTier } of billed.lines.filter((line) => !isStandard(line))) {
    const unasked = Math.max(0, (ofTier ?? 0) - (ours.tierQuantities.get(tier) ?? 0));
    if (unasked === 0 || !ofTier) continue;
    parts.tiers += scale(amount, unasked, ofTier) - scale(usual.amount, unasked, usual.quantity);
  }
  const worth = (count: number) => scale(usual.amount, count, usual.quantity);
  parts.unknownPrice = worth(Math.min(ours.unpricedQuantity, quantity));
  const beyond = quantity - ours.quantity;
  const taken = beyond < 0 ? Math.max(beyond, -ours.unreportedQuantity) : Math.min(beyond, lost ?? beyond);
  parts.cancelled = worth(taken);
  parts.beside = worth(Math.max(0, beyond - taken));
}

interface Known {
  lost: number | null;
  pricedMessages: number;
  roundedMost: BillUnits;
}

/** Without the bill's quantities, by amounts alone. */
function explainAmount(
  parts: PartUnits,
  difference: BillUnits,
  billed: BillUnits,
  ours: OurFeature,
  { lost, pricedMessages, roundedMost }: Known,
): void {
  if (magnitude(difference) <= roundedMost) return;
  if (ours.unpricedQuantity > 0 && pricedMessages === 0) {
    parts.unknownPrice = difference;
    return;
  }
  const usual = rateOfOurs(ours);
  if (difference < 0n) {
    parts.cancelled = larger(difference, -ours.unreportedCost);
    return;
  }
  const unpriced = usual === null ? 0n : scale(usual.amount, ours.unpricedQuantity, usual.quantity);
  parts.unknownPrice = smaller(difference, larger(0n, smaller(unpriced, billed)));
  const left = difference - parts.unknownPrice;
  const most = lost === null ? left : usual === null ? 0n : scale(usual.amount, lost, usual.quantity);
  parts.cancelled = smaller(left, larger(0n, most));
  parts.beside = left - parts.cancelled;
}

interface Rate {
  amount: BillUnits;
  quantity: number;
}

/** null without a quantity. */
function rateOf(lines: readonly BillLine[]): Rate | null {
  const amount = lines.reduce((sum, line) => sum + line.amount, 0n);
  const quantity = lines.reduce((sum, line) => sum + (line.quantity ?? 0), 0);
  return quantity === 0 ? null : { amount, quantity };
}

function rateOfOurs({ cost, quantity, unpricedQuantity }: OurFeature): Rate | null {
  const priced = quantity - unpricedQuantity;
  return priced <= 0 || cost === 0n ? null : { amount: cost, quantity: priced };
}

/** `amount` × `count` ÷ `of`, rounded towards zero: the rest stays in the last part. */
function scale(amount: BillUnits, count: number, of: number): BillUnits {
  return (amount * BigInt(count)) / BigInt(of);
}

function magnitude(units: BillUnits): BillUnits {
  return units < 0n ? -units : units;
}

function smaller(one: BillUnits, other: BillUnits): BillUnits {
  return one < other ? one : other;
}

function larger(one: BillUnits, other: BillUnits): BillUnits {
  return one > other ? one : other;
}
