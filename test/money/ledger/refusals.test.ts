// Remembered refusals: repeated without asking the ledger while the ledger would refuse too.

import { expect, test } from 'bun:test';
import { bounds } from '../../../src/config/config.ts';
import type { Admit, Refusal, Take } from '../../../src/ledger/ledger.ts';
import { Refusals } from '../../../src/ledger/refusals.ts';
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
    above: null,
    available: 50,
    retryAtMs: null,
    behindHolds: false,
    hasPlan: false,
    levels: null,
    ...facts,
  };
}

function remembering(facts: Partial<Refusal>, of: Partial<Admit> = {}): Refusals {
  const refusals = new Refusals();
  refusals.remember(admission(of), refusal(facts), NOW_MS);
  return refusals;
}

test('a refusal is repeated for the same or a larger amount, for one second', () => {
  const refusals = remembering({});
  expect(refusals.find(admission(), NOW_MS)).toMatchObject({ reason: 'insufficient' });
  expect(refusals.find(admission({ amount: 200, key: 10, group: 'vip' }), NOW_MS)).not.toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalRememberedMs - 1)).not.toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalRememberedMs)).toBeNull();
});

test('a smaller amount asks the ledger: it may fit now or when holds have ended', () => {
  const refusals = remembering({});
  expect(refusals.find(admission({ amount: 99 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 50 }), NOW_MS)).toBeNull();
});

test('the amount that matters is `least`, if given', () => {
  const refusals = remembering({}, { least: 60 });
  expect(refusals.find(admission({ amount: 59 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 60 }), NOW_MS)).not.toBeNull();
  expect(refusals.find(admission({ amount: 200, least: 59 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 10, least: 60 }), NOW_MS)).not.toBeNull();
});

test('a request with an idempotency key always asks the ledger: a replay costs nothing', () => {
  expect(remembering({}).find(admission({ claim: { name: 'order-17', requestHash: 'hash' } }), NOW_MS)).toBeNull();
});

test('a refusal behind holds is remembered briefly, and not applied to larger amounts', () => {
  const refusals = remembering({ behindHolds: true });
  expect(refusals.find(admission({ amount: 51 }), NOW_MS)).toMatchObject({ behindHolds: true });
  expect(refusals.find(admission({ amount: 50 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ amount: 101 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission(), NOW_MS + bounds.refusalBehindOthersRememberedMs)).toBeNull();
});

test('a concurrency refusal is remembered only briefly', () => {
  const refusals = remembering({ reason: 'concurrency', meter: 'concurrency' });
  expect(refusals.find(admission(), NOW_MS)).toMatchObject({ reason: 'concurrency' });
  expect(refusals.find(admission(), NOW_MS + bounds.refusalBehindOthersRememberedMs)).toBeNull();
});

test('a rate refusal is repeated until the rate admits again, and no longer', () => {
  const refusals = remembering({ reason: 'requests_rate', meter: 'requests', retryAtMs: NOW_MS + 10 });
  expect(refusals.find(admission(), NOW_MS + 9)).toMatchObject({ reason: 'requests_rate' });
  expect(refusals.find(admission(), NOW_MS + 10)).toBeNull();
});

test('a refusal applies only to the exhausted meter; other accounts, groups and keys ask the ledger', () => {
  const ofKey = remembering({ ofKey: true });
  expect(ofKey.find(admission({ key: 10 }), NOW_MS)).toBeNull();
  expect(ofKey.find(admission({ group: 'vip' }), NOW_MS)).not.toBeNull();
  const ofGroup = remembering({ reason: 'concurrency', behindHolds: true });
  expect(ofGroup.find(admission({ group: 'vip' }), NOW_MS)).toBeNull();
  expect(ofGroup.find(admission({ key: 10 }), NOW_MS)).not.toBeNull();
  const ofAccount = remembering({});
  expect(ofAccount.find(admission({ account: 8, key: 10 }), NOW_MS)).toBeNull();
});

test('a free call is refused only by its rate', () => {
  const take: Take = { kind: 'take', account: 7, key: 9, group: 'default', limits: NO_LIMITS };
  expect(remembering({}).find(take, NOW_MS)).toBeNull();
  expect(remembering({ reason: 'concurrency', behindHolds: true }).find(take, NOW_MS)).toBeNull();
  expect(remembering({ reason: 'requests_rate', retryAtMs: NOW_MS + 9 }).find(take, NOW_MS)).not.toBeNull();
});

test('refusals that no meter caused are not remembered', () => {
  for (const reason of ['key_disabled', 'key_expired', 'account_disabled', 'not_owner'] as const) {
    expect(remembering({ reason, meter: null }).find(admission(), NOW_MS)).toBeNull();
  }
});

test('a refusal is forgotten when something of the account, group or key is given back', () => {
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

test('remembered refusals are bounded', () => {
  const refusals = remembering({}, { account: 1 });
  for (let account = 2; account <= bounds.rememberedRefusalsMax + 1; account++) {
    refusals.remember(admission({ account }), refusal({}), NOW_MS);
  }
  expect(refusals.find(admission({ account: 1 }), NOW_MS)).toBeNull();
  expect(refusals.find(admission({ account: bounds.rememberedRefusalsMax + 1 }), NOW_MS)).not.toBeNull();
});
