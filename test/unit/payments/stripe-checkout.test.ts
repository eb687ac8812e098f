// Payments by Checkout: their state is what Stripe says now, whatever happened to them.

import { describe, expect, test } from 'bun:test';
import { openScripted, readState } from './open-scripted.ts';

test('a paid session is credited without its taxes, with fee and receipt', async () => {
  const { stripe, provider, customer, checkout } = await openScripted();
  const { source, url } = await checkout({ isTaxAutomatic: true });
  expect(url).toContain(source);
  expect(await readState(provider, source)).toMatchObject({ status: 'pending', actionUrl: url, paymentIntent: null });
  stripe.payCheckout(source);
  const state = await readState(provider, source);
  expect(state).toMatchObject({
    source,
    kind: 'checkout',
    status: 'paid',
    currency: 'usd',
    creditCents: 2_000,
    taxCents: 200,
    totalCents: 2_200,
    refundedCents: 0,
    disputedCents: 0,
    feeCents: 94,
    customer,
    subscription: null,
    metadata: { payment: 'pay_1', account: 'acct_one' },
    failure: null,
    actionUrl: null,
  });
  expect(state.receiptUrl).toMatch(/^https:/);
  expect(state.paymentIntent).toMatch(/^pi_/);
});

test('a declined card leaves the session open for another one', async () => {
  const { stripe, provider, checkout } = await openScripted();
  const { source } = await checkout();
  expect(() => stripe.payCheckout(source, 'declined')).toThrow('insufficient funds');
  expect(await readState(provider, source)).toMatchObject({ status: 'pending', failure: null });
  stripe.payCheckout(source, 'good');
  expect(await readState(provider, source)).toMatchObject({ status: 'paid', creditCents: 2_000 });
});

test('a card that wants the holder to confirm is pending until they do', async () => {
  const { stripe, provider, checkout } = await openScripted();
  const { source } = await checkout();
  expect(() => stripe.payCheckout(source, 'authenticate', false)).toThrow('Confirm');
  expect(await readState(provider, source)).toMatchObject({ status: 'pending' });
  stripe.payCheckout(source, 'authenticate', true);
  expect(await readState(provider, source)).toMatchObject({ status: 'paid' });
});

test.each([
  [true, 'paid'],
  [false, 'failed'],
] as const)('a bank debit is pending for days, then settled: %p', async (isPaid, status) => {
  const { stripe, provider, checkout } = await openScripted();
  const { source } = await checkout();
  stripe.payCheckout(source, 'bank');
  const pending = await readState(provider, source);
  expect(pending).toMatchObject({ status: 'pending', actionUrl: null });
  stripe.settleBankDebit(pending.paymentIntent ?? '', isPaid);
  const state = await readState(provider, source);
  expect(state.status).toBe(status);
  expect(state.failure?.code ?? null).toBe(isPaid ? null : 'insufficient_funds');
});

test('an expired or canceled session can no longer be paid', async () => {
  const { stripe, provider, checkout } = await openScripted();
  const [one, two] = [await checkout(), await checkout()];
  stripe.advance(25 * 3600 * 1000);
  expect(await readState(provider, one.source)).toMatchObject({ status: 'canceled' });
  expect(await provider.cancelPayment(two.source)).toMatchObject({ status: 'canceled' });
  const three = await checkout();
  expect(await provider.cancelPayment(three.source)).toMatchObject({ status: 'canceled', actionUrl: null });
  expect(() => stripe.payCheckout(three.source)).toThrow('expired');
  const four = await checkout();
  stripe.payCheckout(four.source);
  expect(await provider.cancelPayment(four.source)).toMatchObject({ status: 'paid' });
});

test('a receipt with a link that no page may show is paid all the same', async () => {
  const { stripe, provider, checkout } = await openScripted();
  const { source } = await checkout();
  stripe.payCheckout(source);
  for (const invoice of stripe.state.invoices.values()) invoice.hosted_invoice_url = 'javascript:alert(1)';
  for (const charge of stripe.state.charges.values()) charge.receipt_url = 'http://elsewhere.example/receipt';
  expect(await readState(provider, source)).toMatchObject({ status: 'paid', receiptUrl: null });
});

