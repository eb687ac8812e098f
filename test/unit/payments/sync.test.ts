// Which payment the provider's state is for, and what is done with a state of another account.

import { expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import { bounds } from '../../../src/config/config.ts';
import { openWorkbench } from '../../money/ledger/workbench.ts';
import { begin, type HistoryWorld, openNode } from '../../money/payments/histories.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { urls } from './open-scripted.ts';

/** A payment that was begun, and a paid session for it at the provider whose source is not stored yet. */
async function paidSession(bench: HistoryWorld['bench']) {
  const stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
  const kills = { isDue: () => false };
  const world: HistoryWorld = { stripe, stores: [bench.stores], bench, kills, reads: { last: 0 }, random: () => 0.5 };
  const node = openNode(world, bench.stores);
  const account = await bench.addAccount(0);
  const { id } = await begin(world, node, account, 2_000);
  const payment = await node.dependencies.store.getPayment(id);
  if (payment === null) throw new Error('the payment is not stored');
  const { source } = await node.dependencies.provider.startCheckout({
    payment: formatId('pay', id),
    account: formatId('acct', account),
    customer: payment.customer,
    amountCents: 2_000,
    description: 'Credit of 20.00 USD',
    isTaxAutomatic: false,
    savesMethod: false,
    ...urls,
  });
  stripe.payCheckout(source);
  const balance = async () => (await bench.stores.ledger.accountMeters(account, bench.clock.nowMs()))?.balance;
  return { stripe, node, id, source, balance };
}

test('a state is for the payment that its metadata names, if neither the event nor a stored source names one', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const { node, id, source, balance } = await paidSession(bench);
  expect(await node.sync.sync(source)).toMatchObject({ id, source, status: 'paid' });
  expect(await balance()).toBe(20_000_000_000);
});

test('a state that names another account credits nothing', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const { stripe, node, id, source, balance } = await paidSession(bench);
  Object.assign(stripe.state.sessions.get(source)?.metadata ?? {}, { turnpike_account: formatId('acct', 77) });
  const answer = { id, source: null, status: 'pending', credited: 0 };
  expect(await node.sync.sync(source, formatId('pay', id))).toMatchObject(answer);
  expect(await balance()).toBe(0);
});

test('syncs of one payment run one after another, and how many wait is bounded', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  const { node, id, source, balance } = await paidSession(bench);
  const { paymentSyncsPerSourceMax: most } = bounds;
  const syncs = await Promise.allSettled(Array.from({ length: most + 3 }, () => node.sync.sync(source)));
  const refused = syncs.filter(({ status }) => status === 'rejected');
  expect(refused.map((one) => 'reason' in one && one.reason.code)).toEqual(Array(3).fill('overloaded'));
  expect(await node.sync.sync(source)).toMatchObject({ id, status: 'paid' });
  expect(await balance()).toBe(20_000_000_000);
});
