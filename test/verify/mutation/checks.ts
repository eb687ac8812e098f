// The invariants that `check` looks for: each of them left out in turn.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: what is looked for is code as it stands

import { mutate } from './mutation.ts';

const faults = mutate('src/ledger/check.ts', [
  [
    'check-balance',
    'check compares balances with entries',
    'expect(`${account.id}: balance is not the sum of its entries`, account.balance, account.entries);',
    '',
  ],
  [
    'check-held',
    'check compares held amounts with open holds',
    'expect(`${account.id}: held amount is not the sum of its holds`, account.held, account.holds - account.planHolds);',
    '',
  ],
  [
    'check-allowance',
    'check compares allowances with holds',
    'expect(`${account.id}: held allowance is not the sum of its holds`, account.allowanceHeld, account.holds);',
    '',
  ],
  [
    'check-floor',
    'check sees a balance below its floor',
    'if (account.balance - account.held < -account.creditLine) {',
    'if (false) {',
  ],
  [
    'check-quota',
    'check compares quotas with holds',
    'for (const key of sums.keys) expect(`${key.id}: held quota is not the sum of its holds`, key.quotaHeld, key.holds);',
    '',
  ],
  [
    'check-requests',
    'check compares costs with entries',
    'for (const requestId of sums.unbalancedRequests) faults.push(`${requestId}: its entries do not add up to its cost`);',
    '',
  ],
  ['check-entries', 'check sees strange entries', '...sums.strangeEntries,', ''],
  ['check-totals', 'check compares totals with records', '...sums.unequalTotals,', ''],
  ['check-months', 'check compares the changes of months with entries', '...sums.wrongMonths,', ''],
  ['check-holds', 'check sees strange holds', '...sums.strangeHolds,', ''],
  ['check-running', 'check compares running messages with holds', '...sums.miscountedRunning,', ''],
  ['check-meters', 'check sees who has no meters', '...sums.withoutMeters,', ''],
  ['check-ok', 'check says that something is wrong', 'ok: faults.length === 0', 'ok: true'],
]);

