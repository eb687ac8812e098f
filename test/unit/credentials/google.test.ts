// Identities at Google Cloud and secrets of Secret Manager, over servers on loopback that check what the real ones check.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LiveSecret } from '../../../src/credentials/live-secret.ts';
import { makeLoad, serve, setVariables } from './load.ts';

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const EMAIL = 'turnpike@my-project.iam.gserviceaccount.com';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PRIVATE_KEY = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const KEY = JSON.stringify({
  type: 'service_account',
  client_email: EMAIL,
  private_key: PRIVATE_KEY,
  private_key_id: 'k1',
});
const HOLDER = { kind: 'vertex', region: 'global', baseUrl: 'https://aiplatform.googleapis.com' };

const directory = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-google-')));
const environment = { TURNPIKE_CREDENTIAL_DIRECTORIES: directory };
let nothing: Disposable;
beforeAll(() => {
  nothing = setVariables({
    GOOGLE_APPLICATION_CREDENTIALS: undefined,
    CLOUDSDK_CONFIG: directory,
    METADATA_SERVER_DETECTION: 'none',
  });
});
afterAll(() => {
  nothing[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

/** Sends what would go to Google to a server of the test, with the host in the path. */
const redirectTo = (url: string) =>
  ((input: string | URL | Request, init?: RequestInit) => {
    const { host, pathname, search } = new URL(input instanceof Request ? input.url : input);
    return fetch(`${url}/${host}${pathname}${search}`, init);
  }) as typeof fetch;

/** Google's token endpoint: it verifies the assertion with the public key, and gives tokens that live for `seconds`. */
function startTokens(seconds = 3_600) {
  let issued = 0;
  return serve(({ path, body }) => {
    if (path !== '/oauth2.googleapis.com/token') return new Response('', { status: 404 });
    const form = new URLSearchParams(body);
    const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.');
    const isSigned = verify(
      'sha256',
      Buffer.from(`${head}.${claims}`),
      createPublicKey(publicKey.export({ type: 'spki', format: 'pem' })),
      Buffer.from(signature, 'base64url'),
    );
    const { iss, scope, aud } = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, string>;
    const isRight = iss === EMAIL && scope === SCOPE && aud === 'https://oauth2.googleapis.com/token';
    if (!isSigned || !isRight)
      return Response.json(
        { error: 'invalid_grant', error_description: `Invalid JWT ${head}.${claims}` },
        { status: 400 },
      );
    issued++;
    return Response.json({ access_token: `ya29.token-${issued}`, expires_in: seconds, token_type: 'Bearer' });
  });
}

describe('the key of a service account', () => {
  test('becomes a token, by an assertion that is signed with it', async () => {
    using tokens = startTokens();
    const load = makeLoad({ type: 'google_key' }, {}, { ...HOLDER, apiKey: KEY, fetch: redirectTo(tokens.url) });
    const startMs = Date.now();
    const loaded = await load();
    expect(loaded).toMatchObject({ text: 'ya29.token-1', use: 'bearer', rereadMs: null });
    expect(loaded.expiresAtMs).toBeGreaterThanOrEqual(startMs + 3_500_000);
    expect(loaded.parts).toEqual(expect.arrayContaining(['ya29.token-1', KEY, PRIVATE_KEY]));
    expect((await load()).text).toBe('ya29.token-2');
  });

  test('is replaced by another token ahead of expiry, while messages go on', async () => {
    using tokens = startTokens();
    const load = makeLoad({ type: 'google_key' }, {}, { ...HOLDER, apiKey: KEY, fetch: redirectTo(tokens.url) });
    let [nowMs, delayMs, refresh] = [Date.now(), 0, () => {}];
    const secret = new LiveSecret({
      load: () => load(),
      timer: {
        nowMs: () => nowMs,
        after(ms, call) {
          [delayMs, refresh] = [ms, call];
          return () => undefined;
        },
      },
      stopped: new AbortController().signal,
      onState: () => undefined,
    });
    await secret.ready();
    expect([secret.reveal(), secret.use]).toEqual(['ya29.token-1', 'bearer']);
    nowMs += delayMs;
    refresh();
    const refreshed = secret.reread(); // the reading that is in progress
    expect(secret.ready()).toBeNull();
    await refreshed;
    expect([secret.ready(), secret.reveal()]).toEqual([null, 'ya29.token-2']);
    expect(secret.parts()).toContain('ya29.token-1');
  });

  test('that Google refuses is a fault with the reason, without a secret', async () => {
    using tokens = startTokens();
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type: 'pkcs8',
      format: 'pem',
    });
    const key = JSON.stringify({ type: 'service_account', client_email: EMAIL, private_key: other });
    const load = makeLoad({ type: 'google_key' }, {}, { ...HOLDER, apiKey: key, fetch: redirectTo(tokens.url) });
    await expect(load()).rejects.toThrow(`Google gave no token for ${EMAIL}: invalid_grant: Invalid JWT [redacted]`);
  });

  test('of a reference is used, and its token is kept as long as the text is the same', async () => {
    using tokens = startTokens();
    const path = join(directory, 'reference.json');
    writeFileSync(path, KEY);
    const load = makeLoad({ type: 'file', path }, environment, { ...HOLDER, fetch: redirectTo(tokens.url) });
    expect(await load()).toMatchObject({ text: 'ya29.token-1', use: 'bearer', rereadMs: 5_000 });
    expect((await load()).text).toBe('ya29.token-1');
    expect((await load(true)).text).toBe('ya29.token-2');
    using brief = startTokens(60);
    const soon = makeLoad({ type: 'file', path }, environment, { ...HOLDER, fetch: redirectTo(brief.url) });
    expect((await soon()).text).toBe('ya29.token-1');
    expect((await soon()).text).toBe('ya29.token-2');
  });

  test('of another type is refused: it would name files and addresses of its author’s choice', async () => {
    const text = JSON.stringify({
      type: 'external_account',
      audience: 'x',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: 'https://collector.example.com',
      credential_source: { file: '/etc/passwd' },
    });
    const path = join(directory, 'external-text.json');
    writeFileSync(path, text);
    await expect(makeLoad({ type: 'google_key' }, {}, { ...HOLDER, apiKey: text })()).rejects.toThrow(
      'not that of a service',
    );
    await expect(makeLoad({ type: 'file', path }, environment, HOLDER)()).rejects.toThrow(
      'not that of a service account',
    );
  });

  test('is never made a token for a host of anyone else', async () => {
    const elsewhere = { ...HOLDER, baseUrl: 'https://collector.example.com', apiKey: KEY };
    await expect(makeLoad({ type: 'google_key' }, {}, elsewhere)()).rejects.toThrow('other hosts are not sent tokens');
    await expect(makeLoad({ type: 'google' }, {}, elsewhere)()).rejects.toThrow('other hosts are not sent tokens');
  });
});

describe('the identity of the host at Google Cloud', () => {
  test('is that of GOOGLE_APPLICATION_CREDENTIALS, or of a file', async () => {
    using tokens = startTokens();
    const path = join(directory, 'adc.json');
    writeFileSync(path, KEY);
    using _ = setVariables({ GOOGLE_APPLICATION_CREDENTIALS: path });
    const more = { ...HOLDER, fetch: redirectTo(tokens.url) };
    expect((await makeLoad({ type: 'google' }, {}, more)()).text).toBe('ya29.token-1');
    expect((await makeLoad({ type: 'google', path }, environment, more)()).text).toBe('ya29.token-2');
    const missing = makeLoad({ type: 'google', path: join(directory, 'none') }, environment, more);
    await expect(missing()).rejects.toThrow('none does not exist');
    await expect(makeLoad({ type: 'google', path: '/etc/passwd' }, environment, more)()).rejects.toThrow(
      'is not below',
    );
  });

  test('is a workload identity: the token of its platform is exchanged', async () => {
    using sts = serve(({ body }) => {
      const { subject_token, audience, scope } = Object.fromEntries(new URLSearchParams(body));
      return subject_token === 'platform-token' && audience === '//iam.googleapis.com/pools/p' && scope === SCOPE
        ? Response.json({ access_token: 'federated', expires_in: 3_600, token_type: 'Bearer', issued_token_type: 'x' })
        : Response.json({ error: 'invalid_grant', error_description: 'wrong token' }, { status: 400 });
    });
    const tokenFile = join(directory, 'platform-token');
    writeFileSync(tokenFile, 'platform-token');
    const path = join(directory, 'external.json');
    const config = {
      type: 'external_account',
      audience: '//iam.googleapis.com/pools/p',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${sts.url}/v1/token`,
      credential_source: { file: tokenFile },
    };
    writeFileSync(path, JSON.stringify(config));
    expect((await makeLoad({ type: 'google', path }, environment, HOLDER)()).text).toBe('federated');
    writeFileSync(tokenFile, 'another-token');
    await expect(makeLoad({ type: 'google', path }, environment, HOLDER)()).rejects.toThrow(
      'invalid_grant: wrong token',
    );
  });

  test('is that of the metadata server', async () => {
    using metadata = serve(({ path, headers }) => {
      if (headers.get('metadata-flavor') !== 'Google') return new Response('', { status: 403 });
      const answer = { headers: { 'metadata-flavor': 'Google', 'content-type': 'application/json' } };
      if (path.endsWith('/token'))
        return new Response(
          JSON.stringify({ access_token: 'metadata', expires_in: 3_000, token_type: 'Bearer' }),
          answer,
        );
      return new Response('ok', answer);
    });
    using _ = setVariables({
      GCE_METADATA_HOST: metadata.url.replace('http://', ''),
      METADATA_SERVER_DETECTION: 'assume-present',
    });
    const loaded = await makeLoad({ type: 'google' }, {}, HOLDER)();
    expect(loaded).toMatchObject({ text: 'metadata', use: 'bearer', rereadMs: null });
  });

  test('that is missing is a fault that says so', async () => {
    await expect(makeLoad({ type: 'google' }, {}, HOLDER)()).rejects.toThrow(
      'this host has no identity at Google Cloud',
    );
  });
});

describe('a secret of Google Secret Manager', () => {
  test('is read with the identity of the host, by default in its latest version', async () => {
    using google = serve(({ path, headers }) => {
      if (path === '/oauth2.googleapis.com/token')
        return Response.json({ access_token: 'ya29.of-the-host', expires_in: 3_600, token_type: 'Bearer' });
      const isAllowed = headers.get('authorization') === 'Bearer ya29.of-the-host';
      if (!isAllowed || path.includes('denied'))
        return Response.json(
          { error: { code: 403, status: 'PERMISSION_DENIED', message: 'Permission denied for ya29.of-the-host' } },
          { status: 403 },
        );
      return Response.json({ name: path, payload: { data: Buffer.from('sk-1\n').toString('base64') } });
    });
    const path = join(directory, 'host.json');
    writeFileSync(path, KEY);
    using _ = setVariables({ GOOGLE_APPLICATION_CREDENTIALS: path });
    const more = { fetch: redirectTo(google.url) };
    const secret = 'projects/my-project/secrets/vendor';
    expect(await makeLoad({ type: 'google_secret', secret }, {}, more)()).toMatchObject({
      text: 'sk-1',
      rereadMs: 300_000,
    });
    await makeLoad({ type: 'google_secret', secret: `${secret}/versions/3` }, {}, more)();
    const read = google.asked.map((one) => one.path).filter((one) => one.includes('secretmanager'));
    expect(read).toEqual(
      ['latest', '3'].map((version) => `/secretmanager.googleapis.com/v1/${secret}/versions/${version}:access`),
    );
    const denied = makeLoad({ type: 'google_secret', secret: 'projects/my-project/secrets/denied' }, {}, more);
    await expect(denied()).rejects.toThrow(
      'Google Secret Manager answered 403: PERMISSION_DENIED: Permission denied for [redacted]',
    );
  });
});
