// Automatic recharges with real streams and a scripted Stripe: a stream that would have run dry goes on and is billed
// exactly, an account is recharged once whatever happens at the same time, and a declined card is not tried again.

import { describe, expect, test } from 'bun:test';
import { eventsOf, expectError, expectErrorEvent } from '../contract/post-messages/world.ts';
import {
  addHolder,
  CENT,
  LONG_COST,
  openTill,
  paidCharges,
  postStream,
  RECHARGE,
  type RechargedNode,
  rechargesOf,
  startRecharged,
  TERMS,
} from './recharged-service.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

async function available({ stores, service }: RechargedNode, account: number): Promise<number | undefined> {
  return (await stores.ledger.accountMeters(account, service.gateway.clock.nowMs()))?.available;
}

async function expectWhole(response: Response): Promise<void> {
  expect(eventsOf(await response.text()).at(-1)?.name).toBe('message_stop');
}

async function expectCut(response: Response): Promise<void> {
  await expectErrorEvent(response, 'billing_error', 'insufficient_user_quota');
}

describe('a stream that would have run dry', () => {
  test('goes on after a recharge and is billed exactly', async () => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 3 * CENT);
    await expectWhole(await postStream(node, holder));
    expect(await node.service.records()).toMatchObject([{ outcome: 'completed', cost: LONG_COST, writtenOff: 0 }]);
    expect(await available(node, holder.account)).toBe(1_003 * CENT - LONG_COST);
    expect(await rechargesOf(node, holder.account)).toMatchObject([{ status: 'paid', credited: 1_000 * CENT }]);
    expect(till.events).toMatchObject([{ type: 'recharge.succeeded', account: holder.account }]);
    expect(await node.service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('and fifty at the same time are recharged once', async () => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 50 * CENT);
    await Promise.all(Array.from({ length: 50 }, async () => expectWhole(await postStream(node, holder))));
    expect(paidCharges(till)).toBe(1);
    expect(await available(node, holder.account)).toBe(1_050 * CENT - 50 * LONG_COST);
    expect(node.recharges.waiting).toBe(0);
    expect(await node.service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });

  test('ends as without recharges when the card is declined, which is not tried for each message', async () => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 3 * CENT, { card: 'declinedLater' });
    await Promise.all(Array.from({ length: 10 }, async () => (await postStream(node, holder)).text()));
    for (let time = 0; time < 5; time++) await (await postStream(node, holder)).text();
    expect(await rechargesOf(node, holder.account)).toMatchObject([{ status: 'failed' }]);
    expect(till.events).toMatchObject([{ type: 'recharge.failed' }]);
    expect(paidCharges(till)).toBe(0);
    expect((await node.service.records()).every(({ writtenOff }) => writtenOff === 0)).toBe(true);
    expect(await node.service.check()).toMatchObject({ ok: true, open_holds: 0 });
  });
});

test('a message without money waits at admission and is served', async () => {
  const till = openTill();
  const node = await startRecharged(till);
  await using _ = node.service;
  const holder = await addHolder(node, till, 0);
  await expectWhole(await postStream(node, holder));
  expect(await available(node, holder.account)).toBe(1_000 * CENT - LONG_COST);
});

test('after three failures in a row recharges are switched off until they are set again', async () => {
  const till = openTill();
  const node = await startRecharged(till);
  await using _ = node.service;
  const holder = await addHolder(node, till, 0, { card: 'declinedLater' });
  for (let time = 0; time < 5; time++) {
    expect((await postStream(node, holder)).status).toBe(400);
    node.service.advance(11 * 60 * 1000);
  }
  expect(await rechargesOf(node, holder.account)).toHaveLength(3);
  expect(till.events.filter(({ type }) => type === 'recharge.suspended').length).toBeGreaterThanOrEqual(1);
  expect(
    new Set(till.events.filter(({ type }) => type === 'recharge.suspended').map(({ dedupe }) => dedupe)).size,
  ).toBe(1);
  till.stripe.saveMethod(holder.customer, 'good', true);
  const account = await node.stores.accounts.getAccount(holder.account);
  if (account === null) throw new Error('the account is gone');
  const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
  const autoRecharge = { ...RECHARGE, sinceMs: node.service.gateway.clock.nowMs() };
  await node.stores.accounts.updateAccount({ ...account, autoRecharge }, terms, { audit: [], creation: null });
  node.recharges.forget(holder.account);
  await expectWhole(await postStream(node, holder));
});

