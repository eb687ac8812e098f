// Plans by subscription, over a scripted Stripe: the plan of the account follows the subscription, whatever order its
// events come in.

import { afterEach, expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import type { PlanSettings } from '../../../src/catalog/catalog.ts';
import type { EventType } from '../../../src/events/events.ts';
import { PlanSales, PlanSubscriptions } from '../../../src/payments/payments.ts';
import { watchPlans } from '../../../src/server/watch-plans.ts';
import { auditRows } from '../../../src/storage/storage.ts';
import { openSqlite } from '../../storage/open-sqlite.ts';
import { allChanges } from '../../support/everything.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { openScripted, urls } from './open-scripted.ts';

const ACCOUNT = 2 ** 33;
const DAY_MS = 24 * 3600 * 1000;
const GRACE_MS = 3 * DAY_MS;
const limits = { requestsPerMinute: null, inputTokensPerMinute: null, outputTokensPerMinute: null, concurrency: null };

const planOf = (name: string, price: number, stripePrice: string): PlanSettings => ({
  name,
  title: name,
  price,
  windows: [{ length: 'month', limit: price * 2 }],
  groups: [],
  limits,
  stripePrice,
  isOffered: true,
});

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function subscribed() {
  const opened = await openScripted();
  const { stripe, provider, customer } = opened;
  const [small, large] = [stripe.addPrice(2_000), stripe.addPrice(5_000)];
  const plans = new Map([
    ['small', planOf('small', 20_000_000_000, small.id)],
    ['large', planOf('large', 50_000_000_000, large.id)],
  ]);
  const clock = { nowMs: () => stripe.state.now() * 1000 };
  const { stores, close } = openSqlite(clock);
  closing.push(close);
  const terms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' } as const;
  const billing = { accountId: ACCOUNT, version: 1, customer, method: null, rechargeFailure: null, subscription: null };
  const account = { id: ACCOUNT, name: 'One', groups: ['default'], status: 'enabled', createdAtMs: 0 } as const;
  await stores.accounts.createAccount(account, terms, null, noAuditContext);
  await stores.gate.submit({ operations: [], coCommitted: [{ table: 'billing', billing }] });
  const changed: number[] = [];
  const events: string[] = [];
  const sync = new PlanSubscriptions({
    provider,
    store: stores.payments,
    ledger: {
      ...stores.ledger,
      submit(bundle) {
        const rows = (bundle.coCommitted ?? []) as { table: string; event?: { type: string } }[];
        events.push(...rows.flatMap(({ event }) => (event === undefined ? [] : [event.type])));
        return stores.gate.submit(bundle);
      },
    },
    plans: () => plans,
    graceMs: () => GRACE_MS,
    auditRows,
    clock,
    changed: (account) => changed.push(account),
  });
  const subscribe = async (idempotencyKey: string, price = small.id) => {
    const members = { account: formatId('acct', ACCOUNT), customer, plan: 'small', price, isTaxAutomatic: false };
    const { source } = await provider.subscriptions.start({ ...members, idempotencyKey, ...urls });
    stripe.payCheckout(source);
    return (await provider.subscriptions.list(customer))[0];
  };
  const first = await subscribe('one');
  if (first === undefined) throw new Error('no subscription');
  const plan = async () => (await stores.ledger.accountMeters(ACCOUNT, clock.nowMs()))?.plan ?? null;
  const facts = () => stores.payments.getBilling(ACCOUNT);
  const renew = () => stripe.advance(first.periodEndMs - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  const sales = new PlanSales({
    provider,
    store: stores.payments,
    subscriptions: sync,
    settings: () => ({ publicUrl: 'https://turnpike.example.com', isTaxAutomatic: false }),
    clock,
  });
  const eventsOf = async (type: EventType) => {
    const page = { account: null, types: [type], sinceMs: null, untilMs: null, before: null, limit: 100 };
    return (await stores.events.listEvents(page)).map(({ data }) => data as Record<string, unknown>);
  };
  const parts = { stores, sync, sales, plans, plan, facts, events, eventsOf, subscribe, renew, changed, clock };
  return { ...opened, ...parts, first, id: first.id, large: large.id };
}

test('a paid subscription starts its plan, and every further event changes nothing', async () => {
  const { sync, id, plan, first, facts, events, stores, changed } = await subscribed();
  await Promise.all([sync.sync(id), sync.sync(id), sync.sync(id)]);
  expect(await plan()).toMatchObject({
    name: 'small',
    anchorMs: first.anchorMs,
    paidUntilMs: first.periodEndMs,
    endsAtMs: first.periodEndMs + GRACE_MS,
    overflow: true,
  });
  expect(await facts()).toMatchObject({ subscription: id, version: 2 });
  expect(events.filter((type) => type === 'plan.started').length).toBeGreaterThanOrEqual(1);
  expect(await stores.audit.listAudit(allChanges)).toHaveLength(1);
  expect(changed).toContain(ACCOUNT);
  await sync.sync('sub_unknown');
});

test('a renewal that is paid extends the plan; one that fails ends it after the grace', async () => {
  const { stripe, provider, customer, sync, id, plan, first, renew } = await subscribed();
  await sync.sync(id);
  renew();
  await sync.sync(id);
  const renewed = await plan();
  expect(renewed?.paidUntilMs).toBeGreaterThan(first.periodEndMs);
  stripe.saveMethod(customer, 'declinedLater');
  stripe.advance((renewed?.paidUntilMs ?? 0) - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  await sync.sync(id);
  expect((await provider.subscriptions.read(id))?.status).toBe('past_due');
  expect(await plan()).toMatchObject({ paidUntilMs: renewed?.paidUntilMs, endsAtMs: renewed?.endsAtMs });
  stripe.advance(60 * DAY_MS);
  await sync.sync(id);
  expect(await plan()).toBeNull();
});

test('an upgrade changes the plan at once, and keeps what is used and whether the wallet pays', async () => {
  const { provider, sync, id, plan, large, stores } = await subscribed();
  await sync.sync(id);
  const changes = { overflow: false };
  await stores.gate.submit({ operations: [{ kind: 'change-plan', account: ACCOUNT, name: 'small', changes }] });
  await provider.subscriptions.change({ subscription: id, price: large, when: 'now' });
  await sync.sync(id);
  expect(await plan()).toMatchObject({ name: 'large', overflow: false });
});

test('a downgrade changes the plan with the next period', async () => {
  const { provider, sync, id, plan, large, renew } = await subscribed();
  await provider.subscriptions.change({ subscription: id, price: large, when: 'period_end' });
  await sync.sync(id);
  expect((await plan())?.name).toBe('small');
  renew();
  await sync.sync(id);
  expect((await plan())?.name).toBe('large');
});

test('a cancellation ends the plan with its period, without grace, and can be undone', async () => {
  const { provider, sync, id, plan, first } = await subscribed();
  await provider.subscriptions.cancel(id);
  await sync.sync(id);
  expect(await plan()).toMatchObject({ endsAtMs: first.periodEndMs });
  await provider.subscriptions.resume(id);
  await sync.sync(id);
  expect(await plan()).toMatchObject({ endsAtMs: first.periodEndMs + GRACE_MS });
});

test('a refund or a dispute of its invoice ends the plan and the subscription', async () => {
  for (const take of ['refund', 'openDispute'] as const) {
    const { stripe, provider, sync, id, plan, first, facts } = await subscribed();
    await sync.sync(id);
    const invoice = await provider.readPayment(first.latestPayment ?? '');
    stripe[take](invoice?.paymentIntent ?? '');
    await sync.sync(id);
    expect(await plan()).toBeNull();
    expect((await facts())?.subscription).toBeNull();
    expect((await provider.subscriptions.read(id))?.status).toBe('ended');
    await sync.sync(id);
    expect(await plan()).toBeNull();
  }
});

test('a subscription that names another account changes nothing', async () => {
  const { stripe, provider, customer, sync, plan } = await subscribed();
  const price = stripe.addPrice(2_000).id;
  const wanted = { account: 'acct_other', customer, plan: 'small', price, isTaxAutomatic: false, ...urls };
  const { source } = await provider.subscriptions.start({ ...wanted, idempotencyKey: 'two' });
  stripe.payCheckout(source);
  const other = (await provider.subscriptions.list(customer)).find(({ metadata }) => metadata.account === 'acct_other');
  await sync.sync(other?.id ?? '');
  expect(await plan()).toBeNull();
});

test('a failed renewal is reported once, and its subscription ends with the grace, without a later charge', async () => {
  const { stripe, provider, customer, sync, id, plan, first, facts, renew, eventsOf } = await subscribed();
  await sync.sync(id);
  stripe.saveMethod(customer, 'declinedLater');
  renew();
  await sync.sync(id);
  await sync.sync(id);
  const endsAtMs = first.periodEndMs + GRACE_MS;
  const ends_at = new Date(endsAtMs).toISOString();
  expect(await eventsOf('plan.payment_failed')).toEqual([{ plan: 'small', ends_at }]);
  expect(await plan()).toMatchObject({ name: 'small', endsAtMs });
  const unpaid = await provider.subscriptions.read(id);
  stripe.advance(GRACE_MS);
  await sync.sync(id);
  await sync.sync(id);
  expect([await plan(), (await facts())?.subscription]).toEqual([null, null]);
  expect(await eventsOf('plan.ended')).toEqual([{ plan: 'small' }]);
  expect((await provider.subscriptions.read(id))?.status).toBe('ended');
  const invoice = await provider.readPayment(unpaid?.latestPayment ?? '');
  expect([invoice?.status, invoice?.actionUrl]).toEqual(['failed', null]); // void: it cannot be paid any more
});

test('a second subscription is ended and refunded, and reported once, whichever order its events come in', async () => {
  const { provider, sync, id, subscribe, facts, plan, eventsOf, stores } = await subscribed();
  const second = await subscribe('two');
  await Promise.all([sync.sync(id), sync.sync(second?.id ?? ''), sync.sync(id), sync.sync(second?.id ?? '')]);
  const governing = (await facts())?.subscription;
  const refused = governing === id ? second : (await provider.subscriptions.read(id)) && { ...second, id };
  await sync.sync(refused?.id ?? '');
  expect((await provider.subscriptions.read(governing ?? ''))?.status).toBe('active');
  const ended = await provider.subscriptions.read(refused?.id ?? '');
  const invoice = await provider.readPayment(ended?.latestPayment ?? '');
  expect([ended?.status, invoice?.refundedCents]).toEqual(['ended', 2_000]);
  expect((await plan())?.name).toBe('small');
  const reason = 'the account has another subscription';
  expect(await eventsOf('subscription.refused')).toEqual([{ subscription: ended?.id ?? '', reason }]);
  const records = (await stores.audit.listAudit(allChanges)).filter(({ action }) => action === 'subscription.refuse');
  expect(records).toHaveLength(1);
});

test('a former subscription is not refunded, and does not stand in the way of a new one', async () => {
  const { provider, sync, id, subscribe, facts, plan, first } = await subscribed();
  await sync.sync(id);
  await provider.subscriptions.end(id); // its event is lost
  const second = await subscribe('two');
  await sync.sync(second?.id ?? '');
  expect([(await facts())?.subscription, (await plan())?.name]).toEqual([second?.id ?? '', 'small']);
  await sync.sync(id);
  expect((await provider.readPayment(first.latestPayment ?? ''))?.refundedCents).toBe(0);
});

test('a subscription that no plan has the price of is ended and refunded', async () => {
  const { stripe, provider, sync, id, plans, first, plan, eventsOf } = await subscribed();
  plans.clear();
  await sync.sync(id);
  expect(await plan()).toBeNull();
  expect((await provider.readPayment(first.latestPayment ?? ''))?.refundedCents).toBe(2_000);
  expect(await eventsOf('subscription.refused')).toHaveLength(1);
  expect((await provider.subscriptions.list(first.customer)).length).toBe(0);
  expect(stripe.state.refunds.size).toBe(1);
});

test('a plan is sold only while its price at the provider is that of the plan', async () => {
  const { stripe, sales, facts, plans, sync, id } = await subscribed();
  await sync.sync(id);
  const billing = await facts();
  const small = plans.get('small');
  if (billing === null || small === undefined) throw new Error('no facts');
  const faultOf = (stripePrice: string, price = small.price) => sales.findPriceFault({ ...small, stripePrice, price });
  expect(await faultOf(small.stripePrice ?? '')).toBeNull();
  expect(await faultOf('price_none')).toContain('there is no price');
  expect(await faultOf(stripe.addPrice(2_000, 'year').id)).toContain('not for one month');
  expect(await faultOf(stripe.addPrice(2_000, 'month', 'eur').id)).toContain('eur');
  expect(await faultOf(stripe.addPrice(2_001).id)).toContain('2001 cents');
  const old = stripe.addPrice(2_000);
  old.active = false;
  expect(await faultOf(old.id)).toContain('not active');
  await expect(sales.buy(billing, { ...small, stripePrice: old.id })).rejects.toThrow('contact the operator');
});

test('a purchase changes the present subscription: a dearer plan at once, a cheaper one with the next period', async () => {
  const { sales, facts, plans, plan, stripe } = await subscribed();
  const billing = await facts();
  const [small, large] = [plans.get('small'), plans.get('large')];
  if (billing === null || small === undefined || large === undefined) throw new Error('no facts');
  expect(await sales.buy(billing, large)).toBeNull(); // the event of the first one was lost
  expect((await plan())?.name).toBe('large');
  expect(await sales.buy(billing, small)).toBeNull();
  expect([(await plan())?.name, (await facts())?.nextPlan]).toEqual(['large', 'small']);
  await sales.cancel(billing);
  const canceled = await facts();
  expect([canceled?.cancelsAtMs, canceled?.nextPlan]).toEqual([expect.any(Number), null]);
  await sales.resume(billing);
  expect((await facts())?.cancelsAtMs).toBeNull();
  expect(stripe.state.subscriptions.size).toBe(1);
});

test('an unpaid renewal is to be paid before another plan is bought, and its cancellation ends it at once', async () => {
  const { stripe, sync, id, customer, sales, facts, plans, plan, renew } = await subscribed();
  await sync.sync(id);
  stripe.saveMethod(customer, 'declinedLater');
  renew();
  await sync.sync(id);
  const billing = await facts();
  const large = plans.get('large');
  if (billing === null || large === undefined) throw new Error('no facts');
  const url = await sales.buy(billing, large);
  expect(url).toContain('http');
  await sales.cancel(billing);
  expect([await plan(), (await facts())?.subscription]).toEqual([null, null]);
  await expect(sales.cancel(billing)).rejects.toThrow('no subscription');
});

test('the watch of plans heals a lost event, and reports a canceled plan before its end, once', async () => {
  const { provider, sync, id, plan, first, renew, eventsOf, stores, stripe, clock } = await subscribed();
  const watch = () =>
    watchPlans({ stores, subscriptions: sync, clock, log: { writeEvent() {} }, signal: new AbortController().signal });
  await sync.sync(id);
  renew();
  await watch();
  expect((await plan())?.paidUntilMs).toBeGreaterThan(first.periodEndMs);
  expect(await eventsOf('plan.ending')).toEqual([]);
  await provider.subscriptions.cancel(id);
  await sync.sync(id);
  const endsAtMs = (await plan())?.endsAtMs ?? 0;
  stripe.advance(endsAtMs - clock.nowMs() - DAY_MS);
  await watch();
  await watch();
  expect(await eventsOf('plan.ending')).toEqual([{ plan: 'small', ends_at: new Date(endsAtMs).toISOString() }]);
  stripe.advance(2 * DAY_MS);
  await watch();
  await watch();
  expect([await plan(), await eventsOf('plan.ended')]).toEqual([null, [{ plan: 'small' }]]);
});
