// Credits, and the terms of accounts and keys: the operations of an operator.

import { assert } from '../base/assert.ts';
import { type Period, periodStartMs } from '../base/clock.ts';
import { assertNano, NANO_MAX, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { NO_USE } from './budgets.ts';
import { NO_COMPANY, NO_LIMITS, NO_RATES, returned, rolled, walletAvailable } from './meters.ts';
import { balanceEvents } from './money-events.ts';
import type {
  BudgetTerms,
  ChangePlan,
  Credit,
  PlanPayment,
  Refund,
  SetAccount,
  SetKey,
  SetPerson,
  SetPlan,
} from './operation.ts';
import { payersOf, payingAccount, rowsAfter, withRecharge } from './payers.ts';
import { withPlanTerms } from './plan.ts';
import {
  type AccountRow,
  type Effect,
  type Ending,
  type KeyRow,
  type NewEntry,
  type PersonRow,
  type Rows,
  systemAccounts,
} from './rows.ts';
import { assertAmount, atCost } from './usage-record.ts';

const SOURCES = {
  payment: systemAccounts.payments,
  promotion: systemAccounts.promotions,
  adjustment: systemAccounts.adjustments,
  write_off: systemAccounts.writeOffs,
} as const;

const SHORTEST_FIRST: readonly Period[] = ['day', 'week', 'month', 'total'];

/**
 * Adds to a balance, or deducts from the available amount. A credit pays the account's debt first, and a forced deduction
 * leaves one. Idempotent per account and reference: a repeated reference returns the amount credited the first time.
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
  const owed = Math.max(0, -account.balance) + account.debt;
  if (operation.source === 'write_off' && (amount < 0 || amount > owed))
    return { answer: { ok: false, reason: 'below_available', available: owed } };
  if (amount < 0 && operation.isForced !== true && -amount > available) {
    return { answer: { ok: false, reason: 'below_available', available: Math.max(0, available) } };
  }
  const toDebt = debtChange(account, amount);
  const balance = account.balance + amount + toDebt;
  const debt = account.debt + toDebt;
  if (account.balance + amount + account.creditLine > NANO_MAX || debt > NANO_MAX)
    return { answer: { ok: false, reason: 'beyond_maximum' } };
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
  const after = { ...account, balance, debt };
  return {
    answer: { ok: true, kind: 'credited', amount, balance, repeated: false },
    accounts: [after],
    entries: toDebt === 0 ? [entry] : [entry, debtEntry(account.id, toDebt, rows.nowMs)],
    events: balanceEvents(account, after, rows.nowMs),
  };
}

/** How much the debt grows (negative: is paid) when `amount` is added to the balance, which it cannot leave below its floor. */
function debtChange({ balance, creditLine, held, debt }: AccountRow, amount: Nano): Nano {
  const left = balance + amount + creditLine - held;
  return left < 0 ? -left : amount > 0 ? -Math.min(debt, left) : 0;
}

function debtEntry(account: number, change: Nano, atMs: number): NewEntry {
  const sides =
    change > 0 ? { debit: systemAccounts.debts, credit: account } : { debit: account, credit: systemAccounts.debts };
  const note = change > 0 ? 'owed for a reversed payment' : 'paid what was owed for a reversed payment';
  return { account, atMs, ...sides, amount: Math.abs(change), kind: 'debt', reference: null, note };
}

/** The price of a plan, paid or given back. Two entries, so that the journal shows the payment and what it was for. */
export function payPlan(rows: Rows, { account: id, amount, reference, note }: PlanPayment): Effect {
  assertNano(amount, 'the price of a plan');
  const account = rows.account(id);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const { balance } = account;
  const credited = rows.creditedAmount(id, reference);
  if (credited !== null) return { answer: { ok: true, kind: 'credited', amount: credited, balance, repeated: true } };
  const { payments, plans } = systemAccounts;
  const entry = (from: number, to: number): Pick<NewEntry, 'debit' | 'credit'> =>
    amount < 0 ? { debit: to, credit: from } : { debit: from, credit: to };
  const shared = { account: id, atMs: rows.nowMs, amount: Math.abs(amount), note };
  return {
    answer: { ok: true, kind: 'credited', amount, balance, repeated: false },
    accounts: [account],
    entries: [
      { ...shared, ...entry(payments, id), kind: 'payment', reference },
      { ...shared, ...entry(id, plans), kind: 'plan_payment', reference: null },
    ],
  };
}

/** Changes members of the account's plan. What is used stays used. */
export function changePlan(rows: Rows, { account: id, name, changes }: ChangePlan): Effect {
  const account = rows.account(id);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  if (account.plan?.name !== name) return { answer: { ok: false, reason: 'unknown_plan' } };
  return setPlan(rows, { kind: 'set-plan', account: id, plan: { ...account.plan, ...changes } });
}

/** Gives the account a plan, changes its terms, or ends it. */
export function setPlan(rows: Rows, { account: id, plan, keepsOverflow = false }: SetPlan): Effect {
  const account = rows.account(id);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const overflow = keepsOverflow ? account.plan?.overflow : undefined;
  const terms = plan === null || overflow === undefined ? plan : { ...plan, overflow };
  if (terms !== null) {
    assert(terms.windows.length > 0, 'a plan has a window');
    const lengths = new Set(terms.windows.map(({ length }) => length));
    assert(lengths.size === terms.windows.length, 'a plan has at most one window of each length');
    for (const { limit } of terms.windows) assertLimit(limit, 'the allowance of a plan');
    for (const ms of [terms.anchorMs, terms.paidUntilMs ?? 0, terms.endsAtMs ?? 0])
      assert(Number.isSafeInteger(ms), 'the times of a plan are whole milliseconds');
  }
  return {
    answer: { ok: true, kind: 'done' },
    accounts: [withPlanTerms(account, terms, rows.nowMs)],
  };
}

/** Creates or updates an account's row. Refuses a credit line below what is owed or held. */
export function setAccount(rows: Rows, operation: SetAccount): Effect {
  const account = rows.account(operation.account) ?? newAccountRow(operation.account);
  const { company: changes, ...terms } = operation.terms;
  assertLimit(terms.creditLine, 'a credit line');
  assertLimit(terms.allowance ?? 0, 'an allowance');
  const company = changes === undefined ? account.company : { ...account.company, ...changes };
  if (company.personBudget !== null) assertBudget(company.personBudget);
  const isMoved = company.parent !== account.company.parent;
  if (isMoved && !isValidParent(rows, account.id, company.parent))
    return { answer: { ok: false, reason: 'wrong_parent' } };
  const after: AccountRow = {
    ...account,
    ...terms,
    company,
    spending: repeated(account.spending, account.allowancePeriod, terms.allowancePeriod, rows.nowMs),
  };
  if (after.balance + after.creditLine < after.held) {
    return { answer: { ok: false, reason: 'below_available', available: Math.max(0, walletAvailable(account)) } };
  }
  if (after.balance + after.creditLine > NANO_MAX) return { answer: { ok: false, reason: 'beyond_maximum' } };
  return { answer: { ok: true, kind: 'done' }, accounts: [after] };
}

/** Whether the account may be below this one: not above itself, and at most three levels. */
function isValidParent(rows: Rows, id: number, parent: number | null): boolean {
  let levels = 1;
  for (let above = parent; above !== null; levels++) {
    const account = rows.account(above);
    if (account === undefined || above === id || levels >= bounds.accountLevelsMax) return false;
    above = account.company.parent;
  }
  return true;
}

function assertBudget({ limits }: BudgetTerms): void {
  assert(new Set(limits.map(({ length }) => length)).size === limits.length, 'a budget has each length at most once');
  for (const { limit } of limits) assertLimit(limit, 'a budget');
}

/** Creates or updates a person's row. Keeps what is used and held. */
export function setPerson(rows: Rows, { person: id, account, enabled, budget }: SetPerson): Effect {
  if (rows.account(account) === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const person = rows.person(id) ?? { id, account, enabled, budgets: [], windows: NO_USE, held: 0 };
  const after: PersonRow = { ...person, account, enabled };
  if (budget !== undefined) {
    const { terms, account: at } = budget;
    if (terms !== null && terms !== 'default') assertBudget(terms);
    const others = person.budgets.filter((one) => one.account !== at);
    after.budgets = terms === 'default' ? others : [...others, { account: at, terms }];
    if (after.budgets.length > bounds.accountChainMax) return { answer: { ok: false, reason: 'beyond_maximum' } };
  }
  return { answer: { ok: true, kind: 'done' }, people: [after] };
}

/** Creates or updates a key's row. Keeps what is used and held. */
export function setKey(rows: Rows, operation: SetKey): Effect {
  if (rows.account(operation.account) === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  const key = rows.key(operation.key) ?? newKeyRow(operation.key, operation.account);
  if (key.account !== operation.account) return { answer: { ok: false, reason: 'unknown_key' } };
  const { terms } = operation;
  assertLimit(terms.quota ?? 0, 'a quota');
  const person = terms.person === undefined ? key.person : terms.person;
  if (person !== null && rows.person(person) === undefined) return { answer: { ok: false, reason: 'unknown_person' } };
  const after: KeyRow = {
    ...key,
    person,
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
    company: NO_COMPANY,
    creditLine: 0,
    balance: 0,
    debt: 0,
    held: 0,
    plan: null,
    pastWindows: [],
    reversals: { used: 0, held: 0, periodStartMs: 0 },
    lowBalances: [],
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
    person: null,
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
  if (ending === undefined || rows.account(ending.record.account) === undefined)
    return { answer: { ok: false, reason: 'unknown_message' } };
  const { record: before } = ending;
  const paid = before.cost - before.writtenOff;
  const amount = asked === 'all' ? paid : asked;
  if (amount > paid) return { answer: { ok: false, reason: 'below_available', available: paid } };
  const payers = payersOf(rows, before);
  const { balance: balanceBefore, creditLine } = payingAccount(payers);
  // An entry must move an amount.
  if (amount === 0) return { answer: { ok: true, kind: 'refunded', amount, balance: balanceBefore } };
  const charge = returned(amount, before);
  const walletPart = amount + charge.planPaid;
  const balance = balanceBefore + walletPart;
  if (!Number.isSafeInteger(balance + creditLine)) return { answer: { ok: false, reason: 'beyond_maximum' } };
  const record = { ...atCost(before, before.cost - amount), planPaid: before.planPaid + charge.planPaid };
  const after: Ending = { record, endedBy: endedByOf(ending) };
  return {
    answer: { ok: true, kind: 'refunded', amount, balance },
    ...rowsAfter(withRecharge(payers, charge, before, rows.nowMs)),
    entries: refundEntries(before.payer, requestId, { wallet: walletPart, plan: -charge.planPaid }, note, rows.nowMs),
    corrections: [{ ending: after, before }],
  };
}

function refundEntries(
  account: number,
  reference: string,
  parts: { wallet: Nano; plan: Nano },
  note: string | null,
  atMs: number,
): NewEntry[] {
  const shared = { account, atMs, debit: systemAccounts.revenue, kind: 'refund', reference, note } as const;
  const entries: NewEntry[] = [
    { ...shared, credit: account, amount: parts.wallet },
    { ...shared, credit: systemAccounts.plans, amount: parts.plan },
  ];
  return entries.filter(({ amount }) => amount > 0);
}

/** A late settlement of a refunded message must not charge it again. */
function endedByOf({ endedBy }: Ending): Ending['endedBy'] {
  return endedBy === 'expired' ? 'corrected' : endedBy;
}
