// A plan bought by subscription, in the whole service: on Stripe's page, paid for messages, changed, canceled, resumed,
// renewed, not paid, and refunded. Each part goes on from the one before.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';
import { bodyOf, type Caller, type Json, startWorld, type World } from '../post-messages/world.ts';

const DAY_MS = 24 * 3600 * 1000;
const stripe = new ScriptedStripe();
const prices = { small: stripe.addPrice(2_000).id, large: stripe.addPrice(5_000).id, wrong: stripe.addPrice(999).id };
let world: World;
let caller: Caller;
let token: string;
let stopStripe: () => Promise<void>;

beforeAll(async () => {
  const listening = await stripe.listen();
  stopStripe = listening.stop;
  const plan = (title: string, price: string, month: string, stripe_price: string | null) =>
    ({ title, price, windows: { month }, groups: ['pro'], is_offered: true, stripe_price }) as const;
  world = await startWorld(
    {
      groups: { default: { models: ['plain'] }, pro: { models: ['paired'] } },
      plans: {
        small: plan('Small', '20', '40', prices.small),
        large: plan('Large', '50', '100', prices.large),
        wrong: plan('Wrong', '20', '40', prices.wrong),
        given: plan('Given', '20', '40', null),
        hidden: { ...plan('Hidden', '20', '40', null), is_offered: false },
      },
    },
    {
      TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
      TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
      TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
      TURNPIKE_STRIPE_API_URL: listening.url,
    },
  );
  caller = await world.makeKey({ credit: '0' });
  token = String((await world.admin('POST', '/tokens', { role: 'owner', account: caller.account }))['token']);
});
afterAll(async () => {
  await world.stop();
  await stopStripe();
});

/** As the owner of the account. */
async function ask(method: string, path: string, body?: Json) {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${world.url}/api/v1/accounts/${caller.account}${path}`, init);
  return { status: response.status, body: (await response.json()) as Json };
}

const plan = async () => (await ask('GET', '/plan')).body;
const balance = async () => (await world.admin('GET', `/accounts/${caller.account}`))['balance'];
const subscribe = (name: string) => ask('POST', '/subscription', { plan: name });

/** Sends the events of Stripe since the last time all at once, the newest first. */
async function deliver(): Promise<void> {
  const events = stripe.takeEvents().toReversed();
  expect(await stripe.deliver(events, `${world.url}/webhooks/stripe`, { concurrency: 8 })).toEqual([]);
}

/** The session of the page. */
function sessionAt(url: unknown): string {
  const session = [...stripe.state.sessions.values()].find((one) => one.url === url);
  if (session === undefined) throw new Error(`no session has the address ${url}`);
  return session.id;
}

async function eventsOf(type: string) {
  const { data } = await world.admin('GET', `/events?account=${caller.account}&type=${type}`);
  return (data as Json[]).map((event) => event['data'] as Json);
}

async function send(model: string): Promise<number> {
  const response = await world.post(caller.secret, bodyOf({ model }));
  await response.arrayBuffer();
  return response.status;
}

test('a plan that is not for sale, or whose price differs at Stripe, is not sold', async () => {
  for (const name of ['given', 'hidden', 'none']) expect([name, (await subscribe(name)).status]).toEqual([name, 400]);
  const { status, body } = await subscribe('wrong');
  expect([status, JSON.stringify(body)]).toEqual([502, expect.stringContaining('contact the operator')]);
  expect((await ask('POST', '/subscription/cancel', {})).status).toBe(409);
  expect(stripe.state.sessions.size).toBe(0);
  const { differences } = (await world.admin('POST', '/payments/check', {})) as { differences: Json[] };
  expect(differences.map(({ kind, source }) => [kind, source])).toEqual([['plan_price', prices.wrong]]);
});

test('a plan is bought on the page of Stripe, and pays for messages beside a recharge', async () => {
  const payment = await world.admin('POST', '/payments', { account: caller.account, amount: '10.00' });
  stripe.payCheckout(sessionAt(payment['checkout_url']));
  const { status, body } = await subscribe('small');
  expect([status, body['plan']]).toMatchObject([200, { plan: null, subscription: null }]);
  expect((await subscribe('small')).body['url']).toBe(body['url']); // the same page
  stripe.payCheckout(sessionAt(body['url']));
  expect(await plan()).toMatchObject({ plan: null });
  await deliver();
  expect(await plan()).toMatchObject({ plan: 'small', subscription: { cancels_at: null, next_plan: null } });
  expect(await balance()).toBe('10.00');
  expect(await send('paired')).toBe(200);
  expect((await plan())['windows']).toMatchObject([{ length: 'month', used: '0.000255' }]);
  expect(await balance()).toBe('10.00');
  expect(await eventsOf('plan.started')).toHaveLength(1);
});

test('while a subscription pays the plan, only who pays beyond it can be changed by hand', async () => {
  const path = `/accounts/${caller.account}/plan`;
  for (const change of [{ plan: null }, { plan: 'large' }, { ends_at: '2099-01-01T00:00:00Z' }])
    await expect(world.admin('PATCH', path, change)).rejects.toThrow('409');
  expect((await ask('PATCH', '/plan', { overflow: false })).body).toMatchObject({ plan: 'small', overflow: false });
});

test('a second page that was paid meanwhile is refunded, and its subscription ended', async () => {
  const { customer } = [...stripe.state.subscriptions.values()][0] ?? { customer: '' };
  const session = await fetch(`${stripe.state.origin}/v1/checkout/sessions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stripe.secretKey}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({
      customer,
      mode: 'subscription',
      success_url: 'https://turnpike.example.com',
      'line_items[0][price]': prices.large,
      'line_items[0][quantity]': '1',
      'subscription_data[metadata][turnpike_account]': caller.account,
    }),
  });
  stripe.payCheckout(String(((await session.json()) as Json)['id']));
  await deliver();
  await deliver();
  expect(await plan()).toMatchObject({ plan: 'small' });
  expect([...stripe.state.refunds.values()].map(({ amount }) => amount)).toEqual([5_000]);
  expect([...stripe.state.subscriptions.values()].map(({ status }) => status)).toEqual(['active', 'canceled']);
  expect(await eventsOf('subscription.refused')).toHaveLength(1);
  expect(await world.admin('GET', `/payments?account=${caller.account}&status=refunded`)).toMatchObject({
    data: [{ kind: 'subscription', amount: '50.00', credited: '0' }],
  });
});

