// Guessing is slow: limits by address, by email, and for the cost of hashing. Nobody is locked out permanently.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { PasswordHashing } from '../../../src/auth/passwords.ts';
import { bounds } from '../../../src/config/config.ts';
import { startOwnTurnpike, startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { Browser, signUp } from './browser.ts';
import { changeSignIn } from './sign-in-rows.ts';

let turnpike: Turnpike;

beforeAll(async () => {
  turnpike = await startOwnTurnpike('it exhausts what an address may sign in');
});
afterAll(() => turnpike.stop());

const statusesOf = async (count: number, ask: (at: number) => Promise<{ status: number }>) => {
  const statuses: number[] = [];
  for (let at = 0; at < count; at++) statuses.push((await ask(at)).status);
  return statuses;
};

describe('an address', () => {
  test('may make ten sign-in attempts per minute for all emails, and then gets a retry time', async () => {
    const browser = new Browser(turnpike.url, { 'x-forwarded-for': '10.3.0.1' });
    const statuses = await statusesOf(10, (at) => browser.signIn(`nobody-${at}@example.com`));
    expect(statuses).toEqual(Array(10).fill(401));
    const answer = await browser.signIn('nobody@example.com');
    expect(answer).toMatchObject({ status: 429, code: 'too_many_failures' });
    expect(Number(answer.headers.get('retry-after'))).toBeWithin(1, 61);
    const other = new Browser(turnpike.url, { 'x-forwarded-for': '10.3.0.2' });
    expect((await other.signIn('nobody@example.com')).status).toBe(401);
  });

  test('of IPv6 is counted by its network', async () => {
    const from = (at: number) => new Browser(turnpike.url, { 'x-forwarded-for': `2001:db8:0:1::${at + 1}` });
    const statuses = await statusesOf(11, (at) => from(at).signIn(`six-${at}@example.com`));
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  test('cannot be forged with a header', async () => {
    await using open = await startTurnpike(undefined, { TURNPIKE_TRUSTED_PROXIES: '' });
    const statuses = await statusesOf(11, (at) =>
      new Browser(open.url, {
        'x-forwarded-for': `10.3.1.${at}`,
        'x-real-ip': `10.3.1.${at}`,
        'x-turnpike-address': `10.3.1.${at}`,
        forwarded: `for=10.3.1.${at}`,
      }).signIn(`stranger-${at}@example.com`),
    );
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  });

  test('has the same limit for concurrent attempts', async () => {
    const browser = () => new Browser(turnpike.url, { 'x-forwarded-for': '10.3.0.3' });
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, at) => browser().signIn(`at-once-${at}@example.com`)),
    );
    expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });
});

describe('an email', () => {
  test('that is guessed at from many networks is slowed down, but not in a browser in which its owner has signed in', async () => {
    const { email } = await signUp(turnpike, 'ann@example.com');
    const own = new Browser(turnpike.url, { 'x-forwarded-for': '10.4.0.1' });
    await own.signIn(email);
    await own.auth('/sign-out');
    const statuses = await statusesOf(bounds.passwordGuessesMax + 1, (at) =>
      new Browser(turnpike.url, { 'x-forwarded-for': `11.${at}.0.1` }).signIn('ANN@example.com', `guess number ${at}`),
    );
    expect(statuses).toEqual([...Array(bounds.passwordGuessesMax).fill(401), 429]);
    const fresh = new Browser(turnpike.url, { 'x-forwarded-for': '10.4.2.1' });
    expect(await fresh.signIn(email)).toMatchObject({ status: 429, code: 'too_many_failures' });
    expect((await own.signIn(email)).status).toBe(200);
    const other = new Browser(turnpike.url, { 'x-forwarded-for': '10.4.2.2' });
    other.cookies.set('turnpike.known_device', `${'A'.repeat(22)}.${'B'.repeat(43)}`);
    expect((await other.signIn(email)).status).toBe(429);
  });

  test('that is guessed at from one IPv6 /32 can still be signed in with from another network', async () => {
    const { email } = await signUp(turnpike, 'bea@example.com');
    const statuses = await statusesOf(2 * bounds.passwordGuessesMax, (at) =>
      new Browser(turnpike.url, { 'x-forwarded-for': `2001:db8:${at}::1` }).signIn(email, `guess number ${at}`),
    );
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
    const fresh = new Browser(turnpike.url, { 'x-forwarded-for': '10.4.3.1' });
    expect((await fresh.signIn(email)).status).toBe(200);
  });

  test('is no longer slowed down once its owner signs in', async () => {
    const { email } = await signUp(turnpike, 'typist@example.com');
    for (let round = 0; round < 3; round++) {
      const from = (at: number) => new Browser(turnpike.url, { 'x-forwarded-for': `10.5.0.${at}` });
      await statusesOf(bounds.passwordGuessesMax / 2 - 2, (at) => from(at).signIn(email, 'mistyped again'));
      expect((await from(100).signIn(email)).status).toBe(200);
    }
  });
});

test('for which many passwords arrive at once has few hashed at a time, and those beyond a limit are refused', async () => {
  const hashing = new PasswordHashing({ memoryKib: 8, rounds: 1 }, 2, 3);
  const hashes = await Promise.allSettled(Array.from({ length: 2 + 3 + 20 }, () => hashing.hash('flood')));
  expect(hashes.filter(({ status }) => status === 'rejected')).toHaveLength(20);
  expect(await hashing.verify('flood', (await hashing.hash('flood')) as string)).toBe(true);
});

test('a flood of sign-ins does not block the admin API, with hashes of the usual cost', async () => {
  await using usual = await startTurnpike(undefined, {}, {});
  await signUp(usual, 'ann@example.com');
  const rows = await changeSignIn(usual, 'SELECT password FROM {account}');
  expect(rows).toEqual([{ password: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/) }]);
  const flood = Promise.all(
    Array.from({ length: bounds.passwordsHashedAtOnce + bounds.passwordsWaitingMax + 10 }, (_, at) =>
      new Browser(usual.url, { 'x-forwarded-for': `10.6.${at}.1` }).signIn(`flood-${at}@example.com`),
    ),
  );
  expect((await usual.admin('GET', '/me'))['id']).toBe('local');
  // 503 if the machine is so slow that a password is not hashed within the time limit of a sign-in
  for (const { status } of await flood) expect([401, 503, 529]).toContain(status);
  const after = new Browser(usual.url, { 'x-forwarded-for': '10.6.255.1' });
  // Passwords of abandoned requests may still be hashed; until then further ones are refused.
  let { status } = await after.signIn('nobody@example.com');
  for (let tries = 0; status !== 401 && tries < 200; tries++) {
    await Bun.sleep(200);
    ({ status } = await after.signIn('nobody@example.com'));
  }
  expect(status).toBe(401);
}, 60_000);
