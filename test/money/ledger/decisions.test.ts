// Rare decisions of the ledger: the pure core over rows made by hand.

import { describe, expect, test } from 'bun:test';
import { applyBatch } from '../../../src/ledger/apply-batch.ts';
import { NO_COMPANY, readLevels } from '../../../src/ledger/meters.ts';
import { type Operation, RESERVED } from '../../../src/ledger/operation.ts';
import {
  type AccountRow,
  type HoldRow,
  type IdempotencyRow,
  type KeyRow,
  type LeaseRow,
  type Rows,
  systemAccounts,
} from '../../../src/ledger/rows.ts';
import { NO_LIMITS, START_MS, usageRecord } from './workbench.ts';

const NO_RATES = { requests: 0, inputTokens: 0, outputTokens: 0, drainedAtMs: START_MS, running: 1 };
const SPENDING = { used: 0, held: 10, periodStartMs: 0 };
const ACCOUNT: AccountRow = {
  id: 7,
  enabled: true,
  company: NO_COMPANY,
  creditLine: 0,
  allowance: null,
  allowancePeriod: 'total',
  balance: 100,
  debt: 0,
  held: 10,
  plan: null,
  pastWindows: [],
  reversals: { used: 0, held: 0, periodStartMs: 0 },
  lowBalances: [],
  spending: SPENDING,
  month: { startMs: 0, opening: 0 },
  groups: { default: { ...NO_RATES, limits: NO_LIMITS } },
};
const KEY: KeyRow = {
  id: 9,
  account: 7,
  person: null,
  status: 'enabled',
  expiresAtMs: null,
  quota: null,
  quotaPeriod: 'total',
  spending: SPENDING,
  limits: NO_LIMITS,
  rates: NO_RATES,
  lastUsedAtMs: null,
};
const HOLD: HoldRow = {
  requestId: 'req_running',
  account: 7,
  above: [],
  payer: 7,
  key: 9,
  person: null,
  group: 'default',
  amount: 10,
  fromPlan: 0,
  openedAtMs: START_MS,
  owner: { node: 'gone', epoch: 1 },
  left: false,
  claim: null,
  checkpoint: null,
  draft: { model: 'model', stream: true },
};
const IDEMPOTENCY: IdempotencyRow = {
  key: 9,
  name: 'once',
  requestId: HOLD.requestId,
  requestHash: 'hash',
  atMs: START_MS,
  isAnswered: false,
  failedAttempts: ['req_failed'],
};

const RESERVE: HoldRow = { ...HOLD, requestId: 'rsv_1', owner: RESERVED, left: true };
const FROM_RESERVE = {
  kind: 'admit',
  requestId: 'req_next',
  account: 7,
  key: 9,
  group: 'default',
  limits: NO_LIMITS,
  amount: 6,
  owner: { node: 'node', epoch: 1 },
  claim: { name: 'once', requestHash: 'hash' },
  reserve: RESERVE.requestId,
  draft: { model: 'model', stream: false },
} as const;

function decide(operation: Operation, facts: Partial<Rows> = {}) {
  const { answers, changes } = decideAll([operation], facts);
  return { answer: answers[0], changes };
}

/** Both operations are in one bundle. */
function decideAll(operations: Operation[], facts: Partial<Rows> = {}) {
  const rows: Rows = {
    nowMs: START_MS,
    account: (id) => (id === 7 ? ACCOUNT : undefined),
    key: (id) => (id === 9 ? KEY : undefined),
    person: () => undefined,
    hold: (requestId) => (requestId === HOLD.requestId ? HOLD : undefined),
    ending: () => undefined,
    creditedAmount: () => null,
    claim: () => undefined,
    lease: () => undefined,
    leases: () => [],
    holds: () => [HOLD],
    ...facts,
  };
  const { answers, changes } = applyBatch(rows, [{ operations }]);
  return { answers: answers[0] ?? [], changes };
}

test('a hold whose owner has no lease expires', () => {
  expect(decide({ kind: 'expire' }).answer).toEqual({ ok: true, kind: 'expired', holds: 1, stuck: [] });
});

