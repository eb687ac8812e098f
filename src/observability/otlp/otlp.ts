// Traces and metrics over OTLP (HTTP, protobuf) with OpenTelemetry's packages. Nothing is registered globally and no
// variables are read by the packages, so several services may run in one process.

import { setTimeout as wait } from 'node:timers/promises';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from '@opentelemetry/sdk-metrics';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { bounds, type CollectorSettings, type TelemetrySettings } from '../../config/config.ts';
import type { MessageReport, TraceStart } from '../../gateway/gateway.ts';
import type { Answered } from '../../public-api/public-api.ts';
import { GenAiMetrics } from './gen-ai-metrics.ts';
import { MessageSpans, traceRefusal } from './message-spans.ts';
import { SpanQueue } from './span-queue.ts';

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

  /** Which signals are not taken at present; null: all are. */
  get failure(): string | null {
    return this.#failing.size === 0 ? null : `${[...this.#failing].join(', ')} are not taken`;
  }

  /** Counts the results of this exporter from now on. It has failed when it reports none soon after its own timeout. */
  watch<Exporter extends Pick<SpanExporter, 'export'> | Pick<PushMetricExporter, 'export'>>(
    signal: string,
    exporter: Exporter,
    timeoutMs: number,
  ): Exporter {
    const send = exporter.export.bind(exporter) as (items: unknown, done: (result: Result) => void) => void;
    exporter.export = (items: unknown, done: (result: Result) => void) => {
      let isDone = false;
      const finish = (result: Result) => {
        if (isDone) return;
        isDone = true;
        clearTimeout(timer);
        this.#note(signal, result);
        done(result);
      };
      const late = { code: FAILED, error: new Error('The collector did not respond in time.') };
      const timer = setTimeout(() => finish(late), timeoutMs + LATE_MS);
      timer.unref();
      send(items, finish);
    };
    return exporter;
  }

  #note(signal: string, { code, error }: Result): void {
    const isSent = code === 0;
    if (isSent) this.#sent++;
    else this.#failed++;
    if (isSent === !this.#failing.has(signal)) return;
    if (isSent) this.#failing.delete(signal);
    else this.#failing.add(signal);
    // Only the message and code: the collector's response is not repeated.
    this.#report(signal, isSent ? null : (error?.message ?? 'not accepted'));
  }
}

const FAILED = 1;
/** Before the SDK gives up the export without a result. */
const LATE_MS = 500;
const SCOPE = 'turnpike';
const MESSAGES_PATH = /\/messages\/?$/;

/** One at a time; at the end all that is queued is sent together. */
const EXPORTS_AT_ONCE_MAX = Math.ceil(bounds.tracedSpansQueuedMax / bounds.tracedSpansPerExportMax) + 1;

type ExporterOptions = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;
export type Telemetry = ReturnType<typeof startTelemetry>;

/** `report` is called when a collector stops accepting a signal, and when it recovers. */
export function startTelemetry(
  settings: TelemetrySettings,
  version: string,
  report: (signal: string, failure: string | null) => void,
) {
  const resource = resourceFromAttributes({
    'service.name': settings.serviceName,
    'service.version': version,
    ...settings.resourceAttributes,
  });
  const counts = new ExportCounts(report);
  const traces = settings.traces && startTraces(settings.traces, resource, counts);
  const tracer = traces?.provider.getTracer(SCOPE, version) ?? null;
  const meters = settings.metrics && startMetrics(settings.metrics, resource, counts);
  const metrics = meters && new GenAiMetrics(meters.getMeter(SCOPE, version));
  return {
    /** null if only metrics are exported. */
    trace: tracer && ((start: TraceStart) => new MessageSpans(tracer, start)),
    /** An admitted message has ended. */
    countMessage: (message: MessageReport) => metrics?.countMessage(message),
    /** Any other request was answered; a refused message has a span as well. */
    traceAnswer(answer: Answered): void {
      if (tracer === null || answer.failure === null || !MESSAGES_PATH.test(answer.path)) return;
      if (answer.method === 'POST') traceRefusal(tracer, answer, answer.failure.code);
    },
    readings: () => ({
      spansDropped: traces?.queue.dropped ?? 0,
      exportsSent: counts.sent,
      exportsFailed: counts.failed,
    }),
    /** Why the collector of traces does not take a span, or that of metrics alone did not take the last ones; null: it does. */
    test: async () => (settings.traces === null ? counts.failure : await sendTestSpan(settings.traces, resource)),
    /** Exports what is queued, bounded in time: the process is about to end. */
    async close(): Promise<void> {
      const closing = Promise.allSettled([traces?.provider.shutdown(), meters?.shutdown()]);
      await Promise.race([closing, wait(bounds.telemetryFlushMsMax, undefined, { ref: false })]);
    },
  };
}

