// What stands against a move to PostgreSQL: told in words, with nothing done on either side.

import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { databasePath } from '../../src/storage/sqlite/sqlite.ts';
import { type RanProcess, runTurnpike } from '../support/run-turnpike.ts';
import { cannotStartPostgres, runOn, sharedPostgres } from '../support/start-postgres.ts';
import { spawnTurnpike } from '../support/start-turnpike.ts';
import { isOverPostgres } from '../support/test-store.ts';
import { type InstallationToMove, sharedInstallation } from './installation-to-move.ts';
import { atTheDoor, copyOfIt, isEmpty, isMarked, move, moveWords, newDatabase, rowsIn } from './moving.ts';

type Prepare = (directory: string, url: string) => unknown;

/** What is done before, what the environment says besides, and what is told. */
const refused: readonly [what: string, prepare: Prepare, environment: Record<string, string>, words: RegExp][] = [
  [
    'whose ledger is not in order',
    (directory) => change(directory, 'UPDATE account_meters SET balance = balance - 1'),
    {},
    /the ledger in .*turnpike\.db is not in order, so nothing was moved:\nacct_\w+ balance against its entries/,
  ],
  [
    'whose tables a later release made',
    (directory) => change(directory, 'PRAGMA user_version = 99'),
    {},
    /are of version 99, this program knows version \d+: move it with the release that made them/,
  ],
  [
    'whose secret is not here',
    (directory) => rmSync(join(directory, 'secret')),
    {},
    /secret is not here: there is no file .*secret, and TURNPIKE_SECRET is not set/,
  ],
  [
    'of which another secret is given',
    () => {},
    { TURNPIKE_SECRET: Buffer.alloc(32, 'x').toString('base64') },
    /TURNPIKE_SECRET is not the one that the installation is under/,
  ],
  [
    'to a database that has something in a table',
    (_directory, url) => runOn(url, "INSERT INTO leases VALUES ('node-7', 1, 1)"),
    {},
    /nothing was moved to the database test_\d+ at 127\.0\.0\.1:\d+: it has data already \(leases\)/,
  ],
];

/** Takes back what src/storage/migrations/0008-statements.ts does. */
const undoTheEighth = [
  'DROP INDEX entries_of_kind',
  'DROP INDEX entries_of_message',
  'DROP TABLE month_changes',
  'ALTER TABLE account_meters DROP COLUMN month_start_ms',
  'ALTER TABLE account_meters DROP COLUMN month_opening',
  'PRAGMA user_version = 7',
];

