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
import {
  budgetsOf,
  heldOf,
  heldOfPerson,
  nameOfPeriod,
  paidHeldOf,
  presentName,
  roomOf,
  roomsOf,
  usedOf,
  useOf,
  type Who,
  walletNow,
} from './model-rooms.ts';
import type {
  Bill,
  Bucket,
  Model,
  ModelAccount,
  ModelChain,
  ModelEnding,
  ModelHold,
  ModelKey,
  ModelPerson,
  Period,
  Spending,
} from './model-rows.ts';

type Of<Kind extends Operation['kind']> = Extract<Operation, { kind: Kind }>;

/** Fields that an answer must have. */
export type Expected = Record<string, unknown>;

const ENDED: Expected = { ok: false, reason: 'ended' };
const NO_TOKENS = { inputTokens: 0, outputTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };
const NOTHING: Bill = { cost: 0, ...NO_TOKENS, outcome: 'service_cut' };
/** In place of the node of a message: nothing but an operation ends a reserve. */
const RESERVES = 'none, it is a reserve';
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
      return operation.reserve === undefined ? admit(model, operation) : admitReserved(model, operation);
    case 'take':
      return take(model, operation);
    case 'reserve':
      return reserve(model, operation);
    case 'give-back':
      model.holds.delete(operation.requestId);
      return DONE;
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
    case 'set-person':
      return setPerson(model, operation);
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

/** Running messages of an account and those below it, in a group; or of a key. */
export function runningOf(model: Model, whose: 'account' | 'key', id: number, group: string | null): number {
  const isOf = (hold: ModelHold) => (whose === 'key' ? hold.key === id : hold.accounts.includes(id));
  const present = [...model.holds.values()].filter((hold) => isOf(hold) && !hold.left);
  return present.filter((hold) => group === null || hold.group === group).length;
}

function findCaller(model: Model, operation: Of<'admit' | 'take' | 'reserve'>): { who: Who } | Expected {
  const account = model.accounts.get(operation.account);
  const key = model.keys.get(operation.key);
  if (account === undefined) return { ok: false, reason: 'unknown_account' };
  if (key === undefined || key.account !== account.id) return { ok: false, reason: 'unknown_key' };
  if (key.status !== 'enabled') return { ok: false, reason: 'key_disabled' };
  if (key.expiresAtMs !== null && key.expiresAtMs <= model.nowMs) return { ok: false, reason: 'key_expired' };
  const who = whoOf(model, chainNow(model, account, key));
  const isGone = who.person !== null && !who.accounts.some(({ id }) => id === who.person?.account);
  if (who.person?.enabled === false || isGone) return { ok: false, reason: 'person_disabled' };
  const disabled = who.accounts.find(({ enabled }) => !enabled);
  if (disabled !== undefined)
    return { ok: false, reason: 'account_disabled', above: disabled === account ? null : disabled.id };
  return { who };
}

function isCaller(found: { who: Who } | Expected): found is { who: Who } {
  return 'who' in found;
}

/** The rows that a message of the key takes from if it begins now. */
function chainNow(model: Model, account: ModelAccount, key: ModelKey): ModelChain {
  const accounts = [account.id];
  for (let one = account; one.parent !== null; one = accountOf(model, one.parent)) accounts.push(one.parent);
  const payer = accounts.map((id) => accountOf(model, id)).find((one) => one.paysFrom === 'own' || one.parent === null);
  return { accounts, payer: payer?.id ?? account.id, key: key.id, person: key.person };
}

function whoOf(model: Model, { accounts: ids, payer, key, person }: ModelChain): Who {
  const accounts = ids.map((id) => accountOf(model, id));
  const found = person === null ? null : model.people.get(person);
  if (found === undefined) throw new Error('the model lost a person');
  const [own] = accounts as [ModelAccount];
  return { own, accounts, payer: accountOf(model, payer), key: keyOf(model, { key }), person: found };
}

