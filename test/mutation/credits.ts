// The guards of credit, of the terms of accounts and keys, and of leases.

import { mutate } from './mutation.ts';

const REPEATED =
  "if (credited !== null)\n    return { answer: { ok: true, kind: 'credited', amount: credited, balance: account.balance, repeated: true } };";
const BELOW =
  "if (walletAvailable(after) < 0) {\n    return { answer: { ok: false, reason: 'below_available', available: walletAvailable(account) } };\n  }";

const credits = mutate('src/ledger/credit.ts', [
  ['credit-once', 'a reference credits once', REPEATED, ''],
  [
    'credit-first-amount',
    'a repeated credit is told what was credited',
    'amount: credited, balance: account.balance',
    'amount, balance: account.balance',
  ],
  [
    'credit-below',
    'a negative credit takes only what is available',
    'if (amount < 0 && -amount > available) {',
    'if (amount < 0 && -amount > account.balance + account.creditLine) {',
  ],
  [
    'credit-below-zero',
    'a negative credit never leaves less than the floor',
    'if (amount < 0 && -amount > available) {',
    'if (false) {',
  ],
  [
    'credit-maximum',
    'a balance stays a number that is exact',
    "if (balance + account.creditLine > NANO_MAX) return { answer: { ok: false, reason: 'beyond_maximum' } };",
    '',
  ],
  [
    'credit-maximum-line',
    'balance and credit line together stay exact',
    'if (balance + account.creditLine > NANO_MAX)',
    'if (balance > NANO_MAX)',
  ],
  ['debt-owed', 'no more is given up than is owed', 'amount < 0 || amount > owed', 'amount < 0'],
  ['debt-not-negative', 'a debt is not given up below nothing', 'amount < 0 || amount > owed', 'amount > owed'],
  [
    'debt-none',
    'who owes nothing is told so',
    'const owed = Math.max(0, -account.balance);',
    'const owed = -account.balance;',
  ],
  [
    'debt-kind',
    'a debt that is given up is an entry of its own kind',
    "operation.source === 'write_off' ? 'debt_write_off' : operation.source",
    "operation.source === 'write_off' ? 'adjustment' : operation.source",
  ],
  ['credit-whole', 'a credit is a whole number', "assertNano(operation.amount, 'a credit');", ''],
  ['credit-debit', 'a negative credit is debited', 'debit: amount < 0 ? account.id : other', 'debit: other'],
  [
    'credit-entry',
    'a credit is an entry',
    'accounts: [{ ...account, balance }],\n    entries: [entry],',
    'accounts: [{ ...account, balance }],',
  ],
  [
    'credit-balance',
    'a credit raises the balance',
    'accounts: [{ ...account, balance }],\n    entries',
    'accounts: [account],\n    entries',
  ],
  ['line-under-owed', 'a credit line under what is owed or held is refused', BELOW, ''],
  [
    'line-maximum',
    'a credit line stays a number that is exact',
    "if (after.balance + after.creditLine > NANO_MAX) return { answer: { ok: false, reason: 'beyond_maximum' } };",
    '',
  ],
  ['line-checked', 'a credit line is never below zero', "assertLimit(terms.creditLine, 'a credit line');", ''],
  ['allowance-checked', 'an allowance is a whole number', "assertLimit(terms.allowance ?? 0, 'an allowance');", ''],
  ['quota-checked', 'a quota is never below zero', "assertLimit(terms.quota ?? 0, 'a quota');", ''],
  [
    'key-of-known',
    'a key is of a known account',
    "if (rows.account(operation.account) === undefined) return { answer: { ok: false, reason: 'unknown_account' } };",
    '',
  ],
  [
    'key-stays',
    'a key stays with its account',
    "if (key.account !== operation.account) return { answer: { ok: false, reason: 'unknown_key' } };",
    '',
  ],
  [
    'terms-keep-allowance',
    'changed terms keep what was used of the allowance',
    'spending: repeated(account.spending, account.allowancePeriod, terms.allowancePeriod, rows.nowMs)',
    'spending: { ...account.spending, used: 0 }',
  ],
  [
    'terms-keep-quota',
    'changed terms keep what was used of the quota',
    'spending: repeated(key.spending, key.quotaPeriod, terms.quotaPeriod, rows.nowMs)',
    'spending: { ...key.spending, used: 0 }',
  ],
  ['longer-counts-on', 'in a longer period what was used counts on', 'used: isLonger ? present.used : 0', 'used: 0'],
  ['shorter-begins-empty', 'a shorter period begins empty', 'used: isLonger ? present.used : 0', 'used: present.used'],
  [
    'changed-keeps-held',
    'a changed period keeps what is held',
    'held: present.held, periodStartMs',
    'held: 0, periodStartMs',
  ],
  [
    'changed-rolls',
    'what was used in a period that is over does not count on',
    'const present = rolled(meter, before, nowMs);',
    'const present = meter;',
  ],
]);

const leases = mutate('src/ledger/lease.ts', [
  [
    'epoch-new',
    'each run has an epoch of its own',
    'operation.epoch ?? (lease?.epoch ?? 0) + 1',
    'operation.epoch ?? (lease?.epoch ?? 1)',
  ],
  [
    'renew-fence',
    'a lease is renewed by its owner alone',
    "if (operation.epoch !== null && lease?.epoch !== operation.epoch) return { answer: { ok: false, reason: 'ended' } };",
    '',
  ],
  [
    'renew-known',
    'a lease that never was is not renewed',
    'lease?.epoch !== operation.epoch',
    'lease !== undefined && lease.epoch !== operation.epoch',
  ],
  [
    'lapsed-epoch',
    'the epoch of a lapsed lease moves on',
    'epoch: lease.epoch + 1, expiresAtMs: 0',
    'epoch: lease.epoch, expiresAtMs: 0',
  ],
  [
    'lapsed-exact',
    'the epoch moves on with the last hold, not later',
    'lease.expiresAtMs <= rows.nowMs',
    'lease.expiresAtMs < rows.nowMs',
  ],
  [
    'living-keeps-epoch',
    'a node that lives keeps its epoch',
    'lease.expiresAtMs > 0 && lease.expiresAtMs <= rows.nowMs',
    'lease.expiresAtMs > 0',
  ],
]);

export const creditMutations = [...credits, ...leases];
