// Requests to a provider of the Messages protocol, and its responses without streaming.

import { expect, test } from 'bun:test';
import { type Provider, providerKinds } from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { type Script, scripts, startScriptedUpstream, UPSTREAM_REQUEST_ID } from '../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from './make-attempt.ts';

const anthropic = providerKinds.get('anthropic') as Provider;
const BODY = { model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'Hi' }] };

async function sent(body: object | string, changes: Parameters<typeof makeAttempt>[2] = {}) {
  await using upstream = await startScriptedUpstream(scripts.good());
  await anthropic.submit(makeAttempt(upstream.url, body, changes));
  const [request] = upstream.requests;
  if (request === undefined) throw new Error('nothing was sent');
  return request;
}

async function faultAfter(...played: [Script, ...Script[]]) {
  await using upstream = await startScriptedUpstream(...played);
  const fault = await faultOf(anthropic.submit(makeAttempt(upstream.url, BODY)));
  return { fault, requestCount: upstream.requests.length };
}

test('the provider gets the operator’s key, the client’s version and betas, and no other header of the request', async () => {
  const { method, path, headers } = await sent(BODY, { version: '2026-10-21', betas: 'b-1, b-2,b-3' });
  expect(`${method} ${path}`).toBe('POST /v1/messages');
  const { host: _, 'content-length': __, connection: ___, ...rest } = headers;
  expect(rest).toEqual({
    'content-type': 'application/json',
    'x-api-key': 'sk-ant-ours',
    'anthropic-version': '2026-10-21',
    'anthropic-beta': 'b-1, b-2,b-3',
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
  });
});

test('a request without version and betas is sent as 2023-06-01 without betas', async () => {
  const { headers } = await sent(BODY);
  expect(headers['anthropic-version']).toBe('2023-06-01');
  expect(headers).not.toHaveProperty('anthropic-beta');
});

test('clients of one endpoint get their own version, betas and trace sent, in any order', async () => {
  await using upstream = await startScriptedUpstream(scripts.good());
  const { provider } = makeAttempt(upstream.url, BODY);
  const trace = { traceparent: '00-1-2-01', tracestate: null };
  const clients = [
    { version: null, betas: null, trace: null },
    { version: null, betas: 'b-1', trace: null },
    { version: '2026-10-21', betas: 'b-1', trace },
    { version: '2026-10-21', betas: 'b-1', trace: null },
    { version: null, betas: null, trace: null },
  ];
  for (const client of [...clients, ...clients.toReversed()])
    await anthropic.submit(makeAttempt(upstream.url, BODY, { provider, ...client }));
  const shown = upstream.requests.map(({ headers }) => [
    headers['anthropic-version'],
    headers['anthropic-beta'] ?? null,
    headers['traceparent'] ?? null,
  ]);
  const expected = clients.map(({ version, betas, trace: sent }) => [
    version ?? '2023-06-01',
    betas,
    sent?.traceparent ?? null,
  ]);
  expect(shown).toEqual([...expected, ...expected.toReversed()]);
});

test('a base URL may have a path, a trailing slash, or the /v1 of the endpoint', async () => {
  await using upstream = await startScriptedUpstream(scripts.good());
  for (const base of ['', '/', '/v1', '/v1/', '/proxy', '/proxy/v1'])
    await anthropic.submit(makeAttempt(upstream.url + base, BODY));
  expect(upstream.requests.map((request) => request.path)).toEqual([
    ...['/v1/messages', '/v1/messages', '/v1/messages', '/v1/messages'],
    ...['/proxy/v1/messages', '/proxy/v1/messages'],
  ]);
});

test('a body is sent byte for byte: whitespace, 1.0, key order, escapes and unknown fields', async () => {
  const text =
    '{ "unknown" : [1.0, 1e2, -0],\n\t"model":"m", "messages":[{"content":"h\\u00e9 \\/ é","role":"user"}],"max_tokens" : 10.0 }';
  expect((await sent(text)).body).toBe(text);
});

test('only model and max_tokens are rewritten, in their places', async () => {
  const text = '{ "zeta":1.0,  "model" : "alias", "max_tokens":64000 , "messages":[{"role":"user","content":"é"}]}';
  expect((await sent(text, { upstreamModel: 'real "one"', maxTokens: 8192 })).body).toBe(
    '{ "zeta":1.0,  "model" : "real \\"one\\"", "max_tokens":8192 , "messages":[{"role":"user","content":"é"}]}',
  );
});

test('max_tokens is added if the client sent none', async () => {
  const { max_tokens: _, ...body } = BODY;
  expect(JSON.parse((await sent(body)).body)).toEqual({ ...body, max_tokens: 4096 });
});

test('top_k and top_p of -1, which old clients send to leave them unset, are removed, and other values stay', async () => {
  expect(JSON.parse((await sent({ ...BODY, top_k: -1, top_p: -1.0 })).body)).toEqual(BODY);
  const kept = { ...BODY, top_k: 0, top_p: 0.5 };
  expect(JSON.parse((await sent(kept)).body)).toEqual(kept);
});