/** `done`: the reserve of work that was done already, and what it let go of. */
function admit(
  model: Model,
  operation: Of<'admit'>,
  done: { chain: ModelChain; least: number } | null = null,
): Expected {
  const lease = model.leases.get(operation.owner.node);
  if (lease?.epoch !== operation.owner.epoch) return { ok: false, reason: 'not_owner' };
  const caller = done === null ? findCaller(model, operation) : { who: whoOf(model, done.chain) };
  if (!isCaller(caller)) return caller;
  const { who } = caller;
  const { requestId, group, owner, limits, claim } = operation;
  const open = model.holds.get(requestId);
  const given = () => roomOf(model, who, open?.group ?? group);
  if (open !== undefined) return { ok: true, kind: 'admitted', amount: open.amount, available: open.amount + given() };
  const claimed = claim === undefined ? null : findClaimTaken(model, operation, claim);
  if (claimed !== null && 'refused' in claimed) return replay(model, who, operation, claimed.refused);
  const short = () =>
    moneyShort(model, who, group, operation.least ?? operation.amount) ??
    notAlone(model, who, operation) ??
    rateShort(model, who, operation);
  const refusal = (done === null ? short() : null) ?? (model.endings.has(requestId) ? ENDED : null);
  if (refusal !== null) return refusal;
  if (done === null) takeRequest(model, who, group, limits);
  const { node, epoch } = owner;
  const available = given();
  const amount = Math.max(done?.least ?? 0, Math.min(operation.amount, available));
  const fromPlan = Math.min(amount, planLeft(model, who.payer, group).now);
  if (fromPlan > 0) beginWindows(model, who.payer);
  if (amount > 0) beginUses(model, who.person);
  const chain = done?.chain ?? chainNow(model, who.own, who.key);
  const of = { requestId, ...chain, group, node, epoch, claim: claim?.name ?? null };
  model.holds.set(requestId, { ...of, amount, fromPlan, atMs: model.nowMs, left: done !== null, checkpoint: null });
  if (claim !== undefined) {
    const failed = claimed?.failed ?? [];
    const stands = { requestId, hash: claim.requestHash, atMs: model.nowMs, isAnswered: false, failed };
    model.claims.set(`${who.key.id}/${claim.name}`, stands);
  }
  return { ok: true, kind: 'admitted', amount, available };
}

/** The reserve lets go of what the message asks for, and takes it back if the message is refused. */
function admitReserved(model: Model, operation: Of<'admit'>): Expected {
  const { requestId, reserve: from = '', amount } = operation;
  const reserved = model.holds.get(from);
  if (reserved === undefined) return admit(model, operation);
  const { accounts, payer, key, person } = reserved;
  const least = Math.min(amount, reserved.amount);
  const done = operation.isDone === true ? { chain: { accounts, payer, key, person }, least } : null;
  if (model.holds.has(requestId)) return admit(model, operation, done);
  const whole = { ...reserved };
  lower(reserved, reserved.amount - least);
  const answer = admit(model, operation, done);
  if (!answer['ok']) model.holds.set(from, whole);
  return answer;
}

function reserve(model: Model, operation: Of<'reserve'>): Expected {
  const caller = findCaller(model, operation);
  if (!isCaller(caller)) return caller;
  const { who } = caller;
  const { requestId, group, amount } = operation;
  const open = model.holds.get(requestId);
  const available = (open?.amount ?? 0) + roomOf(model, who, group);
  if (open !== undefined) return { ok: true, kind: 'admitted', amount: open.amount, available };
  const refusal = moneyShort(model, who, group, amount);
  if (refusal !== null) return refusal;
  const fromPlan = Math.min(amount, planLeft(model, who.payer, group).now);
  if (fromPlan > 0) beginWindows(model, who.payer);
  if (amount > 0) beginUses(model, who.person);
  const of = { requestId, ...chainNow(model, who.own, who.key), group, node: RESERVES, epoch: 0, claim: null };
  model.holds.set(requestId, { ...of, amount, fromPlan, atMs: model.nowMs, left: true, checkpoint: null });
  return { ok: true, kind: 'admitted', amount, available };
}

