// A second implementation of the ledger: sums over lists in place of counters, names of periods in place of their
// beginnings. It shares no code with the ledger.

import type { Operation, RateLimits } from '../../../../src/ledger/ledger.ts';
import {
  beginWindows,
  changePlan,
  covers,
  payPlan,
  planHeldOf,
  planLeft,
  returnToPlan,
  setPlan,
  usePlan,
} from './model-plans.ts';
import { heldOf, nameOfPeriod, roomOf, roomsOf, usedOf, walletNow } from './model-rooms.ts';
import type {
  Bill,
  Bucket,
  Model,
  ModelAccount,
  ModelEnding,
  ModelHold,
  ModelKey,
  Period,
  Spending,
} from './model-rows.ts';

type Of<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>;

/** Fields that an answer must have. */
export type Expected = Record<string, unknown>;

const ENDED: Expected = { ok: false, reason: 'ended' };
const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
const NOTHING: Bill = { cost: 0, ...NO_TOKENS, outcome: 'service_cut' };
const DONE: Expected = { ok: true, kind: 'done' };

/** Applies a whole bundle to the model, or nothing of it. Returns what its answers must have. */
export function expectBundle(model: Model, operations: readonly Operation[]): Expected[] {
  const before = operations.length > 1 ? structuredClone(model) : model;
  const answers = operations.map((operation) => expectOne(model, operation));
  if (before === model || answers.every(({ ok }) => ok)) return answers;
  Object.assign(model, before);
  return answers.map((answer) => (answer['ok'] ? { ok: false, reason: 'bundle_refused' } : answer));
}

function expectOne(model: Model, operation: Operation): Expected {
  switch (operation.kind) {
    case 'admit':
      return admit(model, operation);
    case 'take':
      return take(model, operation);
    case 'extend':
      return extend(model, operation);
    case 'leave':
      return leave(model, operation);
    case 'settle':
    case 'release':
      return end(model, operation);
    case 'credit':
      return credit(model, operation);
    case 'refund':
      return refund(model, operation);
    case 'set-account':
      return setAccount(model, operation);
    case 'set-key':
      return setKey(model, operation);
    case 'plan-payment':
      return payPlan(model, operation);
    case 'set-plan':
      return setPlan(model, operation);
    case 'change-plan':
      return changePlan(model, operation);
    case 'renew':
      return renew(model, operation);
    case 'expire':
      return expire(model);
  }
}

export function runningOf(model: Model, whose: 'account' | 'key', id: number, group: string | null): number {
  const present = [...model.holds.values()].filter((hold) => hold[whose] === id && !hold.left);
  return present.filter((hold) => group === null || hold.group === group).length;
}

function findCaller(model: Model, operation: Of<'admit' | 'take'>): [ModelAccount, ModelKey] | Expected {
  const account = model.accounts.get(operation.account);
  const key = model.keys.get(operation.key);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  if (key === undefined || key.account !== account.id) return { ok: false, reason: 'unknown_key' };
  if (key.status !== 'enabled') return { ok: false, reason: 'key_disabled' };
  if (key.expiresAtMs !== null && key.expiresAtMs <= model.nowMs) return { ok: false, reason: 'key_expired' };
  if (!account.enabled) return { ok: false, reason: 'account_disabled' };
  return [account, key];
}

