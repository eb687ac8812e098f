// Ends a hold: settled at a cost, released without charge, or expired at its checkpoint. A hold ends exactly once. A
// later ending gets the first outcome; an owner that returns after expiry corrects the cost once.

import { assert } from '../base/assert.ts';
import { NANO_MAX, type Nano } from '../base/money.ts';
import { answerIdempotencyRecord } from './idempotency.ts';
import {
  addTokens,
  type Charge,
  drained,
  fundsFor,
  groupRates,
  readSpending,
  returned,
  walletAvailable,
  withGroupRates,
} from './meters.ts';
import { messageEvents } from './money-events.ts';
import {
  type Expire,
  type Extend,
  type GiveBack,
  type Leave,
  type RateLimits,
  RESERVED,
  type Release,
  type Settle,
  type UsageMeters,
  type UsageRecord,
} from './operation.ts';
import {
  type GroupsOf,
  type Payers,
  payable,
  payersOf,
  payingAccount,
  planLeft,
  rowsAfter,
  withCharge,
  withHold,
  withRates,
  withRecharge,
} from './payers.ts';
import {
  type AccountRow,
  type Effect,
  type EndedBy,
  type Ending,
  type HoldRow,
  type NewEntry,
  type PersonRow,
  type RateMeters,
  type Rows,
  systemAccounts,
} from './rows.ts';
import { StagedRows } from './staged-rows.ts';
import { assertAmount, assertRecord, emptyRecord, withoutItsEnd } from './usage-record.ts';

const ENDED = { ok: false, reason: 'ended' } as const;

/** Ends a hold with the cost of its record. A repeated settlement returns the first answer. */
export function settle(rows: Rows, operation: Settle): Effect {
  return end(rows, operation, 'settled');
}

function end(rows: Rows, operation: Settle | Release, endedBy: EndedBy): Effect {
  const hold = rows.hold(operation.requestId);
  if (hold !== undefined) {
    const payers = payersOf(rows, hold);
    if (operation.kind === 'release')
      return intoReserve(rows, endHold(rows, hold, operation.record, endedBy, payers), operation, hold);
    const isDone = operation.isDone === true;
    if (operation.isAnswer !== true) return endHold(rows, hold, operation.record, endedBy, payers, isDone);
    // Reverse failed attempts first: the returned money may pay for this answer.
    const { reversalsMax = NANO_MAX } = operation;
    const reversed = answerIdempotencyRecord(rows, hold, payers, reversalsMax);
    const { claim, entries, corrections } = reversed;
    const ended = endHold(rows, hold, operation.record, endedBy, reversed.payers, isDone);
    return {
      ...ended,
      accounts: [...reversed.others.accounts, ...(ended.accounts ?? [])],
      people: [...reversed.others.people, ...(ended.people ?? [])],
      claim,
      corrections,
      entries: [...entries, ...(ended.entries ?? [])],
    };
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
      payer: ending.record.payer,
      walletLeft: null,
    },
  };
}

/** The reserve takes what the ended hold has let go, in the same decision. */
function intoReserve(rows: Rows, ended: Effect, { reserve }: Release, { key, amount }: HoldRow): Effect {
  const before = reserve === undefined ? undefined : rows.hold(reserve);
  if (before === undefined || before.owner.node !== RESERVED.node || before.key !== key) return ended;
  const staged = new StagedRows(rows);
  staged.put(ended);
  const more = Math.min(NANO_MAX, before.amount + amount);
  const raised = extend(staged, { kind: 'extend', requestId: before.requestId, amount: more, checkpoint: null });
  return { ...ended, ...rowsOfBoth(ended, raised), key: raised.key, reserve: raised.hold };
}

/** Accounts and people of two decisions, of which the second was made over the rows of the first. */
export function rowsOfBoth(
  { accounts = NO_ACCOUNTS, people = NO_PEOPLE }: Effect,
  later: Effect,
): Required<Pick<Effect, 'accounts' | 'people'>> {
  const { accounts: accountsLater = NO_ACCOUNTS, people: peopleLater = NO_PEOPLE } = later;
  return { accounts: [...accounts, ...accountsLater], people: [...people, ...peopleLater] };
}

const NO_ACCOUNTS: readonly AccountRow[] = Object.freeze([]);
const NO_PEOPLE: readonly PersonRow[] = Object.freeze([]);

