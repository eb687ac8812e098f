// Prediction errors of an account's messages by kind of text (prose, code, another script): no function of byte
// classes fits all kinds, and the bill for one kind must not depend on the others.

import { type ByteClasses, totalBytes } from './byte-classes.ts';

export class RecentSamples {
  readonly #values: Float64Array;
  #next = 0;
  #size = 0;

  /** Keeps the last `samplesMax`; `values` are earlier ones, oldest first. */
  constructor(samplesMax: number, values: readonly number[] = []) {
    this.#values = new Float64Array(samplesMax);
    for (const value of values) this.add(value);
  }

  get size(): number {
    return this.#size;
  }

  /** Rounded to a ten-thousandth, which keeps stored documents short. */
  add(value: number): void {
    this.#values[this.#next] = roundSample(value);
    this.#next = (this.#next + 1) % this.#values.length;
    this.#size = Math.min(this.#size + 1, this.#values.length);
  }

  /** Multiplies all samples, within the limits. */
  scale(factor: number, least: number, most: number): void {
    const values = this.#values;
    for (let at = 0; at < this.#size; at++)
      values[at] = roundSample(Math.min(most, Math.max(least, (values[at] as number) * factor)));
  }

  /** The quantile of each share (0.1); there must be a sample. */
  quantiles<const Shares extends readonly number[]>(...shares: Shares): { [At in keyof Shares]: number } {
    const sorted = this.#values.slice(0, this.#size).sort();
    const found = shares.map((share) => sorted[Math.min(this.#size - 1, Math.floor(share * this.#size))] as number);
    return found as { [At in keyof Shares]: number };
  }

  /** Oldest first. */
  list(): number[] {
    const start = this.#size < this.#values.length ? 0 : this.#next;
    const list: number[] = [];
    for (let at = 0; at < this.#size; at++) list.push(this.#values[(start + at) % this.#size] as number);
    return list;
  }
}

function roundSample(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}

export const KINDS_MAX = 12;
export const RATIOS_KEPT = 12;
const RATIOS_LEAST = 4;
export const RATIO_MOST = 4; // a larger ratio means that the text was not what was counted
// Distance between shares of classes: 2 for texts without a class in common.
const SAME_KIND_MOST = 0.08; // for a sample to join a kind
const LIKE_KIND_MOST = 0.15; // for a text to be estimated by a kind
const CENTER_FOLLOWS = 1 / 8;

export interface KindDocument {
  /** Shares of the classes in the bytes of its texts. */
  shares: number[];
  /** Ratios of real to predicted tokens of the last messages. */
  ratios: number[];
}

/** Quantiles of the ratio of real to predicted tokens. */
export interface Spread {
  readonly low: number;
  readonly high: number;
}

export interface KindSpread extends Spread {
  readonly shares: readonly number[];
}

interface Kind {
  shares: number[];
  ratios: RecentSamples;
}

export class KindsOfText {
  #kinds: Kind[];

  constructor(documents: readonly KindDocument[] = []) {
    this.#kinds = documents.map(({ shares, ratios }) => ({
      shares: [...shares],
      ratios: new RecentSamples(RATIOS_KEPT, ratios),
    }));
  }

  get ratios(): number[] {
    return this.#kinds.flatMap(({ ratios }) => ratios.list());
  }

  /** The most recent kind is at the end; the least recent is evicted. */
  add(classes: Readonly<ByteClasses>, ratio: number): void {
    const bytes = totalBytes(classes);
    const known = nearest(this.#kinds, classes, SAME_KIND_MOST);
    const kind = known ?? { shares: classes.map((count) => count / bytes), ratios: new RecentSamples(RATIOS_KEPT) };
    const { shares } = kind;
    for (let at = 0; at < shares.length; at++) {
      const share = shares[at] as number;
      shares[at] = share + ((classes[at] as number) / bytes - share) * CENTER_FOLLOWS;
    }
    kind.ratios.add(ratio);
    if (this.#kinds.at(-1) === kind) return;
    this.#kinds = [...this.#kinds.filter((other) => other !== kind), kind].slice(-KINDS_MAX);
  }

  /** The fit changed: rescales ratios to the new predictions. */
  follow(
    predictedBefore: (shares: readonly number[]) => number,
    predicted: (shares: readonly number[]) => number,
  ): void {
    for (const { shares, ratios } of this.#kinds)
      ratios.scale(predictedBefore(shares) / predicted(shares), 1 / RATIO_MOST, RATIO_MOST);
  }

  spreads(spreadOf: (ratios: RecentSamples) => Spread): KindSpread[] {
    const known = this.#kinds.filter(({ ratios }) => ratios.size >= RATIOS_LEAST);
    return known.map(({ shares, ratios }) => ({ shares: [...shares], ...spreadOf(ratios) }));
  }

  /** With numbers rounded as they are stored. */
  documents(round: (number: number) => number): KindDocument[] {
    for (const kind of this.#kinds) kind.shares = kind.shares.map(round);
    return this.#kinds.map(({ shares, ratios }) => ({ shares: [...shares], ratios: ratios.list() }));
  }
}

/** The kind of a text; null if it is unlike all of them. Called for every delta. */
export function nearest<Of extends { readonly shares: readonly number[] }>(
  kinds: readonly Of[],
  classes: Readonly<ByteClasses>,
  differenceMost = LIKE_KIND_MOST,
): Of | null {
  const bytes = totalBytes(classes);
  let found: Of | null = null;
  let least = differenceMost * bytes;
  for (const kind of kinds) {
    let distance = 0;
    for (let at = 0; at < classes.length; at++)
      distance += Math.abs((classes[at] as number) - (kind.shares[at] as number) * bytes);
    if (distance >= least) continue;
    least = distance;
    found = kind;
  }
  return found;
}
