// Ends a hold: settled at a cost, released without charge, or expired at its checkpoint. A hold ends exactly once. A
// later ending gets the first outcome; an owner that returns after expiry corrects the cost once.

import { assert } from '../base/assert.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import { answerIdempotencyRecord, type Payer } from './idempotency.ts';
import {
  addTokens,
  type Charge,
  charged,
  drained,
  fundsFor,
  groupRates,
  payable,
  readSpending,
  recharged,
  returned,
  rolledAccount,
  rolledKey,
  spent,
  walletAvailable,
  withGroupRates,
  withHeld,
  withHoldOf,
  withKeyMeters,
  withMeters,
} from './meters.ts';
import { messageEvents } from './money-events.ts';
import type { Expire, Extend, Leave, RateLimits, Release, Settle, UsageMeters, UsageRecord } from './operation.ts';
import {
  type AccountRow,
  type Effect,
  type EndedBy,
  type Ending,
  type HoldRow,
  type KeyRow,
  type NewEntry,
  type RateMeters,
  type Rows,
  systemAccounts,
} from './rows.ts';
import { assertAmount, assertRecord, emptyRecord, withoutItsEnd } from './usage-record.ts';

const ENDED = { ok: false, reason: 'ended' } as const;

/** Ends a hold with the cost of its record. A repeated settlement returns the first answer. */
export function settle(rows: Rows, operation: Settle): Effect {
  return end(rows, operation, 'settled');
}

function end(rows: Rows, operation: Settle | Release, endedBy: EndedBy): Effect {
  const hold = rows.hold(operation.requestId);
  if (hold !== undefined) {
    const payer = payerOf(rows, hold);
    if (operation.kind !== 'settle' || operation.isAnswer !== true)
      return endHold(rows, hold, operation.record, endedBy, payer);
    // Reverse failed attempts first: the returned money may pay for this answer.
    const { reversalsMax = NANO_MAX } = operation;
    const { claim, entries, corrections, ...reversed } = answerIdempotencyRecord(rows, hold, payer, reversalsMax);
    const ended = endHold(rows, hold, operation.record, endedBy, reversed);
    return { ...ended, claim, corrections, entries: [...entries, ...(ended.entries ?? [])] };
  }
  const ending = rows.ending(operation.requestId);
  if (ending === undefined) return { answer: ENDED };
  if (ending.endedBy === 'expired') return correct(rows, ending, operation.record);
  if (ending.endedBy === 'corrected' || ending.endedBy === 'forgiven') return { answer: ENDED };
  return {
    answer: {
      ok: true,
      kind: 'ended',
      cost: ending.record.cost,
      writtenOff: ending.record.writtenOff,
      walletLeft: null,
    },
  };
}

/** Ends a hold without charge. */
export function release(rows: Rows, operation: Release): Effect {
  assert(operation.record.cost === 0, 'a released message costs nothing');
  return end(rows, operation, 'released');
}

/** Ends one lapsed hold at its checkpoint, or without charge if it has none. */
export function expireHold(rows: Rows, hold: HoldRow): Effect {
  const record = hold.checkpoint ?? emptyRecord({ ...hold, ...hold.draft });
  return endHold(rows, hold, record, 'expired', payerOf(rows, hold));
}

/** Holds that `expire` ends, oldest first: the owner's lease lapsed, a later run uses its node name, or it has lost them. */
export function findLapsedHolds(rows: Rows, { except = [], lost = [] }: Expire): HoldRow[] {
  const lapsed: HoldRow[] = [];
  const spared = new Set(except);
  const ended = new Set(lost);
  for (const hold of rows.holds()) {
    if (spared.has(hold.requestId)) continue;
    const lease = rows.lease(hold.owner.node);
    const hasLapsed = lease === undefined || lease.epoch !== hold.owner.epoch || lease.expiresAtMs <= rows.nowMs;
    if (hasLapsed || ended.has(hold.requestId)) lapsed.push(hold);
  }
  return lapsed.sort((one, other) => (one.requestId < other.requestId ? -1 : 1));
}

