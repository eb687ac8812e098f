// Fills an account of the console with payments of every status and a saved method. Contains no tests.

import type { StripeService } from '../contract/payments/payments-service.ts';

/** The ids of payments by what became of them. */
export type FilledPayments = Partial<Record<'paid' | 'refunded' | 'disputed' | 'failed' | 'pending', string>>;

export async function fillPayments(service: StripeService, account: string): Promise<FilledPayments> {
  const { stripe, turnpike } = service;
  const begin = async (amount: string) => {
    const { id } = await turnpike.admin('POST', '/payments', { account, amount });
    const session = [...stripe.state.sessions.values()].find(({ metadata }) => metadata['turnpike_payment'] === id);
    return { id: String(id), session: session?.id ?? '' };
  };
  const intentOf = (session: string) => stripe.state.sessions.get(session)?.payment_intent ?? '';
  const [paid, refunded, disputed] = [await begin('100.00'), await begin('50.00'), await begin('25.00')];
  const failed = await begin('10.00');
  for (const { session } of [paid, refunded, disputed]) stripe.payCheckout(session);
  stripe.refund(intentOf(refunded.session), 2_000);
  stripe.openDispute(intentOf(disputed.session));
  stripe.payCheckout(failed.session, 'bank');
  stripe.settleBankDebit(intentOf(failed.session), false);
  const refused = await stripe.deliver(stripe.takeEvents(), `${turnpike.url}/webhooks/stripe`);
  if (refused.length > 0) throw new Error(`${refused.length} events of Stripe were refused`);
  await turnpike.admin('PATCH', `/accounts/${account}/auto-recharge`, { enabled: true, threshold: '5', amount: '25' });
  const pending = await begin('25.00');
  return {
    paid: paid.id,
    refunded: refunded.id,
    disputed: disputed.id,
    failed: failed.id,
    pending: pending.id,
  };
}
