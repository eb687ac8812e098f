// Periodic upkeep of the database: months created ahead, old months dropped, leases of dead nodes dropped. Any node
// does it, concurrently with writers and with other nodes.

import { describe, expect, test } from 'bun:test';
import { DAY_MS } from '../../src/base/clock.ts';
import { newRequestId } from '../../src/base/ids.ts';
import { bounds } from '../../src/config/config.ts';
import { monthsAhead } from '../../src/storage/postgres/open-database.ts';
import { maintainDatabase, PostgresGate } from '../../src/storage/postgres/postgres.ts';
import { ask, openWorkbench, START_MS, type Workbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres, runOn, sharedPostgres } from '../support/start-postgres.ts';
import { type OpenedPostgres, openPostgresLanes } from './open-postgres.ts';

/** Far from the machine's time, for which months are created. */
const LONG_AFTER_MS = Date.UTC(2066, 10, 18);
const MONTHS = `SELECT array_agg(right(relname, 6)::int ORDER BY relname) AS months FROM pg_class WHERE relname ~ '^usage_records_[0-9]{6}$'`;
const months = async (url: string) => (await runOn(url, MONTHS))[0]?.['months'] as number[];
const leases = async (url: string) =>
  (await runOn(url, `SELECT node FROM leases ORDER BY node`)).map(({ node }) => node as string);

interface Opened {
  bench: Workbench;
  url: string;
}

