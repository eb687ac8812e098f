// What the ledger should do, said once more and otherwise: sums over lists where the ledger keeps
// counters, names of periods where it keeps their beginnings. It shares no code with what it judges.

import type { Operation, RateLimits, UsageRecord } from '../../../src/ledger/ledger.ts';

type Period = 'total' | 'day' | 'week' | 'month';
type Of<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>;

/** Sixty-thousandths of a request or token, used and not yet drained. */
interface Bucket {
  requests: number;
  inputTokens: number;
  outputTokens: number;
  atMs: number;
  limits: RateLimits;
}

/** What of a record the meters take. */
type Bill = Pick<UsageRecord, 'cost' | 'inputTokens' | 'outputTokens' | 'cacheWrite5mTokens' | 'cacheWrite1hTokens'>;

interface Spending {
  limit: number | null;
  period: Period;
  /** Of the period in which `used` was last counted: "2026-11-18". */
  periodName: string;
  used: number;
}

export interface ModelAccount extends Spending {
  id: number;
  enabled: boolean;
  creditLine: number;
  balance: number;
  buckets: Map<string, Bucket>;
}

export interface ModelKey extends Spending {
  id: number;
  account: number;
  status: string;
  expiresAtMs: number | null;
  bucket: Bucket;
}

export interface ModelHold {
  requestId: string;
  account: number;
  key: number;
  group: string;
  amount: number;
  node: string;
  epoch: number;
  left: boolean;
  /** Null: nothing used, nothing to bill. */
  checkpoint: Bill | null;
}

export interface Model {
  nowMs: number;
  accounts: Map<number, ModelAccount>;
  keys: Map<number, ModelKey>;
  holds: Map<string, ModelHold>;
  endings: Map<string, { cost: number; writtenOff: number; by: string }>;
  leases: Map<string, { epoch: number; expiresAtMs: number }>;
  credits: Map<string, number>;
}

/** What an answer must contain. */
export type Expected = Record<string, unknown>;

const ENDED: Expected = { ok: false, reason: 'ended' };
const NOTHING: Bill = { cost: 0, inputTokens: 0, outputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
const DONE: Expected = { ok: true, kind: 'done' };

export function newModel(nowMs: number): Model {
  return {
    nowMs,
    accounts: new Map(),
    keys: new Map(),
    holds: new Map(),
    endings: new Map(),
    leases: new Map(),
    credits: new Map(),
  };
}

/** Does a whole bundle to the model, or nothing of it; what its answers must contain. */
export function expectBundle(model: Model, operations: readonly Operation[]): Expected[] {
  const before = structuredClone(model);
  const answers = operations.map((operation) => expectOne(model, operation));
  if (operations.length === 1 || answers.every(({ ok }) => ok)) return answers;
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
      throw new Error('the model does not know refunds yet');
    case 'set-account':
      return setAccount(model, operation);
    case 'set-key':
      return setKey(model, operation);
    case 'renew':
      return renew(model, operation);
    case 'expire':
      return expire(model);
  }
}

export function heldOf(model: Model, whose: 'account' | 'key', id: number): number {
  return sum([...model.holds.values()].filter((hold) => hold[whose] === id).map(({ amount }) => amount));
}

export function runningOf(model: Model, whose: 'account' | 'key', id: number, group: string | null): number {
  const present = [...model.holds.values()].filter((hold) => hold[whose] === id && !hold.left);
  return present.filter((hold) => group === null || hold.group === group).length;
}

/** Used in the period of now. */
export function usedOf(model: Model, spending: Spending): number {
  return spending.periodName === nameOfPeriod(spending.period, model.nowMs) ? spending.used : 0;
}

function nameOfPeriod(period: Period, atMs: number): string {
  const day = new Date(atMs);
  if (period === 'total') return 'total';
  if (period === 'day') return day.toISOString().slice(0, 10);
  if (period === 'month') return day.toISOString().slice(0, 7);
  const daysSinceMonday = (day.getUTCDay() + 6) % 7;
  return `week of ${new Date(atMs - daysSinceMonday * 86_400_000).toISOString().slice(0, 10)}`;
}

interface Room {
  name: string;
  now: number;
  later: number;
}

