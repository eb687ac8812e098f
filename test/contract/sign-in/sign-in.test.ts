// Signing in with a password: who is accepted, which cookies are set, and what ends the session.

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS } from '../../../src/base/clock.ts';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { acceptLink, Browser, PASSWORD, signUp } from './browser.ts';
import { testOnSqlite } from './test-on-sqlite.ts';

let turnpike: Turnpike;
let addresses = 0;

beforeAll(async () => {
  turnpike = await startOwnTurnpike('it signs in as the first operator');
});
afterAll(() => turnpike.stop());

/** Each browser has its own address. */
function newBrowser(headers: Record<string, string> = {}): Browser {
  return new Browser(turnpike.url, { 'x-forwarded-for': `10.0.0.${++addresses}`, ...headers });
}

describe('a person with access', () => {
  test('signs in with the password set through a one-time link, whatever the case of the email', async () => {
    const { id } = await signUp(turnpike, 'ann@example.com', 'viewer');
    const browser = newBrowser();
    expect(await browser.me()).toBeNull();
    expect(await browser.signIn('Ann@EXAMPLE.com')).toMatchObject({ status: 200 });
    expect(await browser.me()).toMatchObject({ id, kind: 'person', role: 'viewer', email: 'ann@example.com' });
  });

  test('is refused with a wrong password, with the same error as an unknown person', async () => {
    await signUp(turnpike, 'wrong@example.com');
    const browser = newBrowser();
    const wrong = await browser.signIn('wrong@example.com', 'wrong password 123');
    const unknown = await browser.signIn('nobody@example.com', 'wrong password 123');
    expect(wrong).toMatchObject({ status: 401, code: 'sign_in_failed' });
    const { request_id: _, ...words } = wrong.body;
    const { request_id: __, ...others } = unknown.body;
    expect(others).toEqual(words);
    expect(browser.cookies.size).toBe(0);
  });

  test('may enter an accented character of the password in composed or decomposed form', async () => {
    const { secret } = await inviteOnly('accent@example.com');
    await acceptLink(turnpike, secret, 'caf\u00e9 caf\u00e9 caf\u00e9');
    expect(await newBrowser().signIn('accent@example.com', 'cafe\u0301 cafe\u0301 cafe\u0301')).toMatchObject({
      status: 200,
    });
  });

  test('loses all sessions at once when they are disabled', async () => {
    const { id, email } = await signUp(turnpike, 'disabled@example.com', 'viewer');
    const [one, other] = [newBrowser(), newBrowser()];
    await one.signIn(email);
    await other.signIn(email);
    expect(await other.me()).not.toBeNull();
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    expect(await one.get('/api/v1/me')).toMatchObject({ status: 401, code: 'token_invalid' });
    expect(await other.me()).toBeNull();
    expect((await one.get('/console/auth/list-sessions')).status).toBe(401);
    expect(await newBrowser().signIn(email)).toMatchObject({ status: 401, code: 'sign_in_failed' });
    await turnpike.admin('PATCH', `/people/${id}`, { status: 'enabled' });
    expect(await one.me()).toBeNull(); // the former session is invalid
    expect(await one.signIn(email)).toMatchObject({ status: 200 });
  });

  test('loses password and sessions when another one-time link is accepted', async () => {
    const { id, email } = await signUp(turnpike, 'recovered@example.com');
    const browser = newBrowser();
    await browser.signIn(email);
    const { link_secret: secret } = await turnpike.admin('POST', `/people/${id}/link`, {});
    expect(await browser.me()).not.toBeNull(); // nothing changes before it is accepted
    await acceptLink(turnpike, secret as string, 'another password 42');
    expect(await browser.me()).toBeNull();
    expect((await newBrowser().signIn(email, PASSWORD)).status).toBe(401);
    expect((await newBrowser().signIn(email, 'another password 42')).status).toBe(200);
  });

  test('cannot sign in with the former password at any moment during the change', async () => {
    const { id, email } = await signUp(turnpike, 'raced@example.com');
    for (let round = 0; round < 8; round++) {
      const former = round === 0 ? PASSWORD : `password number ${round - 1}`;
      const { link_secret: secret } = await turnpike.admin('POST', `/people/${id}/link`, {});
      const browsers = Array.from({ length: 4 }, () => newBrowser());
      const accepting = acceptLink(turnpike, secret as string, `password number ${round}`);
      await Promise.all([accepting, ...browsers.map((browser) => browser.signIn(email, former))]);
      for (const browser of browsers) expect(await browser.me()).toBeNull();
    }
  }, 60_000);

  test('can change the password by entering the old one, which ends every other session and replaces this one', async () => {
    const { email } = await signUp(turnpike, 'changing@example.com');
    const [browser, other] = [newBrowser(), newBrowser()];
    await browser.signIn(email);
    await other.signIn(email);
    const before = browser.session;
    const wrong = { currentPassword: 'not the password', newPassword: 'a new password 1' };
    expect(await browser.auth('/change-password', wrong)).toMatchObject({ status: 400, code: 'invalid_request' });
    const short = { currentPassword: PASSWORD, newPassword: 'short' };
    expect(await browser.auth('/change-password', short)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await other.me()).not.toBeNull();
    const right = { currentPassword: PASSWORD, newPassword: 'a new password 1' };
    expect((await browser.auth('/change-password', right)).status).toBe(200);
    expect(browser.session).not.toBe(before);
    expect(await browser.me()).not.toBeNull();
    expect(await other.me()).toBeNull();
    expect((await newBrowser().signIn(email, 'a new password 1')).status).toBe(200);
  });
});

