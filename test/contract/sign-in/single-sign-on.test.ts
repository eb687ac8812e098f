// Single sign-on: a person confirmed by the issuer gets access if they were invited by that email; others do not.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { ISSUED, type Issuer, startIssuer } from '../../support/start-issuer.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { type Answered, Browser, invite, signUp } from './browser.ts';
import { changeSignIn } from './sign-in-rows.ts';

const PUBLIC = 'https://turnpike.example.com';
const CALLBACK = `${PUBLIC}/console/auth/callback/oidc`;

let issuer: Issuer;
let turnpike: Turnpike;
let people = 0;

beforeAll(async () => {
  issuer = await startIssuer(CALLBACK);
  turnpike = await startTurnpike(undefined, variables(issuer.url));
});
beforeEach(() => {
  issuer.delayMs = 0;
});
afterAll(async () => {
  await turnpike.stop();
  await issuer[Symbol.asyncDispose]();
});

function variables(issuerUrl: string): Record<string, string> {
  return {
    TURNPIKE_PUBLIC_URL: PUBLIC,
    TURNPIKE_OIDC_ISSUER: issuerUrl,
    TURNPIKE_OIDC_CLIENT_ID: ISSUED.clientId,
    TURNPIKE_OIDC_CLIENT_SECRET: ISSUED.clientSecret,
    TURNPIKE_OIDC_NAME: 'Example ID',
  };
}

function newBrowser(at: Turnpike = turnpike): Browser {
  return new Browser(at.url, { 'x-forwarded-for': `10.7.0.${++people}`, 'x-forwarded-proto': 'https' });
}

/** Leads the browser to the issuer; resolves to the address that the issuer redirects to. */
async function askIssuer(browser: Browser, callbackURL = '/console/usage'): Promise<URL> {
  const begun = await browser.auth('/sign-in/social', { callbackURL });
  expect(begun.status).toBe(200);
  const there = new Browser(issuer.url);
  let next = begun.body['url'] as string;
  for (let hops = 0; hops < 5 && !next.startsWith(PUBLIC); hops++) {
    const { headers } = await there.get(next, { 'sec-fetch-site': '' });
    next = new URL(headers.get('location') ?? '', next).href;
  }
  return new URL(next);
}

function finishSignIn(browser: Browser, from: URL): Promise<Answered> {
  return browser.get(from.pathname + from.search, { 'sec-fetch-site': 'cross-site' });
}

/** Signs in a person at the issuer, from the first redirect to the last. */
async function signIn(browser: Browser): Promise<string | null> {
  const { status, headers } = await finishSignIn(browser, await askIssuer(browser));
  expect(status).toBe(302);
  return headers.get('location');
}

test('any client can read the sign-in methods', async () => {
  const answer = await newBrowser().get('/api/v1/sign-in');
  expect(answer.body).toMatchObject({ oidc: { name: 'Example ID' } });
});

test('an invited person is signed in, whatever the case of the email, and returns to the requested page', async () => {
  const { id } = await signUp(turnpike, 'ann@example.com', 'viewer');
  issuer.person = { sub: 'ann', email: 'Ann@Example.com', email_verified: true, name: 'Ann' };
  const browser = newBrowser();
  expect(await signIn(browser)).toBe('/console/usage');
  expect(await browser.me()).toMatchObject({ id, role: 'viewer' });
  const cookie = [...browser.setCookies].find(([name]) => name.endsWith('.state'))?.[1];
  expect(cookie).toMatch(/HttpOnly/);
  const again = newBrowser();
  expect(await signIn(again)).toBe('/console/usage');
  expect(await again.me()).toMatchObject({ id });
});

test('only the state cookie of a sign-in is sent with links from other sites', async () => {
  const browser = newBrowser();
  await browser.auth('/sign-in/social', { callbackURL: '/console/' });
  const [[name, cookie] = []] = [...browser.setCookies];
  expect(name).toBe('__Host-turnpike.state');
  expect(cookie).toMatch(/SameSite=Lax.*; Secure$|Secure.*SameSite=Lax/);
});

