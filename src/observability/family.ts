// A metric and its series. A series is a plain object that is counted in directly, and found once by
// whoever counts often: a message touches twenty, and looking each up by its labels costs more than the rest.

import { bounds } from '../config.ts';

/** Name → all values that it can have; null where an operator's own names stand (models, providers, groups). */
export type LabelValues = Readonly<Record<string, readonly string[] | null>>;

export interface FamilyTerms {
  name: string;
  /** One sentence. */
  help: string;
  labels?: LabelValues;
}

/** What a name counts as when there are too many of them. */
export const OTHER = 'other';

/** A sum that only grows. */
export class Count {
  value = 0;
}

/** How often a value was at most each of the bounds, in ascending order. */
export class Distribution {
  readonly upperBounds: readonly number[];
  /** One more than bounds: the last is of what is above them all. */
  readonly counts: number[];
  sum = 0;

  constructor(upperBounds: readonly number[]) {
    this.upperBounds = upperBounds;
    this.counts = new Array(upperBounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let place = 0;
    while (place < this.upperBounds.length && value > (this.upperBounds[place] as number)) place++;
    this.counts[place] = (this.counts[place] as number) + 1;
    this.sum += value;
  }
}

interface LabelledSeries<Series> {
  readonly labels: Readonly<Record<string, string>>;
  readonly series: Series;
}

/**
 * All series of one metric. Those of every value that is known beforehand are there from the start, at
 * zero, so that their first change is seen as one. Above `seriesMax`, new names of operators count as OTHER.
 */
export class Family<Series> {
  readonly terms: FamilyTerms;
  readonly #make: () => Series;
  readonly #seriesMax: number;
  readonly #names: readonly string[];
  readonly #valuesOfLabels: readonly (readonly string[] | null)[];
  readonly #series = new Map<string, LabelledSeries<Series>>();

  constructor(terms: FamilyTerms, make: () => Series, seriesMax: number = bounds.metricSeriesMax) {
    this.terms = terms;
    this.#make = make;
    this.#seriesMax = seriesMax;
    this.#names = Object.keys(terms.labels ?? {});
    this.#valuesOfLabels = Object.values(terms.labels ?? {});
    for (const values of combine(this.#valuesOfLabels)) this.#add(values);
  }

  /** The series of these values, in the order of the labels. */
  of(...values: string[]): Series {
    const found = this.#series.get(keyOf(values));
    if (found !== undefined) return found.series;
    if (this.#series.size < this.#seriesMax) return this.#add(values);
    const others = this.#valuesOfLabels.map((known, place) => (known === null ? OTHER : (values[place] as string)));
    return this.#series.get(keyOf(others))?.series ?? this.#add(others);
  }

  /** Each series with its labels. */
  list(): readonly LabelledSeries<Series>[] {
    return [...this.#series.values()];
  }

  #add(values: readonly string[]): Series {
    const series = this.#make();
    const labels = Object.fromEntries(this.#names.map((name, place) => [name, values[place] as string]));
    this.#series.set(keyOf(values), { labels, series });
    return series;
  }
}

function keyOf(values: readonly string[]): string {
  return values.join('\n');
}

/** Every combination of known values, with OTHER for those that are not known beforehand. */
function combine(valuesOfLabels: readonly (readonly string[] | null)[]): string[][] {
  let combined: string[][] = [[]];
  for (const known of valuesOfLabels)
    combined = combined.flatMap((before) => (known ?? [OTHER]).map((value) => [...before, value]));
  return combined;
}
