// Microsoft Foundry: addresses of both APIs and their older form, credentials, and which deployment is what.

import { afterAll, beforeEach, expect, test } from 'bun:test';
import {
  type Attempt,
  type ProviderEndpoint,
  probeProvider,
  providerKinds,
} from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import { type Script, scripts, startScriptedUpstream } from '../../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from '../make-attempt.ts';

const foundry = providerKinds.get('foundry') ?? expect.unreachable();
const upstream = await startScriptedUpstream(scripts.html(500));
afterAll(() => upstream.close());
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.play(scripts.html(500));
});

class Token extends Secret {
  override get use() {
    return 'bearer' as const;
  }
}

const KEY = 'our-key-of-azure-0123456789';
const endpointAt = (end: string, credential: Secret = new Secret(KEY)): ProviderEndpoint => ({
  name: 'azure',
  kind: 'foundry',
  baseUrl: upstream.url + end,
  credential,
});

/** The path and the credential's headers of the request to an address. */
async function sentTo(end: string, upstreamModel: string, changes: Partial<Attempt> = {}) {
  const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
  const provider = endpointAt(end);
  await faultOf(foundry.submit(makeAttempt(upstream.url, body, { provider, upstreamModel, ...changes })));
  const { path, headers } = upstream.requests.pop() ?? expect.unreachable();
  const holding = Object.entries(headers).filter(([, value]) => value.includes('our-'));
  return { path, ...Object.fromEntries(holding) } as Record<string, string>;
}

const CLAUDE = { path: '/anthropic/v1/messages', 'x-api-key': KEY };
const RESPONSES = { path: '/openai/v1/responses', 'api-key': KEY };
const CHAT = { path: '/openai/v1/chat/completions', 'api-key': KEY };

test.each(['', '/', '/anthropic', '/anthropic/', '/anthropic/v1', '/anthropic/v1/messages', '/openai/v1', '/openai'])(
  'every address of a resource (%p) leads to both APIs',
  async (end) => {
    expect(await sentTo(end, 'Our-Claude')).toEqual(CLAUDE);
    expect(await sentTo(end, 'our-deployment')).toEqual(RESPONSES);
    expect(await sentTo(end, 'our-deployment', { protocol: 'chat-completions' })).toEqual(CHAT);
  },
);

test('the protocol of a route decides before the name', async () => {
  expect(await sentTo('', 'prod', { protocol: 'messages' })).toEqual(CLAUDE);
  expect(await sentTo('', 'claude-like', { protocol: 'responses' })).toEqual(RESPONSES);
  const attempt = makeAttempt(upstream.url, { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'x' }] });
  const provider = endpointAt('');
  expect((await faultOf(foundry.submit({ ...attempt, provider, protocol: 'gemini' }))).kind).toBe('not_found');
});

test("Azure's older addresses have the API version in the query, and the deployment in the path", async () => {
  const end = '?api-version=2024-10-21';
  expect(await sentTo(end, 'our-deployment')).toEqual({ ...RESPONSES, path: `/openai/responses${end}` });
  expect(await sentTo(end, 'our-deployment', { protocol: 'chat-completions' })).toEqual({
    ...CHAT,
    path: `/openai/deployments/our-deployment/chat/completions${end}`,
  });
  expect(await sentTo(end, 'our-claude')).toEqual(CLAUDE);
});

test('a token of Entra is sent as a bearer by every protocol', async () => {
  const provider = endpointAt('', new Token('our-token-0123456789'));
  for (const protocol of ['messages', 'responses', 'chat-completions'])
    expect(await sentTo('', 'x', { provider, protocol })).toEqual({
      path: expect.any(String),
      authorization: 'Bearer our-token-0123456789',
    });
});

test('the client’s version, workspace and unknown betas are not sent', async () => {
  const body = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] };
  const changes = {
    provider: endpointAt(''),
    upstreamModel: 'our-claude',
    version: '2026-10-21',
    betas: 'skills-2025-10-02,claude-code-20250219',
    selectors: [{ name: 'workspace-id', value: 'w' }],
  };
  await faultOf(foundry.submit(makeAttempt(upstream.url, body, changes)));
  const { headers } = upstream.requests[0] ?? expect.unreachable();
  expect(headers).toMatchObject({ 'anthropic-version': '2023-06-01', 'anthropic-beta': 'skills-2025-10-02' });
  expect(headers).not.toContainKey('anthropic-workspace-id');
});

test('the connection test lists models, or sends an empty message to Claude', async () => {
  upstream.play(scripts.json('{"data":[{"id":"a"}]}'));
  expect(await probeProvider(foundry, endpointAt('/anthropic'), 5_000)).toMatchObject({ ok: true, models: 1 });
  const missing: Script = (answer) =>
    answer.send(404, { 'content-type': 'application/json' }, '{"error":{"code":"404","message":"Not found"}}');
  const refused = scripts.error(400, 'invalid_request_error', 'model: Field required');
  upstream.play(missing, missing, missing, refused);
  expect(await probeProvider(foundry, endpointAt(''), 5_000)).toMatchObject({ ok: true, status: 400 });
  expect(upstream.requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    'GET /openai/v1/models',
    'GET /openai/v1/models',
    'POST /openai/v1/responses',
    'GET /anthropic/v1/models',
    'POST /anthropic/v1/messages',
  ]);
});
