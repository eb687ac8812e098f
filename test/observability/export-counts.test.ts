// What an operator is told of a collector.

import { expect, test } from 'bun:test';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import { ExportCounts } from '../../src/observability/otlp/export-counts.ts';

test('that a collector takes nothing is told once, and that it takes again once more', () => {
  const told: [string, string | null][] = [];
  const counts = new ExportCounts((signal, failure) => told.push([signal, failure]));
  const results = [0, 1, 1, 1, 0, 0, 1].map((code) =>
    code === 0 ? { code } : { code, error: new Error('Unauthorized') },
  );
  const exporter: SpanExporter = {
    export: (_spans, done) => done(results.shift() as { code: number }),
    shutdown: async () => {},
  };
  const counted = counts.ofSpans(exporter);
  while (results.length > 0) counted.export([], () => {});
  expect(told).toEqual([
    ['traces', 'Unauthorized'],
    ['traces', null],
    ['traces', 'Unauthorized'],
  ]);
  expect([counts.sent, counts.failed]).toEqual([3, 4]);
});
