// A move that is interrupted at its worst moments: nothing is moved, or everything; never are both sides served; and
// the same command completes it.

import { beforeAll, describe, expect, test } from 'bun:test';
import type { MoveReport } from '../../../src/commands/commands.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { runTurnpike, spawnCommand } from '../../support/run-turnpike.ts';
import { cannotStartPostgres, runOn, sharedPostgres, startPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';
import { isOverPostgres } from '../../support/test-store.ts';
import { postMessage, sharedInstallation } from './installation-to-move.ts';
import {
  copyOfIt,
  type Held,
  holdMoves,
  isEmpty,
  isMarked,
  move,
  moveWords,
  newDatabase,
  rowsIn,
  serve,
  until,
} from './moving.ts';

/** Ways to interrupt a move that waits midway. */
const cuts = {
  'its process is killed': (child: { kill(signal: 'SIGKILL'): void }) => child.kill('SIGKILL'),
  'its connection is ended': (_child: unknown, url: string, pid: number) =>
    runOn(url, `SELECT pg_terminate_backend(${pid})`),
} as const;

const DROP_HOLD = 'DROP FUNCTION wait_here CASCADE';

/** Starts a move, and waits until it is blocked. */
async function begin(directory: string, url: string, held: Held) {
  const child = spawnCommand(moveWords(directory, url));
  return { child, pid: await held.reached() };
}

describe.skipIf(cannotStartPostgres || isOverPostgres)('a move that is cut short', () => {
  let key: string;
  beforeAll(async () => {
    ({ key } = await sharedInstallation());
  });

  for (const [how, cut] of Object.entries(cuts))
    test(`while it copies (${how}) leaves both sides unchanged, and can be repeated`, async () => {
      await using database = await newDatabase();
      using copy = await copyOfIt();
      await using held = await holdMoves(database.url, 'copying');
      const { child, pid } = await begin(copy.directory, database.url, held);
      await cut(child, database.url, pid);
      expect(await child.exited).not.toBe(0);
      await held.release();
      await runOn(database.url, DROP_HOLD);
      expect(await isEmpty(database.url)).toBe(true);
      expect(isMarked(copy.directory)).toBe(false);
      expect(await move(copy.directory, database.url)).toMatchObject({ check: { ok: true } });
    });

  test('while it copies reports that, and its data directory is served as before', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'copying');
    const { child, pid } = await begin(copy.directory, database.url, held);
    await runOn(database.url, `SELECT pg_terminate_backend(${pid})`);
    expect(await new Response(child.stderr).text()).toMatch(/nothing was moved to the database test_\d+ at/);
    await using turnpike = await spawnTurnpike(copy.directory);
    await postMessage(turnpike, key);
  });

  test('by a killed PostgreSQL leaves nothing, and can be repeated when it recovers', async () => {
    const server = await startPostgres({ fsync: 'off' });
    const database = await server.newDatabase(); // Ends with its server.
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'copying');
    const { child } = await begin(copy.directory, database.url, held);
    await server.stop('immediate');
    expect(await child.exited).toBe(1);
    await server.start();
    await runOn(database.url, DROP_HOLD);
    expect(await isEmpty(database.url)).toBe(true);
    expect(await move(copy.directory, database.url)).toMatchObject({ check: { ok: true } });
    await server.remove();
  });

  test('by a refused commit leaves both sides unchanged', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await runOn(
      database.url,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no room'; END $$;
       CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON learned DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const { exitCode, error } = await runTurnpike(moveWords(copy.directory, database.url));
    expect([exitCode, error]).toEqual([
      1,
      expect.stringMatching(/nothing was moved to .*: the server reports: no room/),
    ]);
    expect(await isEmpty(database.url)).toBe(true);
    expect(isMarked(copy.directory)).toBe(false);
  });

  test('in its commit, without effect, serves from neither side until the same command completes it', async () => {
    await using database = await newDatabase();
    await using another = await newDatabase();
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'commit');
    const { child, pid } = await begin(copy.directory, database.url, held);
    await runOn(database.url, `SELECT pg_terminate_backend(${pid})`);
    expect(await new Response(child.stderr).text()).toContain(
      'run the same "turnpike move" again to find out and complete it',
    );
    await held.release();
    await runOn(database.url, DROP_HOLD);
    expect(await isEmpty(database.url)).toBe(true);
    expect((await serve(copy.directory)).error).toContain('may have been committed');
    const elsewhere = await runTurnpike(moveWords(copy.directory, another.url));
    expect(elsewhere).toMatchObject({ exitCode: 1, error: expect.stringContaining('may have been committed') });
    expect(await isEmpty(another.url)).toBe(true);
    const report = await move(copy.directory, database.url);
    expect(report.rows).not.toBeNull();
    expect(report.check.ok).toBe(true);
  });

  test('in its commit, with effect, is recognized by the same command, which moves nothing twice', async () => {
    await using database = await newDatabase();
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'commit');
    const { child, pid } = await begin(copy.directory, database.url, held);
    child.kill('SIGSTOP'); // Drops the answer to its request.
    await held.release();
    const WORKING = `SELECT 1 FROM pg_stat_activity WHERE pid = ${pid} AND state <> 'idle'`;
    await until(async () => ((await runOn(database.url, WORKING)).length === 0 ? true : undefined));
    child.kill('SIGKILL');
    await child.exited;
    const rows = await rowsIn(database.url);
    expect(rows['accounts']).toBe(4);
    expect((await serve(copy.directory)).error).toContain('may have been committed');
    const ran = await runTurnpike(moveWords(copy.directory, database.url));
    expect([ran.exitCode, (JSON.parse(ran.out) as MoveReport).rows]).toEqual([0, null]);
    expect(ran.error).toContain('An earlier move, which was interrupted, had already moved the installation');
    expect(await rowsIn(database.url)).toEqual(rows);
    expect((await serve(copy.directory)).error).toContain('was moved to the database');
  });

  test('by a silent network does not count as over while its connection may still commit', async () => {
    const { port } = await sharedPostgres();
    await using database = await newDatabase();
    await using proxy = await startFaultProxy(port);
    using copy = await copyOfIt();
    await using held = await holdMoves(database.url, 'commit');
    const { child } = await begin(copy.directory, proxy.through(database.url), held);
    proxy.lose(); // Waits for the process to end too.
    child.kill('SIGKILL');
    await child.exited;
    const second = runTurnpike(moveWords(copy.directory, database.url));
    await held.release();
    const { exitCode, error } = await second;
    expect([exitCode, error]).toEqual([1, expect.stringContaining('another move to it is in progress')]);
    expect(isMarked(copy.directory)).toBe(true);
    proxy.cut();
    expect(await move(copy.directory, database.url)).toMatchObject({ rows: null, check: { ok: true } });
  });
});
