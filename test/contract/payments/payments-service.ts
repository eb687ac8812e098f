// A service that takes payments over a scripted Stripe on loopback, with an account and its owner.

import { ScriptedStripe, type StripeEvent } from '../../support/scripted-stripe.ts';
import { startTurnpike, type Turnpike } from '../../support/start-turnpike.ts';

export type Json = Record<string, unknown>;

export interface PaymentsService extends AsyncDisposable {
  stripe: ScriptedStripe;
  /** Where it listens. */
  stripeUrl: string;
  turnpike: Turnpike;
  account: string;
  /** Calls the admin API as the account's owner, or with another token. */
  ask(
    method: string,
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: Json }>;
  /** Begins a payment and returns it with the id of its session. */
  begin(amount: string): Promise<{ payment: Json; session: string }>;
  balance(): Promise<string>;
  show(payment: unknown): Promise<Json>;
  /** Sends events to the webhook; returns the statuses. */
  send(events: readonly StripeEvent[]): Promise<number[]>;
  post(body: string, headers: Record<string, string>): Promise<Response>;
}

export interface StripeService extends AsyncDisposable {
  stripe: ScriptedStripe;
  stripeUrl: string;
  turnpike: Turnpike;
}

/** A service that takes payments, without an account. */
export async function startWithStripe(document: object = {}): Promise<StripeService> {
  const stripe = new ScriptedStripe();
  const listening = await stripe.listen();
  const turnpike = await startTurnpike(document, {
    TURNPIKE_PUBLIC_URL: 'https://turnpike.example.com',
    TURNPIKE_STRIPE_SECRET_KEY: stripe.secretKey,
    TURNPIKE_STRIPE_WEBHOOK_SECRET: stripe.webhookSecret,
    TURNPIKE_STRIPE_API_URL: listening.url,
  });
  const stop = async () => {
    await turnpike[Symbol.asyncDispose]();
    await listening.stop();
  };
  return { stripe, stripeUrl: listening.url, turnpike, [Symbol.asyncDispose]: stop };
}

export async function startPayments(settings: object = {}): Promise<PaymentsService> {
  const started = await startWithStripe({ settings });
  const { stripe, turnpike } = started;
  const { account } = await turnpike.makeKey({ credit: '0' });
  const { token } = await turnpike.admin('POST', '/tokens', { role: 'owner', account });
  const ask: PaymentsService['ask'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${turnpike.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const post = (body: string, headers: Record<string, string>) =>
    fetch(`${turnpike.url}/webhooks/stripe`, { method: 'POST', body, headers });
  return {
    stripe,
    stripeUrl: started.stripeUrl,
    turnpike,
    account,
    ask,
    post,
    async begin(amount) {
      const { status, body } = await ask('POST', '/payments', { amount });
      if (status !== 201) throw new Error(JSON.stringify(body));
      const session = [...stripe.state.sessions.values()].find(
        (one) => one.metadata['turnpike_payment'] === body['id'],
      );
      return { payment: body, session: session?.id ?? '' };
    },
    balance: async () => String((await turnpike.admin('GET', `/accounts/${account}`))['balance']),
    show: async (payment) => turnpike.admin('GET', `/payments/${payment}`),
    async send(events) {
      const statuses: number[] = [];
      for (const event of events) {
        const { body, headers } = stripe.sign(event);
        statuses.push((await post(body, headers)).status);
      }
      return statuses;
    },
    [Symbol.asyncDispose]: started[Symbol.asyncDispose],
  };
}

/** The payment intent of a paid session. */
export function intentOf({ stripe }: PaymentsService, session: string): string {
  return stripe.state.sessions.get(session)?.payment_intent ?? '';
}