/** A store with messages of three old months, and of the present one. */
async function openOld(): Promise<Opened & AsyncDisposable> {
  let opened: OpenedPostgres | undefined;
  const bench = await openWorkbench(async (clock) => (opened = await openPostgresLanes(clock)), 1_000);
  const { url } = opened as unknown as OpenedPostgres;
  for (const month of await months(url)) await runOn(url, `DROP TABLE usage_records_${String(month).padStart(6, '0')}`);
  bench.clock.advance(LONG_AFTER_MS - START_MS);
  await bench.takeLease('node-1'); // The lease exists.
  for (let month = 0; month < 4; month++) {
    const requestId = newRequestId(bench.clock.nowMs());
    await bench.begin(10, { requestId });
    expect(await bench.settle(requestId, 7)).toMatchObject({ ok: true });
    if (month < 3) bench.clock.advance(31 * DAY_MS);
  }
  return {
    bench,
    url,
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}

describe.skipIf(cannotStartPostgres)('tending a database', () => {
  test('creates missing months by the database’s clock, once among several nodes', async () => {
    await using database = await (await sharedPostgres()).newDatabase();
    const { url } = database;
    const ahead = monthsAhead(Date.now());
    const present = await months(url);
    for (const month of ahead) await runOn(url, `DROP TABLE usage_records_${month}`);
    await Promise.all([1, 2, 3].map(() => maintainDatabase(url)));
    expect(await months(url)).toEqual(present);
    expect(await maintainDatabase(url)).toEqual({
      monthsMade: [],
      monthsDropped: [],
      daysRolledUp: 0,
      monthsLeft: [],
      leasesDropped: 0,
    });
  });

  test('drops no month without a retention mark', async () => {
    await using old = await openOld();
    const before = await months(old.url);
    expect(await maintainDatabase(old.url)).toMatchObject({ monthsDropped: [], monthsLeft: [] });
    expect((await months(old.url)).filter((month) => before.includes(month))).toEqual(before);
  });

  test('drops months that are entirely past retention, and keeps the month of the mark', async () => {
    await using old = await openOld();
    const { bench, url } = old;
    expect(await months(url)).toEqual(expect.arrayContaining([206611, 206612, 206701, 206702]));
    await bench.stores.retention.keepSince('usage', Date.UTC(2067, 0, 1) - 1);
    expect((await maintainDatabase(url)).monthsDropped).toEqual([206611]);
    await bench.stores.retention.keepSince('usage', Date.UTC(2067, 0, 1));
    const tended = await Promise.all([1, 2, 3].map(() => maintainDatabase(url)));
    for (const { monthsLeft } of tended) expect(monthsLeft).toEqual([]);
    await bench.stores.retention.keepSince('usage', Date.UTC(2067, 1, 15));
    expect((await maintainDatabase(url)).monthsDropped).toEqual([206701]);
    expect(await months(url)).toEqual(expect.arrayContaining([206702]));
    expect(await months(url)).not.toEqual(expect.arrayContaining([206612]));
    expect(await bench.wallet()).toEqual({ balance: 1_000 - 4 * 7, held: 0 });
  });

  test('does not block writers while a month is locked, and drops it when it is unlocked', async () => {
    await using old = await openOld();
    const { bench, url } = old;
    await bench.stores.retention.keepSince('usage', Date.UTC(2067, 1, 1));
    const release = Promise.withResolvers<void>();
    const reading = holdOpen(url, 'SELECT count(*) FROM usage_records', release.promise);
    await reading.begun;
    let isTended = false;
    const tended = maintainDatabase(url).finally(() => {
      isTended = true;
    });
    const answers: boolean[] = [];
    while (!isTended) {
      const requestId = newRequestId(bench.clock.nowMs());
      await bench.begin(1, { requestId });
      answers.push((await bench.settle(requestId, 0)).ok);
    }
    expect(await tended).toMatchObject({ monthsDropped: [], monthsLeft: [206611, 206612, 206701] });
    expect(answers.length).toBeGreaterThan(0);
    expect(answers).not.toContain(false);
    release.resolve();
    await reading.ended;
    expect(await maintainDatabase(url)).toMatchObject({ monthsDropped: [206611, 206612, 206701], monthsLeft: [] });
  });

  test('drops leases of long dead nodes, and none of a node that may return or has open holds', async () => {
    await using old = await openOld();
    const { bench, url } = old;
    const nowMs = Date.now();
    const kept = nowMs - bounds.lapsedLeaseKeptMs;
    const rows: [string, number][] = [
      ['alive', nowMs + 15_000],
      ['lapsed', kept + 60_000],
      ['gone', kept - 60_000],
      ['moved', 0],
      ['moved-long-ago', -(kept - 60_000)],
      ['moved-today', -(kept + 60_000)],
      ['holding', kept - 60_000],
    ];
    const values = rows.map(([node, expiresAtMs]) => `('${node}', 1, ${expiresAtMs})`).join(', ');
    await bench.begin(1, { owner: bench.owner });
    await runOn(url, `DELETE FROM leases WHERE node <> 'node-1'; INSERT INTO leases VALUES ${values}`);
    const holding = { node: 'holding', epoch: 1 };
    await bench.begin(1, { requestId: newRequestId(bench.clock.nowMs()), owner: holding });
    const tended = await Promise.all([1, 2, 3].map(() => maintainDatabase(url)));
    expect(tended.reduce((sum, { leasesDropped }) => sum + leasesDropped, 0)).toBe(2);
    expect(await leases(url)).toEqual(['alive', 'holding', 'lapsed', 'moved', 'moved-today', 'node-1']);
    // The lease now has a time by which it is dropped a day later. It is neither moved again nor counted as alive.
    const gate = new PostgresGate(url);
    await ask(gate, { kind: 'expire' });
    await gate.close();
    const [moved] = await runOn(
      url,
      `SELECT epoch::int AS epoch, expires_at_ms < 0 AS is_dated FROM leases WHERE node = 'moved'`,
    );
    expect(moved).toEqual({ epoch: 1, is_dated: true });
  });
});

/** Keeps another transaction open until then. */
function holdOpen(url: string, text: string, until: Promise<void>) {
  const begun = Promise.withResolvers<void>();
  const client = new Bun.SQL({ url, max: 1 });
  const ended = client
    .begin(async (session) => {
      await session.unsafe(text);
      begun.resolve();
      await until;
    })
    .finally(() => client.close({ timeout: 0 }));
  return { begun: begun.promise, ended };
}
