// Installations with a backup each, which lose their machine under load and are brought back. The answers that clients
// received are then compared with the stored records.

import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../../../src/config/config.ts';
import type { CheckReport } from '../../../src/ledger/ledger.ts';
import { checkStore } from '../../../src/maintenance/maintenance.ts';
import { databasePath, openForReading } from '../../../src/storage/sqlite/sqlite.ts';
import { type Acknowledged, type Callers, nothingAcknowledged, runLoad } from '../../money/load.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { makeKeyBelow } from '../../support/make-key-below.ts';
import { makeRandom } from '../../support/random.ts';
import { runTurnpike } from '../../support/run-turnpike.ts';
import {
  makeServerDirectory,
  postgresProgram,
  runOn,
  runServerProgram,
  startPostgres,
  type TestPostgres,
} from '../../support/start-postgres.ts';
import { spawnTurnpike, type Turnpike } from '../../support/start-turnpike.ts';
import { restoreReplica, startLitestream } from './litestream.ts';

/** The files of a lost server are not used again, so that it need not wait for its disk. */
const QUICK = { fsync: 'off' };
const SECRET = Buffer.alloc(32, 'backups').toString('base64');
const BACK_MS_MAX = 60_000;
const HELLO = { model: 'sandbox-echo', max_tokens: 20, messages: [{ role: 'user', content: 'hello' }] };

/** An installation whose store can be lost. */
export interface Installation {
  turnpike: Turnpike;
  /** Makes a backup, or waits until the continuous one has everything that is committed now. */
  backUp(): Promise<void>;
  /** The machine of the store dies: its processes are killed and its files removed. */
  lose(): Promise<void>;
  /** Brings the store back from the backup, or fails over. Resolves to the service that answers then. */
  recover(): Promise<Turnpike>;
  /** The request ids of the stored usage records. */
  storedIds(): Promise<Set<string>>;
  check(): Promise<CheckReport>;
  close(): Promise<void>;
}

export type SetUp = () => Promise<Installation>;

/** SQLite, and a file of `turnpike backup`. */
export const sqliteWithBackup: SetUp = async () => {
  const home = newHome();
  const file = join(home, 'backup.db');
  return await sqlite(home, {
    backUp: async (data) => void (await mustRun(['backup', file, '--data', data])),
    lose: async () => {},
    fetch: async () => file,
  });
};

/** SQLite, and Litestream. */
export const sqliteWithLitestream =
  (program: string): SetUp =>
  async () => {
    const home = newHome();
    const [data, replica, file] = [join(home, 'data'), join(home, 'replica'), join(home, 'restored.db')];
    const litestream = { running: null as Awaited<ReturnType<typeof startLitestream>> | null };
    const installation = await sqlite(home, {
      backUp: async () => void (await litestream.running?.sync('turnpike.db')),
      lose: async () => void (await litestream.running?.kill()),
      async fetch() {
        restoreReplica(program, data, replica, file);
        return file;
      },
    });
    litestream.running = await startLitestream(program, data, replica);
    return installation;
  };

interface SqliteBackup {
  backUp(data: string): Promise<void>;
  lose(): Promise<void>;
  /** The file to restore from. */
  fetch(): Promise<string>;
}

