// Connections for reads from PostgreSQL: bounded, replaced when lost, and closed when silent.

import { afterAll, describe, expect, test } from 'bun:test';
import { kill } from 'node:process';
import { SQL } from 'bun';
import { bounds } from '../../src/config/config.ts';
import { postgresStores } from '../../src/storage/postgres/postgres.ts';
import { ReadPool } from '../../src/storage/postgres/read-pool.ts';
import { queueReports } from '../../src/storage/report-reads.ts';
import type { ReportReads } from '../../src/storage/stores.ts';
import { failureOf } from '../money/ledger/workbench.ts';
import { allUsage } from '../support/everything.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import {
  cannotStartPostgres,
  runOn,
  sharedPostgres,
  startPostgres,
  untilLockIsAwaited,
} from '../support/start-postgres.ts';

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
  test('stay within their bound under concurrent load', async () => {
    await using opened = await openPool(2);
    const asked = await Promise.all(Array.from({ length: 40 }, () => opened.pool.read<{ pid: number }>(SLOWLY, 0.001)));
    expect(new Set(asked.map(([row]) => row?.pid)).size).toBe(2);
  });

  test('are replaced when they are closed, and the queries are answered', async () => {
    await using opened = await openPool(1);
    const before = await opened.pidOf();
    await runOn(opened.url, `SELECT pg_terminate_backend(${before}, 3000)`);
    const after = await opened.pidOf();
    expect(after).not.toBe(before);
    const slowly = opened.pool.read<{ pid: number }>(SLOWLY, 0.3);
    await runOn(opened.url, `SELECT pg_sleep(0.1), pg_terminate_backend(${after}, 3000)`);
    expect((await slowly)[0]?.pid).not.toBe(after);
  });

  test('ask again if a deadlock with a migration ends their statement', async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    await runOn(database.url, 'CREATE TABLE first AS SELECT 1 AS one; CREATE TABLE second AS SELECT 2 AS two');
    await using pool = Object.assign(new ReadPool(database.url, { connections: 1, statementMsMax: 20_000 }), {
      [Symbol.asyncDispose]: () => pool.close(),
    });
    const client = new SQL({ url: database.url, max: 1 });
    const migration = await client.reserve();
    await migration.unsafe("SET deadlock_timeout = '1h'; BEGIN; LOCK TABLE second").simple();
    const reading = pool.read('SELECT one, two FROM first, second');
    await untilLockIsAwaited(database.url);
    await migration.unsafe('LOCK TABLE first; COMMIT').simple(); // once the statement has been ended
    expect(await reading).toEqual([{ one: 1, two: 2 }]);
    await client.close({ timeout: 0 });
  });

  test('that fall silent are closed and replaced, while the others continue', async () => {
    await using opened = await openPool(2, 200);
    const first = opened.pidOf();
    const second = opened.pidOf();
    const [silent] = [await first, await second];
    kill(silent, 'SIGSTOP');
    try {
      // The most recently returned connection is tested first: one of these two is silent.
      const asked = await Promise.allSettled([opened.pidOf(), opened.pidOf()]);
      expect(asked.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
      const after = await Promise.all([opened.pidOf(), opened.pidOf()]);
      expect(after).not.toContain(silent);
    } finally {
      kill(silent, 'SIGCONT');
    }
  });

  test('that broke while idle fail no query: they are tested first, and replaced', async () => {
    const { url, port } = await sharedPostgres();
    await using proxy = await startFaultProxy(port);
    const pool = new ReadPool(proxy.through(url), { connections: 1, statementMsMax: 5_000 });
    await pool.read(PID, 1);
    proxy.lose();
    proxy.heal(); // Applies to new connections.
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

  test('refuse queries that wait too long or exceed the queue', async () => {
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

  test('fail running and waiting queries when they are closed', async () => {
    const opened = await openPool(1);
    const asked = [opened.pool.read(SLOWLY, 30), opened.pidOf()].map(failureOf);
    await Bun.sleep(50);
    await opened.pool.close();
    expect(await Promise.all(asked)).toHaveLength(2);
    await failureOf(opened.pidOf());
  });
});

describe.skipIf(cannotStartPostgres)('a store whose server is unavailable', () => {
  const gone: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const remove of gone) await remove();
  });

  test('is reported as unavailable, never as missing rows, and answers when it recovers', async () => {
    const server = await startPostgres({ fsync: 'off' });
    gone.push(() => server.remove());
    await using database = await server.newDatabase();
    const stores = postgresStores(database.url, noGate);
    expect(await stores.accounts.getKey(7)).toBeNull();
    expect(await stores.usage.listUsage(allUsage)).toEqual([]);
    await server.stop();
    const unavailable = { code: 'store_unavailable', status: 503 };
    expect(await failureOf(stores.accounts.findKeyBySecretHash(['hash']))).toMatchObject(unavailable);
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

/** Reads whose answers wait until the test releases them. */
function heldReports(atOnceMax: number, waitMsMax?: number) {
  const asked: string[] = [];
  const held: PromiseWithResolvers<never[]>[] = [];
  const listUsage = ({ madeBy }: { madeBy: string | null }) => {
    asked.push(String(madeBy));
    const answer = Promise.withResolvers<never[]>();
    held.push(answer);
    return answer.promise;
  };
  const reads = queueReports({ listUsage } as unknown as ReportReads, atOnceMax, waitMsMax);
  const ask = (requesterId: string, signal = new AbortController().signal) =>
    reads.listUsage({ ...allUsage, madeBy: requesterId }, { requesterId, signal });
  const answer = async () => {
    held.shift()?.resolve([]);
    await Bun.sleep(0);
  };
  return { asked, ask, answer };
}

describe('reports over PostgreSQL', () => {
  test('run a few at a time, and tokens take turns', async () => {
    const { asked, ask, answer } = heldReports(2);
    const answers = [...Array.from({ length: 5 }, () => ask('tok_holder')), ask('local')];
    await Bun.sleep(0);
    expect(asked).toEqual(['tok_holder', 'tok_holder']);
    for (let count = 0; count < 6; count++) await answer();
    expect(await Promise.all(answers)).toHaveLength(6);
    expect(asked).toEqual(['tok_holder', 'tok_holder', 'tok_holder', 'local', 'tok_holder', 'tok_holder']);
  });

  test('that were canceled are never run', async () => {
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

  test('that wait too long, or exceed the queue, are refused as overload', async () => {
    const { ask, answer } = heldReports(1, 20);
    const first = failureOf(ask('tok_a'));
    const late = failureOf(ask('tok_b'));
    const many = Array.from({ length: bounds.reportQueuePerAskerMax + 1 }, () => failureOf(ask('tok_c')));
    for (const failure of await Promise.all([late, ...many])) expect(failure).toMatchObject({ code: 'overloaded' });
    await first;
    await answer();
  });
});
