// A collector of OTLP over HTTP that decodes messages independently of the service (the fields of opentelemetry-proto
// 1.x that tests read).

import { gunzipSync } from 'node:zlib';
import protobuf from 'protobufjs';

// The decoder skips fields that are missing here, as the wire format allows.
const PROTO = `
syntax = "proto3";
message AnyValue {
  oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; ArrayValue array_value = 5; }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValue { string key = 1; AnyValue value = 2; }
message Resource { repeated KeyValue attributes = 1; }
message Scope { string name = 1; string version = 2; }
message ExportTraces { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
message ScopeSpans { Scope scope = 1; repeated Span spans = 2; }
message Span {
  bytes trace_id = 1; bytes span_id = 2; string trace_state = 3; bytes parent_span_id = 4; string name = 5; int32 kind = 6;
  fixed64 start_time_unix_nano = 7; fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9; repeated Event events = 11; Status status = 15;
}
message Event { fixed64 time_unix_nano = 1; string name = 2; repeated KeyValue attributes = 3; }
message Status { string message = 2; int32 code = 3; }
message ExportMetrics { repeated ResourceMetrics resource_metrics = 1; }
message ResourceMetrics { Resource resource = 1; repeated ScopeMetrics scope_metrics = 2; }
message ScopeMetrics { Scope scope = 1; repeated Metric metrics = 2; }
message Metric { string name = 1; string unit = 3; Histogram histogram = 9; }
message ExportLogs { repeated ResourceLogs resource_logs = 1; }
message ResourceLogs { Resource resource = 1; repeated ScopeLogs scope_logs = 2; }
message ScopeLogs { Scope scope = 1; repeated LogRecord log_records = 2; }
message LogRecord { AnyValue body = 5; }
message Histogram { repeated Point data_points = 1; int32 aggregation_temporality = 2; }
message Point {
  fixed64 count = 4; double sum = 5; repeated fixed64 bucket_counts = 6; repeated double explicit_bounds = 7; repeated KeyValue attributes = 9;
}
`;
const types = protobuf.parse(PROTO).root;

export type Attributes = Record<string, unknown>;

export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty for a root span. */
  parentSpanId: string;
  traceState: string;
  name: string;
  /** "server" or "client". */
  kind: string;
  startMs: number;
  endMs: number;
  attributes: Attributes;
  events: { name: string; atMs: number }[];
  /** "unset", "ok" or "error". */
  status: string;
  resource: Attributes;
}

export interface ReceivedPoint {
  metric: string;
  unit: string;
  /** 1: delta, 2: cumulative. */
  temporality: number;
  attributes: Attributes;
  count: number;
  sum: number;
  bounds: number[];
}

/** A resource with the names of what is of it: metrics, spans, or the texts of logs. */
export interface ReceivedResource {
  path: string;
  attributes: Attributes;
  names: string[];
}

export interface OtlpReceiver extends AsyncDisposable {
  /** Value for OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  readonly requests: { path: string; headers: Record<string, string> }[];
  readonly spans: ReceivedSpan[];
  readonly resources: ReceivedResource[];
  /** Points of the last metrics export. */
  readonly points: ReceivedPoint[];
  /** All bodies as uncompressed text, to check what they must not contain. */
  readonly texts: string[];
  /** Sets the answer from now on: a status, or none at all. */
  answer(status: number | 'never'): void;
  /** Resolves after this many spans; rejects after 5 s. */
  awaitSpans(count: number): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const requests: OtlpReceiver['requests'] = [];
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const resources: ReceivedResource[] = [];
  let points: ReceivedPoint[] = [];
  let answering: number | 'never' = 200;
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const headers = Object.fromEntries(request.headers);
      requests.push({ path: pathname, headers });
      const sent = Buffer.from(await request.arrayBuffer());
      const body = headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      if (answering === 'never') return new Promise<Response>(() => {});
      if (answering !== 200) return new Response('no', { status: answering });
      texts.push(body.toString('latin1'));
      const isJson = headers['content-type'] === 'application/json';
      if (!isJson && headers['content-type'] !== 'application/x-protobuf')
        return new Response('what is this', { status: 415 });
      if (!Object.hasOwn(MESSAGES, pathname)) return new Response('not found', { status: 404 });
      resources.push(...readResources(pathname, isJson ? JSON.parse(body.toString()) : body));
      if (!isJson && pathname === '/v1/traces') spans.push(...readSpans(body));
      if (!isJson && pathname === '/v1/metrics') points = readPoints(body);
      return new Response(new Uint8Array(), { headers: { 'content-type': 'application/x-protobuf' } });
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    spans,
    resources,
    texts,
    get points() {
      return points;
    },
    answer(status) {
      answering = status;
    },
    async awaitSpans(count) {
      for (let waitedMs = 0; spans.length < count; waitedMs += 10) {
        if (waitedMs > 5_000) throw new Error(`${spans.length} spans came, ${count} were awaited`);
        await Bun.sleep(10);
      }
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

interface Pair {
  key: string;
  value?: Record<string, unknown>;
}

const TO_OBJECT = { longs: Number, arrays: true, defaults: true, oneofs: true } as const;

function decode<Shape>(type: string, body: Buffer): Shape {
  const message = types.lookupType(type);
  return message.toObject(message.decode(body), TO_OBJECT) as Shape;
}

function readSpans(body: Buffer): ReceivedSpan[] {
  const { resourceSpans } = decode<{
    resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { spans: RawSpan[] }[] }[];
  }>('ExportTraces', body);
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => readSpan(span, readAttributes(resource.attributes)))),
  );
}