test('a message is returned in the provider’s own text', async () => {
  const text = '{ "type":"message",\n "content":[], "usage":{"input_tokens":1.0}, "new":null }';
  await using upstream = await startScriptedUpstream(scripts.json(text));
  const reply = await anthropic.submit(makeAttempt(upstream.url, BODY));
  if (reply.form !== 'message') throw new Error('streamed');
  expect(reply.text).toBe(text);
  expect(reply.message['usage']).toEqual({ input_tokens: 1 });
  expect(reply.upstreamRequestId).toBe(UPSTREAM_REQUEST_ID);
});

test('every kind of refusal by the provider is distinguished', async () => {
  expect((await faultAfter(scripts.overloaded({ 'retry-after': '2' }))).fault).toMatchObject({
    kind: 'overloaded',
    status: 529,
    retryAfterMs: 2_000,
    upstreamRequestId: UPSTREAM_REQUEST_ID,
  });
  expect((await faultAfter(scripts.rateLimited())).fault).toMatchObject({ kind: 'rate_limited', retryAfterMs: 7_000 });
  expect((await faultAfter(scripts.unauthorized())).fault).toMatchObject({ kind: 'credentials', status: 401 });
  expect((await faultAfter(scripts.noCredit())).fault).toMatchObject({ kind: 'credentials', status: 400 });
  expect((await faultAfter(scripts.refusedContent('messages.0: no'))).fault).toMatchObject({
    kind: 'rejected',
    status: 400,
    message: 'messages.0: no',
  });
  expect((await faultAfter(scripts.html())).fault).toMatchObject({ kind: 'failed', status: 500 });
  const json = async (body: string) => (await faultAfter(scripts.json(body))).fault.kind;
  expect(await json('not json')).toBe('failed');
  expect(await json('[]')).toBe('failed');
  expect(await json('{"type":"completion"}')).toBe('failed');
  expect(await json('{"type":"error","error":{"type":"overloaded_error","message":"x"}}')).toBe('overloaded');
});

test('an error whose body breaks off keeps its status', async () => {
  const cut: Script = async (answer) => {
    answer.begin(529, { 'content-type': 'application/json' });
    await answer.write('{"type":"error","err');
    answer.drop();
  };
  expect((await faultAfter(cut)).fault).toMatchObject({ kind: 'overloaded', status: 529 });
});

test('an endless error body is abandoned, and the upstream is closed', async () => {
  const endless: Script = async (answer) => {
    answer.begin(500, { 'content-type': 'text/html' });
    while (!answer.isGone) await answer.write('x'.repeat(16_384));
  };
  await using upstream = await startScriptedUpstream(endless);
  expect((await faultOf(anthropic.submit(makeAttempt(upstream.url, BODY)))).kind).toBe('failed');
  await upstream.aborted();
});

test('the credential never appears in a fault, even if no header can carry it', async () => {
  await using upstream = await startScriptedUpstream(scripts.good());
  const attempt = makeAttempt(upstream.url, BODY);
  const provider = { ...attempt.provider, credential: new Secret('sk-ant-line\nbreak') };
  const fault = await faultOf(anthropic.submit({ ...attempt, provider }));
  expect(fault.kind).toBe('credentials');
  expect(Bun.inspect(fault)).not.toContain('break');
  expect(upstream.requests).toHaveLength(0);
});

test('the prompt is counted by the provider, with only the prompt in the body', async () => {
  await using upstream = await startScriptedUpstream(scripts.json('{"input_tokens":2095}'));
  const body = { ...BODY, stream: true, temperature: 1, system: 's', tools: [{ name: 't' }], thinking: { type: 'x' } };
  expect(await anthropic.countTokens(makeAttempt(upstream.url, body, { upstreamModel: 'real' }))).toBe(2095);
  expect(upstream.requests[0]?.path).toBe('/v1/messages/count_tokens');
  expect(JSON.parse(upstream.requests[0]?.body ?? '')).toEqual({
    ...{ model: 'real', messages: BODY.messages, system: 's', tools: [{ name: 't' }], thinking: { type: 'x' } },
  });
});

test('an invalid count is a failure', async () => {
  await using upstream = await startScriptedUpstream(scripts.json('{"input_tokens":0}'));
  const count = () => anthropic.countTokens(makeAttempt(upstream.url, BODY));
  expect(await count()).toBe(0);
  for (const absurd of ['-5', '1.5', '"many"', '1e15', 'null']) {
    upstream.play(scripts.json(`{"input_tokens":${absurd}}`));
    expect((await faultOf(count())).kind).toBe('failed');
  }
  upstream.play(scripts.overloaded());
  expect((await faultOf(count())).kind).toBe('overloaded');
  expect(anthropic.countLocally(makeAttempt(upstream.url, BODY).request)).toBeNull();
});
