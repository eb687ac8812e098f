// Providers: what operators see of them, and the test that asks one whether it is there.

import { beforeEach, describe, expect, test } from 'bun:test';
import { type Script, scripts, startScriptedUpstream } from '../support/scripted-upstream.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, NOW_MS } from './installation.ts';

const SECRET = 'sk-upstream-secret';
let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

async function configure(baseUrl: string): Promise<void> {
  const provider = { kind: 'anthropic', base_url: baseUrl, api_key: SECRET, private_network: true };
  const price = { input: '3', output: '15' };
  const models = {
    big: { price, routes: [{ provider: 'vendor' }, { provider: 'sandbox', model: 'sandbox-echo', priority: 1 }] },
    'big-too': { price, routes: [{ provider: 'vendor', model: 'x' }] },
  };
  const { status } = await installation.ask('POST', '/api/v1/apply', {
    document: { providers: { vendor: provider }, models },
  });
  expect(status).toBe(200);
}

async function testVendor(script: Script): Promise<{ status: number; body: Json }> {
  await using upstream = await startScriptedUpstream(script);
  await configure(upstream.url);
  return await installation.ask('POST', '/api/v1/providers/vendor/test');
}

const tokenOf = async (members: Json) =>
  `Bearer ${(await installation.ask('POST', '/api/v1/tokens', members)).body['token']}`;

describe('a provider', () => {
  test('is shown with the models that have a route to it, without its credential', async () => {
    await configure('https://api.example.com');
    const vendor = {
      name: 'vendor',
      kind: 'anthropic',
      base_url: 'https://api.example.com',
      has_credential: true,
      models: ['big', 'big-too'],
      health: null,
    };
    expect((await installation.ask('GET', '/api/v1/providers/vendor')).body).toEqual(vendor);
    const { body } = await installation.ask('GET', '/api/v1/providers');
    expect(body['data']).toEqual([
      {
        name: 'sandbox',
        kind: 'sandbox',
        base_url: null,
        has_credential: false,
        models: ['big', 'sandbox-echo'],
        health: null,
      },
      vendor,
    ]);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test('shows how it does, where somebody watches', async () => {
    installation.health.set('sandbox', { isUp: false, lastSuccessMs: null, lastFailureMs: NOW_MS });
    const { body } = await installation.ask('GET', '/api/v1/providers/sandbox');
    expect(body['health']).toEqual({ up: false, last_success_at: null, last_failure_at: '2026-11-20T10:00:00.000Z' });
  });

  test('that there is not is 404, also for a test', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/providers/none'],
      ['POST', '/api/v1/providers/none/test'],
    ] as const) {
      const { status, body } = await installation.ask(method, path);
      expect([status, errorOf(body).code]).toEqual([404, 'object_not_found']);
    }
  });
});

describe('a test of a provider', () => {
  test('answers 200 when it went well', async () => {
    const { status, body } = await testVendor(scripts.json('{"data":[{"id":"a"}],"has_more":false}'));
    expect(status).toBe(200);
    expect(body).toEqual({
      provider: 'vendor',
      ok: true,
      status: 200,
      ms: body['ms'],
      fault: null,
      message: 'It answers, and takes the credential.',
      models: 1,
    });
    expect(body['ms']).toBeNumber();
  });

  test('answers 200 when it did not, in words that never hold the credential', async () => {
    const { status, body } = await testVendor(scripts.error(401, 'authentication_error', `no such key: ${SECRET}`));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: false, status: 401, fault: 'credentials', models: null });
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test('of the sandbox is always well', async () => {
    const { body } = await installation.ask('POST', '/api/v1/providers/sandbox/test', {});
    expect(body).toMatchObject({ provider: 'sandbox', ok: true, status: null, fault: null });
  });

  test('is an operator’s alone: nobody else has the installation call out', async () => {
    await using upstream = await startScriptedUpstream(scripts.json('{"data":[]}'));
    await configure(upstream.url);
    const { id: account } = await makeAccount(installation);
    for (const members of [{ role: 'viewer' }, { role: 'owner', account }, { role: 'member', account }]) {
      const authorization = await tokenOf(members);
      const refused = await installation.ask('POST', '/api/v1/providers/vendor/test', {}, { authorization });
      expect([refused.status, errorOf(refused.body).code]).toEqual([403, 'role_not_allowed']);
      const shown = await installation.ask('GET', '/api/v1/providers/vendor', undefined, { authorization });
      expect(shown.status).toBe(members.role === 'viewer' ? 200 : 403);
    }
    expect(upstream.requests).toHaveLength(0);
    const authorization = await tokenOf({ role: 'operator' });
    expect((await installation.ask('POST', '/api/v1/providers/vendor/test', {}, { authorization })).status).toBe(200);
    expect(upstream.requests).toHaveLength(1);
  });

  test('takes nothing that would lead it elsewhere', async () => {
    for (const member of ['base_url', 'url', 'api_key']) {
      const { status } = await installation.ask('POST', '/api/v1/providers/sandbox/test', {
        [member]: 'http://127.0.0.1',
      });
      expect(status).toBe(400);
    }
  });
});