function admit(model: Model, operation: Of<'admit'>): Expected {
  const lease = model.leases.get(operation.owner.node);
  if (lease?.epoch !== operation.owner.epoch) return { ok: false, reason: 'not_owner' };
  const caller = findCaller(model, operation);
  if (!Array.isArray(caller)) return caller;
  const [account, key] = caller;
  const { requestId, group, owner, limits, claim } = operation;
  const open = model.holds.get(requestId);
  const given = () => roomOf(model, account, key, open?.group ?? group);
  if (open !== undefined) return { ok: true, kind: 'admitted', amount: open.amount, available: open.amount + given() };
  const claimed = claim === undefined ? null : findClaimTaken(model, operation, claim);
  if (claimed !== null && 'refused' in claimed) return replay(model, account, key, operation, claimed.refused);
  const refusal =
    moneyShort(model, account, key, group, operation.least ?? operation.amount) ??
    notAlone(model, account, key, operation) ??
    rateShort(model, account, key, operation) ??
    (model.endings.has(requestId) ? ENDED : null);
  if (refusal !== null) return refusal;
  takeRequest(model, account, key, group, limits);
  const { node, epoch } = owner;
  const available = given();
  const amount = Math.min(operation.amount, available);
  const fromPlan = Math.min(amount, planLeft(model, account, group).now);
  if (fromPlan > 0) beginWindows(model, account);
  const of = { requestId, account: account.id, key: key.id, group, node, epoch, claim: claim?.name ?? null };
  model.holds.set(requestId, { ...of, amount, fromPlan, atMs: model.nowMs, left: false, checkpoint: null });
  if (claim !== undefined) {
    const failed = claimed?.failed ?? [];
    const stands = { requestId, hash: claim.requestHash, atMs: model.nowMs, isAnswered: false, failed };
    model.claims.set(`${key.id}/${claim.name}`, stands);
  }
  return { ok: true, kind: 'admitted', amount, available };
}

function moneyShort(
  model: Model,
  account: ModelAccount,
  key: ModelKey,
  group: string,
  amount: number,
): Expected | null {
  if (amount === 0) return null;
  const rooms = roomsOf(model, account, key, group);
  const hopeless = rooms.find(({ later }) => amount > later);
  const short = hopeless ?? rooms.find(({ now }) => amount > now);
  if (short === undefined) return null;
  const facts = { meter: short.name, ofKey: short.name === 'quota', available: Math.max(0, short.now) };
  return { ok: false, reason: 'insufficient', ...facts, behindHolds: hopeless === undefined };
}

/** A message that may cost more than is left runs only if nothing of its account is on hold. */
function notAlone(
  model: Model,
  account: ModelAccount,
  key: ModelKey,
  { isAloneIfShort, amount, group }: Of<'admit'>,
): Expected | null {
  const hasHolds = [...model.holds.values()].some((hold) => hold.account === account.id && hold.amount > 0);
  const available = roomOf(model, account, key, group);
  if (isAloneIfShort !== true || !hasHolds || available >= amount) return null;
  const meter = roomsOf(model, account, key, group)[0]?.name ?? 'wallet';
  return { ok: false, reason: 'insufficient', meter, ofKey: false, available, behindHolds: true };
}

/**
 * Returns the refusal for an idempotency key in use, or the attempts that its answer reverses, or null for a new key.
 * A key is stored for a day.
 */
function findClaimTaken(
  model: Model,
  { key, requestId }: Of<'admit'>,
  { name, requestHash }: { name: string; requestHash: string },
): { refused: Expected } | { failed: string[] } | null {
  const claim = model.claims.get(`${key}/${name}`);
  if (claim === undefined || claim.requestId === requestId || model.nowMs - claim.atMs >= 86_400_000) return null;
  const reason = model.holds.has(claim.requestId) ? 'claim_running' : claim.isAnswered ? 'claim_answered' : null;
  if (reason !== null)
    return {
      refused: {
        ok: false,
        reason: claim.hash === requestHash ? reason : 'claim_mismatch',
        requestId: claim.requestId,
      },
    };
  if (claim.hash !== requestHash) return null;
  return { failed: [...claim.failed, ...(isReversible(model, claim.requestId) ? [claim.requestId] : [])].slice(-32) };
}