test('a sign-in through the issuer accepts the invitation, and the link of the invitation becomes invalid', async () => {
  const { id, secret, email } = await invite(turnpike, 'invited@example.com', 'operator');
  issuer.person = { sub: 'invited', email, email_verified: true };
  const browser = newBrowser();
  expect(await signIn(browser)).toBe('/console/usage');
  expect(await browser.me()).toMatchObject({ id, role: 'operator' });
  expect(await turnpike.admin('GET', `/people/${id}`)).toMatchObject({ status: 'enabled', link_expires_at: null });
  expect((await newBrowser().post('/api/v1/invitations/show', { secret })).status).toBe(404);
  const { data } = (await turnpike.admin('GET', `/audit?object=${id}`)) as { data: Record<string, unknown>[] };
  expect(data[0]).toMatchObject({ action: 'person.accept', actor: id, after: { accepted_by: 'single sign-on' } });
});

test('a new person with the email of a disabled one shares neither password nor session with them', async () => {
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'first' });
  const former = await signUp(turnpike, 'taken@example.com', 'owner', account as string);
  const theirs = newBrowser();
  expect((await theirs.signIn(former.email)).status).toBe(200);
  await turnpike.admin('PATCH', `/people/${former.id}`, { status: 'disabled' });
  const { id, email } = await invite(turnpike, former.email, 'operator');
  issuer.person = { sub: 'taken', email, email_verified: true };
  const browser = newBrowser();
  expect(await signIn(browser)).toBe('/console/usage');
  expect(await browser.me()).toMatchObject({ id, role: 'operator' });
  expect(await theirs.me()).toBeNull();
  expect((await newBrowser().signIn(email)).status).toBe(401);
});

test('a person who comes from the issuer agrees to the terms before their session can do anything else', async () => {
  const set = (settings: object) => turnpike.admin('POST', '/apply', { document: { settings } });
  await set({ terms_version: '1', terms_of_service: 'https://example.com/terms' });
  const { id } = await invite(turnpike, 'tess@example.com', 'viewer');
  issuer.person = { sub: 'tess', email: 'tess@example.com', email_verified: true, name: 'Tess' };
  const browser = newBrowser();
  expect(await signIn(browser)).toBe('/console/usage');
  expect(await browser.get('/api/v1/me')).toMatchObject({ status: 403, code: 'consent_required' });
  expect(await browser.post('/api/v1/me/consent', { version: '0' })).toMatchObject({ status: 409 });
  expect(await browser.post('/api/v1/me/consent', { version: '1' })).toMatchObject({ status: 200 });
  expect(await browser.me()).toMatchObject({ id, email: 'tess@example.com' });
  expect((await turnpike.admin('GET', `/people/${id}`))['consents']).toMatchObject([{ version: '1' }]);
  await set({ terms_version: '2', terms_of_service: 'https://example.com/terms' });
  expect(await browser.get('/api/v1/usage')).toMatchObject({ status: 403, code: 'consent_required' });
  await set({});
});

describe('access is refused to a person', () => {
  const refused = async (code: string) => {
    const browser = newBrowser();
    expect(await signIn(browser)).toBe(`/console/sign-in?error=${code}`);
    expect(browser.session).toBeUndefined();
    expect(await browser.me()).toBeNull();
  };

  test('who was not invited', async () => {
    issuer.person = { sub: 'stranger', email: 'stranger@example.com', email_verified: true };
    await refused('person_unknown');
  });

  test('who is disabled, even if they signed in before', async () => {
    const { id, email } = await signUp(turnpike, 'disabled@example.com', 'viewer');
    issuer.person = { sub: 'disabled', email, email_verified: true };
    const before = newBrowser();
    expect(await signIn(before)).toBe('/console/usage');
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    expect(await before.me()).toBeNull();
    await refused('person_disabled');
  });

  test.each([
    ['is not verified', false],
    ['has no verification claim', undefined],
    ['has a verification claim that is a string', 'no'],
  ])('whose email %s', async (_, verified) => {
    await signUp(turnpike, `unverified-${people}@example.com`);
    const claims = { sub: `unverified-${people}`, email: `unverified-${people}@example.com` };
    issuer.person = verified === undefined ? claims : { ...claims, email_verified: verified };
    await refused('email_not_verified');
    const invited = await invite(turnpike, `unverified-and-invited-${people}@example.com`);
    issuer.person = { ...issuer.person, sub: invited.id, email: invited.email };
    await refused('email_not_verified');
    expect(await turnpike.admin('GET', `/people/${invited.id}`)).toMatchObject({ status: 'invited' });
  });

  test('without an email at the issuer', async () => {
    issuer.person = { sub: 'nameless' };
    const location = await signIn(newBrowser());
    expect(location).toStartWith('/console/sign-in?error=');
  });

  test('with another email at the issuer than before', async () => {
    await signUp(turnpike, 'first@example.com');
    await signUp(turnpike, 'second@example.com');
    issuer.person = { sub: 'renamed', email: 'first@example.com', email_verified: true };
    expect(await signIn(newBrowser())).toBe('/console/usage');
    issuer.person = { sub: 'renamed', email: 'second@example.com', email_verified: true };
    await refused('email_changed');
  });

  test('who cancels at the issuer, and the issuer’s error text is not shown', async () => {
    issuer.person = null;
    await refused('access_denied');
  });
});

