// A required second factor: a person without one can only set one up, in every session and on every node, from the
// moment of the setting.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { startOwnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { acceptLink, Browser, PASSWORD, signUp, timeCode } from './browser.ts';
import { changeSignIn } from './sign-in-rows.ts';

let turnpike: Turnpike;
let addresses = 0;

beforeAll(async () => {
  turnpike = await startOwnTurnpike('it requires a second factor of every operator');
});
afterEach(() => require('nobody'));
afterAll(() => turnpike.stop());

const newBrowser = () => new Browser(turnpike.url, { 'x-forwarded-for': `10.20.0.${++addresses}` });

async function require(second_factor_required: string): Promise<void> {
  await turnpike.admin('POST', '/apply', { document: { settings: { second_factor_required } } });
}

async function signedIn(email: string, role = 'operator', account?: string): Promise<Browser> {
  await signUp(turnpike, email, role, account);
  return signIn(email);
}

async function signIn(email: string): Promise<Browser> {
  const browser = newBrowser();
  expect((await browser.signIn(email)).status).toBe(200);
  return browser;
}

async function setUp(browser: Browser): Promise<{ uri: string; backupCodes: string[] }> {
  const { status, body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  expect(status).toBe(200);
  const uri = body['totpURI'] as string;
  expect((await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) })).status).toBe(200);
  return { uri, backupCodes: body['backupCodes'] as string[] };
}

const stateOf = async (browser: Browser) => (await browser.get('/api/v1/me')).code ?? 'open';
const LIMITED = { status: 403, code: 'second_factor_required' };

test('a person without one can do nothing but set it up or sign out, and everything once it is set up', async () => {
  await require('operators');
  const browser = await signedIn('ann@example.com');
  for (const [method, path] of [
    ['GET', '/api/v1/me'],
    ['GET', '/api/v1/accounts'],
    ['POST', '/api/v1/accounts'],
    ['POST', '/api/v1/apply'],
    ['POST', '/api/v1/tokens'],
    ['GET', '/console/auth/list-sessions'],
    ['POST', '/console/auth/revoke-other-sessions'],
  ] as const)
    expect([path, await browser.ask(method, path, method === 'POST' ? {} : undefined)]).toMatchObject([path, LIMITED]);
  const change = { currentPassword: PASSWORD, newPassword: 'another long password' };
  expect(await browser.auth('/change-password', change)).toMatchObject(LIMITED);
  expect(await browser.auth('/two-factor/verify-backup-code', { code: 'none' })).toMatchObject(LIMITED);
  expect((await browser.get('/console/auth/get-session')).body).toMatchObject({ user: { twoFactorEnabled: false } });
  expect(await browser.auth('/two-factor/enable', { password: 'not the password' })).toMatchObject({ status: 400 });
  const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  expect(await stateOf(browser)).toBe('second_factor_required'); // not before a code was right
  const uri = String(body['totpURI']);
  expect((await browser.auth('/two-factor/verify-totp', { code: '000000' })).status).toBe(401);
  expect(await stateOf(browser)).toBe('second_factor_required');
  expect((await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) })).status).toBe(200);
  expect(await stateOf(browser)).toBe('open');
  expect((await browser.get('/api/v1/accounts')).status).toBe(200);

  const other = await signedIn('leaving@example.com');
  expect((await other.auth('/sign-out')).status).toBe(200);
  expect(other.session).toBeUndefined();
});

test('existing sessions obey from the change of the setting on, and are free again after it', async () => {
  const browser = await signedIn('before@example.com', 'viewer');
  expect(await stateOf(browser)).toBe('open');
  await require('operators');
  expect(await stateOf(browser)).toBe('second_factor_required');
  await require('nobody');
  expect(await stateOf(browser)).toBe('open');
});

test('"operators" means people of the installation, "everyone" also those of accounts; tokens are not people', async () => {
  const { id: account } = await turnpike.admin('POST', '/accounts', { name: 'acme' });
  const browsers = {
    viewer: await signedIn('viewer@example.com', 'viewer'),
    owner: await signedIn('owner@example.com', 'owner', account as string),
    member: await signedIn('member@example.com', 'member', account as string),
  };
  const states = async () =>
    Object.fromEntries(
      await Promise.all(Object.entries(browsers).map(async ([role, browser]) => [role, await stateOf(browser)])),
    );
  await require('operators');
  expect(await states()).toEqual({ viewer: 'second_factor_required', owner: 'open', member: 'open' });
  await require('everyone');
  const required = 'second_factor_required';
  expect(await states()).toEqual({ viewer: required, owner: required, member: required });
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'operator', name: 'program' });
  const authorization = `Bearer ${token}`;
  expect((await browsers.owner.get('/api/v1/accounts', { authorization })).status).toBe(200);
  expect((await turnpike.admin('GET', '/me'))['id']).toBe('local'); // the operator of this machine
});

