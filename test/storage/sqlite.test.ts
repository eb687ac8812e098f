// The conformance suite on SQLite, and SQLite's own guarantees: durability, failed commits, the triggers that guard
// the journal, versions, and the lock on the data directory.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { checkLedger } from '../../src/ledger/ledger.ts';
import {
  ConnectionWriter,
  DirectoryLocked,
  databasePath,
  LedgerThread,
  lockDirectory,
  openForReading,
  openForWriting,
  SqliteLedgerStore,
  sumLedger,
} from '../../src/storage/sqlite/sqlite.ts';
import { workerScript } from '../../src/threads/threads.ts';
import { failureOf, openWorkbench, START_MS } from '../money/ledger/workbench.ts';
import { manualClock } from '../support/manual-clock.ts';
import { noAuditContext } from '../support/no-audit-context.ts';
import { admissionConformance } from './conformance/admission.ts';
import { answerConformance } from './conformance/answers.ts';
import { bundleConformance } from './conformance/bundles.ts';
import { endingConformance } from './conformance/endings.ts';
import { paymentConformance } from './conformance/payments.ts';
import { readConformance } from './conformance/reads.ts';
import { reportConformance } from './conformance/reports.ts';
import {
  type OpenedSqlite,
  openSqlite,
  openSqliteReports,
  openSqliteResident,
  openSqliteThread,
} from './open-sqlite.ts';
import { describeStore } from './store-conformance.ts';
import { temporaryDirectory } from './temporary-directory.ts';

describeStore('SQLite', (clock) => openSqlite(clock), { followsClock: true });
describe('the ledger in SQLite, decided in memory', () => {
  describe('admits', () => admissionConformance(openSqliteResident));
  describe('ends messages', () => endingConformance(openSqliteResident));
  describe('stores', () => answerConformance(openSqliteResident));
  describe('stores', () => paymentConformance(openSqliteResident));
});
// The stores in this process pass their commits to the writer as the thread gets them. Left is the thread itself.
describe('the ledger in SQLite behind its thread', () => {
  describe('applies bundles', () => bundleConformance(openSqliteThread));
});
describe('the thread of reports', () => {
  readConformance(openSqliteReports);
  reportConformance(openSqliteReports);
});

/** A workbench, and its SQLite. */
async function openOnSqlite(balance: number) {
  let opened: OpenedSqlite | undefined;
  const bench = await openWorkbench((clock) => (opened = openSqlite(clock)), balance);
  if (opened === undefined) throw new Error('nothing was opened');
  return { bench, ...opened };
}

