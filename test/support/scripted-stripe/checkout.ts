// Checkout sessions of the scripted Stripe, and what the holder does on their pages.

import { addIntent, addMethod, attachMethod, attempt, type Card, declined } from './collect.ts';
import { addInvoice, addLine, linkPayment, markPaid } from './invoices.ts';
import { ApiError, invalid, need, type Session, type StripeState } from './state.ts';
import { addSubscription } from './subscriptions.ts';

const SESSION_SECONDS = 24 * 3600;

export type NewSession = Pick<
  Session,
  'mode' | 'customer' | 'customer_update' | 'success_url' | 'cancel_url' | 'metadata' | 'hidden'
> & { amount: number; currency: string; isTaxAutomatic: boolean };

export function addSession(state: StripeState, wanted: NewSession): Session {
  const { amount, currency, isTaxAutomatic, ...rest } = wanted;
  const customer = need(state.customers, wanted.customer);
  if (isTaxAutomatic && customer.address === null && wanted.customer_update.address !== 'auto')
    throw invalid('Automatic tax calculation in Checkout requires a valid address on the Customer.');
  const common = state.common(`cs_${state.isLive ? 'live' : 'test'}`, 'checkout.session');
  const tax = isTaxAutomatic ? Math.round((amount * state.taxPercent) / 100) : 0;
  const session: Session = {
    ...common,
    ...rest,
    status: 'open',
    payment_status: 'unpaid',
    currency,
    amount_subtotal: amount,
    amount_total: amount + tax,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: tax },
    automatic_tax: { enabled: isTaxAutomatic },
    payment_intent: null,
    subscription: null,
    invoice: null,
    url: `${state.origin}/checkout/${common.id}`,
    expires_at: common.created + SESSION_SECONDS,
  };
  state.sessions.set(session.id, session);
  return session;
}

/** The holder submits the page. Throws what the page shows when the payment is declined; then they may try again. */
export function payCheckout(state: StripeState, sessionId: string, card: Card = 'good', isConfirmed = true): Session {
  const session = need(state.sessions, sessionId);
  if (session.status !== 'open') throw invalid(`This session is ${session.status}.`);
  const customer = need(state.customers, session.customer);
  if (session.customer_update.address === 'auto') customer.address ??= { country: 'US' };
  if (session.mode === 'subscription') return subscribe(state, session, card);
  const { amount_total: amount, currency, hidden } = session;
  const intent =
    session.payment_intent === null
      ? addIntent(state, { amount, currency, customer: customer.id, metadata: { ...hidden.intentMetadata } })
      : need(state.intents, session.payment_intent);
  session.payment_intent = intent.id;
  const method = addMethod(state, card, null);
  const outcome = attempt(state, intent, method, { isOffSession: false, isConfirmed });
  if (outcome === 'decline') throw declined(intent);
  if (outcome === 'authenticate')
    throw new ApiError(402, { type: 'card_error', code: 'authentication_required', message: 'Confirm the payment.' });
  if (hidden.savesMethod) attachMethod(state, method, customer.id);
  session.status = 'complete';
  session.payment_status = outcome === 'succeed' ? 'paid' : 'unpaid';
  session.url = null;
  addReceipt(state, session, outcome === 'succeed');
  state.emit('checkout.session.completed', session);
  return session;
}

/** The invoice that Checkout makes after the payment. */
function addReceipt(state: StripeState, session: Session, isPaid: boolean): void {
  const { hidden, customer, currency, amount_subtotal: amount, payment_intent: intentId } = session;
  if (hidden.invoiceMetadata === null) return;
  const invoice = addInvoice(state, {
    customer,
    currency,
    billing_reason: 'manual',
    parent: null,
    metadata: { ...hidden.invoiceMetadata },
    isTaxAutomatic: session.automatic_tax.enabled,
  });
  addLine(state, invoice, amount, hidden.description);
  invoice.status = 'open';
  invoice.hosted_invoice_url = `${state.origin}/invoices/${invoice.id}`;
  const payment = linkPayment(state, invoice, need(state.intents, intentId));
  session.invoice = invoice.id;
  if (isPaid) markPaid(state, invoice, payment);
}

function subscribe(state: StripeState, session: Session, card: Card): Session {
  const { customer, hidden } = session;
  const method = addMethod(state, card, null);
  const subscription = addSubscription(state, {
    customer,
    price: need(state.prices, hidden.price),
    method,
    isTaxAutomatic: session.automatic_tax.enabled,
    metadata: { ...hidden.subscriptionMetadata },
  });
  session.subscription = subscription.id;
  session.invoice = subscription.latest_invoice;
  session.status = 'complete';
  session.payment_status = 'paid';
  session.url = null;
  state.emit('checkout.session.completed', session);
  return session;
}

export function expireSession(state: StripeState, sessionId: string): Session {
  const session = need(state.sessions, sessionId);
  if (session.status !== 'open')
    throw invalid(`Only Checkout Sessions with a status in ["open"] can be expired. This one is ${session.status}.`);
  session.status = 'expired';
  session.url = null;
  state.emit('checkout.session.expired', session);
  return session;
}
