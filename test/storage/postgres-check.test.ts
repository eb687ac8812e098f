// `check` finds in PostgreSQL everything that it finds in SQLite, and the faults that only PostgreSQL can have.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { checkLedger } from '../../src/ledger/ledger.ts';
import { sumLedger } from '../../src/storage/postgres/postgres.ts';
import { type Corruption, corruptions, unreadable, useLedger } from '../money/ledger/corruptions.ts';
import { openWorkbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres, type TestDatabase } from '../support/start-postgres.ts';
import { copyToPostgres } from './copy-to-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';

// Drops all guards, and defines json_set as in SQLite.
const UNGUARDED = `
  ALTER TABLE entries DISABLE TRIGGER ALL;
  DO $$ DECLARE guard record; BEGIN
    FOR guard IN SELECT conname, conrelid::regclass AS guarded FROM pg_constraint
      WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND conislocal AND coninhcount = 0
    LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', guard.guarded, guard.conname); END LOOP;
  END $$;
  CREATE FUNCTION json_set(document text, path text, value anyelement) RETURNS text LANGUAGE sql AS
    $$ SELECT jsonb_set(document::jsonb, string_to_array(substr(path, 3), '.'), to_jsonb(value))::text $$`;

const ONLY_POSTGRES: readonly Corruption[] = [
  ['a hold that others find under another node', "UPDATE holds SET node = 'node-9'", 'contradicts itself'],
  ['a hold that others find under another epoch', 'UPDATE holds SET epoch = epoch + 1', 'contradicts itself'],
  ['a hold that others find under a claim', "UPDATE holds SET claim = 'order-9'", 'contradicts itself'],
  [
    'a record in another month than its own',
    'UPDATE usage_records SET at_ms = at_ms - 40 * 86400000::bigint',
    'under the wrong month',
  ],
  [
    'a message with a record in two months',
    `CREATE TEMPORARY TABLE again AS SELECT * FROM usage_records;
     UPDATE again SET month = (SELECT max(right(relname, 6)::int) FROM pg_class WHERE relname LIKE 'usage_records_2_____');
     INSERT INTO usage_records SELECT * FROM again`,
    'its usage record is stored twice',
  ],
];

describe.skipIf(cannotStartPostgres)('check sees in PostgreSQL', () => {
  let sound: TestDatabase;
  let opened: OpenedSqlite;

  beforeAll(async () => {
    await using bench = await openWorkbench((clock) => (opened = openSqlite(clock)), 0);
    await useLedger(bench);
    sound = await (await sharedPostgres()).newDatabase();
    await copyToPostgres(opened.database, sound.url);
  });
  afterAll(() => sound[Symbol.asyncDispose]());

  /** Faults of a copy after this change. */
  async function faultsAfter(statement: string): Promise<string[]> {
    const name = 'corrupted';
    const { url } = await sharedPostgres();
    await runOn(url, `CREATE DATABASE ${name} TEMPLATE ${sound.name}`);
    try {
      const corrupted = url.replace(/\/postgres$/, `/${name}`);
      await runOn(corrupted, UNGUARDED);
      await runOn(corrupted, statement);
      return checkLedger(await sumLedger(corrupted)).faults;
    } finally {
      await runOn(url, `DROP DATABASE ${name} WITH (FORCE)`);
    }
  }

  test('no fault in sound rows', async () => {
    expect(await faultsAfter('SELECT 1')).toEqual([]);
  });

  for (const statement of unreadable)
    test(`other faults beside a document that cannot be read: ${statement}`, async () => {
      const faults = await faultsAfter(`${statement}; UPDATE account_meters SET balance = balance + 1`);
      expect(faults.join('\n')).toContain('balance is not the sum of its entries');
    });

  for (const [what, statement, fault] of [...corruptions, ...ONLY_POSTGRES])
    test(what, async () => {
      expect((await faultsAfter(statement)).join('\n')).toContain(fault);
    });
});