/** A lower hold lets go of the wallet's part first. */
function lower(hold: ModelHold, amount: number): void {
  hold.fromPlan = Math.min(hold.fromPlan, amount);
  hold.amount = amount;
}

function moneyShort(model: Model, who: Who, group: string, amount: number): Expected | null {
  if (amount === 0) return null;
  const rooms = roomsOf(model, who, group);
  const hopeless = rooms.find(({ later }) => amount > later);
  const short = hopeless ?? rooms.find(({ now }) => amount > now);
  if (short === undefined) return null;
  const { name: meter, above } = short;
  const ofKey = meter === 'quota' || meter === 'budget';
  const facts = { meter, ofKey, above, available: Math.max(0, short.now) };
  return { ok: false, reason: 'insufficient', ...facts, behindHolds: hopeless === undefined };
}

/** A message that may cost more than is left runs only if nothing that limits it is on hold. */
function notAlone(model: Model, who: Who, { isAloneIfShort, amount, group }: Of<'admit'>): Expected | null {
  const { own, accounts, payer, person } = who;
  const isHeld =
    heldOf(model, own.id) > 0 ||
    paidHeldOf(model, payer.id) > 0 ||
    accounts.some((account) => account.limit !== null && heldOf(model, account.id) > 0) ||
    (person !== null && budgetsOf(who).length > 0 && heldOfPerson(model, person.id) > 0);
  const available = roomOf(model, who, group);
  if (isAloneIfShort !== true || !isHeld || available >= amount) return null;
  const meter = roomsOf(model, who, group)[0]?.name ?? 'wallet';
  const above = payer === own ? null : payer.id;
  return { ok: false, reason: 'insufficient', meter, ofKey: false, above, available, behindHolds: true };
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
  who: Who,
  { group, limits, account: accountId, key: keyId }: Of<'admit'>,
  refused: Expected,
): Expected {
  const isLimited = limits.requestsPerMinute !== null || who.key.bucket.limits.requestsPerMinute !== null;
  if (refused['reason'] !== 'claim_answered' || !isLimited) return refused;
  const short = rateShort(model, who, { kind: 'take', account: accountId, key: keyId, group, limits });
  if (short !== null) return short;
  takeRequest(model, who, group, limits);
  return refused;
}

function isReversible(model: Model, requestId: string): boolean {
  const ending = model.endings.get(requestId);
  if (ending === undefined || ['client_gone', 'quota_cut', 'failed'].includes(ending.outcome)) return false;
  return ending.by === 'expire' || (ending.cost > 0 && ending.by !== 'forgiven');
}

/** Settling the answer of an idempotency key reverses the cost of its earlier attempts, up to so much in a day. */
function reverse(model: Model, requestId: string, most: number): void {
  const ending = model.endings.get(requestId);
  if (ending === undefined || !isReversible(model, requestId)) return;
  const paid = ending.cost - ending.writtenOff;
  const who = whoOf(model, ending);
  const today = nameOfPeriod('day', model.nowMs);
  const sum = (who.payer.reversed.get(today) ?? 0) + paid;
  if (sum > most) return;
  who.payer.reversed.set(today, sum);
  giveBack(model, who, ending, paid);
  model.endings.set(requestId, { ...ending, cost: 0, writtenOff: 0, planPaid: 0, by: 'forgiven' });
}

function take(model: Model, operation: Of<'take'>): Expected {
  const caller = findCaller(model, operation);
  if (!isCaller(caller)) return caller;
  const refusal = rateShort(model, caller.who, operation);
  if (refusal !== null) return refusal;
  takeRequest(model, caller.who, operation.group, operation.limits);
  return { ok: true, kind: 'admitted' };
}