/** A stored response is sent again for one request of the rates; only configured limits are counted. */
function replay(
  model: Model,
  account: ModelAccount,
  key: ModelKey,
  { group, limits, account: accountId, key: keyId }: Of<'admit'>,
  refused: Expected,
): Expected {
  const isLimited = limits.requestsPerMinute !== null || key.bucket.limits.requestsPerMinute !== null;
  if (refused['reason'] !== 'claim_answered' || !isLimited) return refused;
  const short = rateShort(model, account, key, { kind: 'take', account: accountId, key: keyId, group, limits });
  if (short !== null) return short;
  takeRequest(model, account, key, group, limits);
  return refused;
}

function isReversible(model: Model, requestId: string): boolean {
  const ending = model.endings.get(requestId);
  if (ending === undefined || ['client_gone', 'quota_cut', 'failed'].includes(ending.outcome)) return false;
  return ending.by === 'expire' || (ending.cost > 0 && ending.by !== 'forgiven');
}

/** Settling the answer of an idempotency key reverses the cost of its earlier attempts, up to so much in a day. */
function reverse(model: Model, account: ModelAccount, key: ModelKey, requestId: string, most: number): void {
  const ending = model.endings.get(requestId);
  if (ending === undefined || !isReversible(model, requestId)) return;
  const paid = ending.cost - ending.writtenOff;
  const today = nameOfPeriod('day', model.nowMs);
  const sum = (account.reversed.get(today) ?? 0) + paid;
  if (sum > most) return;
  account.reversed.set(today, sum);
  giveBack(model, account, key, ending, paid);
  model.endings.set(requestId, { ...ending, cost: 0, writtenOff: 0, planPaid: 0, by: 'forgiven' });
}

function take(model: Model, operation: Of<'take'>): Expected {
  const caller = findCaller(model, operation);
  if (!Array.isArray(caller)) return caller;
  const [account, key] = caller;
  const refusal = rateShort(model, account, key, operation);
  if (refusal !== null) return refusal;
  takeRequest(model, account, key, operation.group, operation.limits);
  return { ok: true, kind: 'admitted' };
}

function rateShort(
  model: Model,
  account: ModelAccount,
  key: ModelKey,
  { kind, group, limits }: Of<'admit' | 'take'>,
): Expected | null {
  const checks = [
    {
      ofKey: false,
      limits,
      bucket: account.buckets.get(group),
      running: runningOf(model, 'account', account.id, group),
    },
    { ofKey: true, limits: key.bucket.limits, bucket: key.bucket, running: runningOf(model, 'key', key.id, null) },
  ];
  for (const { ofKey, limits: bounds, bucket, running } of checks) {
    const level = drain(bucket ?? emptyBucket(bounds), bounds, model.nowMs);
    const full = (limit: number | null, used: number) => limit !== null && used > limit * 60_000;
    if (full(bounds.requestsPerMinute, level.requests + 60_000)) return { ok: false, reason: 'requests_rate', ofKey };
    if (kind === 'take') continue;
    if (full(bounds.inputTokensPerMinute, level.inputTokens + 1))
      return { ok: false, reason: 'input_tokens_rate', ofKey };
    if (full(bounds.outputTokensPerMinute, level.outputTokens + 1))
      return { ok: false, reason: 'output_tokens_rate', ofKey };
    if (bounds.concurrency !== null && running >= bounds.concurrency)
      return { ok: false, reason: 'concurrency', ofKey, behindHolds: true };
  }
  return null;
}

function takeRequest(model: Model, account: ModelAccount, key: ModelKey, group: string, limits: RateLimits): void {
  const bucket = account.buckets.get(group) ?? emptyBucket(limits);
  account.buckets.set(group, fill(bucket, limits, model.nowMs, [60_000, 0, 0]));
  key.bucket = fill(key.bucket, key.bucket.limits, model.nowMs, [60_000, 0, 0]);
}

function emptyBucket(limits: RateLimits): Bucket {
  return { requests: 0, inputTokens: 0, outputTokens: 0, atMs: 0, limits };
}

