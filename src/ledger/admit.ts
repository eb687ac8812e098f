// Admission: one decision over all meters of a message. Takes from all meters or from none, and names the first meter
// that is exhausted.

import { periodEndMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import { checkIdempotency, idempotencyRowOf, type Payer } from './idempotency.ts';
import {
  addRequest,
  drained,
  fundsFor,
  fundsLeft,
  groupRates,
  payable,
  readLevels,
  rolledAccount,
  rolledKey,
  shortUntilMs,
  spendingAvailable,
  walletAvailable,
  withGroupRates,
  withHeld,
  withHoldOf,
  withKeyMeters,
  withMeters,
} from './meters.ts';
import type {
  Admit,
  Answer,
  IdempotencyClaim,
  Levels,
  MeterName,
  RateLimits,
  Refusal,
  RefusalReason,
  Take,
  WindowLength,
} from './operation.ts';
import { tightestWindow, windowEndMs } from './plan.ts';
import type { AccountRow, Effect, IdempotencyRow, PlanMeter, RateMeters, Rows } from './rows.ts';
import { assertAmount } from './usage-record.ts';

/** Account and key in the current period, and their drained rates, which are changed once the decision is made. */
interface Meters extends Payer {
  /** The account's meters in the group that sells the model. */
  rates: RateMeters;
  keyRates: RateMeters;
}

/**
 * Takes everything the message needs, or returns the meter that is exhausted. Admitting an open hold again takes
 * nothing twice. `isNew`: the id was never admitted before, so no ending is looked up.
 */
export function admit(rows: Rows, operation: Admit, isNew = false): Effect {
  assertAmount(operation.amount);
  if (operation.least !== undefined) assertAmount(operation.least); // NaN becomes null in JSON
  const lease = rows.lease(operation.owner.node);
  if (lease === undefined || lease.epoch !== operation.owner.epoch) return { answer: refuse('not_owner') };
  const meters = readMeters(rows, operation);
  if ('answer' in meters) return meters;
  const open = rows.hold(operation.requestId);
  if (open !== undefined) {
    const available = payable(meters.account, meters.key, open.amount, open.group, rows.nowMs);
    return { answer: admitted(rows, operation, meters, open.amount, available) };
  }
  const claim = operation.claim === undefined ? undefined : takeClaim(rows, operation, operation.claim);
  if (claim !== undefined && 'ok' in claim) return refuseClaimed(rows, operation, meters, claim);
  const refusal =
    findMoneyShort(meters, operation.least ?? operation.amount, operation.group, rows.nowMs) ??
    findOtherHolds(meters, operation, rows.nowMs) ??
    findRateShort(meters, operation, true, rows.nowMs);
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  if (!isNew && rows.ending(operation.requestId) !== undefined) return { answer: { ok: false, reason: 'ended' } };
  return begin(rows, operation, meters, claim);
}

/** The idempotency row to write, or a refusal if the key is in use. */
function takeClaim(rows: Rows, operation: Admit, claim: IdempotencyClaim): Answer | IdempotencyRow {
  const read = checkIdempotency(rows, operation, claim);
  return 'ok' in read ? read : idempotencyRowOf(operation, claim, read.failedAttempts, rows.nowMs);
}

function levelsOf(rows: Rows, { limits }: Admit | Take, { key, rates, keyRates }: Meters): Levels {
  return readLevels(rates, limits, keyRates, key.limits, rows.nowMs);
}

function admitted(rows: Rows, operation: Admit | Take, meters: Meters, amount: Nano, available: Nano): Answer {
  return { ok: true, kind: 'admitted', amount, available, levels: levelsOf(rows, operation, meters) };
}

/** Takes from all meters. The caller has checked that they suffice. */
function begin(rows: Rows, operation: Admit, meters: Meters, claim: IdempotencyRow | undefined): Effect {
  const { account, key, rates, keyRates } = meters;
  const { requestId, group, limits, owner, draft } = operation;
  const available = payable(account, key, 0, group, rows.nowMs);
  const amount = Math.min(operation.amount, available);
  const fromPlan = account.plan === null ? 0 : Math.min(amount, fundsFor(account, group, rows.nowMs).plan);
  addRequest(rates, limits);
  addRequest(keyRates, key.limits);
  rates.running++;
  keyRates.running++;
  const groups = withGroupRates(account, group, rates, limits);
  return {
    answer: admitted(rows, operation, meters, amount, available),
    account: withHoldOf(account, amount, fromPlan, groups, rows.nowMs),
    key: withKeyMeters(key, withHeld(key.spending, amount), keyRates, rows.nowMs),
    hold: {
      requestId,
      account: account.id,
      key: key.id,
      group,
      amount,
      fromPlan,
      openedAtMs: rows.nowMs,
      owner,
      left: false,
      claim: operation.claim?.name ?? null,
      checkpoint: null,
      draft,
    },
    claim,
  };
}

/** Takes one request from the rates. Holds nothing. */
export function take(rows: Rows, operation: Take): Effect {
  const meters = readMeters(rows, operation);
  if ('answer' in meters) return meters;
  const refusal = findRateShort(meters, operation, false, rows.nowMs);
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  const taken = takeRequest(rows, operation, meters);
  return { answer: admitted(rows, operation, meters, 0, 0), ...taken };
}

/** A replay of the stored response takes one request from the rates, like the message, but no money and no slot. */
function refuseClaimed(rows: Rows, operation: Admit, meters: Meters, answer: Answer): Effect {
  const isLimited = operation.limits.requestsPerMinute !== null || meters.key.limits.requestsPerMinute !== null;
  if (answer.ok || answer.reason !== 'claim_answered' || !isLimited) return { answer };
  const refusal = findRateShort(meters, operation, false, rows.nowMs);
  if (refusal !== null) return { answer: { ...refusal, levels: levelsOf(rows, operation, meters) } };
  return { answer, ...takeRequest(rows, operation, meters) };
}

/** The rows after one request was taken from the rates. The caller has checked that they suffice. */
function takeRequest(
  rows: Rows,
  { group, limits }: Admit | Take,
  { account, key, rates, keyRates }: Meters,
): Required<Pick<Effect, 'account' | 'key'>> {
  addRequest(rates, limits);
  addRequest(keyRates, key.limits);
  const groups = withGroupRates(account, group, rates, limits);
  return {
    account: withMeters(account, account.balance, account.held, account.spending, groups),
    key: withKeyMeters(key, key.spending, keyRates, rows.nowMs),
  };
}

/** The current meters, or a refusal if the key or account may not be used. */
function readMeters(rows: Rows, operation: Admit | Take): Meters | Effect {
  const account = rows.account(operation.account);
  const key = rows.key(operation.key);
  if (account === undefined) return { answer: { ok: false, reason: 'unknown_account' } };
  if (key === undefined || key.account !== account.id) return { answer: { ok: false, reason: 'unknown_key' } };
  if (key.status !== 'enabled') return { answer: refuse('key_disabled') };
  if (key.expiresAtMs !== null && key.expiresAtMs <= rows.nowMs) return { answer: refuse('key_expired') };
  if (!account.enabled) return { answer: refuse('account_disabled') };
  return {
    account: rolledAccount(account, rows.nowMs),
    key: rolledKey(key, rows.nowMs),
    rates: drained(groupRates(account, operation.group), operation.limits, rows.nowMs),
    keyRates: drained(key.rates, key.limits, rows.nowMs),
  };
}

interface MoneyMeter {
  window?: WindowLength;
  name: MeterName;
  available: number;
  /** The same once all holds have ended without a charge. */
  availableLater: number;
  retryAtMs: number | null;
}

/**
 * The first meter that would be insufficient even after all holds ended. If there is none, the first meter that is
 * insufficient now: then only the holds of other messages stand in the way.
 */
function findMoneyShort({ account, key }: Payer, amount: number, group: string, nowMs: number): Refusal | null {
  if (amount === 0) return null; // a free message needs no money, even if a limit was lowered below what is used
  const hasPlan = account.plan !== null;
  const funds = hasPlan ? fundsFor(account, group, nowMs) : null;
  const wallet = funds === null ? walletAvailable(account) : fundsLeft(funds);
  const allowance = spendingAvailable(account.allowance, account.spending);
  const quota = spendingAvailable(key.quota, key.spending);
  if (amount <= wallet && amount <= allowance && amount <= quota) return null;
  const walletLater = fundsLater(account, group, nowMs);
  const meters: MoneyMeter[] = [
    funds?.isPlanOnly
      ? planMeter(account.plan as PlanMeter, wallet, walletLater)
      : { name: 'wallet', available: wallet, availableLater: walletLater, retryAtMs: null },
    {
      name: 'allowance',
      available: allowance,
      availableLater: allowance + account.spending.held,
      retryAtMs: periodEndMs(account.allowancePeriod, nowMs),
    },
    {
      name: 'quota',
      available: quota,
      availableLater: quota + key.spending.held,
      retryAtMs: periodEndMs(key.quotaPeriod, nowMs),
    },
  ];
  const hopeless = meters.find(({ availableLater }) => amount > availableLater);
  const short = hopeless ?? (meters.find(({ available }) => amount > available) as MoneyMeter);
  return refuse('insufficient', {
    meter: short.name,
    ofKey: short.name === 'quota',
    available: Math.max(0, short.available),
    retryAtMs: short.retryAtMs,
    behindHolds: hopeless === undefined,
    ...(short.window !== undefined && { window: short.window }),
    hasPlan,
  });
}

/** A message whose cost is not covered by what is available must not run beside others, which it would leave unpaid. */
function findOtherHolds(
  { account, key }: Payer,
  { isAloneIfShort, amount, group }: Admit,
  nowMs: number,
): Refusal | null {
  if (isAloneIfShort !== true || account.spending.held === 0) return null;
  const available = payable(account, key, 0, group, nowMs);
  if (available >= amount) return null;
  const meter = account.plan !== null && fundsFor(account, group, nowMs).isPlanOnly ? 'plan' : 'wallet';
  return refuse('insufficient', { meter, available, behindHolds: true, hasPlan: account.plan !== null });
}

/** The most that wallet and plan would have if nothing were held. */
function fundsLater(account: AccountRow, group: string, nowMs: number): Nano {
  const { plan } = account;
  return fundsLeft(fundsFor({ ...account, held: 0, plan: plan && { ...plan, held: 0 } }, group, nowMs));
}

/** The window that has the least left decides, and when it ends. */
function planMeter(plan: PlanMeter, available: number, availableLater: number): MoneyMeter {
  const tightest = tightestWindow(plan);
  return { name: 'plan', available, availableLater, retryAtMs: windowEndMs(plan, tightest), window: tightest.length };
}

function findRateShort(meters: Meters, operation: Admit | Take, isMessage: boolean, nowMs: number): Refusal | null {
  const { key, rates, keyRates } = meters;
  return (
    findBucketShort(rates, operation.limits, isMessage, false, nowMs) ??
    findBucketShort(keyRates, key.limits, isMessage, true, nowMs)
  );
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
    available: 0,
    retryAtMs: null,
    behindHolds: false,
    hasPlan: false,
    levels: null,
    ...facts,
  };
}
