// The whole service over PostgreSQL: from an empty database, billed exactly, stopped, killed and restarted.
// `TEST_STORE=postgres npm test` runs all other tests over it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPostgres, runOn, sharedPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { untilHoldsEnd } from '../../support/test-store.ts';

const DATABASE = 'test_of_a_newcomer';
const echo = { model: 'sandbox-echo', max_tokens: 16, messages: [{ role: 'user', content: 'Hello there' }] };
const lorem = { ...echo, model: 'sandbox-lorem', max_tokens: 4_000, stream: true };

describe.skipIf(cannotStartPostgres)('over PostgreSQL', () => {
  const data = mkdtempSync(join(tmpdir(), 'turnpike-postgres-'));
  let environment: Record<string, string>;
  let turnpike: TurnpikeProcess;
  let caller: { account: string; key: string; secret: string };
  const start = async () => {
    turnpike = await spawnTurnpike(data, environment);
  };
  beforeAll(async () => {
    const { url } = await sharedPostgres();
    await runOn(url, `CREATE DATABASE ${DATABASE}`);
    const address = new URL(url);
    address.pathname = `/${DATABASE}`;
    environment = { TURNPIKE_DATABASE_URL: address.href, TURNPIKE_SECRET: Buffer.alloc(32, 1).toString('base64') };
    await start();
    caller = await turnpike.makeKey({ groups: ['sandbox'], credit: '10.00' });
  });
  afterAll(async () => {
    await turnpike.stop();
    rmSync(data, { recursive: true, force: true });
    await runOn((await sharedPostgres()).url, `DROP DATABASE ${DATABASE} WITH (FORCE)`);
  });

  /** The caller's balance in nanodollars, once nothing is held. */
  async function balanceOf(): Promise<number> {
    for (let tries = 0; ; tries++) {
      const { balance, held } = await turnpike.admin('GET', `/accounts/${caller.account}`);
      if (held === '0' || tries === 500) return Math.round(Number(balance) * 1e9);
      await Bun.sleep(10);
    }
  }

  /** Posts a message and returns its cost, calculated from the usage in the response. */
  async function costOfEcho(): Promise<number> {
    const answer = await turnpike.post(caller.secret, echo);
    expect(answer.status).toBe(200);
    const { usage } = (await answer.json()) as { usage: { input_tokens: number; output_tokens: number } };
    return usage.input_tokens * 1_000 + usage.output_tokens * 5_000; // 1 and 5 USD per million
  }

  test('a first start on an empty database creates its tables, an account and a working key', async () => {
    expect((await turnpike.post(turnpike.key, echo)).status).toBe(200);
  });

  test('a message is billed once for its usage', async () => {
    const before = await balanceOf();
    const cost = await costOfEcho();
    expect(await balanceOf()).toBe(before - cost);
    const { data: records } = await turnpike.admin('GET', `/usage?account=${caller.account}`);
    expect(records).toHaveLength(1);
    expect(records).toMatchObject([{ outcome: 'completed', usage_source: 'reported' }]);
  });

  test('a message above the balance and one with a disabled key are refused', async () => {
    const poor = await turnpike.makeKey({ groups: ['sandbox'], credit: '0.000001' });
    expect((await turnpike.post(poor.secret, lorem)).status).toBe(400);
    const { key, secret } = await turnpike.makeKey({ groups: ['sandbox'] });
    expect((await turnpike.post(secret, echo)).status).toBe(200);
    await turnpike.admin('PATCH', `/keys/${key}`, { status: 'disabled' });
    expect((await turnpike.post(secret, echo)).status).toBe(401);
  });

  test('a restart keeps all state', async () => {
    const before = await balanceOf();
    const { key } = turnpike;
    await turnpike.stop();
    expect(turnpike.process.exitCode).toBe(0);
    await start();
    expect([turnpike.key, await balanceOf()]).toEqual([key, before]);
    expect((await turnpike.post(key, echo)).status).toBe(200);
  });

  test('after a kill, acknowledged messages are billed and open holds are released', async () => {
    const before = await balanceOf();
    const streams = await Promise.all(Array.from({ length: 5 }, () => turnpike.post(caller.secret, lorem)));
    const cost = await costOfEcho();
    turnpike.process.kill('SIGKILL');
    await turnpike.process.exited;
    await Promise.allSettled(streams.map((stream) => stream.text()));
    await start();
    await untilHoldsEnd(turnpike);
    const { data: records } = await turnpike.admin('GET', `/usage?account=${caller.account}`);
    const cut = (records as { outcome: string; cost: string }[]).filter(({ outcome }) => outcome === 'service_cut');
    expect(cut).toHaveLength(5);
    const lost = cut.reduce((sum, record) => sum + Math.round(Number(record.cost) * 1e9), 0);
    expect(await balanceOf()).toBe(before - cost - lost);
  });

  test('turnpike check finds no fault', async () => {
    const { exitCode, out } = await runTurnpike(['check', '--data', data, '--json'], environment);
    expect([exitCode, JSON.parse(out)]).toEqual([0, expect.objectContaining({ ok: true, open_holds: 0, faults: [] })]);
  });
});
