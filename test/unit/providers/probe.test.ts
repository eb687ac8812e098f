// Testing a provider: the report for each failure, the absence of cost, the time limit, and the hidden credential.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import {
  type ProbeResult,
  type ProviderEndpoint,
  probeProvider,
  providerKinds,
} from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { selfSigned } from '../../support/self-signed.ts';

const CREDENTIAL = 'ours-0123456789';
const MS_MAX = 300;
const MODELS = scripts.json('{"data":[{"type":"model","id":"a"},{"type":"model","id":"b"}],"has_more":false}');

const endpointOf = (baseUrl: string, changes: Partial<ProviderEndpoint> = {}): ProviderEndpoint => ({
  name: 'vendor',
  kind: 'anthropic',
  baseUrl,
  credential: new Secret(CREDENTIAL),
  ...changes,
});

const probe = (endpoint: ProviderEndpoint) => probeProvider(providerKinds.get(endpoint.kind), endpoint, MS_MAX);

/** The result of testing a provider with these responses. */
async function probeScripted(...scripted: [Script, ...Script[]]) {
  await using upstream = await startScriptedUpstream(...scripted);
  const result = await probe(endpointOf(upstream.url));
  expect(result.ms).toBeWithin(0, 5_000);
  return { result, requests: upstream.requests };
}

const failed = (facts: Partial<ProbeResult>) => ({ ok: false, models: null, ...facts });

test('a provider that responds is ok, and gets only one GET for its list of models', async () => {
  const { result, requests } = await probeScripted(MODELS);
  expect(result).toEqual({
    ok: true,
    status: 200,
    ms: result.ms,
    fault: null,
    message: 'It responds and accepts the credential.',
    models: 2,
  });
  expect(requests).toHaveLength(1);
  expect(requests[0]).toMatchObject({ method: 'GET', path: '/v1/models?limit=1000', body: '' });
  expect(requests[0]?.headers).toMatchObject({ 'x-api-key': CREDENTIAL, 'anthropic-version': '2023-06-01' });
});

test('a base URL that ends with /v1 leads to the same address', async () => {
  await using upstream = await startScriptedUpstream(MODELS);
  for (const end of ['/v1', '/v1/', '/'])
    expect(await probe(endpointOf(upstream.url + end))).toMatchObject({ ok: true, models: 2 });
  expect(new Set(upstream.requests.map(({ path }) => path))).toEqual(new Set(['/v1/models?limit=1000']));
});

test('for a list with more pages no number of models is reported', async () => {
  const { result } = await probeScripted(scripts.json('{"data":[{"id":"a"}],"has_more":true}'));
  expect(result).toMatchObject({ ok: true, models: null });
});

test('a provider without a credential is sent none', async () => {
  await using upstream = await startScriptedUpstream(MODELS);
  const result = await probe(endpointOf(upstream.url, { credential: null }));
  expect(result).toMatchObject({ ok: true, message: 'It responds and requires no credential.' });
  expect(upstream.requests[0]?.headers).not.toContainKey('x-api-key');
});

test.each([
  ['401', scripts.unauthorized(), { status: 401, fault: 'credentials' }, /rejects the credential.*401/],
  ['403', scripts.error(403, 'permission_error', 'not yours'), { status: 403, fault: 'credentials' }, /403: not yours/],
  ['no credit', scripts.noCredit(), { status: 400, fault: 'credentials' }, /credit balance is too low/],
  [
    '429',
    scripts.rateLimited('7'),
    { status: 429, fault: 'rate_limited' },
    /limits the request rate.*It asks for a wait of 7 s\.$/,
  ],
  [
    '429 without a time',
    scripts.rateLimited(null),
    { status: 429, fault: 'rate_limited' },
    /limits the request rate.*\)\.$/,
  ],
  ['500', scripts.error(500, 'api_error', 'broken'), { status: 500, fault: 'failed' }, /^It failed \(500: broken\)\.$/],
  ['503 in HTML', scripts.html(503), { status: 503, fault: 'overloaded' }, /503/],
  ['529', scripts.overloaded(), { status: 529, fault: 'overloaded' }, /reachable, but overloaded/],
  ['504', scripts.error(504, 'timeout_error', 'late'), { status: 504, fault: 'timeout' }, /504: late/],
  ['400', scripts.refusedContent('limit: too large'), { status: 400, fault: 'rejected' }, /limit: too large/],
  ['a web site', scripts.html(200), { status: null, fault: 'failed' }, /not JSON/],
  ['other JSON', scripts.json('{"ok":true}'), { status: null, fault: 'failed' }, /not a list of models/],
  [
    'a reset',
    scripts.resetBeforeHead(),
    { status: null, fault: 'failed' },
    /cannot be reached, or it closed the connection \(\w+\)/,
  ],
] as [string, Script, Partial<ProbeResult>, RegExp][])('%s is reported as such', async (_, script, facts, words) => {
  const { result } = await probeScripted(script);
  expect(result).toMatchObject(failed(facts));
  expect(result.message).toMatch(words);
});