function drain(bucket: Bucket, limits: RateLimits, nowMs: number): Bucket {
  const level = (used: number, limit: number | null) =>
    limit === null ? 0 : Math.max(0, used - (nowMs - bucket.atMs) * limit);
  return {
    requests: level(bucket.requests, limits.requestsPerMinute),
    inputTokens: level(bucket.inputTokens, limits.inputTokensPerMinute),
    outputTokens: level(bucket.outputTokens, limits.outputTokensPerMinute),
    atMs: nowMs,
    limits,
  };
}

function fill(bucket: Bucket, limits: RateLimits, nowMs: number, more: [number, number, number]): Bucket {
  const level = drain(bucket, limits, nowMs);
  return {
    ...level,
    requests: limits.requestsPerMinute === null ? 0 : level.requests + more[0],
    inputTokens: limits.inputTokensPerMinute === null ? 0 : level.inputTokens + more[1],
    outputTokens: limits.outputTokensPerMinute === null ? 0 : level.outputTokens + more[2],
  };
}

function extend(model: Model, operation: Of<'extend'>): Expected {
  const hold = model.holds.get(operation.requestId);
  if (hold === undefined) return ENDED;
  const account = accountOf(model, hold);
  const room = roomOf(model, account, keyOf(model, hold), hold.group);
  const amount = Math.min(operation.amount === 'same' ? hold.amount : operation.amount, hold.amount + room);
  const morePlan = Math.min(amount - hold.amount, planLeft(model, account, hold.group).now);
  if (morePlan > 0) beginWindows(model, account);
  // A lower hold lets go of the wallet's part first.
  hold.fromPlan = amount > hold.amount ? hold.fromPlan + morePlan : Math.min(hold.fromPlan, amount);
  hold.amount = amount;
  hold.checkpoint = operation.checkpoint ?? hold.checkpoint;
  const isPlanOnly = covers(model, account, hold.group) && !account.plan?.overflow;
  return { ok: true, kind: 'extended', amount, walletLeft: isPlanOnly ? null : walletNow(model, account) };
}

function leave(model: Model, operation: Of<'leave'>): Expected {
  const hold = model.holds.get(operation.requestId);
  if (hold !== undefined) hold.left = true;
  return DONE;
}

function end(model: Model, operation: Of<'settle' | 'release'>): Expected {
  const { requestId, record, kind } = operation;
  const hold = model.holds.get(requestId);
  if (hold !== undefined) {
    const claim = hold.claim === null ? undefined : model.claims.get(`${hold.key}/${hold.claim}`);
    if (kind === 'settle' && operation.isAnswer && claim?.requestId === requestId) {
      claim.isAnswered = true;
      const most = operation.reversalsMax ?? Number.POSITIVE_INFINITY;
      for (const failed of claim.failed) reverse(model, accountOf(model, hold), keyOf(model, hold), failed, most);
    }
    return endHold(model, hold, record, kind);
  }
  const ending = model.endings.get(requestId);
  if (ending === undefined || ['corrected', 'forgiven'].includes(ending.by)) return ENDED;
  if (ending.by !== 'expire') return { ok: true, kind: 'ended', cost: ending.cost, writtenOff: ending.writtenOff };
  const account = accountOf(model, record);
  const key = keyOf(model, record);
  const paidBefore = ending.cost - ending.writtenOff;
  // The client got an error in place of the end of a stream, or of a whole message, which costs nothing.
  const isUnseen = record.outcome === 'completed';
  const cost = isUnseen && !record.stream ? 0 : record.cost;
  const outcome = isUnseen ? 'service_cut' : record.outcome;
  const paidMore = Math.min(cost - paidBefore, roomOf(model, account, key, ending.group));
  const planPaid =
    paidMore < 0
      ? giveBack(model, account, key, ending, -paidMore)
      : pay(model, account, key, paidMore, Math.min(paidMore, planLeft(model, account, ending.group).now), null);
  const writtenOff = cost - paidBefore - paidMore;
  const changed = { outcome, cost, writtenOff, planPaid: ending.planPaid + planPaid, by: 'corrected' };
  model.endings.set(requestId, { ...ending, ...changed });
  return ENDED;
}

