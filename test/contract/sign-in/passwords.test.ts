// Easily guessed passwords are refused wherever a password is set, by the same rule; stored ones stay valid.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findPasswordFault } from '../../../src/auth/password-strength.ts';
import { bounds } from '../../../src/config/config.ts';
import { readMail, type ScriptedSmtp, startScriptedSmtp } from '../../support/scripted-smtp.ts';
import { spawnTurnpike, startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { acceptLink, Browser, invite, PASSWORD, signUp } from './browser.ts';
import { changeSignIn } from './sign-in-rows.ts';
import { testOnSqlite } from './test-on-sqlite.ts';

const ada = { email: 'ada.king@example.com', name: 'Ada Lovelace', installation: 'Acme Gateway' };
const faultOf = (password: string) => findPasswordFault({ ...ada, password });

describe('the rule refuses', () => {
  test.each([
    'password12',
    'PASSWORD12',
    'P@ssw0rd12',
    'drowssap12',
    '1234567890',
    'iloveyou12',
    'letmein123',
    'Password123!',
    'qwertyuiop',
    'summer2026!',
  ])('%s as a common password', async (password) => {
    expect(await faultOf(password)).toStartWith('must not be a common password or a variation of one: ');
  });

  test.each(['aaaaaaaaaa', 'abcabcabcabc', 'abcdefghij', '2026-11-28', 'zxcvbnm,./', 'é'.repeat(10)])(
    '%s as a pattern',
    async (password) => {
      expect(await faultOf(password)).toStartWith(
        'must not be a repetition, a sequence, a date or a keyboard pattern: ',
      );
    },
  );

  test.each([
    'ada.king@example.com',
    'ada.king@example.com1',
    'adalovelace1',
    'lovelace1815',
    'LOVELACE-ADA',
    'acmegateway1',
    'Acme Gateway',
    'turnpike2026',
    'g4t3w4y2026',
    'king.ada@acme.gateway',
    'turnpike-lovelace-28',
  ])('%s as derived from words of the person or the installation', async (password) => {
    expect(await faultOf(password)).toStartWith(
      'must not be derived from your name, your email address or the name of this installation: ',
    );
  });
});

test.each([
  PASSWORD,
  'xk4Tq9wPz2',
  'zebra-kite-amber',
  'long enough',
  'ada likes tea at noon on trains', // contains a word of the person, and much else
  'caf\u00e9 caf\u00e9 caf\u00e9 terrasse',
  'Ein Wort, noch eins, genug',
])('%s may be used: there are no rules of composition', async (password) => {
  expect(await faultOf(password)).toBeNull();
});

test('a password counts the same, however its accents were typed', async () => {
  const name = 'Zo\u00eb Br\u00fbl\u00e9e';
  for (const password of [name, name.normalize('NFD')])
    expect(await findPasswordFault({ ...ada, name, password })).toStartWith('must not be derived from your name');
});

test('costly passwords are checked in bounded time, by their beginning', async () => {
  const costly = '4@8({[<369&#!1/|0$5+7%2'.repeat(6).slice(0, bounds.passwordCharactersMax);
  expect(await faultOf(costly)).toBeNull();
  expect(await faultOf(`${'0'.repeat(bounds.passwordCharactersEstimated)}xk4Tq9wPz2`)).not.toBeNull();
});

describe('a refusal names the field and the reason, at', () => {
  let server: ScriptedSmtp;
  let turnpike: Turnpike;
  beforeAll(async () => {
    server = await startScriptedSmtp();
    turnpike = await startTurnpike(
      { settings: { sign_up: 'on', sign_up_group: 'sandbox', installation_name: 'Acme Gateway' } },
      {
        TURNPIKE_SMTP_URL: server.url,
        TURNPIKE_MAIL_FROM: 'turnpike@example.com',
        TURNPIKE_PUBLIC_URL: 'https://console.example.com',
      },
    );
  }, 60_000);
  afterAll(async () => {
    await turnpike?.stop();
    await server?.[Symbol.asyncDispose]();
  });

  let addresses = 0;
  const open = () =>
    new Browser(turnpike.url, { 'x-forwarded-for': `10.12.0.${++addresses}`, origin: 'https://console.example.com' });
  const tokenOf = async (count: number) => {
    const mail = (await server.untilMails(count + 1)).at(-1);
    return /#(tk-[a-z]+-[0-9A-Za-z]+)/.exec(readMail(mail?.raw ?? '').text ?? '')?.[1] ?? '';
  };
  const common = { path: ['password'], message: expect.stringContaining('must not be a common password') };

  test('an invitation, whose link stays valid', async () => {
    const { secret } = await invite(turnpike, 'ann@example.com');
    const accept = (password: string) => open().post('/api/v1/invitations/accept', { secret, name: 'Ann', password });
    const refused = await accept('password12');
    expect(refused).toMatchObject({ status: 400, code: 'invalid_request', body: { error: { faults: [common] } } });
    expect((refused.body['error'] as { message: string }).message).toStartWith('password: must not be a common');
    expect((await accept('ann@example.com-28')).body).toMatchObject({
      error: { faults: [{ message: expect.stringContaining('your email address') }] },
    });
    expect((await accept('acme gateway')).body).toMatchObject({
      error: { faults: [{ message: expect.stringContaining('the name of this installation') }] },
    });
    expect((await accept(PASSWORD)).status).toBe(200);
  });

  test('a sign-up, which creates nothing before', async () => {
    const before = server.mails.length;
    await open().post('/api/v1/sign-ups', { email: 'new@example.com', name: 'New' });
    const token = await tokenOf(before);
    const refused = await open().post('/api/v1/sign-ups/accept', { token, password: 'aaaaaaaaaa' });
    expect(refused).toMatchObject({ status: 400, body: { error: { faults: [{ path: ['password'] }] } } });
    expect((await open().post('/api/v1/sign-ups/accept', { token, password: PASSWORD })).status).toBe(200);
  });

  test('a password reset, which ends nothing before', async () => {
    await signUp(turnpike, 'forgetful@example.com');
    const browser = open();
    await browser.signIn('forgetful@example.com');
    const before = server.mails.length;
    await open().post('/api/v1/password-resets', { email: 'forgetful@example.com' });
    const token = await tokenOf(before);
    const refused = await open().post('/api/v1/password-resets/accept', { token, password: 'password12' });
    expect(refused).toMatchObject({ status: 400, body: { error: { faults: [common] } } });
    expect(await browser.me()).not.toBeNull();
    const changed = { token, password: 'another long password' };
    expect((await open().post('/api/v1/password-resets/accept', changed)).status).toBe(200);
  });

  test('a change of the own password, which keeps the present one', async () => {
    const { email } = await signUp(turnpike, 'changing@example.com');
    const browser = open();
    await browser.signIn(email);
    const refused = await browser.auth('/change-password', { currentPassword: PASSWORD, newPassword: 'changing12' });
    expect(refused).toMatchObject({
      status: 400,
      code: 'invalid_request',
      body: { error: { faults: [{ path: ['newPassword'], message: expect.stringContaining('must not be derived') }] } },
    });
    expect(await browser.me()).not.toBeNull();
    expect((await open().signIn(email)).status).toBe(200);
  });

  test('many tries with one link, at last with a wait', async () => {
    const { secret } = await invite(turnpike, 'trying@example.com');
    const accept = (password: string) =>
      open().post('/api/v1/invitations/accept', { secret, name: 'Trying', password });
    for (let tries = 0; tries < bounds.passwordChecksMax; tries++)
      expect((await accept('password12')).status).toBe(400);
    expect(await accept(PASSWORD)).toMatchObject({ status: 429, code: 'too_many_failures' });
  });

  test('no place for a person with an earlier, weak password: they sign in', async () => {
    const { email } = await signUp(turnpike, 'earlier@example.com');
    const hash = await Bun.password.hash('password12', { algorithm: 'argon2id', memoryCost: 19_456, timeCost: 2 });
    const where = `"accountId" = (SELECT id FROM {user} WHERE email = '${email}')`;
    await changeSignIn(turnpike, `UPDATE {account} SET password = '${hash}' WHERE ${where}`);
    expect((await open().signIn(email, 'password12')).status).toBe(200);
  });
});

testOnSqlite(
  'neither the log nor a file has a refused password',
  async () => {
    const data = mkdtempSync(join(tmpdir(), 'turnpike-passwords-'));
    const turnpike = await spawnTurnpike(data, { TURNPIKE_LOG: 'json' });
    const printed = new Response(turnpike.process.stderr).text();
    const refused = 'trustno1trustno1';
    try {
      const { secret } = await invite(turnpike, 'quiet@example.com');
      const accept = { secret, name: 'Quiet', password: refused };
      expect((await new Browser(turnpike.url).post('/api/v1/invitations/accept', accept)).status).toBe(400);
      await acceptLink(turnpike, secret);
      const browser = new Browser(turnpike.url);
      await browser.signIn('quiet@example.com');
      const change = { currentPassword: PASSWORD, newPassword: refused };
      expect((await browser.auth('/change-password', change)).status).toBe(400);
      await turnpike.stop();
      const written = [await printed, ...readdirSync(data).map((name) => readFileSync(join(data, name), 'latin1'))];
      expect(written.join('')).toContain('/console/auth/change-password');
      expect(written.join('')).not.toContain(refused);
      expect(written.join('')).not.toContain(PASSWORD);
    } finally {
      await turnpike.stop();
      rmSync(data, { recursive: true, force: true });
    }
  },
  60_000,
);
