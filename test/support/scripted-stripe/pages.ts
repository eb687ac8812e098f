// The pages of the scripted Stripe that people see: Checkout, an invoice, the customer portal. Plain forms.

import { payCheckout } from './checkout.ts';
import { addMethod, type Card, cards } from './collect.ts';
import { payHostedInvoice } from './invoices.ts';
import { ApiError, need, type StripeState } from './state.ts';
import { applyPayment } from './subscriptions.ts';

/** Answers a GET of a page, or a POST of its form; null for other paths. */
export async function answerPage(state: StripeState, request: Request): Promise<Response | null> {
  const [, kind, id = ''] = new URL(request.url).pathname.split('/');
  if (kind === undefined || !(kind in pages)) return null;
  try {
    const form = request.method === 'POST' ? await request.formData() : null;
    return pages[kind as keyof typeof pages](state, id, form);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const declined = error.status === 402;
    const form = declined ? payForm('Try another card') : '';
    return html(declined ? 200 : error.status, 'Payment', `<p role="alert">${escapeHtml(error.message)}</p>${form}`);
  }
}

const pages = {
  checkout(state: StripeState, id: string, form: FormData | null): Response {
    const session = need(state.sessions, id);
    const { amount_total: total, total_details: details, cancel_url: cancelUrl, hidden } = session;
    if (form !== null) {
      payCheckout(state, id, cardOf(form));
      return Response.redirect(session.success_url.replace('{CHECKOUT_SESSION_ID}', id), 303);
    }
    if (session.status !== 'open') return html(410, 'Checkout', `<p>This session is ${session.status}.</p>`);
    const tax = details.amount_tax === 0 ? '' : `<p>Tax ${usd(details.amount_tax)}</p>`;
    const back = cancelUrl === null ? '' : `<a href="${escapeHtml(cancelUrl)}">Cancel</a>`;
    const what = `<p>${escapeHtml(hidden.description || 'Subscription')}</p>${tax}<p>Total ${usd(total)}</p>`;
    return html(200, 'Checkout', what + payForm(`Pay ${usd(total)}`) + back);
  },

  invoices(state: StripeState, id: string, form: FormData | null): Response {
    const invoice = need(state.invoices, id);
    if (form !== null) applyPayment(state, payHostedInvoice(state, id, cardOf(form)));
    const pay = invoice.status === 'open' ? payForm(`Pay ${usd(invoice.amount_due)}`) : '';
    return html(200, 'Invoice', `<p>${usd(invoice.total)}: ${invoice.status}</p>${pay}`);
  },

  receipts(_state: StripeState, id: string): Response {
    return html(200, 'Receipt', `<p>${escapeHtml(id)}</p>`);
  },

  portal(state: StripeState, id: string, form: FormData | null): Response {
    const customer = need(state.customers, id);
    if (form !== null) {
      customer.invoice_settings.default_payment_method = addMethod(state, cardOf(form), id).id;
      state.emit('customer.updated', customer);
    }
    const methods = [...state.methods.values()].filter((method) => method.customer === id);
    const rows = methods.map((method) => {
      const last4 = method.card?.last4 ?? method.us_bank_account?.last4;
      const usual = method.id === customer.invoice_settings.default_payment_method ? ' (default)' : '';
      return `<li>${last4}${usual}</li>`;
    });
    return html(200, 'Customer portal', `<ul>${rows.join('')}</ul>${payForm('Add payment method')}`);
  },
};

function payForm(label: string): string {
  const options = Object.entries(cards).map(([name, number]) => `<option value="${name}">${number} ${name}</option>`);
  return `<form method="post"><label>Card <select name="card">${options.join('')}</select></label> <button>${label}</button></form>`;
}

function cardOf(form: FormData): Card {
  const card = String(form.get('card') ?? 'good');
  return card in cards ? (card as Card) : 'good';
}

function usd(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}

function html(status: number, title: string, body: string): Response {
  const page = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${title}</title></head><body><main><h1>${title}</h1>${body}</main></body></html>`;
  return new Response(page, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
