// Databases of earlier versions, brought to the present one with what they hold.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { migrations } from '../../src/storage/migrations/migrations.ts';
import { databasePath, openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** A database as the release of that version left it. */
function openAsOf(path: string, version: number): Database {
  const database = new Database(path);
  for (const migration of migrations) if (migration.version <= version) database.run(migration.sqlite);
  database.run(`PRAGMA user_version = ${version}`);
  return database;
}

test('daily totals learn of how many of their messages the provider cost is known', () => {
  using directory = temporaryDirectory();
  const path = databasePath(directory.path);
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