test('it cannot be removed while it is required', async () => {
  const browser = await signedIn('kept@example.com');
  await setUp(browser);
  await require('everyone');
  const refused = await browser.auth('/two-factor/disable', { password: PASSWORD });
  expect(refused).toMatchObject({ status: 409, code: 'conflict' });
  expect((await newBrowser().signIn('kept@example.com')).body).toMatchObject({ twoFactorRedirect: true });
  await require('nobody');
  expect((await browser.auth('/two-factor/disable', { password: PASSWORD })).status).toBe(200);
});

test('a stolen password gains nothing when the owner sets up the factor: the thief’s session ends', async () => {
  await require('everyone');
  const owner = await signedIn('robbed@example.com');
  const thief = await signIn('robbed@example.com');
  await setUp(owner);
  expect(await stateOf(owner)).toBe('open');
  expect(await stateOf(thief)).toBe('token_invalid');
  await require('nobody');
  expect(await thief.me()).toBeNull(); // it was ended, not only refused
});

test('with a backup code the person gets in and replaces the app; a link of an operator removes the lost factor', async () => {
  const { id, email } = await signUp(turnpike, 'lost@example.com');
  const { backupCodes } = await setUp(await signIn(email));
  await require('everyone');
  const browser = newBrowser();
  await browser.signIn(email);
  expect((await browser.auth('/two-factor/verify-backup-code', { code: backupCodes[0] ?? '' })).status).toBe(200);
  expect(await stateOf(browser)).toBe('open');
  const replace = (code: string, password = PASSWORD) => browser.auth('/two-factor/replace', { password, code });
  expect(await replace(backupCodes[1] ?? '', 'not the password')).toMatchObject({ status: 400 });
  expect(await replace('000000')).toMatchObject({ status: 401, code: 'second_factor_failed' });
  expect(await stateOf(browser)).toBe('open');
  const replaced = await replace(backupCodes[1] ?? '');
  expect(replaced.status).toBe(200);
  expect(await stateOf(browser)).toBe('second_factor_required');
  const code = timeCode(replaced.body['totpURI'] as string, Date.now());
  expect((await browser.auth('/two-factor/verify-totp', { code })).status).toBe(200);
  expect(await stateOf(browser)).toBe('open');

  const { link_secret: secret } = await turnpike.admin('POST', `/people/${id}/link`, {});
  await acceptLink(turnpike, secret as string);
  const again = await signIn(email);
  expect(await stateOf(again)).toBe('second_factor_required');
  await setUp(again);
  expect(await stateOf(again)).toBe('open');
});

test('guesses of the code that replaces a factor are limited for each person', async () => {
  const browser = await signedIn('guessed@example.com');
  await setUp(browser);
  const statuses: number[] = [];
  for (let tries = 0; tries < 11; tries++) {
    const elsewhere = { 'x-forwarded-for': `10.21.0.${tries}` };
    statuses.push(
      (await browser.auth('/two-factor/replace', { password: PASSWORD, code: '000000' }, elsewhere)).status,
    );
  }
  expect(statuses).toEqual([...Array(10).fill(401), 429]);
});

describe('a session of an earlier version, which did not store how it began,', () => {
  const forgetProof = (email: string) =>
    changeSignIn(
      turnpike,
      `UPDATE {session} SET proof = NULL WHERE "userId" = (SELECT id FROM {user} WHERE email = '${email}')`,
    );

  test('stays valid, and counts as one with a password where a second factor is required', async () => {
    const browser = await signedIn('earlier@example.com');
    await forgetProof('earlier@example.com');
    expect(await stateOf(browser)).toBe('open');
    await require('everyone');
    expect(await stateOf(browser)).toBe('second_factor_required');
  });

  test('ends if the person has a second factor that it may not have proven', async () => {
    const browser = await signedIn('unproven@example.com');
    await setUp(browser);
    await forgetProof('unproven@example.com');
    expect(await stateOf(browser)).toBe('open');
    await require('everyone');
    expect(await stateOf(browser)).toBe('token_invalid');
  });
});

test('the setting has one of three values', async () => {
  await expect(require('sometimes')).rejects.toThrow(
    'settings.second_factor_required: must be \\"nobody\\", \\"operators\\" or \\"everyone\\"',
  );
});
