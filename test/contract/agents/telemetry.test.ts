// Telemetry of coding agents: passed on to the operator's collector with labels that no client can forge.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { MeterProvider, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { type Attributes, type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type AgentDevice, newDevice, type SignedIn, signedIn, signInAgent } from './agent-device.ts';

let collector: OtlpReceiver;
let turnpike: Turnpike;
let person: SignedIn;
let device: AgentDevice;
let token: string;
/** Attributes of the person that the collector must see. */
let labels: Attributes;

/** Attributes with which a client claims to be somebody else. */
const FORGED = {
  'user.id': 'person_other',
  'user.email': 'other@example.com',
  'user.groups': 'admins',
  'identity.source': 'nowhere',
  'turnpike.account': 'acct_other',
  'turnpike.tag.team': 'other',
  'turnpike.anything': 'other',
};

beforeAll(async () => {
  collector = await startOtlpReceiver();
  turnpike = await startTurnpike({ settings: { agent_sign_in: 'on' } } as object, {
    TURNPIKE_AGENT_OTLP_ENDPOINT: collector.url,
    TURNPIKE_AGENT_OTLP_HEADERS: 'x-collector-key=secret%20of%20the%20collector',
  });
  person = await signedIn(turnpike, 'owner');
  await turnpike.admin('PATCH', `/accounts/${person.account}`, { tags: { team: 'search', place: 'Ü' } });
  device = newDevice(turnpike);
  token = String((await signInAgent(device, person))['access_token']);
  labels = {
    'user.id': person.person,
    'user.email': person.email,
    'turnpike.person': person.person,
    'turnpike.account': person.account,
    'turnpike.client': 'claude-code',
    'turnpike.tag.team': 'search',
    'turnpike.tag.place': 'Ü',
  };
});
afterAll(async () => {
  await turnpike.stop();
  await collector[Symbol.asyncDispose]();
});
beforeEach(() => {
  collector.answer(200);
  for (const list of [collector.requests, collector.resources, collector.texts]) list.length = 0;
});

async function post(signal: string, body: BodyInit, headers: Record<string, string> = {}) {
  const sent = { authorization: `Bearer ${token}`, 'content-type': 'application/x-protobuf', ...headers };
  const response = await fetch(`${turnpike.url}/v1/${signal}`, { method: 'POST', headers: sent, body });
  const text = await response.text();
  const { error = {} } = JSON.parse(text || '{}') as { error?: { code?: string } };
  return { status: response.status, code: error.code, headers: response.headers };
}

/** As JSON, with these attributes of its resource. */
function logsOf(attributes: Attributes, text = 'said', more: object = {}): string {
  const pairs = Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }));
  const scopeLogs = [{ logRecords: [{ body: { stringValue: text } }] }];
  return JSON.stringify({ resourceLogs: [{ resource: { attributes: pairs }, scopeLogs }], ...more });
}

const JSON_TYPE = { 'content-type': 'application/json' };

describe('a collector gets', () => {
  test('metrics and traces of an SDK, labelled with the sign-in in place of what the client claims', async () => {
    const resource = resourceFromAttributes({ ...FORGED, 'service.name': 'claude-code' });
    const headers = { authorization: `Bearer ${token}` };
    const exporter = new OTLPMetricExporter({ url: `${turnpike.url}/v1/metrics`, headers });
    const meters = new MeterProvider({ resource, readers: [new PeriodicExportingMetricReader({ exporter })] });
    meters.getMeter('test').createCounter('claude_code.token.usage').add(7);
    await meters.shutdown();
    const traces = new OTLPTraceExporter({ url: `${turnpike.url}/v1/traces`, headers });
    const tracers = new TracerProvider({ resource, spanProcessors: [new SimpleSpanProcessor({ exporter: traces })] });
    tracers.getTracer('test').startSpan('claude_code.llm_request').end();
    await tracers.shutdown();
    expect(collector.resources.map(({ path, names }) => [path, ...names])).toEqual([
      ['/v1/metrics', 'claude_code.token.usage'],
      ['/v1/traces', 'claude_code.llm_request'],
    ]);
    for (const { attributes } of collector.resources) {
      expect(attributes).toMatchObject({ ...labels, 'service.name': 'claude-code' });
      expect(attributes).not.toHaveProperty(['turnpike.anything']);
      expect(attributes['user.groups']).toBe('');
    }
    expect(collector.texts.join()).not.toMatch(/other/);
    expect(collector.requests[0]?.headers).toMatchObject({ 'x-collector-key': 'secret of the collector' });
    expect(collector.requests[0]?.headers).not.toHaveProperty('authorization');
  });

  test('JSON with the same labels, and no list under another name', async () => {
    const forged = JSON.parse(logsOf(FORGED, 'hidden')) as { resourceLogs: unknown };
    const body = logsOf({ ...FORGED, 'os.type': 'linux' }, 'said', { resource_logs: forged.resourceLogs });
    expect(await post('logs', body, JSON_TYPE)).toMatchObject({ status: 200 });
    expect(collector.resources).toMatchObject([{ names: ['said'], attributes: { ...labels, 'os.type': 'linux' } }]);
    expect(collector.texts.join()).not.toMatch(/other|hidden/);
  });

  test('labels also where a resource comes in parts, or twice, or its attributes have two keys', async () => {
    const pair = (...keys: string[]) =>
      message(1, [...keys.map((key) => text(1, key)), message(2, [text(1, 'other')])]);
    const resource = message(1, [pair('a', 'user.email')]);
    const entry = message(1, [resource, message(1, [pair('turnpike.account', 'b'), pair('kept')]), message(2, [])]);
    const body = Buffer.concat([entry, message(1, []), Buffer.from([0x10, 0x05])]);
    expect(await post('logs', body)).toMatchObject({ status: 200 });
    expect(collector.resources).toHaveLength(2);
    const [first, second] = collector.resources.map(({ attributes }) => attributes);
    expect(first).toMatchObject({ ...labels, kept: 'other' });
    expect([first?.['a'], first?.['b']]).toEqual([undefined, undefined]);
    expect(second).toMatchObject(labels);
    expect(collector.texts[0]?.endsWith('\u0010\u0005')).toBe(true);
  });
});

