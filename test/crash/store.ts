// What the service that is killed keeps its rows in: the file in its data directory, or a PostgreSQL server of its own, which is
// killed as well.

import { readConfig } from '../../src/config.ts';
import type { CheckReport } from '../../src/ledger/ledger.ts';
import { checkStore } from '../../src/maintenance/maintenance.ts';
import { runOn, startPostgres } from '../support/start-postgres.ts';
import type { StoreName } from './points.ts';

export interface CrashedStore extends AsyncDisposable {
  /** Files that the service is started with. */
  preloads: readonly string[];
  variables: Record<string, string>;
  check(dataDirectory: string): Promise<CheckReport>;
  /** Until what a node that was killed has left is ended, or should long be. */
  settle(): Promise<void>;
  /** The server's process; null where there is none. */
  process: (() => Promise<number>) | null;
  /** Waits until the server is gone, and starts it again. */
  revive(): Promise<void>;
}

/** A lease as tests have it, as long again before another node judges, two renewals, and what a busy machine needs. */
const SETTLED_MS_MAX = 20_000;
const REST_MS = 100;
const SECRET = Buffer.alloc(32, 'turnpike').toString('base64');

export async function openCrashedStore(name: StoreName): Promise<CrashedStore> {
  return name === 'sqlite' ? openFile() : await openServer();
}

/** What was left open is ended before the next process listens. */
function openFile(): CrashedStore {
  return {
    preloads: ['./test/crash/crash-points.ts'],
    variables: {},
    check: async (data) => checkStore(readConfig({ data }, {})),
    settle: async () => {},
    process: null,
    revive: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

async function openServer(): Promise<CrashedStore> {
  const server = await startPostgres();
  const { url } = await server.newDatabase();
  const variables = { TURNPIKE_DATABASE_URL: url, TURNPIKE_SECRET: SECRET };
  const read = async (text: string) => (await runOn(url, text))[0]?.['value'];
  return {
    // Leases are short before anything goes by their length.
    preloads: ['./test/support/short-leases.ts', './test/crash/postgres-points.ts'],
    variables,
    check: (data) => checkStore(readConfig({ data }, variables)),
    async settle() {
      const untilMs = Date.now() + SETTLED_MS_MAX;
      while (Date.now() < untilMs && Number(await read('SELECT count(*) AS value FROM holds')) > 0)
        await Bun.sleep(REST_MS);
    },
    process: async () =>
      Number(await read(String.raw`SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1) AS value`)),
    async revive() {
      await server.stop('immediate');
      await server.start();
    },
    [Symbol.asyncDispose]: () => server.remove(),
  };
}
