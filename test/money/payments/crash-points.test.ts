// A node that ends at each step of a payment in turn: before and after each commit and each call of the provider. The
// client and Stripe repeat what was not answered, and the books agree.

import { expect, test } from 'bun:test';
import type { Payment } from '../../../src/payments/payments.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { openWorkbench } from '../ledger/workbench.ts';
import {
  begin,
  compare,
  type HistoryWorld,
  Killed,
  type Node,
  openNode,
  ownOf,
  receive,
  settleAll,
  TIERS,
} from './histories.ts';

test('a node that ends at any step of a payment credits it once, and takes a refund back once', async () => {
  await using bench = await openWorkbench(openSqlite, 0);
  let points = 0;
  for (let point = 1; ; point++) {
    const stripe = new ScriptedStripe({ nowMs: bench.clock.nowMs });
    let left = point;
    let isOver = false;
    const kills = { isDue: () => !isOver && --left === 0 };
    const world: HistoryWorld = { stripe, stores: [bench.stores], bench, kills, reads: { last: 0 }, random: () => 0.5 };
    const account = await bench.addAccount(0);
    const { payment, node } = await play(world, account);
    isOver = true;
    await settleAll(world, [node], payment, stripe.events, () => 0.5);
    const { credited } = await compare(world, node, payment);
    expect([point, credited]).toEqual([point, 15_000_000_000]);
    if (left > 0) break; // the history has fewer steps
    points++;
  }
  expect(points).toBeGreaterThan(20);
});

/** Pays 20.00, then refunds 5.00. */
async function play(world: HistoryWorld, account: number): Promise<{ payment: Payment; node: Node }> {
  const { stripe } = world;
  let node = openNode(world, world.stores[0] as HistoryWorld['stores'][number]);
  /** Repeats a step on another node when its node has ended. */
  const insist = async <Value>(step: () => Promise<Value>): Promise<Value> => {
    try {
      return await step();
    } catch (failure) {
      if (!(failure instanceof Killed)) throw failure;
      node = openNode(world, world.stores[0] as HistoryWorld['stores'][number]);
      return step();
    }
  };
  const payment = await insist(() => begin(world, node, account, 2_000, TIERS));
  await insist(async () => node.checkouts.open((await node.dependencies.store.getPayment(payment.id)) ?? payment));
  const { session } = ownOf(stripe, payment);
  stripe.payCheckout(session?.id ?? '');
  for (const event of stripe.takeEvents()) await insist(() => receive(node, event));
  stripe.refund(ownOf(stripe, payment).intent?.id ?? '', 500);
  for (const event of stripe.takeEvents()) await insist(() => receive(node, event));
  return { payment, node };
}