/** Raises the hold to `amount` or as far as the meters allow, or lowers it. */
export function extend(rows: Rows, operation: Extend): Effect {
  if (operation.amount !== 'same') assertAmount(operation.amount);
  const hold = rows.hold(operation.requestId);
  if (hold === undefined) return { answer: ENDED };
  if (operation.checkpoint !== null) assertRecord(operation.checkpoint, hold);
  const account = accountOf(rows, hold);
  const key = keyOf(rows, hold);
  const amount = Math.min(
    operation.amount === 'same' ? hold.amount : operation.amount,
    payable(account, key, hold.amount, hold.group, rows.nowMs),
  );
  const more = amount - hold.amount;
  const morePlan = planPartOf(more, account, hold, rows.nowMs);
  const after = withHoldOf(account, more, morePlan, account.groups, rows.nowMs);
  const mayPay = after.plan === null || !fundsFor(after, hold.group, rows.nowMs).isPlanOnly;
  return {
    answer: { ok: true, kind: 'extended', amount, walletLeft: mayPay ? walletAvailable(after) : null },
    account: after,
    key: withKeyMeters(key, withHeld(key.spending, more), key.rates),
    hold: { ...hold, amount, fromPlan: hold.fromPlan + morePlan, checkpoint: operation.checkpoint ?? hold.checkpoint },
  };
}

/** The plan's part of a change of a hold: it holds first, and keeps last what it holds. */
function planPartOf(more: Nano, account: AccountRow, { amount, fromPlan, group }: HoldRow, nowMs: number): Nano {
  if (more < 0) return Math.min(0, more + amount - fromPlan);
  return account.plan === null ? 0 : Math.min(more, fundsFor(account, group, nowMs).plan);
}

/** Frees the concurrency slots of a message whose client disconnected. Its money stays held until it ends. */
export function leave(rows: Rows, operation: Leave): Effect {
  const hold = rows.hold(operation.requestId);
  if (hold === undefined || hold.left) return { answer: { ok: true, kind: 'done' } };
  const account = accountOf(rows, hold);
  const key = keyOf(rows, hold);
  const rates = { ...groupRates(account, hold.group) };
  const keyRates = { ...key.rates };
  vacate(rates);
  vacate(keyRates);
  const groups = withGroupRates(account, hold.group, rates, rates.limits);
  return {
    answer: { ok: true, kind: 'done' },
    account: withMeters(account, account.balance, account.held, account.spending, groups),
    key: withKeyMeters(key, key.spending, keyRates),
    hold: { ...hold, left: true },
  };
}

function endHold(rows: Rows, hold: HoldRow, record: UsageRecord, endedBy: EndedBy, { account, key }: Payer): Effect {
  assertRecord(record, hold);
  const paid = Math.min(record.cost, payable(account, key, hold.amount, hold.group, rows.nowMs));
  const left = account.plan === null ? 0 : fundsFor(account, hold.group, rows.nowMs).plan;
  const planPaid = Math.min(paid, hold.fromPlan + left);
  const accountAfter = withMessageEnded(account, hold, record, { paid, planPaid }, rows.nowMs);
  const keyRates = ratesAfter(key.rates, key.limits, hold, record, rows.nowMs);
  const keyAfter = withKeyMeters(key, spent(key.spending, paid, hold.amount), keyRates);
  const meters = readMeters(account, accountAfter, key, keyAfter);
  const ended = { ...record, atMs: rows.nowMs, writtenOff: record.cost - paid, planPaid, meters };
  return {
    answer: {
      ok: true,
      kind: 'ended',
      cost: ended.cost,
      writtenOff: ended.writtenOff,
      walletLeft: paid > planPaid ? walletAvailable(accountAfter) : null,
    },
    account: accountAfter,
    key: keyAfter,
    endedHold: hold,
    entries: usageEntries(ended),
    ending: { record: ended, endedBy },
    events: messageEvents(account, accountAfter, key, keyAfter, ended, rows.nowMs),
  };
}

/** Meters before and after the end of a message. All rows must be in the current period. */
function readMeters(before: AccountRow, after: AccountRow, keyBefore: KeyRow, keyAfter: KeyRow): UsageMeters {
  return {
    balance: { before: before.balance, after: after.balance },
    quota: readSpending(keyBefore.quota, keyBefore.quotaPeriod, keyBefore.spending, keyAfter.spending),
    allowance: readSpending(before.allowance, before.allowancePeriod, before.spending, after.spending),
  };
}

function withMessageEnded(
  account: AccountRow,
  hold: HoldRow,
  record: UsageRecord,
  charge: Charge,
  nowMs: number,
): AccountRow {
  const before = groupRates(account, hold.group);
  const rates = ratesAfter(before, before.limits, hold, record, nowMs);
  const groups = withGroupRates(account, hold.group, rates, before.limits);
  return charged(account, charge, hold, groups, nowMs);
}

