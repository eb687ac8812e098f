// Measures how long sorted pages of accounts and keys take, with BENCH_ROWS (100,000) of each, on SQLite and PostgreSQL.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountOrders, keyOrders } from '../src/accounts/accounts.ts';
import { ReadPool } from '../src/storage/postgres/read-pool.ts';
import { postgresReader } from '../src/storage/postgres/reader.ts';
import { sortedReads } from '../src/storage/sorted-reads.ts';
import type { SqlReader } from '../src/storage/sql-reader.ts';
import { sqliteReader } from '../src/storage/sqlite/reader.ts';
import { openForReading, openForWriting } from '../src/storage/sqlite/sqlite.ts';
import { runOn, startPostgres } from '../test/support/start-postgres.ts';

const rows = Number(process.env['BENCH_ROWS'] ?? 100_000);
const times = Number(process.env['BENCH_TIMES'] ?? 5);

/** Statements that both databases understand, over a list of numbers `n`. */
const filling = (numbers: string, text: (sql: string) => string) => [
  `INSERT INTO accounts (id, created_at_ms, document) ${numbers}
   SELECT n, n, '{"name":"Account ' || ${text('n * 7919 % 1000003')} || '","groups":["default"]}' FROM numbers`,
  `INSERT INTO keys (id, account_id, made_by, created_at_ms, document) ${numbers}
   SELECT n, n, 'tok_a', n, '{"name":"Key ' || ${text('n * 7919 % 1000003')} || '","prefix":"sk-tp-0000","status":"enabled","groups":null}' FROM numbers`,
  `INSERT INTO account_meters (id, enabled, credit_line, balance, held, allowance_period, allowance_used, allowance_held,
     allowance_period_start_ms, group_rates) SELECT id, 1, 0, id * 104729 % 1000003, 0, 'total', 0, 0, 0, '{}' FROM accounts`,
  `INSERT INTO key_meters (id, account_id, status, quota_period, quota_used, quota_held, quota_period_start_ms, limits, rates,
     last_used_at_ms) SELECT id, id, 'enabled', 'total', 0, 0, 0, '{}', '{}', id * 104729 % 1000003 FROM keys`,
];

await measureSqlite();
await measurePostgres();

async function measureSqlite(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-sorted-lists-'));
  const path = join(directory, 'turnpike.db');
  try {
    const database = openForWriting(path);
    const numbers = `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})`;
    for (const text of filling(numbers, (sql) => `(${sql})`)) database.run(text);
    database.close();
    const reading = openForReading(path);
    await measure('sqlite', sqliteReader(reading));
    reading.close();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function measurePostgres(): Promise<void> {
  const server = await startPostgres({ fsync: 'off' });
  try {
    const { url } = await server.newDatabase();
    const numbers = `WITH numbers AS (SELECT n FROM generate_series(1::bigint, ${rows}) n)`;
    for (const text of filling(numbers, (sql) => `(${sql})::text`)) await runOn(url, text);
    await runOn(url, 'ANALYZE');
    const pool = new ReadPool(url, { connections: 1, statementMsMax: 60_000 });
    await measure('postgres', postgresReader(pool));
    await pool.close();
  } finally {
    await server.remove();
  }
}

async function measure(store: string, on: SqlReader): Promise<void> {
  const { sortAccounts, sortKeys } = sortedReads(on);
  const page = { after: null, limit: 50 } as const;
  for (const order of ['asc', 'desc'] as const) {
    for (const by of accountOrders)
      for (const name of [null, 'ount 99'])
        await time(`${store}: accounts by ${by} ${order}${name === null ? '' : ', by a part of the name'}`, () =>
          sortAccounts({ ...page, by, order, name, group: null }),
        );
    for (const by of keyOrders)
      for (const text of [null, 'ey 99', 'nothing has this'])
        await time(`${store}: keys by ${by} ${order}${text === null ? '' : `, with "${text}"`}`, () =>
          sortKeys({ ...page, by, order, accountId: null, madeBy: null, text, status: null }),
        );
  }
}

/** The first time, and the median of the others. */
async function time(name: string, ask: () => Promise<unknown>): Promise<void> {
  const tookMs: number[] = [];
  for (let at = 0; at < times; at++) {
    const startedMs = performance.now();
    await ask();
    tookMs.push(performance.now() - startedMs);
  }
  const [first = Number.NaN, ...others] = tookMs;
  const median = others.toSorted((one, other) => one - other)[Math.floor(others.length / 2)] ?? first;
  console.log(`${name.padEnd(60)} first ${first.toFixed(0)} ms, then ${median.toFixed(0)} ms`);
}
