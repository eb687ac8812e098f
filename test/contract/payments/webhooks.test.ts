// Webhook requests that are not Stripe's, or not about the payment that they seem to be about: refused and recorded,
// and nothing changes.

import { expect, test } from 'bun:test';
import { intentOf, type PaymentsService, startPayments } from './payments-service.ts';

async function recordsOf({ turnpike }: PaymentsService, action: string) {
  const { data } = (await turnpike.admin('GET', '/audit?limit=1000')) as { data: { action: string; after: object }[] };
  return data.filter((record) => record.action === action);
}

test('forged, stale, altered and huge requests are refused, and the audit log is not flooded', async () => {
  await using service = await startPayments();
  const { stripe, post } = service;
  const { session } = await service.begin('25.00');
  stripe.payCheckout(session);
  const [event] = stripe.takeEvents().filter(({ type }) => type === 'checkout.session.completed');
  if (event === undefined) throw new Error('there is no event');
  const { body, headers } = stripe.sign(event);
  const old = stripe.sign(event, { timestamp: stripe.state.now() - 400 });
  const statuses = [
    await post(body, {}),
    await post(body, { 'stripe-signature': '' }),
    await post(body, { 'stripe-signature': 't=1,v1=00' }),
    await post(body, stripe.sign(event, { secret: 'whsec_another0000000000' }).headers),
    await post(old.body, old.headers),
    await post(body.replace('2500', '9900'), headers),
    await post(
      JSON.stringify({ ...event, livemode: true }),
      stripe.signBody(JSON.stringify({ ...event, livemode: true })).headers,
    ),
    await post('{}', stripe.signBody('{}').headers),
    await post('x'.repeat(4_097), { 'stripe-signature': 'x'.repeat(4_097) }),
  ].map(({ status }) => status);
  expect(statuses).toEqual(statuses.map(() => 400));
  const huge = ' '.repeat(1024 * 1024 + 1);
  expect((await post(huge, stripe.signBody(huge).headers)).status).toBe(413);
  expect((await fetch(`${service.turnpike.url}/webhooks/stripe`)).status).toBe(405);
  for (let more = 0; more < 50; more++) await post(body, { 'stripe-signature': 't=1,v1=00' });
  expect(await service.balance()).toBe('0');
  expect(await recordsOf(service, 'payment_event.refuse')).toHaveLength(1);
  expect((await post(body, headers)).status).toBe(200);
  expect(await service.balance()).toBe('25.00');
  expect((await post(body, headers)).status).toBe(200); // replayed
  expect(await service.balance()).toBe('25.00');
});

test('another amount, currency, account or customer is not credited, and recorded', async () => {
  await using service = await startPayments();
  const { stripe, send } = service;
  const { account: other } = await service.turnpike.makeKey({ credit: '0' });
  const changes: [reason: RegExp, change: (session: string) => void][] = [
    [
      /eur/,
      (id) => {
        const { sessions, intents, charges } = stripe.state;
        const session = sessions.get(id);
        const intent = intents.get(session?.payment_intent ?? '');
        for (const one of [session, intent, charges.get(intent?.latest_charge ?? '')])
          Object.assign(one ?? {}, { currency: 'eur' });
      },
    ],
    [
      /were paid for/,
      (id) => Object.assign(stripe.state.sessions.get(id) ?? {}, { amount_subtotal: 99_900, amount_total: 99_900 }),
    ],
    [
      /another account/,
      (id) => Object.assign(stripe.state.sessions.get(id)?.metadata ?? {}, { turnpike_account: other }),
    ],
    [/another customer/, (id) => Object.assign(stripe.state.sessions.get(id) ?? {}, { customer: 'cus_of_another' })],
  ];
  for (const [reason, change] of changes) {
    const { payment, session } = await service.begin('25.00');
    stripe.payCheckout(session);
    change(session);
    const events = stripe.takeEvents();
    expect([reason, new Set(await send([...events, ...events]))]).toEqual([reason, new Set([200])]);
    expect(String((await service.show(payment['id']))['mismatch'])).toMatch(reason);
    const check = await service.turnpike.admin('POST', '/payments/check', {});
    expect(check['ok']).toBe(false);
  }
  expect(await service.balance()).toBe('0');
  expect(await service.turnpike.admin('GET', `/accounts/${other}`)).toMatchObject({ balance: '0' });
  const records = [...(await recordsOf(service, 'payment.refuse')), ...(await recordsOf(service, 'payment.update'))];
  expect(records).toHaveLength(changes.length);
});

test('a payment that names the payment of another account credits nobody', async () => {
  await using service = await startPayments();
  const { stripe, send } = service;
  const victim = await service.begin('25.00');
  const own = await service.begin('25.00');
  stripe.payCheckout(own.session);
  Object.assign(stripe.state.sessions.get(own.session)?.metadata ?? {}, { turnpike_payment: victim.payment['id'] });
  const events = stripe.takeEvents();
  await send(events);
  expect(await service.balance()).toBe('0');
  expect(await service.show(victim.payment['id'])).toMatchObject({ status: 'pending', mismatch: null });
  expect((await recordsOf(service, 'payment.refuse')).length).toBeGreaterThan(0);
  stripe.payCheckout(victim.session);
  await send(stripe.takeEvents());
  expect(await service.balance()).toBe('25.00');
});

test('a request gets 5xx while Stripe or the store does not answer, and is credited when it is sent again', async () => {
  await using service = await startPayments();
  const { stripe, send } = service;
  const { session } = await service.begin('25.00');
  stripe.payCheckout(session);
  const events = stripe.takeEvents().filter(({ type }) => type === 'checkout.session.completed');
  stripe.faultOf = () => 'unavailable';
  expect(await send(events)).toEqual([503]);
  expect(await service.balance()).toBe('0');
  stripe.faultOf = () => null;
  expect(await send(events)).toEqual([200]);
  expect(await service.balance()).toBe('25.00');
  expect(intentOf(service, session)).toMatch(/^pi_/);
});