test('an account is recharged at most so many times a day', async () => {
  const till = openTill();
  const node = await startRecharged(till, {}, { ...TERMS, minimum: CENT });
  await using _ = node.service;
  const holder = await addHolder(node, till, 0, {
    setting: { ...RECHARGE, amount: 7 * CENT, threshold: 1 * CENT, perDayMax: 2 },
  });
  for (let time = 0; time < 2; time++) await expectWhole(await postStream(node, holder));
  await expectCut(await postStream(node, holder));
  expect(paidCharges(till)).toBe(2);
  expect(till.events.map(({ type }) => type)).toEqual(['recharge.succeeded', 'recharge.succeeded', 'recharge.limited']);
  node.service.advance(DAY_MS);
  await expectWhole(await postStream(node, holder));
  expect(paidCharges(till)).toBeGreaterThan(2);
  expect(paidCharges(till)).toBeLessThanOrEqual(4);
});

test('a payment method that takes days is charged once, and nothing waits for it', async () => {
  const till = openTill();
  const node = await startRecharged(till);
  await using _ = node.service;
  const holder = await addHolder(node, till, 0, { card: 'bank' });
  const refused = await postStream(node, holder);
  await expectError(refused, 400, 'billing_error', 'insufficient_user_quota');
  expect((await postStream(node, holder)).status).toBe(400);
  const [payment] = await rechargesOf(node, holder.account);
  expect(payment).toMatchObject({ status: 'pending' });
  expect(till.stripe.state.invoices.size).toBe(1);
});

test('a provider whose answer is lost is asked again, and charges once', async () => {
  const till = openTill();
  const node = await startRecharged(till);
  await using _ = node.service;
  const holder = await addHolder(node, till, 3 * CENT);
  let lost = 0;
  till.stripe.faultOf = (method, path) => (method === 'POST' && path.endsWith('/pay') && lost++ === 0 ? 'lost' : null);
  await expectWhole(await postStream(node, holder));
  expect(paidCharges(till)).toBe(1);
  expect(await rechargesOf(node, holder.account)).toMatchObject([{ status: 'paid' }]);
});

test('a recharge whose process ended is continued once, and the account is not charged again', async () => {
  const till = openTill();
  const node = await startRecharged(till);
  await using _ = node.service;
  const holder = await addHolder(node, till, 3 * CENT);
  till.stripe.faultOf = (_, path) =>
    path.includes('payment_methods') || path.includes('customers') ? null : 'dropped';
  const leaving = new AbortController();
  const reading = postStream(node, holder, leaving.signal)
    .then((response) => response.text())
    .catch(() => '');
  while ((await rechargesOf(node, holder.account)).length === 0) await Bun.sleep(5);
  leaving.abort();
  await reading;
  till.stripe.faultOf = () => null;
  const other = await startRecharged(till, {
    open: async () => ({ stores: node.stores, sums: () => ({}) as never, close: () => {} }),
    node: 'other',
  });
  const [pending] = await rechargesOf(node, holder.account);
  if (pending === undefined) throw new Error('no recharge is pending');
  await Promise.all([other.recharges.resume(pending), other.recharges.resume(pending)]);
  expect(paidCharges(till)).toBe(1);
  expect(await rechargesOf(node, holder.account)).toMatchObject([{ status: 'paid', credited: 1_000 * CENT }]);
  await other.service[Symbol.asyncDispose]();
});

describe('no recharge is made', () => {
  test.each([
    ['of an amount beyond the bounds', { ...RECHARGE, amount: 20_000 * CENT }],
    ['of an amount below the bounds', { ...RECHARGE, amount: 50 * CENT }],
  ])('%s', async (_name, setting) => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 0, { setting });
    expect((await postStream(node, holder)).status).toBe(400);
    expect(await rechargesOf(node, holder.account)).toEqual([]);
  });

  test('without a saved method', async () => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 0);
    till.stripe.state.methods.clear();
    expect((await postStream(node, holder)).status).toBe(400);
    expect(await rechargesOf(node, holder.account)).toEqual([]);
  });

  test('while the account owes what was taken back', async () => {
    const till = openTill();
    const node = await startRecharged(till);
    await using _ = node.service;
    const holder = await addHolder(node, till, 0);
    const credit = {
      kind: 'credit',
      account: holder.account,
      amount: -CENT,
      isForced: true,
      source: 'payment',
      reference: 'taken back',
      note: null,
    } as const;
    await node.ledger.submit({ operations: [credit] });
    expect((await postStream(node, holder)).status).toBe(400);
    expect(await rechargesOf(node, holder.account)).toEqual([]);
  });
});
