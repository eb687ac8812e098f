// Payments, billing facts and handled webhook events: changes by version, unique sources, one pending auto-recharge,
// lists, and the journal of a payment.

import { expect, test } from 'bun:test';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import { creditReference } from '../../../src/payments/payment.ts';
import type { Billing, Payment, PaymentRow } from '../../../src/payments/payments.ts';
import { failureOf, type OpenStores, openWorkbench, type Workbench } from '../../money/ledger/workbench.ts';

export function paymentOf(bench: Workbench, facts: Partial<Payment> & { id: number }): Payment {
  return {
    accountId: bench.account,
    kind: 'checkout',
    status: 'pending',
    version: 1,
    provider: 'stripe',
    source: null,
    customer: 'cus_1',
    subscription: null,
    amount: 10_000_000_000,
    credited: 0,
    total: 0,
    tax: 0,
    refunded: 0,
    disputed: 0,
    fee: null,
    receiptUrl: null,
    actionUrl: null,
    failure: null,
    mismatch: null,
    createdAtMs: 1_000,
    updatedAtMs: 1_000,
    checkAtMs: null,
    ...facts,
  };
}

async function write(bench: Workbench, ...rows: PaymentRow[]): Promise<void> {
  await bench.stores.gate.submit({ operations: [], coCommitted: rows });
}

const put = (bench: Workbench, payment: Payment) => write(bench, { table: 'payments', payment });

export function paymentConformance(open: OpenStores): void {
  versionTests(open);
  listTests(open);
  billingTests(open);
}

function versionTests(open: OpenStores): void {
  test('a payment by versions: of two changes of one version, the second is refused as a race', async () => {
    await using bench = await openWorkbench(open, 0);
    const { payments } = bench.stores;
    const first = paymentOf(bench, { id: 7 });
    await put(bench, first);
    expect(await failureOf(put(bench, first))).toBeInstanceOf(Outpaced);
    const paid: Payment = { ...first, version: 2, status: 'paid', source: 'cs_1', credited: 5 };
    const credit = { kind: 'credit', account: bench.account, amount: 5, source: 'payment', note: null } as const;
    await bench.stores.gate.submit({
      operations: [{ ...credit, reference: creditReference('pay_7', 2) }],
      coCommitted: [{ table: 'payments', payment: paid }],
    });
    const late = bench.stores.gate.submit({
      operations: [{ ...credit, reference: creditReference('pay_7', 3) }],
      coCommitted: [{ table: 'payments', payment: { ...paid, credited: 10 } }],
    });
    expect(await failureOf(late)).toBeInstanceOf(Outpaced);
    expect(await payments.getPayment(7)).toEqual(paid);
    expect(await payments.findPaymentBySource('cs_1')).toEqual(paid);
    expect(await bench.wallet()).toEqual({ balance: 5, held: 0 });
    expect(await payments.sumCredits(bench.account, 'stripe:pay_7:')).toBe(5);
    expect(await payments.sumCredits(bench.account, 'stripe:pay_')).toBe(5);
    expect(await payments.sumCredits(bench.account, 'stripe:pay_8:')).toBe(0);
  });

  test('a source for one payment only, and one pending auto-recharge of an account', async () => {
    await using bench = await openWorkbench(open, 0);
    const recharge = paymentOf(bench, { id: 1, kind: 'auto_recharge', source: 'in_1' });
    await put(bench, recharge);
    expect(await failureOf(put(bench, paymentOf(bench, { id: 2, source: 'in_1' })))).toBeInstanceOf(Outpaced);
    expect(await failureOf(put(bench, paymentOf(bench, { id: 2, kind: 'auto_recharge' })))).toBeInstanceOf(Outpaced);
    await put(bench, paymentOf(bench, { id: 3 }));
    expect(await failureOf(put(bench, paymentOf(bench, { id: 3, version: 2, source: 'in_1' })))).toBeInstanceOf(
      Outpaced,
    );
    await put(bench, { ...recharge, version: 2, status: 'failed' });
    await put(bench, paymentOf(bench, { id: 2, kind: 'auto_recharge' }));
    expect(await bench.stores.payments.countPending(bench.account)).toBe(2);
    expect(await bench.stores.payments.countPaymentsSince(bench.account, 'auto_recharge', 1_000)).toBe(2);
    expect(await bench.stores.payments.countPaymentsSince(bench.account, 'auto_recharge', 1_001)).toBe(0);
  });
}