function startTraces(settings: NonNullable<TelemetrySettings['traces']>, resource: Resource, counts: ExportCounts) {
  const exporter = counts.watch('traces', new OTLPTraceExporter(exporterOptions(settings)), settings.timeoutMs);
  const queue = new SpanQueue(exporter, settings);
  return { provider: new TracerProvider({ resource, sampler: makeSampler(settings), spanProcessors: [queue] }), queue };
}

/** Sends one span by an exporter of its own. */
async function sendTestSpan(
  settings: NonNullable<TelemetrySettings['traces']>,
  resource: Resource,
): Promise<string | null> {
  const spans: Parameters<SpanExporter['export']>[0] = [];
  const kept = { onStart() {}, onEnd: (span: (typeof spans)[number]) => void spans.push(span) };
  const ends = { forceFlush: async () => {}, shutdown: async () => {} };
  const sampler = new AlwaysOnSampler();
  const provider = new TracerProvider({ resource, sampler, spanProcessors: [{ ...kept, ...ends }] });
  provider.getTracer(SCOPE).startSpan('turnpike.test').end();
  const { promise, resolve } = Promise.withResolvers<Result>();
  const exporter = new ExportCounts(() => {}).watch(
    'test',
    new OTLPTraceExporter(exporterOptions(settings)),
    settings.timeoutMs,
  );
  exporter.export(spans, resolve);
  const { code, error } = await promise;
  await exporter.shutdown();
  return code === 0 ? null : (error?.message ?? 'the collector did not take the span');
}

function startMetrics(
  settings: NonNullable<TelemetrySettings['metrics']>,
  resource: Resource,
  counts: ExportCounts,
): MeterProvider {
  const { CUMULATIVE, DELTA } = AggregationTemporality;
  // All instruments are histograms, for which the low-memory preference means deltas.
  const temporalityPreference = settings.temporality === 'cumulative' ? CUMULATIVE : DELTA;
  const exporter: PushMetricExporter = new OTLPMetricExporter({ ...exporterOptions(settings), temporalityPreference });
  const reader = new PeriodicExportingMetricReader({
    exporter: counts.watch('metrics', exporter, settings.timeoutMs),
    exportIntervalMillis: settings.intervalMs,
    exportTimeoutMillis: Math.min(settings.timeoutMs, settings.intervalMs),
    cardinalityLimits: { default: bounds.metricDistributionsMax },
  });
  return new MeterProvider({ resource, readers: [reader] });
}

function exporterOptions({ url, headers, timeoutMs, compression }: CollectorSettings): ExporterOptions {
  return {
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    compression: compression as string as NonNullable<ExporterOptions['compression']>,
    concurrencyLimit: EXPORTS_AT_ONCE_MAX,
  };
}

function makeSampler({ sampler, ratio }: { sampler: string; ratio: number }): Sampler {
  const root = sampler.endsWith('always_off')
    ? new AlwaysOffSampler()
    : sampler.endsWith('traceidratio')
      ? new TraceIdRatioBasedSampler(ratio)
      : new AlwaysOnSampler();
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}
