// The connections that PostgreSQL is read over: bounded, made again when they are lost, and given up when they fall silent.

import { afterAll, describe, expect, test } from 'bun:test';
import { kill } from 'node:process';
import { bounds } from '../../src/config.ts';
import { postgresStores } from '../../src/storage/postgres/postgres.ts';
import { ReadPool } from '../../src/storage/postgres/read-pool.ts';
import { inTurns, type ReportReads } from '../../src/storage/postgres/report-reads.ts';
import { failureOf } from '../ledger/workbench.ts';
import { allUsage } from '../support/everything.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { cannotStartPostgres, runOn, sharedPostgres, startPostgres } from '../support/start-postgres.ts';

const noGate = { submit: () => Promise.reject(new Error('nothing is written here')), batches: () => 0 };
const SLOWLY = 'SELECT pg_sleep($1)::text AS slept, pg_backend_pid() AS pid';
const PID = 'SELECT pg_backend_pid() AS pid WHERE $1 = $1::int';

/** Connections to the shared server. */
async function openPool(connections: number, statementMsMax = 5_000) {
  const { url } = await sharedPostgres();
  const pool = new ReadPool(url, { connections, statementMsMax });
  const pidOf = async () => (await pool.read<{ pid: number }>(PID, 1))[0]?.pid as number;
  return { pool, url, pidOf, [Symbol.asyncDispose]: () => pool.close() };
}

describe.skipIf(cannotStartPostgres)('connections that read', () => {
  test('are as many as they should be, however much is asked at once', async () => {
    await using opened = await openPool(2);
    const asked = await Promise.all(Array.from({ length: 40 }, () => opened.pool.read<{ pid: number }>(SLOWLY, 0.001)));
    expect(new Set(asked.map(([row]) => row?.pid)).size).toBe(2);
  });

  test('are made again when they were ended, and what was asked is answered', async () => {
    await using opened = await openPool(1);
    const before = await opened.pidOf();
    await runOn(opened.url, `SELECT pg_terminate_backend(${before}, 3000)`);
    const after = await opened.pidOf();
    expect(after).not.toBe(before);
    const slowly = opened.pool.read<{ pid: number }>(SLOWLY, 0.3);
    await runOn(opened.url, `SELECT pg_sleep(0.1), pg_terminate_backend(${after}, 3000)`);
    expect((await slowly)[0]?.pid).not.toBe(after);
  });

  test('that fall silent are given up, others are made, and the rest of them go on meanwhile', async () => {
    await using opened = await openPool(2, 200);
    const first = opened.pidOf();
    const second = opened.pidOf();
    const [silent] = [await first, await second];
    kill(silent, 'SIGSTOP');
    try {
      // The one that was given back last is asked first: one of these two is silent.
      const asked = await Promise.allSettled([opened.pidOf(), opened.pidOf()]);
      expect(asked.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const after = await Promise.all([opened.pidOf(), opened.pidOf()]);
      expect(after).not.toContain(silent);
    } finally {
      kill(silent, 'SIGCONT');
    }
  });

  test('that lead nowhere after a rest fail nobody: they are asked first, and made again', async () => {
    const { url, port } = await sharedPostgres();
    await using proxy = await startFaultProxy(port);
    const pool = new ReadPool(proxy.through(url), { connections: 1, statementMsMax: 5_000 });
    await pool.read(PID, 1);
    proxy.lose();
    proxy.heal(); // for connections that are made from now on
    await Bun.sleep(bounds.readRestMs + 50);
    expect((await pool.read(PID, 1)).length).toBe(1);
    expect(proxy.accepted).toBe(2);
    await pool.close();
  });

  test('end a statement that takes too long', async () => {
    await using opened = await openPool(1, 200);
    expect(await failureOf(opened.pool.read(SLOWLY, 30))).toMatchObject({ errno: '57014' });
    expect(await opened.pidOf()).toBePositive();
  });

  test('refuse what waits for too long, and what is too much to wait', async () => {
    await using opened = await openPool(1, 200);
    const silent = await opened.pidOf();
    kill(silent, 'SIGSTOP');
    try {
      const asked = failureOf(opened.pidOf());
      const waiting = Array.from({ length: bounds.readsWaitingMax }, () => failureOf(opened.pidOf()));
      expect(await failureOf(opened.pidOf())).toMatchObject({ code: 'overloaded' });
      for (const failure of await Promise.all(waiting)) expect(failure).toMatchObject({ code: 'overloaded' });
      expect(String(await asked)).toContain('does not answer');
    } finally {
      kill(silent, 'SIGCONT');
    }
  });

  test('never write', async () => {
    await using opened = await openPool(1);
    expect(String(await failureOf(opened.pool.read('CREATE TABLE written (id int)')))).toContain('read-only');
  });

  test('fail what is under way and what waits when they are closed', async () => {
    const opened = await openPool(1);
    const asked = [opened.pool.read(SLOWLY, 30), opened.pidOf()].map(failureOf);
    await Bun.sleep(50);
    await opened.pool.close();
    expect(await Promise.all(asked)).toHaveLength(2);
    await failureOf(opened.pidOf());
  });
});

describe.skipIf(cannotStartPostgres)('a store whose server is gone', () => {
  const gone: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const remove of gone) await remove();
  });

  test('is told of as such, never as what is not there, and answers when it is back', async () => {
    const server = await startPostgres({ fsync: 'off' });
    gone.push(() => server.remove());
    await using database = await server.newDatabase();
    const stores = postgresStores(database.url, noGate);
    expect(await stores.accounts.getKey(7)).toBeNull();
    expect(await stores.usage.listUsage(allUsage)).toEqual([]);
    await server.stop();
    const unavailable = { code: 'store_unavailable', status: 503 };
    expect(await failureOf(stores.accounts.findKeyBySecretHash('hash'))).toMatchObject(unavailable);
    expect(await failureOf(stores.usage.listUsage(allUsage))).toMatchObject(unavailable);
    expect(await failureOf(stores.retention.countToCarry(7, 1))).toMatchObject(unavailable);
    await server.start();
    expect(await stores.accounts.getKey(7)).toBeNull();
    expect(await stores.usage.listUsage(allUsage)).toEqual([]);
    await server.restart('immediate');
    const asked = Array.from({ length: 20 }, () => stores.accounts.getKey(7));
    expect(await Promise.all(asked)).toEqual(asked.map(() => null));
    await stores.close();
  });
});

