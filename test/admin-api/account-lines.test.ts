// Lines of the accounts' own requests: a few at a time, in order, and no token in the way of another.

import { beforeEach, expect, test } from 'bun:test';
import { AccountLines } from '../../src/admin-api/account-lines.ts';
import { bounds } from '../../src/config.ts';
import { type Installation, type Json, makeAccount, makeInstallation } from './installation.ts';

const { adminAnswersPerTokenMax, adminAnswersPerAccountMax, adminWaitingPerTokenMax } = bounds;

let lines: AccountLines;
let begun: string[];
let turns: Disposable[];
beforeEach(() => {
  lines = new AccountLines();
  begun = [];
  turns = [];
});

/** So many requests come in one after the other. */
async function come(token: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++)
    void lines.enter(1, token).then((turn) => {
      begun.push(token);
      turns.push(turn);
    });
  await Bun.sleep(0);
}

async function end(at: number): Promise<void> {
  turns.splice(at, 1)[0]?.[Symbol.dispose]();
  await Bun.sleep(0);
}

test('as many as may of one token begin, the others when one of them ends', async () => {
  await come('a', adminAnswersPerTokenMax + 2);
  expect(begun).toHaveLength(adminAnswersPerTokenMax);
  await end(0);
  expect(begun).toHaveLength(adminAnswersPerTokenMax + 1);
  await end(0);
  await end(0);
  expect(begun).toHaveLength(adminAnswersPerTokenMax + 2);
});

test('a token that floods leaves places for the next one', async () => {
  await come('flood', adminWaitingPerTokenMax);
  await come('owner', 1);
  expect(begun.at(-1)).toBe('owner');
});

test('all tokens of an account together have so many places; whoever waits first and may comes next', async () => {
  for (const token of ['a', 'b', 'c']) await come(token, adminAnswersPerTokenMax);
  expect(begun).toHaveLength(adminAnswersPerAccountMax);
  await come('a', 1);
  await come('d', 2);
  await end(adminAnswersPerTokenMax); // one of b: a has as many as it may
  expect(begun.at(-1)).toBe('d');
  await end(0);
  expect(begun.at(-1)).toBe('a');
});

test('beyond those that may wait it is overloaded, and nothing stays of it', async () => {
  await come('a', adminAnswersPerTokenMax + adminWaitingPerTokenMax);
  await expect(lines.enter(1, 'a')).rejects.toMatchObject({ code: 'overloaded' });
  while (turns.length > 0) await end(0);
  expect(begun).toHaveLength(adminAnswersPerTokenMax + adminWaitingPerTokenMax);
  expect(lines.size).toBe(0);
});

/** The statuses of so many requests at once, each with how often it came. */
async function askAtOnce({ ask }: Installation, count: number, headers: Record<string, string> = {}) {
  const answers = await Promise.all(Array.from({ length: count }, () => ask('GET', '/api/v1/me', undefined, headers)));
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

test('a flood with a token of an account is refused above the bound; one of the operator, and of another account, is not', async () => {
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

test('a body above what an account may send is refused, where an operator may send it', async () => {
  const installation = await makeInstallation();
  const account = (await makeAccount(installation))['id'];
  const { body: owner } = await installation.ask('POST', '/api/v1/tokens', { role: 'owner', account });
  const body: Json = { account, name: 'x'.repeat(bounds.accountBodyBytesMax) };
  const headers = { authorization: `Bearer ${owner['token']}` };
  expect((await installation.ask('POST', '/api/v1/keys', body, headers)).status).toBe(413);
  expect((await installation.ask('POST', '/api/v1/keys', body)).status).toBe(400);
});
