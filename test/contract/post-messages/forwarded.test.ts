// The parts of a request that reach the provider: the client's own body with the model replaced, the version, the
// betas and the trace. No credential, identity or other header is forwarded.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import { type RecordedRequest, scripts } from '../../support/scripted-upstream.ts';
import { bodyOf, expectError, expectMoney, expectNoTrace, GOOD, startWorld, UPSTREAM_KEY } from './world.ts';

const world = await startWorld({
  vendor_prefixes: ['acme', 'anthropic'],
  models: {
    same: { price: { input: '3', output: '15' }, routes: [{ provider: 'first' }] },
  },
});
afterAll(() => world.stop());
beforeEach(() => world.upstream.play(scripts.good()));

async function send(body: unknown, headers: Record<string, string> = {}): Promise<RecordedRequest> {
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, body, { headers });
  expect(response.status).toBe(200);
  await response.text();
  await expectMoney(world, caller, [GOOD]);
  return world.upstream.requests.at(-1) as RecordedRequest;
}

const IDENTIFYING = {
  authorization: 'Bearer sk-caller',
  cookie: 'session=1',
  'user-agent': 'Anthropic/JS 1.10.0',
  origin: 'https://app.example.com',
  referer: 'https://app.example.com/',
  'x-forwarded-for': '203.0.113.7',
  forwarded: 'for=203.0.113.7',
  'x-real-ip': '203.0.113.7',
  'x-stainless-lang': 'js',
  'x-stainless-retry-count': '2',
  'x-app': 'cli',
  'x-claude-code-session-id': 'session',
  'anthropic-dangerous-direct-browser-access': 'true',
  'acme-tenant': 'tenant',
  baggage: 'user=1',
  'idempotency-key': 'once',
  'x-custom': 'custom',
};

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
};

test('only version, betas and trace of the client’s headers are forwarded, and the credential is the operator’s', async () => {
  for (const stream of [false, true]) {
    const { headers, method, path } = await send(bodyOf({ stream }), {
      ...IDENTIFYING,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-2026-01-01,b-2026-01-01',
      ...TRACE,
    });
    expect(`${method} ${path}`).toBe('POST /v1/messages');
    const { host, connection, 'content-length': _, ...sent } = headers;
    expect(sent).toEqual({
      'content-type': 'application/json',
      accept: stream ? 'text/event-stream' : 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'turnpike',
      'x-api-key': UPSTREAM_KEY,
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'a-2026-01-01,b-2026-01-01',
      ...TRACE,
    });
    expect([host, connection]).toEqual([new URL(world.upstream.url).host, 'keep-alive']);
  }
});

test.each([
  ['2023-06-01', '2023-06-01'],
  ['2026-10-21', '2026-10-21'],
  [null, '2023-06-01'],
  ['', '2023-06-01'],
  ['2030-01-01', '2026-10-21'],
])('the version %s is forwarded as %s', async (given, sent) => {
  const { headers } = await send(bodyOf(), given === null ? {} : { 'anthropic-version': given });
  expect(headers['anthropic-version']).toBe(sent);
});

test.each(['2021-01-01', '2023-06-02', '2026-10-20', '2099-13-01', '2099', 'newest please'])(
  'the version %s is refused: it is neither known nor later than the newest',
  async (version) => {
    const caller = await world.makeKey();
    for (const [name, path] of [
      ['anthropic-version', 'messages'],
      ['acme-version', 'messages/count_tokens'],
    ] as const) {
      const headers = { 'content-type': 'application/json', 'x-api-key': caller.secret, [name]: version };
      const body = JSON.stringify(bodyOf());
      const response = await fetch(`${world.url}/v1/${path}`, { method: 'POST', headers, body });
      const message = await expectError(response, 400, 'invalid_request_error', 'invalid_request');
      expect(message).toStartWith(`${name}: `);
    }
    await expectNoTrace(world, caller);
  },
);

test('version and betas are accepted under every configured prefix and sent under the provider’s prefix', async () => {
  const { headers } = await send(bodyOf(), {
    'acme-version': '2026-10-21',
    'acme-beta': 'a-2026-01-01',
    'anthropic-beta': 'b-2026-01-01',
  });
  expect(headers['anthropic-version']).toBe('2026-10-21');
  expect(headers['anthropic-beta']).toBe('a-2026-01-01,b-2026-01-01');
  const names = Object.keys(headers);
  expect(names.filter((name) => name.startsWith('acme-'))).toEqual([]);
  const unknown = await send(bodyOf(), { 'vendor-beta': 'c-2026-01-01' });
  expect(unknown.headers['anthropic-beta']).toBeUndefined();
});

test('a fallback credit token of a refusal is accepted back, in both forms', async () => {
  for (const fallback_credit_token of ['token', { token: 'token', mode: 'best_effort' }]) {
    const { body } = await send(bodyOf({ fallback_credit_token }), { 'anthropic-beta': 'fallback-credit-2026-07-01' });
    expect(JSON.parse(body)).toMatchObject({ fallback_credit_token });
  }
});

test('a message is not compared with another one, which may be another account’s', async () => {
  const { body } = await send(bodyOf({ diagnostics: { previous_message_id: 'msg_1', more: 1 } }));
  expect(JSON.parse(body).diagnostics).toEqual({ previous_message_id: null, more: 1 });
  const first = bodyOf({ model: 'same', diagnostics: { previous_message_id: null } });
  expect((await send(JSON.stringify(first))).body).toBe(JSON.stringify(first));
});

test('only model and max_tokens are replaced; everything else is forwarded byte for byte', async () => {
  const text =
    '{ "unknown_field" : {"b":1.50,"a":[1e2, null]},\n  "messages":[{"role":"user","content":[{"type":"text","text":"caf\\u00e9 \\/ 日本","cache_control":{"type":"ephemeral","ttl":"1h"}},{"type":"thinking","thinking":"x","signature":"EqQB+/=="}]}],"model": "plain-latest","metadata":{"user_id":"u"}, "max_tokens":64 ,"tools":[{"name":"t","input_schema":{"z":1,"a":2}}]}';
  const { body } = await send(text);
  expect(body).toBe(text.replace('"plain-latest"', '"upstream-model"'));
});

test('a body that needs no change is forwarded unchanged', async () => {
  const text = `  ${JSON.stringify(bodyOf({ model: 'same' }))}\n`;
  expect((await send(text)).body).toBe(text);
});

test('no header or request id of the provider is returned to the client', async () => {
  world.upstream.play((answer) =>
    answer.send(
      200,
      {
        'content-type': 'application/json',
        'request-id': 'req_upstream',
        'anthropic-organization-id': 'org',
        'anthropic-ratelimit-requests-remaining': '12',
        'set-cookie': 'a=b',
        'cf-ray': 'ray',
        server: 'upstream',
      },
      JSON.stringify({ type: 'message', content: [], usage: { input_tokens: 25, output_tokens: 12 } }),
    ),
  );
  const caller = await world.makeKey();
  const response = await world.post(caller.secret, bodyOf());
  expect(response.headers.get('request-id')).not.toBe('req_upstream');
  for (const name of [
    'anthropic-organization-id',
    'anthropic-ratelimit-requests-remaining',
    'set-cookie',
    'cf-ray',
    'server',
  ])
    expect(response.headers.get(name)).toBeNull();
  await expectMoney(world, caller, [GOOD]);
});
