// The adapter over real connections: what Stripe's answers, failures and silence become, without the key.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { openStripe, type StripeSurroundings } from '../../../src/payments/stripe/stripe.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import { ScriptedStripe, type StripeFault } from '../../support/scripted-stripe.ts';

const customer = { account: 'acct_one', name: 'One', email: null };

let stripe: ScriptedStripe;
let server: Awaited<ReturnType<ScriptedStripe['listen']>>;
beforeEach(async () => {
  stripe = new ScriptedStripe();
  server = await stripe.listen();
});
afterEach(() => server.stop());

const open = (apiUrl = server.url, surroundings: StripeSurroundings = {}, key = stripe.secretKey) =>
  openStripe({ secretKey: new Secret(key), webhookSecret: new Secret(stripe.webhookSecret), apiUrl }, surroundings);

/** A server that answers every request alike. */
async function against(
  answer: () => Response | Promise<Response>,
  surroundings: StripeSurroundings = { retriesMax: 0 },
) {
  const other = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer });
  try {
    const provider = await open(`http://127.0.0.1:${other.port}`, surroundings);
    return await provider.createCustomer(customer).catch((error: unknown) => error);
  } finally {
    await other.stop(true);
  }
}

test('a holder pays on the page of the session', async () => {
  const provider = await open();
  const { source, url } = await provider.startCheckout({
    payment: 'pay_1',
    account: 'acct_one',
    customer: await provider.createCustomer(customer),
    amountCents: 2_000,
    description: 'Credit',
    successUrl: `${server.url}/receipts/{CHECKOUT_SESSION_ID}`,
    cancelUrl: `${server.url}/receipts/back`,
    isTaxAutomatic: true,
    savesMethod: true,
  });
  const page = await (await fetch(url)).text();
  expect(page).toContain('Pay $22.00');
  const pay = (card: string) => fetch(url, { method: 'POST', body: new URLSearchParams({ card }), redirect: 'manual' });
  expect(await (await pay('declined')).text()).toContain('insufficient funds');
  const answer = await pay('good');
  expect(answer.headers.get('location')).toBe(`${server.url}/receipts/${source}`);
  expect(await provider.readPayment(source)).toMatchObject({ status: 'paid', creditCents: 2_000, totalCents: 2_200 });
});

test.each(['unavailable', 'rate', 'dropped', 'lost', 'broken'] satisfies StripeFault[])(
  'one answer that is %s is retried, and creates nothing twice',
  async (fault) => {
    const provider = await open();
    let requests = 0;
    stripe.faultOf = () => (requests++ === 0 ? fault : null);
    const created = await provider.createCustomer(customer).catch((error: unknown) => error);
    // Stripe repeats an internal error for the key.
    if (fault === 'broken') expect(created).toMatchObject({ fault: 'unavailable', status: 503, retry: true });
    else if (fault === 'rate') expect(created).toMatchObject({ fault: 'unavailable' });
    else expect(created).toStartWith('cus_');
    expect(stripe.state.customers.size).toBeLessThanOrEqual(1);
  },
);

test('a wrong key is the operator’s fault, and no message has it', async () => {
  const key = 'sk_test_wrongwrongwrong';
  const provider = await open(server.url, {}, key);
  const failure = (await provider.createCustomer(customer).catch((error: unknown) => error)) as Error;
  expect(failure).toMatchObject({ fault: 'misconfigured', code: 'payment_provider_failed', status: 502, retry: false });
  expect(failure.message).toContain('contact the operator');
  for (const text of [failure.message, String(failure.cause), Bun.inspect(failure), JSON.stringify(provider)])
    expect(text).not.toContain(key);
});

describe('an answer that cannot be used', () => {
  const json =
    (body: unknown, status = 200) =>
    () =>
      Response.json(body, { status });

  test('has the call and the field in its cause', async () => {
    expect(await against(json({ object: 'customer' }))).toMatchObject({
      fault: 'unexpected',
      cause: expect.stringContaining('create a customer'),
    });
    expect(await against(json({ id: '', object: 'customer' }))).toMatchObject({ fault: 'unexpected' });
  });

  test('is no JSON, too long, or a redirect', async () => {
    expect(await against(() => new Response('<html>'))).toMatchObject({ fault: 'unavailable' });
    const endless = new Uint8Array(17 * 1024 * 1024);
    expect(await against(() => new Response(endless))).toMatchObject({ fault: 'unavailable' });
    let followed = 0;
    const target = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => Response.json({ id: `cus_${++followed}` }),
    });
    const redirect = () => Response.redirect(`http://127.0.0.1:${target.port}/`, 307);
    expect(await against(redirect)).toMatchObject({ fault: 'unavailable' });
    expect(followed).toBe(0);
    await target.stop(true);
  });

  test('names the key', async () => {
    const message = `Invalid API Key provided: ${stripe.secretKey}, or rk_live_abcdef or whsec_abc`;
    const failure = (await against(json({ error: { type: 'invalid_request_error', message } }, 400))) as Error;
    expect(failure).toMatchObject({ fault: 'refused' });
    expect(String(failure.cause)).toContain('[secret], or [secret] or [secret]');
  });

  test('comes too late', async () => {
    const silent = () => new Promise<Response>(() => {});
    const startedMs = performance.now();
    expect(await against(silent, { retriesMax: 0, waitMsMax: 200 })).toMatchObject({ fault: 'unavailable' });
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  test('has amounts that are no whole cents', async () => {
    const provider = await open();
    const { source } = await provider.startCheckout({
      payment: 'pay_1',
      account: 'acct_one',
      customer: await provider.createCustomer(customer),
      amountCents: 2_000,
      description: 'Credit',
      successUrl: 'https://a.example/',
      cancelUrl: 'https://a.example/',
      isTaxAutomatic: false,
      savesMethod: false,
    });
    stripe.payCheckout(source);
    const session = stripe.state.sessions.get(source);
    const charge = [...stripe.state.charges.values()][0];
    if (session === undefined || charge === undefined) throw new Error('no payment');
    const spoil = async (change: () => void, fault: string) => {
      const before = structuredClone({ session, charge });
      change();
      await expect(provider.readPayment(source)).rejects.toMatchObject({
        fault: 'unexpected',
        cause: expect.stringContaining(fault),
      });
      Object.assign(session, before.session);
      Object.assign(charge, before.charge);
    };
    for (const amount of [0.5, -1, 2 ** 53, '2000', null, 1e13] as number[])
      await spoil(
        () => {
          session.amount_total = amount;
        },
        amount === null ? 'no amount' : 'amount_total',
      );
    await spoil(() => {
      session.total_details.amount_tax = 2_001;
    }, 'taxes exceed');
    await spoil(() => {
      charge.currency = 'eur';
    }, 'two currencies');
    expect(await provider.readPayment(source)).toMatchObject({ status: 'paid' });
  });
});

test('more calls than may wait are refused at once', async () => {
  const release = Promise.withResolvers<void>();
  stripe.hold = () => release.promise;
  const provider = await open(server.url, { retriesMax: 0 });
  const calls = Array.from({ length: 600 }, (_, at) =>
    provider.createCustomer({ ...customer, account: `acct_${at}` }).then(
      () => 'created',
      (error: { fault?: string }) => error.fault,
    ),
  );
  const first = await Promise.race(calls);
  expect(first).toBe('unavailable');
  release.resolve();
  const results = await Promise.all(calls);
  expect(results.filter((result) => result === 'created')).toHaveLength(512);
});