test('a hold that cannot be ended stays, with its reason, and others end', () => {
  const unreadable: HoldRow = { ...HOLD, requestId: 'req_1', unreadable: 'a later release wrote it' };
  const orphan: HoldRow = { ...HOLD, requestId: 'req_2', account: 8 };
  const holds = [HOLD, orphan, unreadable];
  const stored = { holds: () => holds, hold: (id: string) => holds.find(({ requestId }) => requestId === id) };
  const { answer, changes } = decide({ kind: 'expire' }, stored);
  expect(answer).toEqual({
    ok: true,
    kind: 'expired',
    holds: 1,
    stuck: [
      { requestId: 'req_1', reason: 'a later release wrote it' },
      { requestId: 'req_2', reason: expect.stringMatching(/account/) },
    ],
  });
  expect([...changes.holds]).toEqual([[HOLD.requestId, null]]);
  const spared: Operation = { kind: 'expire', except: ['req_1', 'req_2'] };
  expect(decide(spared, stored).answer).toMatchObject({ holds: 1, stuck: [] });
});

test('a hold that its owner has lost ends although the lease lasts, and holds end oldest first', () => {
  const lease = (): LeaseRow => ({ node: 'gone', epoch: 1, expiresAtMs: START_MS + 1 });
  const holds = ['req_2', 'req_3', 'req_1', 'req_4'].map((requestId): HoldRow => ({ ...HOLD, requestId, amount: 1 }));
  const rates = { ...NO_RATES, running: holds.length };
  const stored = {
    account: () => ({ ...ACCOUNT, groups: { default: { ...rates, limits: NO_LIMITS } } }),
    key: () => ({ ...KEY, rates }),
    holds: () => holds,
    hold: (id: string) => holds.find(({ requestId }) => requestId === id),
    lease,
  };
  const { answer, changes } = decide({ kind: 'expire', lost: ['req_3', 'req_1', 'req_2'] }, stored);
  expect(answer).toMatchObject({ ok: true, holds: 3 });
  expect(changes.endings.map(({ record }) => record.requestId)).toEqual(['req_1', 'req_2', 'req_3']);
});

test('a reserve is of no node, so that it never expires, and is not among what its owner has lost', () => {
  const stored = { holds: () => [RESERVE], hold: () => RESERVE };
  for (const operation of [{ kind: 'expire' }, { kind: 'expire', lost: [RESERVE.requestId] }] as const) {
    const { answer, changes } = decide(operation, stored);
    expect(answer).toEqual({ ok: true, kind: 'expired', holds: 0, stuck: [] });
    expect(changes.isEmpty).toBe(true);
  }
});

describe('a message that is admitted from a reserve', () => {
  const lease = (): LeaseRow => ({ node: 'node', epoch: 1, expiresAtMs: START_MS + 1 });
  const over = (reserve: HoldRow, facts: Partial<Rows> = {}) => ({
    lease,
    hold: (id: string) => (id === RESERVE.requestId ? reserve : undefined),
    ...facts,
  });

  test('is written together with what is left there, and with each row once', () => {
    const { answer, changes } = decide(FROM_RESERVE, over(RESERVE));
    expect(answer).toMatchObject({ ok: true, kind: 'admitted', amount: 6, available: 96 });
    expect([...changes.holds.values()]).toMatchObject([
      { requestId: 'req_next', amount: 6, owner: FROM_RESERVE.owner, left: false, claim: 'once' },
      { ...RESERVE, amount: 4 },
    ]);
    expect([...changes.accounts.values()]).toMatchObject([{ id: 7, held: 10, spending: { held: 10 } }]);
    expect([...changes.keys.values()]).toMatchObject([{ id: 9, spending: { held: 10 }, rates: { running: 2 } }]);
  });

  test('and refused changes nothing, and as a replay only the rates', () => {
    const concurrency = () => ({ ...KEY, limits: { ...NO_LIMITS, concurrency: 1 } });
    expect(decide(FROM_RESERVE, over(RESERVE, { key: concurrency })).changes.isEmpty).toBe(true);
    const key = () => ({ ...KEY, limits: { ...NO_LIMITS, requestsPerMinute: 2 } });
    const answered = { ...IDEMPOTENCY, requestId: 'req_first', isAnswered: true };
    const { answer, changes } = decide(FROM_RESERVE, over(RESERVE, { key, claim: () => answered }));
    expect(answer).toMatchObject({ reason: 'claim_answered' });
    expect(changes.holds.size).toBe(0);
    expect(changes.accounts.get(7)).toMatchObject({ held: 10, spending: { held: 10 } });
    expect(changes.keys.get(9)).toMatchObject({ spending: { held: 10 }, rates: { requests: 60_000, running: 1 } });
  });

  test('has an idempotency key, and takes from no hold of another message and from no reserve of another key', () => {
    const { claim: _, ...unclaimed } = FROM_RESERVE;
    expect(() => decide(unclaimed, over(RESERVE))).toThrow('has a claim');
    expect(() => decide(FROM_RESERVE, over(HOLD))).toThrow('never from the hold of another message');
    expect(() => decide(FROM_RESERVE, over({ ...RESERVE, key: 10 }))).toThrow('the same key');
  });
});

