// Every way in which stored rows can be wrong, as SQL for SQLite and PostgreSQL (which needs a json_set function),
// and a ledger to try them on.

import type { UsageRecord } from '../../../src/ledger/ledger.ts';
import type { Workbench } from './workbench.ts';

/**
 * A wallet with credit, a written-off debt, and messages: settled, partly refunded, partly written off, corrected,
 * reversed, running, and expired.
 */
export async function useLedger(bench: Workbench): Promise<void> {
  await bench.setAccount({ creditLine: 10 });
  await bench.settle(await bench.begin(10), 10);
  await bench.credit(10, { source: 'write_off' });
  await bench.setAccount({ creditLine: 0 });
  await bench.credit(1000);
  await bench.settle(await bench.begin(50), 30, { inputTokens: 5, ...imagesAt(30) });
  await bench.setKey({ quota: 100 });
  await bench.settle(await bench.begin(50), 90, { outputTokens: 7 });
  await bench.setKey({ quota: 500 });
  const late = await bench.begin(5);
  bench.clock.advance(20_000);
  await bench.ask({ kind: 'expire' });
  await bench.settle(late, 4);
  await bench.takeLease('node-1');
  const refunded = await bench.begin(50);
  await bench.settle(refunded, 30, imagesAt(20));
  await bench.ask({ kind: 'refund', requestId: refunded, amount: 10, note: null });
  const claim = { name: 'order-17', requestHash: 'hash' };
  await bench.setKey({ quota: 200 });
  await bench.settle(await bench.begin(50, { claim }), 90, { outcome: 'upstream_cut' });
  await bench.setKey({ quota: 500 });
  const answered = await bench.begin(50, { claim });
  await bench.ask({ kind: 'settle', requestId: answered, record: bench.record(answered), isAnswer: true });
  await bench.begin(20);
  await bench.ask({ kind: 'leave', requestId: await bench.begin(10) });
}

const imagesAt = (cost: number): Partial<UsageRecord> => ({
  endpoint: 'images',
  units: { counts: { images: 2 }, image: null },
  unitCosts: { images: cost },
});

export type Corruption = readonly [what: string, statement: string, fault: string];

