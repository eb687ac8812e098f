// Old rows of an installation: dropped by the running service while it answers, and dropped to their end
// though it is killed in between. Whatever it leaves adds up.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DAY_MS, manualClock } from '../../src/base/clock.ts';
import { newRequestId } from '../../src/base/ids.ts';
import { readConfig } from '../../src/config.ts';
import { GroupCommit } from '../../src/ledger/ledger.ts';
import { startServer } from '../../src/server/server.ts';
import {
  databasePath,
  openForReading,
  openForWriting,
  SqliteLedgerStore,
  sqliteStores,
  sumLedger,
} from '../../src/storage/sqlite/sqlite.ts';
import { Workbench } from '../ledger/workbench.ts';
import { runTurnpike } from '../support/run-turnpike.ts';
import { spawnTurnpike, type TurnpikeProcess } from '../support/start-turnpike.ts';

const MESSAGES = 700; // of each of two accounts: many pieces
const WAIT_MS_MAX = 60_000;

const directory = mkdtempSync(join(tmpdir(), 'turnpike-retention-'));
const settings = join(directory, 'settings.yaml');
const path = databasePath(directory);
let before: Facts;

interface Facts {
  balances: unknown[];
  sums: unknown[];
  totals: unknown[];
}

beforeAll(async () => {
  writeFileSync(settings, 'settings: { usage_retention_days: 30, journal_retention_months: 2 }\n');
  const config = readConfig({ data: directory, listen: '127.0.0.1:0' }, { TURNPIKE_LOG: 'off' });
  const server = await startServer(config, { version: '0.0.0', print: () => {} });
  await server.stop();
  await fillWithOld();
  before = readFacts();
}, WAIT_MS_MAX);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What two accounts did 130 days ago, and once more today. */
async function fillWithOld(): Promise<void> {
  const clock = manualClock(Date.now() - 130 * DAY_MS);
  const database = openForWriting(path);
  const stores = sqliteStores(path, new GroupCommit(new SqliteLedgerStore(database, clock)));
  const bench = new Workbench(clock, { stores, sums: () => sumLedger(path), close: () => database.close() });
  await bench.takeLease('of long ago');
  for (const _ of ['one', 'other']) {
    bench.account = await bench.addAccount(1_000_000);
    bench.key = await bench.addKey();
    await bench.credit(500, { reference: 'invoice 1' });
    await Promise.all(Array.from({ length: MESSAGES }, (_, place) => message(bench, place)));
  }
  clock.advance(130 * DAY_MS);
  await bench.takeLease('of today');
  await message(bench, 99);
  stores.close();
  await bench[Symbol.asyncDispose]();
}

async function message(bench: Workbench, cost: number): Promise<void> {
  const requestId = newRequestId(bench.clock.nowMs());
  await bench.begin(cost, { requestId });
  await bench.settle(requestId, cost);
}

function read<Row>(text: string): Row[] {
  const database = openForReading(path);
  try {
    return database.query(text).all() as Row[];
  } finally {
    database.close();
  }
}

/** What no dropping may change: balances, the sums of the system's accounts, and totals. */
function readFacts(): Facts {
  const system = [1, 2, 3, 4, 5, 6].map(
    (id) => `SUM(CASE WHEN credit = ${id} THEN amount WHEN debit = ${id} THEN -amount ELSE 0 END) AS system_${id}`,
  );
  return {
    balances: read('SELECT id, balance, held FROM account_meters ORDER BY id'),
    sums: read(`SELECT ${system.join()} FROM entries`),
    totals: read('SELECT * FROM daily_totals ORDER BY day_ms, account_id, key_id'),
  };
}

function countOld(table: 'usage_records' | 'entries'): number {
  const since = Date.now() - 100 * DAY_MS;
  const carried = table === 'entries' ? " AND kind <> 'carried_forward'" : '';
  return (
    read<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table} WHERE at_ms < ${since}${carried}`)[0]?.count ?? 0
  );
}

async function waitUntil(isSo: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MS_MAX;
  while (!isSo()) {
    if (Date.now() > endMs) throw new Error('it did not come to be');
    await Bun.sleep(3);
  }
}

function serve(environment: Record<string, string> = {}): Promise<TurnpikeProcess> {
  return spawnTurnpike(directory, environment, ['--apply', settings]);
}

async function expectAllAsBefore(): Promise<void> {
  const { exitCode, out } = await runTurnpike(['check', '--data', directory, '--json']);
  expect([exitCode, JSON.parse(out).faults]).toEqual([0, []]);
  expect(readFacts()).toEqual(before);
}

test(
  'a service that is killed while it drops old rows leaves books that are right, and the next one drops the rest',
  async () => {
    for (const table of ['usage_records', 'entries'] as const) {
      const old = countOld(table);
      expect(old).toBeGreaterThan(2 * MESSAGES - 5);
      const turnpike = await serve();
      await waitUntil(() => countOld(table) < old);
      turnpike.process.kill('SIGKILL');
      await turnpike.process.exited;
      await expectAllAsBefore();
    }
    const last = await serve({ TURNPIKE_LOG: 'json' });
    await waitUntil(() => countOld('entries') === 0);
    await waitUntil(() => countOld('usage_records') === 0);
    const answer = await last.post(last.key, {
      model: 'sandbox-echo',
      max_tokens: 16,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    expect(answer.status).toBe(200);
    last.process.kill('SIGTERM');
    expect(await last.process.exited).toBe(0);
    const lines = (await new Response(last.process.stderr).text())
      .split('\n')
      .filter((line) => line.includes('old_rows'));
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ event: 'old_rows_dropped', usage_records: 0 }]);
  },
  3 * WAIT_MS_MAX,
);

test('what is left is one entry for each account that had old ones, and what is kept', async () => {
  const { exitCode, out } = await runTurnpike(['check', '--data', directory, '--json']);
  expect([exitCode, JSON.parse(out).faults]).toEqual([0, []]);
  expect(read('SELECT COUNT(*) AS count FROM entries')).toEqual([{ count: 1 + 1 + 1 + 2 + 2 }]); // demo's credit and message, today's message, two accounts, payments and revenue
  expect(read("SELECT COUNT(*) AS count FROM entries WHERE kind = 'carried_forward'")).toEqual([{ count: 4 }]);
  expect(read('SELECT COUNT(*) AS count FROM usage_records')).toEqual([{ count: 2 }]);
  expect(read("SELECT COUNT(*) AS count FROM carried_credits WHERE reference = 'invoice 1'")).toEqual([{ count: 2 }]);
});

test('an entry is deleted by nobody, whether it is old or young', () => {
  const database = openForWriting(path);
  const words = 'a journal entry is never deleted';
  expect(() => database.run("DELETE FROM entries WHERE kind = 'carried_forward'")).toThrow(words);
  expect(() => database.run("DELETE FROM entries WHERE kind = 'usage'")).toThrow(words);
  const youngest = 'INSERT INTO carried_entries SELECT MAX(seq) FROM entries';
  expect(() =>
    database.transaction(() => [
      database.run(youngest),
      database.run('DELETE FROM entries WHERE seq IN carried_entries'),
    ])(),
  ).toThrow(words);
  database.close();
});
