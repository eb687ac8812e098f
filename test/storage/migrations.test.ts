// A store that an earlier version of the tables holds is brought to the present one with all it has.

import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { spine } from '../../src/storage/migrations/0001-spine.ts';
import { accessReads } from '../../src/storage/sqlite/access-reads.ts';
import { openForReading, openForWriting } from '../../src/storage/sqlite/sqlite.ts';
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
