// `check` of a store that has dropped old rows: it verifies the remaining rows and the opening balances that carry
// the dropped ones forward.

import type { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { newRequestId } from '../../../src/base/ids.ts';
import { checkLedger } from '../../../src/ledger/ledger.ts';
import { openForWriting, sumLedger } from '../../../src/storage/sqlite/sqlite.ts';
import { type OpenedSqlite, openSqlite } from '../../storage/open-sqlite.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { openWorkbench, type Workbench } from './workbench.ts';

const MONTH_MS = Date.UTC(2026, 11, 1);
const DAY_MS = 86_400_000;
const BILLION = 1_000_000_000; // Makes sums exceed 32 bits.

let opened: OpenedSqlite;
let bench: Workbench;
/** A message that ran from December until yesterday. */
let long: string;

/**
 * One message in November, of which only totals and a carried sum remain, one in December, one of yesterday, and a
 * long one.
 */
beforeAll(async () => {
  bench = await openWorkbench((clock) => {
    opened = openSqlite(clock);
    return opened;
  }, 10 * BILLION);
  const { retention } = bench.stores;
  await message(3 * BILLION);
  bench.clock.advance(MONTH_MS + DAY_MS - bench.clock.nowMs());
  await message(2 * BILLION);
  long = newRequestId(bench.clock.nowMs());
  bench.clock.advance(100 * DAY_MS);
  await message(BILLION);
  await message(BILLION, long);
  const usageSinceMs = MONTH_MS + 90 * DAY_MS;
  await retention.keepSince('usage', usageSinceMs);
  await retention.forget('usage_records', usageSinceMs);
  await retention.keepSince('journal', MONTH_MS);
  await retention.carry(bench.account, MONTH_MS);
});

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

async function message(cost: number, requestId = newRequestId(bench.clock.nowMs())): Promise<void> {
  await bench.takeLease('node-1');
  await bench.settle(await bench.begin(50, { requestId }), cost);
}

/** Returns the faults after `corrupt` has changed a copy of the database without its triggers. */
function faultsAfter(corrupt: (database: Database) => void): string[] {
  using directory = temporaryDirectory();
  const path = `${directory.path}/copy.db`;
  opened.database.run(`VACUUM INTO '${path}'`);
  const copy = openForWriting(path);
  copy.run('PRAGMA ignore_check_constraints = ON');
  copy.run('DROP TRIGGER entries_are_never_updated');
  copy.run('DROP TRIGGER entries_are_never_deleted');
  corrupt(copy);
  copy.close();
  return checkLedger(sumLedger(path)).faults;
}

const DECEMBER = `at_ms BETWEEN ${MONTH_MS} AND ${MONTH_MS + 2 * DAY_MS}`;
const CORRUPTIONS: [what: string, statement: string, fault: string][] = [
  [
    'a sum of an account that was carried forward wrongly',
    "UPDATE entries SET amount = amount + 1 WHERE kind = 'carried_forward' AND account_id > 6",
    'balance is not the sum of its entries',
  ],
  [
    "a sum of the system's that was carried forward wrongly",
    "UPDATE entries SET amount = amount + 1 WHERE kind = 'carried_forward' AND account_id = 3",
    'do not add up to zero',
  ],
  [
    "a sum of the system's that is gone",
    "DELETE FROM entries WHERE kind = 'carried_forward' AND account_id = 1",
    'do not add up to zero',
  ],
  [
    'a sum that is carried into what is kept',
    `UPDATE entries SET at_ms = ${MONTH_MS} WHERE kind = 'carried_forward'`,
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'another entry that moves what is carried forward',
    "UPDATE entries SET credit = 6 WHERE kind = 'usage'",
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'a sum that is carried forward under the name of another',
    "UPDATE entries SET account_id = 2 WHERE kind = 'carried_forward' AND account_id = 3",
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'what is carried forward to where it does not belong',
    "UPDATE entries SET credit = 5 WHERE kind = 'carried_forward' AND credit = 6",
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'an entry that is gone though the journal of its month is kept',
    `DELETE FROM entries WHERE ${DECEMBER}`,
    'balance is not the sum of its entries',
  ],
  [
    'what a month changed whose entries are dropped',
    'UPDATE month_changes SET change = change + 1 WHERE month_ms = (SELECT MIN(month_ms) FROM month_changes)',
    'the opening balance of its last month is not the sum of the changes of earlier months',
  ],
  [
    'a record that is gone though records of its day are kept',
    'DELETE FROM usage_records',
    'its entries do not add up to its cost',
  ],
  [
    'a total of a day of which records are kept',
    'UPDATE daily_totals SET cost = cost + 1 WHERE day_ms = (SELECT MAX(day_ms) FROM daily_totals)',
    'is not the sum of its usage records',
  ],
  [
    'an entry of a message that began later, of which there is no record',
    `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference) SELECT account_id, at_ms, 5, 3, 1,
       'correction', 'req_zzzzzzzzz' FROM entries WHERE kind = 'usage' LIMIT 1`,
    'req_zzzzzzzzz: its entries do not add up',
  ],
];

describe('after old rows were dropped, check sees', () => {
  test('no error in the remaining rows, and reports the retention boundaries', () => {
    expect(faultsAfter(() => {})).toEqual([]);
    expect(checkLedger(opened.sums())).toMatchObject({
      entries: 3 + 3, // Entries of two months, and the opening balances of the account, payments and revenue.
      usage_since: '2027-03-01T00:00:00.000Z',
      journal_since: '2026-12-01T00:00:00.000Z',
    });
  });

  for (const [what, statement, fault] of CORRUPTIONS)
    test(what, () => {
      expect(faultsAfter((database) => database.run(statement)).join('\n')).toContain(fault);
    });

  test('a missing record of a message that ended on a retained day', () => {
    const statement = `DELETE FROM usage_records WHERE request_id = '${long}'`;
    expect(faultsAfter((database) => database.run(statement))).toContain(
      `${long}: its entries do not add up to its cost`,
    );
  });

  test('no error in the totals of days without records', () => {
    const first = 'day_ms = (SELECT MIN(day_ms) FROM daily_totals)';
    expect(faultsAfter((database) => database.run(`UPDATE daily_totals SET cost = cost + 1 WHERE ${first}`))).toEqual(
      [],
    );
  });
});