test('a redirect is not followed, so that the credential is sent nowhere else', async () => {
  await using elsewhere = await startScriptedUpstream(MODELS);
  const { result } = await probeScripted(scripts.redirect(`${elsewhere.url}/v1/models`));
  expect(result).toMatchObject(failed({ status: 307, fault: 'failed' }));
  expect(result.message).toContain('redirect (307), which is not followed');
  expect(elsewhere.requests).toHaveLength(0);
});

const halfAnswer: Script = async (answer) => {
  answer.begin(200, { 'content-type': 'application/json' });
  await answer.write('{"data":[');
};

test.each([
  ['never responds', scripts.hangBeforeHead()],
  ['sends half of its response', halfAnswer],
])('a provider that %s is given up at the time limit', async (_, script) => {
  await using upstream = await startScriptedUpstream(script);
  const result = await probe(endpointOf(upstream.url));
  expect(result).toMatchObject(failed({ status: null, fault: 'timeout' }));
  expect(result.message).toContain('0.3 s');
  expect(result.ms).toBeWithin(MS_MAX - 20, 5_000);
  await upstream.aborted();
});

test('a closed port, missing TLS, and an untrusted certificate are distinguished', async () => {
  const nothing = await probe(endpointOf('http://127.0.0.1:1'));
  expect(nothing).toMatchObject(failed({ status: null, fault: 'failed' }));
  expect(nothing.message).toMatch(/^Nothing listens at its address \(\w+\)\.$/);
  using plain = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('{}') });
  const noTls = await probe(endpointOf(`https://127.0.0.1:${plain.port}`));
  expect(noTls).toMatchObject(failed({ status: null, fault: 'failed' }));
  expect(noTls.message).toMatch(/^It does not speak TLS at its address \(\w+\)\.$/);
  let answered = 0;
  using stranger = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    tls: selfSigned,
    fetch: () => new Response(String(++answered)),
  });
  const untrusted = await probe(endpointOf(`https://127.0.0.1:${stranger.port}`));
  expect(untrusted).toMatchObject(failed({ status: null, fault: 'failed' }));
  expect(untrusted.message).toMatch(/^Its certificate is not trusted \(\w+\)\.$/);
  expect(answered).toBe(0);
});

test('a provider without a list of models gets an invalid message, free of charge', async () => {
  const missing = scripts.error(404, 'not_found_error', 'no such path');
  const { result, requests } = await probeScripted(missing, scripts.refusedContent('model: field required'));
  expect(result).toMatchObject({ ok: true, status: 400, fault: null, models: null });
  expect(result.message).toContain('no list of models');
  expect(requests.map(({ method, path, body }) => [method, path, body])).toEqual([
    ['GET', '/v1/models?limit=1000', ''],
    ['POST', '/v1/messages', '{}'],
  ]);
});

test('a provider without a list of models is distinguished from one that refuses the credential and from an unreachable one', async () => {
  const missing = scripts.html(404);
  expect((await probeScripted(missing, scripts.unauthorized())).result).toMatchObject(
    failed({ status: 401, fault: 'credentials' }),
  );
  const { result } = await probeScripted(missing, missing);
  expect(result).toMatchObject(failed({ status: 404, fault: 'failed' }));
  expect(result.message).toContain('base_url may be wrong');
});

test('without a credential a refusal says that one is missing', async () => {
  await using upstream = await startScriptedUpstream(scripts.unauthorized());
  const { message } = await probe(endpointOf(upstream.url, { credential: null }));
  expect(message).toMatch(/none is configured: add an api_key/);
});

test('a credential that no header can carry is reported without a request', async () => {
  await using upstream = await startScriptedUpstream(MODELS);
  const result = await probe(endpointOf(upstream.url, { credential: new Secret('with\nline') }));
  expect(result).toMatchObject(failed({ status: null, fault: 'credentials' }));
  expect(upstream.requests).toHaveLength(0);
});

test('the credential is never shown, even if a provider repeats it, and the error text is one bounded line', async () => {
  const words = `key ${CREDENTIAL}, trimmed:\n\u001b[31m${CREDENTIAL} ${'x'.repeat(2_000)}`;
  const { result } = await probeScripted(scripts.error(401, 'authentication_error', words));
  expect(JSON.stringify(result)).not.toContain(CREDENTIAL);
  expect(result.message).toContain('key [redacted], trimmed: [31m[redacted]');
  expect(result.message.length).toBeLessThanOrEqual(bounds.providerProbeCharactersMax);
});

test('the sandbox is always available', async () => {
  const endpoint = { name: 'sandbox', kind: 'sandbox', baseUrl: '', credential: null };
  expect(await probe(endpoint)).toMatchObject({ ok: true, status: null, fault: null, models: 24 });
});

test('a kind that this version does not know is a failure with a message', async () => {
  const result = await probe(endpointOf('http://127.0.0.1:1', { kind: 'other' }));
  expect(result).toMatchObject(failed({ fault: 'failed' }));
  expect(result.message).toContain('"other"');
});
