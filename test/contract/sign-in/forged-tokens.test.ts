// A token of an issuer is accepted only if it is signed with the issuer's key, for this service and for this sign-in.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { createHmac, createSign, generateKeyPairSync } from 'node:crypto';
import { ISSUED } from '../../support/start-issuer.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { Browser, signUp } from './browser.ts';

const PUBLIC = 'https://turnpike.example.com';
const EMAIL = 'ann@example.com';
const newKeys = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const own = newKeys();
const strange = newKeys();

let issuer: Bun.Server<undefined>;
let turnpike: Turnpike;
let token: (claims: Record<string, unknown>) => string;
let addresses = 0;

beforeAll(async () => {
  issuer = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: (request) => answer(new URL(request.url).pathname) });
  turnpike = await startTurnpike(undefined, {
    TURNPIKE_PUBLIC_URL: PUBLIC,
    TURNPIKE_OIDC_ISSUER: issuerUrl(),
    TURNPIKE_OIDC_CLIENT_ID: ISSUED.clientId,
    TURNPIKE_OIDC_CLIENT_SECRET: ISSUED.clientSecret,
  });
  await signUp(turnpike, EMAIL);
});
afterAll(async () => {
  await turnpike.stop();
  await issuer.stop(true);
});

const issuerUrl = () => `http://127.0.0.1:${issuer.port}`;
let claims: Record<string, unknown> = {};

function answer(path: string): Response {
  const url = issuerUrl();
  if (path === '/token') return Response.json({ access_token: 'x', token_type: 'Bearer', id_token: token(claims) });
  if (path === '/keys')
    return Response.json({
      keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' }],
    });
  return Response.json({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    id_token_signing_alg_values_supported: ['RS256'],
  });
}

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(body: object, key = own.privateKey): string {
  const text = `${encode({ alg: 'RS256', kid: 'one', typ: 'JWT' })}.${encode(body)}`;
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`;
}

/** Signs in with a token that has these claims, created by `make`. */
async function signIn(
  change: (claims: Record<string, unknown>) => object,
  make: (body: object) => string,
): Promise<boolean> {
  const browser = new Browser(turnpike.url, {
    'x-forwarded-for': `10.8.0.${++addresses}`,
    'x-forwarded-proto': 'https',
  });
  const begun = await browser.auth('/sign-in/social', { callbackURL: '/console/' });
  const parameters = new URL(begun.body['url'] as string).searchParams;
  expect(parameters.get('code_challenge_method')).toBe('S256');
  const nowSeconds = Math.floor(Date.now() / 1000);
  claims = {
    iss: issuerUrl(),
    aud: ISSUED.clientId,
    sub: 'ann',
    email: EMAIL,
    email_verified: true,
    nonce: parameters.get('nonce'),
    iat: nowSeconds,
    exp: nowSeconds + 300,
  };
  token = (plain) => make(change(plain));
  const query = new URLSearchParams({ code: 'any', state: parameters.get('state') ?? '', iss: issuerUrl() });
  await browser.get(`/console/auth/callback/oidc?${query}`, { 'sec-fetch-site': 'cross-site' });
  return (await browser.me()) !== null;
}

const unchanged = (plain: Record<string, unknown>) => plain;
const symmetric = (body: object) => {
  const text = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(body)}`;
  return `${text}.${createHmac('sha256', ISSUED.clientSecret).update(text).digest('base64url')}`;
};

test('a valid token is accepted', async () => {
  expect(await signIn(unchanged, signed)).toBe(true);
});

test.each<[string, Parameters<typeof signIn>[0], (body: object) => string]>([
  ['is signed by another key', unchanged, (body) => signed(body, strange.privateKey)],
  ['is not signed', unchanged, (body) => `${encode({ alg: 'none' })}.${encode(body)}.`],
  ['is signed with the client secret', unchanged, symmetric],
  ['is for another service', (plain) => ({ ...plain, aud: 'another' }), signed],
  ['is from another issuer', (plain) => ({ ...plain, iss: 'https://id.example.com' }), signed],
  ['is for another sign-in', (plain) => ({ ...plain, nonce: 'another' }), signed],
  ['is for no sign-in', ({ nonce: _, ...plain }) => plain, signed],
  ['has expired', (plain) => ({ ...plain, iat: 1_600_000_000, exp: 1_600_000_300 }), signed],
  ['has no subject', ({ sub: _, ...plain }) => plain, signed],
  ['has another form', unchanged, () => 'garbage'],
])('a token that %s is refused', async (_, change, make) => {
  expect(await signIn(change, make)).toBe(false);
});
