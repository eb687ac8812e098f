// Sessions end a fixed time after the sign-in, however much they are used; and no JSON has their tokens.

import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { Browser, PASSWORD, signUp, timeCode } from './browser.ts';
import { changeSignIn, timeAt } from './sign-in-rows.ts';

const HOUR_MS = 60 * 60 * 1000;

let turnpike: Turnpike;
let addresses = 0;

beforeAll(async () => {
  turnpike = await startOwnTurnpike('it signs in as the first operator');
});
afterEach(() => set({ session_lifetime_hours: 720, operator_session_lifetime_hours: 24 }));
afterAll(() => turnpike.stop());

const newBrowser = () => new Browser(turnpike.url, { 'x-forwarded-for': `10.22.0.${++addresses}` });
const set = (settings: object) => turnpike.admin('POST', '/apply', { document: { settings } });

async function signedIn(email: string, role = 'operator', account?: string): Promise<Browser> {
  await signUp(turnpike, email, role, account);
  return signIn(email);
}

async function signIn(email: string): Promise<Browser> {
  const browser = newBrowser();
  expect((await browser.signIn(email)).status).toBe(200);
  return browser;
}

/** As if all sessions of the person had begun then, and been used a moment ago. */
async function ageSessions(email: string, hours: number): Promise<void> {
  const createdAt = timeAt(Date.now() - hours * HOUR_MS);
  const whose = `"userId" = (SELECT id FROM {user} WHERE email = '${email}')`;
  await changeSignIn(turnpike, `UPDATE {session} SET "createdAt" = ${createdAt} WHERE ${whose}`);
}

test('an operator’s session ends 24 hours after the sign-in, also if it is in use', async () => {
  const browser = await signedIn('ann@example.com');
  await ageSessions('ann@example.com', 23.9);
  expect(await browser.me()).not.toBeNull();
  await ageSessions('ann@example.com', 24);
  expect(await browser.get('/api/v1/me')).toMatchObject({ status: 401, code: 'token_invalid' });
  await set({ operator_session_lifetime_hours: 100 });
  expect(await browser.me()).toBeNull(); // it was ended, not only refused
});

test('an ended session can be used for nothing', async () => {
  const browser = await signedIn('ended@example.com');
  const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  for (const path of ['/two-factor/verify-totp', '/two-factor/enable', '/change-password']) {
    await ageSessions('ended@example.com', 25);
    const code = timeCode(String(body['totpURI']), Date.now());
    const fields = { code, password: PASSWORD, currentPassword: PASSWORD, newPassword: 'another long password' };
    const cookies = new Map(browser.cookies);
    expect(await browser.auth(path, fields)).toMatchObject({ status: 401, code: 'token_missing' });
    expect(browser.cookies).toEqual(cookies); // no new one
  }
  expect((await newBrowser().signIn('ended@example.com')).body).not.toMatchObject({ twoFactorRedirect: true });
});

test('a browser whose session has ended signs in again, also with a second factor', async () => {
  const email = 'again@example.com';
  const browser = await signedIn(email);
  const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  const code = () => timeCode(String(body['totpURI']), Date.now());
  expect((await browser.auth('/two-factor/verify-totp', { code: code() })).status).toBe(200);
  await ageSessions(email, 25);
  expect((await browser.signIn(email)).body).toMatchObject({ twoFactorRedirect: true });
  expect((await browser.auth('/two-factor/verify-totp', { code: code() })).status).toBe(200);
  expect(await browser.me()).not.toBeNull();
});

test('people of accounts have their own lifetime, 30 days by default, and a setting applies to existing sessions', async () => {
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'acme' });
  const browser = await signedIn('owner@example.com', 'owner', account as string);
  await ageSessions('owner@example.com', 719);
  expect(await browser.me()).not.toBeNull();
  await set({ session_lifetime_hours: 719 });
  expect(await browser.me()).toBeNull();
  await expect(set({ session_lifetime_hours: 0 })).rejects.toThrow('settings.session_lifetime_hours');
});

test('changing the password or a second factor makes no session last longer', async () => {
  const email = 'longer@example.com';
  const browser = await signedIn(email);
  await ageSessions(email, 20);
  const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
  expect((await browser.auth('/change-password', change)).status).toBe(200);
  const began = async () => {
    const { body } = await browser.get('/console/auth/get-session');
    return Date.parse((body['session'] as { createdAt: string }).createdAt);
  };
  expect(Date.now() - (await began())).toBeGreaterThan(19 * HOUR_MS);
  const { body } = await browser.auth('/two-factor/enable', { password: change.newPassword });
  await browser.auth('/two-factor/verify-totp', { code: timeCode(String(body['totpURI']), Date.now()) });
  await ageSessions(email, 20);
  expect((await browser.auth('/two-factor/disable', { password: change.newPassword })).status).toBe(200);
  expect(Date.now() - (await began())).toBeGreaterThan(19 * HOUR_MS);
});

test('the list of sessions shows when each ends, without those that have ended', async () => {
  const email = 'listed@example.com';
  await signedIn(email);
  await ageSessions(email, 30);
  const second = await signIn(email);
  await ageSessions(email, 10);
  await changeSignIn(
    turnpike,
    `UPDATE {session} SET "createdAt" = ${timeAt(Date.now() - 30 * HOUR_MS)} WHERE id =
    (SELECT id FROM {session} WHERE "userId" = (SELECT id FROM {user} WHERE email = '${email}') AND token <> '${tokenOf(second)}')`,
  );
  const third = await signIn(email);
  const sessions = await listOf(third);
  expect(sessions.map(({ isCurrent }) => isCurrent).sort()).toEqual([false, true]);
  for (const { createdAt, endsAt } of sessions) expect(Date.parse(endsAt) - Date.parse(createdAt)).toBe(24 * HOUR_MS);
});

interface Listed {
  id: string;
  createdAt: string;
  endsAt: string;
  isCurrent: boolean;
}

async function listOf(browser: Browser): Promise<Listed[]> {
  return (await browser.get('/console/auth/list-sessions')).body as unknown as Listed[];
}

function tokenOf(browser: Browser): string {
  return decodeURIComponent(browser.session ?? '').split('.')[0] ?? '';
}

test('the token of a session is in its cookie only: no answer repeats it', async () => {
  const email = 'secret@example.com';
  await signUp(turnpike, email);
  const browser = newBrowser();
  const answers: string[] = [];
  const tokens: string[] = [];
  const keep = ({ status, body }: { status: number; body: object }) => {
    expect(status).toBe(200);
    answers.push(JSON.stringify(body));
    tokens.push(tokenOf(browser));
  };
  keep(await browser.signIn(email));
  keep(await browser.get('/console/auth/get-session'));
  keep(await browser.get('/console/auth/list-sessions'));
  const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  const code = () => timeCode(String(body['totpURI']), Date.now());
  keep(await browser.auth('/two-factor/verify-totp', { code: code() }));
  keep(await browser.auth('/two-factor/verify-totp', { code: code() })); // again, in the session
  await browser.auth('/sign-out');
  await browser.signIn(email);
  const [backup = ''] = body['backupCodes'] as string[];
  keep(await browser.auth('/two-factor/verify-backup-code', { code: backup }));
  const newPassword = 'another long password';
  keep(await browser.auth('/change-password', { currentPassword: PASSWORD, newPassword }));
  keep(await browser.auth('/two-factor/disable', { password: newPassword }));
  expect(new Set(tokens).size).toBeGreaterThan(3);
  for (const token of tokens) for (const answer of answers) expect(answer).not.toContain(token);
  for (const answer of answers) expect(answer).not.toContain('"token"');
});