/** Charges the rates with the actual usage. Cache reads do not count. */
function ratesAfter(
  before: RateMeters,
  limits: RateLimits,
  hold: HoldRow,
  record: UsageRecord,
  nowMs: number,
): RateMeters {
  const rates = drained(before, limits, nowMs);
  const input = record.inputTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  addTokens(rates, limits, input, record.outputTokens);
  if (!hold.left) vacate(rates);
  return rates;
}

/**
 * Corrects an expired hold when its owner returns with the actual cost. Adds one entry for the difference, once:
 * charged as far as the meters allow, or given back.
 */
function correct(rows: Rows, ending: Ending, late: UsageRecord): Effect {
  const before = ending.record;
  assertRecord(late, before);
  const record = withoutItsEnd(late);
  const account = accountOf(rows, before);
  const key = keyOf(rows, before);
  const paidBefore = before.cost - before.writtenOff;
  const paidMore = Math.min(record.cost - paidBefore, payable(account, key, 0, before.group, rows.nowMs));
  const left = fundsFor(account, before.group, rows.nowMs).plan;
  const charge = paidMore < 0 ? returned(-paidMore, before) : { paid: paidMore, planPaid: Math.min(paidMore, left) };
  const corrected: Ending = {
    record: {
      ...record,
      atMs: before.atMs,
      writtenOff: record.cost - paidBefore - paidMore,
      planPaid: before.planPaid + charge.planPaid,
      meters: before.meters, // as they were at expiry
    },
    endedBy: 'corrected',
  };
  const accountAfter = recharged(account, charge, before, rows.nowMs);
  const keyAfter = { ...key, spending: spent(key.spending, paidMore, 0) };
  const moreWrittenOff = Math.max(0, corrected.record.writtenOff - before.writtenOff);
  return {
    answer: ENDED,
    account: accountAfter,
    key: keyAfter,
    entries: correctionEntries(account.id, before, corrected.record, charge, rows.nowMs),
    corrections: [{ ending: corrected, before }],
    events: messageEvents(account, accountAfter, key, keyAfter, { ...record, writtenOff: moreWrittenOff }, rows.nowMs),
  };
}

function correctionEntries(
  account: number,
  before: UsageRecord,
  after: UsageRecord,
  { paid, planPaid }: Charge,
  nowMs: number,
): NewEntry[] {
  const entries: NewEntry[] = [];
  const add = (debit: number, credit: number, amount: Nano) => {
    if (amount === 0) return;
    const sides = amount > 0 ? { debit, credit, amount } : { debit: credit, credit: debit, amount: -amount };
    entries.push({ account, atMs: nowMs, ...sides, kind: 'correction', reference: after.requestId, note: null });
  };
  add(account, systemAccounts.revenue, paid - planPaid);
  add(systemAccounts.plans, systemAccounts.revenue, planPaid);
  add(systemAccounts.writeOffs, systemAccounts.revenue, after.writtenOff - before.writtenOff);
  return entries;
}

function usageEntries(record: UsageRecord): NewEntry[] {
  const entries: NewEntry[] = [];
  const { planPaid } = record;
  const paid = record.cost - record.writtenOff - planPaid;
  if (planPaid > 0) entries.push(usageEntry(record, systemAccounts.plans, planPaid, 'usage'));
  if (paid > 0) entries.push(usageEntry(record, record.account, paid, 'usage'));
  if (record.writtenOff > 0) entries.push(usageEntry(record, systemAccounts.writeOffs, record.writtenOff, 'write_off'));
  return entries;
}

function usageEntry(
  { account, atMs, requestId }: UsageRecord,
  debit: number,
  amount: Nano,
  kind: 'usage' | 'write_off',
): NewEntry {
  return { account, atMs, debit, credit: systemAccounts.revenue, amount, kind, reference: requestId, note: null };
}

function payerOf(rows: Rows, of: { account: number; key: number }): Payer {
  return { account: accountOf(rows, of), key: keyOf(rows, of) };
}

/** The account of a hold or record, rolled to the current period. */
function accountOf(rows: Rows, of: { account: number }): AccountRow {
  const account = rows.account(of.account);
  assert(account !== undefined, 'a message has an account');
  return rolledAccount(account, rows.nowMs);
}

/** The key of a hold or record, rolled to the current period. */
function keyOf(rows: Rows, of: { key: number }): KeyRow {
  const key = rows.key(of.key);
  assert(key !== undefined, 'a message has a key');
  return rolledKey(key, rows.nowMs);
}

function vacate(rates: RateMeters): void {
  assert(rates.running > 0, 'a message that ends was running');
  rates.running--;
}
