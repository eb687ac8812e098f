// Random histories of payments, many of them: over SQLite, and over three nodes that share one PostgreSQL database.
// PAYMENT_HISTORIES sets their number for each, PAYMENT_SEED repeats them. Histories over PostgreSQL take several times as long.

import { describe, expect, test } from 'bun:test';
import type { Clock } from '../../../src/base/clock.ts';
import { PostgresGate, postgresStores } from '../../../src/storage/postgres/postgres.ts';
import { openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';
import { playMany } from '../../money/payments/histories.ts';
import { openPostgresLanes } from '../../storage/open-postgres.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { cannotStartPostgres } from '../../support/start-postgres.ts';

const given = process.env['PAYMENT_HISTORIES'];
const HISTORIES = { sqlite: Number(given ?? 600), postgres: Number(given ?? 150) };
const firstSeed = Number(process.env['PAYMENT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const PER_STORE = 200;
const MS_MAX = 24 * 3_600_000;

async function playAll(
  histories: number,
  open: () => Promise<{ bench: Workbench; nodes: Parameters<typeof playMany>[1]; close(): Promise<void> }>,
): Promise<void> {
  let played = 0;
  for (let from = 0; from < histories; from += PER_STORE) {
    const { bench, nodes, close } = await open();
    try {
      played += await playMany(bench, nodes, firstSeed + from, Math.min(PER_STORE, histories - from));
    } finally {
      await close();
      await bench[Symbol.asyncDispose](); // checks all invariants of the ledger
    }
  }
  expect(played).toBe(histories);
  console.log(`histories: ${played}, first seed: ${firstSeed}`);
}

describe('credit in the journal is what Stripe says was paid, less refunds and disputes', () => {
  test(
    'over SQLite',
    () =>
      playAll(HISTORIES.sqlite, async () => {
        const open = (clock: Clock) => {
          const opened = openSqlite(clock);
          opened.database.run('PRAGMA synchronous = OFF'); // no power is cut here
          return opened;
        };
        const bench = await openWorkbench(open, 0);
        return { bench, nodes: [bench.stores, bench.stores, bench.stores], close: async () => {} };
      }),
    MS_MAX,
  );

  test.skipIf(cannotStartPostgres)(
    'over three nodes of PostgreSQL',
    () =>
      playAll(HISTORIES.postgres, async () => {
        let url = '';
        const bench = await openWorkbench(async (clock) => {
          const opened = await openPostgresLanes(clock);
          ({ url } = opened);
          return opened;
        }, 0);
        const others = [1, 2].map(() => {
          const gate = new PostgresGate(url, { clock: bench.clock });
          return { gate, stores: postgresStores(url, gate) };
        });
        return {
          bench,
          nodes: [bench.stores, ...others.map(({ stores }) => stores)],
          async close() {
            for (const { gate, stores } of others) {
              await gate.close();
              await stores.close();
            }
          },
        };
      }),
    MS_MAX,
  );
});
