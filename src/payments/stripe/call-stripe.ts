// Calls of Stripe's API: bounded in time, size and number; every answer is checked by a schema, and every failure
// becomes a ProviderError without the key.

import type { Stripe } from 'stripe';
import { z } from 'zod';
import { collectBytes } from '../../base/collect-bytes.ts';
import { FairQueue } from '../../base/fair-queue.ts';
import { bounds } from '../../config/config.ts';
import type { Secret } from '../../secrets/secrets.ts';
import { ProviderError, type ProviderFault } from '../provider.ts';

/** As `fetch`. */
export type Send = (url: string, init: RequestInit) => Promise<Response>;

export interface StripeCalls {
  /** Awaits one call and checks its answer. `what` names the call for operators: "create a customer". */
  ask<Value>(what: string, schema: z.ZodType<Value>, call: (client: Stripe) => Promise<unknown>): Promise<Value>;
}

/** An error of Stripe with its code, such as "resource_missing". */
export class StripeRefusal extends ProviderError {
  readonly stripeCode: string;
  /** For the holder, if Stripe meant it for them. */
  readonly holderMessage: string | null;

  constructor(fault: ProviderFault, message: string, cause: string, stripeCode: string, holderMessage: string | null) {
    super(fault, message, cause);
    this.stripeCode = stripeCode;
    this.holderMessage = holderMessage;
  }
}

interface ClientSettings {
  secretKey: Secret;
  apiUrl: string | null;
  send: Send;
  retriesMax: number;
  waitMsMax: number;
}

export function makeClient(
  library: typeof Stripe,
  { secretKey, apiUrl, send, retriesMax, waitMsMax }: ClientSettings,
): Stripe {
  const bounded = async (url: string, init: RequestInit) => {
    const response = await sendBounded(send, url, init);
    if (response.status === 401) secretKey.onRefused();
    return response;
  };
  return new library('', {
    // Asked at each call, because the key may change. The library cannot handle a rejection.
    authenticator: async (request) => {
      request.headers['Authorization'] = `Bearer ${secretKey.reveal()}`;
    },
    httpClient: library.createFetchHttpClient(bounded as typeof fetch),
    timeout: waitMsMax,
    maxNetworkRetries: retriesMax,
    telemetry: false,
    ...(apiUrl === null ? {} : placeOf(apiUrl)),
  });
}

export function openCalls(client: Stripe): StripeCalls {
  const queue = new FairQueue<null>(
    {
      running: bounds.stripeCallsAtOnceMax,
      runningPerOwner: bounds.stripeCallsAtOnceMax,
      tasks: bounds.stripeCallsWaitingMax,
      tasksPerOwner: bounds.stripeCallsWaitingMax,
    },
    () => new ProviderError('unavailable', UNAVAILABLE, 'too many calls of Stripe wait'),
  );
  return {
    async ask(what, schema, call) {
      using _slot = await queue.enter(null);
      const answer = await call(client).catch((error: unknown) => {
        throw mapError(error, what);
      });
      const parsed = schema.safeParse(answer);
      if (parsed.success) return parsed.data;
      const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
      throw unexpected(what, faults.slice(0, 5).join('; '));
    },
  };
}

/** The error for an answer that does not mean what it must. */
export function unexpected(what: string, fault: string): ProviderError {
  return new ProviderError('unexpected', FAILED, `${what}: Stripe's answer cannot be used: ${fault}`);
}

const UNAVAILABLE = 'The payment provider does not answer. Try again in a minute.';
const REFUSED = 'The payment provider did not accept the request.';
const FAILED = 'Payments do not work at the moment. Please contact the operator.';

function placeOf(apiUrl: string): { host: string; port: string; protocol: 'http' | 'https' } {
  const { protocol, hostname, port } = new URL(apiUrl);
  const isPlain = protocol === 'http:';
  return { host: hostname, port: port || (isPlain ? '80' : '443'), protocol: isPlain ? 'http' : 'https' };
}

/** Follows no redirect, which would carry the key elsewhere, and reads a bounded body. */
async function sendBounded(send: Send, url: string, init: RequestInit): Promise<Response> {
  const answer = await send(url, { ...init, redirect: 'error' });
  const { stripeAnswerBytesMax: bytesMax } = bounds;
  const body = await collectBytes(answer.body, bytesMax, () => new Error(`an answer of more than ${bytesMax} bytes`));
  const headers = new Headers();
  for (const name of KEPT_HEADERS) {
    const value = answer.headers.get(name);
    if (value !== null) headers.set(name, value);
  }
  return new Response(body, { status: answer.status, headers });
}

/** Others do not matter; the package prints some of them. */
const KEPT_HEADERS = ['content-type', 'request-id', 'stripe-should-retry', 'stripe-version', 'idempotency-key'];

const errorFacts = z.object({
  type: z.string().catch('Error'),
  statusCode: z.number().optional().catch(undefined),
  code: z.string().optional().catch(undefined),
  decline_code: z.string().optional().catch(undefined),
  message: z.string().catch(''),
  requestId: z.string().optional().catch(undefined),
});

function mapError(error: unknown, what: string): ProviderError {
  if (error instanceof ProviderError) return error;
  const { type, statusCode, code, decline_code, message, requestId } = errorFacts.parse(error);
  const facts = [type, statusCode, code, decline_code, message, requestId].filter((fact) => fact !== undefined);
  const cause = hideKeys(`${what}: ${facts.join(' ')}`).slice(0, bounds.stripeCauseCharactersMax);
  const fault = faultOf(type, statusCode);
  const holderMessage = type === 'StripeCardError' ? message.slice(0, bounds.noteCharactersMax) : null;
  const text = fault === 'unavailable' ? UNAVAILABLE : fault === 'refused' ? (holderMessage ?? REFUSED) : FAILED;
  return new StripeRefusal(fault, text, cause, decline_code ?? code ?? type, holderMessage);
}

function faultOf(type: string, status: number | undefined): ProviderFault {
  if (type === 'StripeAuthenticationError' || type === 'StripePermissionError') return 'misconfigured';
  if (type === 'StripeConnectionError' || type === 'StripeRateLimitError') return 'unavailable';
  // 409: another request with the same key, or on the same object, is in progress.
  if (status === undefined || status === 409 || status === 429 || status >= 500) return 'unavailable';
  return 'refused';
}

function hideKeys(text: string): string {
  return text.replace(/\b(?:[sr]k_(?:test|live)|whsec)_[\w*]+/g, '[secret]');
}