function refund(model: Model, { requestId, amount: asked }: Of<'refund'>): Expected {
  const ending = model.endings.get(requestId);
  if (ending === undefined) return { ok: false, reason: 'unknown_message' };
  const account = accountOf(model, ending);
  const paid = ending.cost - ending.writtenOff;
  const amount = asked === 'all' ? paid : asked;
  if (amount > paid) return { ok: false, reason: 'below_available', available: paid };
  if (amount > 0) {
    ending.planPaid += giveBack(model, account, keyOf(model, ending), ending, amount);
    ending.cost -= amount;
    if (ending.by === 'expire') ending.by = 'corrected';
  }
  return { ok: true, kind: 'refunded', amount, balance: account.balance };
}

function endHold(model: Model, hold: ModelHold, record: Bill, by: string): Expected {
  const account = accountOf(model, hold);
  const key = keyOf(model, hold);
  // The settlement may use its own hold, even if limits were lowered below it.
  const paid = Math.min(record.cost, hold.amount + roomOf(model, account, key, hold.group));
  const planPaid = Math.min(paid, hold.fromPlan + planLeft(model, account, hold.group).now);
  model.holds.delete(hold.requestId);
  pay(model, account, key, paid, planPaid, hold);
  const input = record.inputTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  const tokens: [number, number, number] = [0, input * 60_000, record.outputTokens * 60_000];
  const bucket = account.buckets.get(hold.group);
  if (bucket !== undefined) account.buckets.set(hold.group, fill(bucket, bucket.limits, model.nowMs, tokens));
  key.bucket = fill(key.bucket, key.bucket.limits, model.nowMs, tokens);
  const writtenOff = record.cost - paid;
  const { outcome, cost } = record;
  const of = { account: account.id, key: key.id, group: hold.group };
  model.endings.set(hold.requestId, { ...of, outcome, cost, writtenOff, planPaid, atMs: model.nowMs, by });
  return { ok: true, kind: 'ended', cost, writtenOff, walletLeft: paid > planPaid ? walletNow(model, account) : null };
}

/** Returns a part of what was paid, to the wallet first. Returns the change of what the plan paid. */
function giveBack(model: Model, account: ModelAccount, key: ModelKey, ending: ModelEnding, amount: number): number {
  const fromWallet = Math.min(amount, ending.cost - ending.writtenOff - ending.planPaid);
  returnToPlan(model, account, amount - fromWallet, ending.atMs);
  return pay(model, account, key, -amount, fromWallet - amount, null);
}

/** Charges a cost, or returns one if negative, to all but the plan. Returns the plan's part. */
function pay(
  model: Model,
  account: ModelAccount,
  key: ModelKey,
  paid: number,
  planPaid: number,
  hold: ModelHold | null,
): number {
  account.balance -= paid - planPaid;
  if (planPaid > 0) usePlan(model, account, planPaid, hold);
  for (const spending of [account, key]) {
    spending.used = Math.max(0, usedOf(model, spending) + paid);
    spending.periodName = nameOfPeriod(spending.period, model.nowMs);
  }
  return planPaid;
}

function expire(model: Model): Expected {
  const isLapsed = ({ node, epoch }: ModelHold) => {
    const lease = model.leases.get(node);
    return lease?.epoch !== epoch || lease.expiresAtMs <= model.nowMs;
  };
  const lapsed = [...model.holds.values()]
    .filter(isLapsed)
    .sort((one, other) => (one.requestId < other.requestId ? -1 : 1));
  for (const hold of lapsed) endHold(model, hold, hold.checkpoint ?? NOTHING, 'expire');
  for (const lease of model.leases.values()) {
    if (lease.expiresAtMs > model.nowMs || lease.expiresAtMs === 0) continue;
    lease.epoch++;
    lease.expiresAtMs = 0;
  }
  return { ok: true, kind: 'expired', holds: lapsed.length };
}

