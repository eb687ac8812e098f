// Credits, and the terms of accounts and keys: the operations of an operator.

import { assert } from '../base/assert.ts';
import { type Period, periodStartMs } from '../base/clock.ts';
import { assertNano, NANO_MAX, type Nano } from '../base/money.ts';
import { NO_LIMITS, NO_RATES, rolled, spent, walletAvailable } from './meters.ts';
import type { Credit, Refund, SetAccount, SetKey } from './operation.ts';
import {
  type AccountRow,
  type Effect,
  type Ending,
  type KeyRow,
  type NewEntry,
  type Rows,
  systemAccounts,
} from './rows.ts';
import { assertAmount } from './usage-record.ts';

const SOURCES = {
  payment: systemAccounts.payments,
  promotion: systemAccounts.promotions,
  adjustment: systemAccounts.adjustments,
  write_off: systemAccounts.writeOffs,
} as const;

const SHORTEST_FIRST: readonly Period[] = ['day', 'week', 'month', 'total'];

/**
 * Adds to a balance, or deducts from the available amount. Idempotent per account and reference: a repeated reference
 * returns the amount credited the first time.
 */
export function credit(rows: Rows, operation: Credit): Effect {
  assertNano(operation.amount, 'a credit');
  const account = rows.account(operation.account);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const { amount, reference } = operation;
  const credited = reference === null ? null : rows.creditedAmount(account.id, reference);
  if (credited !== null)
    return { answer: { ok: true, kind: 'credited', amount: credited, balance: account.balance, repeated: true } };
  const available = walletAvailable(account);
  const owed = Math.max(0, -account.balance);
  if (operation.source === 'write_off' && (amount < 0 || amount > owed))
    return { answer: { ok: false, reason: 'below_available', available: owed } };
  if (amount < 0 && -amount > available) {
    return { answer: { ok: false, reason: 'below_available', available } };
  }
  const balance = account.balance + amount;
  if (balance + account.creditLine > NANO_MAX) return { answer: { ok: false, reason: 'beyond_maximum' } };
  const other = SOURCES[operation.source];
  const entry: NewEntry = {
    account: account.id,
    atMs: rows.nowMs,
    debit: amount < 0 ? account.id : other,
    credit: amount < 0 ? other : account.id,
    amount: Math.abs(amount),
    kind: operation.source === 'write_off' ? 'debt_write_off' : operation.source,
    reference,
    note: operation.note,
  };
  return {
    answer: { ok: true, kind: 'credited', amount, balance, repeated: false },
    account: { ...account, balance },
    entries: [entry],
  };
}

/** Creates or updates an account's row. Refuses a credit line below what is owed or held. */
export function setAccount(rows: Rows, operation: SetAccount): Effect {
  const account = rows.account(operation.account) ?? newAccountRow(operation.account);
  const { terms } = operation;
  assertLimit(terms.creditLine, 'a credit line');
  assertLimit(terms.allowance ?? 0, 'an allowance');
  const after: AccountRow = {
    ...account,
    ...terms,
    spending: repeated(account.spending, account.allowancePeriod, terms.allowancePeriod, rows.nowMs),
  };
  if (walletAvailable(after) < 0) {
    return { answer: { ok: false, reason: 'below_available', available: walletAvailable(account) } };
  }
  if (after.balance + after.creditLine > NANO_MAX) return { answer: { ok: false, reason: 'beyond_maximum' } };
  return { answer: { ok: true, kind: 'done' }, account: after };
}

