// Reports to the operator about a telemetry collector.

import { expect, test } from 'bun:test';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { ExportCounts } from '../../../src/observability/otlp/otlp.ts';

test('an outage of a collector is reported once, and its recovery once', () => {
  const reports: [string, string | null][] = [];
  const counts = new ExportCounts((signal, failure) => reports.push([signal, failure]));
  const results = [0, 1, 1, 1, 0, 0, 1].map((code) =>
    code === 0 ? { code } : { code, error: new Error('Unauthorized') },
  );
  const exporter: SpanExporter = {
    export: (_spans, done) => done(results.shift() as { code: number }),
    shutdown: async () => {},
  };
  const counted = counts.watch('traces', exporter, 10_000);
  while (results.length > 0) counted.export([], () => {});
  expect(reports).toEqual([
    ['traces', 'Unauthorized'],
    ['traces', null],
    ['traces', 'Unauthorized'],
  ]);
  expect([counts.sent, counts.failed]).toEqual([3, 4]);
});

test('an export without a result counts as failed after its timeout, and once', async () => {
  const counts = new ExportCounts(() => {});
  const lost = Promise.withResolvers<(result: { code: number }) => void>();
  const exporter: SpanExporter = { export: (_spans, done) => lost.resolve(done), shutdown: async () => {} };
  const { promise, resolve } = Promise.withResolvers<number>();
  counts.watch('traces', exporter, 0).export([], ({ code }) => resolve(code));
  expect(await promise).toBe(1);
  (await lost.promise)({ code: 0 });
  expect([counts.sent, counts.failed]).toEqual([0, 1]);
});
