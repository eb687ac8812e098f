// Secrets of HashiCorp Vault, over a server on loopback.

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { readVaultSecret } from '../../../src/credentials/vault-secret.ts';
import { type Asked, makeLoad, serve } from './load.ts';

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-vault-')));
afterAll(() => rmSync(directory, { recursive: true }));

/** Both versions of the key-value engine, and the login of Kubernetes. */
function startVault() {
  return serve(({ path, headers, body }: Asked) => {
    if (path === '/v1/auth/kubernetes/login') {
      const { role, jwt } = JSON.parse(body) as { role: string; jwt: string };
      return role === 'turnpike' && jwt === 'service-account'
        ? Response.json({ auth: { client_token: 'hvs.of-the-role' } })
        : Response.json({ errors: [`invalid role name "${role}" for ${jwt}`] }, { status: 400 });
    }
    const token = headers.get('x-vault-token');
    if (token !== 'hvs.given' && token !== 'hvs.of-the-role')
      return Response.json({ errors: ['permission denied'] }, { status: 403 });
    if (path === '/v1/secret/data/turnpike')
      return Response.json({ data: { data: { anthropic: 'sk-2' }, metadata: { version: 4 } } });
    if (path === '/v1/kv/turnpike') return Response.json({ data: { anthropic: 'sk-1' } });
    if (path === '/v1/secret/data/deleted') return Response.json({ data: { data: null, metadata: { version: 4 } } });
    if (path === '/v1/aws/creds/admin')
      return Response.json({ lease_id: 'aws/creds/admin/1', data: { anthropic: 'sk-3' } });
    if (path === '/v1/odd/self') return Response.json({ data: { id: token } });
    return Response.json({ errors: [] }, { status: 404 });
  });
}

const secret = 'secret/data/turnpike';
const vaultAuth = (path: string) => ({ type: 'vault' as const, secret: path, field: 'anthropic' });

describe('a secret of Vault', () => {
  test('is read from both versions of the engine, with token and namespace', async () => {
    using vault = startVault();
    const environment = { VAULT_ADDR: `${vault.url}/`, VAULT_TOKEN: 'hvs.given', VAULT_NAMESPACE: 'team' };
    expect(await makeLoad(vaultAuth(secret), environment)()).toMatchObject({ text: 'sk-2', rereadMs: 300_000 });
    expect((await makeLoad(vaultAuth('kv/turnpike'), environment)()).text).toBe('sk-1');
    expect(vault.asked.map(({ headers }) => headers.get('x-vault-namespace'))).toEqual(['team', 'team']);
  });

  test('is read with the token of a file, which is read each time', async () => {
    using vault = startVault();
    const file = join(directory, 'token');
    writeFileSync(file, 'hvs.given\n');
    const load = makeLoad(vaultAuth(secret), { VAULT_ADDR: vault.url, VAULT_TOKEN_FILE: file });
    expect((await load()).text).toBe('sk-2');
    writeFileSync(file, 'hvs.revoked');
    await expect(load()).rejects.toThrow('Vault answered 403: permission denied');
  });

  test('is read as a service account of Kubernetes', async () => {
    using vault = startVault();
    const serviceAccountTokenFile = join(directory, 'service-account');
    writeFileSync(serviceAccountTokenFile, 'service-account');
    const read = (role: string) => {
      const { credentials } = readConfig({}, { VAULT_ADDR: vault.url, VAULT_ROLE: role });
      const holder = { provider: 'p', credential: 'default', kind: 'anthropic', region: null, baseUrl: '' };
      const context = { holder, settings: { ...credentials, serviceAccountTokenFile }, nowMs: Date.now };
      return readVaultSecret(secret, context, AbortSignal.timeout(5_000));
    };
    expect(JSON.parse(await read('turnpike'))).toEqual({ anthropic: 'sk-2' });
    await expect(read('other')).rejects.toThrow('Vault answered 400: invalid role name "other" for [redacted]');
  });

  test('that is missing, deleted or no secret is a fault that says so', async () => {
    using vault = startVault();
    const environment = { VAULT_ADDR: vault.url, VAULT_TOKEN: 'hvs.given' };
    const cases = [
      ['secret/data/none', 'Vault answered 404'],
      ['secret/data/deleted', 'Vault has no secret at secret/data/deleted'],
      ['aws/creds/admin', 'aws/creds/admin is not a secret of a key-value engine'],
      ['odd/self', 'odd/self is not a secret of a key-value engine'],
    ] as const;
    for (const [path, message] of cases)
      await expect(makeLoad(vaultAuth(path), environment)()).rejects.toThrow(message);
    await expect(makeLoad(vaultAuth(secret), { VAULT_ADDR: vault.url })()).rejects.toThrow('Vault needs one');
    const closed = makeLoad(vaultAuth(secret), { VAULT_ADDR: 'http://127.0.0.1:9', VAULT_TOKEN: 'hvs.given' });
    await expect(closed()).rejects.toThrow('Vault cannot be reached at http://127.0.0.1:9');
  });
});
