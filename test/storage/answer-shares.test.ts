// Shares of stored responses: tables of an earlier release, and nodes that store and drop responses concurrently.

import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { bounds } from '../../src/config/config.ts';
import { answerRow } from '../../src/storage/co-committed.ts';
import { type Migration, migrations } from '../../src/storage/migrations/migrations.ts';
import { PostgresGate, prepareDatabase } from '../../src/storage/postgres/postgres.ts';
import { openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { openWorkbench, START_MS, usageRecord, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgresLanes } from './open-postgres.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** The migrations before the shares. */
const earlier = migrations.slice(
  0,
  migrations.findIndex(({ name }) => name === 'answer shares'),
);
const day = Math.floor(START_MS / 86_400_000);
const ofEarlier = { account_id: 0, bytes: 12, paid: 2_000_000_000, day };
const SHARES = 'SELECT account_id, bytes, paid, day FROM answer_shares ORDER BY account_id';

test('responses that an earlier release stored in SQLite are kept, counted and dropped', () => {
  using directory = temporaryDirectory();
  const path = join(directory.path, 'turnpike.db');
  {
    using database = new Database(path, { create: true });
    for (const { sqlite } of earlier) database.run(sqlite);
    database.run(`PRAGMA user_version = ${(earlier.at(-1) as Migration).version}`);
    for (const [at, bytes] of [5, 7].entries())
      database.run(
        `INSERT INTO answers (request_id, at_ms, bytes, sealed) VALUES ('req_${at}', ${START_MS}, ${bytes}, 's')`,
      );
  }
  using database = openForWriting(path);
  expect(database.query('SELECT request_id, sealed FROM answers ORDER BY seq').all()).toEqual([
    { request_id: 'req_0', sealed: 's' },
    { request_id: 'req_1', sealed: 's' },
  ]);
  expect(database.query(SHARES).all()).toEqual([ofEarlier]);
  database.run("DELETE FROM answers WHERE request_id = 'req_0'");
  expect(database.query(SHARES).all()).toEqual([{ ...ofEarlier, bytes: 7 }]);
  expect(database.query('SELECT bytes FROM answers_stored').all()).toEqual([{ bytes: 7 }]);
});

describe.skipIf(cannotStartPostgres)('in PostgreSQL', () => {
  test('responses that an earlier release stored, and goes on storing beside this one, are kept, counted and dropped', async () => {
    const server = await sharedPostgres();
    await runOn(server.url, 'CREATE DATABASE before_shares');
    const url = server.url.replace(/\/postgres$/, '/before_shares');
    const store = (at: number, bytes: number) =>
      `INSERT INTO answers (request_id, at_ms, bytes, sealed, slot) VALUES ('req_${at}', ${START_MS}, ${bytes}, 's', ${at})`;
    await runOn(
      url,
      'CREATE TABLE schema_versions (version bigint PRIMARY KEY, name text NOT NULL, least_known bigint NOT NULL)',
    );
    for (const { version, name, leastKnown, postgres } of earlier)
      await runOn(url, `${postgres}; INSERT INTO schema_versions VALUES (${version}, '${name}', ${leastKnown})`);
    await runOn(url, store(0, 5));
    await prepareDatabase(url);
    await runOn(url, store(1, 7));
    const shares = `SELECT account_id::int, bytes::int, paid::float8, day FROM answer_shares`;
    expect(await runOn(url, shares)).toEqual([ofEarlier]);
    await runOn(url, "DELETE FROM answers WHERE request_id = 'req_0'");
    expect(await runOn(url, shares)).toEqual([{ ...ofEarlier, bytes: 7 }]);
    expect(await runOn(url, 'SELECT sum(bytes)::int AS bytes FROM answers_stored')).toEqual([{ bytes: 7 }]);
  });

  test('three nodes that store and drop concurrently keep the responses of a small account, and count exactly', async () => {
    let opened: OpenedPostgres | undefined;
    await using bench = await openWorkbench(async (clock) => (opened = await openPostgresLanes(clock)), 1_000_000);
    const url = (opened as OpenedPostgres | undefined)?.url as string;
    const gates = Array.from({ length: 3 }, () => new PostgresGate(url, { clock: bench.clock }));
    const small = await payerOf(bench);
    const large = await Promise.all(range(8).map(() => payerOf(bench)));
    const own = await Promise.all(range(10).map(() => store(bench, gates[0] as PostgresGate, small, 1_000)));
    const bytes = Math.floor(bounds.answersStoredBytesMax / 40);
    for (const isOld of [true, true, true, true, false]) {
      const storing = range(48).map((at) => {
        const atMs = isOld && at % 2 === 0 ? START_MS - 2 : START_MS;
        return store(bench, gates[at % 3] as PostgresGate, large[at % 8] as Payer, bytes + at, atMs);
      });
      await Promise.all([...storing, bench.stores.retention.forget('answers', START_MS - 1)]);
    }
    await store(bench, gates[0] as PostgresGate, large[0] as Payer, bytes);
    await Promise.all(gates.map((gate) => gate.close()));
    for (const requestId of own) expect(await bench.stores.answers.findAnswer(requestId)).not.toBeNull();
    const read = async (text: string) => (await runOn(url, text)) as Record<string, number>[];
    const stored =
      'SELECT account_id::float8, sum(bytes)::float8 AS bytes FROM answers GROUP BY account_id ORDER BY account_id';
    expect(
      await read('SELECT account_id::float8, bytes::float8 FROM answer_shares WHERE bytes > 0 ORDER BY account_id'),
    ).toEqual(await read(stored));
    const [total] = await read('SELECT sum(bytes)::float8 AS bytes FROM answers');
    expect(await read('SELECT sum(bytes)::float8 AS bytes FROM answers_stored')).toEqual([
      total as Record<string, number>,
    ]);
    expect(total?.['bytes']).toBeWithin(bounds.answersStoredBytesMax - 2 * bytes, bounds.answersStoredBytesMax + 1);
  });
});

interface Payer {
  account: number;
  key: number;
}

const range = (length: number) => Array.from({ length }, (_, at) => at);

async function payerOf(bench: Workbench): Promise<Payer> {
  const account = await bench.addAccount(1_000_000);
  return { account, key: await bench.addKey({}, account) };
}

/** Admits a message, and settles it with its response at another node; returns its request id. */
async function store(
  bench: Workbench,
  gate: PostgresGate,
  payer: Payer,
  bytes: number,
  atMs = START_MS,
): Promise<string> {
  const requestId = await bench.begin(10, payer);
  const record = usageRecord({ requestId, ...payer, cost: 10 });
  const answer = answerRow({ requestId, atMs, bytes, sealed: 'sealed' });
  const [answered] = await gate.submit({
    operations: [{ kind: 'settle', requestId, record, isAnswer: true }],
    coCommitted: [answer],
  });
  expect(answered).toMatchObject({ ok: true, cost: 10 });
  return requestId;
}
