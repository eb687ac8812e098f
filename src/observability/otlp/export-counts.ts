// Counts what became of each request to a collector, and tells when its answer changes: once when it
// stops taking what it is sent, and not for every request after that.

import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

type Result = Parameters<Parameters<SpanExporter['export']>[1]>[0];

export class ExportCounts {
  readonly #report: (signal: string, failure: string | null) => void;
  readonly #failing = new Set<string>();
  #sent = 0;
  #failed = 0;

  constructor(report: (signal: string, failure: string | null) => void) {
    this.#report = report;
  }

  get sent(): number {
    return this.#sent;
  }

  get failed(): number {
    return this.#failed;
  }

  ofSpans(exporter: SpanExporter): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#note('traces', result);
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }

  ofMetrics(exporter: PushMetricExporter): PushMetricExporter {
    const { selectAggregation, selectAggregationTemporality } = exporter;
    return {
      ...(selectAggregation && { selectAggregation: selectAggregation.bind(exporter) }),
      ...(selectAggregationTemporality && {
        selectAggregationTemporality: selectAggregationTemporality.bind(exporter),
      }),
      export: (metrics, done) =>
        exporter.export(metrics, (result) => {
          this.#note('metrics', result);
          done(result);
        }),
      forceFlush: () => exporter.forceFlush(),
      shutdown: () => exporter.shutdown(),
    };
  }

  #note(signal: string, { code, error }: Result): void {
    const isSent = code === 0;
    if (isSent) this.#sent++;
    else this.#failed++;
    if (isSent === !this.#failing.has(signal)) return;
    if (isSent) this.#failing.delete(signal);
    else this.#failing.add(signal);
    // Its message and code alone: what the collector answered is nobody's to repeat.
    this.#report(signal, isSent ? null : (error?.message ?? 'not taken'));
  }
}
