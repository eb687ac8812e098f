// Webhook requests: only what Stripe signed, lately, for this mode; reduced to what must be read again.

import { describe, expect, test } from 'bun:test';
import { Stripe } from 'stripe';
import type { ProviderEvent } from '../../../src/payments/provider.ts';
import { stripeEventTypes } from '../../../src/payments/stripe/read-event.ts';
import { readText } from '../../sources.ts';
import type { StripeEvent, WebhookRequest } from '../../support/scripted-stripe.ts';
import { openDirectly, openScripted, readState } from './open-scripted.ts';

type Opened = Awaited<ReturnType<typeof openScripted>>;

const read = ({ provider, stripe }: Opened, { body, headers }: WebhookRequest, nowMs = stripe.state.now() * 1000) =>
  provider.readEvent(new TextEncoder().encode(body), new Headers(headers), nowMs);

async function paidEvent(opened: Opened): Promise<StripeEvent> {
  const { source } = await opened.checkout();
  opened.stripe.payCheckout(source);
  const event = opened.stripe.events.find(({ type }) => type === 'checkout.session.completed');
  if (event === undefined) throw new Error('no event');
  return event;
}

describe('signatures', () => {
  test('of the scripted Stripe are those of the official package, and are accepted', async () => {
    const opened = await openScripted();
    const event = await paidEvent(opened);
    const { stripe } = opened;
    const timestamp = stripe.state.now();
    const ours = stripe.sign(event, { timestamp });
    const { webhooks } = new Stripe(stripe.secretKey);
    const theirs = await webhooks.generateTestHeaderStringAsync({
      payload: ours.body,
      secret: stripe.webhookSecret,
      timestamp,
    });
    expect(ours.headers['stripe-signature']).toBe(theirs);
    expect(await webhooks.constructEventAsync(ours.body, theirs, stripe.webhookSecret)).toMatchObject({ id: event.id });
    expect(await read(opened, ours)).toMatchObject({ id: event.id, type: event.type });
  });

  test('are refused when forged, altered, missing, stale or huge', async () => {
    const opened = await openScripted();
    const { stripe } = opened;
    const event = await paidEvent(opened);
    const good = stripe.sign(event);
    const now = stripe.state.now();
    const signature = good.headers['stripe-signature'] ?? '';
    const variants: [string, WebhookRequest][] = [
      ['another secret', stripe.sign(event, { secret: 'whsec_of_somebody_else' })],
      ['an empty secret', stripe.sign(event, { secret: '' })],
      ['another body', { ...good, body: good.body.replace('"livemode": false', '"livemode":  false') }],
      ['no header', { ...good, headers: {} }],
      ['an empty header', { ...good, headers: { 'stripe-signature': '' } }],
      ['an old scheme', { ...good, headers: { 'stripe-signature': signature.replace('v1=', 'v0=') } }],
      ['no time', { ...good, headers: { 'stripe-signature': signature.replace(/t=\d+,/, '') } }],
      ['another time', { ...good, headers: { 'stripe-signature': signature.replace(/t=\d+/, `t=${now + 1}`) } }],
      ['a long header', { ...good, headers: { 'stripe-signature': `${signature}${',v1=0'.repeat(1_000)}` } }],
      ['a stale request', stripe.sign(event, { timestamp: now - 301 })],
      ['a huge body', stripe.signBody(JSON.stringify({ ...event, padding: 'x'.repeat(1024 * 1024) }))],
      ['no JSON', stripe.signBody('{')],
      ['no event', stripe.signBody('{"object":"event"}')],
      ['an empty body', stripe.signBody('')],
      ['live mode', stripe.signBody(JSON.stringify({ ...event, livemode: true }))],
      ['a thin event', stripe.signBody(JSON.stringify({ ...event, object: 'v2.core.event' }))],
    ];
    for (const [name, request] of variants) {
      const failure = await read(opened, request).catch((error: unknown) => error);
      expect({ name, failure }).toMatchObject({ name, failure: { fault: 'event_invalid', status: 400, retry: false } });
      expect(String((failure as Error).cause)).not.toContain(stripe.webhookSecret);
    }
    expect(await read(opened, stripe.sign(event, { timestamp: now - 299 }))).toMatchObject({ id: event.id });
  });

  test('of one of several secrets, as while Stripe rotates one, are accepted', async () => {
    const opened = await openScripted();
    const event = await paidEvent(opened);
    const good = opened.stripe.sign(event);
    const header = `${good.headers['stripe-signature']},v1=${'0'.repeat(64)}`;
    expect(await read(opened, { ...good, headers: { 'stripe-signature': header } })).toMatchObject({ id: event.id });
  });

  test('of a test mode are refused by a live key, and the other way', async () => {
    const live = await openScripted({ secretKey: 'sk_live_scripted0000000000' });
    const event = await paidEvent(live);
    expect(await read(live, live.stripe.sign(event))).toMatchObject({ id: event.id });
    const wrong = live.stripe.signBody(JSON.stringify({ ...event, livemode: false }));
    await expect(read(live, wrong)).rejects.toMatchObject({ fault: 'event_invalid' });
  });

  test('of a connected account change nothing', async () => {
    const opened = await openScripted();
    const event = await paidEvent(opened);
    const request = opened.stripe.signBody(JSON.stringify({ ...event, account: 'acct_1connected' }));
    expect(await read(opened, request)).toMatchObject({ subject: { kind: 'none' } });
  });
});