export const corruptions: readonly Corruption[] = [
  [
    'a balance that its entries do not give',
    'UPDATE account_meters SET balance = balance + 1',
    'balance is not the sum of its entries',
  ],
  [
    'a month that began with another balance',
    'UPDATE account_meters SET month_opening = month_opening - 1',
    'the change of its balance in 2026-11 is not',
  ],
  [
    'a month whose change its entries do not give',
    'INSERT INTO month_changes SELECT id, 1790812800000, 1 FROM account_meters',
    'the change of its balance in 2026-10 is not',
  ],
  [
    'a hold of a later release',
    "UPDATE holds SET document = json_set(document, '$.v', 99)",
    'its hold cannot be read, because a later release wrote it, in version 99',
  ],
  ['held money without a hold', 'UPDATE account_meters SET held = held + 1', 'held amount is not the sum of its holds'],
  ['a balance below its floor', 'UPDATE account_meters SET credit_line = -900', 'lower than the credit line allows'],
  ['an allowance that holds too much', 'UPDATE account_meters SET allowance_held = 0', 'held allowance is not the sum'],
  ['a quota that holds too much', 'UPDATE key_meters SET quota_held = quota_held + 1', 'held quota is not the sum'],
  [
    'an entry that was changed',
    "UPDATE entries SET amount = amount + 1 WHERE kind = 'usage'",
    'do not add up to its cost',
  ],
  ['an entry that was removed', "DELETE FROM entries WHERE kind = 'usage'", 'do not add up to its cost'],
  ['a credit that was removed', "DELETE FROM entries WHERE kind = 'payment'", 'balance is not the sum of its entries'],
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
  [
    'an entry that moves nothing',
    'UPDATE entries SET debit = credit',
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'an entry of a negative amount',
    'UPDATE entries SET amount = -amount',
    'its amount, kind, time or accounts are invalid',
  ],
  [
    "an entry about another's money",
    "UPDATE entries SET debit = 99 WHERE kind = 'usage'",
    'its amount, kind, time or accounts are invalid',
  ],
  [
    "an entry that gives another's account",
    "UPDATE entries SET credit = 99 WHERE kind = 'usage'",
    'its amount, kind, time or accounts are invalid',
  ],
  ['an entry of nobody', 'UPDATE entries SET account_id = 99', 'its amount, kind, time or accounts are invalid'],
  [
    'a credit of nobody',
    "UPDATE entries SET account_id = 99, credit = 99 WHERE kind = 'payment'",
    'its amount, kind, time or accounts are invalid',
  ],
  [
    'an entry of no known kind',
    "UPDATE entries SET kind = 'gift' WHERE kind = 'payment'",
    'its amount, kind, time or accounts are invalid',
  ],
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
  ['units that no total counts', 'DELETE FROM unit_totals', 'the total of images of'],
  ['a wrong quantity of a unit', 'UPDATE unit_totals SET quantity = quantity + 1', 'the total of images of'],
  ['a wrong cost of a unit', 'UPDATE unit_totals SET cost = cost + 1', 'the total of images of'],
  ['a unit that no record has', "UPDATE unit_totals SET unit = 'seconds'", 'the total of seconds of'],
  [
    'a record whose units cost less than in the total',
    "UPDATE usage_records SET details = json_set(details, '$.unitCosts.images', 1) WHERE details LIKE '%unitCosts%'",
    'the total of images of',
  ],
  ['a daily total on another day', 'UPDATE daily_totals SET day_ms = 0', '1970-01-01 is not the sum'],
  ['a daily total of nothing', 'UPDATE daily_totals SET model = model || 2', 'sandbox-echo2: the total'],
  ['a hold that is gone', 'DELETE FROM holds', 'held amount is not the sum of its holds'],
  ['a hold of another amount', 'UPDATE holds SET amount = amount + 1', 'contradicts itself'],
  [
    'a hold whose document says otherwise',
    "UPDATE holds SET document = json_set(document, '$.amount', 1)",
    'contradicts itself',
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
    `UPDATE holds SET request_id = (SELECT MIN(request_id) FROM usage_records), amount = 0,
       document = json_set(json_set(document, '$.requestId', (SELECT MIN(request_id) FROM usage_records)), '$.amount', 0)
     WHERE request_id = (SELECT MIN(request_id) FROM holds)`,
    'belongs to an ended message',
  ],
  [
    'a running message of a group too many',
    `UPDATE account_meters SET group_rates = json_set(group_rates, '$.default.running', 2)`,
    '2 running messages are stored, but 1 have open holds',
  ],
  [
    'a running message of a key too few',
    `UPDATE key_meters SET rates = json_set(rates, '$.running', 0)`,
    ': 0 running messages',
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

/** Documents that are not JSON, or of another shape: each alone must not keep the other rows from being verified. */
export const unreadable: readonly string[] = [
  "UPDATE holds SET document = 'no JSON' WHERE request_id = (SELECT MIN(request_id) FROM holds)",
  'UPDATE holds SET document = \'{"v":1,"left":"perhaps","fromPlan":"much"}\' WHERE request_id = (SELECT MIN(request_id) FROM holds)',
  "UPDATE account_meters SET plan = 'no JSON'",
  'UPDATE account_meters SET plan = \'{"held":"much"}\'',
  "UPDATE account_meters SET group_rates = 'no JSON'",
  "UPDATE account_meters SET group_rates = '7'",
  'UPDATE account_meters SET group_rates = \'{"default":7,"vip":{"running":"many"}}\'',
  "UPDATE key_meters SET rates = 'no JSON'",
  'UPDATE key_meters SET rates = \'{"running":"many"}\'',
  'UPDATE usage_records SET details = \'{"unitCosts":{\'',
  'UPDATE usage_records SET details = \'{"unitCosts":{"images":"many"}}\'',
];
