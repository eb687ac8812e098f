// The scripted Stripe behaves as Stripe documents, seen through the official package.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Stripe } from 'stripe';
import { makeRandom } from '../../support/random.ts';
import { ScriptedStripe } from '../../support/scripted-stripe.ts';

const stripe = new ScriptedStripe();
let server: Awaited<ReturnType<ScriptedStripe['listen']>>;
let client: Stripe;
beforeAll(async () => {
  server = await stripe.listen();
  const { hostname, port } = new URL(server.url);
  client = new Stripe(stripe.secretKey, {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  });
});
afterAll(() => server.stop());

test('the same key and parameters return the same object', async () => {
  const create = () => client.customers.create({ name: 'One' }, { idempotencyKey: 'same' });
  const [one, two] = [await create(), await create()];
  expect(two.id).toBe(one.id);
  const answer = two.lastResponse as unknown as Response; // what the package keeps under this runtime
  expect(answer.headers.get('idempotent-replayed')).toBe('true');
  expect((await client.customers.create({ name: 'One' })).id).not.toBe(one.id);
});

test('the same key with other parameters, or for another route, is refused', async () => {
  await client.customers.create({ name: 'One' }, { idempotencyKey: 'taken' });
  const other = client.customers.create({ name: 'Two' }, { idempotencyKey: 'taken' });
  await expect(other).rejects.toMatchObject({ type: 'StripeIdempotencyError', statusCode: 400 });
});

test('a key whose request is in progress is a conflict', async () => {
  const release = Promise.withResolvers<void>();
  stripe.hold = () => release.promise;
  const first = client.customers.create({ name: 'One' }, { idempotencyKey: 'slow' });
  while (!stripe.api.log.at(-1)?.includes('customers')) await Bun.sleep(1);
  await Bun.sleep(20);
  const second = client.customers.create({ name: 'One' }, { idempotencyKey: 'slow' });
  await expect(second).rejects.toMatchObject({ statusCode: 409, code: 'idempotency_key_in_use' });
  release.resolve();
  stripe.hold = async () => {};
  const { id } = await first;
  expect((await client.customers.create({ name: 'One' }, { idempotencyKey: 'slow' })).id).toBe(id);
});

test('a key is forgotten after a day', async () => {
  const create = () => client.customers.create({ name: 'Old' }, { idempotencyKey: 'old' });
  const { id } = await create();
  stripe.advance(25 * 3600 * 1000);
  expect((await create()).id).not.toBe(id);
});

test('a missing parameter is not stored under its key', async () => {
  const wrong = client.invoices.create({ currency: 'usd' }, { idempotencyKey: 'mended' });
  await expect(wrong).rejects.toMatchObject({ type: 'StripeInvalidRequestError', code: 'parameter_missing' });
  const { id } = await client.customers.create({});
  const right = await client.invoices.create({ currency: 'usd', customer: id }, { idempotencyKey: 'mended' });
  expect(right.status).toBe('draft');
});

test('lists have pages, newest first', async () => {
  const { id: customer } = await client.customers.create({});
  const made: string[] = [];
  for (let count = 0; count < 5; count++) made.push((await client.invoices.create({ customer, currency: 'usd' })).id);
  const first = await client.invoices.list({ customer, limit: 2 });
  expect(first).toMatchObject({ has_more: true });
  const all: string[] = [];
  for await (const { id } of client.invoices.list({ customer, limit: 2 })) all.push(id);
  expect(all).toEqual(made.toReversed());
  await expect(client.invoices.list({ limit: 101 })).rejects.toMatchObject({ statusCode: 400 });
});

test('properties are expanded when they exist, to four levels', async () => {
  const { id: customer } = await client.customers.create({});
  const { id } = await client.invoices.create({ customer, currency: 'usd' });
  const found = await client.invoices.retrieve(id, { expand: ['customer'] });
  expect(found.customer).toMatchObject({ id: customer, object: 'customer' });
  const unknown = client.invoices.retrieve(id, { expand: ['nothing'] });
  await expect(unknown).rejects.toMatchObject({ statusCode: 400 });
  const deep = client.invoices.list({ expand: ['data.payments.data.payment.payment_intent'] });
  await expect(deep).rejects.toMatchObject({ message: expect.stringContaining('4 levels') });
});

test('a wrong key is refused, and an unknown object is missing', async () => {
  const other = new Stripe('sk_test_other', { host: '127.0.0.1', port: new URL(server.url).port, protocol: 'http' });
  await expect(other.customers.create({})).rejects.toMatchObject({ type: 'StripeAuthenticationError' });
  await expect(client.customers.retrieve('cus_none')).rejects.toMatchObject({ code: 'resource_missing' });
});

test('a disputed charge cannot be refunded, and nothing is refunded twice', async () => {
  const { id: customer } = await client.customers.create({});
  const pay = async () => {
    const { id } = await client.checkout.sessions.create({
      customer,
      mode: 'payment',
      success_url: 'https://a.example/',
      line_items: [{ quantity: 1, price_data: { currency: 'usd', unit_amount: 1_000, product_data: { name: 'x' } } }],
    });
    return stripe.payCheckout(id).payment_intent ?? '';
  };
  const [one, two] = [await pay(), await pay()];
  stripe.openDispute(one);
  await expect(client.refunds.create({ payment_intent: one })).rejects.toMatchObject({ code: 'charge_disputed' });
  await client.refunds.create({ payment_intent: two, amount: 400 });
  await expect(client.refunds.create({ payment_intent: two, amount: 601 })).rejects.toMatchObject({ statusCode: 400 });
  await client.refunds.create({ payment_intent: two });
  await expect(client.refunds.create({ payment_intent: two })).rejects.toMatchObject({
    code: 'charge_already_refunded',
  });
});

test('events are delivered several times, in any order, until they are accepted', async () => {
  const seed = Math.floor(Math.random() * 2 ** 31);
  const random = makeRandom(seed);
  const events = stripe.events.slice(0, 20);
  const seen = new Map<string, number>();
  let requests = 0;
  const endpoint = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const body = await request.text();
      const signature = request.headers.get('stripe-signature') ?? '';
      const { id } = await client.webhooks.constructEventAsync(body, signature, stripe.webhookSecret);
      if (requests++ % 3 === 0) return new Response('busy', { status: 500 });
      seen.set(id, (seen.get(id) ?? 0) + 1);
      return new Response('ok');
    },
  });
  const shuffle = <Value>(all: Value[]) =>
    all
      .map((value) => ({ value, at: random() }))
      .sort((one, other) => one.at - other.at)
      .map(({ value }) => value);
  const refused = await stripe.deliver(events, `http://127.0.0.1:${endpoint.port}/`, {
    arrange: shuffle,
    copies: 3,
    concurrency: 4,
    tries: 50,
  });
  await endpoint.stop(true);
  expect({ seed, refused }).toEqual({ seed, refused: [] });
  expect([...seen.values()]).toEqual(events.map(() => 3));
});
