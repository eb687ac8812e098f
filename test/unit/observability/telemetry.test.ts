// Traces and metrics as a collector receives them: over OTLP, decoded by an independent reader.

import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test';
import { bodyOf, type Json, startWorld, UPSTREAM_KEY, type World } from '../../contract/post-messages/world.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp-receiver.ts';
import { scripts } from '../../support/scripted-upstream.ts';

let collector: OtlpReceiver;
let world: World;

beforeAll(async () => {
  collector = await startOtlpReceiver();
  world = await startWorld(
    {
      models: {
        metered: { price: { input: '3', output: '15' }, routes: [{ provider: 'first', model: 'upstream-model' }] },
      },
    },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=acme%20inc',
      OTEL_SERVICE_NAME: 'messages',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=unheard',
      OTEL_BSP_SCHEDULE_DELAY: '20',
      OTEL_METRIC_EXPORT_INTERVAL: '200',
    },
  );
});
afterAll(async () => {
  await world.stop();
  await collector[Symbol.asyncDispose]();
});
beforeEach(() => {
  collector.spans.length = 0;
  collector.requests.length = 0;
  collector.answer(200);
  world.upstream.play(scripts.good());
  world.upstream.requests.length = 0;
  world.second.requests.length = 0;
});

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const CALLER = '00f067aa0ba902b7';
const SAMPLED = { traceparent: `00-${TRACE}-${CALLER}-01`, tracestate: 'congo=t61rcWkgMzE' };

/** Sends a message, and waits for its spans: first the server's, then those of its attempts in order. */
async function send(body: Json, spans: number, headers: Record<string, string> = {}) {
  const { secret } = await world.makeKey();
  const response = await world.post(secret, body, { headers });
  const text = await response.text();
  await collector.awaitSpans(spans);
  const [server, ...others] = collector.spans.filter(({ kind }) => kind === 'server');
  expect(others).toEqual([]);
  const attempts = collector.spans.filter(({ kind }) => kind === 'client');
  attempts.sort((one, other) => one.startMs - other.startMs);
  return { response, text, secret, server: server as ReceivedSpan, attempts };
}

test('a message has one span of the server and one of its attempt, in the GenAI conventions', async () => {
  const startedMs = Date.now();
  const { response, server, attempts } = await send(bodyOf({ stream: true }), 2);
  const usage = {
    'gen_ai.usage.input_tokens': 25,
    'gen_ai.usage.output_tokens': 12,
    'gen_ai.usage.cache_read.input_tokens': 0,
    'gen_ai.usage.cache_creation.input_tokens': 0,
  };
  const answer = {
    'gen_ai.response.model': 'upstream-model',
    'gen_ai.response.finish_reasons': ['end_turn'],
    ...usage,
  };
  expect(server).toMatchObject({ name: 'chat plain', parentSpanId: '', status: 'unset' });
  expect(server.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'plain',
    'gen_ai.request.stream': true,
    ...answer,
    'http.response.status_code': 200,
    'turnpike.request_id': response.headers.get('request-id'),
    'turnpike.outcome': 'completed',
    'turnpike.group': 'default',
    'turnpike.cost_usd': 0.000255,
    'turnpike.written_off_usd': 0,
  });
  expect(server.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThan(0);
  expect(server.attributes).not.toHaveProperty('error.type');
  expect(server.events.map(({ name }) => name)).toEqual([
    'turnpike.admitted',
    'turnpike.first_token',
    'turnpike.settled',
  ]);
  const [attempt] = attempts as [ReceivedSpan];
  expect(attempt).toMatchObject({ name: 'chat upstream-model', traceId: server.traceId, parentSpanId: server.spanId });
  expect(attempt.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'upstream-model',
    'turnpike.provider': 'first',
    'server.address': '127.0.0.1',
    'server.port': Number(new URL(world.upstream.url).port),
    'http.response.status_code': 200,
    ...answer,
  });
  const times = [
    startedMs - 1,
    server.startMs,
    attempt.startMs,
    attempt.endMs,
    server.endMs + 1e-3,
    Date.now() + 1_000,
  ];
  expect(times).toEqual(times.toSorted((one, other) => one - other));
});

test('the resource identifies the service', async () => {
  const { server } = await send(bodyOf(), 2);
  expect(server.resource).toEqual({
    'service.name': 'messages',
    'service.version': '0.0.0',
    'deployment.environment.name': 'test',
  });
  expect(collector.requests.find(({ path }) => path === '/v1/traces')).toMatchObject({
    headers: { 'content-type': 'application/x-protobuf', 'x-tenant': 'acme inc' },
  });
});