/** Creates or updates a key's row. Keeps what is used and held. */
export function setKey(rows: Rows, operation: SetKey): Effect {
  if (rows.account(operation.account) === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const key = rows.key(operation.key) ?? newKeyRow(operation.key, operation.account);
  if (key.account !== operation.account) return { answer: { ok: false, reason: 'unknown_key' } };
  const { terms } = operation;
  assertLimit(terms.quota ?? 0, 'a quota');
  const after: KeyRow = {
    ...key,
    status: terms.status,
    expiresAtMs: terms.expiresAtMs,
    quota: terms.quota,
    quotaPeriod: terms.quotaPeriod,
    spending: repeated(key.spending, key.quotaPeriod, terms.quotaPeriod, rows.nowMs),
    limits: {
      requestsPerMinute: terms.requestsPerMinute,
      inputTokensPerMinute: terms.inputTokensPerMinute,
      outputTokensPerMinute: terms.outputTokensPerMinute,
      concurrency: terms.concurrency,
    },
  };
  return { answer: { ok: true, kind: 'done' }, key: after };
}

function assertLimit(amount: Nano, what: string): void {
  assertNano(amount, what);
  assert(amount >= 0, `${what} is never negative`);
}

/**
 * The meter under a new period. A longer period contains the old one and keeps its use. A shorter period starts
 * empty: lifetime use must not exhaust a new allowance.
 */
function repeated(
  meter: AccountRow['spending'],
  before: AccountRow['allowancePeriod'],
  after: AccountRow['allowancePeriod'],
  nowMs: number,
): AccountRow['spending'] {
  const present = rolled(meter, before, nowMs);
  if (before === after) return present;
  const isLonger = SHORTEST_FIRST.indexOf(after) > SHORTEST_FIRST.indexOf(before);
  return { used: isLonger ? present.used : 0, held: present.held, periodStartMs: periodStartMs(after, nowMs) };
}

function newAccountRow(id: number): AccountRow {
  return {
    id,
    enabled: true,
    creditLine: 0,
    balance: 0,
    held: 0,
    allowance: null,
    allowancePeriod: 'total',
    spending: { used: 0, held: 0, periodStartMs: 0 },
    month: { startMs: 0, opening: 0 },
    groups: {},
  };
}

function newKeyRow(id: number, account: number): KeyRow {
  return {
    id,
    account,
    status: 'enabled',
    expiresAtMs: null,
    quota: null,
    quotaPeriod: 'total',
    spending: { used: 0, held: 0, periodStartMs: 0 },
    limits: NO_LIMITS,
    rates: NO_RATES,
    lastUsedAtMs: null,
  };
}

/** Returns at most what was paid and not yet refunded. Written-off amounts were never paid. */
export function refund(rows: Rows, { requestId, amount: asked, note }: Refund): Effect {
  if (asked !== 'all') assertAmount(asked);
  const ending = rows.ending(requestId);
  const account = ending && rows.account(ending.record.account);
  if (ending === undefined || account === undefined) return { answer: { ok: false, reason: 'unknown_message' } };
  const { record: before } = ending;
  const paid = before.cost - before.writtenOff;
  const amount = asked === 'all' ? paid : asked;
  if (amount > paid) return { answer: { ok: false, reason: 'below_available', available: paid } };
  // An entry must move an amount.
  if (amount === 0) return { answer: { ok: true, kind: 'refunded', amount, balance: account.balance } };
  const balance = account.balance + amount;
  if (!Number.isSafeInteger(balance + account.creditLine)) return { answer: { ok: false, reason: 'beyond_maximum' } };
  const key = rows.key(before.key);
  const after: Ending = { record: { ...before, cost: before.cost - amount }, endedBy: endedByOf(ending) };
  return {
    answer: { ok: true, kind: 'refunded', amount, balance },
    account: {
      ...account,
      balance,
      spending: spent(rolled(account.spending, account.allowancePeriod, rows.nowMs), -amount, 0),
    },
    key: key && { ...key, spending: spent(rolled(key.spending, key.quotaPeriod, rows.nowMs), -amount, 0) },
    entries: [
      {
        account: account.id,
        atMs: rows.nowMs,
        debit: systemAccounts.revenue,
        credit: account.id,
        amount,
        kind: 'refund',
        reference: requestId,
        note,
      },
    ],
    corrections: [{ ending: after, before }],
  };
}

/** A late settlement of a refunded message must not charge it again. */
function endedByOf({ endedBy }: Ending): Ending['endedBy'] {
  return endedBy === 'expired' ? 'corrected' : endedBy;
}
