// Sorted lists of more rows than one statement may sort.

import { afterAll, describe, expect, test } from 'bun:test';
import { accountOrders, keyOrders } from '../../src/accounts/accounts.ts';
import { sortedReads } from '../../src/storage/sorted-reads.ts';
import { sqliteReader } from '../../src/storage/sqlite/reader.ts';
import { databasePath, openForReading, openForWriting } from '../../src/storage/sqlite/sqlite.ts';
import { temporaryDirectory } from './temporary-directory.ts';

describe('more accounts and keys than are sorted', () => {
  const directory = temporaryDirectory();
  const path = databasePath(directory.path);
  fill(path);
  const database = openForReading(path);
  afterAll(() => {
    database.close();
    directory[Symbol.dispose]();
  });
  const { sortAccounts, sortKeys } = sortedReads(sqliteReader(database), 3);
  const page = { order: 'desc', after: null, limit: 2 } as const;
  const all = { accountId: null, madeBy: null, text: null, status: null };

  test.each([...accountOrders])('are listed by an index, and otherwise refused: accounts by %s', async (by) => {
    const listed = sortAccounts({ ...page, by, name: null, group: null });
    if (by === 'balance') await expect(listed).rejects.toThrow('There are more than 3 to sort');
    else expect((await listed).map(({ id }) => id)).toEqual([4, 3]);
    const found = sortAccounts({ ...page, by, name: 'n4', group: null });
    await expect(found).rejects.toThrow('There are more than 3 to sort');
  });

  test.each([...keyOrders])('are listed by an index, and otherwise refused: keys by %s', async (by) => {
    const listed = sortKeys({ ...page, ...all, by });
    if (by === 'last_used') await expect(listed).rejects.toThrow('There are more than 3 to sort');
    else expect((await listed).map(({ id }) => id)).toEqual([4, 3]);
    const ofAccount = await sortKeys({ ...page, ...all, by, accountId: 2, madeBy: 'tok_a' });
    expect(ofAccount.map(({ id }) => id)).toEqual([2]);
    await expect(sortKeys({ ...page, ...all, by, madeBy: 'tok_a' })).rejects.toThrow('more than 3');
    await expect(sortKeys({ ...page, ...all, by, text: 'n4' })).rejects.toThrow('more than 3');
  });
});

/** Four accounts with a key each, by the same maker. */
function fill(path: string): void {
  using database = openForWriting(path);
  for (const n of [1, 2, 3, 4]) {
    database.run(
      `INSERT INTO accounts (id, created_at_ms, document) VALUES (${n}, ${n}, '{"name":"N${n}","groups":["default"]}')`,
    );
    database.run(`INSERT INTO account_meters (id, enabled, credit_line, balance, held, allowance_period, allowance_used,
      allowance_held, allowance_period_start_ms, group_rates) VALUES (${n}, 1, 0, ${n}, 0, 'total', 0, 0, 0, '{}')`);
    database.run(
      `INSERT INTO keys (id, account_id, made_by, created_at_ms, document) VALUES (${n}, ${n}, 'tok_a', ${n}, '{"name":"N${n}"}')`,
    );
    database.run(`INSERT INTO key_meters (id, account_id, status, quota_period, quota_used, quota_held,
      quota_period_start_ms, limits, rates) VALUES (${n}, ${n}, 'enabled', 'total', 0, 0, 0, '{}', '{}')`);
  }
}
