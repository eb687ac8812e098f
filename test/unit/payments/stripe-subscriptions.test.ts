// Subscriptions of plans: bought, renewed, changed now or for the next period, canceled, resumed and ended.

import { expect, test } from 'bun:test';
import { openScripted, readState, urls } from './open-scripted.ts';

const DAY_MS = 24 * 3600 * 1000;

async function subscribed() {
  const opened = await openScripted();
  const { stripe, provider, customer } = opened;
  const [small, large] = [stripe.addPrice(2_000), stripe.addPrice(5_000)];
  const { source } = await provider.subscriptions.start({
    account: 'acct_one',
    customer,
    plan: 'small',
    price: small.id,
    isTaxAutomatic: false,
    idempotencyKey: 'pay_1:subscription',
    ...urls,
  });
  stripe.payCheckout(source);
  const [state] = await provider.subscriptions.list(customer);
  if (state === undefined) throw new Error('no subscription');
  return { ...opened, small: small.id, large: large.id, id: state.id, first: state, source };
}

test('a subscription is active and paid until the end of its period', async () => {
  const { stripe, provider, customer, small, first, source } = await subscribed();
  expect(first).toMatchObject({
    status: 'active',
    customer,
    metadata: { account: 'acct_one', plan: 'small' },
    price: small,
    nextPrice: null,
    endsAtMs: null,
    paidUntilMs: first.periodEndMs,
  });
  const payment = await readState(provider, first.latestPayment ?? '');
  expect(payment).toMatchObject({
    kind: 'subscription',
    status: 'paid',
    creditCents: 2_000,
    subscription: first.id,
    metadata: { payment: null, account: 'acct_one' },
  });
  const listed = await Array.fromAsync(
    provider.listPayments({ sinceMs: first.anchorMs - 1_000, untilMs: stripe.state.now() * 1000 + 1_000 }),
  );
  expect(listed).toEqual([payment]); // the session is no payment of its own
  expect(stripe.events.at(-1)?.data.object.id).toBe(source);
});

test('a renewal is paid an hour into the period', async () => {
  const { stripe, provider, id, first } = await subscribed();
  stripe.advance(first.periodEndMs - stripe.state.now() * 1000 + 1_000);
  const between = await provider.subscriptions.read(id);
  expect(between).toMatchObject({ status: 'active', paidUntilMs: first.periodEndMs, periodStartMs: first.periodEndMs });
  stripe.advance(2 * 3600 * 1000);
  const renewed = await provider.subscriptions.read(id);
  expect(renewed).toMatchObject({ status: 'active', paidUntilMs: renewed?.periodEndMs });
});