/** What each money meter can give now, and what it could if every hold ended for nothing. */
function roomsOf(model: Model, account: ModelAccount, key: ModelKey): Room[] {
  const heldByAccount = heldOf(model, 'account', account.id);
  const later = [
    account.balance + account.creditLine,
    account.limit === null ? Number.POSITIVE_INFINITY : account.limit - usedOf(model, account),
    key.limit === null ? Number.POSITIVE_INFINITY : key.limit - usedOf(model, key),
  ] as const;
  return [
    { name: 'wallet', now: later[0] - heldByAccount, later: later[0] },
    { name: 'allowance', now: later[1] - heldByAccount, later: later[1] },
    { name: 'quota', now: later[2] - heldOf(model, 'key', key.id), later: later[2] },
  ];
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
  const { requestId, amount, group, owner, limits } = operation;
  if (model.holds.has(requestId)) return { ok: true, kind: 'admitted' };
  const rooms = roomsOf(model, account, key);
  const hopeless = rooms.find(({ later }) => amount > later);
  const short = hopeless ?? rooms.find(({ now }) => amount > now);
  if (short !== undefined) {
    const facts = { meter: short.name, ofKey: short.name === 'quota', available: Math.max(0, short.now) };
    return { ok: false, reason: 'insufficient', ...facts, behindHolds: hopeless === undefined };
  }
  const refusal = rateShort(model, account, key, operation);
  if (refusal !== null) return refusal;
  if (model.endings.has(requestId)) return ENDED;
  takeRequest(model, account, key, group, limits);
  const { node, epoch } = owner;
  const of = { requestId, account: account.id, key: key.id, group, node, epoch };
  model.holds.set(requestId, { ...of, amount, left: false, checkpoint: null });
  return { ok: true, kind: 'admitted' };
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
  const room = Math.max(
    0,
    Math.min(...roomsOf(model, accountOf(model, hold), keyOf(model, hold)).map(({ now }) => now)),
  );
  hold.amount = Math.min(operation.amount === 'same' ? hold.amount : operation.amount, hold.amount + room);
  hold.checkpoint = operation.checkpoint ?? hold.checkpoint;
  return { ok: true, kind: 'extended', amount: hold.amount };
}

function leave(model: Model, operation: Of<'leave'>): Expected {
  const hold = model.holds.get(operation.requestId);
  if (hold !== undefined) hold.left = true;
  return DONE;
}

function end(model: Model, operation: Of<'settle' | 'release'>): Expected {
  const { requestId, record, kind } = operation;
  const hold = model.holds.get(requestId);
  if (hold !== undefined) return endHold(model, hold, record, kind);
  const ending = model.endings.get(requestId);
  if (ending === undefined || ending.by === 'corrected') return ENDED;
  if (ending.by !== 'expire') return { ok: true, kind: 'ended', cost: ending.cost, writtenOff: ending.writtenOff };
  const account = accountOf(model, record);
  const key = keyOf(model, record);
  const paidBefore = ending.cost - ending.writtenOff;
  const room = Math.max(0, Math.min(...roomsOf(model, account, key).map(({ now }) => now)));
  const paidMore = Math.min(record.cost - paidBefore, room);
  pay(model, account, key, paidMore);
  const writtenOff = record.cost - paidBefore - paidMore;
  model.endings.set(requestId, { cost: record.cost, writtenOff, by: 'corrected' });
  return ENDED;
}

function endHold(model: Model, hold: ModelHold, record: Bill, by: string): Expected {
  const account = accountOf(model, hold);
  const key = keyOf(model, hold);
  model.holds.delete(hold.requestId);
  // The hold is free again for a moment, but where limits were lowered below it, it is still its message's.
  const rooms = roomsOf(model, account, key).map(({ now }) => Math.max(now, hold.amount));
  const paid = Math.min(record.cost, ...rooms);
  pay(model, account, key, paid);
  const input = record.inputTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  const tokens: [number, number, number] = [0, input * 60_000, record.outputTokens * 60_000];
  const bucket = account.buckets.get(hold.group);
  if (bucket !== undefined) account.buckets.set(hold.group, fill(bucket, bucket.limits, model.nowMs, tokens));
  key.bucket = fill(key.bucket, key.bucket.limits, model.nowMs, tokens);
  const writtenOff = record.cost - paid;
  model.endings.set(hold.requestId, { cost: record.cost, writtenOff, by });
  return { ok: true, kind: 'ended', cost: record.cost, writtenOff };
}

function pay(model: Model, account: ModelAccount, key: ModelKey, paid: number): void {
  account.balance -= paid;
  for (const spending of [account, key]) {
    spending.used = Math.max(0, usedOf(model, spending) + paid);
    spending.periodName = nameOfPeriod(spending.period, model.nowMs);
  }
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

function credit(model: Model, { account: id, amount, reference }: Of<'credit'>): Expected {
  const account = model.accounts.get(id);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  const credited = reference === null ? undefined : model.credits.get(`${id}/${reference}`);
  if (credited !== undefined) return { ok: true, kind: 'credited', amount: credited, repeated: true };
  const available = account.balance + account.creditLine - heldOf(model, 'account', id);
  if (amount < 0 && available + amount < 0) return { ok: false, reason: 'below_available', available };
  account.balance += amount;
  if (reference !== null) model.credits.set(`${id}/${reference}`, amount);
  return { ok: true, kind: 'credited', amount, balance: account.balance, repeated: false };
}

function setAccount(model: Model, { account: id, terms }: Of<'set-account'>): Expected {
  const empty = { id, balance: 0, limit: null, period: 'total', periodName: 'total', used: 0 } as const;
  const account = model.accounts.get(id) ?? { ...empty, buckets: new Map(), enabled: true, creditLine: 0 };
  if (account.balance + terms.creditLine < heldOf(model, 'account', id))
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

function sum(amounts: number[]): number {
  return amounts.reduce((total, amount) => total + amount, 0);
}