test('only a reserve is given back', () => {
  expect(() => decide({ kind: 'give-back', requestId: HOLD.requestId })).toThrow('only a reserve is given back');
  const { answer, changes } = decide({ kind: 'give-back', requestId: 'rsv_1' }, { hold: () => RESERVE });
  expect(answer).toEqual({ ok: true, kind: 'done' });
  expect([...changes.holds]).toEqual([['rsv_1', null]]);
  expect(changes.accounts.get(7)).toMatchObject({ held: 0, balance: 100, groups: { default: { running: 1 } } });
  expect([changes.entries, changes.endings, changes.coCommitted]).toEqual([[], [], []]);
});

test('a failing read of a hold is no hold that cannot be ended', () => {
  const account = () => {
    throw new RangeError('the store has failed');
  };
  expect(() => decide({ kind: 'expire' }, { account })).toThrow('the store has failed');
});

test('a lease lapses at exactly the millisecond of its end', () => {
  const renewAt = (expiresAtMs: number) => {
    const lease: LeaseRow = { node: 'node', epoch: 2, expiresAtMs };
    const renew = { kind: 'renew', node: 'node', epoch: 2, leaseMs: 1000, unlessLapsed: true } as const;
    return decide(renew, { lease: () => lease }).answer;
  };
  expect(renewAt(START_MS)).toEqual({ ok: false, reason: 'lapsed' });
  expect(renewAt(START_MS + 1)).toEqual({ ok: true, kind: 'lease', epoch: 2 });
});

test('an answer reverses the failed attempts whose records are still there, and says so in their entries', () => {
  const record = usageRecord({ requestId: HOLD.requestId, account: 7, key: 9, cost: 3 });
  const settle = { kind: 'settle', requestId: HOLD.requestId, record, isAnswer: true } as const;
  const facts = { hold: () => ({ ...HOLD, claim: 'once' }), claim: () => IDEMPOTENCY };
  expect(decide(settle, facts).changes.entries).toMatchObject([{ kind: 'usage', amount: 3 }]);
  const failed = usageRecord({ requestId: 'req_failed', account: 7, key: 9, cost: 5, outcome: 'upstream_cut' });
  const { changes } = decide(settle, {
    ...facts,
    ending: (id) =>
      id === 'req_failed' ? { record: { ...failed, writtenOff: 2, planPaid: 1 }, endedBy: 'settled' } : undefined,
  });
  const note = 'reversed: a later attempt under its idempotency key was answered';
  expect(changes.entries).toMatchObject([
    { kind: 'correction', amount: 2, credit: 7, reference: 'req_failed', note },
    { kind: 'correction', amount: 1, credit: systemAccounts.plans, reference: 'req_failed', note },
    { kind: 'correction', amount: 2, credit: systemAccounts.writeOffs, reference: 'req_failed', note },
    { kind: 'usage', amount: 3 },
  ]);
  expect(changes.corrections[0]?.record).toMatchObject({ cost: 0, writtenOff: 0, planPaid: 0 });
});

test('the owner of an expired hold who returns with more than is left reports what is written off beyond what was', () => {
  const facts = { requestId: HOLD.requestId, account: 7, key: 9 };
  const record = usageRecord({ ...facts, cost: 10, writtenOff: 5 });
  const late = usageRecord({ ...facts, cost: 130 });
  const { changes } = decide(
    { kind: 'settle', requestId: HOLD.requestId, record: late },
    { hold: () => undefined, ending: () => ({ record, endedBy: 'expired' }) },
  );
  expect(changes.corrections[0]?.record).toMatchObject({ cost: 130, writtenOff: 35 });
  const event = { type: 'message.written_off', data: { amount: '0.00000003' } };
  expect(changes.coCommitted).toHaveLength(1);
  expect(changes.coCommitted[0]).toMatchObject({ table: 'events', event });
});

test('thresholds of the balance stay when other terms of the account change', () => {
  const terms = { enabled: true, creditLine: 5, allowance: null, allowancePeriod: 'total' } as const;
  const account = () => ({ ...ACCOUNT, lowBalances: [50] });
  const { changes } = decide({ kind: 'set-account', account: 7, terms }, { account });
  expect(changes.accounts.get(7)).toMatchObject({ creditLine: 5, lowBalances: [50] });
});

test('a plan is paid whole amounts', () => {
  for (const amount of [0.5, Number.NaN, 2 ** 53])
    expect(() => decide({ kind: 'plan-payment', account: 7, amount, reference: 'in_1', note: null })).toThrow(
      'the price of a plan',
    );
});

