// A Stripe for tests: its API, hosted pages and webhooks, as its documentation describes them. It answers in process
// (`send`), and on loopback (`listen`). The tests act as holders, banks and operators through its methods.

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseWholeNumber } from '../../src/base/checked-number.ts';
import type { PaymentProvider } from '../../src/payments/provider.ts';
import { providerOver } from '../../src/payments/stripe/stripe.ts';
import { type ApiAnswer, type ApiRequest, errorAnswer, StripeApi } from './scripted-stripe/answer.ts';
import { expireSession, payCheckout } from './scripted-stripe/checkout.ts';
import {
  addDispute,
  addMethod,
  addRefund,
  type Card,
  closeDispute,
  endRefund,
  escalateDispute,
  failLate,
  settleFees,
} from './scripted-stripe/collect.ts';
import { directClient } from './scripted-stripe/direct-client.ts';
import { addCreditNote, payHostedInvoice, settleBankDebit, voidCreditNote } from './scripted-stripe/invoices.ts';
import { answerPage } from './scripted-stripe/pages.ts';
import { ApiError, type Customer, need, type Price, type StripeEvent, StripeState } from './scripted-stripe/state.ts';
import { advance, applyPayment } from './scripted-stripe/subscriptions.ts';
import {
  type DeliveryOptions,
  deliverEvents,
  signBody,
  signEvent,
  type WebhookRequest,
} from './scripted-stripe/webhooks.ts';

export { type Card, cards } from './scripted-stripe/collect.ts';
export { ApiError, type StripeEvent, StripeState } from './scripted-stripe/state.ts';
export type { WebhookRequest } from './scripted-stripe/webhooks.ts';

/**
 * Faults of one request: `unavailable` (503), `rate` (429) and `dropped` (no answer) before anything happens; `lost`
 * (no answer) and `broken` (500, repeated for the key) after it was carried out.
 */
export type StripeFault = 'unavailable' | 'rate' | 'dropped' | 'lost' | 'broken';

export interface ScriptedStripeOptions {
  secretKey?: string;
  webhookSecret?: string;
  nowMs?: () => number;
}

export class ScriptedStripe {
  readonly state: StripeState;
  readonly api: StripeApi;
  readonly secretKey: string;
  readonly webhookSecret: string;
  /** Asked for every request: the fault that it meets, if any. */
  faultOf: (method: string, path: string) => StripeFault | null = () => null;
  /** Awaited while a request is in progress. */
  hold: (method: string, path: string) => Promise<void> = async () => {};
  #delivered = 0;

  constructor({ secretKey, webhookSecret, nowMs }: ScriptedStripeOptions = {}) {
    this.secretKey = secretKey ?? 'sk_test_scripted0000000000';
    this.webhookSecret = webhookSecret ?? 'whsec_scripted000000000000';
    this.state = new StripeState(this.secretKey.includes('_live_'), nowMs ?? Date.now);
    this.api = new StripeApi(this.state, this.secretKey);
  }

  /** As `fetch`, without a connection. */
  readonly send = async (url: string, init: RequestInit = {}): Promise<Response> => {
    const { pathname, search } = new URL(url);
    const method = init.method ?? 'GET';
    const form = method === 'POST' ? String(init.body ?? '') : search.slice(1);
    const answer = await this.#answer({ method, path: pathname, form, headers: new Headers(init.headers) });
    if (answer === null) throw new Error('The connection was closed.');
    return new Response(answer.body, { status: answer.status, headers: answer.headers });
  };

  /** The adapter without the official package, whose requests and answers take most of the time: for very many calls. */
  directProvider(): PaymentProvider {
    const client = directClient(this.api, (method, path) => this.faultOf(method, path));
    const nowMs = () => this.state.now() * 1000;
    return providerOver(client, this.state.isLive, nowMs, async (body, signature) => {
      const text = new TextDecoder().decode(body);
      const timestamp = parseWholeNumber(/^t=(\d+),/.exec(signature)?.[1] ?? '');
      if (timestamp === null || signBody(text, { secret: this.webhookSecret, timestamp }) !== signature)
        throw new Error('the signature is wrong');
      return JSON.parse(text);
    });
  }

