// The last check before a write: changes that no operation may make are rejected, whatever made them, and any change
// at all requires a commit.

import { expect, test } from 'bun:test';
import { BrokenInvariant } from '../../../src/base/assert.ts';
import { setPlan } from '../../../src/ledger/credit.ts';
import { NO_COMPANY } from '../../../src/ledger/meters.ts';
import type { PlanTerms } from '../../../src/ledger/operation.ts';
import type { AccountRow, Effect, HoldRow, KeyRow, NewEntry, Rows } from '../../../src/ledger/rows.ts';
import { StagedRows } from '../../../src/ledger/staged-rows.ts';
import { NO_LIMITS, START_MS, usageRecord } from './workbench.ts';

const NOTHING: Rows = {
  nowMs: START_MS,
  account: () => undefined,
  key: () => undefined,
  person: () => undefined,
  hold: () => undefined,
  ending: () => undefined,
  creditedAmount: () => null,
  claim: () => undefined,
  lease: () => undefined,
  leases: () => [],
  holds: () => [],
};
const DONE = { answer: { ok: true, kind: 'done' } } as const;
const NO_RATES = { requests: 0, inputTokens: 0, outputTokens: 0, drainedAtMs: 0, running: 0 };
const LARGEST = Number.MAX_SAFE_INTEGER;
const SPENDING = { used: 0, held: 0, periodStartMs: 0 };

const NO_PLAN = {
  debt: 0,
  plan: null,
  pastWindows: [],
  reversals: { used: 0, held: 0, periodStartMs: 0 },
  lowBalances: [],
};

function account(facts: Partial<AccountRow>): AccountRow {
  const terms = {
    enabled: true,
    company: NO_COMPANY,
    creditLine: 0,
    allowance: null,
    allowancePeriod: 'total',
  } as const;
  const month = { startMs: 0, opening: 0 };
  return { id: 7, ...terms, ...NO_PLAN, balance: 0, held: 0, spending: SPENDING, month, groups: {}, ...facts };
}

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
  rates: { requests: 0, inputTokens: 0, outputTokens: 0, drainedAtMs: 0, running: 0 },
  lastUsedAtMs: null,
};

function entry(amount: number): NewEntry {
  return { account: 7, atMs: START_MS, debit: 7, credit: 3, amount, kind: 'usage', reference: null, note: null };
}

function ending(facts: Parameters<typeof usageRecord>[0]) {
  return { record: usageRecord(facts), endedBy: 'settled' } as const;
}

function put(...effects: Omit<Effect, 'answer'>[]) {
  const staged = new StagedRows(NOTHING);
  for (const effect of effects) staged.put({ ...DONE, ...effect });
  return staged.changes();
}

test('no balance minus holds goes below its floor', () => {
  expect(() => put({ accounts: [account({ balance: 10, held: 10 })] })).not.toThrow();
  expect(() => put({ accounts: [account({ balance: 10, held: 11 })] })).toThrow(BrokenInvariant);
  expect(() => put({ accounts: [account({ balance: -1 })] })).toThrow(BrokenInvariant);
  expect(() => put({ accounts: [account({ balance: -5, creditLine: 5 })] })).not.toThrow();
  expect(() => put({ accounts: [account({ balance: -6, creditLine: 5 })] })).toThrow(BrokenInvariant);
});

test('held amounts are never negative', () => {
  expect(() => put({ accounts: [account({ held: -1 })] })).toThrow(BrokenInvariant);
});

test('a balance is a safe integer', () => {
  expect(() => put({ accounts: [account({ balance: 0.5 })] })).toThrow(BrokenInvariant);
  expect(() => put({ accounts: [account({ balance: 2 ** 53 })] })).toThrow(BrokenInvariant);
});

test('no entry moves a negative amount', () => {
  expect(() => put({ entries: [entry(0)] })).not.toThrow();
  expect(() => put({ entries: [entry(-1)] })).toThrow(BrokenInvariant);
});

test('a request id is billed at most once, whatever bills it', () => {
  const first = { ending: ending({ requestId: 'req_1', account: 7, key: 9, cost: 5 }) };
  expect(() => put(first, { ending: ending({ requestId: 'req_2', account: 7, key: 9 }) })).not.toThrow();
  expect(() => put(first, first)).toThrow(BrokenInvariant);
});

