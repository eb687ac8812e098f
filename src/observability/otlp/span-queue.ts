// Bounds what waits for a collector, and counts what it never got: a collector that is down or slow
// costs this much memory, and no message waits for it.

import { TraceFlags } from '@opentelemetry/api';
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { bounds } from '../../config.ts';

const GRACE_MS = 1_000; // the exporter gives up first, and says why

type ExportDone = Parameters<SpanExporter['export']>[1];

/** The SDK's own queue stands behind it, and never overflows: of that one it is only known that something was dropped. */
export class SpanQueue implements SpanProcessor {
  readonly #inner: BatchSpanProcessor;
  readonly #queuedMax: number;
  readonly #underWay = new Set<Promise<void>>();
  #queued = 0;
  #dropped = 0;

  /** `timeoutMs`: how long the exporter tries; `delayMs`: how long the first span of a batch waits for others. */
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

  /** Spans that no collector has: too many waited, or it did not take them. */
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

  /** Sends what waits, and waits for what is under way, which the SDK's own does not. */
  async shutdown(): Promise<void> {
    await this.#inner.forceFlush().catch(() => {}); // what could not be sent is counted
    await Promise.all(this.#underWay);
    await this.#inner.shutdown();
  }

  #export(exporter: SpanExporter, spans: ReadableSpan[], done: ExportDone): void {
    this.#queued -= spans.length;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#underWay.add(promise);
    exporter.export(spans, (result) => {
      if (result.code !== 0) this.#dropped += spans.length;
      done(result);
      this.#underWay.delete(promise);
      resolve();
    });
  }
}