async function sqlite(home: string, backup: SqliteBackup): Promise<Installation> {
  const [data, restored, secret] = [join(home, 'data'), join(home, 'restored'), join(home, 'secret')];
  const first = await spawnTurnpike(data);
  copyFileSync(join(data, 'secret'), secret);
  let second: Turnpike | null = null;
  return {
    turnpike: first,
    backUp: () => backup.backUp(data),
    async lose() {
      first.process.kill('SIGKILL');
      await Promise.all([first.process.exited, backup.lose()]);
      rmSync(data, { recursive: true });
    },
    async recover() {
      await mustRun(['restore', await backup.fetch(), '--data', restored, '--secret', secret]);
      second = await spawnTurnpike(restored);
      return second;
    },
    async storedIds() {
      const database = openForReading(databasePath(restored));
      try {
        return idsOf(database.query(IDS).all() as { request_id: string }[]);
      } finally {
        database.close();
      }
    },
    check: () => checkStore(readConfig({ data: restored }, {})),
    async close() {
      await second?.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL, a base backup and an archive of its log. `archiveSeconds`: a segment is archived at the latest after this time. */
export const postgresWithArchive =
  (archiveSeconds: number): SetUp =>
  async () => {
    const archive = makeServerDirectory();
    const base = join(archive, 'base');
    const settings = {
      archive_mode: 'on',
      archive_command: `test ! -f ${archive}/%f && cp %p ${archive}/%f.part && mv ${archive}/%f.part ${archive}/%f`,
      archive_timeout: String(archiveSeconds),
    };
    return await postgres(settings, {
      start: async () => {},
      backUp: (server) => runServerProgram(baseBackup(server, base)),
      async recover() {
        const restore = (data: string) => ['sh', '-c', `cp -a ${base} "$0" && touch "$0/recovery.signal"`, data];
        return await startPostgres({ ...QUICK, restore_command: `cp ${archive}/%f %p` }, restore);
      },
      close: async () => rmSync(archive, { recursive: true, force: true }),
    });
  };

/** PostgreSQL with a standby that is promoted. */
export const postgresWithStandby =
  (isSynchronous: boolean): SetUp =>
  async () => {
    let standby: TestPostgres | null = null;
    return await postgres(isSynchronous ? {} : { synchronous_commit: 'local' }, {
      async start(server) {
        standby = await startPostgres({ ...QUICK, cluster_name: 'standby' }, (data) => [
          ...baseBackup(server, data),
          '-R',
        ]);
        if (!isSynchronous) return;
        await runOn(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        await runOn(server.url, 'SELECT pg_reload_conf()');
        await untilTrue(server.url, "SELECT count(*) = 1 AS is_so FROM pg_stat_replication WHERE sync_state = 'sync'");
      },
      backUp: async () => {},
      async recover() {
        if (standby === null) throw new Error('there is no standby');
        await runOn(standby.url, 'SELECT pg_promote()');
        return standby;
      },
      close: async () => standby?.remove(),
    });
  };

function baseBackup(server: TestPostgres, target: string): string[] {
  const program = postgresProgram('pg_basebackup');
  const from = ['-h', '127.0.0.1', '-p', String(server.port), '-U', 'turnpike'];
  return [program, '-D', target, ...from, '-c', 'fast', '--no-sync'];
}

interface PostgresBackup {
  start(server: TestPostgres): Promise<void>;
  backUp(server: TestPostgres): Promise<void>;
  /** The server that takes over. */
  recover(): Promise<TestPostgres>;
  close(): Promise<void>;
}

/** The node reaches the database by an address that leads to the other server after a recovery. */
async function postgres(settings: Record<string, string>, backup: PostgresBackup): Promise<Installation> {
  const home = newHome();
  const server = await startPostgres({ ...QUICK, wal_level: 'replica', max_wal_senders: '5', ...settings });
  const database = await server.newDatabase();
  await backup.start(server);
  let other: TestPostgres | null = null;
  const proxy = await startFaultProxy(() => (other ?? server).port);
  const environment = { TURNPIKE_DATABASE_URL: proxy.through(database.url), TURNPIKE_SECRET: SECRET };
  const turnpike = await spawnTurnpike(join(home, 'data'), environment);
  const url = () => database.url.replace(`:${server.port}/`, `:${other?.port}/`);
  return {
    turnpike,
    backUp: () => backup.backUp(server),
    async lose() {
      await server.remove();
      proxy.cut('reset');
    },
    async recover() {
      other = await backup.recover();
      await untilTrue(url(), 'SELECT NOT pg_is_in_recovery() AS is_so');
      return turnpike;
    },
    storedIds: async () => idsOf((await runOn(url(), IDS)) as { request_id: string }[]),
    check: () => checkStore(readConfig({ data: home, database: url() }, {})),
    async close() {
      turnpike.process.kill('SIGKILL');
      await turnpike.process.exited;
      await proxy.close();
      await (other ?? server).remove();
      await backup.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}

async function untilTrue(url: string, question: string): Promise<void> {
  for (const untilMs = Date.now() + BACK_MS_MAX; ; await Bun.sleep(20)) {
    const [row] = await runOn(url, question).catch(() => []);
    if (row?.['is_so'] === true) return;
    if (Date.now() > untilMs) throw new Error(`not so: ${question}`);
  }
}

const IDS = 'SELECT request_id FROM usage_records';

function idsOf(rows: { request_id: string }[]): Set<string> {
  return new Set(rows.map(({ request_id }) => request_id));
}

async function mustRun(given: string[]): Promise<void> {
  const { exitCode, error } = await runTurnpike(given);
  if (exitCode !== 0) throw new Error(`turnpike ${given.join(' ')}: ${error}`);
}

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-backups-'));
  mkdirSync(join(home, 'replica'));
  return home;
}

/** Messages by the time when their client had the answer. */
class TimedMessages extends Map<string, number> {
  readonly atMs = new Map<string, number>();
  override set(requestId: string, cost: number): this {
    this.atMs.set(requestId, performance.now());
    return super.set(requestId, cost);
  }
}

export interface Loss {
  /** Messages whose client had the whole answer before the loss, and those of them that are not stored. */
  acknowledged: number;
  lost: string[];
  /** Messages that were acknowledged before the backup was complete, and are not stored. */
  lostBefore: string[];
  /** Between the answer of the earliest message that is lost, and the loss. */
  lostSeconds: number;
  /** From the loss until a message is answered. */
  backSeconds: number;
  check: CheckReport;
}

/** Each half of the load lasts for so long, and until so many messages were acknowledged. */
export interface LoadLength {
  ms: number;
  messages: number;
}

/** Sends load, makes the backup after half of it, loses the store, and brings it back. */
export async function loseStore(installation: Installation, half: LoadLength): Promise<Loss> {
  const { turnpike } = installation;
  const callers = await makeCallers(turnpike);
  const messages = new TimedMessages();
  const acknowledged: Acknowledged = { ...nothingAcknowledged(), messages };
  let isOver = false;
  const loading = runLoad({ turnpike, callers, acknowledged, random: makeRandom(7), isOver: () => isOver });
  await waitForLoad(messages, half);
  const before = [...messages.keys()];
  await installation.backUp();
  await waitForLoad(messages, half);
  const answered = [...messages.keys()]; // before the loss, which takes a moment
  const lostAtMs = performance.now();
  await installation.lose();
  isOver = true;
  const back = await installation.recover();
  await untilAnswered(back, callers.secrets[0] as string);
  const backMs = performance.now() - lostAtMs;
  await loading;
  const stored = await installation.storedIds();
  const lost = answered.filter((id) => !stored.has(id));
  const earliestMs = Math.min(lostAtMs, ...lost.map((id) => messages.atMs.get(id) ?? lostAtMs));
  return {
    acknowledged: answered.length,
    lost,
    lostBefore: before.filter((id) => !stored.has(id)),
    lostSeconds: (lostAtMs - earliestMs) / 1000,
    backSeconds: backMs / 1000,
    check: await installation.check(),
  };
}

async function waitForLoad(messages: ReadonlyMap<string, number>, { ms, messages: count }: LoadLength): Promise<void> {
  const [countBefore, startMs] = [messages.size, performance.now()];
  while (performance.now() - startMs < ms || messages.size - countBefore < count) await Bun.sleep(10);
}

async function makeCallers(turnpike: Turnpike): Promise<Callers> {
  const callers: Callers = { accounts: [], secrets: [], keys: [] };
  for (const credit of ['500.00', '500.00']) {
    const { account, key, secret } = await turnpike.makeKey({ credit });
    callers.accounts.push(account);
    callers.secrets.push(secret);
    callers.keys.push(key);
  }
  const [company = ''] = callers.accounts;
  callers.secrets.push(await makeKeyBelow(turnpike, company));
  return callers;
}

async function untilAnswered(turnpike: Turnpike, secret: string): Promise<void> {
  for (const untilMs = Date.now() + BACK_MS_MAX; ; await Bun.sleep(20)) {
    const response = await turnpike.post(secret, HELLO);
    await response.text();
    if (response.status === 200) return;
    if (Date.now() > untilMs) throw new Error(`no answer after a recovery, but ${response.status}`);
  }
}
