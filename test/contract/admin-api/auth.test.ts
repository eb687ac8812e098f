// Credentials with `auth` in applied documents: what is refused, kept, replaced and dropped.

import { beforeEach, describe, expect, test } from 'bun:test';
import { resealDocument, sealedCredentials } from '../../../src/catalog/catalog.ts';
import { errorOf, type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

let installation: Installation;
beforeEach(async () => {
  installation = await makeInstallation();
});

const file = { type: 'file', path: '/run/secrets/vendor' };

const apply = (provider: object, more: object = {}) =>
  installation.ask('POST', '/api/v1/apply', {
    document: {
      providers: { vendor: { kind: 'anthropic', base_url: 'https://api.example.com', ...provider }, ...more },
    },
  });

/** Paths and messages of all faults of a refused provider. */
async function faultsOf(provider: object): Promise<string[]> {
  const { status, body } = await apply(provider);
  expect(status).toBe(400);
  return (errorOf(body).faults ?? []).map(({ path, message }) => `${(path as string[]).join('.')}: ${message}`);
}

async function storedVendor() {
  const documents = await installation.stores.catalog.loadCatalog();
  const found = documents.find(({ name }) => name === 'vendor');
  if (found === undefined) throw new Error('the provider is not stored');
  return found;
}

describe('auth', () => {
  test('of each type is refused with the path of what is wrong', async () => {
    const cases: [object, string][] = [
      [{ type: 'file', path: 'relative' }, 'auth.path: must be an absolute path'],
      [{ type: 'file', path: '/etc/shadow' }, 'auth.path: /etc/shadow is not below the directories'],
      [
        { type: 'file', path: '/run/secrets/../../etc/shadow' },
        'auth.path: /run/secrets/../../etc/shadow is not below',
      ],
      [{ type: 'env', name: 'HOME' }, 'auth.name: the environment variable HOME may not be read'],
      [{ type: 'env', name: 'TURNPIKE_SECRET' }, 'auth.name: the environment variable TURNPIKE_SECRET may not be read'],
      [{ type: 'env', name: 'NOT_SET_API_KEY' }, 'auth.name: the environment variable NOT_SET_API_KEY is not set'],
      [{ type: 'env', name: 'a-b' }, 'auth.name: must be the name'],
      [{ type: 'aws_secret', secret: 'x', region: 'evil.example/' }, 'auth.region: must be the name of a region'],
      [{ type: 'google_secret', secret: 'projects/../secrets/x' }, 'auth.secret: must be projects/PROJECT'],
      [{ type: 'azure_secret', secret: 'https://evil.example/secrets/x' }, 'auth.secret: must be the URL of a secret'],
      [
        { type: 'azure_secret', secret: 'https://a.vault.azure.net.evil.example/secrets/x' },
        'auth.secret: must be the URL',
      ],
      [
        { type: 'vault', secret: 'auth/token/lookup-self', field: 'id' },
        'auth.secret: must be the path of a secret of a key',
      ],
      [
        { type: 'vault', secret: 'team/identity/oidc/token/role', field: 'token' },
        'auth.secret: must be the path of a secret',
      ],
      [
        { type: 'vault', secret: 'secret/../auth/token/lookup-self', field: 'id' },
        'auth.secret: must be the path of a secret',
      ],
      [
        { type: 'vault', secret: 'secret/data/a', field: 'key' },
        'auth.type: needs the environment variable VAULT_ADDR',
      ],
      [{ type: 'vault', secret: 'secret/data/a' }, 'auth.field: '],
      [{ type: 'google' }, 'base_url: must be at googleapis.com with https'],
      [{ type: 'aws' }, 'auth: of the type aws needs the region of Claude Platform on AWS'],
      [{ type: 'azure' }, 'auth: of the type azure is only for the kind foundry'],
      [{ type: 'magic' }, 'auth.type: must be one of env, file'],
    ];
    for (const [auth, expected] of cases)
      expect(await faultsOf({ auth })).toEqual([expect.stringContaining(`providers.vendor.${expected}`)]);
    expect(await faultsOf({ auth: file, api_key: 'sk-1' })).toEqual([
      'providers.vendor.auth: of the type file cannot be combined with api_key',
    ]);
  });

  test('of a further credential is refused with its own path', async () => {
    expect(await faultsOf({ credentials: { one: { auth: { type: 'file', path: '/etc/shadow' } } } })).toEqual([
      expect.stringContaining('providers.vendor.credentials.one.auth.path: /etc/shadow is not below'),
    ]);
  });

  test('replaces a stored key, which is dropped', async () => {
    await apply({ api_key: 'sk-stored-secret' });
    expect(sealedCredentials(await storedVendor())).toHaveLength(1);
    const { body } = await apply({ auth: file });
    expect(body['changes']).toMatchObject([{ action: 'update', fields: expect.arrayContaining(['auth', 'api_key']) }]);
    expect((await storedVendor()).document).toMatchObject({ auth: file, api_key_sealed: null });
    expect((await apply({ auth: file })).body['changes']).toEqual([]);
  });

  test('is exported as it was applied, with those of accounts', async () => {
    const account = (await makeAccount(installation, { name: 'acme' }))['id'];
    const own = { auth: { type: 'file', path: '/run/secrets/acme', field: 'key' }, account };
    const { status } = await apply({ auth: file, credentials: { acme: own } });
    expect(status).toBe(200);
    const { body } = await installation.ask('GET', '/api/v1/catalogue');
    const document = (body['document'] ?? body) as Record<string, Json>;
    expect(document['providers']?.['vendor']).toMatchObject({
      auth: file,
      credentials: { acme: { ...own, group: null } },
    });
    expect((await installation.ask('POST', '/api/v1/apply', { document })).body['changes']).toEqual([]);
    const listed = await installation.ask('GET', '/api/v1/providers/vendor');
    expect(listed.body['credentials']).toMatchObject([
      { name: 'default', auth: 'file', account: null, group: null },
      { name: 'acme', auth: 'file', account, group: null },
    ]);
  });

  test('is in the audit log with the name of the secret that it refers to', async () => {
    const auth = { type: 'aws_secret', secret: 'turnpike/vendor' };
    await apply({ auth });
    await apply({ auth: { ...auth, secret: 'another/vendor' } });
    const { body } = await installation.ask('GET', '/api/v1/audit?limit=1');
    expect((body['data'] as Json[])[0]).toMatchObject({
      before: { auth },
      after: { auth: { ...auth, secret: 'another/vendor' } },
    });
  });

  test('stays when the installation’s secret changes, beside keys that are sealed anew', async () => {
    await apply({ auth: file, credentials: { keyed: { api_key: 'sk-1' }, other: { auth: file } } });
    const seals = { open: (sealed: string) => sealed, seal: (text: string) => `new ${text}` };
    const before = (await storedVendor()).document;
    const after = resealDocument(await storedVendor(), seals)?.document as Record<string, Json>;
    expect(after).toMatchObject({ auth: file, api_key_sealed: null });
    expect(after['credentials']).toMatchObject({
      keyed: { api_key_sealed: expect.stringMatching(/^new /) },
      other: { auth: file, api_key_sealed: null },
    });
    expect(before['auth']).toEqual(file);
    await apply({ auth: file, credentials: {} });
    expect(resealDocument(await storedVendor(), seals)).toBeNull();
  });
});
