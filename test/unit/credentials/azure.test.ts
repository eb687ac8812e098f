// Identities at Azure and secrets of Key Vault, over servers on loopback. The library insists on https: the servers have a
// certificate that the process of each reading trusts.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { scopeOf } from '../../../src/credentials/azure-identity.ts';
import { makeCertificate } from '../../support/make-certificate.ts';
import type { AzureCase } from './azure-worker.ts';
import { type Asked, serve } from './load.ts';

const TENANT = '00000000-0000-4000-8000-000000000001';
const CLIENT = '00000000-0000-4000-8000-000000000002';
const SECRET = 'client-secret-of-the-test';
const BASE_URL = 'https://mine.services.ai.azure.com';

const directory = mkdtempSync(join(tmpdir(), 'turnpike-azure-'));
const authority = join(directory, 'authority.pem');
const federated = join(directory, 'federated');
let azure: ReturnType<typeof serve>;
let metadata: ReturnType<typeof serve>;

/** Entra: OpenID Connect discovery, and tokens for the client's secret or its platform's assertion. */
function answerAsEntra({ path, body, headers, query }: Asked): Response {
  if (path.endsWith('/.well-known/openid-configuration'))
    return Response.json({
      token_endpoint: `${azure.url.replace('127.0.0.1', 'localhost')}/${TENANT}/oauth2/v2.0/token`,
      authorization_endpoint: `${azure.url.replace('127.0.0.1', 'localhost')}/${TENANT}/oauth2/v2.0/authorize`,
      issuer: `${azure.url.replace('127.0.0.1', 'localhost')}/${TENANT}/v2.0`,
      jwks_uri: `${azure.url}/keys`,
    });
  if (path.endsWith('/oauth2/v2.0/token')) {
    const form = new URLSearchParams(body);
    const isKnown = form.get('client_secret') === SECRET || form.get('client_assertion') === 'federated-token';
    if (form.get('client_id') !== CLIENT || !isKnown)
      return Response.json(
        {
          error: 'invalid_client',
          error_description: `AADSTS7000215: Invalid client secret ${form.get('client_secret')}.`,
        },
        { status: 401 },
      );
    return Response.json({ token_type: 'Bearer', expires_in: 3_600, access_token: `token for ${form.get('scope')}` });
  }
  if (path.startsWith('/secrets/')) {
    const isAllowed = headers.get('authorization')?.startsWith('Bearer token for https://vault.azure.net/.default');
    if (query.get('api-version') !== '7.4' || !isAllowed || path.includes('denied'))
      return Response.json({ error: { code: 'Forbidden', message: 'no permission' } }, { status: 403 });
    return Response.json({ value: 'sk-1', id: path });
  }
  return new Response('', { status: 404 });
}

beforeAll(() => {
  const { certificate: cert, key } = makeCertificate('localhost');
  writeFileSync(authority, cert);
  writeFileSync(federated, 'federated-token');
  azure = serve(answerAsEntra, { cert, key });
  metadata = serve(({ headers, query }) =>
    headers.get('x-identity-header') === 'header-of-the-host' && query.get('client_id') === CLIENT
      ? Response.json({
          access_token: `managed for ${query.get('resource')}`,
          expires_on: String(Math.floor(Date.now() / 1000) + 3_600),
          resource: query.get('resource'),
          token_type: 'Bearer',
        })
      : Response.json({ statusCode: 400, message: 'No User Assigned identity found' }, { status: 400 }),
  );
});
afterAll(() => {
  azure[Symbol.dispose]();
  metadata[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

const principal = { AZURE_TENANT_ID: TENANT, AZURE_CLIENT_ID: CLIENT, AZURE_CLIENT_SECRET: SECRET };
const client = { type: 'azure_client', tenant_id: TENANT, client_id: CLIENT } as const;
const secret = 'https://mine.vault.azure.net/secrets/vendor';
const ofHost = { type: 'azure' } as const;

/** The results of all cases, in one process. */
async function loadAll(cases: Record<string, AzureCase>): Promise<Record<string, Record<string, unknown>>> {
  const local = azure.url.replace('127.0.0.1', 'localhost');
  const given = JSON.stringify({ baseUrl: BASE_URL, keyVault: local, cases });
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'azure-worker.ts'), given], {
    env: { PATH: '/usr/bin:/bin', NODE_EXTRA_CA_CERTS: authority, AZURE_AUTHORITY_HOST: local },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect(error).toBe(''); // the libraries write nothing into the log
  return JSON.parse(out);
}

test('credentials of Azure are loaded, and faults say what is wrong', async () => {
  const managed = { IDENTITY_ENDPOINT: `${metadata.url}/token`, IDENTITY_HEADER: 'header-of-the-host' };
  const workload = { AZURE_TENANT_ID: TENANT, AZURE_CLIENT_ID: CLIENT, AZURE_FEDERATED_TOKEN_FILE: federated };
  const loaded = await loadAll({
    client: { auth: client, apiKey: SECRET },
    refused: { auth: client, apiKey: 'a-wrong-secret' },
    principal: { auth: ofHost, environment: principal },
    workload: { auth: ofHost, environment: workload },
    managed: { auth: { ...ofHost, client_id: CLIENT }, environment: managed },
    unknown: { auth: { ...ofHost, client_id: TENANT }, environment: managed },
    vault: { auth: { type: 'azure_secret', secret }, environment: principal },
    denied: { auth: { type: 'azure_secret', secret: `${secret}-denied` }, environment: principal },
  });
  const token = { text: 'token for https://ai.azure.com/.default', use: 'bearer', rereadMs: null };
  expect(loaded).toMatchObject({
    client: { ...token, parts: [token.text, SECRET] },
    principal: token,
    workload: token,
    managed: { text: 'managed for https://ai.azure.com', use: 'bearer' },
    vault: { text: 'sk-1', use: 'key', rereadMs: 300_000 },
  });
  expect(loaded['client']?.['expiresAtMs']).toBeGreaterThan(Date.now() + 3_000_000);
  expect(loaded['refused']?.['fault']).toMatch(
    new RegExp(`^Azure gave no token for the client ${CLIENT}: .*AADSTS7000215`),
  );
  expect(loaded['refused']?.['fault']).not.toContain('a-wrong-secret');
  expect(loaded['unknown']?.['fault']).toStartWith('Azure gave no token for the managed identity');
  expect(loaded['denied']?.['fault']).toBe('Azure Key Vault answered 403: Forbidden: no permission');
});

test('tokens are for the audience of the address', () => {
  expect(scopeOf('https://mine.services.ai.azure.com')).toBe('https://ai.azure.com/.default');
  expect(scopeOf('https://mine.openai.azure.com')).toBe('https://cognitiveservices.azure.com/.default');
  expect(scopeOf('https://mine.cognitiveservices.azure.us')).toBe('https://cognitiveservices.azure.us/.default');
  expect(scopeOf('http://10.0.0.8:8080')).toBe('https://ai.azure.com/.default');
});
