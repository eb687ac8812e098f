// The standard variables of OpenTelemetry: their meaning and their faults.

import { expect, test } from 'bun:test';
import { readConfig } from '../../../src/config/config.ts';

const read = (environment: Record<string, string>) => readConfig({}, environment);
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

test('without an endpoint nothing is sent, whatever the other variables say', () => {
  for (const environment of [{}, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'x' }])
    expect(read(environment)).toMatchObject({ telemetry: null, telemetryFaults: [] });
  expect(read({ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }).telemetry).toBeNull();
});

test('one endpoint gets both signals, each at its path', () => {
  expect(read(ENDPOINT).telemetry).toEqual({
    serviceName: 'turnpike',
    resourceAttributes: {},
    traces: {
      url: 'http://collector:4318/v1/traces',
      headers: {},
      timeoutMs: 10_000,
      compression: 'none',
      sampler: 'parentbased_always_on',
      ratio: 1,
      delayMs: 1_000,
    },
    metrics: {
      url: 'http://collector:4318/v1/metrics',
      headers: {},
      timeoutMs: 10_000,
      compression: 'none',
      intervalMs: 60_000,
      temporality: 'cumulative',
    },
  });
  expect(read({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' }).telemetry?.traces?.url).toBe(
    'http://c:4318/base/v1/traces',
  );
});

test('a variable for one signal takes precedence, and its endpoint is used unchanged', () => {
  const { telemetry } = read({
    ...ENDPOINT,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a,x-all=1',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example/in',
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: 'authorization=Bearer%20b',
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: '2000',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE: 'Delta',
  });
  expect(telemetry?.traces).toMatchObject({
    url: 'https://traces.example/in',
    headers: { authorization: 'Bearer b', 'x-all': '1' },
    timeoutMs: 2_000,
    compression: 'gzip',
  });
  expect(telemetry?.metrics).toMatchObject({
    url: 'http://collector:4318/v1/metrics',
    headers: { authorization: 'Bearer a', 'x-all': '1' },
    temporality: 'delta',
  });
});

test('if only one signal has an endpoint, only that one is sent', () => {
  const tracesOnly = read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c/v1/traces' }).telemetry;
  expect([tracesOnly?.traces?.url, tracesOnly?.metrics]).toEqual(['http://c/v1/traces', null]);
  const metricsOnly = read({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }).telemetry;
  expect([metricsOnly?.traces, metricsOnly?.metrics?.url]).toEqual([null, 'http://collector:4318/v1/metrics']);
});

test('the service name is read from its own variable, otherwise from the resource attribute', () => {
  const attributes = { ...ENDPOINT, OTEL_RESOURCE_ATTRIBUTES: 'service.name=named,team=a%2Cb' };
  expect(read(attributes).telemetry).toMatchObject({ serviceName: 'named', resourceAttributes: { team: 'a,b' } });
  expect(read({ ...attributes, OTEL_SERVICE_NAME: 'own' }).telemetry?.serviceName).toBe('own');
});

test('all faults are reported at once, without values that may be secret', () => {
  const { telemetryFaults } = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    OTEL_EXPORTER_OTLP_HEADERS: 'SECRET',
    OTEL_TRACES_SAMPLER: 'jaeger_remote',
    OTEL_TRACES_SAMPLER_ARG: '2',
    OTEL_METRIC_EXPORT_INTERVAL: 'soon',
    OTEL_METRICS_EXPORTER: 'prometheus',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'zstd',
  });
  const names = telemetryFaults.map((fault) => fault.split(':')[0]);
  expect(names.toSorted()).toEqual([
    'OTEL_EXPORTER_OTLP_COMPRESSION',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_HEADERS',
    'OTEL_EXPORTER_OTLP_PROTOCOL',
    'OTEL_METRICS_EXPORTER',
    'OTEL_METRIC_EXPORT_INTERVAL',
    'OTEL_TRACES_SAMPLER',
    'OTEL_TRACES_SAMPLER_ARG',
  ]);
  expect(telemetryFaults.join('\n')).not.toContain('SECRET');
  expect(telemetryFaults.join('\n')).toContain('"grpc" is not supported; it must be http/protobuf');
});

test('a header that no request can carry is a fault', () => {
  for (const headers of ['a b=c', 'a=%0d%0ab'])
    expect(read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers }).telemetryFaults).toHaveLength(1);
});
