// Apply, and the lists of the catalog.

import { beforeEach, describe, expect, test } from 'bun:test';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation, makeKey } from './installation.ts';

const document = {
  providers: { vendor: { kind: 'anthropic', base_url: 'https://api.example.com', api_key: 'sk-upstream-secret' } },
  models: {
    'big-model': {
      aliases: ['big'],
      price: {
        input: '3',
        output: '15',
        cache_read: '0.3',
        long_context: { above: 200_000, input: '6', output: '22.5' },
      },
      max_output_tokens: 64_000,
      routes: [
        { provider: 'vendor', model: 'big-model-1', concurrency: 40, cost: { input: '2.999999999999', output: '10' } },
      ],
    },
  },
  groups: { vip: { models: ['big-*'], multiplier: '0.8', rpm: 600 } },
};

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});
const apply = (body: Json) => installation.ask('POST', '/api/v1/apply', body);
const names = async (what: string) =>
  ((await installation.ask('GET', `/api/v1/${what}`)).body['data'] as Json[]).map((one) => one['name']);

describe('a document', () => {
  test('is in force once the response is sent, and changes nothing when applied again', async () => {
    const { status, body } = await apply({ document });
    expect(status).toBe(200);
    expect(body).toEqual({
      changes: [
        { action: 'create', kind: 'provider', name: 'vendor' },
        { action: 'create', kind: 'model', name: 'big-model' },
        { action: 'create', kind: 'group', name: 'vip' },
      ],
      dry_run: false,
    });
    expect(await names('models')).toEqual(['big-model', 'sandbox-echo']);
    expect((await apply({ document })).body).toEqual({ changes: [], dry_run: false });
  });

  test('changes nothing with dry_run', async () => {
    const { body } = await apply({ document, dry_run: true });
    expect([body['dry_run'], (body['changes'] as Json[]).length]).toEqual([true, 3]);
    expect(await names('models')).toEqual(['sandbox-echo']);
  });

  test('with faults changes nothing and gets all faults reported by name', async () => {
    const broken = {
      models: { 'big-model': { routes: [{ provider: 'nobody' }] }, other: { price: { input: 'x', output: '1' } } },
      groups: { ...document.groups, 'no name': { models: [] } },
      extra: 1,
    };
    const { status, body } = await apply({ document: broken });
    expect([status, errorOf(body).code]).toEqual([400, 'invalid_request']);
    const paths = errorOf(body).faults?.map((fault) => (fault['path'] as string[]).join('.')) ?? [];
    for (const path of ['models.big-model.price', 'models.other.price.input', 'extra']) expect(paths).toContain(path);
    expect(await names('groups')).toEqual(['default', 'sandbox']);
  });

  test('with an address in a private network is refused unless it declares the address as private, also behind a host name', async () => {
    installation.addresses.set('api.example.com', ['203.0.113.9', '169.254.169.254']);
    const { status, body } = await apply({ document });
    expect(status).toBe(400);
    expect(errorOf(body).faults?.map((fault) => fault['path'])).toEqual([['providers', 'vendor', 'base_url']]);
    const declared = { ...document, providers: { vendor: { ...document.providers.vendor, private_network: true } } };
    expect((await apply({ document: declared })).status).toBe(200);
    const { vendor } = declared.providers;
    const undeclared = { providers: { vendor: { ...vendor, private_network: false } } };
    expect((await apply({ document: undeclared })).status).toBe(400);
  });

  test('gets faults reported that only the stored state reveals, together with its other faults', async () => {
    await apply({ document });
    await makeAccount(installation, { name: 'acme', groups: ['vip'] });
    installation.addresses.set('inside.example.com', ['10.1.2.3']);
    const providers = { hidden: { kind: 'anthropic', base_url: 'https://inside.example.com' } };
    const { body } = await apply({ document: { providers, colour: 1 }, prune: true });
    expect(errorOf(body).faults?.map(({ path }) => (path as string[]).join('.'))).toEqual([
      'colour',
      'providers.hidden.base_url',
      'groups',
    ]);
  });

  test('with slow host lookups does not delay other changes', async () => {
    const key = await makeKey(installation, (await makeAccount(installation))['id']);
    const { promise, resolve } = Promise.withResolvers<string[]>();
    installation.addresses.set('api.example.com', promise);
    const applying = apply({ document });
    const revoked = await installation.ask('POST', `/api/v1/keys/${key['id']}/revoke`, {});
    expect(revoked.body['status']).toBe('revoked');
    resolve(['10.0.0.1']);
    expect((await applying).status).toBe(400);
  });

  test('must be an object without unknown fields', async () => {
    for (const body of [{}, { document: 'x' }, { document: [] }, { document: null }, { document, force: true }])
      expect((await apply(body)).status).toBe(400);
  });
});

describe('pruning', () => {
  test('removes only what a file created', async () => {
    await apply({ document });
    const { body } = await apply({ document: {}, prune: true });
    expect((body['changes'] as Json[]).map((change) => `${change['action']} ${change['name']}`).toSorted()).toEqual([
      'delete big-model',
      'delete vendor',
      'delete vip',
    ]);
    expect(await names('groups')).toEqual(['default', 'sandbox']);
    expect(await names('models')).toEqual(['sandbox-echo']);
  });

  test('never removes a group that an account belongs to', async () => {
    await apply({ document });
    await makeAccount(installation, { name: 'acme', groups: ['default', 'vip'] });
    const { status, body } = await apply({ document: {}, prune: true });
    expect(status).toBe(400);
    expect(errorOf(body).message).toContain('the account "acme" is in it');
    expect(await names('models')).toContain('big-model');
  });
});