const MESSAGES: Record<string, string> = {
  '/v1/traces': 'ExportTraces',
  '/v1/metrics': 'ExportMetrics',
  '/v1/logs': 'ExportLogs',
};

interface RawEntry {
  resource: { attributes: Pair[] } | null;
  scopeSpans?: { spans: { name: string }[] }[];
  scopeMetrics?: { metrics: { name: string }[] }[];
  scopeLogs?: { logRecords: { body?: Record<string, unknown> | null }[] }[];
}

/** `body`: the message, or its JSON, whose members have the same names. */
function readResources(path: string, body: Buffer | object): ReceivedResource[] {
  const message = body instanceof Buffer ? decode<object>(MESSAGES[path] ?? '', body) : body;
  const entries = Object.values(message).flat() as RawEntry[];
  return entries.map(({ resource, scopeSpans = [], scopeMetrics = [], scopeLogs = [] }) => ({
    path,
    attributes: readAttributes(resource?.attributes ?? []),
    names: [
      ...scopeSpans.flatMap(({ spans }) => spans.map(({ name }) => name)),
      ...scopeMetrics.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
      ...scopeLogs.flatMap(({ logRecords }) => logRecords.map((record) => String(readValue(record.body ?? {})))),
    ],
  }));
}

interface RawSpan {
  traceId: Buffer;
  spanId: Buffer;
  parentSpanId: Buffer;
  traceState: string;
  name: string;
  kind: number;
  startTimeUnixNano: number;
  endTimeUnixNano: number;
  attributes: Pair[];
  events: { name: string; timeUnixNano: number }[];
  status?: { code: number } | null;
}

function readSpan(span: RawSpan, resource: Attributes): ReceivedSpan {
  return {
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    traceState: span.traceState,
    name: span.name,
    kind: ['unspecified', 'internal', 'server', 'client'][span.kind] ?? String(span.kind),
    startMs: span.startTimeUnixNano / 1e6,
    endMs: span.endTimeUnixNano / 1e6,
    attributes: readAttributes(span.attributes),
    events: span.events.map(({ name, timeUnixNano }) => ({ name, atMs: timeUnixNano / 1e6 })),
    status: ['unset', 'ok', 'error'][span.status?.code ?? 0] ?? 'unknown',
    resource,
  };
}

interface RawMetric {
  name: string;
  unit: string;
  histogram: {
    aggregationTemporality: number;
    dataPoints: { attributes: Pair[]; count: number; sum: number; explicitBounds: number[] }[];
  } | null;
}

function readPoints(body: Buffer): ReceivedPoint[] {
  const { resourceMetrics } = decode<{ resourceMetrics: { scopeMetrics: { metrics: RawMetric[] }[] }[] }>(
    'ExportMetrics',
    body,
  );
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  return metrics.flatMap(({ name, unit, histogram }) =>
    (histogram?.dataPoints ?? []).map(({ attributes, count, sum, explicitBounds }) => ({
      metric: name,
      unit,
      temporality: histogram?.aggregationTemporality ?? 0,
      attributes: readAttributes(attributes),
      count,
      sum,
      bounds: explicitBounds,
    })),
  );
}

function readAttributes(pairs: readonly Pair[]): Attributes {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, readValue(value ?? {})]));
}

function readValue(value: Record<string, unknown>): unknown {
  if (value['value'] === 'arrayValue')
    return (value['arrayValue'] as { values: Record<string, unknown>[] }).values.map(readValue);
  return value[(value['value'] ?? Object.keys(value)[0]) as string]; // JSON has only the member
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
