// Two nodes that look at one payment at the same time: the one that read the later state must not lose it.

import { expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { type Payment, PaymentSync, readBonusTiers, sweepPayments } from '../../../src/payments/payments.ts';
import type { PaymentProvider } from '../../../src/payments/provider.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { openWorkbench } from '../ledger/workbench.ts';
import { begin, type HistoryWorld, openNode, ownOf } from './histories.ts';

test('a refund that one node reads while another commits the payment is taken back', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
  const kills = { isDue: () => false };
  const world: HistoryWorld = { stripe, stores: [bench.stores], bench, kills, reads: { last: 0 }, random: () => 0.5 };
  const node = openNode(world, bench.stores);
  const account = await bench.addAccount(0);
  const { id } = await begin(world, node, account, 2_000);
  const payment = await node.dependencies.store.getPayment(id);
  if (payment === null) throw new Error('the payment is not stored');
  await node.checkouts.open(payment);
  const { session } = ownOf(stripe, payment);
  const source = session?.id ?? '';
  stripe.payCheckout(source);

  // The first node has read the row and the state without the refund; the second one reads both before the first commits.
  const bothRead = Promise.withResolvers<void>();
  const whole = node.dependencies.provider;
  let reads = 0;
  const readPayment: PaymentProvider['readPayment'] = async (of) => {
    const state = await whole.readPayment(of);
    if (++reads === 1) stripe.refund(ownOf(stripe, payment).intent?.id ?? '', 500);
    if (reads === 2) bothRead.resolve();
    if (reads <= 2) await bothRead.promise;
    return state;
  };
  const provider = new Proxy(whole, {
    get: (target, name) => (name === 'readPayment' ? readPayment : Reflect.get(target, name)),
  });
  const open = () => new PaymentSync({ ...node.dependencies, provider });
  const first = open().sync(source);
  while (reads === 0) await Bun.sleep(1);
  await Promise.all([first, open().sync(source)]);

  const meters = await bench.stores.ledger.accountMeters(account, bench.clock.nowMs());
  expect(meters?.balance).toBe(15_000_000_000);
  expect((await node.dependencies.store.getPayment(id))?.credited).toBe(15_000_000_000);
});

test('paying, spending the bonus and taking the payment back, again and again, leaves nothing of a bonus behind', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
  const kills = { isDue: () => false };
  const world: HistoryWorld = { stripe, stores: [bench.stores], bench, kills, reads: { last: 0 }, random: () => 0.5 };
  const node = openNode(world, bench.stores);
  const account = await bench.addAccount(0);
  const SPENT = 4_000_000_000;
  for (let round = 1; round <= 5; round++) {
    const { id } = await begin(world, node, account, 10_000, readBonusTiers(['50: 20%']));
    const payment = await node.dependencies.store.getPayment(id);
    if (payment === null) throw new Error('the payment is not stored');
    await node.checkouts.open(payment);
    const { session } = ownOf(stripe, payment);
    stripe.payCheckout(session?.id ?? '');
    await node.sync.sync(session?.id ?? '');
    const spend = {
      kind: 'credit',
      account,
      amount: -SPENT,
      source: 'adjustment',
      reference: null,
      note: null,
    } as const;
    await bench.stores.gate.submit({ operations: [spend] });
    for (const cents of [3_333, 1, 6_666]) {
      stripe.refund(ownOf(stripe, payment).intent?.id ?? '', cents);
      await node.sync.sync(session?.id ?? '');
    }
    const meters = await bench.stores.ledger.accountMeters(account, bench.clock.nowMs());
    // The account owes everything that it spent.
    expect([meters?.balance, meters?.debt]).toEqual([0, SPENT * round]);
    expect(await node.dependencies.store.sumCredits(account, `bonus:${formatId('pay', id)}:`)).toBe(0);
  }
});

test('a group that could not be added when its payment was credited is added by the sweep, and no payment adds it again', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
  const kills = { isDue: () => false };
  const world: HistoryWorld = { stripe, stores: [bench.stores], bench, kills, reads: { last: 0 }, random: () => 0.5 };
  const node = openNode(world, bench.stores);
  const { store, ledger } = node.dependencies;
  const tried: boolean[] = [];
  const add = async (payment: Payment) => {
    tried.push(payment.group?.addedAtMs === null);
    if (tried.length === 1) throw new Error('the store is busy');
    const group = { name: 'paying', addedAtMs: 1 };
    const done: Payment = { ...payment, version: payment.version + 1, group, checkAtMs: null };
    await ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment: done }] });
  };
  const dependencies = { ...node.dependencies, groups: { of: () => 'paying', add } };
  const sync = new PaymentSync(dependencies);
  const { id } = await begin(world, node, await bench.addAccount(0), 2_000);
  const payment = await store.getPayment(id);
  if (payment === null) throw new Error('the payment is not stored');
  await node.checkouts.open(payment);
  const { session } = ownOf(stripe, payment);
  stripe.payCheckout(session?.id ?? '');
  await sync.sync(session?.id ?? '');
  expect(await store.getPayment(id)).toMatchObject({ status: 'paid', group: { name: 'paying', addedAtMs: null } });
  bench.clock.advance(3_600_000);
  const sweep = {
    dependencies,
    sync,
    resumeRecharge: null,
    report: (_: Payment, failure: unknown) => tried.push(failure === null),
  };
  await sweepPayments(sweep, new AbortController().signal);
  expect(await store.getPayment(id)).toMatchObject({
    group: { addedAtMs: 1 },
    checkAtMs: null,
    credited: 20_000_000_000,
  });
  stripe.refund(ownOf(stripe, payment).intent?.id ?? '', 500);
  await sync.sync(session?.id ?? '');
  await sweepPayments(sweep, new AbortController().signal);
  expect(tried).toEqual([true, true]);
});
