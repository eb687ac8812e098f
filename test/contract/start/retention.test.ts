// Retention of old rows in the running service, also when it is killed midway. The ledger stays consistent.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, DAY_MS } from '../../../src/base/clock.ts';
import { newRequestId } from '../../../src/base/ids.ts';
import { readConfig } from '../../../src/config/config.ts';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import * as postgres from '../../../src/storage/postgres/postgres.ts';
import {
  ConnectionWriter,
  databasePath,
  openForWriting,
  SqliteLedgerStore,
  sqliteStores,
  sumLedger,
} from '../../../src/storage/sqlite/sqlite.ts';
import { type OpenedStores, Workbench } from '../../money/ledger/workbench.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { runOn } from '../../support/start-postgres.ts';
import { spawnTurnpike, startCounted, type TurnpikeProcess } from '../../support/start-turnpike.ts';
import { ownerUrl, readRows, storeVariables } from '../../support/test-store.ts';

const MESSAGES = 700; // for each of two accounts: many batches
const WAIT_MS_MAX = 60_000;

const directory = mkdtempSync(join(tmpdir(), 'turnpike-retention-'));
const settings = join(directory, 'settings.yaml');
let store: Record<string, string>;
let before: Facts;

const read = <Row>(text: string) => readRows<Row>(directory, text);

interface Facts {
  balances: unknown[];
  sums: unknown[];
  totals: unknown[];
}

beforeAll(async () => {
  writeFileSync(settings, 'settings: { usage_retention_days: 30, journal_retention_months: 2 }\n');
  store = await storeVariables(directory);
  const config = readConfig({ data: directory, listen: '127.0.0.1:0' }, { TURNPIKE_LOG: 'off', ...store });
  const server = await startCounted(config, { version: '0.0.0', print: () => {} });
  await server.stop();
  await fillWithOld();
  before = await readFacts();
}, WAIT_MS_MAX);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Creates activity of two accounts 130 days ago, and once more today. */
async function fillWithOld(): Promise<void> {
  const clock = manualClock(Date.now() - 130 * DAY_MS);
  const bench = new Workbench(clock, openStores(clock));
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
  await bench[Symbol.asyncDispose]();
}

/** The stores of the installation, at another time. */
function openStores(clock: Clock): OpenedStores {
  const url = store['TURNPIKE_DATABASE_URL'];
  if (url !== undefined) {
    const gate = new postgres.PostgresGate(url, { clock });
    const stores = postgres.postgresStores(url, gate);
    const close = async () => void (await Promise.all([stores.close(), gate.close()]));
    return { stores, sums: () => postgres.sumLedger(url), close };
  }
  const path = databasePath(directory);
  const database = openForWriting(path);
  const stores = sqliteStores(
    path,
    new GroupCommit(new SqliteLedgerStore(database, clock, new ConnectionWriter(database))),
  );
  const close = () => {
    stores.close();
    database.close();
  };
  return { stores, sums: () => sumLedger(path), close };
}

async function message(bench: Workbench, cost: number): Promise<void> {
  const requestId = newRequestId(bench.clock.nowMs());
  await bench.begin(cost, { requestId });
  await bench.settle(requestId, cost);
}

/** Facts that dropping rows must not change: balances, the sums of the system's accounts, and totals. */
async function readFacts(): Promise<Facts> {
  const system = [1, 2, 3, 4, 5, 6].map(
    (id) => `SUM(CASE WHEN credit = ${id} THEN amount WHEN debit = ${id} THEN -amount ELSE 0 END) AS system_${id}`,
  );
  return {
    balances: await read('SELECT id, balance, held FROM account_meters ORDER BY id'),
    sums: await read(`SELECT ${system.join()} FROM entries`),
    totals: await read('SELECT * FROM daily_totals ORDER BY day_ms, account_id, key_id'),
  };
}

async function countOld(table: 'usage_records' | 'entries'): Promise<number> {
  const since = Date.now() - 100 * DAY_MS;
  const carried = table === 'entries' ? " AND kind <> 'carried_forward'" : '';
  return await count(`${table} WHERE at_ms < ${since}${carried}`);
}

async function count(sql: string): Promise<number> {
  const [row] = await read<{ count: number }>(`SELECT CAST(COUNT(*) AS INTEGER) AS count FROM ${sql}`);
  return row?.count ?? 0;
}

async function waitUntil(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + WAIT_MS_MAX;
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error('the condition was not reached in time');
    await Bun.sleep(3);
  }
}

function serve(environment: Record<string, string> = {}): Promise<TurnpikeProcess> {
  return spawnTurnpike(directory, environment, ['--apply', settings]);
}

async function expectAllAsBefore(): Promise<void> {
  const { exitCode, out } = await runTurnpike(['check', '--data', directory, '--json'], store);
  expect([exitCode, JSON.parse(out).faults]).toEqual([0, []]);
  expect(await readFacts()).toEqual(before);
}

test(
  'a service killed while it drops old rows leaves a consistent ledger, and the next one drops the rest',
  async () => {
    for (const table of ['usage_records', 'entries'] as const) {
      const old = await countOld(table);
      expect(old).toBeGreaterThan(2 * MESSAGES - 5);
      const turnpike = await serve();
      await waitUntil(async () => (await countOld(table)) < old);
      turnpike.process.kill('SIGKILL');
      await turnpike.process.exited;
      await expectAllAsBefore();
    }
    const last = await serve({ TURNPIKE_LOG: 'json' });
    await waitUntil(async () => (await countOld('entries')) === 0);
    await waitUntil(async () => (await countOld('usage_records')) === 0);
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
    // A line that is being written when the service ends is written once more.
    expect([...new Set(lines)].map((line) => JSON.parse(line))).toMatchObject([
      { event: 'old_rows_dropped', usage_records: 0 },
    ]);
  },
  3 * WAIT_MS_MAX,
);

test('retention keeps the entries within its period and one carried-forward entry per account', async () => {
  const { exitCode, out } = await runTurnpike(['check', '--data', directory, '--json'], store);
  expect([exitCode, JSON.parse(out).faults]).toEqual([0, []]);
  expect(await count('entries')).toBe(1 + 1 + 1 + 2 + 2); // demo's credit and message, today's message, two accounts, payments and revenue
  expect(await count("entries WHERE kind = 'carried_forward'")).toBe(4);
  expect(await count('usage_records')).toBe(2);
  expect(await count("carried_credits WHERE reference = 'invoice 1'")).toBe(2);
});

test('entries cannot be deleted, whatever their age', async () => {
  const words = 'a journal entry is never deleted';
  const refuses = async (text: string) => await expect(write(text)).rejects.toThrow(words);
  await refuses("DELETE FROM entries WHERE kind = 'carried_forward'");
  await refuses("DELETE FROM entries WHERE kind = 'usage'");
  const youngest = 'INSERT INTO carried_entries SELECT MAX(seq) FROM entries';
  await refuses(`BEGIN; ${youngest}; DELETE FROM entries WHERE seq IN (SELECT seq FROM carried_entries); COMMIT`);
});

/** The error of the database is ignored. */
async function write(text: string): Promise<void> {
  const url = await ownerUrl(directory);
  if (url !== null) return void (await runOn(url, text));
  const database = openForWriting(databasePath(directory));
  try {
    database.exec(text);
  } finally {
    database.close();
  }
}