/** A field with bytes, in the wire format. */
function message(number: number, parts: readonly Buffer[]): Buffer {
  const bytes = Buffer.concat(parts);
  if (bytes.length > 127)
    return Buffer.concat([Buffer.from([number * 8 + 2, 128 + (bytes.length & 127), bytes.length >> 7]), bytes]);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}
const text = (number: number, value: string) => message(number, [Buffer.from(value)]);

describe('a collector gets nothing', () => {
  test('of other keys, and of sign-ins that have ended', async () => {
    const { secret } = await turnpike.makeKey({ credit: '1' });
    const ended = await signInAgent(newDevice(turnpike), person);
    await device.form('/oauth/revoke', { token: String(ended['access_token']) });
    const sent: [string, number][] = [
      [`Bearer ${secret}`, 404],
      [`Bearer ${ended['access_token']}`, 401],
      ['Bearer eyJ', 401],
      ['', 401],
    ];
    for (const [authorization, status] of sent)
      expect((await post('logs', logsOf({}), { ...JSON_TYPE, authorization })).status).toBe(status);
    expect(collector.requests).toEqual([]);
  });

  test.each([
    ['another type', 'x', { 'content-type': 'text/plain' }, 415, 'content_type_unsupported'],
    ['compressed bodies', 'x', { 'content-encoding': 'gzip' }, 415, 'content_type_unsupported'],
    ['more bytes', new Uint8Array(4 * 1024 * 1024 + 1), {}, 413, 'body_too_large'],
    ['more bytes of JSON', logsOf({}, 'x'.repeat(1024 * 1024)), JSON_TYPE, 413, 'body_too_large'],
    ['text that is no JSON', '{', JSON_TYPE, 400, 'invalid_request'],
    ['JSON of another shape', '{"resourceLogs":[7]}', JSON_TYPE, 400, 'invalid_request'],
    [
      'attributes of another shape',
      '{"resourceLogs":[{"resource":{"attributes":7}}]}',
      JSON_TYPE,
      400,
      'invalid_request',
    ],
    [
      'JSON as deep as it may be',
      `{"resourceLogs":[{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}]}`,
      JSON_TYPE,
      400,
      'invalid_request',
    ],
    ['bytes that are no message', new Uint8Array([10, 9, 1]), {}, 400, 'invalid_request'],
    ['a number without an end', new Uint8Array(20).fill(255), {}, 400, 'invalid_request'],
    ['a group', new Uint8Array([11, 12]), {}, 400, 'invalid_request'],
    ['too many resources', Buffer.from('0a00'.repeat(101), 'hex'), {}, 400, 'invalid_request'],
    ['too many fields', Buffer.from('1000'.repeat(10_001), 'hex'), {}, 400, 'invalid_request'],
  ] as [string, BodyInit, Record<string, string>, number, string][])(
    'of %s',
    async (_, body, headers, status, code) => {
      expect(await post('logs', body, headers)).toMatchObject({ status, code });
      expect(collector.requests).toEqual([]);
    },
  );

  test('beyond what a person may send in a minute', async () => {
    const another = await signInAgent(newDevice(turnpike), await signedIn(turnpike));
    const headers = { authorization: `Bearer ${another['access_token']}` };
    const large = Buffer.concat([Buffer.from([0x1a, 0x80, 0x80, 0xc0, 0x01]), new Uint8Array(3 * 1024 * 1024)]);
    const statuses: number[] = [];
    for (let sent = 0; sent < 12; sent++) statuses.push((await post('metrics', large, headers)).status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(10);
    const refused = await post('metrics', large, headers);
    expect(refused).toMatchObject({ status: 429, code: 'requests_rate_exceeded' });
    expect(Number(refused.headers.get('retry-after'))).toBeWithin(1, 61);
    expect((await post('logs', logsOf({}), JSON_TYPE)).status).toBe(200); // others go on
  });
});

test('a collector that fails costs the client only its telemetry, and tells nothing of itself', async () => {
  collector.answer(503);
  const refused = await post('logs', logsOf({}), JSON_TYPE);
  expect(refused).toMatchObject({ status: 502, code: 'upstream_failed' });
  expect((await device.message(token)).status).toBe(200);
});

test('managed settings turn on the telemetry of Claude Code, at this service', async () => {
  const { body } = await device.get('/managed/settings', { authorization: `Bearer ${token}` });
  expect((body['settings'] as Attributes)['env']).toMatchObject({
    CLAUDE_CODE_ENABLE_TELEMETRY: '1',
    OTEL_EXPORTER_OTLP_ENDPOINT: turnpike.url,
  });
});