/** Reads whose answers come when they are let. */
function heldReports(atOnceMax: number, waitMsMax?: number) {
  const asked: string[] = [];
  const held: PromiseWithResolvers<never[]>[] = [];
  const listUsage = ({ madeBy }: { madeBy: string | null }) => {
    asked.push(String(madeBy));
    const answer = Promise.withResolvers<never[]>();
    held.push(answer);
    return answer.promise;
  };
  const reads = inTurns({ listUsage } as unknown as ReportReads, atOnceMax, waitMsMax);
  const ask = (asker: string, signal = new AbortController().signal) =>
    reads.listUsage({ ...allUsage, madeBy: asker }, { asker, signal });
  const answer = async () => {
    held.shift()?.resolve([]);
    await Bun.sleep(0);
  };
  return { asked, ask, answer };
}

describe('reports over PostgreSQL', () => {
  test('are asked a few at a time, and askers take turns', async () => {
    const { asked, ask, answer } = heldReports(2);
    const answers = [...Array.from({ length: 5 }, () => ask('tok_holder')), ask('local')];
    expect(asked).toEqual(['tok_holder', 'tok_holder']);
    for (let count = 0; count < 6; count++) await answer();
    expect(await Promise.all(answers)).toHaveLength(6);
    expect(asked).toEqual(['tok_holder', 'tok_holder', 'tok_holder', 'local', 'tok_holder', 'tok_holder']);
  });

  test('that nobody waits for any more are never asked', async () => {
    const { asked, ask, answer } = heldReports(1);
    const first = ask('tok_a');
    const leaving = new AbortController();
    const second = failureOf(ask('tok_b', leaving.signal));
    leaving.abort();
    expect(await second).toMatchObject({ code: 'request_timeout' });
    await answer();
    await first;
    expect(asked).toEqual(['tok_a']);
  });

  test('that wait for too long, or are too many, are refused as overload', async () => {
    const { ask, answer } = heldReports(1, 20);
    const first = failureOf(ask('tok_a'));
    const late = failureOf(ask('tok_b'));
    const many = Array.from({ length: bounds.reportQueuePerAskerMax + 1 }, () => failureOf(ask('tok_c')));
    for (const failure of await Promise.all([late, ...many])) expect(failure).toMatchObject({ code: 'overloaded' });
    await first;
    await answer();
  });
});