describe.skipIf(cannotStartPostgres || isOverPostgres)('a move is refused', () => {
  let installation: InstallationToMove;
  beforeAll(async () => {
    installation = await sharedInstallation();
  }, 60_000);

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

  test('while a service runs on the data directory, which goes on', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await using turnpike = await spawnTurnpike(copy.directory);
    const ran = await runTurnpike(moveWords(copy.directory, database.url));
    expect(ran).toMatchObject({ exitCode: 1, error: expect.stringContaining('a service runs on the data directory') });
    expect((await fetch(`${turnpike.url}/readyz`)).status).toBe(200);
    expect(await isEmpty(database.url)).toBe(true);
  });

  test('where there is nothing to move', async () => {
    using copy = await copyOfIt();
    const nowhere = join(copy.directory, 'nowhere');
    mkdirSync(nowhere);
    const ran = await runTurnpike(moveWords(nowhere, 'postgres://turnpike@127.0.0.1:1/x'));
    expect(ran.error).toContain(`there is no database at ${join(nowhere, 'turnpike.db')}`);
    const back = await runTurnpike(['move', '--take-back', '--from', nowhere]);
    expect(back).toMatchObject({ exitCode: 1, error: expect.stringContaining('there is no database at') });
  });

  test('where no database can be had, without a word of its password', async () => {
    const { url } = await sharedPostgres();
    await runOn(url, "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    using copy = await copyOfIt();
    const cases: [address: string, exitCode: number, words: string][] = [
      ['mysql://turnpike:hunter2@127.0.0.1/x', 2, '--to must be the address of a PostgreSQL database'],
      ['hunter2', 2, '--to must be the address of a PostgreSQL database'],
      ['postgres://turnpike:hunter2@127.0.0.1:1/x', 1, 'nothing listens there'],
      [url.replace('turnpike@', 'turnpike:hunter2@').replace(/postgres$/, 'absent'), 1, '"absent" does not exist'],
      [url.replace(/postgres$/, 'latin'), 1, 'it has the encoding LATIN1: UTF8 is needed'],
    ];
    for (const [address, exitCode, words] of cases) {
      const ran = await runTurnpike(moveWords(copy.directory, address));
      expect([ran.exitCode, ran.error]).toEqual([exitCode, expect.stringContaining(words)]);
      expect(ran.error).not.toContain('hunter2');
    }
    const missing = await runTurnpike(['move', '--from', copy.directory]);
    expect(missing).toMatchObject({ exitCode: 2, error: expect.stringContaining('--to is missing') });
    const both = await runTurnpike(['move', '--take-back', '--from', copy.directory, '--to', url]);
    expect(both).toMatchObject({ exitCode: 2, error: expect.stringContaining('--take-back looks at no database') });
    expect(isMarked(copy.directory)).toBe(false);
  });

  test('to one that another is moved to at the same time: one of two is made, the other is left as it was', async () => {
    await using database = await newDatabase();
    using one = await copyOfIt();
    using other = await copyOfIt();
    const directories = [one.directory, other.directory];
    const ran = await Promise.all(directories.map((directory) => runTurnpike(moveWords(directory, database.url))));
    const made = ran.map(({ exitCode }) => exitCode === 0);
    expect(made.toSorted()).toEqual([false, true]);
    expect(directories.map(isMarked)).toEqual(made);
    const loser = ran.find(({ exitCode }) => exitCode !== 0) as RanProcess;
    expect(loser.error).toMatch(/another move to it is under way|it has data already/);
    expect(JSON.parse((await runTurnpike(['check', '--database', database.url, '--json'])).out).ok).toBe(true);
  });

  test('to one that a node comes to while it is begun', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    const door = new SQL({ url: database.url, max: 1 });
    await door.unsafe('SELECT pg_advisory_lock(7416, 0)');
    const moving = runTurnpike(moveWords(copy.directory, database.url));
    await atTheDoor(database.url);
    await runOn(database.url, "INSERT INTO leases VALUES ('node-7', 1, 1)");
    await door.close({ timeout: 0 });
    expect(await moving).toMatchObject({ exitCode: 1, error: expect.stringContaining('it has data already (leases)') });
    expect(await rowsIn(database.url)).toMatchObject({ leases: 1, accounts: 0 });
    expect(isMarked(copy.directory)).toBe(false);
  });

  test('for none of these: tables of an earlier release, the secret in the environment, the address there too', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    for (const statement of undoTheEighth) change(copy.directory, statement);
    for (const name of ['secret', 'secret.previous']) rmSync(join(copy.directory, name));
    const environment = { TURNPIKE_DATABASE_URL: database.url, ...installation.secrets };
    const ran = await runTurnpike(['move', '--from', copy.directory], environment);
    expect(ran).toMatchObject({ exitCode: 0, error: expect.stringContaining('brought from version 7') });
    expect(ran.out).toMatch(/SECRET +TURNPIKE_SECRET/);
    expect(ran.out + ran.error).not.toContain(installation.secrets.TURNPIKE_SECRET);
  });

  test('never to an address whose database was moved to before, by the installation it was moved from', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await move(copy.directory, database.url);
    await runTurnpike(['move', '--take-back', '--from', copy.directory]);
    const ran = await runTurnpike(moveWords(copy.directory, database.url));
    expect(ran).toMatchObject({ exitCode: 1, error: expect.stringContaining('it has data already') });
    expect(isMarked(copy.directory)).toBe(false);
  });
});

function change(directory: string, statement: string): void {
  using file = new Database(databasePath(directory));
  file.run(statement);
}