test('a dearer plan begins at once, a cheaper one with the next period, and both can be undone', async () => {
  expect((await subscribe('large')).body).toMatchObject({ url: null, plan: { plan: 'large', overflow: false } });
  expect((await subscribe('small')).body).toMatchObject({
    url: null,
    plan: { plan: 'large', subscription: { next_plan: 'small' } },
  });
  const canceled = (await ask('POST', '/subscription/cancel', {})).body;
  expect(canceled).toMatchObject({ plan: 'large', subscription: { next_plan: null } });
  expect((canceled['subscription'] as Json)['cancels_at']).toBe(canceled['ends_at']);
  expect((await ask('POST', '/subscription/resume', {})).body).toMatchObject({ subscription: { cancels_at: null } });
  await deliver();
  expect(await plan()).toMatchObject({ plan: 'large', subscription: { cancels_at: null, next_plan: null } });
});

test('a renewal extends the plan; one that fails is reported, and the plan ends when Stripe gives up', async () => {
  const paidUntil = String((await plan())['paid_until']);
  stripe.advance(Date.parse(paidUntil) - stripe.state.now() * 1000 + 2 * 3600 * 1000);
  await deliver();
  const renewed = await plan();
  expect(Date.parse(String(renewed['paid_until']))).toBeGreaterThan(Date.parse(paidUntil));
  const [subscription] = stripe.state.subscriptions.values();
  stripe.saveMethod(subscription?.customer ?? '', 'declinedLater');
  stripe.advance(31 * DAY_MS);
  await deliver();
  expect(await plan()).toMatchObject({ plan: 'large', paid_until: renewed['paid_until'], ends_at: renewed['ends_at'] });
  expect(await eventsOf('plan.payment_failed')).toEqual([{ plan: 'large', ends_at: renewed['ends_at'] }]);
  const { url } = (await subscribe('small')).body;
  expect(url).toStartWith('http'); // the renewal is to be paid first
  stripe.advance(10 * DAY_MS);
  await deliver();
  expect(await plan()).toMatchObject({ plan: null, subscription: null });
  expect(await send('paired')).toBe(400); // the model is of the plan's group
  expect(await send('plain')).toBe(200);
});

test('a refunded subscription ends, and the journal agrees with Stripe', async () => {
  const [first] = stripe.state.subscriptions.values();
  stripe.saveMethod(first?.customer ?? '', 'good');
  stripe.payCheckout(sessionAt((await subscribe('small')).body['url']));
  await deliver();
  expect(await plan()).toMatchObject({ plan: 'small', subscription: { cancels_at: null } });
  const last = [...stripe.state.subscriptions.values()].at(-1);
  const { data } = (await world.admin('GET', `/payments?account=${caller.account}&kind=subscription`)) as {
    data: { id: string; status: string }[];
  };
  expect(data[0]?.status).toBe('paid');
  const invoice = stripe.state.invoices.get(last?.latest_invoice ?? '');
  const paid = [...stripe.state.invoicePayments.values()].find((one) => one.invoice === invoice?.id);
  stripe.refund(paid?.payment.payment_intent ?? '');
  await deliver();
  expect(await plan()).toMatchObject({ plan: null, subscription: null });
  expect(last?.status).toBe('canceled');
  expect(await world.admin('GET', `/payments/${data[0]?.id}`)).toMatchObject({ status: 'refunded', credited: '0' });
  expect((await world.check()).ok).toBe(true);
});
