// When an account is recharged automatically, and why not.

import { expect, test } from 'bun:test';
import type { Account } from '../../../src/accounts/accounts.ts';
import { bounds } from '../../../src/config/config.ts';
import type { AccountMeters } from '../../../src/ledger/ledger.ts';
import { decideRecharge, type RechargeFacts, type RechargeTerms } from '../../../src/payments/decide-recharge.ts';
import type { Payment } from '../../../src/payments/payment.ts';
import { newPayment } from '../../../src/payments/sync.ts';

const NOW_MS = Date.UTC(2026, 10, 18, 12);
const HOUR_MS = 3_600_000;
const terms: RechargeTerms = { minimum: 10, maximum: 100, perDayMax: 5, isTaxAutomatic: false, bonusTiers: [] };
const billing = {
  accountId: 7,
  version: 1,
  customer: 'cus_1',
  method: null,
  rechargeFailure: null,
  subscription: null,
};

function account(facts: Partial<Account['autoRecharge'] & object> = {}): Account {
  const autoRecharge = { threshold: 20, amount: 50, perDayMax: 3, sinceMs: NOW_MS - 24 * HOUR_MS, ...facts };
  return { id: 7, name: 'Acme', groups: ['default'], status: 'enabled', autoRecharge, createdAtMs: 0 };
}

function meters(facts: Partial<AccountMeters> = {}): AccountMeters {
  return { available: 19, debt: 0, ...facts } as AccountMeters;
}

function recharge(status: Payment['status'], ageMs: number): Payment {
  const made = newPayment({ accountId: 7, kind: 'auto_recharge', customer: 'cus_1', amount: 50 }, NOW_MS - ageMs);
  return { ...made, status };
}

function decide(facts: Partial<RechargeFacts> = {}) {
  const all = { account: account(), meters: meters(), billing, latest: [], madeToday: 0, ...facts };
  return decideRecharge(all, terms, NOW_MS);
}

test('an account below its threshold is charged the amount that was set', () => {
  expect(decide()).toMatchObject({ kind: 'charge', amount: 50 });
  expect(decide({ meters: meters({ available: 20 }) })).toEqual({ kind: 'enough' });
  expect(decide({ madeToday: 2 })).toMatchObject({ kind: 'charge' });
});

test.each([
  ['it is off', { account: { ...account(), autoRecharge: null } }, 'off'],
  ['the account is disabled', { account: { ...account(), status: 'disabled' } }, 'disabled'],
  ['the account owes money that was taken back', { meters: meters({ available: 500, debt: 1 }) }, 'debt'],
  ['the amount is below the bounds', { account: account({ amount: 9 }) }, 'out_of_bounds'],
  ['the amount is above the bounds', { account: account({ amount: 101 }) }, 'out_of_bounds'],
  ['the limit of the holder is reached', { madeToday: 3 }, 'limit'],
  ['the limit of operators is reached', { account: account({ perDayMax: 9 }), madeToday: 5 }, 'limit'],
  ['no method is saved', { billing: null }, 'no_method'],
  ['one takes days', { latest: [recharge('pending', 2 * HOUR_MS)] }, 'pending'],
  ['one failed lately', { latest: [recharge('failed', 60_000)] }, 'failed_lately'],
  ['the provider could not be used lately', { latest: [recharge('canceled', 60_000)] }, 'failed_lately'],
  [
    'the last ones have all failed',
    { latest: [3, 2, 1].map((hours) => recharge('failed', hours * HOUR_MS)) },
    'suspended',
  ],
] as const)('nothing is charged if %s', (_, facts, reason) => {
  expect(decide(facts as Partial<RechargeFacts>)).toEqual({ kind: 'none', reason });
});

test('messages wait for one that has just begun', () => {
  const last = recharge('pending', bounds.rechargeCheckMs - 1);
  expect(decide({ latest: [last] })).toEqual({ kind: 'await', payment: last.id });
  expect(decide({ latest: [recharge('pending', bounds.rechargeCheckMs)] })).toMatchObject({ kind: 'none' });
});

test('failures before the setting was last changed, and old or interrupted ones, do not count', () => {
  const latest = [3, 2, 1].map((hours) => recharge('failed', hours * HOUR_MS));
  expect(decide({ account: account({ sinceMs: NOW_MS }), latest })).toMatchObject({ kind: 'charge' });
  expect(decide({ latest: latest.slice(0, 2) })).toMatchObject({ kind: 'charge' });
  expect(decide({ latest: [recharge('failed', HOUR_MS), recharge('paid', 2 * HOUR_MS), ...latest] })).toMatchObject({
    kind: 'charge',
  });
  expect(decide({ latest: [recharge('failed', bounds.rechargeFailedRestMs)] })).toMatchObject({ kind: 'charge' });
});
