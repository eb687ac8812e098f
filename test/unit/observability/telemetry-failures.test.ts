// A collector that is unavailable, slow or refusing: no message waits for it, lost data is counted, and the service
// still stops in time.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { bounds } from '../../../src/config/config.ts';
import { rootDirectory } from '../../check.ts';
import { bodyOf, startWorld, type World } from '../../contract/post-messages/world.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { readSamples } from '../../support/read-samples.ts';

let collector: OtlpReceiver;
beforeAll(async () => {
  collector = await startOtlpReceiver();
});
afterAll(() => collector[Symbol.asyncDispose]());

const QUICK = { OTEL_BSP_SCHEDULE_DELAY: '5', OTEL_EXPORTER_OTLP_TIMEOUT: '300', OTEL_METRICS_EXPORTER: 'none' };

async function tracing(url: string, more: Record<string, string> = {}): Promise<World> {
  return startWorld({}, { OTEL_EXPORTER_OTLP_ENDPOINT: url, ...QUICK, ...more });
}

async function send(world: World, count: number): Promise<number> {
  const { secret } = await world.makeKey();
  const startedMs = performance.now();
  for (let message = 0; message < count; message++) {
    const response = await world.post(secret, bodyOf());
    expect(response.status).toBe(200);
    await response.text();
  }
  return performance.now() - startedMs;
}

/** At least the value: the spans of a message may be sent together or one by one. */
async function awaitSample(world: World, name: string, value: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const samples = readSamples(await (await world.scrape()).text());
    if ((samples[name] ?? 0) >= value) return;
    if (tries === 500) throw new Error(`${name} is ${samples[name]}, not ${value}`);
    await Bun.sleep(10);
  }
}

test('if no collector listens at the address, messages are answered at once, and their spans count as dropped', async () => {
  const world = await tracing('http://127.0.0.1:9');
  expect(await send(world, 5)).toBeLessThan(2_000);
  await awaitSample(world, 'turnpike_telemetry_spans_dropped_total', 10);
  await world.stop();
});

test('a collector that never responds does not delay messages, and delays the shutdown only up to a bound', async () => {
  collector.answer('never');
  const world = await tracing(collector.url, { OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
  expect(await send(world, 5)).toBeLessThan(2_000);
  const startedMs = performance.now();
  await world.stop();
  expect(performance.now() - startedMs).toBeWithin(bounds.telemetryFlushMsMax - 10, bounds.telemetryFlushMsMax + 3_000);
});

test('a refusing collector loses the data sent meanwhile, and gets later data', async () => {
  collector.answer(401);
  const world = await tracing(collector.url, { OTEL_EXPORTER_OTLP_TIMEOUT: '60000' });
  await send(world, 1);
  await awaitSample(world, 'turnpike_telemetry_exports_total{result="failed"}', 1);
  await send(world, 1);
  await awaitSample(world, 'turnpike_telemetry_exports_total{result="failed"}', 2);
  await awaitSample(world, 'turnpike_telemetry_spans_dropped_total', 4);
  collector.answer(200);
  await send(world, 1);
  await awaitSample(world, 'turnpike_telemetry_exports_total{result="sent"}', 1);
  await world.stop();
});

test('queued data is sent before the service stops', async () => {
  collector.answer(200);
  collector.spans.length = 0;
  const world = await tracing(collector.url, { OTEL_BSP_SCHEDULE_DELAY: '60000' });
  await send(world, 3);
  expect(collector.spans).toHaveLength(0);
  await world.stop();
  expect(collector.spans).toHaveLength(6);
});

test('data is compressed if configured', async () => {
  collector.answer(200);
  collector.spans.length = 0;
  const world = await tracing(collector.url, { OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip' });
  await send(world, 1);
  await collector.awaitSpans(2);
  expect(collector.requests.at(-1)?.headers['content-encoding']).toBe('gzip');
  await world.stop();
});

test('the configured share of the traces is sent, and none without an endpoint', async () => {
  collector.answer(200);
  collector.spans.length = 0;
  const none = await tracing(collector.url, { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
  await send(none, 5);
  await none.stop();
  const off = await tracing(collector.url, { OTEL_SDK_DISABLED: 'true' });
  await send(off, 1);
  await off.stop();
  expect(collector.spans).toHaveLength(0);
});

test('a service without a collector does not load OpenTelemetry', async () => {
  const program = `
    await import('${join(rootDirectory, 'src/server/server.ts')}');
    console.log(Object.keys(require.cache).filter((path) => path.includes('@opentelemetry/')).length);`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdout: 'pipe', stderr: 'inherit' });
  expect(await new Response(child.stdout).text()).toBe('0\n');
});
