// An installation moved to PostgreSQL: completely and exactly, served from there as before, and from one side only.

import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { GroupCommit } from '../../../src/ledger/ledger.ts';
import { findOverdueHolds } from '../../../src/maintenance/overdue-holds.ts';
import * as postgres from '../../../src/storage/postgres/postgres.ts';
import * as sqlite from '../../../src/storage/sqlite/sqlite.ts';
import { readSamples } from '../../support/read-samples.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPostgres, runOn } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { isOverPostgres } from '../../support/test-store.ts';
import { answersOf } from './answers-of.ts';
import {
  type InstallationToMove,
  MESSAGE,
  OPEN_RESERVE,
  postMessage,
  sharedInstallation,
} from './installation-to-move.ts';
import {
  atTheDoor,
  copyOfIt,
  holdMoves,
  move,
  moveWords,
  newDatabase,
  ROWS_OF_LATER_TABLES,
  rowsIn,
  serve,
} from './moving.ts';

describe.skipIf(cannotStartPostgres || isOverPostgres)('an installation that is moved to PostgreSQL', () => {
  let installation: InstallationToMove;
  beforeAll(async () => {
    installation = await sharedInstallation();
  });

  test('has all of its rows there, and passes the check on both sides', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    using store = new Database(sqlite.databasePath(copy.directory));
    store.run(ROWS_OF_LATER_TABLES);
    store.close();
    const report = await move(copy.directory, database.url);
    const rows = await rowsIn(database.url);
    const facts = report.rows?.['installation'] ?? 0;
    expect(rows).toEqual({ ...report.rows, installation: facts + 1 }); // The place from which it was moved.
    expect(Object.entries(rows).filter(([, count]) => count === 0)).toEqual([]);
    expect(report).toMatchObject({
      from: copy.directory,
      replaced: [],
      secret: `file:${join(copy.directory, 'secret')}`,
      previous_secret: null, // Nothing is written.
      check: { ok: true, open_holds: 4, faults: [] },
    });
    for (const flags of [
      ['--data', copy.directory],
      ['--database', database.url],
    ])
      expect(JSON.parse((await runTurnpike(['check', ...flags, '--json'])).out)).toEqual(report.check);
  });

  test('returns the same from every read', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await move(copy.directory, database.url);
    const path = sqlite.databasePath(copy.directory);
    const gate = new GroupCommit({} as never); // Holds of a dead process: any node finds them by its lapsed lease.
    const here = sqlite.sqliteStores(path, gate);
    const there = postgres.postgresStores(database.url, gate);
    const answers = await answersOf(here);
    expect(await answersOf(there)).toEqual(answers);
    expect(answers.length).toBeGreaterThan(200);
    expect(await postgres.surveyStore(database.url, 0)).toEqual(sqlite.surveyStore(path, 0));
    here.close();
    await there.close();
  });

  test('is served from there: keys and tokens work, stored responses are replayed, open holds but reserves end', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    const before = await move(copy.directory, database.url);
    const environment = { TURNPIKE_DATABASE_URL: database.url, ...installation.secrets };
    await using turnpike = await spawnTurnpike(undefined, environment);
    const requestId = await postMessage(turnpike, installation.key);
    await postMessage(turnpike, installation.oldKey);
    const again = await turnpike.post(installation.key, MESSAGE, { headers: { 'idempotency-key': 'order-1' } });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    const headers = { authorization: `Bearer ${installation.token}` };
    const listed = await fetch(`${turnpike.url}/api/v1/usage?account=${installation.account}`, { headers });
    expect(((await listed.json()) as { data: { request_id: string }[] }).data.map((row) => row.request_id)).toContain(
      requestId,
    );
    // As a release that does not know of moves reads it.
    const gate = new postgres.PostgresGate(database.url);
    await gate.submit({ operations: [{ kind: 'expire' }] });
    await gate.close();
    const report = JSON.parse((await runTurnpike(['check', '--json'], environment)).out);
    expect(report).toMatchObject({ ok: true, open_holds: 1, entries: before.check.entries + 2 });
    const records = before.rows?.['usage_records'] ?? 0;
    expect(await rowsIn(database.url)).toMatchObject({ usage_records: records + 5 });
    const [left] = await runOn(database.url, 'SELECT request_id AS "requestId", amount::int FROM holds');
    expect(left).toEqual(OPEN_RESERVE);
    const samples = readSamples(await (await turnpike.scrape()).text());
    expect(samples).toMatchObject({ turnpike_open_holds: 1, turnpike_oldest_hold_seconds: 0 });
    expect(findOverdueHolds(await postgres.readHoldsOfNodes(database.url), Date.now())).toEqual([]);
  });

  test('is served by a node that started during the move and waited', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'copying');
    const moving = move(copy.directory, database.url);
    await held.reached();
    const starting = spawnTurnpike(undefined, { TURNPIKE_DATABASE_URL: database.url, ...installation.secrets });
    await atTheDoor(database.url);
    await held.release();
    const { rows } = await moving;
    await using turnpike = await starting;
    await postMessage(turnpike, installation.key);
    expect(await rowsIn(database.url)).toMatchObject({ accounts: rows?.['accounts'], keys: rows?.['keys'] });
  });

  test('is no longer served from its data directory, by any release, until it is moved back', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    const { directory } = copy;
    await move(directory, database.url);
    expect(await serve(directory)).toMatchObject({
      exitCode: 1,
      error: expect.stringContaining('was moved to the data'),
    });
    const again = await runTurnpike(moveWords(directory, database.url));
    expect(again).toMatchObject({ exitCode: 1, error: expect.stringContaining('was moved to the database') });
    const file = new Database(sqlite.databasePath(directory));
    file.run("UPDATE installation SET name = 'unknown' WHERE name = 'moved_to'"); // as a release sees it that knows of no moves
    expect((await serve(directory)).error).toContain('was moved to another database');
    file.run("UPDATE installation SET name = 'moved_to' WHERE name = 'unknown'");
    file.close();
    const back = await runTurnpike(['move', '--take-back', '--from', directory, '--json']);
    expect([back.exitCode, JSON.parse(back.out)]).toEqual([0, { taken_back: true }]);
    await using turnpike = await spawnTurnpike(directory);
    await postMessage(turnpike, installation.key);
    expect(await turnpike.check()).toMatchObject({ ok: true });
  });
});
