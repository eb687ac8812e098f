// The official package's client in small, straight over the state of a scripted Stripe: for tests with very many calls.
// It has the methods that the adapter calls, with the package's errors, and the same idempotency and faults.

import type { Stripe } from 'stripe';
import type { Form, FormValue, StripeApi } from './answer.ts';
import { ApiError } from './state.ts';

export type FaultOf = (method: string, path: string) => 'unavailable' | 'rate' | 'dropped' | 'lost' | 'broken' | null;

type Params = Record<string, unknown>;
interface Options {
  idempotencyKey?: string;
}

export function directClient(api: StripeApi, faultOf: FaultOf): Stripe {
  const run = async (method: string, path: string, params: Params = {}, options: Options = {}): Promise<object> => {
    const fault = faultOf(method, path);
    if (fault === 'dropped') throw libraryError('StripeConnectionError', undefined, { type: '', message: 'dropped' });
    if (fault === 'unavailable') throw libraryError('StripeAPIError', 503, { type: '', message: 'unavailable' });
    if (fault === 'rate') throw libraryError('StripeRateLimitError', 429, { type: '', message: 'rate' });
    try {
      const { expand, ...rest } = params;
      const paths = Array.isArray(expand) ? expand.map(String) : [];
      const answer = api.runDirect(method, path, toForm(rest), paths, options.idempotencyKey, fault === 'broken');
      if (fault === 'lost') throw libraryError('StripeConnectionError', undefined, { type: '', message: 'lost' });
      return answer;
    } catch (error) {
      throw error instanceof ApiError ? libraryError(nameOf(error), error.status, error.body) : error;
    }
  };
  const create = (path: string) => (params?: Params, options?: Options) => run('POST', path, params, options);
  const list = (path: string) => (params?: Params) => run('GET', path, params);
  const on =
    (method: string, path: string, suffix = '') =>
    (id: string, params?: Params, options?: Options) =>
      run(method, `${path}/${id}${suffix}`, params, options);
  const client = {
    customers: {
      create: create('/v1/customers'),
      retrieve: on('GET', '/v1/customers'),
      listPaymentMethods: on('GET', '/v1/customers', '/payment_methods'),
    },
    checkout: {
      sessions: {
        create: create('/v1/checkout/sessions'),
        retrieve: on('GET', '/v1/checkout/sessions'),
        list: list('/v1/checkout/sessions'),
        expire: on('POST', '/v1/checkout/sessions', '/expire'),
      },
    },
    billingPortal: { sessions: { create: create('/v1/billing_portal/sessions') } },
    invoices: {
      create: create('/v1/invoices'),
      retrieve: on('GET', '/v1/invoices'),
      list: list('/v1/invoices'),
      finalizeInvoice: on('POST', '/v1/invoices', '/finalize'),
      pay: on('POST', '/v1/invoices', '/pay'),
      voidInvoice: on('POST', '/v1/invoices', '/void'),
      del: on('DELETE', '/v1/invoices'),
    },
    invoiceItems: { create: create('/v1/invoiceitems') },
    invoicePayments: { list: list('/v1/invoice_payments') },
    paymentIntents: { retrieve: on('GET', '/v1/payment_intents') },
    charges: { retrieve: on('GET', '/v1/charges') },
    refunds: { list: list('/v1/refunds'), create: create('/v1/refunds') },
    disputes: { list: list('/v1/disputes') },
    creditNotes: { list: list('/v1/credit_notes') },
    prices: { retrieve: on('GET', '/v1/prices') },
    subscriptions: {
      retrieve: on('GET', '/v1/subscriptions'),
      list: list('/v1/subscriptions'),
      update: on('POST', '/v1/subscriptions'),
      cancel: on('DELETE', '/v1/subscriptions'),
    },
    subscriptionSchedules: {
      create: create('/v1/subscription_schedules'),
      update: on('POST', '/v1/subscription_schedules'),
      release: on('POST', '/v1/subscription_schedules', '/release'),
    },
  };
  return client as unknown as Stripe;
}

/** An error as the package makes it from an answer. */
function libraryError(type: string, statusCode: number | undefined, body: ApiError['body']): Error {
  const { message, code, decline_code } = body;
  return Object.assign(new Error(message), { type, statusCode, code, decline_code });
}

function nameOf({ status, body }: ApiError): string {
  if (status === 401) return 'StripeAuthenticationError';
  if (status === 402) return 'StripeCardError';
  if (body.type === 'idempotency_error') return 'StripeIdempotencyError';
  return status >= 500 ? 'StripeAPIError' : 'StripeInvalidRequestError';
}

/** As the package writes parameters, and the API reads them. */
function toForm(params: Params): Form {
  const form: Form = {};
  for (const [name, value] of Object.entries(params)) if (value !== undefined) form[name] = toValue(value);
  return form;
}

function toValue(value: unknown): FormValue {
  if (Array.isArray(value)) return value.map(toValue);
  return typeof value === 'object' && value !== null ? toForm(value as Params) : String(value);
}