test.each([
  { cost: 1, providerCost: 1 },
  { cost: 1, providerCost: 0 },
  { cost: 0, providerCost: 1 },
])('a total beyond 2^53 is written in two parts (%p)', (large) => {
  const { totals } = put(
    ...[LARGEST, LARGEST - 1].map((amount) => {
      const cost = large.cost * amount;
      const providerCost = large.providerCost * amount;
      return { ending: ending({ requestId: `req_${amount}`, account: 7, key: 9, cost, providerCost }) };
    }),
  );
  const sum = (name: 'cost' | 'providerCost' | 'messages') =>
    [...totals.values()].reduce((total, row) => total + BigInt(row[name]), 0n);
  expect(sum('cost')).toBe(BigInt(large.cost) * (2n * BigInt(LARGEST) - 1n));
  expect(sum('providerCost')).toBe(BigInt(large.providerCost) * (2n * BigInt(LARGEST) - 1n));
  expect(sum('messages')).toBe(2n);
});

test('a hold that begins and ends in one batch is not written', () => {
  const hold: HoldRow = {
    requestId: 'req_short',
    account: 7,
    above: [],
    payer: 7,
    key: 9,
    person: null,
    group: 'default',
    amount: 0,
    fromPlan: 0,
    openedAtMs: START_MS,
    owner: { node: 'node', epoch: 1 },
    left: false,
    claim: null,
    checkpoint: null,
    draft: { model: 'model', stream: false },
  };
  expect([...put({ hold }).holds.keys()]).toEqual(['req_short']);
  expect([...put({ hold }, { endedHold: hold }).holds.keys()]).toEqual([]);
});

test('any staged change requires a commit, and nothing else does', () => {
  expect(put({}).isEmpty).toBe(true);
  expect(put({ accounts: [account({})] }).isEmpty).toBe(false);
  expect(put({ key: KEY }).isEmpty).toBe(false);
  expect(put({ leases: [{ node: 'node-1', epoch: 1, expiresAtMs: 0 }] }).isEmpty).toBe(false);
  const staged = new StagedRows(NOTHING);
  staged.putCoCommitted([{}]);
  expect(staged.changes().isEmpty).toBe(false);
});

test('the terms of a plan have allowances, one for each length, and whole times', () => {
  const terms: PlanTerms = {
    name: 'pro',
    windows: [{ length: 'day', limit: 5 }],
    groups: null,
    anchorMs: 0,
    paidUntilMs: null,
    endsAtMs: null,
    overflow: true,
  };
  const give = (changes: Partial<PlanTerms>) =>
    setPlan(
      { ...NOTHING, account: () => account({}) },
      { kind: 'set-plan', account: 7, plan: { ...terms, ...changes } },
    );
  expect(give({}).answer).toEqual({ ok: true, kind: 'done' });
  const wrong: Partial<PlanTerms>[] = [
    { windows: [] },
    { windows: [{ length: 'day', limit: -1 }] },
    { windows: [{ length: 'day', limit: 0.5 }] },
    { windows: [...terms.windows, { length: 'day', limit: 6 }] },
    { anchorMs: 0.5 },
    { paidUntilMs: Number.NaN },
    { endsAtMs: 2 ** 60 },
  ];
  for (const changes of wrong) expect(() => give(changes)).toThrow(BrokenInvariant);
});

test('a row that this release cannot read is never changed', () => {
  const rows = new StagedRows(NOTHING);
  expect(() => rows.put({ ...DONE, accounts: [account({ unreadable: 'plan: it is not JSON' })] })).toThrow(
    'the meters of acct_',
  );
  const read = {
    id: 8,
    account: 7,
    person: null,
    status: 'enabled',
    expiresAtMs: null,
    quota: null,
    quotaPeriod: 'total',
  } as const;
  const key: KeyRow = { ...read, spending: SPENDING, limits: NO_LIMITS, rates: NO_RATES, lastUsedAtMs: null };
  expect(() => rows.put({ ...DONE, key: { ...key, unreadable: 'limits: it is not an object' } })).toThrow(
    'the meters of key_',
  );
  expect(rows.changes().isEmpty).toBe(true);
  rows.put({ ...DONE, accounts: [account({})], key });
  expect(rows.changes().isEmpty).toBe(false);
});
