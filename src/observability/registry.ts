// The metrics registry: series that are cheap to count in, written in the text format of Prometheus.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { bounds } from '../config/config.ts';

/** Label name → all possible values; null for operators' names (models, providers, groups). */
type LabelValues = Readonly<Record<string, readonly string[] | null>>;

export interface FamilyTerms {
  name: string;
  /** One sentence. */
  help: string;
  labels?: LabelValues;
}

/** The label value when there are too many names. */
const OTHER = 'other';

/** A sum that only grows. */
export class Count {
  value = 0;
}

/** Counts of values up to each bound, ascending. */
export class Distribution {
  readonly upperBounds: readonly number[];
  /** One more than bounds: the last counts values above all of them. */
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
 * All series of one metric. Series of known values exist from the start, at zero, so that their first increase is
 * visible. Beyond `seriesMax`, new names count as OTHER.
 */
export class Family<Series> {
  readonly #make: () => Series;
  readonly #seriesMax: number;
  readonly #names: readonly string[];
  readonly #valuesOfLabels: readonly (readonly string[] | null)[];
  readonly #series = new Map<string, LabelledSeries<Series>>();

  constructor({ labels = {} }: FamilyTerms, make: () => Series, seriesMax: number = bounds.metricSeriesMax) {
    this.#make = make;
    this.#seriesMax = seriesMax;
    this.#names = Object.keys(labels);
    this.#valuesOfLabels = Object.values(labels);
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

/** Every combination of known values, with OTHER for names. */
function combine(valuesOfLabels: readonly (readonly string[] | null)[]): string[][] {
  let combined: string[][] = [[]];
  for (const known of valuesOfLabels)
    combined = combined.flatMap((before) => (known ?? [OTHER]).map((value) => [...before, value]));
  return combined;
}

interface Sample {
  labels: Readonly<Record<string, string>>;
  value: number;
  /** After the name of the metric. */
  suffix?: '_bucket' | '_sum' | '_count';
}

interface Metric {
  terms: FamilyTerms;
  type: 'counter' | 'gauge' | 'histogram';
  read(): Sample[] | Promise<Sample[]>;
}

/** The current values of a gauge: label values in order, and the value. */
export type GaugeReading = readonly [values: readonly string[], value: number];

/** One value, or one for each combination of labels. */
export type Reading = number | GaugeReading[];

export class MetricRegistry {
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #metrics: Metric[] = [];
  #scrape: Promise<string> | null = null;

  counter(terms: FamilyTerms): Family<Count> {
    const family = new Family(terms, () => new Count());
    const read = () => family.list().map(({ labels, series }) => ({ labels, value: series.value }));
    this.#metrics.push({ terms, type: 'counter', read });
    return family;
  }

  /** `upperBounds` in the metric's unit, ascending; few, since each is a series. */
  histogram(terms: FamilyTerms, upperBounds: readonly number[]): Family<Distribution> {
    const family = new Family(terms, () => new Distribution(upperBounds), bounds.metricDistributionsMax);
    const read = () => family.list().flatMap(({ labels, series }) => samplesOf(labels, series));
    this.#metrics.push({ terms, type: 'histogram', read });
    return family;
  }

  /** A metric whose values are kept elsewhere, and read at scrape time. */
  reading(terms: FamilyTerms, type: 'gauge' | 'counter', read: () => Reading | Promise<Reading>): void {
    this.#metrics.push({ terms, type, read: () => readSamples(terms, read) });
  }

  /** The text of all metrics. Concurrent scrapes share one result; other work may run between two metrics. */
  scrape(): Promise<string> {
    this.#scrape ??= this.#write().finally(() => {
      this.#scrape = null;
    });
    return this.#scrape;
  }

  async #write(): Promise<string> {
    const parts: string[] = [];
    for (const metric of this.#metrics) {
      parts.push(writeMetric(metric, await metric.read()));
      await nextTurn();
    }
    return `${parts.join('\n\n')}\n`;
  }
}

function writeMetric({ terms: { name, help }, type }: Metric, samples: readonly Sample[]): string {
  const lines = [`# HELP ${name} ${escapeText(help)}`, `# TYPE ${name} ${type}`];
  for (const { labels, value, suffix = '' } of samples) {
    const pairs = Object.entries(labels).map(
      ([label, text]) => `${label}="${escapeText(text).replaceAll('"', '\\"')}"`,
    );
    lines.push(`${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${writeNumber(value)}`);
  }
  return lines.join('\n');
}

function escapeText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** JavaScript's notation, except for infinity. */
function writeNumber(value: number): string {
  return String(value).replace('Infinity', 'Inf');
}

async function readSamples({ labels = {} }: FamilyTerms, read: () => Reading | Promise<Reading>): Promise<Sample[]> {
  const names = Object.keys(labels);
  try {
    const reading = await read();
    if (typeof reading === 'number') return [{ labels: {}, value: reading }];
    return reading.map(([values, value]) => ({
      labels: Object.fromEntries(names.map((name, place) => [name, values[place] as string])),
      value,
    }));
  } catch {
    return []; // A metric that cannot be read now (the store is unavailable) has no samples; the others are still reported.
  }
}

function samplesOf(labels: Sample['labels'], { upperBounds, counts, sum }: Distribution): Sample[] {
  let count = 0;
  const buckets = [...upperBounds.map(String), '+Inf'].map((le, place): Sample => {
    count += counts[place] as number;
    return { suffix: '_bucket', labels: { ...labels, le }, value: count };
  });
  return [...buckets, { suffix: '_sum', labels, value: sum }, { suffix: '_count', labels, value: count }];
}