describe('what takes money back', () => {
  const paid = async () => {
    const opened = await openScripted();
    const { source } = await opened.checkout();
    opened.stripe.payCheckout(source);
    const { paymentIntent } = await readState(opened.provider, source);
    return { ...opened, source, intent: paymentIntent ?? '' };
  };

  test('refunds count from their beginning, unless they fail', async () => {
    const { stripe, provider, source, intent } = await paid();
    stripe.refund(intent, 500);
    const pending = stripe.refund(intent, 300, 'pending');
    expect(await readState(provider, source)).toMatchObject({ status: 'paid', refundedCents: 800 });
    stripe.endRefund(pending.id, 'failed');
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 500 });
    stripe.refund(intent);
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 2_000, totalCents: 2_000 });
  });

  test('more refunds than Stripe returns with the charge are all counted', async () => {
    const { stripe, provider, source, intent } = await paid();
    for (let count = 0; count < 25; count++) stripe.refund(intent, 10);
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 250 });
  });

  test('disputes count while they are open or lost', async () => {
    const { stripe, provider, source, intent } = await paid();
    const dispute = stripe.openDispute(intent);
    expect(await readState(provider, source)).toMatchObject({ disputedCents: 2_000, feeCents: 88 + 1500 });
    stripe.closeDispute(dispute.id, 'won');
    expect(await readState(provider, source)).toMatchObject({ disputedCents: 0 });
    const second = stripe.openDispute(intent, { amount: 700 });
    stripe.closeDispute(second.id, 'lost');
    expect(await readState(provider, source)).toMatchObject({ disputedCents: 700 });
  });

  test('inquiries do not count until they become disputes', async () => {
    const { stripe, provider, source, intent } = await paid();
    const inquiry = stripe.openDispute(intent, { isInquiry: true });
    expect(await readState(provider, source)).toMatchObject({ disputedCents: 0 });
    stripe.escalateDispute(inquiry.id);
    expect(await readState(provider, source)).toMatchObject({ disputedCents: 2_000 });
  });

  test('credit notes on the receipt count, and once if they are refunds', async () => {
    const { stripe, provider, source } = await paid();
    const receipt = stripe.state.sessions.get(source)?.invoice ?? '';
    stripe.addCreditNote(receipt, 400, 'balance');
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 400 });
    stripe.addCreditNote(receipt, 600, 'refund');
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 1_000 });
  });

  test('a voided credit note no longer counts, beside one that stays', async () => {
    const { stripe, provider, source } = await paid();
    const receipt = stripe.state.sessions.get(source)?.invoice ?? '';
    const note = stripe.addCreditNote(receipt, 400, 'balance');
    stripe.addCreditNote(receipt, 100, 'balance');
    stripe.voidCreditNote(note.id);
    expect(await readState(provider, source)).toMatchObject({ refundedCents: 100 });
  });

  test('a payment that the bank returns after it had succeeded has failed', async () => {
    const { stripe, provider, source, intent, customer, recharge } = await paid();
    stripe.failLate(intent);
    expect(await readState(provider, source)).toMatchObject({
      status: 'failed',
      failure: { code: 'insufficient_funds' },
    });
    const recharged = await provider.startRecharge(recharge(stripe.saveMethod(customer, 'good').id));
    stripe.failLate(recharged.paymentIntent ?? '');
    expect(await readState(provider, recharged.source)).toMatchObject({ status: 'failed' });
  });

  test('a fee that Stripe does not know yet is null', async () => {
    const { stripe, provider, checkout } = await openScripted();
    stripe.state.hasFeesAtOnce = false;
    const { source } = await checkout();
    stripe.payCheckout(source);
    expect(await readState(provider, source)).toMatchObject({ status: 'paid', feeCents: null });
    stripe.settleFees();
    expect(await readState(provider, source)).toMatchObject({ feeCents: 88 });
  });
});

