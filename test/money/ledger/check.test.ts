// `check` finds every way in which stored rows can be wrong. Each fault is made with SQL, past the ledger, in a sound
// database.

import type { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { checkLedger, type LedgerSums } from '../../../src/ledger/ledger.ts';
import { openForWriting, sumLedger } from '../../../src/storage/sqlite/sqlite.ts';
import { type OpenedSqlite, openSqlite } from '../../storage/open-sqlite.ts';
import { temporaryDirectory } from '../../storage/temporary-directory.ts';
import { corruptions, unreadable, useLedger } from './corruptions.ts';
import { openWorkbench, type Workbench } from './workbench.ts';

let opened: OpenedSqlite;
let bench: Workbench;

beforeAll(async () => {
  bench = await openWorkbench((clock) => {
    opened = openSqlite(clock);
    return opened;
  }, 0);
  await useLedger(bench);
  opened.database.run('PRAGMA wal_checkpoint(TRUNCATE)');
});

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

/** Returns the faults after `corrupt` has changed a copy of the database without its triggers and constraints. */
function faultsAfter(corrupt: (database: Database) => void): string[] {
  using directory = temporaryDirectory();
  const path = `${directory.path}/copy.db`;
  opened.database.run(`VACUUM INTO '${path}'`);
  const copy = openForWriting(path);
  copy.run('PRAGMA foreign_keys = OFF');
  copy.run('PRAGMA ignore_check_constraints = ON');
  copy.run('DROP TRIGGER entries_are_never_updated');
  copy.run('DROP TRIGGER entries_are_never_deleted');
  corrupt(copy);
  copy.close();
  const report = checkLedger(sumLedger(path));
  expect(report.ok).toBe(report.faults.length === 0);
  return report.faults;
}

describe('check sees', () => {
  test('no error in sound rows, and counts them', () => {
    expect(faultsAfter(() => {})).toEqual([]);
    expect(checkLedger(opened.sums())).toEqual({
      ok: true,
      accounts: 1,
      entries: 5 + 2 + 2 + 4,
      open_holds: 2,
      usage_since: null,
      journal_since: null,
      faults: [],
    });
  });

  for (const [what, statement, fault] of corruptions) {
    test(what, () => {
      const faults = faultsAfter((database) => database.run(statement));
      expect(faults.join('\n')).toContain(fault);
    });
  }

  for (const statement of unreadable)
    test(`other faults beside a document that cannot be read: ${statement}`, () => {
      const faults = faultsAfter((database) => {
        database.run(statement);
        database.run('UPDATE account_meters SET balance = balance + 1');
      });
      expect(faults.join('\n')).toContain('balance is not the sum of its entries');
    });

  test('the public id of the account at fault', () => {
    const [fault] = faultsAfter((database) => database.run('UPDATE account_meters SET balance = balance + 1'));
    expect(fault).toStartWith(formatId('acct', bench.account));
  });

  test('an account without meters, and then meters of keys without an account', () => {
    const faults = faultsAfter((database) => database.run('DELETE FROM account_meters'));
    for (const id of [formatId('acct', bench.account), formatId('key', bench.key)])
      expect(faults).toContain(`${id}: it has no meters, or its meters have no account`);
  });

  test('sums beyond 2^53, and what a plan holds and accounts owe beside what their holds and entries say', () => {
    const large = 2n ** 53n;
    const account = {
      id: 'acct_1',
      balance: large,
      held: 0n,
      creditLine: 0n,
      allowanceHeld: 0n,
      holds: 0n,
      paidHolds: 0n,
    };
    const plan = { planHeld: 2n, planHolds: 0n };
    const sums: LedgerSums = {
      accounts: [{ ...account, ...plan, entries: large + 1n }],
      debt: 3n,
      debtEntries: 0n,
      keys: [],
      people: [],
      entries: 1,
      openHolds: 0,
      unbalancedRequests: [],
      strangeEntries: [],
      usageSinceMs: null,
      journalSinceMs: null,
      unequalTotals: [],
      wrongMonths: [],
      strangeHolds: [],
      miscountedRunning: [],
      withoutMeters: [],
    };
    expect(checkLedger(sums).faults).toEqual([
      'acct_1: balance is not the sum of its entries: 9007199.254740992 is stored, the sum is 9007199.254740993',
      'acct_1: what its plan holds is not the sum of its holds: 0.000000002 is stored, the sum is 0',
      'the debts of all accounts are not the sum of their entries: 0.000000003 is stored, the sum is 0',
    ]);
  });
});
