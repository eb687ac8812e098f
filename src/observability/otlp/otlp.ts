// Traces and metrics over OTLP (HTTP, protobuf), by OpenTelemetry's own packages. Nothing is registered
// globally and no variable is left for the packages to read: several services may live in one process.

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
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { bounds, type CollectorSettings, type TelemetrySettings } from '../../config.ts';
import type { Telemetry } from '../telemetry.ts';
import { ExportCounts } from './export-counts.ts';
import { GenAiMetrics } from './gen-ai-metrics.ts';
import { MessageSpans, traceRefusal } from './message-spans.ts';
import { SpanQueue } from './span-queue.ts';

const SCOPE = 'turnpike';
const MESSAGES_PATH = /\/messages\/?$/;

/** One at a time, but for the end: then all that waits is sent together. */
const EXPORTS_AT_ONCE_MAX = Math.ceil(bounds.tracedSpansQueuedMax / bounds.tracedSpansPerExportMax) + 1;

type ExporterOptions = NonNullable<ConstructorParameters<typeof OTLPTraceExporter>[0]>;
type Closer = () => Promise<void>;

/** As `openTelemetry`. */
export function startTelemetry(
  settings: TelemetrySettings,
  version: string,
  report: (signal: string, failure: string | null) => void,
): Telemetry {
  const resource = resourceFromAttributes({
    'service.name': settings.serviceName,
    'service.version': version,
    ...settings.resourceAttributes,
  });
  const counts = new ExportCounts(report);
  const closers: Closer[] = [];
  const traces = settings.traces && startTraces(settings.traces, resource, version, counts, closers);
  const metrics = settings.metrics && startMetrics(settings.metrics, resource, version, counts, closers);
  return {
    trace: traces && ((start) => new MessageSpans(traces.tracer, start)),
    countMessage: (message) => metrics?.countMessage(message),
    traceAnswer(answer) {
      if (traces === null || answer.failure === null || !MESSAGES_PATH.test(answer.path)) return;
      if (answer.method === 'POST') traceRefusal(traces.tracer, answer, answer.failure.code);
    },
    readings: () => ({
      spansDropped: traces?.queue.dropped ?? 0,
      exportsSent: counts.sent,
      exportsFailed: counts.failed,
    }),
    close: () => closeWithin(bounds.telemetryFlushMsMax, closers),
  };
}

function startTraces(
  settings: NonNullable<TelemetrySettings['traces']>,
  resource: Resource,
  version: string,
  counts: ExportCounts,
  closers: Closer[],
) {
  const exporter = counts.ofSpans(new OTLPTraceExporter(exporterOptions(settings)));
  const queue = new SpanQueue(exporter, settings);
  const provider = new TracerProvider({ resource, sampler: makeSampler(settings), spanProcessors: [queue] });
  closers.push(() => provider.shutdown());
  return { tracer: provider.getTracer(SCOPE, version), queue };
}

function startMetrics(
  settings: NonNullable<TelemetrySettings['metrics']>,
  resource: Resource,
  version: string,
  counts: ExportCounts,
  closers: Closer[],
): GenAiMetrics {
  const { CUMULATIVE, DELTA } = AggregationTemporality;
  // Every instrument here is a histogram, for which a preference for little memory means deltas.
  const temporalityPreference = settings.temporality === 'cumulative' ? CUMULATIVE : DELTA;
  const exporter: PushMetricExporter = new OTLPMetricExporter({ ...exporterOptions(settings), temporalityPreference });
  const reader = new PeriodicExportingMetricReader({
    exporter: counts.ofMetrics(exporter),
    exportIntervalMillis: settings.intervalMs,
    exportTimeoutMillis: Math.min(settings.timeoutMs, settings.intervalMs),
    cardinalityLimits: { default: bounds.metricDistributionsMax },
  });
  const provider = new MeterProvider({ resource, readers: [reader] });
  closers.push(() => provider.shutdown());
  return new GenAiMetrics(provider.getMeter(SCOPE, version));
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

/** A collector that does not answer now is not waited for: the process is about to end. */
async function closeWithin(boundMs: number, closers: readonly Closer[]): Promise<void> {
  const closing = Promise.allSettled(closers.map((close) => close()));
  const { promise: waited, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, boundMs);
  await Promise.race([closing, waited]);
  clearTimeout(timer);
}
