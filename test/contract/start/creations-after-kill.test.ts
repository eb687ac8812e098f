// The service is killed while it creates accounts, keys, tokens and credits: every object has its audit record, and a
// retry with the same idempotency key returns the same object and secret.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeRandom } from '../../support/random.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { readRows } from '../../support/test-store.ts';

const KILLS = 8;
const AT_ONCE = 20;
const CREDITS = "entries WHERE kind = 'payment' AND amount = 10000000";

interface Creation {
  path: string;
  body: Record<string, unknown>;
  key: string;
  /** The response before the kill; null if there was none. */
  answer: Record<string, unknown> | null;
}

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'turnpike-test-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function ask({ url }: TurnpikeProcess, { path, body, key }: Creation): Promise<Record<string, unknown>> {
  const { token } = JSON.parse(readFileSync(join(directory, 'operator.json'), 'utf8'));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key };
  const response = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const answer = (await response.json()) as Record<string, unknown>;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

function creationsOf(kill: number, { account, key }: { account: string; key: string }): Creation[] {
  const kinds = [
    { path: '/accounts', body: { name: 'made', credit: '1.00' } },
    { path: '/keys', body: { account } },
    { path: '/tokens', body: { role: 'owner', account } },
    { path: `/keys/${key}/rotate`, body: {} },
    { path: `/accounts/${account}/credits`, body: { amount: '0.01' } },
  ];
  return Array.from({ length: AT_ONCE }, (_, at) => ({
    ...(kinds[at % kinds.length] as (typeof kinds)[0]),
    key: `${kill}-${at}`,
    answer: null,
  }));
}

/** The parts of a response that identify the created object. */
function shownOf({ id, key, token }: Record<string, unknown>): unknown[] {
  return [id, key, token];
}

/** The number of rows that a query counts. */
async function countRows(sql: string): Promise<number> {
  const [row] = await readRows<{ n: number }>(directory, `SELECT CAST(COUNT(*) AS INTEGER) AS n FROM ${sql}`);
  return row?.n ?? 0;
}

/** The created objects and their audit records, which must agree. */
async function expectAudited(): Promise<void> {
  for (const [rows, action] of [
    ['accounts', 'account.create'],
    ['keys', 'key.create'],
    ['tokens', 'token.create'],
    [CREDITS, 'credit.create'],
  ] as const)
    expect([rows, await countRows(rows)]).toEqual([rows, await countRows(`audit_records WHERE action = '${action}'`)]);
  const rotations = (await countRows('key_secrets')) - (await countRows('keys'));
  expect(rotations).toBe(await countRows("audit_records WHERE action = 'key.rotate'"));
}

test(`${KILLS} kills create nothing twice, and nothing without its audit record`, async () => {
  const random = makeRandom(31);
  let turnpike = await spawnTurnpike(directory);
  const made = await turnpike.makeKey({ groups: ['sandbox'] });
  let answered = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const creations = creationsOf(kill, made);
    const pending = creations.map(async (creation) => {
      await Bun.sleep(random() * 15);
      creation.answer = await ask(turnpike, creation).catch(() => null);
    });
    const answersBeforeKill = Math.floor(random() * (AT_ONCE / 2));
    while (creations.filter(({ answer }) => answer !== null).length < answersBeforeKill) await Bun.sleep(1);
    turnpike.process.kill('SIGKILL');
    await Promise.all([turnpike.process.exited, ...pending]);
    turnpike = await spawnTurnpike(directory);
    await expectAudited();
    for (const creation of creations) {
      const again = shownOf(await ask(turnpike, creation));
      expect(shownOf(await ask(turnpike, creation))).toEqual(again);
      if (creation.answer === null) continue;
      expect(again).toEqual(shownOf(creation.answer));
      answered++;
    }
    await expectAudited();
  }
  expect(answered).toBeGreaterThan(0);
  expect(answered).toBeLessThan(KILLS * AT_ONCE);
  expect(await countRows(CREDITS)).toBe((KILLS * AT_ONCE) / 5);
  expect(await turnpike.check()).toMatchObject({ ok: true, faults: [] });
  await turnpike.stop();
});
