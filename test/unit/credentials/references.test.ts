// References to variables and files: what may be read, and what their text may be.

import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bounds, readConfig } from '../../../src/config/config.ts';
import { findAuthFault } from '../../../src/credentials/credentials.ts';
import { makeLoad } from './load.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-credentials-')));
afterAll(() => rmSync(root, { recursive: true }));
const secrets = join(root, 'secrets');
const environment = { TURNPIKE_CREDENTIAL_DIRECTORIES: secrets, TURNPIKE_DATA: join(secrets, 'data') };
beforeEach(() => {
  rmSync(secrets, { recursive: true, force: true });
  mkdirSync(join(secrets, 'data'), { recursive: true });
});

function fileLoad(path: string, field?: string, more: Record<string, string> = {}, kind = 'anthropic') {
  const auth = { type: 'file' as const, path, ...(field !== undefined && { field }) };
  return makeLoad(auth, { ...environment, ...more }, { kind });
}

describe('a variable', () => {
  test('is read if the setting names it', async () => {
    const load = makeLoad({ type: 'env', name: 'VENDOR_API_KEY' }, { VENDOR_API_KEY: ' sk-1\n' });
    expect(await load()).toMatchObject({ text: 'sk-1', use: 'key', expiresAtMs: null, rereadMs: null });
    const named = { TURNPIKE_CREDENTIAL_VARIABLES: 'VENDOR_*,OTHER', VENDOR_SECRET: 'sk-2', OTHER: 'sk-3' };
    expect((await makeLoad({ type: 'env', name: 'VENDOR_SECRET' }, named)()).text).toBe('sk-2');
    expect((await makeLoad({ type: 'env', name: 'OTHER' }, named)()).text).toBe('sk-3');
  });

  test('that the setting does not name, or that is a secret of the service, is refused when applied and when read', async () => {
    const all = { TURNPIKE_CREDENTIAL_VARIABLES: '*' };
    const cases: [string, Record<string, string>][] = [
      ['DATABASE_PASSWORD', {}],
      ['TURNPIKE_SECRET', all],
      ['TURNPIKE_DATABASE_URL', all],
      ['OTEL_EXPORTER_OTLP_HEADERS', all],
      ['AWS_SECRET_ACCESS_KEY', all],
      ['AWS_SESSION_TOKEN', all],
      ['AZURE_CLIENT_SECRET', all],
      ['VAULT_TOKEN', all],
      ['PGPASSWORD', all],
      ['STRIPE_API_KEY', {}],
    ];
    for (const [name, more] of cases) {
      const secret = Buffer.alloc(32, 7).toString('base64');
      const valued = name === 'TURNPIKE_DATABASE_URL' ? 'postgres://turnpike@127.0.0.1/turnpike' : secret;
      const variables = { ...more, [name]: valued };
      await expect(makeLoad({ type: 'env', name }, variables)()).rejects.toThrow(`variable ${name} may not be read`);
      const fault = await findAuthFault({ type: 'env', name }, readConfig({}, variables).credentials);
      expect(fault).toMatchObject({ member: 'name', message: expect.stringContaining('may not be read') });
    }
  });

  test('that is not set is a fault that says so', async () => {
    const { credentials } = readConfig({}, {});
    expect(await findAuthFault({ type: 'env', name: 'VENDOR_API_KEY' }, credentials)).toEqual({
      member: 'name',
      message: 'the environment variable VENDOR_API_KEY is not set',
    });
  });
});

