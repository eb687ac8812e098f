// `check` sees every way in which stored rows can be wrong. Each is made here with SQL, past the
// ledger, in a database that was sound.

import type { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { formatId } from '../../src/base/ids.ts';
import { checkLedger, type LedgerSums } from '../../src/ledger/ledger.ts';
import { openForWriting, sumLedger } from '../../src/storage/sqlite/sqlite.ts';
import { type OpenedSqlite, openSqlite } from '../storage/open-sqlite.ts';
import { temporaryDirectory } from '../storage/temporary-directory.ts';
import { openWorkbench, type Workbench } from './workbench.ts';

let opened: OpenedSqlite;
let bench: Workbench;

/**
 * A wallet with credit, a debt that was given up, a settled message, one refunded in part, one written off in part, one
 * corrected, one forgiven, one running, one left.
 */
beforeAll(async () => {
  bench = await openWorkbench((clock) => {
    opened = openSqlite(clock);
    return opened;
  }, 0);
  await bench.setAccount({ creditLine: 10 });
  await bench.settle(await bench.begin(10), 10);
  await bench.credit(10, { source: 'write_off' });
  await bench.setAccount({ creditLine: 0 });
  await bench.credit(1000);
  await bench.settle(await bench.begin(50), 30, { inputTokens: 5 });
  await bench.setKey({ quota: 100 });
  await bench.settle(await bench.begin(50), 90, { outputTokens: 7 });
  await bench.setKey({ quota: 500 });
  const late = await bench.begin(5);
  bench.clock.advance(20_000);
  await bench.ask({ kind: 'expire' });
  await bench.settle(late, 4);
  await bench.takeLease('node-1');
  const refunded = await bench.begin(50);
  await bench.settle(refunded, 30);
  await bench.ask({ kind: 'refund', requestId: refunded, amount: 10, note: null });
  const claim = { name: 'order-17', requestHash: 'hash' };
  await bench.setKey({ quota: 200 });
  await bench.settle(await bench.begin(50, { claim }), 90, { outcome: 'upstream_cut' });
  await bench.release(await bench.begin(50, { claim }));
  await bench.setKey({ quota: 500 });
  await bench.begin(20);
  await bench.ask({ kind: 'leave', requestId: await bench.begin(10) });
  opened.database.run('PRAGMA wal_checkpoint(TRUNCATE)');
});

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

/** The faults after `corrupt` has worked on a copy of the database, its triggers and constraints out of the way. */
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

const CORRUPTIONS: [what: string, statement: string, fault: string][] = [
  [
    'a balance that its entries do not give',
    'UPDATE account_meters SET balance = balance + 1',
    'balance against its entries',
  ],
  ['held money without a hold', 'UPDATE account_meters SET held = held + 1', 'held against its open holds'],
  ['a balance below its floor', 'UPDATE account_meters SET credit_line = -900', 'below its floor'],
  ['an allowance that holds too much', 'UPDATE account_meters SET allowance_held = 0', 'allowance held against'],
  ['a quota that holds too much', 'UPDATE key_meters SET quota_held = quota_held + 1', 'quota held against'],
  [
    'an entry that was changed',
    "UPDATE entries SET amount = amount + 1 WHERE kind = 'usage'",
    'do not add up to its cost',
  ],
  ['an entry that was removed', "DELETE FROM entries WHERE kind = 'usage'", 'do not add up to its cost'],
  ['a credit that was removed', "DELETE FROM entries WHERE kind = 'payment'", 'balance against its entries'],
  [
    'a message billed twice',
    `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference)
     SELECT account_id, at_ms, debit, credit, amount, kind, reference FROM entries WHERE kind = 'usage'`,
    'do not add up to its cost',
  ],
  [
    'a message billed without a record',
    `INSERT INTO entries (account_id, at_ms, debit, credit, amount, kind, reference)
     SELECT account_id, at_ms, debit, credit, amount, kind, 'req_none' FROM entries WHERE kind = 'usage' LIMIT 1`,
    'req_none: its entries do not add up',
  ],
  ['a record that is gone', 'DELETE FROM usage_records', 'do not add up to its cost'],
  ['a cost that was changed', 'UPDATE usage_records SET cost = cost + 1', 'do not add up to its cost'],
  [
    'a write-off that was changed',
    'UPDATE usage_records SET written_off = written_off + 1',
    'do not add up to its cost',
  ],
  ['a record moved to another account', 'UPDATE usage_records SET account_id = 99', 'do not add up to its cost'],
  ['an entry that moves nothing', 'UPDATE entries SET debit = credit', 'it moves nothing sensible'],
  ['an entry of a negative amount', 'UPDATE entries SET amount = -amount', 'it moves nothing sensible'],
  ["an entry about another's money", "UPDATE entries SET debit = 99 WHERE kind = 'usage'", "nobody's money"],
  ["an entry that gives another's account", "UPDATE entries SET credit = 99 WHERE kind = 'usage'", "nobody's money"],
  ['an entry of nobody', 'UPDATE entries SET account_id = 99', "nobody's money"],
  [
    'a credit of nobody',
    "UPDATE entries SET account_id = 99, credit = 99 WHERE kind = 'payment'",
    "it moves nothing sensible, or nobody's money",
  ],
  ['an entry of no known kind', "UPDATE entries SET kind = 'gift' WHERE kind = 'payment'", 'it moves nothing sensible'],
  ['a daily total that is gone', 'DELETE FROM daily_totals', 'is not the sum of its usage records'],
  ['a daily total of a wrong cost', 'UPDATE daily_totals SET cost = cost + 1', 'is not the sum of its usage records'],
  ['a daily total of wrong tokens', 'UPDATE daily_totals SET output_tokens = 0', 'is not the sum of its usage records'],
  ['a daily total of wrong messages', 'UPDATE daily_totals SET messages = 2', 'is not the sum of its usage records'],
  [
    'a daily total of a wrong revenue',
    'UPDATE daily_totals SET costed_revenue = costed_revenue + 1',
    'is not the sum of its usage records',
  ],
  [
    'a daily total that knows of a provider cost that no record has',
    'UPDATE daily_totals SET costed_messages = costed_messages + 1',
    'is not the sum of its usage records',
  ],
  ['a daily total on another day', 'UPDATE daily_totals SET day_ms = 0', '1970-01-01 is not the sum'],
  ['a daily total of nothing', 'UPDATE daily_totals SET model = model || 2', 'sandbox-echo2: the total'],
  ['a hold that is gone', 'DELETE FROM holds', 'held against its open holds'],
  ['a hold of another amount', 'UPDATE holds SET amount = amount + 1', 'is at odds with itself'],
  [
    'a hold whose document says otherwise',
    "UPDATE holds SET document = json_set(document, '$.amount', 1)",
    'at odds with itself',
  ],
  ['a hold of no account', 'UPDATE holds SET account_id = 99', 'its hold has no account or key'],
  [
    'a hold of a key whose account is gone',
    `UPDATE holds SET account_id = 99, document = json_set(document, '$.account', 99);
     UPDATE key_meters SET account_id = 99`,
    'its hold has no account or key',
  ],
  ['a hold of no key', 'UPDATE holds SET key_id = 99', 'its hold has no account or key'],
  [
    'a hold of a key that is gone',
    "UPDATE holds SET key_id = 99, document = json_set(document, '$.key', 99)",
    'its hold has no account or key',
  ],
  [
    'a hold of a message that has ended',
    `INSERT INTO holds SELECT (SELECT request_id FROM usage_records LIMIT 1), account_id, key_id, 0,
       json_set(document, '$.requestId', (SELECT request_id FROM usage_records LIMIT 1), '$.amount', 0)
     FROM holds LIMIT 1`,
    'is of an ended message',
  ],
  [
    'a running message of a group too many',
    `UPDATE account_meters SET group_rates = json_set(group_rates, '$.default.running', 2)`,
    'running messages: 2 are stored, 1 have open holds',
  ],
  [
    'a running message of a key too few',
    `UPDATE key_meters SET rates = json_set(rates, '$.running', 0)`,
    'running messages: 0',
  ],
  ['an account without meters', 'DELETE FROM account_meters', 'it has no meters'],
  ['a key without meters', 'DELETE FROM key_meters', 'it has no meters'],
  [
    'a key whose meters are of another account that is there',
    `CREATE TEMPORARY TABLE another AS SELECT * FROM account_meters;
     UPDATE another SET id = 99;
     INSERT INTO account_meters SELECT * FROM another;
     UPDATE key_meters SET account_id = 99`,
    'it has no meters',
  ],
  ['a key whose meters are of another account', 'UPDATE key_meters SET account_id = 99', 'it has no meters'],
];

describe('check sees', () => {
  test('nothing wrong with sound rows, and counts them', () => {
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

  for (const [what, statement, fault] of CORRUPTIONS) {
    test(what, () => {
      const faults = faultsAfter((database) => database.run(statement));
      expect(faults.join('\n')).toContain(fault);
    });
  }

  test('which account it is, by the id that people know', () => {
    const [fault] = faultsAfter((database) => database.run('UPDATE account_meters SET balance = balance + 1'));
    expect(fault).toStartWith(formatId('acct', bench.account));
  });

  test('that an account has no meters, and then that its keys have meters of no account', () => {
    const faults = faultsAfter((database) => database.run('DELETE FROM account_meters'));
    for (const id of [formatId('acct', bench.account), formatId('key', bench.key)])
      expect(faults).toContain(`${id}: it has no meters, or they have no account`);
  });

  test('sums beyond what a number counts exactly', () => {
    const large = 2n ** 53n;
    const account = { id: 'acct_1', balance: large, held: 0n, creditLine: 0n, allowanceHeld: 0n, holds: 0n };
    const sums: LedgerSums = {
      accounts: [{ ...account, entries: large + 1n }],
      keys: [],
      entries: 1,
      openHolds: 0,
      unbalancedRequests: [],
      strangeEntries: [],
      usageSinceMs: null,
      journalSinceMs: null,
      unequalTotals: [],
      strangeHolds: [],
      miscountedRunning: [],
      withoutMeters: [],
    };
    expect(checkLedger(sums).faults).toEqual([
      'acct_1 balance against its entries: 9007199.254740992 is stored, 9007199.254740993 is the sum',
    ]);
  });
});
