// Admission: one decision over all meters of a message. Takes from all meters or from none, and names the first meter
// that is exhausted.

import { assert } from '../base/assert.ts';
import { periodEndMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import { type BudgetLimit, budgetEndMs, budgetLeft, budgetLimits } from './budgets.ts';
import { extend, rowsOfBoth } from './end-hold.ts';
import { checkIdempotency, idempotencyRowOf } from './idempotency.ts';
import {
  addRequest,
  drained,
  fundsFor,
  fundsLeft,
  groupRates,
  readLevels,
  shortUntilMs,
  spendingAvailable,
  walletAvailable,
  withGroupRates,
} from './meters.ts';
import {
  type Admit,
  type Answer,
  type IdempotencyClaim,
  type Levels,
  type MeterName,
  type RateLimits,
  RESERVED,
  type Refusal,
  type RefusalReason,
  type Reserve,
  type Take,
  type WindowLength,
} from './operation.ts';
import {
  chainOf,
  type GroupsOf,
  type Payers,
  payable,
  payersNow,
  payersOf,
  payingAccount,
  planLeft,
  type RatesAfter,
  rowsAfter,
  withHold,
  withRates,
} from './payers.ts';
import { tightestWindow, windowEndMs } from './plan.ts';
import type { AccountRow, Effect, HoldRow, IdempotencyRow, PersonRow, PlanMeter, RateMeters, Rows } from './rows.ts';
import { StagedRows } from './staged-rows.ts';
import { assertAmount } from './usage-record.ts';

/** The payers, and their drained rates, which are changed once the decision is made. */
interface Meters {
  payers: Payers;
  /** The least to hold for work that was done already: what its reserve let go; null: it is to be done, if everything allows it. */
  doneFor: Nano | null;
  /** Rates of each account in the group that sells the model. */
  rates: readonly RateMeters[];
  keyRates: RateMeters;
}

/**
 * Takes everything the message needs, or returns the meter that is exhausted. Admitting an open hold again takes
 * nothing twice. `isNew`: the id was never admitted before, so no ending is looked up.
 */
export function admit(rows: Rows, operation: Admit, isNew = false): Effect {
  const reserved = operation.reserve === undefined ? undefined : rows.hold(operation.reserve);
  const done = operation.isDone === true ? reserved : undefined;
  if (reserved === undefined || rows.hold(operation.requestId) !== undefined)
    return admitNow(rows, operation, isNew, done);
  assert(operation.claim !== undefined, 'a message with a reserve has a claim');
  assert(
    reserved.owner.node === RESERVED.node,
    'a message takes from a reserve, never from the hold of another message',
  );
  assert(reserved.key === operation.key, 'a message and its reserve have the same key');
  const left = Math.max(0, reserved.amount - operation.amount);
  const lowered = extend(rows, { kind: 'extend', requestId: reserved.requestId, amount: left, checkpoint: null });
  const staged = new StagedRows(rows);
  staged.put(lowered);
  const effect = admitNow(staged, operation, isNew, done);
  // Refused, but counted in a rate: decided over the rows as they stay.
  if (effect.hold === undefined) return effect.accounts === undefined ? effect : admitNow(rows, operation, isNew);
  return { ...effect, ...rowsOfBoth(lowered, effect), reserve: lowered.hold };
}

/** `done`: the reserve, as it was, of work that was done already. */
function admitNow(rows: Rows, operation: Admit, isNew: boolean, done?: HoldRow): Effect {
  assertAmount(operation.amount);
  if (operation.least !== undefined) assertAmount(operation.least); // NaN becomes null in JSON
  const lease = rows.lease(operation.owner.node);
  if (lease === undefined || lease.epoch !== operation.owner.epoch) return { answer: refuse('not_owner') };
  const meters = done === undefined ? readMeters(rows, operation) : readDoneMeters(rows, operation, done);
  if ('answer' in meters) return meters;
  const open = rows.hold(operation.requestId);
  if (open !== undefined) {
    const available = payable(meters.payers, open.amount, open.group, rows.nowMs);
    return { answer: admitted(rows, operation, meters, open.amount, available) };
  }
  const claim = operation.claim === undefined ? undefined : takeClaim(rows, operation, operation.claim);
  if (claim !== undefined && 'ok' in claim) return refuseClaimed(rows, operation, meters, claim);
  const refusal = meters.doneFor === null ? findShort(rows, operation, meters) : null;
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  if (!isNew && rows.ending(operation.requestId) !== undefined) return { answer: { ok: false, reason: 'ended' } };
  return begin(rows, operation, meters, claim);
}

function findShort(rows: Rows, operation: Admit, meters: Meters): Refusal | null {
  return (
    findMoneyShort(meters.payers, operation.least ?? operation.amount, operation.group, rows.nowMs) ??
    findOtherHolds(meters.payers, operation, rows.nowMs) ??
    findRateShort(meters, operation, true, rows.nowMs)
  );
}

/** The idempotency row to write, or a refusal if the key is in use. */
function takeClaim(rows: Rows, operation: Admit, claim: IdempotencyClaim): Answer | IdempotencyRow {
  const read = checkIdempotency(rows, operation, claim);
  return 'ok' in read ? read : idempotencyRowOf(operation, claim, read.failedAttempts, rows.nowMs);
}

function levelsOf(rows: Rows, { limits }: Admit | Take | Reserve, { payers, rates, keyRates }: Meters): Levels {
  return readLevels(rates, limits, keyRates, payers.key.limits, rows.nowMs);
}

function admitted(
  rows: Rows,
  operation: Admit | Take | Reserve,
  meters: Meters,
  amount: Nano,
  available: Nano,
): Answer {
  return { ok: true, kind: 'admitted', amount, available, levels: levelsOf(rows, operation, meters) };
}

/** Takes from all meters. The caller has checked that they suffice. */
function begin(rows: Rows, operation: Admit, meters: Meters, claim: IdempotencyRow | undefined): Effect {
  const { payers, doneFor } = meters;
  const { requestId, group, owner, draft } = operation;
  const { nowMs } = rows;
  const available = payable(payers, 0, group, nowMs);
  const amount = Math.max(Math.min(operation.amount, available), doneFor ?? 0);
  const fromPlan = Math.min(amount, planLeft(payers, group, nowMs));
  const ratesOf = doneFor === null ? takeSlot(operation, meters, nowMs) : {};
  const after = rowsAfter(withHold(payers, amount, fromPlan, nowMs, ratesOf));
  const { account, above, payer, key, person } = chainOf(payers);
  return {
    answer: admitted(rows, operation, meters, amount, available),
    accounts: after.accounts,
    key: after.key,
    people: after.people,
    hold: {
      requestId,
      account,
      above,
      payer,
      key,
      person,
      group,
      amount,
      fromPlan,
      openedAtMs: nowMs,
      owner,
      left: doneFor !== null,
      claim: operation.claim?.name ?? null,
      checkpoint: null,
      draft,
    },
    claim,
  };
}

function takeSlot(operation: Admit, meters: Meters, nowMs: number): RatesAfter {
  const { rates, keyRates } = meters;
  const groupsOf = takeRequest(operation, meters);
  for (const one of rates) one.running++;
  keyRates.running++;
  return { groupsOf, keyRates, usedAtMs: nowMs };
}

/** Sets the whole amount aside, or returns the meter that is exhausted. */
export function reserve(rows: Rows, operation: Reserve): Effect {
  assertAmount(operation.amount);
  const meters = readMeters(rows, operation);
  if ('answer' in meters) return meters;
  const { requestId, group, amount, draft } = operation;
  const { payers } = meters;
  const { nowMs } = rows;
  const open = rows.hold(requestId);
  const available = payable(payers, open?.amount ?? 0, group, nowMs);
  if (open !== undefined) return { answer: admitted(rows, operation, meters, open.amount, available) };
  const refusal = findMoneyShort(payers, amount, group, nowMs);
  if (refusal !== null) return { answer: refusal };
  const fromPlan = Math.min(amount, planLeft(payers, group, nowMs));
  const times = { openedAtMs: nowMs, owner: RESERVED, left: true };
  return {
    answer: admitted(rows, operation, meters, amount, available),
    ...rowsAfter(withHold(payers, amount, fromPlan, nowMs)),
    hold: { requestId, ...chainOf(payers), group, amount, fromPlan, ...times, claim: null, checkpoint: null, draft },
  };
}

/** Takes one request from the rates. Holds nothing. */
export function take(rows: Rows, operation: Take): Effect {
  const meters = readMeters(rows, operation);
  if ('answer' in meters) return meters;
  const refusal = findRateShort(meters, operation, false, rows.nowMs);
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  const taken = withRequest(rows, operation, meters);
  return { answer: admitted(rows, operation, meters, 0, 0), ...taken };
}

/** A replay of the stored response takes one request from the rates, like the message, but no money and no slot. */
function refuseClaimed(rows: Rows, operation: Admit, meters: Meters, answer: Answer): Effect {
  const isLimited = operation.limits.requestsPerMinute !== null || meters.payers.key.limits.requestsPerMinute !== null;
  if (answer.ok || answer.reason !== 'claim_answered' || !isLimited) return { answer };
  const refusal = findRateShort(meters, operation, false, rows.nowMs);
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  return { answer, ...withRequest(rows, operation, meters) };
}

/** The rows after one request was taken from the rates. The caller has checked that they suffice. */
function withRequest(rows: Rows, operation: Admit | Take, meters: Meters): Omit<Effect, 'answer'> {
  const groupsOf = takeRequest(operation, meters);
  return rowsAfter(withRates(meters.payers, { groupsOf, keyRates: meters.keyRates, usedAtMs: rows.nowMs }));
}

/** Counts a request in the drained rates, which are then those of the accounts. */
function takeRequest({ group, limits }: Admit | Take, { payers, rates, keyRates }: Meters): GroupsOf {
  for (const one of rates) addRequest(one, limits);
  addRequest(keyRates, payers.key.limits);
  return (account, at) => withGroupRates(account, group, rates[at] as RateMeters, limits);
}

/** The current meters, or a refusal if the key, its person or an account may not be used. */
function readMeters(rows: Rows, operation: Admit | Take | Reserve): Meters | Effect {
  const account = rows.account(operation.account);
  const key = rows.key(operation.key);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  if (key === undefined || key.account !== account.id) return { answer: { ok: false, reason: 'unknown_key' } };
  if (key.status !== 'enabled') return { answer: refuse('key_disabled') };
  if (key.expiresAtMs !== null && key.expiresAtMs <= rows.nowMs) return { answer: refuse('key_expired') };
  const payers = payersNow(rows, account, key);
  if (!mayUseKey(payers)) return { answer: refuse('person_disabled', { ofKey: true }) };
  const disabled = payers.accounts.find(({ enabled }) => !enabled);
  if (disabled !== undefined) return { answer: refuse('account_disabled', aboveOf(payers, disabled.id)) };
  return { payers, doneFor: null, ...ratesOf(rows, operation, payers) };
}

/** The meters that the reserve was taken from, whatever may be used now. `reserved`: the reserve, as it was. */
function readDoneMeters(rows: Rows, operation: Admit, reserved: HoldRow): Meters {
  const payers = payersOf(rows, reserved);
  return { payers, doneFor: Math.min(reserved.amount, operation.amount), ...ratesOf(rows, operation, payers) };
}

function ratesOf(rows: Rows, { group, limits }: Admit | Take | Reserve, { accounts, key }: Payers) {
  return {
    rates: accounts.map((row) => drained(groupRates(row, group), limits, rows.nowMs)),
    keyRates: drained(key.rates, key.limits, rows.nowMs),
  };
}

/** A person who is disabled, or who left the account and those above it, has no keys there. */
function mayUseKey({ person, accounts }: Payers): boolean {
  return person === null || (person.enabled && accounts.some(({ id }) => id === person.account));
}

interface MoneyMeter {
  window?: WindowLength;
  name: MeterName;
  /** The account whose meter it is; null: the key's. */
  account: number | null;
  available: number;
  /** The same once all holds have ended without a charge. */
  availableLater: number;
  retryAtMs: number | null;
}

/**
 * The first meter that would be insufficient even after all holds ended. If there is none, the first meter that is
 * insufficient now: then only the holds of other messages stand in the way.
 */
function findMoneyShort(payers: Payers, amount: number, group: string, nowMs: number): Refusal | null {
  if (amount === 0) return null; // a free message needs no money, even if a limit was lowered below what is used
  if (amount <= payable(payers, 0, group, nowMs)) return null;
  const meters = moneyMeters(payers, group, nowMs);
  const hopeless = meters.find(({ availableLater }) => amount > availableLater);
  const short = hopeless ?? (meters.find(({ available }) => amount > available) as MoneyMeter);
  return refuse('insufficient', {
    meter: short.name,
    ofKey: short.name === 'quota' || short.name === 'budget',
    ...aboveOf(payers, short.account),
    available: Math.max(0, short.available),
    retryAtMs: short.retryAtMs,
    behindHolds: hopeless === undefined,
    ...(short.window !== undefined && { window: short.window }),
    hasPlan: payingAccount(payers).plan !== null,
  });
}

/** All that limits what a message may cost: the funds of the account that pays, allowances, budgets and the quota. */
function moneyMeters(payers: Payers, group: string, nowMs: number): MoneyMeter[] {
  const { key, accounts, person } = payers;
  const quota = spendingAvailable(key.quota, key.spending);
  return [
    fundsMeter(payingAccount(payers), group, nowMs),
    ...accounts.map(({ id, allowance, allowancePeriod, spending }): MoneyMeter => {
      const available = spendingAvailable(allowance, spending);
      const retryAtMs = periodEndMs(allowancePeriod, nowMs);
      return { name: 'allowance', account: id, available, availableLater: available + spending.held, retryAtMs };
    }),
    ...(person === null ? [] : budgetMeters(person, budgetLimits(person, accounts), nowMs)),
    {
      name: 'quota',
      account: null,
      available: quota,
      availableLater: quota + key.spending.held,
      retryAtMs: periodEndMs(key.quotaPeriod, nowMs),
    },
  ];
}

function fundsMeter(account: AccountRow, group: string, nowMs: number): MoneyMeter {
  const funds = fundsFor(account, group, nowMs);
  const available = account.plan === null ? walletAvailable(account) : fundsLeft(funds);
  const availableLater = fundsLater(account, group, nowMs);
  if (funds.isPlanOnly) return planMeter(account.id, account.plan as PlanMeter, available, availableLater);
  return { name: 'wallet', account: account.id, available, availableLater, retryAtMs: null };
}

function budgetMeters(person: PersonRow, limits: readonly BudgetLimit[], nowMs: number): MoneyMeter[] {
  return limits
    .filter(({ stops }) => stops)
    .map((limit) => {
      const available = budgetLeft(person, limit);
      const window = person.windows.find(({ length }) => length === limit.length);
      const retryAtMs = window === undefined ? null : budgetEndMs(window, nowMs);
      const shared = { name: 'budget', account: limit.account, window: limit.length } as const;
      return { ...shared, available, availableLater: available + person.held, retryAtMs };
    });
}

/** Names an account above the message's own. */
function aboveOf({ accounts: [own] }: Payers, account: number | null): Pick<Refusal, 'above'> {
  return { above: account === null || account === own?.id ? null : account };
}

/** A message whose cost is not covered by what is available must not run beside others, which it would leave unpaid. */
function findOtherHolds(payers: Payers, { isAloneIfShort, amount, group }: Admit, nowMs: number): Refusal | null {
  if (isAloneIfShort !== true || !hasOtherHolds(payers)) return null;
  const available = payable(payers, 0, group, nowMs);
  if (available >= amount) return null;
  const { id, plan } = payingAccount(payers);
  const meter = plan !== null && fundsFor(payingAccount(payers), group, nowMs).isPlanOnly ? 'plan' : 'wallet';
  const facts = { meter, available, behindHolds: true, hasPlan: plan !== null } as const;
  return refuse('insufficient', { ...facts, ...aboveOf(payers, id) });
}

/** Whether other messages hold something that limits this one. */
function hasOtherHolds({ accounts, payer, person }: Payers): boolean {
  if (person !== null && person.held > 0 && budgetLimits(person, accounts).length > 0) return true;
  return accounts.some(({ held, plan, allowance, spending }, at) => {
    if (at === 0 || allowance !== null) return spending.held > 0;
    return at === payer && held + (plan?.held ?? 0) > 0;
  });
}

/** The most that wallet and plan would have if nothing were held. */
function fundsLater(account: AccountRow, group: string, nowMs: number): Nano {
  const { plan } = account;
  return fundsLeft(fundsFor({ ...account, held: 0, plan: plan && { ...plan, held: 0 } }, group, nowMs));
}

/** The window that has the least left decides, and when it ends. */
function planMeter(account: number, plan: PlanMeter, available: number, availableLater: number): MoneyMeter {
  const tightest = tightestWindow(plan);
  const retryAtMs = windowEndMs(plan, tightest);
  return { name: 'plan', account, available, availableLater, retryAtMs, window: tightest.length };
}

function findRateShort(meters: Meters, { limits }: Admit | Take, isMessage: boolean, nowMs: number): Refusal | null {
  const { payers, rates, keyRates } = meters;
  for (let at = 0; at < rates.length; at++) {
    const short = findBucketShort(rates[at] as RateMeters, limits, isMessage, false, nowMs);
    if (short !== null) return at === 0 ? short : { ...short, ...aboveOf(payers, payers.accounts[at]?.id ?? null) };
  }
  return findBucketShort(keyRates, payers.key.limits, isMessage, true, nowMs);
}

function findBucketShort(
  rates: RateMeters,
  limits: RateLimits,
  isMessage: boolean,
  ofKey: boolean,
  nowMs: number,
): Refusal | null {
  const { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrency } = limits;
  let retryAtMs = shortUntilMs('requests', rates.requests, requestsPerMinute, nowMs);
  if (retryAtMs !== null) return refuse('requests_rate', { meter: 'requests', ofKey, retryAtMs });
  if (!isMessage) return null;
  retryAtMs = shortUntilMs('inputTokens', rates.inputTokens, inputTokensPerMinute, nowMs);
  if (retryAtMs !== null) return refuse('input_tokens_rate', { meter: 'input_tokens', ofKey, retryAtMs });
  retryAtMs = shortUntilMs('outputTokens', rates.outputTokens, outputTokensPerMinute, nowMs);
  if (retryAtMs !== null) return refuse('output_tokens_rate', { meter: 'output_tokens', ofKey, retryAtMs });
  if (concurrency !== null && rates.running >= concurrency) {
    return refuse('concurrency', { meter: 'concurrency', ofKey, behindHolds: true });
  }
  return null;
}

function refuse(reason: RefusalReason, facts: Partial<Refusal> = {}): Refusal {
  return {
    ok: false,
    reason,
    meter: null,
    ofKey: false,
    above: null,
    available: 0,
    retryAtMs: null,
    behindHolds: false,
    hasPlan: false,
    levels: null,
    ...facts,
  };
}