/** All rows, to compare with the disk. */
function dump(path: string): string {
  const database = openForReading(path);
  const tables = database
    .query(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name`)
    .all();
  const rows = (tables as { name: string }[]).map(({ name }) => [name, database.query(`SELECT * FROM ${name}`).all()]);
  database.close();
  return JSON.stringify(rows);
}

describe('a commit that fails', () => {
  test('leaves nothing applied, memory equal to the disk, and the next batch works', async () => {
    const { bench, database, path } = await openOnSqlite(100);
    await using _ = bench;
    const requestId = await bench.begin(50);
    const before = dump(path);
    const { page_count: pages } = database.query('PRAGMA page_count').get() as { page_count: number };
    database.run(`PRAGMA max_page_count = ${pages}`);
    const big = 'x'.repeat(100_000);
    const asked = await Promise.allSettled([
      bench.settle(requestId, 30, { model: big }),
      bench.admit(20),
      bench.credit(7),
      bench.takeLease('node-2'),
    ]);
    for (const answer of asked) {
      expect(answer).toMatchObject({ status: 'rejected', reason: { code: 'store_unavailable' } });
    }
    expect(dump(path)).toBe(before);
    database.run('PRAGMA max_page_count = 1000000');
    expect(await bench.settle(requestId, 30)).toMatchObject({ ok: true, kind: 'ended', cost: 30, writtenOff: 0 });
    expect(await bench.wallet()).toEqual({ balance: 70, held: 0 });
    expect(await bench.admit(71)).toMatchObject({ ok: false, available: 70 });
    expect(await bench.admit(70)).toMatchObject({ ok: true });
  });

  test('leaves nothing in memory that is not on the disk', async () => {
    const { bench, database, path } = await openOnSqlite(100);
    await using _ = bench;
    database.run('PRAGMA busy_timeout = 0');
    const other = new Database(path);
    other.run('BEGIN IMMEDIATE');
    expect(await failureOf(bench.begin(60))).toMatchObject({ code: 'store_unavailable' });
    // Simulates a failed commit that reached the disk in the end and differs.
    other.run(`INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind)
      VALUES (${bench.account}, ${START_MS}, 1, ${bench.account}, 50, 'payment')`);
    other.run('UPDATE account_meters SET balance = balance + 50');
    other.run('COMMIT');
    other.close();
    await bench.begin(150);
    expect(await bench.wallet()).toEqual({ balance: 150, held: 150 });
  });

  test('of one invalid row fails alone', async () => {
    const { bench, database } = await openOnSqlite(100);
    await using _ = bench;
    const key = await bench.stores.accounts.getKey(bench.key);
    if (key === null) throw new Error('the key is not there');
    const terms = { status: 'enabled', expiresAtMs: null, quota: null, quotaPeriod: 'total' } as const;
    const limits = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrency: 9 };
    const asked = await Promise.allSettled([
      bench.admit(10),
      bench.stores.accounts.createKey(
        { ...key, id: 77 },
        `hash of ${bench.key}`,
        { ...terms, ...limits },
        noAuditContext,
      ),
      bench.admit(20),
    ]);
    expect(asked).toMatchObject([
      { status: 'fulfilled', value: { ok: true } },
      { status: 'rejected' },
      { status: 'fulfilled', value: { ok: true } },
    ]);
    expect(await bench.stores.ledger.keyMeters(77, START_MS)).toBeNull();
    await failureOf(
      bench.stores.accounts.createKey(
        { ...key, id: 78 },
        `hash of ${bench.key}`,
        { ...terms, ...limits },
        noAuditContext,
      ),
    );
    expect(database.inTransaction).toBe(false);
    expect(await bench.wallet()).toEqual({ balance: 100, held: 30 });
  });
});

describe('a restart', () => {
  test('restores every row', async () => {
    const { bench, database, store } = await openOnSqlite(100);
    await using _ = bench;
    const limits = { requestsPerMinute: 9, inputTokensPerMinute: 99, outputTokensPerMinute: 999, concurrency: 8 };
    await bench.setAccount({ creditLine: 7, allowance: 90, allowancePeriod: 'week' });
    await bench.setKey({ quota: 80, quotaPeriod: 'day', expiresAtMs: START_MS + 1, ...limits });
    const ended = await bench.begin(5, { limits, group: 'vip' });
    await bench.settle(ended, 5, { inputTokens: 3, outputTokens: 4 });
    const requestId = await bench.begin(50, { limits });
    await bench.extend(requestId, 60, bench.record(requestId, { cost: 20 }));
    await bench.ask({ kind: 'leave', requestId });
    await bench.setAccount({ creditLine: 7, allowance: 90, allowancePeriod: 'week', enabled: false });
    const readAll = (from: SqliteLedgerStore) => {
      let found: unknown[] = [];
      from.transact([], (rows) => {
        found = [rows.account(bench.account), rows.key(bench.key), rows.hold(requestId), rows.lease('node-1')];
        found.push(rows.ending(ended), rows.hold(ended), rows.creditedAmount(bench.account, 'none'));
        return { isEmpty: true } as never;
      });
      return found;
    };
    const before = readAll(store);
    expect(before[2]).toMatchObject({ requestId, amount: 60, left: true, checkpoint: { cost: 20 } });
    expect(readAll(new SqliteLedgerStore(database, manualClock(START_MS), new ConnectionWriter(database)))).toEqual(
      before,
    );
  });
});

describe('the database', () => {
  test('lets no journal entry be changed or deleted', async () => {
    const { bench, database } = await openOnSqlite(100);
    await using _ = bench;
    expect(() => database.run('UPDATE entries SET amount = 1')).toThrow('never updated');
    expect(() => database.run('DELETE FROM entries')).toThrow('never deleted');
    expect(await bench.entries()).toMatchObject([{ amount: 100 }]);
  });

  test('lets no balance go below its floor, nor a request be billed twice', async () => {
    const { bench, database } = await openOnSqlite(100);
    await using _ = bench;
    await bench.settle(await bench.begin(10), 10);
    expect(() => database.run('UPDATE account_meters SET balance = -1')).toThrow('CHECK');
    expect(() => database.run('INSERT INTO usage_records SELECT 99, * FROM (SELECT * FROM usage_records)')).toThrow();
    const columns = (database.query('SELECT * FROM usage_records').get() ?? {}) as Record<string, never>;
    const names = Object.keys(columns).filter((name) => name !== 'seq');
    const insert = `INSERT INTO usage_records (${names}) SELECT ${names} FROM usage_records`;
    expect(() => database.run(insert)).toThrow('UNIQUE');
  });

  test('is durable before it answers: every commit is on disk', async () => {
    const { bench, database } = await openOnSqlite(100);
    await using _ = bench;
    expect(database.query('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    expect(database.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
  });

  test('of a later version is refused and left unchanged', async () => {
    using directory = temporaryDirectory();
    const path = databasePath(directory.path);
    openForWriting(path).close();
    const later = new Database(path);
    later.run('PRAGMA user_version = 9999');
    later.close();
    expect(() => openForWriting(path)).toThrow('later release');
    const script = workerScript('ledger-worker');
    expect(String(await failureOf(LedgerThread.start(script, path, () => {})))).toContain('later release');
    const after = openForReading(path);
    expect(after.query('PRAGMA user_version').get()).toEqual({ user_version: 9999 });
    after.close();
  });

  test('can be checked with or without a running server', async () => {
    using directory = temporaryDirectory();
    const path = databasePath(directory.path);
    const database = openForWriting(path);
    expect(checkLedger(sumLedger(path)).ok).toBe(true);
    database.close();
    expect(checkLedger(sumLedger(path)).ok).toBe(true);
  });
});

describe('the lock on a data directory', () => {
  test('refuses a second server, and is released when the first one closes it', () => {
    using directory = temporaryDirectory();
    const first = lockDirectory(directory.path);
    expect(() => lockDirectory(directory.path)).toThrow(DirectoryLocked);
    expect(() => lockDirectory(directory.path)).toThrow(directory.path);
    first.close();
    lockDirectory(directory.path).close();
  });

  test('is released when its process is killed', async () => {
    using directory = temporaryDirectory();
    const child = Bun.spawn([process.execPath, join(import.meta.dir, 'hold-lock.ts'), directory.path], {
      stdout: 'pipe',
      stderr: 'inherit',
    });
    const said = await child.stdout.getReader().read();
    expect(new TextDecoder().decode(said.value)).toContain('locked');
    expect(() => lockDirectory(directory.path)).toThrow(DirectoryLocked);
    child.kill('SIGKILL');
    await child.exited;
    lockDirectory(directory.path).close();
  });

  test('reports a cause other than a second server', () => {
    expect(() => lockDirectory('/nonexistent/directory')).toThrow();
    expect(() => lockDirectory('/nonexistent/directory')).not.toThrow(DirectoryLocked);
  });
});