describe('a response of the issuer', () => {
  const begin = async (browser: Browser) => {
    const { email } = await signUp(turnpike, `way-${++people}@example.com`);
    issuer.person = { sub: email, email, email_verified: true };
    return askIssuer(browser);
  };
  const leadsBack = async (browser: Browser, from: URL) => {
    const { headers, status } = await finishSignIn(browser, from);
    expect(status).toBe(302);
    expect(headers.get('location')).toStartWith('/console/sign-in?error=');
    expect(browser.session).toBeUndefined();
  };

  test('is accepted only in the browser that started the sign-in', async () => {
    await leadsBack(newBrowser(), await begin(newBrowser()));
  });

  test('is accepted only once', async () => {
    const browser = newBrowser();
    const from = await begin(browser);
    const kept = new Map(browser.cookies);
    expect((await finishSignIn(browser, from)).headers.get('location')).toBe('/console/usage');
    const again = newBrowser();
    for (const [name, value] of kept) again.cookies.set(name, value);
    await leadsBack(again, from);
  });

  test.each(['state', 'code', 'iss'])('is refused with another %s', async (name) => {
    const browser = newBrowser();
    const from = await begin(browser);
    from.searchParams.set(name, 'https://evil.example');
    await leadsBack(browser, from);
  });

  test('never leads to a redirect to another host, whatever the request says', async () => {
    for (const callbackURL of [
      'https://evil.example/',
      '//evil.example/',
      '/\\evil.example/',
      '/console/\\evil.example',
      '/console//evil.example/%0d%0aset-cookie:a=b',
      '/api/v1/me',
      '/console/auth/sign-out',
      '/consoles/',
      'javascript:alert(1)',
      '/console/@evil.example',
    ])
      expect(await newBrowser().auth('/sign-in/social', { callbackURL })).toMatchObject({ status: 400 });
    const { email } = await signUp(turnpike, 'led@example.com');
    for (const callbackURL of [
      '/console/../../evil.example',
      '/console/../console/auth/sign-out',
      '/console/./auth/x',
    ]) {
      issuer.person = { sub: email, email, email_verified: true };
      const browser = newBrowser();
      const { headers } = await finishSignIn(browser, await askIssuer(browser, callbackURL));
      expect(headers.get('location')).toBe('/console/');
    }
    for (const more of [{ errorCallbackURL: 'https://evil.example' }, { newUserCallbackURL: 'https://evil.example' }]) {
      issuer.person = { sub: 'stranger', email: 'stranger@example.com', email_verified: true };
      const browser = newBrowser();
      const begun = await browser.auth('/sign-in/social', { callbackURL: '/console/', ...more });
      expect(decodeURIComponent(JSON.stringify(begun.body))).not.toContain('evil');
    }
    const open = await newBrowser().get('/console/auth/callback/oidc?error=x&error_description=evil&state=none');
    expect(open.headers.get('location')).toStartWith('/console/sign-in?error=');
    expect(open.headers.get('location')).not.toContain('evil');
  });
});

test('a setting allows emails of an issuer without verification claims, except those marked as unverified', async () => {
  await using own = await startTurnpike(undefined, {
    ...variables(issuer.url),
    TURNPIKE_OIDC_EMAIL_VERIFIED: 'assumed',
  });
  const { id, email } = await signUp(own, 'unsaid@example.com');
  const comingBack = async () => {
    const browser = newBrowser(own);
    return { browser, ...(await finishSignIn(browser, await askIssuer(browser))) };
  };
  for (const verified of [false, 'no', 'false', '']) {
    issuer.person = { sub: 'unsaid', email, email_verified: verified };
    expect((await comingBack()).headers.get('location')).toBe('/console/sign-in?error=email_not_verified');
  }
  issuer.person = { sub: 'unsaid', email };
  const { browser, headers } = await comingBack();
  expect(headers.get('location')).toBe('/console/usage');
  expect(await browser.me()).toMatchObject({ id });
  issuer.person = { sub: 'stranger', email: 'nobody-invited@example.com' };
  expect((await comingBack()).headers.get('location')).toBe('/console/sign-in?error=person_unknown');
});

