// `check` sees in PostgreSQL all that it sees in SQLite, and what only PostgreSQL can have wrong.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { checkLedger } from '../../src/ledger/ledger.ts';
import { sumLedger } from '../../src/storage/postgres/postgres.ts';
import { type Corruption, corruptions, useLedger } from '../ledger/corruptions.ts';
import { openWorkbench } from '../ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres, type TestDatabase } from '../support/start-postgres.ts';
import { copyToPostgres } from './copy-to-postgres.ts';
import { type OpenedSqlite, openSqlite } from './open-sqlite.ts';

// Nothing refuses a wrong row, and json_set is what it is in SQLite.
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
  ['a hold that others find under another node', "UPDATE holds SET node = 'node-9'", 'at odds with itself'],
  ['a hold that others find under another epoch', 'UPDATE holds SET epoch = epoch + 1', 'at odds with itself'],
  ['a hold that others find under a claim', "UPDATE holds SET claim = 'order-9'", 'at odds with itself'],
  [
    'a record in another month than its own',
    'UPDATE usage_records SET at_ms = at_ms - 40 * 86400000::bigint',
    'in a month that is not its own',
  ],
  [
    'a message with a record in two months',
    `CREATE TEMPORARY TABLE again AS SELECT * FROM usage_records;
     UPDATE again SET month = (SELECT max(right(relname, 6)::int) FROM pg_class WHERE relname LIKE 'usage_records_2_____');
     INSERT INTO usage_records SELECT * FROM again`,
    'its usage record stands twice',
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

  /** The faults of a copy in which that was done. */
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

  test('nothing wrong with sound rows', async () => {
    expect(await faultsAfter('SELECT 1')).toEqual([]);
  });

  for (const [what, statement, fault] of [...corruptions, ...ONLY_POSTGRES])
    test(what, async () => {
      expect((await faultsAfter(statement)).join('\n')).toContain(fault);
    });
});
