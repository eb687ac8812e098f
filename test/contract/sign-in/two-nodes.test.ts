// Sign-in on two nodes with one database: they create its tables together, and share sessions, revocations and
// limits.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cannotStartPostgres, runOn, sharedPostgres, type TestDatabase } from '../../support/start-postgres.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { Browser, invite, signUp } from './browser.ts';

describe.skipIf(cannotStartPostgres)('two nodes', () => {
  let database: TestDatabase;
  let nodes: [Turnpike, Turnpike];

  beforeAll(async () => {
    database = await (await sharedPostgres()).newDatabase();
    const environment = {
      TURNPIKE_DATABASE_URL: database.url,
      TURNPIKE_SECRET: Buffer.alloc(32, 'nodes').toString('base64'),
    };
    nodes = [await startTurnpike(undefined, environment), await startTurnpike(undefined, environment)];
  }, 60_000);
  afterAll(async () => {
    await Promise.all((nodes ?? []).map((node) => node.stop()));
    await database?.[Symbol.asyncDispose]();
  });

  const browserAt = ({ url }: Turnpike, address: string) => new Browser(url, { 'x-forwarded-for': address });

  test('create the tables concurrently, in a schema of their own, beside those of the ledger', async () => {
    const [one, other] = nodes;
    const [first, second] = await Promise.all([invite(one, 'a@example.com'), invite(other, 'b@example.com')]);
    const accepted = await Promise.all(
      [[one, first.secret] as const, [other, second.secret] as const].map(([node, secret]) =>
        browserAt(node, '10.0.0.1').post('/api/v1/invitations/accept', {
          secret,
          name: 'x',
          password: 'long enough 1',
        }),
      ),
    );
    expect(accepted.map(({ status }) => status)).toEqual([200, 200]);
    const rows = (await runOn(
      database.url,
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'sign_in' ORDER BY 1",
    )) as { table_name: string }[];
    const names = rows.map(({ table_name }) => table_name);
    expect(names).toEqual(['account', 'guesses', 'session', 'twoFactor', 'user', 'verification']);
    for (const node of nodes) expect((await node.check()).faults).toEqual([]);
  }, 60_000);

  test('accept each other’s sessions, and can end them', async () => {
    const [one, other] = nodes;
    const { id, email } = await signUp(one, 'ann@example.com', 'viewer');
    const browser = browserAt(one, '10.0.0.2');
    await browser.signIn(email);
    const there = browserAt(other, '10.0.0.2');
    for (const [name, value] of browser.cookies) there.cookies.set(name, value);
    expect(await there.me()).toMatchObject({ email });
    await other.admin('PATCH', `/people/${id}`, { status: 'disabled' });
    expect(await browser.me()).toBeNull();
    await other.admin('PATCH', `/people/${id}`, { status: 'enabled' });
    await browser.signIn(email);
    await there.auth('/sign-out');
    for (const [name, value] of browser.cookies) there.cookies.set(name, value);
    expect(await there.me()).not.toBeNull();
    await there.auth('/sign-out');
    expect(await browser.me()).toBeNull();
  }, 60_000);

  test('obey a required second factor that is set at one of them, without a new sign-in', async () => {
    const [one, other] = nodes;
    const { email } = await signUp(one, 'required@example.com');
    const browser = browserAt(other, '10.0.0.5');
    await browser.signIn(email);
    expect(await browser.me()).toMatchObject({ email });
    const require = (second_factor_required: string) =>
      one.admin('POST', '/apply', { document: { settings: { second_factor_required } } });
    // A node reads the changes of others at an interval.
    const untilCode = async (code: string | null) => {
      for (let tries = 0; (await browser.get('/api/v1/me')).code !== code; tries++) {
        if (tries > 200) throw new Error(`the code is not ${code}`);
        await Bun.sleep(100);
      }
    };
    await require('operators');
    try {
      await untilCode('second_factor_required');
    } finally {
      await require('nobody');
    }
    await untilCode(null);
  }, 60_000);

  test('share the count of wrong guesses', async () => {
    const statuses: number[] = [];
    for (let at = 0; at < 11; at++) {
      const node = nodes[at % 2] as Turnpike;
      statuses.push((await browserAt(node, '10.0.0.3').signIn(`nobody-${at}@example.com`)).status);
    }
    expect(statuses).toEqual([...Array(10).fill(401), 429]);
  }, 60_000);

  test('recover after an outage of the database', async () => {
    const [one] = nodes;
    const { email } = await signUp(one, 'back@example.com');
    const browser = browserAt(one, '10.0.0.4');
    await browser.signIn(email);
    await runOn(
      database.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'turnpike sign-in' AND datname = current_database()",
    );
    const seen: boolean[] = [];
    for (let tries = 0; tries < 5; tries++) seen.push((await browser.me()) !== null);
    expect(seen.at(-1)).toBe(true);
  }, 60_000);
});