function rateShort(
  model: Model,
  { own, accounts, key }: Who,
  { kind, group, limits }: Of<'admit' | 'take'>,
): Expected | null {
  const checks = [
    ...accounts.map(({ id, buckets }) => ({
      whose: { ofKey: false, above: id === own.id ? null : id },
      limits,
      bucket: buckets.get(group),
      running: runningOf(model, 'account', id, group),
    })),
    {
      whose: { ofKey: true, above: null },
      limits: key.bucket.limits,
      bucket: key.bucket,
      running: runningOf(model, 'key', key.id, null),
    },
  ];
  for (const { whose, limits: bounds, bucket, running } of checks) {
    const level = drain(bucket ?? emptyBucket(bounds), bounds, model.nowMs);
    const full = (limit: number | null, used: number) => limit !== null && used > limit * 60_000;
    if (full(bounds.requestsPerMinute, level.requests + 60_000))
      return { ok: false, reason: 'requests_rate', ...whose };
    if (kind === 'take') continue;
    if (full(bounds.inputTokensPerMinute, level.inputTokens + 1))
      return { ok: false, reason: 'input_tokens_rate', ...whose };
    if (full(bounds.outputTokensPerMinute, level.outputTokens + 1))
      return { ok: false, reason: 'output_tokens_rate', ...whose };
    if (bounds.concurrency !== null && running >= bounds.concurrency)
      return { ok: false, reason: 'concurrency', ...whose, behindHolds: true };
  }
  return null;
}

function takeRequest(model: Model, { accounts, key }: Who, group: string, limits: RateLimits): void {
  for (const { buckets } of accounts) {
    const bucket = buckets.get(group) ?? emptyBucket(limits);
    buckets.set(group, fill(bucket, limits, model.nowMs, [60_000, 0, 0]));
  }
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
  const who = whoOf(model, hold);
  const { payer } = who;
  const room = roomOf(model, who, hold.group);
  const amount = Math.min(operation.amount === 'same' ? hold.amount : operation.amount, hold.amount + room);
  const morePlan = Math.min(amount - hold.amount, planLeft(model, payer, hold.group).now);
  if (morePlan > 0) beginWindows(model, payer);
  if (amount > hold.amount) beginUses(model, who.person);
  if (amount > hold.amount) Object.assign(hold, { amount, fromPlan: hold.fromPlan + morePlan });
  else lower(hold, amount);
  hold.checkpoint = operation.checkpoint ?? hold.checkpoint;
  const isPlanOnly = covers(model, payer, hold.group) && !payer.plan?.overflow;
  const walletLeft = isPlanOnly ? null : walletNow(model, payer);
  return { ok: true, kind: 'extended', amount, payer: payer.id, walletLeft };
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
      for (const failed of claim.failed) reverse(model, failed, most);
    }
    const { amount, key } = hold;
    const answer = endHold(model, hold, record, kind, kind === 'settle' && operation.isDone === true);
    if (kind === 'release') returnToReserve(model, operation.reserve, key, amount);
    return answer;
  }
  const ending = model.endings.get(requestId);
  if (ending === undefined || ['corrected', 'forgiven'].includes(ending.by)) return ENDED;
  if (ending.by !== 'expire') return { ok: true, kind: 'ended', cost: ending.cost, writtenOff: ending.writtenOff };
  const who = whoOf(model, ending);
  const paidBefore = ending.cost - ending.writtenOff;
  // The client got an error in place of the end of a stream, or of a whole message, which costs nothing.
  const isUnseen = record.outcome === 'completed';
  const cost = isUnseen && !record.stream ? 0 : record.cost;
  const outcome = isUnseen ? 'service_cut' : record.outcome;
  const paidMore = Math.min(cost - paidBefore, roomOf(model, who, ending.group));
  const planPaid =
    paidMore < 0
      ? giveBack(model, who, ending, -paidMore)
      : pay(model, who, paidMore, Math.min(paidMore, planLeft(model, who.payer, ending.group).now), null, ending.atMs);
  const writtenOff = cost - paidBefore - paidMore;
  const changed = { outcome, cost, writtenOff, planPaid: ending.planPaid + planPaid, by: 'corrected' };
  model.endings.set(requestId, { ...ending, ...changed });
  return ENDED;
}