function listTests(open: OpenStores): void {
  test('lists of payments by account, status and kind, in pages, and those that are due', async () => {
    await using bench = await openWorkbench(open, 0);
    const { payments } = bench.stores;
    const other = await bench.addAccount(0);
    await put(bench, paymentOf(bench, { id: 9, createdAtMs: 1 }));
    await put(bench, paymentOf(bench, { id: 3, createdAtMs: 2, status: 'paid', checkAtMs: 50 }));
    await put(bench, paymentOf(bench, { id: 4, createdAtMs: 2, kind: 'subscription', checkAtMs: 40 }));
    await put(bench, paymentOf(bench, { id: 5, createdAtMs: 3, accountId: other }));
    const all = { accountId: null, status: null, kind: null, sinceMs: null, untilMs: null, after: null, limit: 9 };
    const ids = async (page: Partial<typeof all> | object) =>
      (await payments.listPayments({ ...all, ...page })).map(({ id }) => id);
    expect(await ids({})).toEqual([5, 4, 3, 9]);
    expect(await ids({ limit: 2 })).toEqual([5, 4]);
    expect(await ids({ after: 4 })).toEqual([3, 9]);
    expect(await ids({ accountId: bench.account, after: 4 })).toEqual([3, 9]);
    expect(await ids({ accountId: bench.account, status: 'pending' })).toEqual([4, 9]);
    expect(await ids({ accountId: bench.account, status: 'pending', kind: 'checkout' })).toEqual([9]);
    expect(await ids({ kind: 'checkout', status: 'paid' })).toEqual([3]);
    expect(await ids({ kind: 'subscription' })).toEqual([4]);
    expect(await ids({ accountId: bench.account, sinceMs: 2, untilMs: 3 })).toEqual([4, 3]);
    const due = async (nowMs: number) => (await payments.listDuePayments(nowMs, 9)).map(({ id }) => id);
    expect([await due(39), await due(40), await due(99)]).toEqual([[], [4], [4, 3]]);
    const range = { sinceMs: 2, untilMs: 3 };
    const first = await payments.listPaymentsInRange(range, null, 1);
    expect(first.map(({ id }) => id)).toEqual([3]);
    expect((await payments.listPaymentsInRange(range, first[0] ?? null, 9)).map(({ id }) => id)).toEqual([4]);
    expect(await payments.countByStatus()).toEqual([
      { status: 'paid', count: 1 },
      { status: 'pending', count: 3 },
    ]);
  });
}

function billingTests(open: OpenStores): void {
  test('the billing facts of an account by versions, and each handled event once', async () => {
    await using bench = await openWorkbench(open, 0);
    const { payments } = bench.stores;
    const billing: Billing = {
      accountId: bench.account,
      version: 1,
      customer: 'cus_1',
      method: null,
      rechargeFailure: null,
      subscription: null,
    };
    await write(bench, { table: 'billing', billing });
    expect(await failureOf(write(bench, { table: 'billing', billing }))).toBeInstanceOf(Outpaced);
    const second = { ...billing, version: 2, subscription: 'sub_1' };
    await write(bench, { table: 'billing', billing: second });
    expect(await failureOf(write(bench, { table: 'billing', billing: second }))).toBeInstanceOf(Outpaced);
    expect(await payments.getBilling(bench.account)).toEqual(second);
    expect(await payments.findBillingByCustomer('cus_1')).toEqual(second);
    expect(await payments.findBillingByCustomer('cus_2')).toBeNull();
    const event = { id: 'evt_1', atMs: 5, type: 'invoice.paid', payment: 7 };
    await write(bench, { table: 'payment_events', event });
    await write(bench, { table: 'payment_events', event: { ...event, atMs: 9 } });
    expect(await payments.findHandledEvent('evt_1')).toEqual(event);
  });
}
