// The next version of a payment under a state of the provider: how much is credited, and which states are refused.

import { expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { bonusLeft, bonusOf, readBonusTiers } from '../../../src/payments/bonus.ts';
import type { PaymentState } from '../../../src/payments/provider.ts';
import { creditOf, findForeign, settle } from '../../../src/payments/settle-payment.ts';
import { newPayment } from '../../../src/payments/sync.ts';

const NOW_MS = Date.UTC(2026, 10, 18, 12);
const CENT = 10_000_000;
const payment = newPayment({ accountId: 7, kind: 'checkout', customer: 'cus_1', amount: 2_000 * CENT }, NOW_MS);

function state(facts: Partial<PaymentState> = {}): PaymentState {
  return {
    source: 'cs_1',
    kind: 'checkout',
    status: 'paid',
    currency: 'usd',
    creditCents: 2_000,
    totalCents: 2_200,
    taxCents: 200,
    refundedCents: 0,
    disputedCents: 0,
    feeCents: 94,
    receiptUrl: 'https://stripe.test/receipt',
    actionUrl: null,
    paymentIntent: 'pi_1',
    customer: 'cus_1',
    subscription: null,
    failure: null,
    createdAtMs: NOW_MS,
    metadata: { payment: formatId('pay', payment.id), account: formatId('acct', 7) },
    ...facts,
  } as PaymentState;
}

test.each([
  ['a paid one', {}, 2_000 * CENT],
  ['one that is pending', { status: 'pending' }, 0],
  ['one that failed', { status: 'failed' }, 0],
  ['one of nothing', { totalCents: 0 }, 0],
  ['half of it refunded', { refundedCents: 1_100 }, 1_000 * CENT],
  ['half of it disputed', { disputedCents: 1_100 }, 1_000 * CENT],
  ['a half refunded, and a half disputed', { refundedCents: 1_100, disputedCents: 1_100 }, 0],
  ['more taken back than was paid', { refundedCents: 2_200, disputedCents: 2_200 }, 0],
  ['a cent refunded, rounded down', { refundedCents: 1 }, Math.floor((2_000 * CENT * 2_199) / 2_200)],
] as const)('the credit of %s', (_, facts, credit) => {
  expect(creditOf(state(facts as Partial<PaymentState>))).toBe(BigInt(credit));
});

test.each([
  ['another source', { source: 'cs_2' }, 'another source'],
  ['another kind', { kind: 'recharge' }, 'not a checkout'],
  ['another customer', { customer: 'cus_2' }, 'another customer'],
  ['another account', { metadata: { payment: formatId('pay', payment.id), account: 'acct_8' } }, 'another account'],
  ['another payment', { metadata: { payment: 'pay_8', account: formatId('acct', 7) } }, 'another payment'],
  ['no account', { metadata: { payment: formatId('pay', payment.id), account: null } }, 'no account'],
] as const)('a state of %s is foreign', (_, facts, reason) => {
  const opened = { ...payment, source: 'cs_1' };
  expect(findForeign(opened, state())).toBeNull();
  expect(findForeign(opened, state(facts as Partial<PaymentState>))).toContain(reason);
});

test('the next version is credited by the difference, once, and keeps a fee that was known', () => {
  const paid = settle(payment, state(), NOW_MS);
  expect(paid).toMatchObject({
    change: 2_000 * CENT,
    mismatch: null,
    payment: { version: 2, status: 'paid', credited: 2_000 * CENT, fee: 94 * CENT, checkAtMs: null },
  });
  if (paid === null) throw new Error('nothing changed');
  expect(settle(paid.payment, state(), NOW_MS + 1)).toBeNull();
  const refunded = settle(paid.payment, state({ refundedCents: 2_200, feeCents: null }), NOW_MS + 1);
  expect(refunded).toMatchObject({
    change: -2_000 * CENT,
    payment: { version: 3, status: 'refunded', credited: 0, fee: 94 * CENT },
  });
});

test.each([
  ['another currency', { currency: 'eur' }],
  ['another amount', { creditCents: 1_999 }],
  ['an amount beyond what a balance can hold', { creditCents: 2_000, totalCents: 2 ** 52 }],
] as const)('%s is refused: nothing is credited or taken back', (_, facts) => {
  const settled = settle(payment, state(facts as Partial<PaymentState>), NOW_MS);
  expect(settled).toMatchObject({ change: 0, payment: { status: 'failed', credited: 0 } });
  expect(settled?.mismatch).toBeString();
  const paid = settle(payment, state(), NOW_MS);
  if (paid === null) throw new Error('nothing changed');
  expect(settle(paid.payment, state(facts as Partial<PaymentState>), NOW_MS)).toMatchObject({
    change: 0,
    payment: { status: 'paid', credited: 2_000 * CENT },
  });
});

const tiers = readBonusTiers(['500: 12.5%', '50: 3%', '100: 5%']);

test.each([
  ['49.99', 0],
  ['50', 1_500_000_000],
  ['99.99', 2_999_700_000],
  ['100', 5_000_000_000],
  ['500', 62_500_000_000],
] as const)('a recharge of %s USD has the bonus of the highest step that it reaches', (usd, bonus) => {
  expect(bonusOf(Math.round(Number(usd) * 1_000_000_000), tiers)).toBe(bonus);
});

test('a bonus follows the credit in exact proportion, whatever the steps, and nothing of it is left after a full refund', () => {
  const begun = { ...payment, bonus: bonusOf(payment.amount, readBonusTiers(['0: 3.33%'])) };
  let credited = 0;
  let now: typeof payment = begun;
  for (const refundedCents of [0, 1, 700, 701, 2_199, 0, 1_100, 2_200]) {
    const settled = settle(now, state({ refundedCents }), NOW_MS);
    if (settled === null) throw new Error('nothing changed');
    credited += settled.bonusChange;
    now = settled.payment;
    expect(credited).toBe(bonusLeft(begun.bonus, payment.amount, now.credited));
    expect(now.bonusCredited).toBe(credited);
  }
  expect(credited).toBe(0);
  expect(settle(now, state({ refundedCents: 2_200 }), NOW_MS)).toBeNull();
});