/** Ends a hold without charge. */
export function release(rows: Rows, operation: Release): Effect {
  assert(operation.record.cost === 0, 'a released message costs nothing');
  return end(rows, operation, 'released');
}

/** Ends one lapsed hold at its checkpoint, or without charge if it has none. */
export function expireHold(rows: Rows, hold: HoldRow): Effect {
  const record = hold.checkpoint ?? emptyRecord({ ...hold, ...hold.draft });
  return endHold(rows, hold, record, 'expired', payersOf(rows, hold));
}

/** Holds that `expire` ends, oldest first: the owner's lease lapsed, a later run uses its node name, or it has lost them. */
export function findLapsedHolds(rows: Rows, { except = [], lost = [] }: Expire): HoldRow[] {
  const lapsed: HoldRow[] = [];
  const spared = new Set(except);
  const ended = new Set(lost);
  for (const hold of rows.holds()) {
    if (spared.has(hold.requestId) || hold.owner.node === RESERVED.node) continue;
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
  const { nowMs } = rows;
  const payers = payersOf(rows, hold);
  const amount = Math.min(
    operation.amount === 'same' ? hold.amount : operation.amount,
    payable(payers, hold.amount, hold.group, nowMs),
  );
  const more = amount - hold.amount;
  const morePlan = planPartOf(more, payers, hold, nowMs);
  const after = withHold(payers, more, morePlan, nowMs);
  const paying = payingAccount(after);
  const mayPay = paying.plan === null || !fundsFor(paying, hold.group, nowMs).isPlanOnly;
  return {
    answer: {
      ok: true,
      kind: 'extended',
      amount,
      payer: paying.id,
      walletLeft: mayPay ? walletAvailable(paying) : null,
    },
    ...rowsAfter(after),
    hold: { ...hold, amount, fromPlan: hold.fromPlan + morePlan, checkpoint: operation.checkpoint ?? hold.checkpoint },
  };
}

/** The plan's part of a change of a hold: it holds first, and keeps last what it holds. */
function planPartOf(more: Nano, payers: Payers, { amount, fromPlan, group }: HoldRow, nowMs: number): Nano {
  if (more < 0) return Math.min(0, more + amount - fromPlan);
  return Math.min(more, planLeft(payers, group, nowMs));
}

/** Ends a reserve. What was admitted from it has holds of its own. */
export function giveBack(rows: Rows, operation: GiveBack): Effect {
  const hold = rows.hold(operation.requestId);
  if (hold === undefined) return { answer: { ok: true, kind: 'done' } };
  assert(hold.owner.node === RESERVED.node, 'only a reserve is given back');
  const after = withHold(payersOf(rows, hold), -hold.amount, -hold.fromPlan, rows.nowMs);
  return { answer: { ok: true, kind: 'done' }, ...rowsAfter(after), endedHold: hold };
}

/** Frees the concurrency slots of a message whose client disconnected. Its money stays held until it ends. */
export function leave(rows: Rows, operation: Leave): Effect {
  const hold = rows.hold(operation.requestId);
  if (hold === undefined || hold.left) return { answer: { ok: true, kind: 'done' } };
  const payers = payersOf(rows, hold);
  const keyRates = { ...payers.key.rates };
  vacate(keyRates);
  const groupsOf: GroupsOf = (account) => {
    const rates = { ...groupRates(account, hold.group) };
    vacate(rates);
    return withGroupRates(account, hold.group, rates, groupRates(account, hold.group).limits);
  };
  return {
    answer: { ok: true, kind: 'done' },
    ...rowsAfter(withRates(payers, { groupsOf, keyRates })),
    hold: { ...hold, left: true },
  };
}

/** `isDone`: it counts in no rate. */
function endHold(
  rows: Rows,
  hold: HoldRow,
  record: UsageRecord,
  endedBy: EndedBy,
  payers: Payers,
  isDone = false,
): Effect {
  assertRecord(record, hold);
  const { nowMs } = rows;
  const paid = Math.min(record.cost, payable(payers, hold.amount, hold.group, nowMs));
  const planPaid = Math.min(paid, hold.fromPlan + planLeft(payers, hold.group, nowMs));
  const counted = isDone ? NOTHING_COUNTED : record;
  const after = withCharge(payers, { paid, planPaid }, hold, nowMs, {
    groupsOf: (account) => groupsAfter(account, hold, counted, nowMs),
    keyRates: ratesAfter(payers.key.rates, payers.key.limits, hold, counted, nowMs),
  });
  const { above, payer, person } = hold;
  const meters = readMeters(payers, after);
  const ended = { ...record, above, payer, person, atMs: nowMs, writtenOff: record.cost - paid, planPaid, meters };
  const { key, accounts, people } = rowsAfter(after);
  return {
    answer: {
      ok: true,
      kind: 'ended',
      cost: ended.cost,
      writtenOff: ended.writtenOff,
      payer,
      walletLeft: paid > planPaid ? walletAvailable(payingAccount(after)) : null,
    },
    key,
    accounts,
    people,
    endedHold: hold,
    entries: usageEntries(ended),
    ending: { record: ended, endedBy },
    events: messageEvents(payers, after, ended, nowMs),
  };
}

/** The balance of the account that pays, and quota and allowance of the message's own, before and after its end. */
function readMeters(before: Payers, after: Payers): UsageMeters {
  const [own, ownAfter] = [before.accounts[0] as AccountRow, after.accounts[0] as AccountRow];
  const { key } = before;
  return {
    balance: { before: payingAccount(before).balance, after: payingAccount(after).balance },
    quota: readSpending(key.quota, key.quotaPeriod, key.spending, after.key.spending),
    allowance: readSpending(own.allowance, own.allowancePeriod, own.spending, ownAfter.spending),
  };
}

type CountedTokens = Pick<UsageRecord, 'inputTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens' | 'outputTokens'>;
const NOTHING_COUNTED: CountedTokens = {
  inputTokens: 0,
  cacheWrite5mTokens: 0,
  cacheWrite1hTokens: 0,
  outputTokens: 0,
};

function groupsAfter(account: AccountRow, hold: HoldRow, record: CountedTokens, nowMs: number): AccountRow['groups'] {
  const before = groupRates(account, hold.group);
  const rates = ratesAfter(before, before.limits, hold, record, nowMs);
  return withGroupRates(account, hold.group, rates, before.limits);
}

/** Charges the rates with the actual usage. Cache reads do not count. */
function ratesAfter(
  before: RateMeters,
  limits: RateLimits,
  hold: HoldRow,
  record: CountedTokens,
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
  const { nowMs } = rows;
  const payers = payersOf(rows, before);
  const paidBefore = before.cost - before.writtenOff;
  const paidMore = Math.min(record.cost - paidBefore, payable(payers, 0, before.group, nowMs));
  const left = planLeft(payers, before.group, nowMs);
  const charge = paidMore < 0 ? returned(-paidMore, before) : { paid: paidMore, planPaid: Math.min(paidMore, left) };
  const { atMs, above, payer, person } = before;
  const corrected: Ending = {
    record: {
      ...record,
      ...{ atMs, above, payer, person },
      writtenOff: record.cost - paidBefore - paidMore,
      planPaid: before.planPaid + charge.planPaid,
      meters: before.meters, // as they were at expiry
    },
    endedBy: 'corrected',
  };
  const after = withRecharge(payers, charge, before, nowMs);
  const moreWrittenOff = Math.max(0, corrected.record.writtenOff - before.writtenOff);
  return {
    answer: ENDED,
    ...rowsAfter(after),
    entries: correctionEntries(payer, before, corrected.record, charge, nowMs),
    corrections: [{ ending: corrected, before }],
    events: messageEvents(payers, after, { ...record, writtenOff: moreWrittenOff }, nowMs),
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
  if (paid > 0) entries.push(usageEntry(record, record.payer, paid, 'usage'));
  if (record.writtenOff > 0) entries.push(usageEntry(record, systemAccounts.writeOffs, record.writtenOff, 'write_off'));
  return entries;
}

function usageEntry(
  { payer: account, atMs, requestId }: UsageRecord,
  debit: number,
  amount: Nano,
  kind: 'usage' | 'write_off',
): NewEntry {
  return { account, atMs, debit, credit: systemAccounts.revenue, amount, kind, reference: requestId, note: null };
}

function vacate(rates: RateMeters): void {
  assert(rates.running > 0, 'a message that ends was running');
  rates.running--;
}
