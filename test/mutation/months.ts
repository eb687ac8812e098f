// The guards of months, and of what a record says of the meters: what makes a statement add up.

import { mutate } from './mutation.ts';

const months = mutate('src/ledger/month-changes.ts', [
  [
    'month-closes',
    'the first entry of a month writes down what the one before changed',
    'changes: changesOf(account, month.startMs, month.opening, before) };',
    'changes: [] };',
  ],
  [
    'month-opens',
    'a month begins with the balance before its first entry',
    'month: { startMs, opening: before }',
    'month: { startMs, opening: balance }',
  ],
  [
    'month-late',
    'an entry of a month that was over counts in that month',
    'const late = changesOf(account, startMs, before, balance);',
    'const late = changesOf(account, month.startMs, before, balance);',
  ],
  [
    'month-late-once',
    'an entry of a month that was over counts once',
    'const opening = month.opening + balance - before;',
    'const opening = month.opening;',
  ],
  [
    'month-exact',
    'a change that no number is exact for is written in parts',
    'Number.isSafeInteger(to - from) ? [to - from] : [to, -from]',
    '[to - from]',
  ],
]);

const staged = mutate('src/ledger/staged-rows.ts', [
  ['month-written', 'what a month changed is written', 'this.#months.push(...changes);', ''],
  ['month-of-bundle', 'what a month changed is written also by a bundle', 'this.#months.push(...tried.#months);', ''],
]);

const read = mutate('src/ledger/account-month.ts', [
  [
    'month-read',
    'a balance of before the last month is not that of now',
    'BigInt(lastMonth.startMs >= startMs ? lastMonth.opening : balance)',
    'BigInt(balance)',
  ],
  ['month-used', 'what messages took is without credits', '...besideUsageKinds', "'refund'"],
]);

const meters = mutate('src/ledger/end-hold.ts', [
  [
    'meters-balance',
    'a record says the balance before its message ended',
    'balance: { before: before.balance, after: after.balance }',
    'balance: { before: after.balance, after: after.balance }',
  ],
  [
    'meters-stay',
    'a correction leaves what a record says of its end',
    'meters: before.meters,',
    'meters: record.meters,',
  ],
]);

const spending = mutate('src/ledger/meters.ts', [
  [
    'meters-spending',
    'a record says what was used before its message ended',
    'before: before.used, after: after.used',
    'before: after.used, after: after.used',
  ],
]);

const sums = mutate('src/storage/ledger-sums.ts', [
  [
    'sum-months',
    'check compares each month with its entries',
    'HAVING SUM(change) <> 0',
    'HAVING SUM(change) <> SUM(change)',
  ],
  [
    'sum-openings',
    'check compares all months with the balance',
    'WHERE m.month_opening <> COALESCE(c.total, 0)',
    'WHERE m.month_opening <> m.month_opening',
  ],
]);

const postgres = mutate('src/storage/postgres/statements.ts', [
  [
    'postgres-month-added',
    'a late change is added to what stands of its month',
    'change = stored.change + excluded.change',
    'change = excluded.change',
  ],
]);

const writes = mutate('src/storage/postgres/write-changes.ts', [
  ['postgres-month-written', 'what a month changed is no ordinary write', 'changes.months.length === 0 &&', ''],
]);

export const monthMutations = [months, staged, read, meters, spending, sums, postgres, writes].flat();
