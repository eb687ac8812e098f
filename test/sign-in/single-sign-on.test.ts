// Single sign-on: whom the issuer vouches for is let in where there is a person of that e-mail, and nobody else.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { ISSUED, type Issuer, startIssuer } from '../support/start-issuer.ts';
import { startTurnpike, type Turnpike } from '../support/start-turnpike.ts';
import { type Answered, Browser, invite, letIn } from './browser.ts';

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

/** Leads the browser to the issuer; resolves to where the issuer leads it back to. */
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

function comeBack(browser: Browser, from: URL): Promise<Answered> {
  return browser.get(from.pathname + from.search, { 'sec-fetch-site': 'cross-site' });
}

/** The whole way of somebody at the issuer. */
async function signIn(browser: Browser): Promise<string | null> {
  const { status, headers } = await comeBack(browser, await askIssuer(browser));
  expect(status).toBe(302);
  return headers.get('location');
}

test('anybody is told by whom people sign in', async () => {
  const answer = await newBrowser().get('/api/v1/sign-in');
  expect(answer.body).toMatchObject({ oidc: { name: 'Example ID' } });
});

test('a person of that e-mail is let in, whatever its case, and led to where they wanted', async () => {
  const { id } = await letIn(turnpike, 'ann@example.com', 'viewer');
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

test('the cookie that comes back from the issuer is the only one that others may lead to', async () => {
  const browser = newBrowser();
  await browser.auth('/sign-in/social', { callbackURL: '/console/' });
  const [[name, cookie] = []] = [...browser.setCookies];
  expect(name).toBe('__Host-turnpike.state');
  expect(cookie).toMatch(/SameSite=Lax.*; Secure$|Secure.*SameSite=Lax/);
});

test('an invitation is accepted by it, without its link, which opens nothing any more', async () => {
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

test('whoever is invited by the e-mail of somebody who was disabled shares neither password nor session with them', async () => {
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'first' });
  const former = await letIn(turnpike, 'taken@example.com', 'owner', account as string);
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

describe('nobody is let in', () => {
  const refused = async (code: string) => {
    const browser = newBrowser();
    expect(await signIn(browser)).toBe(`/console/sign-in?error=${code}`);
    expect(browser.session).toBeUndefined();
    expect(await browser.me()).toBeNull();
  };

  test('whom nobody invited', async () => {
    issuer.person = { sub: 'stranger', email: 'stranger@example.com', email_verified: true };
    await refused('person_unknown');
  });

  test('who is disabled, also with a sign-in before', async () => {
    const { id, email } = await letIn(turnpike, 'disabled@example.com', 'viewer');
    issuer.person = { sub: 'disabled', email, email_verified: true };
    const before = newBrowser();
    expect(await signIn(before)).toBe('/console/usage');
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    expect(await before.me()).toBeNull();
    await refused('person_disabled');
  });

  test.each([
    ['is not verified', false],
    ['is not said to be verified', undefined],
    ['is said to be, in a word', 'no'],
  ])('whose e-mail %s', async (_, verified) => {
    await letIn(turnpike, `unverified-${people}@example.com`);
    const said = { sub: `unverified-${people}`, email: `unverified-${people}@example.com` };
    issuer.person = verified === undefined ? said : { ...said, email_verified: verified };
    await refused('email_not_verified');
    const invited = await invite(turnpike, `unverified-and-invited-${people}@example.com`);
    issuer.person = { ...issuer.person, sub: invited.id, email: invited.email };
    await refused('email_not_verified');
    expect(await turnpike.admin('GET', `/people/${invited.id}`)).toMatchObject({ status: 'invited' });
  });

  test('who has no e-mail at the issuer', async () => {
    issuer.person = { sub: 'nameless' };
    const location = await signIn(newBrowser());
    expect(location).toStartWith('/console/sign-in?error=');
  });

  test('who has another e-mail at the issuer than before', async () => {
    await letIn(turnpike, 'first@example.com');
    await letIn(turnpike, 'second@example.com');
    issuer.person = { sub: 'renamed', email: 'first@example.com', email_verified: true };
    expect(await signIn(newBrowser())).toBe('/console/usage');
    issuer.person = { sub: 'renamed', email: 'second@example.com', email_verified: true };
    await refused('email_changed');
  });

  test('who gives up at the issuer, whose words are not shown', async () => {
    issuer.person = null;
    await refused('access_denied');
  });
});

describe('an answer of the issuer', () => {
  const begin = async (browser: Browser) => {
    const { email } = await letIn(turnpike, `way-${++people}@example.com`);
    issuer.person = { sub: email, email, email_verified: true };
    return askIssuer(browser);
  };
  const leadsBack = async (browser: Browser, from: URL) => {
    const { headers, status } = await comeBack(browser, from);
    expect(status).toBe(302);
    expect(headers.get('location')).toStartWith('/console/sign-in?error=');
    expect(browser.session).toBeUndefined();
  };

  test('opens nothing in another browser than the one that asked', async () => {
    await leadsBack(newBrowser(), await begin(newBrowser()));
  });

  test('opens nothing a second time', async () => {
    const browser = newBrowser();
    const from = await begin(browser);
    const kept = new Map(browser.cookies);
    expect((await comeBack(browser, from)).headers.get('location')).toBe('/console/usage');
    const again = newBrowser();
    for (const [name, value] of kept) again.cookies.set(name, value);
    await leadsBack(again, from);
  });

  test.each(['state', 'code', 'iss'])('opens nothing with another %s', async (name) => {
    const browser = newBrowser();
    const from = await begin(browser);
    from.searchParams.set(name, 'https://evil.example');
    await leadsBack(browser, from);
  });

  test('leads to no other host, whatever is asked for', async () => {
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
    const { email } = await letIn(turnpike, 'led@example.com');
    for (const callbackURL of [
      '/console/../../evil.example',
      '/console/../console/auth/sign-out',
      '/console/./auth/x',
    ]) {
      issuer.person = { sub: email, email, email_verified: true };
      const browser = newBrowser();
      const { headers } = await comeBack(browser, await askIssuer(browser, callbackURL));
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

test('an issuer that never says that it verified an e-mail can be believed all the same, but not one that says it did not', async () => {
  await using own = await startTurnpike(undefined, {
    ...variables(issuer.url),
    TURNPIKE_OIDC_EMAIL_VERIFIED: 'assumed',
  });
  const { id, email } = await letIn(own, 'unsaid@example.com');
  const comingBack = async () => {
    const browser = newBrowser(own);
    return { browser, ...(await comeBack(browser, await askIssuer(browser))) };
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

test('an issuer that is silent keeps nobody from a password, and is given up', async () => {
  await using silent = await startIssuer(CALLBACK);
  silent.delayMs = 60_000;
  await using own = await startTurnpike(undefined, variables(silent.url));
  await letIn(own, 'password@example.com');
  const browser = newBrowser(own);
  expect((await browser.signIn('password@example.com')).status).toBe(200);
  expect(silent.asked).toEqual([]);
  const begun = newBrowser(own).auth('/sign-in/social', { callbackURL: '/console/' });
  expect((await newBrowser(own).signIn('password@example.com')).status).toBe(200);
  expect(await begun).toMatchObject({ status: 502, code: 'upstream_failed' });
  silent.delayMs = 0; // as soon as it answers, it is asked again
  expect((await newBrowser(own).auth('/sign-in/social', { callbackURL: '/console/' })).status).toBe(200);
}, 60_000);

test('an issuer that falls silent midway leads back to the sign-in', async () => {
  const { email } = await letIn(turnpike, 'midway@example.com');
  issuer.person = { sub: email, email, email_verified: true };
  const browser = newBrowser();
  const from = await askIssuer(browser);
  issuer.delayMs = 60_000;
  const { status, headers } = await comeBack(browser, from);
  expect([status, headers.get('location')]).toEqual([302, '/console/sign-in?error=invalid_code']);
}, 60_000);

test('nothing that the issuer hands out is kept', async () => {
  await letIn(turnpike, 'tokens@example.com');
  issuer.person = { sub: 'tokens', email: 'tokens@example.com', email_verified: true };
  await signIn(newBrowser());
  const rows = await readAccounts(turnpike);
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toEqual({ accessToken: null, refreshToken: null, idToken: null });
});

async function readAccounts({ dataDirectory }: Turnpike): Promise<Record<string, unknown>[]> {
  const text = (table: string) =>
    `SELECT "accessToken", "refreshToken", "idToken" FROM ${table} WHERE "providerId" = 'oidc'`;
  const { isOverPostgres, readRows } = await import('../support/test-store.ts');
  if (isOverPostgres) return readRows(dataDirectory, text('sign_in.account'));
  const { Database } = await import('bun:sqlite');
  using database = new Database(`${dataDirectory}/sign-in.db`, { readonly: true });
  return database.query(text('account')).all() as Record<string, unknown>[];
}