test('an issuer that does not respond is given up, and passwords still work', async () => {
  await using silent = await startIssuer(CALLBACK);
  silent.delayMs = 60_000;
  await using own = await startTurnpike(undefined, variables(silent.url));
  await signUp(own, 'password@example.com');
  const browser = newBrowser(own);
  expect((await browser.signIn('password@example.com')).status).toBe(200);
  expect(silent.asked).toEqual([]);
  const begun = newBrowser(own).auth('/sign-in/social', { callbackURL: '/console/' });
  expect((await newBrowser(own).signIn('password@example.com')).status).toBe(200);
  expect(await begun).toMatchObject({ status: 502, code: 'upstream_failed' });
  silent.delayMs = 0; // once it responds, it is used again
  expect((await newBrowser(own).auth('/sign-in/social', { callbackURL: '/console/' })).status).toBe(200);
}, 60_000);

test('an issuer that stops responding midway leads back to the sign-in page', async () => {
  const { email } = await signUp(turnpike, 'midway@example.com');
  issuer.person = { sub: email, email, email_verified: true };
  const browser = newBrowser();
  const from = await askIssuer(browser);
  issuer.delayMs = 60_000;
  const { status, headers } = await finishSignIn(browser, from);
  expect([status, headers.get('location')]).toEqual([302, '/console/sign-in?error=invalid_code']);
}, 60_000);

test('a required second factor is the issuer’s affair with single sign-on, and required for a password of the same person', async () => {
  const require = (second_factor_required: string) =>
    turnpike.admin('POST', '/apply', { document: { settings: { second_factor_required } } });
  const { id, email } = await signUp(turnpike, 'both@example.com');
  issuer.person = { sub: 'both', email, email_verified: true };
  const [bySingleSignOn, byPassword] = [newBrowser(), newBrowser()];
  await signIn(bySingleSignOn);
  await byPassword.signIn(email);
  await require('everyone');
  try {
    expect(await bySingleSignOn.me()).toMatchObject({ id });
    expect((await byPassword.get('/api/v1/me')).code).toBe('second_factor_required');
    const invited = await invite(turnpike, 'issuer-only@example.com', 'operator');
    issuer.person = { sub: 'issuer-only', email: invited.email, email_verified: true };
    const only = newBrowser();
    await signIn(only);
    expect(await only.me()).toMatchObject({ id: invited.id });
    await forgetProofs();
    expect(await only.me()).toMatchObject({ id: invited.id }); // made by an earlier version, without a password
    expect((await bySingleSignOn.get('/api/v1/me')).code).toBe('second_factor_required'); // it may have been a password
  } finally {
    await require('nobody');
  }
});

/** As sessions of an earlier version are stored. */
const forgetProofs = () => changeSignIn(turnpike, 'UPDATE {session} SET proof = NULL');

test('no tokens of the issuer are stored', async () => {
  await signUp(turnpike, 'tokens@example.com');
  issuer.person = { sub: 'tokens', email: 'tokens@example.com', email_verified: true };
  await signIn(newBrowser());
  const rows = await readAccounts(turnpike);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toEqual({ accessToken: null, refreshToken: null, idToken: null });
});

async function readAccounts({ dataDirectory }: Turnpike): Promise<Record<string, unknown>[]> {
  const text = (table: string) =>
    `SELECT "accessToken", "refreshToken", "idToken" FROM ${table} WHERE "providerId" = 'oidc'`;
  const { isOverPostgres, readRows } = await import('../../support/test-store.ts');
  if (isOverPostgres) return readRows(dataDirectory, text('sign_in.account'));
  const { Database } = await import('bun:sqlite');
  using database = new Database(`${dataDirectory}/sign-in.db`, { readonly: true });
  return database.query(text('account')).all() as Record<string, unknown>[];
}