test('a renewal that fails is past due, until it is paid or ends', async () => {
  const { stripe, provider, customer, id, first } = await subscribed();
  stripe.saveMethod(customer, 'declinedLater');
  stripe.advance(first.periodEndMs - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  const late = await provider.subscriptions.read(id);
  expect(late).toMatchObject({ status: 'past_due', paidUntilMs: first.periodEndMs });
  const failed = await readState(provider, late?.latestPayment ?? '');
  expect(failed).toMatchObject({ status: 'failed', failure: { code: 'insufficient_funds' } });
  expect(failed.actionUrl).toContain(failed.source);
  stripe.payHostedInvoice(failed.source);
  const paid = await provider.subscriptions.read(id);
  expect(paid).toMatchObject({ status: 'active', paidUntilMs: paid?.periodEndMs });
  stripe.advance(60 * DAY_MS);
  expect(await provider.subscriptions.read(id)).toMatchObject({ status: 'ended', nextPrice: null });
  expect(await provider.subscriptions.list(customer)).toEqual([]);
});

test('a change now begins a period, and is charged less what is left of the former one', async () => {
  const { stripe, provider, id, first, large } = await subscribed();
  stripe.advance((first.periodEndMs - first.periodStartMs) / 2);
  const { state, actionUrl } = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  expect(actionUrl).toBeNull();
  expect(state).toMatchObject({ price: large, paidUntilMs: state.periodEndMs, anchorMs: state.periodStartMs });
  expect(state.periodStartMs).toBeGreaterThan(first.periodStartMs);
  expect(state.periodEndMs).toBeGreaterThan(first.periodEndMs);
  expect(await readState(provider, state.latestPayment ?? '')).toMatchObject({ status: 'paid', creditCents: 4_000 });
  const again = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  expect(again.state.latestPayment).toBe(state.latestPayment);
});

test('a change now that is not paid changes nothing, until the holder pays it', async () => {
  const { stripe, provider, customer, id, small, large, first } = await subscribed();
  stripe.saveMethod(customer, 'declinedLater');
  const { state, actionUrl } = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  expect(state).toMatchObject({ status: 'active', price: small, paidUntilMs: first.periodEndMs });
  expect(actionUrl).toContain(state.latestPayment ?? 'none');
  stripe.payHostedInvoice(state.latestPayment ?? '');
  expect(await provider.subscriptions.read(id)).toMatchObject({ price: large });
});

test('a change that nobody pays expires', async () => {
  const { stripe, provider, customer, id, small, large } = await subscribed();
  stripe.saveMethod(customer, 'declinedLater');
  const { state } = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  stripe.advance(DAY_MS);
  expect(() => stripe.payHostedInvoice(state.latestPayment ?? '')).toThrow('void');
  expect(await provider.subscriptions.read(id)).toMatchObject({ status: 'active', price: small });
});

test('a change for the next period happens then, and costs nothing before', async () => {
  const { stripe, provider, id, small, large, first } = await subscribed();
  const change = { subscription: id, price: large, when: 'period_end' } as const;
  const { state } = await provider.subscriptions.change(change);
  expect(state).toMatchObject({ price: small, nextPrice: large, latestPayment: first.latestPayment });
  expect((await provider.subscriptions.change(change)).state).toMatchObject({ nextPrice: large });
  stripe.advance(first.periodEndMs - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  const changed = await provider.subscriptions.read(id);
  expect(changed).toMatchObject({ price: large, nextPrice: null, status: 'active' });
  expect(await readState(provider, changed?.latestPayment ?? '')).toMatchObject({ creditCents: 5_000 });
  stripe.advance(35 * DAY_MS);
  expect(await provider.subscriptions.read(id)).toMatchObject({ price: large, status: 'active' });
});

test('a cancellation ends it with its period, and drops a planned change', async () => {
  const { stripe, provider, id, large, first } = await subscribed();
  await provider.subscriptions.change({ subscription: id, price: large, when: 'period_end' });
  const canceled = await provider.subscriptions.cancel(id);
  expect(canceled).toMatchObject({ status: 'active', nextPrice: null, endsAtMs: first.periodEndMs });
  stripe.advance(40 * DAY_MS);
  expect(await provider.subscriptions.read(id)).toMatchObject({ status: 'ended', paidUntilMs: first.periodEndMs });
  await expect(provider.subscriptions.resume(id)).rejects.toMatchObject({
    fault: 'refused',
    message: expect.stringContaining('ended'),
  });
});

test('a canceled subscription can be resumed, and so can one with a planned change', async () => {
  const { stripe, provider, id, small, large } = await subscribed();
  await provider.subscriptions.cancel(id);
  expect(await provider.subscriptions.resume(id)).toMatchObject({ endsAtMs: null });
  await provider.subscriptions.change({ subscription: id, price: large, when: 'period_end' });
  expect(await provider.subscriptions.resume(id)).toMatchObject({ nextPrice: null, endsAtMs: null });
  stripe.advance(40 * DAY_MS);
  expect(await provider.subscriptions.read(id)).toMatchObject({ status: 'active', price: small });
});

test('a change undoes a cancellation', async () => {
  const { provider, id, large } = await subscribed();
  await provider.subscriptions.cancel(id);
  const planned = await provider.subscriptions.change({ subscription: id, price: large, when: 'period_end' });
  expect(planned.state).toMatchObject({ nextPrice: large, endsAtMs: null });
  await provider.subscriptions.cancel(id);
  const { state } = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  expect(state).toMatchObject({ price: large, nextPrice: null, endsAtMs: null });
});

test('a change now replaces one that was planned', async () => {
  const { stripe, provider, id, large } = await subscribed();
  const huge = stripe.addPrice(9_000).id;
  await provider.subscriptions.change({ subscription: id, price: huge, when: 'period_end' });
  const { state } = await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  expect(state).toMatchObject({ price: large, nextPrice: null, endsAtMs: null });
  stripe.advance(40 * DAY_MS);
  expect(await provider.subscriptions.read(id)).toMatchObject({ status: 'active', price: large });
});

test('it can be ended at once, also twice', async () => {
  const { provider, customer, id } = await subscribed();
  expect(await provider.subscriptions.end(id)).toMatchObject({ status: 'ended' });
  expect(await provider.subscriptions.end(id)).toMatchObject({ status: 'ended' });
  expect(await provider.subscriptions.list(customer)).toEqual([]);
  await expect(provider.subscriptions.end('sub_unknown')).rejects.toMatchObject({ fault: 'refused' });
});

test('prices are read as Stripe bills them', async () => {
  const { stripe, provider, small } = await subscribed();
  const interval = { unit: 'month', count: 1 } as const;
  expect(await provider.subscriptions.readPrice(small)).toEqual({
    id: small,
    isActive: true,
    currency: 'usd',
    amountCents: 2_000,
    interval,
  });
  const euro = stripe.addPrice(900, 'year', 'eur');
  expect(await provider.subscriptions.readPrice(euro.id)).toMatchObject({
    currency: 'eur',
    interval: { unit: 'year' },
  });
  expect(await provider.subscriptions.readPrice('price_unknown')).toBeNull();
});
