// Plans by subscription, over a scripted Stripe: the plan of the account follows the subscription, whatever order its
// events come in.

import { afterEach, expect, test } from 'bun:test';
import { formatId } from '../../../src/base/ids.ts';
import type { PlanSettings } from '../../../src/catalog/catalog.ts';
import { PlanSubscriptions } from '../../../src/payments/payments.ts';
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
  const { source } = await provider.subscriptions.start({
    account: formatId('acct', ACCOUNT),
    customer,
    plan: 'small',
    price: small.id,
    isTaxAutomatic: false,
    idempotencyKey: 'one',
    ...urls,
  });
  stripe.payCheckout(source);
  const [first] = await provider.subscriptions.list(customer);
  if (first === undefined) throw new Error('no subscription');
  const plan = async () => (await stores.ledger.accountMeters(ACCOUNT, clock.nowMs()))?.plan ?? null;
  const facts = () => stores.payments.getBilling(ACCOUNT);
  const renew = () => stripe.advance(first.periodEndMs - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  return { ...opened, stores, sync, plan, facts, events, first, id: first.id, large: large.id, renew, changed };
}

test('a paid subscription starts its plan, and every further event changes nothing', async () => {
  const { sync, id, plan, first, facts, events, stores, changed } = await subscribed();
  await Promise.all([sync.sync(id), sync.sync(id), sync.sync(id)]);
  expect(await plan()).toMatchObject({
    name: 'small',
    anchorMs: first.startedAtMs,
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