function returnToReserve(model: Model, from: string | undefined, key: number, amount: number): void {
  const reserved = from === undefined ? undefined : model.holds.get(from);
  if (from === undefined || reserved?.node !== RESERVES || reserved.key !== key) return;
  extend(model, { kind: 'extend', requestId: from, amount: reserved.amount + amount, checkpoint: null });
}

function refund(model: Model, { requestId, amount: asked }: Of<'refund'>): Expected {
  const ending = model.endings.get(requestId);
  if (ending === undefined) return { ok: false, reason: 'unknown_message' };
  const who = whoOf(model, ending);
  const paid = ending.cost - ending.writtenOff;
  const amount = asked === 'all' ? paid : asked;
  if (amount > paid) return { ok: false, reason: 'below_available', available: paid };
  if (amount > 0) {
    ending.planPaid += giveBack(model, who, ending, amount);
    ending.cost -= amount;
    if (ending.by === 'expire') ending.by = 'corrected';
  }
  return { ok: true, kind: 'refunded', amount, balance: who.payer.balance };
}

function endHold(model: Model, hold: ModelHold, record: Bill, by: string, isDone = false): Expected {
  const who = whoOf(model, hold);
  const { accounts, key, payer } = who;
  // The settlement may use its own hold, even if limits were lowered below it.
  const paid = Math.min(record.cost, hold.amount + roomOf(model, who, hold.group));
  const planPaid = Math.min(paid, hold.fromPlan + planLeft(model, payer, hold.group).now);
  model.holds.delete(hold.requestId);
  pay(model, who, paid, planPaid, hold, model.nowMs);
  const input = record.inputTokens + record.cacheWrite5mTokens + record.cacheWrite1hTokens;
  const tokens: [number, number, number] = isDone ? [0, 0, 0] : [0, input * 60_000, record.outputTokens * 60_000];
  for (const { buckets } of accounts) {
    const bucket = buckets.get(hold.group);
    if (bucket !== undefined) buckets.set(hold.group, fill(bucket, bucket.limits, model.nowMs, tokens));
  }
  key.bucket = fill(key.bucket, key.bucket.limits, model.nowMs, tokens);
  const writtenOff = record.cost - paid;
  const { outcome, cost } = record;
  const of = { accounts: hold.accounts, payer: hold.payer, key: hold.key, person: hold.person, group: hold.group };
  model.endings.set(hold.requestId, { ...of, outcome, cost, writtenOff, planPaid, atMs: model.nowMs, by });
  const walletLeft = paid > planPaid ? walletNow(model, payer) : null;
  return { ok: true, kind: 'ended', cost, writtenOff, payer: payer.id, walletLeft };
}

/** Returns a part of what was paid, to the wallet first. Returns the change of what the plan paid. */
function giveBack(model: Model, who: Who, ending: ModelEnding, amount: number): number {
  const fromWallet = Math.min(amount, ending.cost - ending.writtenOff - ending.planPaid);
  returnToPlan(model, who.payer, amount - fromWallet, ending.atMs);
  return pay(model, who, -amount, fromWallet - amount, null, ending.atMs);
}

/** Charges a cost, or returns one of `atMs` if negative, to all but the plan. Returns the plan's part. */
function pay(model: Model, who: Who, paid: number, planPaid: number, hold: ModelHold | null, atMs: number): number {
  const { accounts, payer, key, person } = who;
  payer.balance -= paid - planPaid;
  if (planPaid > 0) usePlan(model, payer, planPaid, hold);
  for (const spending of [...accounts, key]) {
    spending.used = Math.max(0, usedOf(model, spending) + paid);
    spending.periodName = nameOfPeriod(spending.period, model.nowMs);
  }
  if (paid > 0) beginUses(model, person);
  if (person !== null) {
    for (const length of LENGTHS) {
      const used = useOf(model, person, length);
      const name = presentName(model, length, person.uses.get(length)?.name ?? '');
      // A return counts in windows in which the message was charged.
      const wasCharged = length === '5h' ? name === '' || atMs >= Number(name) : name === nameOfPeriod(length, atMs);
      person.uses.set(length, { name, used: paid > 0 || wasCharged ? Math.max(0, used + paid) : used });
    }
  }
  return planPaid;
}

