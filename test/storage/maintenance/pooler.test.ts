// A real PgBouncer in each of its modes: if nodes cannot work through it, every program that opens the database
// reports the setting to change, and writes nothing.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectionLimits, settingsOf } from '../../../src/storage/postgres/connection.ts';
import { READ_SETTINGS } from '../../../src/storage/postgres/read-pool.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import { cannotStartPgbouncer, type Pgbouncer, startPgbouncer } from '../../support/start-pgbouncer.ts';
import { cannotStartPostgres, runOn, startPostgres, type TestPostgres } from '../../support/start-postgres.ts';
import { spawnTurnpike } from '../../support/start-turnpike.ts';

const SECRET = Buffer.alloc(32, 5).toString('base64');
/**
 * Session settings of nodes that PgBouncer does not know. It refuses connections with a setting that is not listed
 * here.
 */
const ignore_startup_parameters = Object.keys({ ...READ_SETTINGS, ...settingsOf(connectionLimits) }).join();

describe.skipIf(cannotStartPostgres || cannotStartPgbouncer)('through PgBouncer', () => {
  let directory: string;
  let server: TestPostgres;
  let databases = 0;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'turnpike-pooler-'));
    server = await startPostgres();
  });
  afterAll(async () => {
    await server.remove();
    rmSync(directory, { recursive: true, force: true });
  });

  /** An empty database, by its own address and through the pooler. */
  async function newDatabase({ port }: Pgbouncer) {
    const name = `database_${++databases}`;
    await runOn(server.url, `CREATE DATABASE ${name}`);
    const urlAt = (one: number) => `postgres://turnpike@127.0.0.1:${one}/${name}`;
    return { direct: urlAt(server.port), pooled: urlAt(port) };
  }

  const variablesOf = (url: string) => ({ TURNPIKE_DATABASE_URL: url, TURNPIKE_SECRET: SECRET });
  const newDirectory = () => mkdtempSync(join(directory, 'data-'));
  const countTables = async (url: string) =>
    (await runOn(url, "SELECT count(*)::int AS count FROM pg_class WHERE relnamespace = 'public'::regnamespace"))[0];

  describe.each(['transaction', 'statement'])('in %s mode', (pool_mode) => {
    test.each([
      ['as it comes', {}],
      ['ignoring settings of sessions', { ignore_startup_parameters }],
      ['with one connection', { ignore_startup_parameters, default_pool_size: '1' }],
      [
        'with two connections that take turns',
        { ignore_startup_parameters, server_round_robin: '1', default_pool_size: '2' },
      ],
    ])('%s, no node starts, and the error names the cause and the setting', async (_, settings) => {
      await using pooler = await startPgbouncer(server.port, { pool_mode, ...settings });
      const { direct, pooled } = await newDatabase(pooler);
      // Makes the pooler open several connections.
      if ('server_round_robin' in settings) await Promise.all([1, 2].map(() => runOn(pooled, 'SELECT pg_sleep(0.2)')));
      const { exitCode, error } = await runTurnpike(['serve', '--data', newDirectory()], variablesOf(pooled));
      expect([exitCode, error]).toEqual([1, expect.stringContaining(`a connection pooler in ${pool_mode} mode`)]);
      expect(error).toContain('TURNPIKE_DATABASE_URL');
      expect(error).toContain('pool_mode = session');
      expect(error).not.toContain('cannot be written');
      expect(await countTables(direct)).toEqual({ count: 0 });
    });

    test('check, doctor and move report the same', async () => {
      await using pooler = await startPgbouncer(server.port, { pool_mode });
      const { direct, pooled } = await newDatabase(pooler);
      const from = newDirectory();
      await (await spawnTurnpike(from)).stop();
      for (const given of [['check'], ['doctor', '--data', newDirectory()], ['move', '--from', from, '--to', pooled]]) {
        const variables = given[0] === 'move' ? {} : variablesOf(pooled);
        const { exitCode, out, error } = await runTurnpike(given, variables);
        expect([given[0], exitCode]).toEqual([given[0], 1]);
        expect(out + error).toContain(`a connection pooler in ${pool_mode} mode`);
        expect(out + error).toContain('pool_mode = session');
      }
      expect(await countTables(direct)).toEqual({ count: 0 });
    });
  });

  describe('in session mode', () => {
    test('a node serves and check works when session settings are ignored', async () => {
      await using pooler = await startPgbouncer(server.port, { pool_mode: 'session', ignore_startup_parameters });
      const { pooled } = await newDatabase(pooler);
      await using node = await spawnTurnpike(newDirectory(), variablesOf(pooled));
      const { secret } = await node.makeKey();
      const messages = [{ role: 'user', content: 'Hello' }];
      const response = await node.post(secret, { model: 'sandbox-echo', max_tokens: 9, messages });
      expect([response.status, (await response.json()).type]).toEqual([200, 'message']);
      expect((await runTurnpike(['check'], variablesOf(pooled))).exitCode).toBe(0);
    });

    test('no node starts when session settings are refused, and the error names them', async () => {
      await using pooler = await startPgbouncer(server.port, { pool_mode: 'session' });
      const { pooled } = await newDatabase(pooler);
      const { exitCode, error } = await runTurnpike(['serve', '--data', newDirectory()], variablesOf(pooled));
      expect([exitCode, error]).toEqual([1, expect.stringContaining('rejects session settings')]);
      expect(error).toContain('unsupported startup parameter: ');
    });
  });
});
