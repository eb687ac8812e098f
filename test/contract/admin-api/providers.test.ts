// Providers: what operators see of them, and the test that checks whether one is reachable.

import { beforeEach, describe, expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import { type Script, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
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

const NOT_USED = {
  state: 'not_used',
  routes_down: 0,
  routes_degraded: 0,
  last_success_at: null,
  last_failure_at: null,
};

const NOT_BATCHED = { batches: false, batch_bucket: null, batch_cost: '0.5', fetch_urls: 'off' };

describe('a provider', () => {
  test('is shown with the models that have a route to it, without its credential', async () => {
    await configure('https://api.example.com');
    const vendor = {
      name: 'vendor',
      kind: 'anthropic',
      base_url: 'https://api.example.com',
      has_credential: true,
      residency: null,
      passthrough: null,
      ...NOT_BATCHED,
      credentials: [{ name: 'default', auth: null, failure: null, account: null, group: null }],
      models: ['big', 'big-too'],
      model_list: null,
      health: NOT_USED,
      routes: [],
    };
    expect((await installation.ask('GET', '/api/v1/providers/vendor')).body).toEqual(vendor);
    const { body } = await installation.ask('GET', '/api/v1/providers');
    expect(body['data']).toEqual([
      {
        name: 'sandbox',
        kind: 'sandbox',
        base_url: null,
        has_credential: false,
        residency: null,
        passthrough: null,
        ...NOT_BATCHED,
        credentials: [],
        models: ['big', 'sandbox-echo'],
        model_list: null,
        health: NOT_USED,
        routes: [],
      },
      vendor,
    ]);
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test('has one health everywhere, by its routes over all nodes and not by the last attempt of this one', async () => {
    installation.health.set('sandbox', { isUp: false, lastSuccessMs: null, lastFailureMs: NOW_MS });
    const model = { model: 'sandbox-echo', provider: 'sandbox', upstreamModel: 'sandbox-echo' };
    const slots = { 0: { answered: 30, failed: 10, firstFailedAtMs: NOW_MS } };
    const counts = { answered: 30, faults: { timeout: 10 }, times: {}, slots };
    await installation.stores.traffic.putRouteHours([{ ...model, atMs: NOW_MS, source: 'other', counts }]);
    const { body } = await installation.ask('GET', '/api/v1/providers/sandbox');
    const health = { state: 'degraded', routes_down: 0, routes_degraded: 1 };
    expect(body['health']).toEqual({ ...health, last_success_at: null, last_failure_at: '2026-11-20T10:00:00.000Z' });
    const { body: list } = await installation.ask('GET', '/api/v1/providers');
    expect(list['data']).toMatchObject([{ name: 'sandbox', health }]);
    const { body: routes } = await installation.ask('GET', '/api/v1/routes/health?provider=sandbox&model=sandbox-echo');
    expect(routes['data']).toMatchObject([{ state: 'degraded' }]);
  });

  test('is shown with its usage by model and credential, without usage of other providers', async () => {
    const used = { credential: 'default', model: 'm', failuresInARow: 5, inFlight: 2, firstTokenMs: 312.5 };
    const lastFailure = { kind: 'timeout' as const, atMs: NOW_MS };
    installation.routeStates.push(
      { provider: 'sandbox', ...used, state: 'open', untilMs: NOW_MS + 5_000, lastFailure },
      { provider: 'another', ...used, state: 'ready', untilMs: null, lastFailure: null },
    );
    const { body } = await installation.ask('GET', '/api/v1/providers/sandbox');
    expect(body['routes']).toEqual([
      {
        model: 'm',
        credential: 'default',
        state: 'open',
        until: '2026-11-20T10:00:05.000Z',
        failures_in_a_row: 5,
        in_flight: 2,
        first_token_ms: 313,
        last_failure: { fault: 'timeout', at: '2026-11-20T10:00:00.000Z' },
      },
    ]);
    installation.routeStates.length = 0;
  });

  test('that does not exist is 404, also for a test', async () => {
    for (const [method, path] of [
      ['GET', '/api/v1/providers/none'],
      ['POST', '/api/v1/providers/none/test'],
      ['GET', '/api/v1/providers/none/models'],
    ] as const) {
      const { status, body } = await installation.ask(method, path);
      expect([status, errorOf(body).code]).toEqual([404, 'object_not_found']);
    }
  });
});

describe('a test of a provider', () => {
  test('is answered with 200 on success', async () => {
    const { status, body } = await testVendor(scripts.json('{"data":[{"id":"a"}],"has_more":false}'));
    expect(status).toBe(200);
    expect(body).toEqual({
      provider: 'vendor',
      ok: true,
      status: 200,
      ms: body['ms'],
      fault: null,
      message: 'It responds and accepts the credential.',
      models: 1,
      credentials: [
        {
          name: 'default',
          ok: true,
          status: 200,
          fault: null,
          message: 'It responds and accepts the credential.',
        },
      ],
    });
    expect(body['ms']).toBeNumber();
  });

  test('is answered with 200 on failure, with a message that never contains the credential', async () => {
    const { status, body } = await testVendor(scripts.error(401, 'authentication_error', `no such key: ${SECRET}`));
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: false, status: 401, fault: 'credentials', models: null });
    expect(JSON.stringify(body)).not.toContain(SECRET);
  });

  test('of the sandbox always succeeds', async () => {
    const { body } = await installation.ask('POST', '/api/v1/providers/sandbox/test', {});
    expect(body).toMatchObject({ provider: 'sandbox', ok: true, status: null, fault: null, credentials: [] });
  });

  test('is allowed to operators only: no other principal can cause outgoing requests', async () => {
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

  test('accepts no field that would change its destination', async () => {
    for (const member of ['base_url', 'url', 'api_key']) {
      const { status } = await installation.ask('POST', '/api/v1/providers/sandbox/test', {
        [member]: 'http://127.0.0.1',
      });
      expect(status).toBe(400);
    }
  });
});

describe('the models that a provider offers', () => {
  const OFFERED = {
    data: [
      {
        id: 'big-router/one',
        name: 'One',
        context_length: 128_000,
        pricing: { prompt: '0.000003', completion: '0.000015', input_cache_read: '0.0000003' },
      },
      { id: 'claude-haiku-4-5' },
      { id: 'free-of-charge', pricing: { prompt: '-1', completion: '-1' } },
      { id: 'per-request', pricing: { prompt: '0.000001', completion: '0.000001', request: '0.01' } },
      { id: 'per-image', pricing: { prompt: '0.000001', completion: '0.000001', image: '0.004' } },
      { id: 'no-images', pricing: { prompt: '0.000001', completion: '0.000002', image: '0', request: '0' } },
      { id: 'per-million', pricing: { prompt: '3', completion: '15' } },
      { id: 'numbers', pricing: { prompt: 0.000003, completion: 0.000015 }, context_length: -5 },
    ],
  };
  const withOffer = async () => {
    const upstream = await startScriptedUpstream(scripts.json(JSON.stringify(OFFERED)));
    await configure(upstream.url);
    return upstream;
  };
  const PATH = '/api/v1/providers/vendor/models';

  test('are listed with the price that the provider states, or that of the price list, or none', async () => {
    await using _upstream = await withOffer();
    const { status, body } = await installation.ask('GET', PATH);
    expect(status).toBe(200);
    expect(body).toMatchObject({ provider: 'vendor', read_from: 'provider' });
    const rows = body['data'] as Json[];
    const stated = rows.find(({ model }) => model === 'big-router/one');
    expect(stated).toMatchObject({
      display_name: 'One',
      max_input_tokens: 128_000,
      cost: { input: '3', output: '15', cache_read: '0.3', cache_write_5m: null },
      cost_source: { kind: 'provider', source: null, as_of: null },
      sold_as: [],
    });
    expect(rows.find(({ model }) => model === 'claude-haiku-4-5')).toMatchObject({
      cost: { input: '1', output: '5' },
      cost_source: { kind: 'price_list' },
    });
    // A price that varies, is not per token, is beyond every bound or not a text is none.
    for (const name of ['free-of-charge', 'per-request', 'per-image', 'per-million', 'numbers'])
      expect(rows.find(({ model }) => model === name)).toMatchObject({ cost: null, cost_source: null });
    expect(rows.find(({ model }) => model === 'no-images')).toMatchObject({ cost: { input: '1', output: '2' } });
    expect(rows.find(({ model }) => model === 'numbers')).toMatchObject({ max_input_tokens: null });
  });

  test('are sold in one transaction, and with dry_run only shown', async () => {
    await using _upstream = await withOffer();
    const body = {
      models: [
        { model: 'big-router/one', name: 'one', aliases: ['uno'] },
        { model: 'claude-haiku-4-5', markup_percent: '0' },
        { model: 'per-request', price: { input: '5', output: '5' } },
      ],
      markup_percent: '20',
      groups: ['default'],
    };
    const dry = await installation.ask('POST', PATH, { ...body, dry_run: true });
    expect(dry.body).toMatchObject({ dry_run: true, document: { models: { one: { price: { input: '3.6' } } } } });
    expect((await installation.ask('GET', '/api/v1/models')).body['data']).toHaveLength(3);
    const { body: sold } = await installation.ask('POST', PATH, body);
    expect((sold['changes'] as Json[]).filter(({ kind }) => kind === 'model').map(({ name }) => name)).toEqual([
      'one',
      'claude-haiku-4-5',
      'per-request',
    ]);
    const { body: models } = await installation.ask('GET', '/api/v1/models');
    const one = (models['data'] as Json[]).find(({ name }) => name === 'one');
    expect(one).toMatchObject({ aliases: ['uno'], price: { output: '18' }, routes: [{ cost: { output: '15' } }] });
    const { body: audit } = await installation.ask('GET', '/api/v1/audit?limit=10');
    expect((audit['data'] as Json[]).map(({ object }) => object)).toContain('model one');
    const { body: after } = await installation.ask('GET', PATH);
    expect((after['data'] as Json[]).find(({ model }) => model === 'big-router/one')).toMatchObject({
      sold_as: ['one'],
    });
  });

  test('are sold all or none: a model without a known price refuses the request', async () => {
    await using _upstream = await withOffer();
    const models = [{ model: 'big-router/one' }, { model: 'free-of-charge' }];
    const { status, body } = await installation.ask('POST', PATH, { models });
    expect([status, errorOf(body).code]).toEqual([400, 'invalid_request']);
    expect(JSON.stringify(body)).toContain('no price of');
    expect((await installation.ask('GET', '/api/v1/models')).body['data']).toHaveLength(3);
  });

  test('are 502 with the reason if the list cannot be read, without the credential', async () => {
    await using upstream = await startScriptedUpstream(scripts.error(401, 'authentication_error', `no: ${SECRET}`));
    await configure(upstream.url);
    for (const [method, body] of [
      ['GET', undefined],
      ['POST', { models: [{ model: 'x' }] }],
    ] as const) {
      const failed = await installation.ask(method, PATH, body);
      expect([failed.status, errorOf(failed.body).code]).toEqual([502, 'upstream_failed']);
      expect(JSON.stringify(failed.body)).not.toContain(SECRET);
    }
  });

  test('are read and sold by operators only', async () => {
    await using upstream = await withOffer();
    const { id: account } = await makeAccount(installation);
    for (const members of [{ role: 'viewer' }, { role: 'owner', account }, { role: 'member', account }]) {
      const authorization = await tokenOf(members);
      const read = await installation.ask('GET', PATH, undefined, { authorization });
      const sold = await installation.ask('POST', PATH, { models: [{ model: 'x' }] }, { authorization });
      expect([read.status, sold.status]).toEqual([403, 403]);
      const presets = await installation.ask('GET', '/api/v1/provider-presets', undefined, { authorization });
      expect(presets.status).toBe(members.role === 'viewer' ? 200 : 403);
    }
    expect(upstream.requests).toHaveLength(0);
  });
});

describe('a provider with several credentials', () => {
  const GOOD = '{"data":[{"id":"a"}],"has_more":false}';
  let account: string;
  beforeEach(async () => {
    account = (await makeAccount(installation))['id'] as string;
  });

  async function configureSeveral(baseUrl: string): Promise<void> {
    const vendor = {
      kind: 'anthropic',
      base_url: baseUrl,
      api_key: 'sk-canary-default',
      private_network: true,
      credentials: {
        acme: { api_key: 'sk-canary-acme', account },
        inner: { api_key: 'sk-canary-inner', group: 'sandbox' },
        second: { api_key: 'sk-canary-second' },
      },
    };
    expect((await installation.ask('POST', '/api/v1/apply', { document: { providers: { vendor } } })).status).toBe(200);
  }

  const credentialOf = (request: { headers: Record<string, string> }) => request.headers['x-api-key'] ?? '';
  /** Refuses all credentials except one, and repeats the credential in its answer. */
  const refuse =
    (credential: string): Script =>
    (answer, request) =>
      credentialOf(request) === credential
        ? scripts.error(401, 'authentication_error', `no such key: ${credential}`)(answer, request)
        : scripts.json(GOOD)(answer, request);
  const testSeveral = async (script: Script) => {
    await using upstream = await startScriptedUpstream(script);
    await configureSeveral(upstream.url);
    const { body } = await installation.ask('POST', '/api/v1/providers/vendor/test');
    return { body, shown: upstream.requests.map(credentialOf) };
  };

  test('is shown with the owner of each', async () => {
    await configureSeveral('http://127.0.0.1:1');
    const { body } = await installation.ask('GET', '/api/v1/providers/vendor');
    expect(body['has_credential']).toBe(true);
    expect(body['credentials']).toEqual([
      { name: 'default', auth: null, failure: null, account: null, group: null },
      { name: 'acme', auth: null, failure: null, account, group: null },
      { name: 'inner', auth: null, failure: null, account: null, group: 'sandbox' },
      { name: 'second', auth: null, failure: null, account: null, group: null },
    ]);
    expect(JSON.stringify(body)).not.toContain('sk-canary');
  });

  test('is tested with each of them in order, and passes only if all are accepted', async () => {
    const { body, shown } = await testSeveral(scripts.json(GOOD));
    expect(shown).toEqual(['sk-canary-default', 'sk-canary-acme', 'sk-canary-inner', 'sk-canary-second']);
    expect(body).toMatchObject({
      ok: true,
      status: 200,
      fault: null,
      message: 'All 4 credentials: It responds and accepts the credential.',
      models: 1,
    });
    const tests = body['credentials'] as Json[];
    expect(tests.map(({ name, ok }) => [name, ok])).toEqual([
      ['default', true],
      ['acme', true],
      ['inner', true],
      ['second', true],
    ]);
  });

  test('gets the error of the first failing credential, with its name and never its value', async () => {
    const { body } = await testSeveral(refuse('sk-canary-inner'));
    expect(body).toMatchObject({ ok: false, status: 401, fault: 'credentials', models: null });
    expect(body['message']).toStartWith('Credential "inner": It rejects the credential');
    const tests = body['credentials'] as Json[];
    expect(tests.map(({ name, ok, status, fault }) => [name, ok, status, fault])).toEqual([
      ['default', true, 200, null],
      ['acme', true, 200, null],
      ['inner', false, 401, 'credentials'],
      ['second', true, 200, null],
    ]);
    expect(JSON.stringify(body)).not.toContain('sk-canary');
  });

  test('is not tested further after the total time limit', async () => {
    const { body, shown } = await testSeveral((answer, request) => {
      installation.clock.advance(bounds.providerTestMsMax / 2);
      return scripts.json(GOOD)(answer, request);
    });
    expect(shown).toHaveLength(2);
    expect(body).toMatchObject({ ok: false, status: null, fault: 'timeout' });
    expect((body['credentials'] as Json[]).slice(2)).toEqual(
      ['inner', 'second'].map((name) => ({
        name,
        ok: false,
        status: null,
        fault: 'timeout',
        message: 'Not tested: the tests before this one took too long.',
      })),
    );
  });

  test('leaves no credential in the audit log, whatever changes are made to them', async () => {
    await configureSeveral('http://127.0.0.1:1');
    const vendor = {
      kind: 'anthropic',
      base_url: 'http://127.0.0.1:1',
      private_network: true,
      credentials: { acme: { account }, third: { api_key: 'sk-canary-third' } },
    };
    const { body: changed } = await installation.ask('POST', '/api/v1/apply', { document: { providers: { vendor } } });
    expect(changed['changes']).toEqual([
      {
        action: 'update',
        kind: 'provider',
        name: 'vendor',
        fields: ['credentials.inner', 'credentials.second', 'credentials.third'],
      },
    ]);
    const { body } = await installation.ask('GET', '/api/v1/audit?object=provider%20vendor');
    const [updated] = body['data'] as { before: Json; after: Json }[];
    expect(updated?.after).toEqual({
      credentials: {
        acme: { api_key_sealed: '[secret]', account, group: null },
        third: { api_key_sealed: '[another secret]', account: null, group: null },
      },
    });
    const sealed = (await installation.stores.catalog.loadCatalog()).map(({ document }) => JSON.stringify(document));
    const everyOutput = JSON.stringify([body, changed, installation.notifications, installation.answers, sealed]);
    expect(everyOutput).not.toContain('sk-canary');
    expect(JSON.stringify(body)).not.toContain('v1.');
  });
});
