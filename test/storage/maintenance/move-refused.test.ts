// Reasons to refuse a move to PostgreSQL: each is printed, and neither side changes.

import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { databasePath } from '../../../src/storage/sqlite/sqlite.ts';
import { type RanProcess, runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPostgres, runOn, sharedPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { isOverPostgres } from '../../support/test-store.ts';
import { type InstallationToMove, sharedInstallation } from './installation-to-move.ts';
import { atTheDoor, copyOfIt, isEmpty, isMarked, move, moveWords, newDatabase, rowsIn } from './moving.ts';

type Prepare = (directory: string, url: string) => unknown;

/** Preparation, extra environment variables, and the expected message. */
const refused: readonly [what: string, prepare: Prepare, environment: Record<string, string>, words: RegExp][] = [
  [
    'whose ledger violates its invariants',
    (directory) => change(directory, 'UPDATE account_meters SET balance = balance - 1 WHERE balance > 0'),
    {},
    /the ledger in .*turnpike\.db is inconsistent, so nothing was moved:\nacct_\w+: balance is not the sum of its entries/,
  ],
  [
    'whose tables a later release made',
    (directory) => change(directory, 'PRAGMA user_version = 99'),
    {},
    /have version 99; this release supports versions up to \d+: move them with the release that wrote them/,
  ],
  [
    'whose tables are of a version that this release does not take over',
    (directory) => change(directory, 'PRAGMA user_version = 7'),
    {},
    /the database has version 7; this release can migrate version 8 and later/,
  ],
  [
    'whose secret is not here',
    (directory) => rmSync(join(directory, 'secret')),
    {},
    /secret is missing: there is no file .*secret, and TURNPIKE_SECRET is not set/,
  ],
  [
    'of which another secret is given',
    () => {},
    { TURNPIKE_SECRET: Buffer.alloc(32, 'x').toString('base64') },
    /TURNPIKE_SECRET is not the secret of this installation/,
  ],
  [
    'to a database that has something in a table',
    (_directory, url) => runOn(url, "INSERT INTO leases VALUES ('node-7', 1, 1)"),
    {},
    /nothing was moved to the database test_\d+ at 127\.0\.0\.1:\d+: it is not empty \(leases\)/,
  ],
];

describe.skipIf(cannotStartPostgres || isOverPostgres)('a move is refused', () => {
  let installation: InstallationToMove;
  beforeAll(async () => {
    installation = await sharedInstallation();
  });

  for (const [what, prepare, environment, words] of refused)
    test(`of an installation ${what}`, async () => {
      await using database = await newDatabase();
      using copy = await copyOfIt();
      await prepare(copy.directory, database.url);
      const ran = await runTurnpike(moveWords(copy.directory, database.url), environment);
      expect([ran.exitCode, ran.out, ran.error]).toEqual([1, '', expect.stringMatching(words)]);
      expect(isMarked(copy.directory)).toBe(false);
      if (!words.source.includes('leases')) expect(await isEmpty(database.url)).toBe(true);
    });

  test('while a service runs on the data directory, which continues', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await using turnpike = await spawnTurnpike(copy.directory);
    const ran = await runTurnpike(moveWords(copy.directory, database.url));
    expect(ran).toMatchObject({ exitCode: 1, error: expect.stringContaining('is running on the data directory') });
    expect((await fetch(`${turnpike.url}/readyz`)).status).toBe(200);
    expect(await isEmpty(database.url)).toBe(true);
  });

  test('if there is nothing to move', async () => {
    using copy = await copyOfIt();
    const nowhere = join(copy.directory, 'nowhere');
    mkdirSync(nowhere);
    const ran = await runTurnpike(moveWords(nowhere, 'postgres://turnpike@127.0.0.1:1/x'));
    expect(ran.error).toContain(`there is no database at ${join(nowhere, 'turnpike.db')}`);
    const back = await runTurnpike(['move', '--take-back', '--from', nowhere]);
    expect(back).toMatchObject({ exitCode: 1, error: expect.stringContaining('there is no database at') });
  });

  test('if the database is unavailable, without revealing its password', async () => {
    const { url } = await sharedPostgres();
    await runOn(url, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    using copy = await copyOfIt();
    const cases: [address: string, exitCode: number, words: string][] = [
      ['mysql://turnpike:hunter2@127.0.0.1/x', 2, '--to must be the address of a PostgreSQL database'],
      ['hunter2', 2, '--to must be the address of a PostgreSQL database'],
      ['postgres://turnpike:hunter2@127.0.0.1:1/x', 1, 'nothing listens there'],
      [url.replace('turnpike@', 'turnpike:hunter2@').replace(/postgres$/, 'absent'), 1, '"absent" does not exist'],
      [url.replace(/postgres$/, 'latin'), 1, 'it has the encoding LATIN1: UTF8 is required'],
    ];
    for (const [address, exitCode, words] of cases) {
      const ran = await runTurnpike(moveWords(copy.directory, address));
      expect([ran.exitCode, ran.error]).toEqual([exitCode, expect.stringContaining(words)]);
      expect(ran.error).not.toContain('hunter2');
    }
    const missing = await runTurnpike(['move', '--from', copy.directory]);
    expect(missing).toMatchObject({ exitCode: 2, error: expect.stringContaining('--to is missing') });
    const both = await runTurnpike(['move', '--take-back', '--from', copy.directory, '--to', url]);
    expect(both).toMatchObject({ exitCode: 2, error: expect.stringContaining('--take-back does not use a database') });
    expect(isMarked(copy.directory)).toBe(false);
  });

  test('to the target of a concurrent move: one succeeds, and the source of the other is unchanged', async () => {
    await using database = await newDatabase();
    using one = await copyOfIt();
    using other = await copyOfIt();
    const directories = [one.directory, other.directory];
    const ran = await Promise.all(directories.map((directory) => runTurnpike(moveWords(directory, database.url))));
    const made = ran.map(({ exitCode }) => exitCode === 0);
    expect(made.toSorted()).toEqual([false, true]);
    expect(directories.map(isMarked)).toEqual(made);
    const loser = ran.find(({ exitCode }) => exitCode !== 0) as RanProcess;
    expect(loser.error).toMatch(/another move to it is in progress|it is not empty/);
    expect(JSON.parse((await runTurnpike(['check', '--database', database.url, '--json'])).out).ok).toBe(true);
  });

  test('to a database on which a node starts meanwhile', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    const door = new SQL({ url: database.url, max: 1 });
    await door.unsafe('SELECT pg_advisory_lock(7416, 0)');
    const moving = runTurnpike(moveWords(copy.directory, database.url));
    await atTheDoor(database.url);
    await runOn(database.url, "INSERT INTO leases VALUES ('node-7', 1, 1)");
    await door.close({ timeout: 0 });
    expect(await moving).toMatchObject({ exitCode: 1, error: expect.stringContaining('it is not empty (leases)') });
    expect(await rowsIn(database.url)).toMatchObject({ leases: 1, accounts: 0 });
    expect(isMarked(copy.directory)).toBe(false);
  });

  test('for neither a secret nor an address in the environment', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    for (const name of ['secret', 'secret.previous']) rmSync(join(copy.directory, name));
    const environment = { TURNPIKE_DATABASE_URL: database.url, ...installation.secrets };
    const ran = await runTurnpike(['move', '--from', copy.directory], environment);
    expect(ran).toMatchObject({ exitCode: 0 });
    expect(ran.out).toMatch(/SECRET +TURNPIKE_SECRET/);
    expect(ran.out + ran.error).not.toContain(installation.secrets.TURNPIKE_SECRET);
  });

  test('never for the installation that was moved to this database before', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await move(copy.directory, database.url);
    await runTurnpike(['move', '--take-back', '--from', copy.directory]);
    const ran = await runTurnpike(moveWords(copy.directory, database.url));
    expect(ran).toMatchObject({ exitCode: 1, error: expect.stringContaining('it is not empty') });
    expect(isMarked(copy.directory)).toBe(false);
  });
});

function change(directory: string, statement: string): void {
  using file = new Database(databasePath(directory));
  file.run(statement);
}
