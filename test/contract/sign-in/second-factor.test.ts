// The second factor: codes of an authenticator app, and recovery codes for when the app is lost.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { acceptLink, Browser, decodeBase32, PASSWORD, signUp, timeCode } from './browser.ts';
import { testOnSqlite } from './test-on-sqlite.ts';

let turnpike: Turnpike;
let addresses = 0;

beforeAll(async () => {
  turnpike = await startOwnTurnpike('it signs in as the first operator');
});
afterAll(() => turnpike.stop());

function newBrowser(): Browser {
  return new Browser(turnpike.url, { 'x-forwarded-for': `10.2.0.${++addresses}` });
}

interface Guarded {
  id: string;
  email: string;
  browser: Browser;
  uri: string;
  backupCodes: string[];
}

/** A person with a second factor, and a browser in which they are signed in. */
async function signUpWithSecondFactor(email: string): Promise<Guarded> {
  const { id } = await signUp(turnpike, email);
  const browser = newBrowser();
  await browser.signIn(email);
  const { status, body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  expect(status).toBe(200);
  const uri = body['totpURI'] as string;
  const verified = await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) });
  expect(verified.status).toBe(200);
  return { id, email, browser, uri, backupCodes: body['backupCodes'] as string[] };
}

test('every sign-in requires the second factor after the password', async () => {
  const { email, uri, browser: first } = await signUpWithSecondFactor('ann@example.com');
  expect(await first.me()).not.toBeNull(); // the session in which it was set up
  const browser = newBrowser();
  const password = await browser.signIn(email);
  expect(password).toMatchObject({ status: 200, body: { twoFactorRedirect: true } });
  expect(browser.session).toBeUndefined();
  expect(await browser.me()).toBeNull();
  const wrong = await browser.auth('/two-factor/verify-totp', { code: '000000' });
  expect(wrong).toMatchObject({
    status: 401,
    code: 'second_factor_failed',
    body: { error: { reason: 'INVALID_CODE' } },
  });
  expect(await browser.me()).toBeNull();
  expect((await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) })).status).toBe(200);
  expect(await browser.me()).toMatchObject({ email });
});

test('a code without the password is refused', async () => {
  const { uri } = await signUpWithSecondFactor('without@example.com');
  const answer = await newBrowser().auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) });
  expect(answer).toMatchObject({ status: 401, code: 'second_factor_failed' });
});

test('a code of the app opens one session, and cannot be used again', async () => {
  const { email, uri } = await signUpWithSecondFactor('replayed@example.com');
  const [browser, thief] = [newBrowser(), newBrowser()];
  await browser.signIn(email);
  await thief.signIn(email);
  const code = timeCode(uri, Date.now());
  expect((await browser.auth('/two-factor/verify-totp', { code })).status).toBe(200);
  expect(await thief.auth('/two-factor/verify-totp', { code })).toMatchObject({
    status: 401,
    code: 'second_factor_failed',
  });
  expect(await thief.me()).toBeNull();
  expect(await browser.me()).not.toBeNull();
});

test('each recovery code opens one session, once', async () => {
  const { email, backupCodes } = await signUpWithSecondFactor('backup@example.com');
  const [code = ''] = backupCodes;
  const browser = newBrowser();
  await browser.signIn(email);
  expect((await browser.auth('/two-factor/verify-backup-code', { code })).status).toBe(200);
  expect(await browser.me()).not.toBeNull();
  const again = newBrowser();
  await again.signIn(email);
  expect(await again.auth('/two-factor/verify-backup-code', { code })).toMatchObject({ status: 401 });
  expect(await again.me()).toBeNull();
  const made = await browser.auth('/two-factor/generate-backup-codes', { password: PASSWORD });
  expect(made.body['backupCodes']).toHaveLength(10);
  expect(made.body['backupCodes']).not.toContain(backupCodes[1]);
  expect(await again.auth('/two-factor/verify-backup-code', { code: backupCodes[1] ?? '' })).toMatchObject({
    status: 401,
  });
});

test('wrong codes end the sign-in, and many of them block the factor for a while; afterwards a valid code is accepted', async () => {
  const { email, uri } = await signUpWithSecondFactor('guessed@example.com');
  const guess = async () => {
    const browser = newBrowser();
    await browser.signIn(email);
    const answers = [];
    for (let tries = 0; tries < 6; tries++)
      answers.push(await browser.auth('/two-factor/verify-totp', { code: '000000' }));
    return { browser, answers };
  };
  const first = await guess();
  expect(first.answers.slice(0, 5).map(({ code }) => code)).toEqual(Array(5).fill('second_factor_failed'));
  expect(first.answers[5]).toMatchObject({ body: { error: { reason: 'TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE' } } });
  const right = await first.browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) });
  expect(right).toMatchObject({ code: 'second_factor_failed' });
  const second = await guess();
  expect(second.answers.at(-1)).toMatchObject({ status: 429, code: 'too_many_failures' });
  const late = newBrowser();
  await late.signIn(email);
  const resting = await late.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) });
  expect(resting).toMatchObject({ status: 429, code: 'too_many_failures' });
});

test('a second factor is removed with the password, and by a one-time link', async () => {
  const { id, email, browser } = await signUpWithSecondFactor('removed@example.com');
  expect(await browser.auth('/two-factor/disable', { password: 'not the password' })).toMatchObject({ status: 400 });
  const secondBrowser = newBrowser();
  expect((await secondBrowser.signIn(email)).body).toMatchObject({ twoFactorRedirect: true });
  const { link_secret: secret } = await turnpike.admin('POST', `/people/${id}/link`, {});
  await acceptLink(turnpike, secret as string);
  expect(await browser.me()).toBeNull();
  // A sign-in begun with the former password cannot be completed.
  expect(await secondBrowser.auth('/two-factor/verify-totp', { code: '000000' })).toMatchObject({
    body: { error: { reason: 'INVALID_TWO_FACTOR_COOKIE' } },
  });
  const again = newBrowser();
  await again.signIn(email);
  expect(await again.me()).not.toBeNull();
});

testOnSqlite('the database file contains no second-factor secret, code or password in the clear', async () => {
  const { uri, backupCodes } = await signUpWithSecondFactor('sealed@example.com');
  const shown = new URL(uri).searchParams.get('secret') ?? '';
  const files = ['sign-in.db', 'sign-in.db-wal'].map((name) => join(turnpike.dataDirectory, name));
  const text = Buffer.concat(files.filter(existsSync).map((file) => readFileSync(file))).toString('latin1');
  expect(text).toContain('sealed@example.com');
  for (const secret of [shown, decodeBase32(shown).toString('latin1'), PASSWORD, ...backupCodes])
    expect(text).not.toContain(secret);
});

test('a browser cannot skip the second factor as a trusted device', async () => {
  const { email, uri } = await signUpWithSecondFactor('trusting@example.com');
  const browser = newBrowser();
  await browser.signIn(email);
  const trusting = { code: timeCode(uri, Date.now()), trustDevice: true };
  expect((await browser.auth('/two-factor/verify-totp', trusting)).status).toBe(200);
  await browser.auth('/sign-out');
  expect((await browser.signIn(email)).body).toMatchObject({ twoFactorRedirect: true });
});

test('a person who is disabled between password and code gets no session', async () => {
  const { id, email, uri } = await signUpWithSecondFactor('between@example.com');
  const browser = newBrowser();
  await browser.signIn(email);
  await turnpike.admin('PATCH', `/people/${id}`, { status: 'disabled' });
  expect((await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) })).status).toBe(401);
  expect(browser.session).toBeUndefined();
});