  /** Null: the client gets no answer. */
  async #answer(request: ApiRequest): Promise<ApiAnswer | null> {
    const { method, path } = request;
    const hold = () => this.hold(method, path);
    switch (this.faultOf(method, path)) {
      case 'unavailable':
        return errorAnswer('req_unavailable', new ApiError(503, { type: 'api_error', message: 'Unavailable' }));
      case 'rate':
        return errorAnswer('req_rate', new ApiError(429, { type: 'rate_limit_error', message: 'Too many requests' }));
      case 'dropped':
        return null;
      case 'lost':
        await this.api.answer(request, hold);
        return null;
      case 'broken':
        return this.api.breakAnswer(request);
      case null:
        return this.api.answer(request, hold);
    }
  }

  /** Serves the API and the pages on loopback. */
  async listen(port = 0): Promise<{ url: string; stop: () => Promise<void> }> {
    const server = createServer((request, response) => {
      this.#serve(request)
        .then(async (answer) => {
          if (answer === null) request.socket.destroy();
          else
            response
              .writeHead(answer.status, Object.fromEntries(answer.headers))
              .end(Buffer.from(await answer.arrayBuffer()));
        })
        .catch((error: unknown) => response.writeHead(500).end(String(error)));
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    this.state.origin = url;
    const stop = () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    };
    return { url, stop };
  }

  /** Null closes the connection without an answer. */
  async #serve(message: IncomingMessage): Promise<Response | null> {
    const url = new URL(message.url ?? '/', this.state.origin);
    const method = message.method ?? 'GET';
    const headers = new Headers(message.headers as Record<string, string>);
    const body = Buffer.concat(await Array.fromAsync(message as AsyncIterable<Buffer>));
    if (!url.pathname.startsWith('/v1/')) {
      const request = new Request(url, { method, headers, ...(method === 'POST' ? { body } : {}) });
      return (await answerPage(this.state, request)) ?? new Response('not found', { status: 404 });
    }
    const form = method === 'POST' ? body.toString() : url.search.slice(1);
    const answer = await this.#answer({ method, path: url.pathname, form, headers });
    return answer === null ? null : new Response(answer.body, { status: answer.status, headers: answer.headers });
  }

  // Holders

  payCheckout(session: string, card: Card = 'good', isConfirmed = true) {
    return payCheckout(this.state, session, card, isConfirmed);
  }
  expireCheckout(session: string) {
    return expireSession(this.state, session);
  }
  payHostedInvoice(invoice: string, card: Card = 'good') {
    const paid = payHostedInvoice(this.state, invoice, card);
    applyPayment(this.state, paid);
    return paid;
  }
  /** Saves a method, as the portal does. */
  saveMethod(customer: string, card: Card, isDefault = true) {
    const method = addMethod(this.state, card, customer);
    if (isDefault) {
      const found = need(this.state.customers, customer);
      found.invoice_settings.default_payment_method = method.id;
      this.state.emit('customer.updated', found);
    }
    return method;
  }
  setAddress(customer: string, country: string): Customer {
    const found = need(this.state.customers, customer);
    found.address = { country };
    return found;
  }

  // Banks

  settleBankDebit(intent: string, isPaid: boolean) {
    settleBankDebit(this.state, intent, isPaid);
  }
  /** Returns a payment that had succeeded. */
  failLate(intent: string) {
    failLate(this.state, intent);
  }
  openDispute(intent: string, options: { amount?: number; isInquiry?: boolean } = {}) {
    return addDispute(this.state, intent, options);
  }
  escalateDispute(dispute: string) {
    escalateDispute(this.state, dispute);
  }
  closeDispute(dispute: string, result: 'won' | 'lost') {
    closeDispute(this.state, dispute, result);
  }

  // The operator, in Stripe's dashboard

  addPrice(unit_amount: number, interval: 'day' | 'week' | 'month' | 'year' = 'month', currency = 'usd'): Price {
    const common = this.state.common('price', 'price');
    const recurring = { interval, interval_count: 1, usage_type: 'licensed' as const };
    const price = { ...common, active: true, currency, unit_amount, product: this.state.newId('prod'), recurring };
    this.state.prices.set(price.id, price);
    return price;
  }
  refund(intent: string, amount: number | null = null, status: 'succeeded' | 'pending' = 'succeeded') {
    return addRefund(this.state, intent, amount, status);
  }
  endRefund(refund: string, status: 'succeeded' | 'failed' | 'canceled') {
    return endRefund(this.state, refund, status);
  }
  addCreditNote(invoice: string, amount: number, by: 'refund' | 'balance') {
    return addCreditNote(this.state, invoice, amount, by);
  }
  voidCreditNote(note: string) {
    return voidCreditNote(this.state, note);
  }
  settleFees() {
    settleFees(this.state);
  }

  // Time

  advance(ms: number) {
    advance(this.state, ms);
  }

  // Webhooks

  get events(): readonly StripeEvent[] {
    return this.state.events;
  }
  /** The events since the last call. */
  takeEvents(): StripeEvent[] {
    const taken = this.state.events.slice(this.#delivered);
    this.#delivered = this.state.events.length;
    return taken;
  }
  sign(event: StripeEvent, { secret = this.webhookSecret, timestamp = this.state.now() } = {}): WebhookRequest {
    return signEvent(event, { secret, timestamp });
  }
  signBody(body: string, { secret = this.webhookSecret, timestamp = this.state.now() } = {}): WebhookRequest {
    return { body, headers: { 'stripe-signature': signBody(body, { secret, timestamp }) } };
  }
  /** Delivers events to `send`, or to a URL. Returns those that were not accepted. */
  deliver(
    events: readonly StripeEvent[],
    target: string | DeliveryOptions['send'],
    options: Omit<DeliveryOptions, 'send' | 'sign'> = {},
  ): Promise<StripeEvent[]> {
    const send = typeof target === 'string' ? postTo(target) : target;
    return deliverEvents(events, { ...options, send, sign: (event) => this.sign(event) });
  }
}

function postTo(url: string): DeliveryOptions['send'] {
  return async ({ body, headers }) => {
    const answer = await fetch(url, { method: 'POST', body, headers });
    await answer.arrayBuffer();
    return answer.status;
  };
}
