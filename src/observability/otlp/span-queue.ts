// Bounds the spans that wait for a collector, and counts lost ones. A slow or unavailable collector costs this much
// memory and delays no message.

import { TraceFlags } from '@opentelemetry/api';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { bounds } from '../../config/config.ts';

const GRACE_MS = 1_000; // the exporter gives up first, and reports why

type ExportDone = Parameters<SpanExporter['export']>[1];

/** The SDK's own queue is behind it and never overflows; it reports drops without a count. */
export class SpanQueue implements SpanProcessor {
  readonly #inner: BatchSpanProcessor;
  readonly #queuedMax: number;
  readonly #inProgress = new Set<Promise<void>>();
  #queued = 0;
  #dropped = 0;

  /** `timeoutMs`: how long the exporter retries; `delayMs`: how long the first span of a batch waits for others. */
  constructor(
    exporter: SpanExporter,
    { timeoutMs, delayMs }: { timeoutMs: number; delayMs: number },
    queuedMax: number = bounds.tracedSpansQueuedMax,
  ) {
    this.#queuedMax = queuedMax;
    this.#inner = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => this.#export(exporter, spans, done),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: queuedMax,
      maxExportBatchSize: Math.min(queuedMax, bounds.tracedSpansPerExportMax),
      scheduledDelayMillis: delayMs,
      exportTimeoutMillis: timeoutMs + GRACE_MS,
    });
  }

  /** Spans that no collector received: too many waited, or it rejected them. */
  get dropped(): number {
    return this.#dropped;
  }

  onStart(): void {
    // A span waits only once it has ended.
  }

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
    if (this.#queued >= this.#queuedMax) {
      this.#dropped++;
      return;
    }
    this.#queued++;
    this.#inner.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#inner.forceFlush();
  }

  /** Exports what is queued and waits for exports in progress, which the SDK does not do. */
  async shutdown(): Promise<void> {
    await this.#inner.forceFlush().catch(() => {}); // failed exports are counted
    await Promise.all(this.#inProgress);
    await this.#inner.shutdown();
  }

  #export(exporter: SpanExporter, spans: ReadableSpan[], done: ExportDone): void {
    this.#queued -= spans.length;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inProgress.add(promise);
    exporter.export(spans, (result) => {
      if (result.code !== 0) this.#dropped += spans.length;
      done(result);
      this.#inProgress.delete(promise);
      resolve();
    });
  }
}
