// Recharges without the holder: one invoice each, paid at most once, whatever fails and however often it is repeated.

import { describe, expect, test } from 'bun:test';
import { addIntent } from '../../support/scripted-stripe/collect.ts';
import { addLine, linkPayment } from '../../support/scripted-stripe/invoices.ts';
import type { StripeFault } from '../../support/scripted-stripe.ts';
import { openScripted, readState } from './open-scripted.ts';

test('a saved card is charged, with taxes where the address is known', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const method = stripe.saveMethod(customer, 'good');
  stripe.setAddress(customer, 'US');
  const state = await provider.startRecharge(recharge(method.id, { isTaxAutomatic: true }));
  expect(state).toMatchObject({
    kind: 'recharge',
    status: 'paid',
    creditCents: 2_000,
    taxCents: 200,
    totalCents: 2_200,
    feeCents: 94,
    customer,
    metadata: { payment: 'pay_1', account: 'acct_one' },
  });
  expect(await readState(provider, state.source)).toEqual(state);
});

test('a declined recharge fails with the reason, and its invoice can never be paid', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const method = stripe.saveMethod(customer, 'declinedLater');
  const state = await provider.startRecharge(recharge(method.id));
  expect(state).toMatchObject({ status: 'failed', failure: { code: 'insufficient_funds' }, actionUrl: null });
  expect(() => stripe.payHostedInvoice(state.source)).toThrow('void');
  expect(await readState(provider, state.source)).toMatchObject({ status: 'failed' });
});

test('a recharge that the bank wants confirmed fails, and the holder can pay it at the link', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const method = stripe.saveMethod(customer, 'authenticate');
  const state = await provider.startRecharge(recharge(method.id));
  expect(state).toMatchObject({ status: 'failed', failure: { code: 'authentication_required' } });
  expect(state.actionUrl).toContain(state.source);
  stripe.payHostedInvoice(state.source);
  expect(await readState(provider, state.source)).toMatchObject({ status: 'paid', actionUrl: null, failure: null });
  const other = await provider.startRecharge(recharge(method.id));
  expect(await provider.cancelPayment(other.source)).toMatchObject({ actionUrl: null });
  expect(() => stripe.payHostedInvoice(other.source)).toThrow('void');
});

test.each([true, false])('a recharge by bank debit is pending until it is settled: %p', async (isPaid) => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'bank').id);
  const state = await provider.startRecharge(wanted);
  expect(state).toMatchObject({ status: 'pending', failure: null });
  expect(await provider.startRecharge(wanted)).toEqual(state);
  stripe.settleBankDebit(state.paymentIntent ?? '', isPaid);
  expect(await readState(provider, state.source)).toMatchObject({ status: isPaid ? 'paid' : 'failed' });
});

test('without an address for taxes nothing is charged, and the failure says what to do', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'good').id, { isTaxAutomatic: true });
  const state = await provider.startRecharge(wanted);
  expect(state).toMatchObject({ status: 'failed', failure: { code: 'customer_tax_location_invalid' } });
  expect(state.failure?.message).toContain('billing address');
  expect(stripe.state.invoices.size).toBe(0);
  expect(await provider.startRecharge(wanted)).toMatchObject({ status: 'failed' });
  expect(stripe.state.charges.size).toBe(0);
});

test('a repeated recharge is not charged again, also days later', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'good').id);
  const first = await provider.startRecharge(wanted);
  expect(await provider.startRecharge(wanted)).toEqual(first);
  stripe.advance(3 * 24 * 3600 * 1000);
  expect(await provider.startRecharge(wanted)).toEqual(first);
  expect(stripe.state.charges.size).toBe(1);
});

test('a recharge with parameters that changed meanwhile continues the first', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'good').id);
  const first = await provider.startRecharge(wanted);
  expect(await provider.startRecharge({ ...wanted, isTaxAutomatic: true })).toEqual(first);
  expect(stripe.state.invoices.size).toBe(1);
});

test('two nodes at once charge once', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'good').id);
  const results = await Promise.allSettled([provider.startRecharge(wanted), provider.startRecharge(wanted)]);
  expect(results.some(({ status }) => status === 'fulfilled')).toBe(true);
  expect(await provider.startRecharge(wanted)).toMatchObject({ status: 'paid', totalCents: 2_000 });
  expect(stripe.state.charges.size).toBe(1);
});

test('an invoice that another payment paid counts as that one', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const { source, paymentIntent } = await provider.startRecharge(recharge(stripe.saveMethod(customer, 'good').id));
  const invoice = stripe.state.invoices.get(source);
  const [paid] = stripe.state.invoicePayments.values();
  if (invoice === undefined || paid === undefined) throw new Error('no invoice');
  const unused = addIntent(stripe.state, { amount: 2_000, currency: 'usd', customer, metadata: {} });
  linkPayment(stripe.state, invoice, unused);
  paid.is_default = false;
  expect(await readState(provider, source)).toMatchObject({ status: 'paid', paymentIntent, feeCents: 88 });
});

test('an invoice with another amount is not charged', async () => {
  const { stripe, provider, customer, recharge } = await openScripted();
  const wanted = recharge(stripe.saveMethod(customer, 'good').id);
  stripe.faultOf = (_method, path) => {
    const [draft] = stripe.state.invoices.values();
    if (draft !== undefined && path.endsWith('/finalize')) addLine(stripe.state, draft, 100, 'a second line');
    return null;
  };
  const state = await provider.startRecharge(wanted);
  expect(state).toMatchObject({ status: 'failed', failure: { code: 'amount_mismatch' }, actionUrl: null });
  expect(stripe.state.charges.size).toBe(0);
  expect(() => stripe.payHostedInvoice(state.source)).toThrow('void');
});

describe('a fault at any request', () => {
  const faults: StripeFault[] = ['unavailable', 'rate', 'dropped', 'lost', 'broken'];

  test.each(faults)('%s: the repeated recharge is charged exactly once', async (fault) => {
    for (let at = 0; at < 12; at++) {
      const { stripe, provider, customer, recharge } = await openScripted();
      const wanted = recharge(stripe.saveMethod(customer, 'good').id);
      let requests = 0;
      stripe.faultOf = () => (requests++ >= at && requests <= at + 3 ? fault : null);
      await provider.startRecharge(wanted).catch((error) => expect(error).toMatchObject({ fault: 'unavailable' }));
      stripe.faultOf = () => null;
      // A creation that Stripe answered with an internal error is answered so for a day.
      stripe.advance(25 * 3600 * 1000);
      const state = await provider.startRecharge(wanted);
      expect(state).toMatchObject({ status: 'paid', totalCents: 2_000 });
      expect([...stripe.state.charges.values()].filter(({ paid }) => paid)).toHaveLength(1);
    }
  });
});
