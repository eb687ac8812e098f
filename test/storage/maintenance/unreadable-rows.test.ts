// Rows that this program cannot read are named by `turnpike check`, each on its own, in SQLite and in PostgreSQL.

import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { storedColumns } from '../../../src/storage/stored-columns.ts';
import type { StoredColumn } from '../../../src/storage/unreadable-rows.ts';
import { cannotStartPostgres, runOn } from '../../support/start-postgres.ts';
import { copyOfIt, move, newDatabase, ROWS_OF_LATER_TABLES } from './moving.ts';

const TEXT = '7'; // indexes on members refuse what is not JSON

/** Spoils one row that has the column. */
function spoil({ table, key, column, where }: StoredColumn): string {
  const condition = where === null ? '' : ` AND ${where}`;
  const first = `(SELECT MIN(${key}) FROM ${table} WHERE ${column} IS NOT NULL${condition})`;
  return `UPDATE ${table} SET ${column} = '${TEXT}' WHERE ${key} = ${first}${condition}`;
}

/** Columns that some rows must have, because all of them may be NULL. Without leases, open holds wait for a start. */
const FILLED = `
  DELETE FROM leases;
  UPDATE account_meters SET low_balances = '[]', past_windows = '[]', reversals = '{"used":0,"held":0,"periodStartMs":0}',
    plan = '{"name":"x","windows":[],"groups":null,"anchorMs":1,"paidUntilMs":null,"endsAtMs":null,"overflow":true,"held":0}';
  UPDATE audit_records SET before = '{}', after = '{}';`;

function expectAllNamed(faults: readonly string[]): void {
  const named = storedColumns.filter(({ table, column }) =>
    faults.some((fault) => fault.startsWith(`${table} `) && fault.includes(`its ${column} cannot be read, because `)),
  );
  const labels = (columns: readonly StoredColumn[]) => columns.map(({ table, column }) => `${table}.${column}`);
  expect(labels(named)).toEqual(labels(storedColumns));
  expect(faults.join('\n')).toMatch(/^accounts acct_\w+: its document cannot be read, because it is not an object$/m);
}

test('SQLite: every column with JSON, each row on its own', async () => {
  using copy = await copyOfIt();
  const database = new Database(join(copy.directory, 'turnpike.db'));
  database.run('DROP TRIGGER audit_is_never_updated');
  database.run(ROWS_OF_LATER_TABLES);
  database.run(FILLED);
  const config = readConfig({ data: copy.directory }, {});
  expect(await checkStore(config)).toMatchObject({ ok: true });
  for (const column of storedColumns) database.run(spoil(column));
  database.close();
  const { ok, accounts, faults } = await checkStore(config);
  expect([ok, accounts > 1]).toEqual([false, true]);
  expectAllNamed(faults);
});

describe.skipIf(cannotStartPostgres)('PostgreSQL', () => {
  const made: AsyncDisposable[] = [];
  afterAll(async () => {
    for (const one of made) await one[Symbol.asyncDispose]();
  });

  test('every column with JSON, each row on its own', async () => {
    using copy = await copyOfIt();
    const database = await newDatabase();
    made.push(database);
    await move(copy.directory, database.url);
    await runOn(database.url, `ALTER TABLE audit_records DISABLE TRIGGER ALL; ${ROWS_OF_LATER_TABLES} ${FILLED}`);
    const config = readConfig({ database: database.url }, { TURNPIKE_SECRET: Buffer.alloc(32, 1).toString('base64') });
    expect(await checkStore(config)).toMatchObject({ ok: true });
    await runOn(database.url, storedColumns.map(spoil).join('; '));
    const { ok, accounts, faults } = await checkStore(config);
    expect([ok, accounts > 1]).toEqual([false, true]);
    expectAllNamed(faults);
  });
});