test('a credential for an unknown account is refused and changes nothing', async () => {
  const { id: account } = await makeAccount(installation);
  const vendorFor = (...accounts: unknown[]) => ({
    ...document.providers.vendor,
    credentials: Object.fromEntries(accounts.map((one, at) => [`c${at}`, { api_key: 'sk-own', account: one }])),
  });
  const refused = await apply({
    document: { providers: { vendor: vendorFor(account, 'acct_000000077', 'acct_000000077') } },
  });
  expect(refused.status).toBe(400);
  expect(errorOf(refused.body)['faults']).toEqual(
    ['c1', 'c2'].map((name) => ({
      path: ['providers', 'vendor', 'credentials', name, 'account'],
      message: 'there is no account "acct_000000077"',
    })),
  );
  expect(await names('providers')).toEqual(['sandbox']);
  expect((await apply({ document: { providers: { vendor: vendorFor(account) } } })).status).toBe(200);
});

test('an account cannot join a group while it is being removed', async () => {
  await apply({ document });
  const [pruned, account] = await Promise.all([
    apply({ document: {}, prune: true }),
    installation.ask('POST', '/api/v1/accounts', { name: 'x', groups: ['vip'] }),
  ]);
  expect([pruned.status, account.status].sort()).not.toEqual([200, 201]);
});

describe('the lists of the catalog', () => {
  test('show prices, routes and limits under the field names of apply', async () => {
    await apply({ document });
    const [model] = (await installation.ask('GET', '/api/v1/models?limit=1')).body['data'] as Json[];
    expect(model).toMatchObject({
      name: 'big-model',
      aliases: ['big'],
      price: {
        input: '3',
        output: '15',
        cache_read: '0.3',
        cache_write_5m: '3',
        long_context: { above: 200_000, input: '6', output: '22.5' },
      },
      max_output_tokens: 64_000,
      routes: [
        { provider: 'vendor', model: 'big-model-1', concurrency: 40, cost: { input: '2.999999999999', output: '10' } },
      ],
    });
    const groups = (await installation.ask('GET', '/api/v1/groups')).body['data'] as Json[];
    expect(groups.at(-1)).toEqual({
      name: 'vip',
      models: ['big-*'],
      multiplier: '0.8',
      rpm: 600,
      input_tpm: null,
      output_tpm: null,
      concurrency: null,
      residency: null,
      tiers: null,
      model_count: 1,
    });
  });

  test('never show a credential', async () => {
    await apply({ document });
    const { body } = await installation.ask('GET', '/api/v1/providers');
    expect(body['data']).toEqual([
      expect.objectContaining({ name: 'sandbox', base_url: null, has_credential: false }),
      expect.objectContaining({ name: 'vendor', base_url: 'https://api.example.com', has_credential: true }),
    ]);
    expect(JSON.stringify(body)).not.toContain('sk-upstream-secret');
    expect(Bun.inspect(installation.stores.tables.catalog, { depth: 9 })).not.toContain('sk-upstream-secret');
  });

  test('are returned in pages, by name', async () => {
    await apply({ document });
    const first = await installation.ask('GET', '/api/v1/groups?limit=2');
    const rest = await installation.ask('GET', `/api/v1/groups?limit=2&cursor=${first.body['next_cursor']}`);
    expect([first, rest].map(({ body }) => (body['data'] as Json[]).map((group) => group['name']))).toEqual([
      ['default', 'sandbox'],
      ['vip'],
    ]);
    expect(rest.body['next_cursor']).toBeNull();
  });
});

describe('an object named for removal', () => {
  test('is removed before the response is sent, unless an account belongs to it', async () => {
    await apply({ document });
    await makeAccount(installation, { name: 'acme', groups: ['vip'] });
    const remove = [{ kind: 'model', name: 'big-model' }];
    const refused = await apply({ document: {}, remove: [...remove, { kind: 'group', name: 'vip' }] });
    expect(errorOf(refused.body).message).toBe(
      'groups: the group "vip" would be deleted, but the account "acme" is in it',
    );
    expect((await apply({ document: {}, remove })).body['changes']).toEqual([
      { action: 'delete', kind: 'model', name: 'big-model' },
    ]);
    expect(await names('models')).toEqual(['sandbox-echo']);
    expect(await names('groups')).toContain('vip');
  });
});

describe('the catalog in the form that apply takes', () => {
  const catalog = async () => (await installation.ask('GET', '/api/v1/catalogue')).body;

  test('can be applied again without a change, and contains no credential', async () => {
    await apply({ document });
    const { document: breakerState, provider_kinds } = await catalog();
    expect(JSON.stringify(breakerState)).not.toContain('sk-upstream-secret');
    expect((await apply({ document: breakerState, prune: true })).body['changes']).toEqual([]);
    expect(provider_kinds).toContainEqual({
      kind: 'anthropic',
      base_url: 'https://api.anthropic.com',
      needs: [],
      batches: [],
      auth_types: expect.arrayContaining([
        {
          type: 'file',
          needs_secret: false,
          members: [
            { name: 'path', required: true },
            { name: 'field', required: false },
          ],
        },
      ]),
    });
    expect(provider_kinds).toContainEqual(expect.objectContaining({ kind: 'sandbox', batches: null, auth_types: [] }));
  });

  test('includes descriptive settings and the price list', async () => {
    await apply({ document: { settings: { drain_seconds: 5 } } });
    const { data } = (await installation.ask('GET', '/api/v1/settings')).body as { data: Json[] };
    expect(data.find(({ name }) => name === 'drain_seconds')).toMatchObject({ value: 5, default: 600, origin: 'file' });
    const prices = (await installation.ask('GET', '/api/v1/prices')).body['data'] as Json[];
    expect(prices.find(({ name }) => name === 'claude-sonnet-4-6')).toMatchObject({ price: { input: '3' } });
  });
});