test('everything that belongs to a payment leads to it', async () => {
  const { stripe, provider, checkout } = await openScripted();
  const { source } = await checkout();
  stripe.payCheckout(source);
  const { paymentIntent } = await readState(provider, source);
  const charge = [...stripe.state.charges.keys()][0] ?? '';
  const receipt = stripe.state.sessions.get(source)?.invoice ?? '';
  for (const reference of [paymentIntent ?? '', charge, receipt])
    expect(await provider.findPayment(reference)).toBe(source);
  for (const reference of ['pi_unknown', 'ch_unknown', 'in_unknown', 'card_1'])
    expect(await provider.findPayment(reference)).toBeNull();
});

test('payments of another service at the same Stripe account are not found', async () => {
  const { stripe, provider, customer, checkout, recharge } = await openScripted();
  const { source } = await checkout();
  stripe.payCheckout(source);
  const session = stripe.state.sessions.get(source);
  const { source: invoiceId } = await provider.startRecharge(recharge(stripe.saveMethod(customer, 'good').id));
  const invoice = stripe.state.invoices.get(invoiceId);
  const references = [...stripe.state.intents.keys(), invoiceId];
  const found = await Promise.all(references.map((reference) => provider.findPayment(reference)));
  expect(found).toEqual([source, invoiceId, invoiceId]);
  if (session !== undefined) session.metadata = { turnpike_account: 'acct_one' };
  if (invoice !== undefined) invoice.metadata = {};
  for (const reference of references) expect(await provider.findPayment(reference)).toBeNull();
});

test('all payments are listed once, and those of others are not', async () => {
  const { stripe, provider, customer, checkout, recharge } = await openScripted();
  const sinceMs = stripe.state.now() * 1000;
  const sources: string[] = [];
  for (let count = 0; count < 105; count++) {
    const { source } = await checkout();
    if (count % 2 === 0) stripe.payCheckout(source);
    sources.push(source);
  }
  const method = stripe.saveMethod(customer, 'good');
  for (let count = 0; count < 5; count++) sources.push((await provider.startRecharge(recharge(method.id))).source);
  // Another service that uses the same Stripe account.
  const foreign = await provider.startCheckout({
    payment: 'pay_foreign',
    account: 'acct_foreign',
    customer,
    amountCents: 100,
    description: 'x',
    isTaxAutomatic: false,
    savesMethod: false,
    successUrl: 'https://a.example',
    cancelUrl: 'https://a.example',
  });
  const session = stripe.state.sessions.get(foreign.source);
  if (session !== undefined) session.metadata = {};
  const listed: string[] = [];
  const range = { sinceMs, untilMs: stripe.state.now() * 1000 + 1000 };
  for await (const state of provider.listPayments(range)) {
    listed.push(state.source);
    expect(state).toEqual(await readState(provider, state.source));
  }
  expect(listed.toSorted()).toEqual(sources.toSorted());
  const later = { sinceMs: range.untilMs + 5_000, untilMs: range.untilMs + 10_000 };
  expect(await Array.fromAsync(provider.listPayments(later))).toEqual([]);
});

test('a method is saved only when the holder wants it', async () => {
  const { stripe, provider, customer, checkout } = await openScripted();
  const one = await checkout();
  stripe.payCheckout(one.source);
  expect(await provider.readSavedMethod(customer)).toBeNull();
  const two = await checkout({ savesMethod: true });
  stripe.payCheckout(two.source);
  const saved = { kind: 'card', brand: 'visa', last4: '4242', expiresYear: 2035, expiresMonth: 12 };
  expect(await provider.readSavedMethod(customer)).toMatchObject(saved);
  stripe.saveMethod(customer, 'bank');
  expect(await provider.readSavedMethod(customer)).toMatchObject({ kind: 'us_bank_account', brand: 'Test Bank' });
  expect(await provider.readSavedMethod('cus_unknown')).toBeNull();
});

test('a customer is created once, and the portal opens for them', async () => {
  const { stripe, provider, customer } = await openScripted();
  const again = await provider.createCustomer({ account: 'acct_one', name: 'One', email: 'one@example.com' });
  expect(again).toBe(customer);
  expect(stripe.state.customers.size).toBe(1);
  expect(await provider.openPortal(customer, 'https://turnpike.example.com/')).toContain(customer);
  expect(await provider.createCustomer({ account: 'acct_one', name: 'Renamed', email: null })).not.toBe(customer);
});
