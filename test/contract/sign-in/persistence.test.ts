// Sessions, passwords and second factors after a restart, a change of the installation secret, and a restored backup.

import { afterEach, beforeEach, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { CHEAP_PASSWORDS, spawnTurnpike, startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { ownerUrl } from '../../support/test-store.ts';
import { Browser, PASSWORD, signUp, timeCode } from './browser.ts';
import { changeSignIn } from './sign-in-rows.ts';
import { testOnSqlite } from './test-on-sqlite.ts';

const SECRETS = ['one', 'other'].map((text) => Buffer.alloc(32, text).toString('base64')) as [string, string];

let data: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), 'turnpike-lasting-'));
});
afterEach(() => rmSync(data, { recursive: true, force: true }));

async function withService<Value>(
  environment: Record<string, string>,
  use: (turnpike: Turnpike) => Promise<Value>,
  dataDirectory = data,
): Promise<Value> {
  await using turnpike = await startTurnpike(undefined, environment, { ...CHEAP_PASSWORDS, dataDirectory });
  return await use(turnpike);
}

/** The same browser, at the address of the next service. */
function moveBrowser(browser: Browser, { url }: Turnpike): Browser {
  const carried = new Browser(url);
  for (const [name, value] of browser.cookies) carried.cookies.set(name, value);
  return carried;
}

/** A signed-in person with a second factor. */
async function signUpWithSecondFactor(turnpike: Turnpike): Promise<{ browser: Browser; codes: string[] }> {
  await signUp(turnpike, 'ann@example.com');
  const browser = new Browser(turnpike.url);
  await browser.signIn('ann@example.com');
  const { body } = await browser.auth('/two-factor/enable', { password: PASSWORD });
  const uri = body['totpURI'] as string;
  expect((await browser.auth('/two-factor/verify-totp', { code: timeCode(uri, Date.now()) })).status).toBe(200);
  return { browser, codes: body['backupCodes'] as string[] };
}

async function expectLasting(turnpike: Turnpike, browser: Browser, codes: string[]): Promise<void> {
  expect(await moveBrowser(browser, turnpike).me()).not.toBeNull();
  const fresh = new Browser(turnpike.url);
  expect((await fresh.signIn('ann@example.com')).body).toMatchObject({ twoFactorRedirect: true });
  expect((await fresh.auth('/two-factor/verify-backup-code', { code: codes.shift() ?? '' })).status).toBe(200);
  expect(await fresh.me()).not.toBeNull();
}

testOnSqlite(
  'sessions and second factors survive a change of the installation’s secret',
  async () => {
    const [one, other] = SECRETS;
    const { browser, codes } = await withService({ TURNPIKE_SECRET: one }, signUpWithSecondFactor);
    const both = { TURNPIKE_SECRET: other, TURNPIKE_PREVIOUS_SECRET: one };
    await withService(both, (turnpike) => expectLasting(turnpike, browser, codes));
    await withService({ TURNPIKE_SECRET: other }, (turnpike) => expectLasting(turnpike, browser, codes));
  },
  60_000,
);

test('after a kill the sessions still exist', async () => {
  const environment = { TURNPIKE_SECRET: SECRETS[0] };
  const turnpike = await spawnTurnpike(data, environment);
  const { browser, codes } = await signUpWithSecondFactor(turnpike);
  turnpike.process.kill('SIGKILL');
  await turnpike.process.exited;
  await withService(environment, (next) => expectLasting(next, browser, codes));
}, 60_000);

testOnSqlite(
  'a backup contains the sign-in data beside the ledger, and both are restored',
  async () => {
    const file = join(data, 'backup.db');
    const restored = join(data, 'restored');
    const found = await withService({}, async (turnpike) => {
      const refused = await runTurnpike([
        'backup',
        join(data, 'before.db'),
        '--data',
        turnpike.dataDirectory,
        '--json',
      ]);
      expect(JSON.parse(refused.out)).toMatchObject({ sign_in_file: null });
      expect(existsSync(join(data, 'before.db-sign-in'))).toBe(false);
      const guarded = await signUpWithSecondFactor(turnpike);
      const { out, exitCode } = await runTurnpike(['backup', file, '--data', turnpike.dataDirectory, '--json']);
      expect(exitCode).toBe(0);
      expect(JSON.parse(out)).toMatchObject({ file, sign_in_file: `${file}-sign-in` });
      expect(statSync(`${file}-sign-in`).mode & 0o777).toBe(0o600);
      const again = await runTurnpike(['backup', join(data, 'backup.db'), '--data', turnpike.dataDirectory]);
      expect(again.exitCode).not.toBe(0);
      return guarded;
    });
    const { mkdirSync } = await import('node:fs');
    mkdirSync(restored);
    copyFileSync(file, join(restored, 'turnpike.db'));
    copyFileSync(`${file}-sign-in`, join(restored, 'sign-in.db'));
    copyFileSync(join(data, 'secret'), join(restored, 'secret'));
    await withService({}, (turnpike) => expectLasting(turnpike, found.browser, found.codes), restored);
  },
  60_000,
);

test('the log has sign-ins, and the addresses of failed ones, without any text that was entered', async () => {
  const turnpike = await spawnTurnpike(data, { TURNPIKE_LOG: 'json', TURNPIKE_TRUSTED_PROXIES: '127.0.0.1' });
  const { id } = await signUp(turnpike, 'ann@example.com');
  const browser = new Browser(turnpike.url, { 'x-forwarded-for': '203.0.113.5' });
  await browser.signIn('typed-into-the-wrong-field', 'a secret 1234567');
  await browser.signIn('ann@example.com');
  await browser.me();
  await turnpike.stop();
  const text = await new Response(turnpike.process.stderr).text();
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'signed_in', actor: id, address: '203.0.113.5', by: 'password' }),
  );
  expect(lines).toContainEqual(
    expect.objectContaining({ event: 'sign_in_failed', address: '203.0.113.5', code: 'sign_in_failed' }),
  );
  const secrets = [PASSWORD, 'a secret 1234567', 'typed-into-the-wrong-field', browser.session ?? ''];
  for (const secret of secrets) expect(text).not.toContain(secret);
}, 60_000);

test('sessions of a version that did not store how they began are still valid, and new ones store it', async () => {
  const browser = await withService({}, async (turnpike) => {
    await signUp(turnpike, 'ann@example.com');
    const signedIn = new Browser(turnpike.url);
    await signedIn.signIn('ann@example.com');
    return signedIn;
  });
  await changeSignIn({ dataDirectory: data }, 'ALTER TABLE {session} DROP COLUMN proof');
  const url = await ownerUrl(data);
  if (url !== null) expect((await runTurnpike(['migrate', '--database', url])).exitCode).toBe(0); // nodes may not add the column
  await withService({}, async (turnpike) => {
    expect(await moveBrowser(browser, turnpike).me()).not.toBeNull();
    await new Browser(turnpike.url).signIn('ann@example.com');
    const rows = (await changeSignIn(turnpike, 'SELECT proof FROM {session}')) as { proof: string | null }[];
    expect(rows.map(({ proof }) => proof).sort()).toEqual([null, 'password'].sort());
    await turnpike.admin('POST', '/apply', { document: { settings: { second_factor_required: 'everyone' } } });
    expect((await moveBrowser(browser, turnpike).get('/api/v1/me')).code).toBe('second_factor_required');
  });
}, 60_000);