describe('a session', () => {
  test('is new at each sign-in: a cookie planted before is not accepted', async () => {
    const { email } = await signUp(turnpike, 'fixed@example.com');
    const attacker = newBrowser();
    await attacker.signIn(email);
    const victim = newBrowser();
    for (const [name, value] of attacker.cookies) victim.cookies.set(name, value);
    const planted = victim.session;
    await victim.signIn(email);
    expect(victim.session).not.toBe(planted);
    const forger = newBrowser();
    forger.cookies.set('turnpike.session_token', `${'a'.repeat(32)}.${'b'.repeat(43)}%3D`);
    expect(await forger.get('/api/v1/me')).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  test('cannot be opened with its token alone, which its owner sees in the list, because the cookie is signed', async () => {
    const { email } = await signUp(turnpike, 'signed@example.com');
    const browser = newBrowser();
    await browser.signIn(email);
    const token = decodeURIComponent(browser.session ?? '').split('.')[0] as string;
    const thief = newBrowser();
    for (const value of [token, `${token}.`, `${token}.${'A'.repeat(43)}=`]) {
      thief.cookies.set('turnpike.session_token', encodeURIComponent(value));
      expect(await thief.me()).toBeNull();
    }
  });

  test('is listed with the others, and each can be ended', async () => {
    const { email } = await signUp(turnpike, 'listing@example.com');
    const browsers = [newBrowser({ 'user-agent': 'one' }), newBrowser({ 'user-agent': 'two' }), newBrowser()];
    for (const browser of browsers) await browser.signIn(email);
    const [one, two, three] = browsers as [Browser, Browser, Browser];
    const listed = (await one.get('/console/auth/list-sessions')).body as unknown as Record<string, string>[];
    expect(listed).toHaveLength(3);
    const second = listed.find(({ userAgent }) => userAgent === 'two');
    expect(second?.['ipAddress']).toStartWith('10.0.0.');
    expect((await one.auth('/revoke-session', { id: second?.['id'] ?? '' })).status).toBe(200);
    expect(await two.me()).toBeNull();
    expect(await three.me()).not.toBeNull();
    expect((await one.auth('/revoke-other-sessions')).status).toBe(200);
    expect(await three.me()).toBeNull();
    expect(await one.me()).not.toBeNull();
    expect((await one.auth('/sign-out')).status).toBe(200);
    expect(await one.me()).toBeNull();
  });

  test('of another person cannot be ended by its id', async () => {
    const mine = await signUp(turnpike, 'mine@example.com');
    const theirs = await signUp(turnpike, 'theirs@example.com');
    const [me, them] = [newBrowser(), newBrowser()];
    await me.signIn(mine.email);
    await them.signIn(theirs.email);
    const [session] = (await them.get('/console/auth/list-sessions')).body as unknown as { id: string }[];
    expect((await me.auth('/revoke-session', { id: session?.id ?? '' })).status).toBe(200);
    expect(await them.me()).not.toBeNull();
  });

  test('is invalid after the sign-out, even if the cookie was kept', async () => {
    const { email } = await signUp(turnpike, 'kept@example.com');
    const browser = newBrowser();
    await browser.signIn(email);
    const kept = new Map(browser.cookies);
    await browser.auth('/sign-out');
    for (const [name, value] of kept) browser.cookies.set(name, value);
    expect(await browser.me()).toBeNull();
  });
});

testOnSqlite('a person whose session cannot be ended at sign-out gets an error, and can try again', async () => {
  const { email } = await signUp(turnpike, 'leaving@example.com');
  const browser = newBrowser();
  await browser.signIn(email);
  {
    using database = new Database(join(turnpike.dataDirectory, 'sign-in.db'));
    database.run("CREATE TRIGGER kept BEFORE DELETE ON session BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    const refused = await browser.auth('/sign-out');
    database.run('DROP TRIGGER kept');
    expect([refused.status, refused.code]).toEqual([503, 'store_unavailable']);
  }
  expect(await browser.me()).not.toBeNull();
  expect((await browser.auth('/sign-out')).status).toBe(200);
  expect(await browser.me()).toBeNull();
});

testOnSqlite(
  'a session in use is extended once a day, also in the browser, and a session that has ended stays invalid',
  async () => {
    const { email } = await signUp(turnpike, 'lasting@example.com');
    const browser = newBrowser({ 'x-forwarded-proto': 'https' });
    await browser.signIn(email);
    const endIn = (days: number) => {
      using database = new Database(join(turnpike.dataDirectory, 'sign-in.db'));
      database.run('PRAGMA busy_timeout = 5000');
      const token = decodeURIComponent(browser.session ?? '').split('.')[0] as string;
      const at = new Date(Date.now() + days * DAY_MS).toISOString();
      expect(database.run('UPDATE session SET expiresAt = ? WHERE token = ?', [at, token]).changes).toBe(1);
    };
    expect((await browser.get('/api/v1/me')).headers.getSetCookie()).toEqual([]);
    for (const path of ['/api/v1/me', '/console/auth/list-sessions']) {
      endIn(5);
      const [cookie = '', ...others] = (await browser.get(path)).headers.getSetCookie();
      expect(cookie).toMatch(/^__Host-turnpike\.session_token=.*Max-Age=604800;.*; Secure$/);
      expect(others).toEqual([]);
    }
    endIn(-1);
    expect(await browser.me()).toBeNull();
  },
);

describe('the cookies', () => {
  const of = (browser: Browser, end: string) => [...browser.setCookies].find(([name]) => name.endsWith(end));

  test('are unavailable to scripts and other sites, for seven days', async () => {
    const { email } = await signUp(turnpike, 'plain@example.com');
    const browser = newBrowser();
    const { headers } = await browser.signIn(email);
    const [name, cookie] = of(browser, 'session_token') ?? [];
    expect(name).toBe('turnpike.session_token');
    expect(cookie?.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=604800', 'Path=/', 'SameSite=Strict']);
    for (const [, one] of browser.setCookies) expect(one).toMatch(/HttpOnly/);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  test('are bound to the host over TLS, and cookies set without TLS are not accepted there', async () => {
    const { email } = await signUp(turnpike, 'tls@example.com');
    const browser = newBrowser({ 'x-forwarded-proto': 'https' });
    const { headers } = await browser.signIn(email);
    const [name, cookie] = of(browser, 'session_token') ?? [];
    expect(name).toBe('__Host-turnpike.session_token');
    expect(cookie).toMatch(/; Path=\/;.*; Secure$/);
    expect(headers.get('strict-transport-security')).toStartWith('max-age=');
    expect(await browser.me()).not.toBeNull();
    const planted = newBrowser({ 'x-forwarded-proto': 'https' });
    planted.cookies.set('turnpike.session_token', browser.session ?? '');
    expect(await planted.me()).toBeNull();
  });
});

testOnSqlite('sign-in data is in a file of its own, readable only by its owner', async () => {
  await signUp(turnpike, 'filed@example.com');
  const path = join(turnpike.dataDirectory, 'sign-in.db');
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('an installation in which no person signed in has neither the thread nor its file', async () => {
  await using fresh = await startOwnTurnpike('it signs in as the first operator');
  const browser = new Browser(fresh.url);
  expect((await browser.get('/api/v1/me')).code).toBe('token_missing');
  expect((await browser.get('/console/auth/get-session')).status).toBe(200);
  expect(existsSync(join(fresh.dataDirectory, 'sign-in.db'))).toBe(false);
});

async function inviteOnly(email: string): Promise<{ secret: string }> {
  const made = await turnpike.admin('POST', '/people', { email, role: 'viewer' });
  return { secret: made['link_secret'] as string };
}
