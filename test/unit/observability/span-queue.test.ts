// The queue for a telemetry collector is bounded, and dropped spans are counted.

import { expect, test } from 'bun:test';
import { type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace';
import { SpanQueue } from '../../../src/observability/otlp/span-queue.ts';

const TIMES = { timeoutMs: 10_000, delayMs: 1 };

/** An exporter that the test completes. */
function slowExporter() {
  const taken: number[] = [];
  const answers: ((code: number) => void)[] = [];
  const exporter: SpanExporter = {
    export(spans, done) {
      taken.push(spans.length);
      answers.push((code) => done({ code }));
    },
    shutdown: async () => {},
  };
  return { exporter, taken, answers };
}

function endSpans(queue: SpanQueue, count: number): void {
  const tracer = new TracerProvider({ spanProcessors: [queue] }).getTracer('test');
  for (let span = 0; span < count; span++) tracer.startSpan('s').end();
}

test('while one batch is being sent, the queue is bounded, and further spans are dropped and counted', async () => {
  const { exporter, taken, answers } = slowExporter();
  const queue = new SpanQueue(exporter, TIMES, 100);
  endSpans(queue, 1);
  await Bun.sleep(20);
  endSpans(queue, 1_000);
  expect(queue.dropped).toBe(900);
  answers[0]?.(0);
  for (let tries = 0; tries < 100 && taken.length < 2; tries++) await Bun.sleep(5);
  answers[1]?.(0);
  expect(taken).toEqual([1, 100]);
  endSpans(queue, 100);
  expect(queue.dropped).toBe(900);
});

test('a refused batch is dropped and counted', async () => {
  const { exporter, answers } = slowExporter();
  const queue = new SpanQueue(exporter, TIMES, 100);
  endSpans(queue, 3);
  await Bun.sleep(20);
  answers[0]?.(1);
  expect(queue.dropped).toBe(3);
});

test('a shutdown waits for the queue and for the batch being sent', async () => {
  const { exporter, taken, answers } = slowExporter();
  const queue = new SpanQueue(exporter, TIMES, 100);
  endSpans(queue, 1);
  await Bun.sleep(20);
  endSpans(queue, 2);
  let isOver = false;
  const ending = queue.shutdown().then(() => {
    isOver = true;
  });
  await Bun.sleep(20);
  expect([taken, isOver]).toEqual([[1, 2], false]);
  answers[1]?.(0);
  await Bun.sleep(20);
  expect(isOver).toBe(false);
  answers[0]?.(0);
  await ending;
  expect(queue.dropped).toBe(0);
});
