// Queues of requests from account tokens: a bounded number runs at a time, in order, and no token blocks another.

import { beforeEach, expect, test } from 'bun:test';
import { AccountConcurrency } from '../../../src/admin-api/admin-app.ts';
import { bounds } from '../../../src/config/config.ts';
import { type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

const { adminAnswersPerTokenMax, adminAnswersPerAccountMax, adminWaitingPerTokenMax } = bounds;

let lines: AccountConcurrency;
let started: string[];
let turns: Disposable[];
beforeEach(() => {
  lines = new AccountConcurrency();
  started = [];
  turns = [];
});

/** Sends the given number of requests one after another. */
async function sendAll(token: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    void lines.enter(1, token).then((turn) => {
      started.push(token);
      turns.push(turn);
    });
  await Bun.sleep(0);
}

async function end(at: number): Promise<void> {
  turns.splice(at, 1)[0]?.[Symbol.dispose]();
  await Bun.sleep(0);
}

test('up to the limit, the requests of one token start at once, and the others start as these end', async () => {
  await sendAll('a', adminAnswersPerTokenMax + 2);
  expect(started).toHaveLength(adminAnswersPerTokenMax);
  await end(0);
  expect(started).toHaveLength(adminAnswersPerTokenMax + 1);
  await end(0);
  await end(0);
  expect(started).toHaveLength(adminAnswersPerTokenMax + 2);
});

test('a token that sends many requests leaves slots for the next token', async () => {
  await sendAll('flood', adminWaitingPerTokenMax);
  await sendAll('owner', 1);
  expect(started.at(-1)).toBe('owner');
});

test('all tokens of an account share a limit, and the first waiting request that is allowed to run starts next', async () => {
  for (const token of ['a', 'b', 'c']) await sendAll(token, adminAnswersPerTokenMax);
  expect(started).toHaveLength(adminAnswersPerAccountMax);
  await sendAll('a', 1);
  await sendAll('d', 2);
  await end(adminAnswersPerTokenMax); // A request of b starts: a is at its limit.
  expect(started.at(-1)).toBe('d');
  await end(0);
  expect(started.at(-1)).toBe('a');
});

test('requests beyond the queue limit get an overloaded error and leave nothing behind', async () => {
  await sendAll('a', adminAnswersPerTokenMax + adminWaitingPerTokenMax);
  await expect(lines.enter(1, 'a')).rejects.toMatchObject({ code: 'overloaded' });
  while (turns.length > 0) await end(0);
  expect(started).toHaveLength(adminAnswersPerTokenMax + adminWaitingPerTokenMax);
  expect(lines.size).toBe(0);
});

/** Sends the given number of requests at once and returns how often each status was returned. */
async function askAtOnce({ ask }: Installation, count: number, headers: Record<string, string> = {}) {
  const answers = await Promise.all(Array.from({ length: count }, () => ask('GET', '/api/v1/me', undefined, headers)));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('a flood with an account token is refused above the limit, but not with an operator token or a token of another account', async () => {
  const installation = await makeInstallation();
  const headersOf = async (name: string) => {
    const account = (await makeAccount(installation, { name }))['id'];
    const { body } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
    return { authorization: `Bearer ${body['token']}` };
  };
  const [flood, other] = [await headersOf('flood'), await headersOf('other')];
  const served = adminAnswersPerTokenMax + adminWaitingPerTokenMax;
  const [flooded, beside, operators] = await Promise.all([
    askAtOnce(installation, served + 20, flood),
    askAtOnce(installation, 20, other),
    askAtOnce(installation, served + 20),
  ]);
  expect(flooded).toEqual({ 200: served, 529: 20 });
  expect([beside, operators]).toEqual([{ 200: 20 }, { 200: served + 20 }]);
  expect(await askAtOnce(installation, served, flood)).toEqual({ 200: served });
});

test('a body above the limit for accounts is refused, and accepted from an operator', async () => {
  const installation = await makeInstallation();
  const account = (await makeAccount(installation))['id'];
  const { body: owner } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
  const body: Json = { account, name: 'x'.repeat(bounds.accountBodyBytesMax) };
  const headers = { authorization: `Bearer ${owner['token']}` };
  expect((await installation.ask('POST', '/api/v1/keys', body, headers)).status).toBe(413);
  expect((await installation.ask('POST', '/api/v1/keys', body)).status).toBe(400);
});