test('a client’s trace is continued: its span is the parent, and the provider gets the span of the attempt as parent', async () => {
  const { server, attempts } = await send(bodyOf(), 2, SAMPLED);
  expect(server).toMatchObject({ traceId: TRACE, parentSpanId: CALLER, traceState: SAMPLED.tracestate });
  expect(world.upstream.requests[0]?.headers).toMatchObject({
    traceparent: `00-${TRACE}-${attempts[0]?.spanId}-01`,
    tracestate: SAMPLED.tracestate,
  });
});

test('an invalid trace of a client is not continued: a new one begins', async () => {
  const { server, attempts } = await send(bodyOf(), 2, { traceparent: `00-${TRACE}-${CALLER}`, tracestate: 'a=b' });
  expect(server).toMatchObject({ parentSpanId: '', traceState: '' });
  expect(server.traceId).not.toBe(TRACE);
  const { traceparent, tracestate } = world.upstream.requests[0]?.headers ?? {};
  expect([traceparent, tracestate]).toEqual([`00-${server.traceId}-${attempts[0]?.spanId}-01`, undefined]);
});

test('a trace that the client does not sample is not exported, and the provider gets the same flag', async () => {
  const { secret } = await world.makeKey();
  await world.post(secret, bodyOf(), { headers: { traceparent: `00-${TRACE}-${CALLER}-00` } });
  await send(bodyOf(), 2); // spans of another message: those of the first one would have arrived earlier
  expect(collector.spans.some(({ traceId }) => traceId === TRACE)).toBe(false);
  expect(world.upstream.requests[0]?.headers['traceparent']).toMatch(
    new RegExp(`^00-${TRACE}-(?!${CALLER})\\w{16}-00$`),
  );
});

test('every attempt has its own span, and each provider gets the context of its own', async () => {
  world.upstream.play(scripts.overloaded());
  const { server, attempts } = await send(bodyOf({ model: 'paired' }), 3);
  expect(attempts.map(({ name, status, attributes }) => [name, status, attributes['error.type']])).toEqual([
    ['chat upstream-model', 'error', 'overloaded'],
    ['chat second-model', 'unset', undefined],
  ]);
  expect(attempts.map(({ attributes }) => attributes['http.response.status_code'])).toEqual([529, 200]);
  expect(attempts.every(({ parentSpanId }) => parentSpanId === server.spanId)).toBe(true);
  const forwarded = [world.upstream, world.second].map(
    ({ requests }) => requests[0]?.headers['traceparent']?.split('-')[2],
  );
  expect(forwarded).toEqual(attempts.map(({ spanId }) => spanId));
  expect(server.attributes).toMatchObject({ 'turnpike.attempts': 2, 'gen_ai.response.model': 'second-model' });
});

