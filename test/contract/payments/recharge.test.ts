// A recharge from the API to the balance: what is credited, when, and what takes it back.

import { expect, test } from 'bun:test';
import { intentOf, type Json, startPayments } from './payments-service.ts';

test('a recharge is credited once Stripe says that it is paid, whatever the order and number of its events', async () => {
  await using service = await startPayments();
  const { stripe, send } = service;
  const { payment, session } = await service.begin('25.00');
  expect(payment).toMatchObject({ status: 'pending', amount: '25.00', credited: '0', kind: 'checkout' });
  expect(String(payment['checkout_url'])).toContain(session);
  stripe.payCheckout(session);
  expect(await service.balance()).toBe('0'); // the page of success credits nothing
  const events = stripe.takeEvents();
  expect(
    await stripe.deliver(events, `${service.turnpike.url}/webhooks/stripe`, {
      arrange: (all) => all.toReversed(),
      copies: 3,
      concurrency: 6,
    }),
  ).toEqual([]);
  expect(await service.balance()).toBe('25.00');
  expect(await service.show(payment['id'])).toMatchObject({
    status: 'paid',
    credited: '25.00',
    checkout_url: null,
    fee: '1.03',
  });
  expect(await send(events)).toEqual(events.map(() => 200));
  expect(await service.balance()).toBe('25.00');
  const { body } = await service.ask('GET', `/payments/${payment['id']}`);
  expect(body).toMatchObject({ credited: '25.00', fee: null });
  expect(await service.turnpike.admin('POST', '/payments/check', {})).toMatchObject({
    ok: true,
    compared: 1,
    differences: [],
  });
});

test('refunds in parts, a dispute and its end change the balance by what Stripe says, and take no group away', async () => {
  await using service = await startPayments({ recharge_groups: ['10: none-such', '20: paying', '100: large'] });
  const { stripe, send, turnpike, account } = service;
  await turnpike.admin('POST', '/apply', { document: { groups: { paying: { models: ['*'], multiplier: '0.9' } } } });
  const groups = async () => (await turnpike.admin('GET', `/accounts/${account}`))['groups'] as string[];
  const before = await groups();
  const { payment, session } = await service.begin('20.00');
  stripe.payCheckout(session);
  expect(await groups()).toEqual(before);
  const paid = stripe.takeEvents();
  await send([...paid, ...paid]);
  expect(await groups()).toEqual(['paying', ...before]);
  const { data } = (await turnpike.admin('GET', `/audit?object=${account}&actor=stripe`)) as { data: Json[] };
  expect(data).toMatchObject([
    { action: 'account.update', role: 'service', after: { groups: ['paying', ...before], payment: payment['id'] } },
  ]);
  const after = async () => {
    await send(stripe.takeEvents());
    const { status, credited } = await service.show(payment['id']);
    return [status, credited, await service.balance()];
  };
  const intent = intentOf(service, session);
  stripe.refund(intent, 500);
  expect(await after()).toEqual(['partially_refunded', '15.00', '15.00']);
  const pending = stripe.refund(intent, 250, 'pending');
  expect(await after()).toEqual(['partially_refunded', '12.50', '12.50']);
  stripe.endRefund(pending.id, 'failed');
  expect(await after()).toEqual(['partially_refunded', '15.00', '15.00']);
  const dispute = stripe.openDispute(intent, { amount: 1_500 });
  expect(await after()).toEqual(['disputed', '0', '0']);
  stripe.closeDispute(dispute.id, 'won');
  expect(await after()).toEqual(['partially_refunded', '15.00', '15.00']);
  stripe.refund(intent, 1_500);
  expect(await after()).toEqual(['refunded', '0', '0']);
  await turnpike.admin('PATCH', `/accounts/${account}`, { groups: before });
  await send(paid);
  const small = await service.begin('10.00'); // of a group that does not exist
  stripe.payCheckout(small.session);
  await send(stripe.takeEvents());
  expect([await groups(), await service.balance()]).toEqual([before, '10.00']);
  expect((await service.turnpike.check()).ok).toBe(true);
});