const LENGTHS = ['5h', 'day', 'week', 'month'] as const;

/** Something is held or charged: the person's window of 5 hours begins. */
function beginUses(model: Model, person: ModelPerson | null): void {
  if (person === null) return;
  if (presentName(model, '5h', person.uses.get('5h')?.name ?? '') === '')
    person.uses.set('5h', { used: 0, name: String(model.nowMs) });
}

function expire(model: Model): Expected {
  const isLapsed = ({ node, epoch }: ModelHold) => {
    if (node === RESERVES) return false;
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
  const known = model.accounts.get(id);
  const { parent = known?.parent ?? null } = terms.company ?? {};
  if (parent !== (known?.parent ?? null) && !mayBeBelow(model, id, parent))
    return { ok: false, reason: 'wrong_parent' };
  const alone = { parent: null, paysFrom: 'own', personBudget: null } as const;
  const empty = { id, ...alone, balance: 0, limit: null, period: 'total', periodName: 'total', used: 0 } as const;
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
  if (account.balance + terms.creditLine < paidHeldOf(model, id) - planHeldOf(model, id))
    return { ok: false, reason: 'below_available' };
  const spending = changePeriod(model, account, terms.allowance, terms.allowancePeriod);
  const { warnsAt: _, ...company } = terms.company ?? {};
  model.accounts.set(id, { ...account, ...spending, ...company, enabled: terms.enabled, creditLine: terms.creditLine });
  return DONE;
}

/** Whether the account is not above itself then, and has at most two above. */
function mayBeBelow(model: Model, id: number, parent: number | null): boolean {
  const above: number[] = [];
  for (let next = parent; next !== null; next = model.accounts.get(next)?.parent ?? null) {
    if (next === id || !model.accounts.has(next) || above.length === 2) return false;
    above.push(next);
  }
  return true;
}

function setPerson(model: Model, { person: id, account, enabled, budget }: Of<'set-person'>): Expected {
  if (!model.accounts.has(account)) return { ok: false, reason: 'unknown_account' };
  const known = model.people.get(id) ?? { budgets: new Map(), uses: new Map() };
  const budgets = new Map(known.budgets);
  if (budget?.terms === 'default') budgets.delete(budget.account);
  else if (budget !== undefined) {
    budgets.delete(budget.account);
    budgets.set(budget.account, budget.terms);
  }
  model.people.set(id, { ...known, id, account, enabled, budgets });
  return DONE;
}

function setKey(model: Model, { key: id, account, terms }: Of<'set-key'>): Expected {
  if (!model.accounts.has(account)) return { ok: false, reason: 'unknown_account' };
  const known = model.keys.get(id);
  if (known !== undefined && known.account !== account) return { ok: false, reason: 'unknown_key' };
  const { status, expiresAtMs, quota, quotaPeriod, person = known?.person ?? null, ...limits } = terms;
  if (person !== null && !model.people.has(person)) return { ok: false, reason: 'unknown_person' };
  const before = known ?? { limit: null, period: 'total' as const, periodName: 'total', used: 0 };
  const bucket = { ...(known?.bucket ?? emptyBucket(limits)), limits };
  const spending = changePeriod(model, before, quota, quotaPeriod);
  model.keys.set(id, { id, account, person, status, expiresAtMs, bucket, ...spending });
  return DONE;
}

function changePeriod(model: Model, before: Spending, limit: number | null, period: Period): Spending {
  const days = { day: 1, week: 7, month: 30, total: 9999 };
  const used = days[period] < days[before.period] ? 0 : usedOf(model, before);
  return { limit, period, periodName: nameOfPeriod(period, model.nowMs), used };
}

function accountOf(model: Model, id: number): ModelAccount {
  const account = model.accounts.get(id);
  if (account === undefined) throw new Error('the model lost an account');
  return account;
}

function keyOf(model: Model, of: { key: number }): ModelKey {
  const key = model.keys.get(of.key);
  if (key === undefined) throw new Error('the model lost a key');
  return key;
}
