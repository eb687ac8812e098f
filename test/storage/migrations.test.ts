// A store that an earlier version of the tables holds is brought to the present one with all it has.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { spine } from '../../src/storage/migrations/0001-spine.ts';
import { migrations } from '../../src/storage/migrations/migrations.ts';
import { accessReads } from '../../src/storage/sqlite/access-reads.ts';
import { openForReading, openForWriting, sumLedger } from '../../src/storage/sqlite/sqlite.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const PROOF = 'proofproof-of-the-secret';

function makeFirstVersion(path: string): void {
  const database = new Database(path, { create: true });
  database.run('PRAGMA journal_mode = WAL');
  database.run(spine.sqlite);
  database.run('PRAGMA user_version = 1');
  database.run(`INSERT INTO installation VALUES ('secret_proof', '${PROOF}')`);
  database.run(`INSERT INTO accounts VALUES (7, 1, '{"id":7,"name":"acme"}')`);
  for (const id of [11, 12])
    database.run(`INSERT INTO keys VALUES (${id}, 7, 'hash${id}', ${id}, '{"id":${id},"accountId":7}')`);
  database.close();
}

test('keys of the first version open what they opened, under hashes that name their secret', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  makeFirstVersion(path);
  openForWriting(path).close();
  const database = openForReading(path);
  const reads = accessReads(database);
  expect(await reads.findKeyBySecretHash('proofpro.hash11')).toEqual({
    key: { id: 11, accountId: 7, madeBy: null } as never,
    account: { id: 7, name: 'acme' } as never,
    secretExpiresAtMs: null,
  });
  expect(await reads.findKeyBySecretHash('hash11')).toBeNull();
  const listed = await reads.listKeys({ accountId: 7, madeBy: null, after: null, limit: 9 });
  expect(listed.map((key) => key.id)).toEqual([11, 12]);
  database.close();
});

test('a store that is at the present version is left as it is', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  makeFirstVersion(path);
  openForWriting(path).close();
  const versionOf = () => {
    const database = openForReading(path);
    const { user_version: version } = database.query('PRAGMA user_version').get() as { user_version: number };
    database.close();
    return version;
  };
  const version = versionOf();
  openForWriting(path).close();
  expect(versionOf()).toBe(version);
});

/** A database as the release of that version left it. */
function openAsOf(path: string, version: number): Database {
  const database = new Database(path);
  for (const migration of migrations) if (migration.version <= version) database.run(migration.sqlite);
  database.run(`PRAGMA user_version = ${version}`);
  return database;
}

test('daily totals learn of how many of their messages the provider cost is known', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  const before = openAsOf(path, 2);
  const day = 86_400_000;
  const record = (at: number, model: string, cost: number, writtenOff: number, providerCost: number | null) =>
    before.run(`INSERT INTO usage_records (request_id, at_ms, account_id, key_id, ended_by, group_name, model, outcome,
        status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
        web_searches, cost, written_off, provider_cost, details)
      VALUES ('req_' || random(), ${at}, 7, 8, 'settled', 'default', '${model}', 'completed', 200, 0, 0, 0, 0, 0, 0,
        ${cost}, ${writtenOff}, ${providerCost}, '{}')`);
  record(day, 'a', 10, 0, 4);
  record(2 * day - 1, 'a', 20, 5, 1);
  record(day, 'a', 40, 0, null);
  record(day, 'b', 80, 0, 3);
  record(2 * day, 'a', 160, 0, 3);
  for (const [dayMs, model] of [
    [day, 'a'],
    [day, 'b'],
    [2 * day, 'a'],
    [2 * day, 'c'],
  ] as const)
    before.run(`INSERT INTO daily_totals VALUES (${dayMs}, 7, 8, '${model}', 1, 0, 0, 0, 0, 0, 0, 0)`);
  before.close();
  const after = openForWriting(path);
  expect(after.query('SELECT day_ms, model, costed_messages, costed_revenue FROM daily_totals').values()).toEqual([
    [day, 'a', 2, 25],
    [day, 'b', 1, 80],
    [2 * day, 'a', 1, 160],
    [2 * day, 'c', 0, 0],
  ]);
  after.close();
});

test('months of before there were any are added up from the journal, each with its first and last moment', async () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  const database = new Database(path, { create: true });
  database.run('PRAGMA journal_mode = WAL');
  for (const migration of migrations.filter(({ version }) => version < 8)) database.run(migration.sqlite);
  database.run('PRAGMA user_version = 7');
  database.run(`INSERT INTO accounts VALUES (7000000000, 1, '{}')`);
  database.run(`INSERT INTO account_meters VALUES (7000000000, 1, 0, 60, 0, NULL, 'total', 0, 0, 0, '{}')`);
  const november = Date.UTC(2026, 10);
  const entry = (atMs: number, isCredit: boolean, amount: number) =>
    database.run(
      `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind) VALUES (7000000000, ${atMs},
        ${isCredit ? '1, 7000000000' : '7000000000, 3'}, ${amount}, '${isCredit ? 'payment' : 'usage'}')`,
    );
  entry(Date.UTC(2025, 11, 31, 23, 59, 59, 999), true, 100);
  entry(Date.UTC(2026, 0), false, 10);
  entry(november - 1, false, 10);
  entry(november, false, 20);
  database.close();
  openForWriting(path).close();
  const after = openForReading(path);
  expect(after.query('SELECT month_ms, change FROM month_changes ORDER BY month_ms').values()).toEqual([
    [Date.UTC(2025, 11), 100],
    [Date.UTC(2026, 0), -10],
    [Date.UTC(2026, 9), -10],
    [november, -20],
  ]);
  after.close();
  expect(sumLedger(path).wrongMonths).toEqual([]);
});