test('an attempt that its prompt made fail stays charged, like one that its client or its money ended', () => {
  const record = usageRecord({ requestId: HOLD.requestId, account: 7, key: 9, cost: 3 });
  const settle = { kind: 'settle', requestId: HOLD.requestId, record, isAnswer: true } as const;
  const failed = usageRecord({ requestId: 'req_failed', account: 7, key: 9, cost: 5 });
  for (const outcome of ['failed', 'client_gone', 'quota_cut', 'upstream_cut', 'service_cut'] as const) {
    const { changes } = decide(settle, {
      hold: () => ({ ...HOLD, claim: 'once' }),
      claim: () => IDEMPOTENCY,
      ending: (id) => (id === 'req_failed' ? { record: { ...failed, outcome }, endedBy: 'settled' } : undefined),
    });
    const isReversed = outcome === 'upstream_cut' || outcome === 'service_cut';
    expect([outcome, changes.corrections.length]).toEqual([outcome, isReversed ? 1 : 0]);
  }
});

test('a refusal names the insufficient meter and its owner, and whether running messages hold the rest', () => {
  const admit = {
    kind: 'admit',
    requestId: 'req_next',
    account: 7,
    key: 9,
    group: 'default',
    limits: NO_LIMITS,
    amount: 1,
    owner: { node: 'node', epoch: 1 },
    draft: { model: 'model', stream: false },
  } as const;
  const facts = {
    lease: () => ({ node: 'node', epoch: 1, expiresAtMs: START_MS + 1 }),
    hold: () => undefined,
  };
  const none = {
    ok: false,
    meter: null,
    ofKey: false,
    above: null,
    available: 0,
    retryAtMs: null,
    behindHolds: false,
    hasPlan: false,
    levels: null,
  } as const;
  expect(decide(admit, { ...facts, account: () => ({ ...ACCOUNT, enabled: false }) }).answer).toEqual({
    ...none,
    reason: 'account_disabled',
  });
  const limits = { ...NO_LIMITS, requestsPerMinute: 1 };
  const rates = { ...NO_RATES, requests: 60_000 };
  const { levels: _, ...known } = none;
  const short = { ...known, reason: 'requests_rate', meter: 'requests', retryAtMs: expect.any(Number) } as const;
  expect(
    decide(
      { ...admit, limits },
      { ...facts, account: () => ({ ...ACCOUNT, groups: { default: { ...rates, limits } } }) },
    ).answer,
  ).toMatchObject(short);
  expect(decide(admit, { ...facts, key: () => ({ ...KEY, limits, rates }) }).answer).toMatchObject({
    ...short,
    ofKey: true,
  });
});

test('an idempotency key is free once the record of its failed attempt was dropped', () => {
  const admit = {
    kind: 'admit',
    requestId: 'req_next',
    account: 7,
    key: 9,
    group: 'default',
    limits: NO_LIMITS,
    amount: 1,
    owner: { node: 'node', epoch: 1 },
    claim: { name: 'once', requestHash: 'hash' },
    draft: { model: 'model', stream: false },
  } as const;
  const lease = () => ({ node: 'node', epoch: 1, expiresAtMs: START_MS + 1 });
  const { answer, changes } = decide(admit, { lease, hold: () => undefined, claim: () => IDEMPOTENCY });
  expect(answer).toMatchObject({ ok: true, kind: 'admitted' });
  expect([...changes.claims.values()]).toMatchObject([{ requestId: 'req_next', failedAttempts: ['req_failed'] }]);
});

test('a credit may refer to a message that was settled in the same bundle', () => {
  const record = usageRecord({ requestId: HOLD.requestId, account: 7, key: 9, cost: 3 });
  const credit = { kind: 'credit', account: 7, amount: 3, source: 'payment', note: null } as const;
  const { answers } = decideAll([
    { kind: 'settle', requestId: HOLD.requestId, record },
    { ...credit, reference: HOLD.requestId },
    { ...credit, reference: HOLD.requestId },
  ]);
  expect(answers.slice(1)).toMatchObject([
    { ok: true, balance: 100, repeated: false },
    { ok: true, balance: 100, repeated: true },
  ]);
});

test('rate levels are the tighter of account and key', () => {
  const limits = (requestsPerMinute: number) => ({ ...NO_LIMITS, requestsPerMinute });
  const levelOf = (ofAccount: number, ofKey: number) =>
    readLevels([NO_RATES], limits(ofAccount), NO_RATES, limits(ofKey), START_MS).requests?.limit;
  expect([levelOf(5, 9), levelOf(9, 5)]).toEqual([5, 5]);
});