const sums = mutate('src/storage/ledger-sums.ts', [
  ['sum-written-off', 'check compares write-offs with entries', ' OR r.written_off <> COALESCE(e.written_off, 0)', ''],
  ['sum-cost', 'check compares costs with entries, of what is stored', 'r.cost <> COALESCE(e.total, 0) OR', ''],
  [
    'sum-without-record',
    'check detects a bill without a usage record',
    'WHERE r.request_id IS NULL AND (',
    'WHERE r.request_id IS NULL AND FALSE AND (',
  ],
  [
    'sum-negative',
    'check sees an entry of a negative amount',
    'WHERE amount < 0 OR debit = credit',
    'WHERE debit = credit',
  ],
  ['sum-nothing', 'check sees an entry that moves nothing', 'WHERE amount < 0 OR debit = credit', 'WHERE amount < 0'],
  [
    'sum-foreign',
    "check sees an entry about another's money",
    'OR (debit <> account_id AND debit NOT BETWEEN 1 AND 8)',
    '',
  ],
  [
    'sum-foreign-credit',
    "check sees an entry that gives another's account",
    'OR (credit <> account_id AND credit NOT BETWEEN 1 AND 8)',
    '',
  ],
  [
    'sum-kind',
    'check sees an entry of no known kind',
    "OR kind NOT IN ('payment', 'promotion', 'adjustment', 'debt_write_off', 'usage', 'write_off', 'correction', 'refund',\n      'carried_forward', 'debt', 'plan_payment')",
    '',
  ],
  ['sum-kind-debt', 'check knows debts that were given up', "'debt_write_off', ", ''],
  ['sum-kind-refund', 'check knows refunds', "'refund',\n", ''],
  [
    'sum-refund',
    'check counts refunds against the cost of their message',
    "'correction', 'refund') GROUP BY",
    "'correction') GROUP BY",
  ],
  [
    'sum-usage-since',
    'check says nothing of records that are not kept',
    "usage ?? 0n, usage === null ? '' : earliestRequestId(integerOf(usage))",
    "0n, ''",
  ],
  [
    'sum-usage-ended',
    'check sees that the record of a message is gone that ended where they are kept',
    'e.ended_at_ms >= $1 OR ',
    '',
  ],
  [
    'sum-usage-began',
    'check sees that the record of a message is gone that began where they are kept',
    " OR COALESCE(e.reference, '') >= $2",
    '',
  ],
  [
    'sum-totals-since',
    'check compares no totals of days with dropped records',
    'unequalTotals: [usage ?? 0n]',
    'unequalTotals: [0n]',
  ],
  [
    'sum-carried',
    'check verifies that carried-forward entries add up to zero',
    'carriedForward(rows) === 0n',
    'carriedForward(rows) !== null',
  ],
  ['sum-carried-large', 'check adds up sums beyond 64 bits', 'BigInt(row.high) * 2n ** 32n', 'BigInt(row.high)'],
  [
    'sum-carried-kind',
    'check detects other entries of the carrying account',
    "OR (kind = 'carried_forward') <> (debit = 6 OR credit = 6)",
    '',
  ],
  [
    'sum-carried-sides',
    'check verifies that a carried-forward entry belongs to its account',
    'account_id NOT IN (debit, credit) OR at_ms >= $1',
    'at_ms >= $1',
  ],
  [
    'sum-carried-time',
    'check detects carried-forward entries within the retained period',
    'account_id NOT IN (debit, credit) OR at_ms >= $1',
    'account_id NOT IN (debit, credit)',
  ],
  [
    'sum-carried-system',
    'check accepts carried-forward entries of system accounts',
    "OR (kind = 'carried_forward' AND account_id IN (1, 2, 3, 4, 5, 7, 8)))",
    ')',
  ],
  [
    'sum-nobody',
    'check detects an entry without an account',
    "OR NOT (EXISTS (SELECT 1 FROM account_meters m WHERE m.id = e.account_id)\n      OR (kind = 'carried_forward' AND account_id IN (1, 2, 3, 4, 5, 7, 8)))",
    '',
  ],
  [
    'sum-missing-total',
    'check sees a total that is gone',
    'SELECT * FROM (SELECT ${TOTALS} FROM records EXCEPT SELECT ${TOTALS} FROM totals) recorded\n    UNION ALL\n',
    '',
  ],
  [
    'sum-false-total',
    'check sees a total of no records',
    '    UNION ALL\n    SELECT * FROM (SELECT ${TOTALS} FROM totals EXCEPT SELECT ${TOTALS} FROM records) added_up',
    '',
  ],
  [
    'sum-no-meters',
    'check sees an account without meters',
    'WHERE id NOT IN (SELECT id FROM account_meters)\n',
    'WHERE FALSE\n',
  ],
  [
    'sum-no-key-meters',
    'check sees a key without meters',
    'WHERE NOT EXISTS (SELECT 1 FROM key_meters m WHERE m.id = k.id AND m.account_id = k.account_id)',
    'WHERE FALSE',
  ],
  [
    'sum-meters-of-nobody',
    'check sees key meters of no account',
    'FROM key_meters WHERE account_id NOT IN (SELECT id FROM account_meters)',
    'FROM key_meters WHERE FALSE',
  ],
  [
    'sum-key-meters-account',
    'check sees key meters of another account',
    'm.id = k.id AND m.account_id = k.account_id',
    'm.id = k.id',
  ],
]);

const sqliteSums = mutate('src/storage/sqlite/survey-store.ts', [
  ['sum-hold-account', 'check sees a hold of no account', 'WHERE m.id IS NULL OR k.id IS NULL OR r', 'WHERE r'],
  ['sum-hold-key', 'check sees a hold of no key', 'OR k.id IS NULL OR r', 'OR r'],
  ['sum-hold-ended', 'check sees a hold of an ended message', 'OR r.request_id IS NOT NULL', ''],
  [
    'sum-hold-amount',
    'check sees a hold that contradicts itself',
    "OR json_extract(h.hold, '$.amount') IS NOT h.amount",
    '',
  ],
  [
    'sum-left',
    'check does not count a message whose client has disconnected',
    "WHERE NOT json_extract(${json('document')}, '$.left')",
    '',
  ],
]);

export const checkMutations = [...faults, ...sums, ...sqliteSums];
