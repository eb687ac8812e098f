// A database whose commits wait for an unavailable standby: no commit is reported before the standby has it, since
// the standby may take over. A backend that is ended while it waits has committed, on this server alone.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask, failureOf } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../support/start-postgres.ts';
import { openFaulty } from './open-faulty.ts';

const WRITE = "SELECT pg_logical_emit_message(true, 'test', '')";
const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

let server: TestPostgres;
beforeAll(async () => {
  if (!cannotStartPostgres) server = await startPostgres({ fsync: 'off', full_page_writes: 'off' });
});
afterAll(() => server?.remove());

async function setStandbys(names: string): Promise<void> {
  await runOn(server.url, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await runOn(server.url, 'SELECT pg_reload_conf()');
}

/** The server applies a new setting with a delay. */
async function untilCommitsWait(): Promise<void> {
  while ((await runOn(server.url, WAITING)).length === 0) {
    runOn(server.url, WRITE).catch(() => {}); // Continues when the server no longer waits for the standby.
    await Bun.sleep(100);
  }
}

test.skipIf(cannotStartPostgres)(
  'a bill is not reported before the standby has it, however often it is retried',
  async () => {
    await using faulty = await openFaulty(server, 100);
    const { bench, gate } = faulty;
    const requestId = await bench.begin(60);
    const settle = { kind: 'settle', requestId, record: bench.record(requestId, { cost: 40 }) } as const;
    await setStandbys('nobody');
    try {
      await untilCommitsWait();
      for (let tries = 0; tries < 3; tries++)
        expect(await failureOf(ask(gate, settle))).toMatchObject({ code: 'store_unavailable' });
      expect(await faulty.costOf(requestId)).toBe(40); // The commit was made.
    } finally {
      await setStandbys('');
    }
    expect(await ask(gate, settle)).toMatchObject({ ok: true, kind: 'ended', cost: 40 });
    expect(await bench.wallet()).toEqual({ balance: 60, held: 0 });
  },
);
