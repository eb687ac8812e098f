// Random histories of payments, over SQLite. `npm run verify` plays many more, also over PostgreSQL.

import { expect, test } from 'bun:test';
import type { Clock } from '../../../src/base/clock.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { openWorkbench } from '../ledger/workbench.ts';
import { playMany } from './histories.ts';

const HISTORIES = 50;
const firstSeed = Number(process.env['PAYMENT_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

test('credit in the journal is what Stripe says was paid, less refunds and disputes', async () => {
  const open = (clock: Clock) => {
    const opened = openSqlite(clock);
    opened.database.run('PRAGMA synchronous = OFF'); // no power is cut here
    return opened;
  };
  await using bench = await openWorkbench(open, 0);
  const { stores } = bench;
  expect(await playMany(bench, [stores, stores, stores], firstSeed, HISTORIES)).toBe(HISTORIES);
}, 240_000);
