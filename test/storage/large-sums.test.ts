// A batch that raises a day's total above the largest exact number, on each database.

import { describe, expect, test } from 'bun:test';
import { type OpenStores, openWorkbench } from '../money/ledger/workbench.ts';
import { cannotStartPostgres } from '../support/start-postgres.ts';
import { openPostgres } from './open-postgres.ts';
import { openSqlite } from './open-sqlite.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;

const databases: readonly [string, OpenStores, boolean][] = [
  ['SQLite', openSqlite, false],
  ['PostgreSQL', openPostgres, cannotStartPostgres],
];

for (const [name, open, isMissing] of databases) {
  describe.skipIf(isMissing)(`on ${name}`, () => {
    test('the total cost of two messages in one batch is exact beyond the largest exact number', async () => {
      await using bench = await openWorkbench(open, 0);
      const messages = [await bench.begin(0), await bench.begin(0)];
      const ended = await Promise.all(messages.map((requestId) => bench.settle(requestId, LARGEST)));
      expect(ended).toMatchObject(messages.map(() => ({ ok: true, cost: LARGEST, writtenOff: LARGEST })));
      const total = await bench.stores.usage.totalUsage({
        account: bench.account,
        key: null,
        madeBy: null,
        model: null,
        groupBy: 'model',
        sinceMs: null,
        untilMs: null,
        limit: 10,
      });
      expect(total.whole).toMatchObject({ messages: 2, cost: 2n * BigInt(LARGEST) });
    });
  });
}
