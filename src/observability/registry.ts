// The metrics of one service as Prometheus reads them. prom-client writes the text; the counting is
// done in series of our own (family.ts), because it would cost prom-client ten times as much.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Metric, Registry } from 'prom-client';
// The part of it that is needed here: the whole brings HTTP clients and a cluster, and takes 14 MB more.
// @ts-expect-error That part has no types of its own.
import PromRegistry from 'prom-client/lib/registry.js';
import { bounds } from '../config.ts';
import { Count, Distribution, Family, type FamilyTerms } from './family.ts';

interface Sample {
  labels: Readonly<Record<string, string | number>>;
  value: number;
  metricName?: string;
}

/** What a gauge is now: its labels' values, in their order, and the value. */
export type Reading = readonly [values: readonly string[], value: number];

export class MetricRegistry {
  readonly #registry: Registry = new PromRegistry();
  #scrape: Promise<string> | null = null;

  get contentType(): string {
    return this.#registry.contentType;
  }

  counter(terms: FamilyTerms): Family<Count> {
    const family = new Family(terms, () => new Count());
    this.#register(terms, 'counter', () =>
      family.list().map(({ labels, series }) => ({ labels, value: series.value })),
    );
    return family;
  }

  /** `upperBounds` in the unit of the name, ascending; few of them, since each is a series. */
  histogram(terms: FamilyTerms, upperBounds: readonly number[]): Family<Distribution> {
    const family = new Family(terms, () => new Distribution(upperBounds), bounds.metricDistributionsMax);
    this.#register(terms, 'histogram', () =>
      family.list().flatMap(({ labels, series }) => samplesOf(terms.name, labels, series)),
    );
    return family;
  }

  /** Asked when somebody looks, in series that others bound. */
  gauge(terms: FamilyTerms, read: () => Reading[] | Promise<Reading[]>): void {
    this.#register(terms, 'gauge', () => readSamples(terms, read));
  }

  /** As `gauge`, for what something else has counted. */
  counterOf(terms: FamilyTerms, read: () => Reading[]): void {
    this.#register(terms, 'counter', () => readSamples(terms, read));
  }

  /** The text of all metrics. Those who ask while it is written get the same; between two metrics others have their turn. */
  scrape(): Promise<string> {
    this.#scrape ??= this.#write().finally(() => {
      this.#scrape = null;
    });
    return this.#scrape;
  }

  async #write(): Promise<string> {
    const parts: string[] = [];
    for (const { name } of this.#registry.getMetricsAsArray()) {
      parts.push(await this.#registry.getSingleMetricAsString(name));
      await nextTurn();
    }
    return `${parts.join('\n\n')}\n`;
  }

  #register(terms: FamilyTerms, type: string, read: () => Sample[] | Promise<Sample[]>): void {
    const { name, help } = terms;
    const metric = {
      name,
      help,
      type,
      aggregator: 'sum',
      get: async () => ({ name, help, type, values: await read() }),
    };
    // All that a registry asks of a metric is its name and what `get` gives.
    this.#registry.registerMetric(metric as unknown as Metric<string>);
  }
}

async function readSamples(terms: FamilyTerms, read: () => Reading[] | Promise<Reading[]>): Promise<Sample[]> {
  const names = Object.keys(terms.labels ?? {});
  let readings: Reading[] = [];
  try {
    readings = await read();
  } catch {
    // What cannot be read now (a store that is gone) has no samples; all the others are wanted the more.
  }
  return readings.map(([values, value]) => ({
    labels: Object.fromEntries(names.map((name, place) => [name, values[place] as string])),
    value,
  }));
}

function samplesOf(name: string, labels: Sample['labels'], { upperBounds, counts, sum }: Distribution): Sample[] {
  const samples: Sample[] = [];
  let count = 0;
  for (const [place, bound] of [...upperBounds, '+Inf'].entries()) {
    count += counts[place] as number;
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: bound }, value: count });
  }
  samples.push(
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  );
  return samples;
}
