// Requests that pages of other sites can cause in a browser, and paths that do not exist below /console/auth.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type Answered, Browser, signUp } from './browser.ts';

let turnpike: Turnpike;
let browser: Browser;
const PUBLIC = 'https://turnpike.example.com';

beforeAll(async () => {
  turnpike = await startTurnpike(undefined, { TURNPIKE_PUBLIC_URL: PUBLIC });
  const { email } = await signUp(turnpike, 'ann@example.com');
  browser = new Browser(turnpike.url, { 'x-forwarded-for': '10.1.0.1' });
  await browser.signIn(email);
});
afterAll(() => turnpike.stop());

const withoutSite = { 'sec-fetch-site': '' };

/** A change through the admin API, and one of the session. */
const changes: Record<string, (headers: Record<string, string>) => Promise<Answered>> = {
  'the admin API': (headers) => browser.post('/api/v1/accounts', { name: 'made' }, headers),
  'the session': (headers) => browser.auth('/revoke-other-sessions', {}, headers),
};

describe.each(Object.keys(changes))('a change of %s with a cookie', (name) => {
  const change = changes[name] as NonNullable<(typeof changes)[string]>;
  test.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a page of a sibling host', { 'sec-fetch-site': 'same-site' }],
    ['an unknown initiator', { 'sec-fetch-site': 'none' }],
    [
      'a page of another origin, in a browser that sends only the origin',
      { ...withoutSite, origin: 'https://evil.example' },
    ],
    ['a page without an origin', { ...withoutSite, origin: 'null' }],
    ['a client that sends neither header', withoutSite],
    ['a page of another site whose origin contains ours', { ...withoutSite, origin: `${PUBLIC}.evil.example` }],
    ['a page of another site that sends our origin', { 'sec-fetch-site': 'cross-site', origin: PUBLIC }],
  ])('is refused if it comes from %s', async (_, headers) => {
    expect(await change(headers)).toMatchObject({ status: 403, code: 'cross_site_refused' });
  });

  test.each([
    ['a page of the service', { 'sec-fetch-site': 'same-origin' }],
    ['a page of its own host, in a browser that sends only the origin', { ...withoutSite, origin: 'own' }],
    ['a page of the public address', { ...withoutSite, origin: PUBLIC }],
  ])('is made if it comes from %s', async (_, headers) => {
    const own = 'origin' in headers && headers.origin === 'own' ? { ...headers, origin: turnpike.url } : headers;
    expect((await change(own)).status).toBeLessThan(300);
  });
});

test('a signed-in person sees the public address of the service', async () => {
  expect(await browser.me()).toMatchObject({ base_url: PUBLIC });
});

describe('a read with a cookie', () => {
  test.each(['cross-site', 'same-site'])('is refused if sec-fetch-site is %s', async (site) => {
    expect(await browser.get('/api/v1/accounts', { 'sec-fetch-site': site })).toMatchObject({
      status: 403,
      code: 'cross_site_refused',
    });
    expect((await browser.get('/console/auth/get-session', { 'sec-fetch-site': site })).status).toBe(403);
  });

  test.each(['none', 'same-origin', ''])('is answered if sec-fetch-site is "%s"', async (site) => {
    expect((await browser.get('/api/v1/accounts', { 'sec-fetch-site': site })).status).toBe(200);
  });
});

test('a program with a token may send any origin, even together with a cookie', async () => {
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'viewer', name: 'program' });
  const authorization = `Bearer ${token}`;
  const answer = await browser.get('/api/v1/me', { authorization, 'sec-fetch-site': 'cross-site' });
  expect(answer.body).toMatchObject({ kind: 'token', role: 'viewer' });
  const wrong = await browser.get('/api/v1/me', { authorization: 'Bearer tk-tp-wrong' });
  expect(wrong).toMatchObject({ status: 401, code: 'token_invalid' }); // the cookie does not replace the invalid token
});

test('a page of another site cannot sign in', async () => {
  const forged = new Browser(turnpike.url, { 'x-forwarded-for': '10.1.0.2' });
  const answer = await forged.signIn('ann@example.com', undefined, { 'sec-fetch-site': 'cross-site' });
  expect(answer).toMatchObject({ status: 403, code: 'cross_site_refused' });
  expect(forged.cookies.size).toBe(0);
});

test('a form cannot sign in: only JSON is accepted', async () => {
  const answer = await fetch(`${turnpike.url}/console/auth/sign-in/email`, {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: 'email=ann%40example.com&password=correct+horse+battery+staple',
  });
  expect(answer.status).toBe(415);
  expect(answer.headers.getSetCookie()).toEqual([]);
});

describe('below /console/auth', () => {
  test.each([
    'sign-up/email',
    'error',
    'ok',
    'update-user',
    'delete-user',
    'change-email',
    'set-password',
    'request-password-reset',
    'reset-password',
    'verify-password',
    'list-accounts',
    'link-social',
    'unlink-account',
    'get-access-token',
    'refresh-token',
    'account-info',
    'revoke-sessions',
    'update-session',
    'sign-in/social',
    'callback/oidc',
    'callback/google',
    'two-factor/get-totp-uri',
    'two-factor/send-otp',
    'two-factor/verify-otp',
    'two-factor/view-backup-codes',
    '',
    'sign-in/email/',
    'SIGN-IN/EMAIL',
    'toString',
    '__proto__',
    '%73ign-up/email',
    'sign-out/../sign-up/email',
  ])('%s is not found', async (path) => {
    for (const answer of [
      await browser.auth(`/${path}`, { email: 'x@example.com', password: 'long enough 1', name: 'x' }),
      await browser.get(`/console/auth/${path}`),
    ])
      expect(answer).toMatchObject({ status: 404, code: 'route_not_found' });
  });

  test('a path refuses every method except its own', async () => {
    expect(await browser.get('/console/auth/sign-out')).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(await browser.ask('PUT', '/console/auth/sign-in/email', {})).toMatchObject({ status: 405 });
    expect(await browser.ask('OPTIONS', '/console/auth/sign-in/email')).toMatchObject({ status: 405 });
  });
});

describe('an invalid request', () => {
  test.each([
    ['without fields', {}, 400, 'invalid_request'],
    ['with fields that are not strings', { email: { $ne: '' }, password: ['x'] }, 400, 'invalid_request'],
    ['with an invalid email', { email: "' OR 1=1 --", password: 'long enough 1' }, 401, 'sign_in_failed'],
    [
      'with a password that is too long',
      { email: 'ann@example.com', password: 'x'.repeat(300) },
      401,
      'sign_in_failed',
    ],
    [
      'with a body that is too large',
      { email: 'ann@example.com', password: 'x'.repeat(20_000) },
      413,
      'body_too_large',
    ],
  ])('%s gets the matching error', async (_, body, status, code) => {
    expect(
      await new Browser(turnpike.url, { 'x-forwarded-for': '10.1.0.3' }).auth('/sign-in/email', body),
    ).toMatchObject({ status, code });
  });

  test('that names another host in its host header gets nothing of that host', async () => {
    const answer = await fetch(`${turnpike.url}/console/auth/sign-in/email`, {
      method: 'POST',
      headers: {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'sec-fetch-site': 'same-origin',
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        email: 'ann@example.com',
        password: 'correct horse battery staple',
        callbackURL: 'https://evil.example',
      }),
    });
    expect(answer.status).toBe(200);
    expect(JSON.stringify([...answer.headers]) + (await answer.text())).not.toContain('evil');
  });
});
