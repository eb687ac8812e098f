// Remembered refusals: given again without asking the ledger, for as long as they would be given.

import { expect, test } from 'bun:test';
import { bounds } from '../../src/config.ts';
import type { Admit, Refusal, Take } from '../../src/ledger/ledger.ts';
import { Refusals } from '../../src/ledger/refusals.ts';
import { NO_LIMITS } from './workbench.ts';

const NOW_MS = 1_000_000;

function admission(facts: Partial<Admit> = {}): Admit {
  return {
    kind: 'admit',
    requestId: 'req_1',
    account: 7,
    key: 9,
    group: 'default',
    limits: NO_LIMITS,
    amount: 100,
    owner: { node: 'node-1', epoch: 1 },
    draft: { model: 'sandbox-echo', stream: false },
    ...facts,
  };
}

function refusal(facts: Partial<Refusal>): Refusal {
  return {
    ok: false,
    reason: 'insufficient',
    meter: 'wallet',
    ofKey: false,
    available: 50,
    retryAtMs: null,
    behindHolds: false,
    levels: null,
    ...facts,
  };
}

function remembering(facts: Partial<Refusal>, of: Partial<Admit> = {}): Refusals {
  const refusals = new Refusals();
  refusals.remember(admission(of), refusal(facts), NOW_MS);
  return refusals;
}

test('a refusal is given again to the same amount and more, and for a second', () => {
  const refusals = remembering({});
  expect(refusals.find(admission(), NOW_MS)).toMatchObject({ reason: 'insufficient' });
  expect(refusals.find(admission({ amount: 200, key: 10, group: 'vip' }), NOW_MS)).not.toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalRememberedMs - 1)).not.toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalRememberedMs)).toBeNull();
});

test('a smaller amount is asked anew: it may fit, now or when holds have ended', () => {
  const refusals = remembering({});
  expect(refusals.find(admission({ amount: 99 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 50 }), NOW_MS)).toBeNull();
});

test('what is needed is the least that is asked for, where not all has to be held', () => {
  const refusals = remembering({}, { least: 60 });
  expect(refusals.find(admission({ amount: 59 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 60 }), NOW_MS)).not.toBeNull();
  expect(refusals.find(admission({ amount: 200, least: 59 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 10, least: 60 }), NOW_MS)).not.toBeNull();
});

test('who comes under a claim is always asked for: he may have been answered, and that costs nothing', () => {
  expect(remembering({}).find(admission({ claim: { name: 'order-17', requestHash: 'hash' } }), NOW_MS)).toBeNull();
});

test('behind holds it is remembered for a moment, and no larger amount is told to try again', () => {
  const refusals = remembering({ behindHolds: true });
  expect(refusals.find(admission({ amount: 51 }), NOW_MS)).toMatchObject({ behindHolds: true });
  expect(refusals.find(admission({ amount: 50 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 101 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalBehindOthersRememberedMs)).toBeNull();
});

test('messages in the way may end at any moment, and at another node: that too is remembered for a moment only', () => {
  const refusals = remembering({ reason: 'concurrency', meter: 'concurrency' });
  expect(refusals.find(admission(), NOW_MS)).toMatchObject({ reason: 'concurrency' });
  expect(refusals.find(admission(), NOW_MS + bounds.refusalBehindOthersRememberedMs)).toBeNull();
});

test('a rate is refused until it would not be, and not a millisecond longer', () => {
  const refusals = remembering({ reason: 'requests_rate', meter: 'requests', retryAtMs: NOW_MS + 10 });
  expect(refusals.find(admission(), NOW_MS + 9)).toMatchObject({ reason: 'requests_rate' });
  expect(refusals.find(admission(), NOW_MS + 10)).toBeNull();
});

test('each refusal is of what was short: other accounts, groups and keys are asked', () => {
  const ofKey = remembering({ ofKey: true });
  expect(ofKey.find(admission({ key: 10 }), NOW_MS)).toBeNull();
  expect(ofKey.find(admission({ group: 'vip' }), NOW_MS)).not.toBeNull();
  const ofGroup = remembering({ reason: 'concurrency', behindHolds: true });
  expect(ofGroup.find(admission({ group: 'vip' }), NOW_MS)).toBeNull();
  expect(ofGroup.find(admission({ key: 10 }), NOW_MS)).not.toBeNull();
  const ofAccount = remembering({});
  expect(ofAccount.find(admission({ account: 8, key: 10 }), NOW_MS)).toBeNull();
});

test('a call without cost is refused for its rate alone', () => {
  const take: Take = { kind: 'take', account: 7, key: 9, group: 'default', limits: NO_LIMITS };
  expect(remembering({}).find(take, NOW_MS)).toBeNull();
  expect(remembering({ reason: 'concurrency', behindHolds: true }).find(take, NOW_MS)).toBeNull();
  expect(remembering({ reason: 'requests_rate', retryAtMs: NOW_MS + 9 }).find(take, NOW_MS)).not.toBeNull();
});

test('what has nothing to do with meters is not remembered', () => {
  for (const reason of ['key_disabled', 'key_expired', 'account_disabled', 'not_owner'] as const) {
    expect(remembering({ reason, meter: null }).find(admission(), NOW_MS)).toBeNull();
  }
});

test('it is forgotten when something of the account, group or key is given back', () => {
  const held = { behindHolds: true };
  for (const facts of [{}, { ofKey: true }, { reason: 'concurrency' } as const, held, { ...held, ofKey: true }]) {
    const refusals = remembering(facts);
    refusals.forget(8, 10, 'vip');
    expect(refusals.find(admission(), NOW_MS)).not.toBeNull();
    refusals.forget(7, 9, 'default');
    expect(refusals.find(admission(), NOW_MS)).toBeNull();
  }
  const refusals = remembering({});
  refusals.forgetAll();
  expect(refusals.find(admission(), NOW_MS)).toBeNull();
});

test('there is a bound to what is remembered', () => {
  const refusals = remembering({}, { account: 1 });
  for (let account = 2; account <= bounds.rememberedRefusalsMax + 1; account++) {
    refusals.remember(admission({ account }), refusal({}), NOW_MS);
  }
  expect(refusals.find(admission({ account: 1 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ account: bounds.rememberedRefusalsMax + 1 }), NOW_MS)).not.toBeNull();
});