test('a message whose provider fails is an error with its code', async () => {
  world.upstream.play(scripts.html(500));
  const { response, server, attempts } = await send(bodyOf(), 2);
  expect(response.status).toBe(502);
  expect([server.status, attempts[0]?.status]).toEqual(['error', 'error']);
  expect(server.attributes).toMatchObject({ 'error.type': 'upstream_failed', 'turnpike.outcome': 'failed' });
  expect(server.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
});

test('a stream that breaks off is an error of its attempt, too', async () => {
  world.upstream.play(scripts.dropMidStream());
  const { server, attempts } = await send(bodyOf({ stream: true }), 2);
  expect(server.attributes['turnpike.outcome']).toBe('upstream_cut');
  expect([server.status, attempts[0]?.status, attempts[0]?.attributes['error.type']]).toEqual([
    'error',
    'error',
    'upstream_cut',
  ]);
});

test('spans name account, key, person and tags by their ids, of refused messages too if the key is known', async () => {
  const { account, key, secret } = await world.makeKey();
  const invited = await world.admin('POST', '/people', { email: 'traced@example.com', role: 'member', account });
  const person = invited['id'] as string;
  await world.admin('PATCH', `/keys/${key}`, { person });
  await (await world.post(secret, bodyOf(), { headers: { 'x-turnpike-tags': 'team=search' } })).text();
  await collector.awaitSpans(2);
  const ids = { 'turnpike.account_id': account, 'turnpike.key_id': key };
  const server = collector.spans.find(({ kind }) => kind === 'server');
  expect(server?.attributes).toMatchObject({ ...ids, 'turnpike.person_id': person, 'turnpike.tag.team': 'search' });
  expect(JSON.stringify(server)).not.toContain('traced@example.com');
  collector.spans.length = 0;
  expect((await world.post(secret, bodyOf({ model: 'none-such' }))).status).toBe(400);
  await collector.awaitSpans(1);
  expect(collector.spans[0]?.attributes).toMatchObject({ ...ids, 'error.type': 'model_not_found' });
});

test('a refused message has a span without a model, whose parent is the span of the client', async () => {
  const response = await world.post('sk-tp-nobody', bodyOf({ model: 'made-up-by-a-stranger' }), { headers: SAMPLED });
  expect(response.status).toBe(401);
  await collector.awaitSpans(1);
  expect(collector.spans[0]).toMatchObject({ name: 'chat', traceId: TRACE, parentSpanId: CALLER, status: 'unset' });
  expect(collector.spans[0]?.attributes).toMatchObject({
    'error.type': 'key_invalid',
    'http.response.status_code': 401,
    'turnpike.outcome': 'refused',
    'turnpike.request_id': response.headers.get('request-id'),
  });
  expect(collector.texts.join('')).not.toContain('made-up-by-a-stranger');
});

test('requests other than messages have no span', async () => {
  const { secret } = await world.makeKey();
  await fetch(`${world.url}/v1/models`, { headers: { 'x-api-key': secret } });
  await fetch(`${world.url}/v1/nothing`);
  await send(bodyOf(), 2);
  expect(collector.spans).toHaveLength(2);
});

test('the metrics follow the GenAI conventions', async () => {
  await send(bodyOf({ stream: true, model: 'metered' }), 2);
  const pointsOf = (metric: string) =>
    collector.points.filter(
      ({ metric: name, attributes }) => name === metric && attributes['gen_ai.request.model'] === 'metered',
    );
  for (let tries = 0; tries < 200 && pointsOf('gen_ai.server.time_to_first_token').length === 0; tries++)
    await Bun.sleep(10);
  const shared = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'anthropic',
    'gen_ai.request.model': 'metered',
    'gen_ai.response.model': 'upstream-model',
  };
  expect(pointsOf('gen_ai.client.token.usage')).toMatchObject([
    { unit: '{token}', count: 1, sum: 25, attributes: { ...shared, 'gen_ai.token.type': 'input' }, temporality: 2 },
    { unit: '{token}', count: 1, sum: 12, attributes: { ...shared, 'gen_ai.token.type': 'output' } },
  ]);
  expect(pointsOf('gen_ai.client.token.usage')[0]?.bounds.slice(0, 3)).toEqual([1, 4, 16]);
  expect(pointsOf('gen_ai.server.request.duration')).toMatchObject([{ unit: 's', count: 1, attributes: shared }]);
  expect(pointsOf('gen_ai.server.time_to_first_token')).toMatchObject([{ unit: 's', count: 1, attributes: shared }]);
  const names = new Set(collector.points.map(({ metric }) => metric));
  expect([...names].every((name) => name.startsWith('gen_ai.'))).toBe(true);
});

test('exported data contains no key, credential or message text', async () => {
  const prompt = 'CANARY-in-the-prompt';
  const canary = 'CANARY-in-the-answer';
  world.upstream.play(scripts.good({ text: canary }));
  const members = { system: prompt, messages: [{ role: 'user', content: prompt }], stop_sequences: [prompt] };
  const { secret, text } = await send(bodyOf({ stream: true, ...members }), 2);
  expect(text.replaceAll(/event.*\n|data: |\n/g, '')).toContain('CANARY');
  world.upstream.play(scripts.refusedContent(`messages.0: ${canary}`));
  collector.spans.length = 0;
  await send(bodyOf(members), 2);
  world.upstream.play(scripts.errorEvent('api_error', canary));
  collector.spans.length = 0;
  await send(bodyOf({ stream: true, ...members }), 2);
  const sentText = () => collector.texts.join('\n');
  for (let tries = 0; tries < 500 && !sentText().includes('gen_ai.client.token.usage'); tries++) await Bun.sleep(20);
  const sent = sentText();
  expect(sent).toContain('gen_ai.client.token.usage');
  for (const canary of ['CANARY', secret, secret.slice(0, 12), UPSTREAM_KEY]) expect(sent).not.toContain(canary);
});