describe('a file', () => {
  test('is read again, and replaced by a link as Kubernetes does it', async () => {
    mkdirSync(join(secrets, '..v1'));
    mkdirSync(join(secrets, '..v2'));
    writeFileSync(join(secrets, '..v1', 'key'), 'sk-1\n');
    writeFileSync(join(secrets, '..v2', 'key'), 'sk-2\n');
    symlinkSync('..v1', join(secrets, '..data'));
    symlinkSync('..data/key', join(secrets, 'key'));
    const load = fileLoad(join(secrets, 'key'));
    expect(await load()).toMatchObject({ text: 'sk-1', rereadMs: bounds.credentialFileLookMs });
    symlinkSync('..v2', join(secrets, '..next'));
    renameSync(join(secrets, '..next'), join(secrets, '..data'));
    expect((await load()).text).toBe('sk-2');
  });

  test('that is missing, empty, too long or no file is a fault that says so', async () => {
    const path = join(secrets, 'key');
    await expect(fileLoad(path)()).rejects.toThrow(`the file ${path} does not exist`);
    writeFileSync(path, '\n');
    await expect(fileLoad(path)()).rejects.toThrow(`the file ${path} is empty`);
    writeFileSync(path, 'k'.repeat(bounds.credentialBytesMax + 1));
    await expect(fileLoad(path)()).rejects.toThrow('has more than');
    mkdirSync(join(secrets, 'folder'));
    await expect(fileLoad(join(secrets, 'folder'))()).rejects.toThrow('is not a regular file');
    execFileSync('mkfifo', [join(secrets, 'pipe')]);
    await expect(fileLoad(join(secrets, 'pipe'))()).rejects.toThrow('is not a regular file');
  });

  test('outside the directories is refused, wherever it is written or linked, without telling whether it exists', async () => {
    writeFileSync(join(root, 'host-secret'), 'host');
    symlinkSync(join(root, 'host-secret'), join(secrets, 'link'));
    symlinkSync(root, join(secrets, 'up'));
    const paths = ['/etc/passwd', '/etc/no-such-file', join(root, 'host-secret'), `${secrets}/../host-secret`];
    const linked = [join(secrets, 'link'), join(secrets, 'up', 'host-secret'), `${secrets}-of-others/key`];
    for (const path of [...paths, ...linked]) {
      await expect(fileLoad(path)()).rejects.toThrow('is not below the directories');
      const fault = await findAuthFault({ type: 'file', path }, readConfig({}, environment).credentials);
      expect(fault).toMatchObject({ member: 'path', message: expect.stringContaining('is not below the directories') });
    }
  });

  test('with an identity of the service is refused', async () => {
    const platform = join(secrets, 'kubernetes.io', 'serviceaccount');
    mkdirSync(platform, { recursive: true });
    for (const path of [join(platform, 'token'), join(secrets, 'web-token'), join(secrets, 'data', 'secret')]) {
      writeFileSync(path, 'token');
      const more = { AWS_WEB_IDENTITY_TOKEN_FILE: join(secrets, 'web-token') };
      await expect(fileLoad(path, undefined, more)()).rejects.toThrow('is an identity of the service itself');
    }
    symlinkSync(join(secrets, 'web-token'), join(secrets, 'alias'));
    const more = { AWS_WEB_IDENTITY_TOKEN_FILE: join(secrets, 'web-token') };
    await expect(fileLoad(join(secrets, 'alias'), undefined, more)()).rejects.toThrow('is an identity');
  });

  test('that does not exist yet can be applied: it may be mounted later', async () => {
    const auth = { type: 'file' as const, path: join(secrets, 'later') };
    expect(await findAuthFault(auth, readConfig({}, environment).credentials)).toBeNull();
  });
});

describe('the text of a reference', () => {
  const path = join(secrets, 'json');
  const write = (value: unknown) => writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));

  test('is a member of its JSON with `field`', async () => {
    write({ key: 'sk-1', nested: { access_key_id: 'AKIA', secret_access_key: 'secret' }, count: 1 });
    expect((await fileLoad(path, 'key')()).text).toBe('sk-1');
    expect((await fileLoad(path, 'nested', {}, 'bedrock')()).use).toBe('aws');
    await expect(fileLoad(path, 'other')()).rejects.toThrow('has no member "other"');
    await expect(fileLoad(path, 'count')()).rejects.toThrow('neither a text nor an object');
    write('sk-secret');
    await expect(fileLoad(path, 'key')()).rejects.toThrow('the secret is not a JSON object');
  });

  test('that is no key is refused, and nothing of it is repeated', async () => {
    for (const text of ['{"sk-secret": ', 'sk-secret two', '{"key":"sk-secret"}', 'sk-secret\nmore', 'sk-sécret']) {
      write(text);
      const failure = (await fileLoad(path)().catch((thrown) => thrown)) as Error;
      expect(failure).toBeInstanceOf(Error);
      expect(failure.message).not.toMatch(/sk-s/);
    }
  });

  test('is keys of AWS for the kind bedrock', async () => {
    write({ access_key_id: 'AKIA', secret_access_key: 'very-secret', session_token: 'a-session' });
    const loaded = await fileLoad(path, undefined, {}, 'bedrock')();
    expect(loaded.use).toBe('aws');
    expect(JSON.parse(loaded.text)).toEqual({
      accessKeyId: 'AKIA',
      secretAccessKey: 'very-secret',
      sessionToken: 'a-session',
    });
    expect(loaded.parts).toEqual(expect.arrayContaining(['very-secret', 'a-session', loaded.text]));
    write({ access_key_id: 'AKIA' });
    await expect(fileLoad(path, undefined, {}, 'bedrock')()).rejects.toThrow('no member "secret_access_key"');
  });
});
