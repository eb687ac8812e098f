// Store of the killed service: the file in its data directory, or a PostgreSQL server of its own, which can be killed
// too.

import { readConfig } from '../../../src/config/config.ts';
import type { CheckReport } from '../../../src/ledger/ledger.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { databasePath, openForReading } from '../../../src/storage/sqlite/sqlite.ts';
import { runOn, startPostgres } from '../../support/start-postgres.ts';
import type { StoreName } from './points.ts';

export interface CrashedStore extends AsyncDisposable {
  /** Preloads of the service. */
  preloads: readonly string[];
  variables: Record<string, string>;
  check(dataDirectory: string): Promise<CheckReport>;
  /** Holds that are stored now: those that a killed service leaves. */
  countHolds(dataDirectory: string): Promise<number>;
  /** Time until the holds of a killed node have ended. */
  settle(): Promise<void>;
  /** The server's process; null where there is none. */
  process: (() => Promise<number>) | null;
  /** Waits until the server has ended, and restarts it. */
  revive(): Promise<void>;
}

/** A test's lease, the same again before another node acts, two renewals, and a margin for a busy machine. */
const SETTLED_MS_MAX = 20_000;
const REST_MS = 100;
const COUNT_HOLDS = 'SELECT count(*) AS value FROM holds';
const SECRET = Buffer.alloc(32, 'turnpike').toString('base64');

export async function openCrashedStore(name: StoreName): Promise<CrashedStore> {
  return name === 'sqlite' ? openFile() : await openServer();
}

/** Open holds end before the next process listens. */
function openFile(): CrashedStore {
  return {
    preloads: ['./test/verify/crash/crash-points.ts'],
    variables: {},
    check: async (data) => checkStore(readConfig({ data }, {})),
    async countHolds(data) {
      using database = openForReading(databasePath(data));
      return Number(database.prepare<{ value: number }, []>(COUNT_HOLDS).get()?.value);
    },
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
    // Shortens leases before anything uses their duration.
    preloads: ['./test/support/short-leases.ts', './test/verify/crash/postgres-points.ts'],
    variables,
    check: (data) => checkStore(readConfig({ data }, variables)),
    countHolds: async () => Number(await read(COUNT_HOLDS)),
    async settle() {
      const untilMs = Date.now() + SETTLED_MS_MAX;
      while (Date.now() < untilMs && Number(await read(COUNT_HOLDS)) > 0) await Bun.sleep(REST_MS);
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
