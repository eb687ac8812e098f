// Random histories of payments: the state that the adapter reads is what the scripted Stripe's books say, after every
// step, with and without faults; and a recharge that is repeated until it ends is charged at most once.

import { expect, test } from 'bun:test';
import type { NewRecharge, PaymentState } from '../../../src/payments/provider.ts';
import { makeRandom } from '../../support/random.ts';
import type { Card, ScriptedStripe, StripeFault } from '../../support/scripted-stripe.ts';
import { openDirectly, openScripted } from './open-scripted.ts';

type Opened = Awaited<ReturnType<typeof openScripted>>;
const cards: Card[] = ['good', 'good', 'good', 'declined', 'declinedLater', 'authenticate', 'bank'];
const faults: StripeFault[] = ['unavailable', 'dropped', 'lost', 'broken'];

const firstSeed = Math.floor(Math.random() * 2 ** 31);

test.each([
  ['the small client', openDirectly, 120], // others in each run
  ['the official package', openScripted, 20],
] as const)(
  'with %s',
  async (_, open, histories) => {
    for (let history = 0; history < histories; history++) {
      const seed = firstSeed + history;
      try {
        await play(await open(), makeRandom(seed));
      } catch (error) {
        throw new Error(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  },
  240_000,
);

async function play(opened: Opened, random: () => number): Promise<void> {
  const { stripe, provider, customer, checkout, recharge } = opened;
  const below = (count: number) => Math.floor(random() * count);
  const pick = <Value>(all: readonly Value[]): Value => all[below(all.length)] as Value;
  const sources: string[] = [];
  const wanted = new Map<string, ReturnType<typeof recharge>>();
  stripe.setAddress(customer, 'US');
  stripe.faultOf = () => (random() < 0.05 ? pick(faults) : null);
  for (let step = 0; step < 25; step++) {
    const source = sources.length === 0 ? '' : pick(sources);
    const intent = intentOf(stripe, source);
    // Stripe or the bank may refuse a step, and a fault may prevent it: the state is read all the same.
    await quietly(async () => {
      switch (below(13)) {
        case 0:
          sources.push((await checkout({ isTaxAutomatic: below(2) === 0, amountCents: 50 + below(5_000) })).source);
          break;
        case 1: {
          const method = stripe.saveMethod(customer, pick(cards));
          const one = recharge(method.id, { amountCents: 50 + below(5_000), isTaxAutomatic: below(2) === 0 });
          wanted.set(one.payment, one);
          sources.push((await provider.startRecharge(one)).source);
          break;
        }
        case 2:
          if (wanted.size > 0) await provider.startRecharge(pick([...wanted.values()]));
          break;
        case 3:
        case 4:
          stripe.payCheckout(source, pick(cards), below(2) === 0);
          break;
        case 5:
          stripe.payHostedInvoice(source, pick(cards));
          break;
        case 6:
          stripe.settleBankDebit(intent, below(2) === 0);
          break;
        case 7:
          stripe.refund(intent, 1 + below(3_000), pick(['succeeded', 'pending']));
          break;
        case 8:
          stripe.endRefund(pick([...stripe.state.refunds.keys()]), pick(['succeeded', 'failed', 'canceled']));
          break;
        case 9:
          stripe.openDispute(intent, { isInquiry: below(2) === 0, amount: 1 + below(3_000) });
          break;
        case 10:
          stripe.closeDispute(pick([...stripe.state.disputes.keys()]), pick(['won', 'lost']));
          break;
        case 11:
          stripe.escalateDispute(pick([...stripe.state.disputes.keys()]));
          break;
        default:
          if (below(3) === 0) stripe.advance(below(30) * 3600 * 1000);
          else await provider.cancelPayment(source);
      }
    });
    if (source !== '') await quietly(async () => compare(stripe, source, await provider.readPayment(source)));
  }
  await settle(opened, [...wanted.values()]);
  for (const source of sources) compare(stripe, source, await provider.readPayment(source));
}

/** Repeats the recharges without faults: each is charged at most once. */
async function settle({ stripe, provider }: Opened, wanted: NewRecharge[]): Promise<void> {
  stripe.faultOf = () => null;
  stripe.advance(25 * 3600 * 1000); // an internal error is repeated for a day
  for (const one of wanted) {
    const state = await provider.startRecharge(one);
    const intents = [...stripe.state.invoices.values()]
      .filter(({ metadata }) => metadata['turnpike_payment'] === one.payment)
      .flatMap(({ id }) => intentOf(stripe, id));
    const charged = [...stripe.state.charges.values()].filter(
      (charge) => charge.paid && charge.status === 'succeeded' && intents.includes(charge.payment_intent),
    );
    expect(charged.length).toBeLessThanOrEqual(1);
    if (state.status === 'paid') expect({ one, credit: state.creditCents }).toEqual({ one, credit: one.amountCents });
  }
}

/** The books: what was received, and what was taken back. */
function compare(stripe: ScriptedStripe, source: string, state: PaymentState | null): void {
  const { sessions, invoices, intents, charges } = stripe.state;
  const payment = sessions.get(source) ?? invoices.get(source);
  if (payment === undefined || state === null) {
    expect(state).toBeNull();
    expect(payment).toBeUndefined();
    return;
  }
  const intent = intents.get(intentOf(stripe, source));
  const isPaid = intent?.status === 'succeeded';
  const of = <Row extends { payment_intent: string }>(rows: Map<string, Row>) =>
    [...rows.values()].filter((row) => row.payment_intent === intent?.id);
  const refunded = of(stripe.state.refunds)
    .filter(({ status }) => status === 'pending' || status === 'succeeded')
    .reduce((total, { amount }) => total + amount, 0);
  const disputed = of(stripe.state.disputes)
    .filter(({ status }) => status === 'needs_response' || status === 'lost')
    .reduce((total, { amount }) => total + amount, 0);
  const total = state.totalCents;
  expect({ ...state }).toMatchObject({
    source,
    currency: 'usd',
    creditCents: total - state.taxCents,
    refundedCents: Math.min(total, refunded),
    disputedCents: Math.min(total, disputed),
  });
  expect({ source, isPaid: state.status === 'paid' }).toEqual({ source, isPaid });
  if (isPaid) expect(intent?.amount_received).toBe(total);
  const fee = charges.get(intent?.latest_charge ?? '')?.balance_transaction;
  expect(state.feeCents === null).toBe(fee == null);
}

function intentOf(stripe: ScriptedStripe, source: string): string {
  const session = stripe.state.sessions.get(source);
  if (session !== undefined) return session.payment_intent ?? '';
  const payments = [...stripe.state.invoicePayments.values()];
  return payments.find(({ invoice }) => invoice === source)?.payment.payment_intent ?? '';
}

/** Runs a step that may be refused; only a failed comparison ends the test. */
async function quietly(step: () => Promise<unknown>): Promise<void> {
  try {
    await step();
  } catch (error) {
    const name = (error as Error).constructor.name;
    const isExpected = name === 'ApiError' || name === 'StripeRefusal' || name === 'ProviderError';
    if (!isExpected) throw error;
    if (name !== 'ApiError' && !['unavailable', 'refused'].includes((error as { fault: string }).fault)) throw error;
  }
}
