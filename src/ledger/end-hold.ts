// Ends a hold: settled at a cost, released without charge, or expired at its checkpoint. A hold ends exactly once. A
// later ending gets the first outcome; an owner that returns after expiry corrects the cost once.

import { assert } from '../base/assert.ts';
import type { Nano } from '../base/money.ts';
import { answerIdempotencyRecord, type Payer } from './idempotency.ts';
import {
  addTokens,
  drained,
  groupRates,
  payable,
  readSpending,
  rolledAccount,
  rolledKey,
  spent,
  withGroupRates,
  withHeld,
  withKeyMeters,
  withMeters,
} from './meters.ts';
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
    const { claim, entries, corrections, ...reversed } = answerIdempotencyRecord(rows, hold, payer);
    const ended = endHold(rows, hold, operation.record, endedBy, reversed);
    return { ...ended, claim, corrections, entries: [...entries, ...(ended.entries ?? [])] };
  }
  const ending = rows.ending(operation.requestId);
  if (ending === undefined) return { answer: ENDED };
  if (ending.endedBy === 'expired') return correct(rows, ending, operation.record);
  if (ending.endedBy === 'corrected' || ending.endedBy === 'forgiven') return { answer: ENDED };
  return { answer: { ok: true, kind: 'ended', cost: ending.record.cost, writtenOff: ending.record.writtenOff } };
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

/** Holds that `expire` ends, oldest first: the owner's lease lapsed, or a later run uses its node name. */
export function findLapsedHolds(rows: Rows, _operation: Expire): HoldRow[] {
  const lapsed: HoldRow[] = [];
  for (const hold of rows.holds()) {
    const lease = rows.lease(hold.owner.node);
    if (lease === undefined || lease.epoch !== hold.owner.epoch || lease.expiresAtMs <= rows.nowMs) lapsed.push(hold);
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
    payable(account, key, hold.amount),
  );
  const more = amount - hold.amount;
  return {
    answer: { ok: true, kind: 'extended', amount },
    account: withMeters(
      account,
      account.balance,
      account.held + more,
      withHeld(account.spending, more),
      account.groups,
    ),
    key: withKeyMeters(key, withHeld(key.spending, more), key.rates),
    hold: { ...hold, amount, checkpoint: operation.checkpoint ?? hold.checkpoint },
  };
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
  const paid = Math.min(record.cost, payable(account, key, hold.amount));
  const accountAfter = withMessageEnded(account, hold, record, paid, rows.nowMs);
  const keyRates = ratesAfter(key.rates, key.limits, hold, record, rows.nowMs);
  const keyAfter = withKeyMeters(key, spent(key.spending, paid, hold.amount), keyRates);
  const meters = readMeters(account, accountAfter, key, keyAfter);
  const ended = { ...record, atMs: rows.nowMs, writtenOff: record.cost - paid, meters };
  return {
    answer: { ok: true, kind: 'ended', cost: ended.cost, writtenOff: ended.writtenOff },
    account: accountAfter,
    key: keyAfter,
    endedHold: hold,
    entries: usageEntries(ended, paid),
    ending: { record: ended, endedBy },
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
  paid: Nano,
  nowMs: number,
): AccountRow {
  const before = groupRates(account, hold.group);
  const rates = ratesAfter(before, before.limits, hold, record, nowMs);
  const groups = withGroupRates(account, hold.group, rates, before.limits);
  const spending = spent(account.spending, paid, hold.amount);
  return withMeters(account, account.balance - paid, account.held - hold.amount, spending, groups);
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
  const paidMore = Math.min(record.cost - paidBefore, payable(account, key, 0));
  const corrected: Ending = {
    record: {
      ...record,
      atMs: before.atMs,
      writtenOff: record.cost - paidBefore - paidMore,
      meters: before.meters, // as they were at expiry
    },
    endedBy: 'corrected',
  };
  return {
    answer: ENDED,
    account: { ...account, balance: account.balance - paidMore, spending: spent(account.spending, paidMore, 0) },
    key: { ...key, spending: spent(key.spending, paidMore, 0) },
    entries: correctionEntries(account.id, before, corrected.record, paidMore, rows.nowMs),
    corrections: [{ ending: corrected, before }],
  };
}

function correctionEntries(
  account: number,
  before: UsageRecord,
  after: UsageRecord,
  paidMore: Nano,
  nowMs: number,
): NewEntry[] {
  const entries: NewEntry[] = [];
  const add = (debit: number, credit: number, amount: Nano) => {
    if (amount === 0) return;
    const sides = amount > 0 ? { debit, credit, amount } : { debit: credit, credit: debit, amount: -amount };
    entries.push({ account, atMs: nowMs, ...sides, kind: 'correction', reference: after.requestId, note: null });
  };
  add(account, systemAccounts.revenue, paidMore);
  add(systemAccounts.writeOffs, systemAccounts.revenue, after.writtenOff - before.writtenOff);
  return entries;
}

function usageEntries(record: UsageRecord, paid: Nano): NewEntry[] {
  const entries: NewEntry[] = [];
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