test('a refund takes the bonus back too; credit that was spent leaves a debt, which later credit pays first', async () => {
  await using service = await startPayments({ recharge_bonus: ['20: 10%', '100: 15%'] });
  const { stripe, send, turnpike, account } = service;
  const { body: options } = await service.ask('GET', '/payment-options');
  expect(options['bonuses']).toEqual([
    { from: '20.00', percent: '10' },
    { from: '100.00', percent: '15' },
  ]);
  const { session, payment } = await service.begin('20.00');
  expect(payment).toMatchObject({ amount: '20.00', bonus: '2.00', bonus_credited: '0' });
  await turnpike.admin('POST', '/apply', { document: { settings: { recharge_bonus: [] } } }); // it keeps what was shown
  stripe.payCheckout(session);
  const events = stripe.takeEvents();
  await send([...events, ...events]);
  expect(await service.balance()).toBe('22.00');
  expect(await service.show(payment['id'])).toMatchObject({ credited: '20.00', bonus_credited: '2.00' });
  const { body: entries } = await service.ask('GET', `/accounts/${account}/entries`);
  expect((entries['data'] as Json[]).map(({ kind, amount, note }) => [kind, amount, note])).toEqual([
    ['promotion', '2.00', `bonus of ${payment['id']}`],
    ['payment', '20.00', `paid by ${payment['id']}`],
  ]);
  expect((await service.ask('GET', `/accounts/${account}/statement`)).body).toMatchObject({
    credited: '22.00',
    bonus: '2.00',
  });
  const eventsOf = async () => (await service.ask('GET', `/events?limit=1`)).body['data'] as Json[];
  expect(await eventsOf()).toMatchObject([
    {
      type: 'payment.succeeded',
      data: { payment: payment['id'], kind: 'checkout', amount: '20.00', bonus: '2.00' },
      description: `$20.00 was paid and credited, with a bonus of $2.00 (${payment['id']}).`,
    },
  ]);
  await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '-15.00', kind: 'adjustment' });
  stripe.refund(intentOf(service, session), 2_000);
  await send(stripe.takeEvents());
  expect(await service.balance()).toBe('0');
  expect(await service.show(payment['id'])).toMatchObject({ credited: '0', bonus: '2.00', bonus_credited: '0' });
  const refund = (await service.ask('GET', '/events?type=payment.refunded')).body['data'] as Json[];
  expect(refund).toMatchObject([
    {
      data: { amount: '20.00', bonus: '2.00', debt: '15.00' },
      description: `The payment ${payment['id']} was refunded. $20.00 and $2.00 of its bonus were deducted from the balance, and $15.00 is owed.`,
    },
  ]);
  expect((await service.ask('GET', `/accounts/${account}/statement`)).body).toMatchObject({ bonus: '0' });
  await turnpike.admin('POST', `/accounts/${account}/credits`, { amount: '18.00' });
  expect(await service.balance()).toBe('3.00');
  expect((await turnpike.check()).ok).toBe(true);
  expect(await turnpike.admin('POST', '/payments/check', {})).toMatchObject({ ok: true });
});

test('events that arrive days after the account was disabled are credited all the same', async () => {
  await using service = await startPayments();
  const { stripe, turnpike, account } = service;
  const { session } = await service.begin('20.00');
  stripe.payCheckout(session);
  const events = stripe.takeEvents();
  await turnpike.admin('PATCH', `/accounts/${account}`, { status: 'disabled' });
  expect((await service.ask('POST', '/payments', { amount: '20.00' })).status).toBe(403);
  expect(new Set(await service.send(events))).toEqual(new Set([200]));
  expect(await service.balance()).toBe('20.00');
});

test('a repeated request with an idempotency key begins one payment, also after Stripe did not answer', async () => {
  await using service = await startPayments();
  const { stripe, ask } = service;
  const headers = { 'idempotency-key': 'recharge-1' };
  let isDown = true;
  stripe.faultOf = (_, path) => (isDown && path === '/v1/checkout/sessions' ? 'lost' : null);
  expect((await ask('POST', '/payments', { amount: '25.00' }, headers)).status).toBe(503);
  isDown = false;
  const first = await ask('POST', '/payments', { amount: '25.00' }, headers);
  const again = await ask('POST', '/payments', { amount: '25.00' }, headers);
  expect([first.status, again.body]).toEqual([201, first.body]);
  expect(stripe.state.sessions.size).toBe(1);
  expect((await ask('GET', '/payments')).body['data']).toHaveLength(1);
  expect((await ask('POST', '/payments', { amount: '26.00' }, headers)).status).toBe(422);
});

test('amounts are bounded, pages beyond the bound close the oldest, and a payment needs a provider', async () => {
  await using service = await startPayments({ recharge_min: '10', recharge_max: '20' });
  const { ask, stripe } = service;
  for (const amount of ['9.99', '20.01', '10.001', '-10', '0', 'NaN'])
    expect([amount, (await ask('POST', '/payments', { amount })).status]).toEqual([amount, 400]);
  expect((await ask('GET', '/payment-options')).body).toMatchObject({
    provider: 'stripe',
    minimum: '10.00',
    maximum: '20.00',
  });
  for (let page = 0; page < 11; page++) await service.begin('10.00');
  const open = [...stripe.state.sessions.values()].filter(({ status }) => status === 'open');
  expect(open).toHaveLength(10);
  expect((await ask('POST', `/accounts/${service.account}/portal`, {})).body['url']).toMatch(/^http/);
});