test.each([
  ['the official package', openScripted],
  ['the small client', openDirectly],
])('every event of a payment leads to it, or to nothing: %s', async (_, open) => {
  const opened = await open();
  const { stripe, provider, customer, checkout, recharge } = opened;
  const { source } = await checkout({ savesMethod: true });
  stripe.payCheckout(source);
  const { paymentIntent } = await readState(provider, source);
  stripe.refund(paymentIntent ?? '', 100);
  const dispute = stripe.openDispute(paymentIntent ?? '', { isInquiry: true });
  stripe.closeDispute(dispute.id, 'won');
  stripe.addCreditNote(stripe.state.sessions.get(source)?.invoice ?? '', 50, 'balance');
  const method = stripe.saveMethod(customer, 'declinedLater');
  const failed = await provider.startRecharge(recharge(method.id));
  const found = new Map<string, Set<string | null>>();
  for (const event of stripe.events) {
    const { subject } = await read(opened, stripe.sign(event));
    const leads = found.get(event.type) ?? new Set();
    leads.add(await sourceOf(provider, subject));
    found.set(event.type, leads);
  }
  const both = new Set([source, failed.source]);
  expect(found.get('checkout.session.completed')).toEqual(new Set([source]));
  for (const type of ['charge.refunded', 'refund.created', 'charge.dispute.created', 'charge.dispute.closed'])
    expect({ type, leads: found.get(type) }).toEqual({ type, leads: new Set([source]) });
  expect(found.get('credit_note.created')).toEqual(new Set([source]));
  expect(found.get('invoice.paid')).toEqual(new Set([source]));
  expect(found.get('invoice.payment_failed')).toEqual(new Set([failed.source]));
  expect(found.get('payment_intent.payment_failed')).toEqual(new Set([failed.source]));
  expect(found.get('invoice.created')).toEqual(both);
  expect(found.get('payment_method.attached')).toEqual(new Set([customer]));
  expect(found.get('customer.created')).toEqual(new Set([null]));
});

test('types that are subscribed to are sorted, known to the package, and documented', () => {
  expect([...stripeEventTypes]).toEqual([...stripeEventTypes].sort());
  const known: readonly Stripe.WebhookEndpointCreateParams.EnabledEvent[] = stripeEventTypes;
  expect(known.length).toBe(new Set(known).size);
  const block = /```text\n([\s\S]*?)\n```/.exec(readText('docs/stripe.md') ?? '')?.[1];
  expect(block?.split('\n')).toEqual([...stripeEventTypes]);
});

async function sourceOf(provider: Opened['provider'], subject: ProviderEvent['subject']): Promise<string | null> {
  if (subject.kind === 'payment') return subject.source;
  if (subject.kind === 'reference') return provider.findPayment(subject.reference);
  if (subject.kind === 'customer') return subject.customer;
  return subject.kind === 'subscription' ? subject.subscription : null;
}