function renew(model: Model, { node, epoch, leaseMs }: Of<'renew'>): Expected {
  const lease = model.leases.get(node);
  if (epoch !== null && lease?.epoch !== epoch) return ENDED;
  const next = epoch ?? (lease?.epoch ?? 0) + 1;
  model.leases.set(node, { epoch: next, expiresAtMs: model.nowMs + leaseMs });
  return { ok: true, kind: 'lease', epoch: next };
}

function credit(model: Model, { account: id, amount, reference, source, isForced }: Of<'credit'>): Expected {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  const credited = reference === null ? undefined : model.credits.get(`${id}/${reference}`);
  if (credited !== undefined) return { ok: true, kind: 'credited', amount: credited, repeated: true };
  const available = walletNow(model, account);
  const owed = Math.max(0, -account.balance) + account.debt;
  if (source === 'write_off' && (amount < 0 || owed < amount))
    return { ok: false, reason: 'below_available', available: owed };
  if (amount < 0 && !isForced && available + amount < 0)
    return { ok: false, reason: 'below_available', available: Math.max(0, available) };
  account.balance += amount;
  settleDebt(model, account, amount > 0);
  if (reference !== null) model.credits.set(`${id}/${reference}`, amount);
  return { ok: true, kind: 'credited', amount, balance: account.balance, repeated: false };
}

/** A forced deduction beyond the floor and the holds is owed; a credit pays it with what is left. */
function settleDebt(model: Model, account: ModelAccount, isCredit: boolean): void {
  const left = walletNow(model, account) + account.debt;
  const change = left < 0 ? -left : isCredit ? -Math.min(account.debt, left) : 0;
  account.balance += change;
  account.debt += change;
}

function setAccount(model: Model, { account: id, terms }: Of<'set-account'>): Expected {
  const empty = { id, balance: 0, limit: null, period: 'total', periodName: 'total', used: 0 } as const;
  const unused = {
    buckets: new Map(),
    enabled: true,
    creditLine: 0,
    debt: 0,
    plan: null,
    windows: new Map(),
    reversed: new Map(),
  };
  const account = model.accounts.get(id) ?? { ...empty, ...unused };
  if (account.balance + terms.creditLine < heldOf(model, 'account', id) - planHeldOf(model, id))
    return { ok: false, reason: 'below_available' };
  const spending = changePeriod(model, account, terms.allowance, terms.allowancePeriod);
  model.accounts.set(id, { ...account, ...spending, enabled: terms.enabled, creditLine: terms.creditLine });
  return DONE;
}

function setKey(model: Model, { key: id, account, terms }: Of<'set-key'>): Expected {
  if (!model.accounts.has(account)) return { ok: false, reason: 'unknown_account' };
  const known = model.keys.get(id);
  if (known !== undefined && known.account !== account) return { ok: false, reason: 'unknown_key' };
  const { status, expiresAtMs, quota, quotaPeriod, ...limits } = terms;
  const before = known ?? { limit: null, period: 'total' as const, periodName: 'total', used: 0 };
  const bucket = { ...(known?.bucket ?? emptyBucket(limits)), limits };
  model.keys.set(id, { id, account, status, expiresAtMs, bucket, ...changePeriod(model, before, quota, quotaPeriod) });
  return DONE;
}

function changePeriod(model: Model, before: Spending, limit: number | null, period: Period): Spending {
  const days = { day: 1, week: 7, month: 30, total: 9999 };
  const used = days[period] < days[before.period] ? 0 : usedOf(model, before);
  return { limit, period, periodName: nameOfPeriod(period, model.nowMs), used };
}

function accountOf(model: Model, of: { account: number }): ModelAccount {
  const account = model.accounts.get(of.account);
  if (account === undefined) throw new Error('the model lost an account');
  return account;
}

function keyOf(model: Model, of: { key: number }): ModelKey {
  const key = model.keys.get(of.key);
  if (key === undefined) throw new Error('the model lost a key');
  return key;
}
