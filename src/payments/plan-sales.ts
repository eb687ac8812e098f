// Sells plans by subscription: a page of the provider for the first one, and changes of a present one. What the holder
// has is decided by the sync of subscriptions alone.

import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type CheckoutSettings, RETURN_PATH } from './checkout.ts';
import type { Billing, PaymentStore } from './payment.ts';
import { type PaymentProvider, type PriceState, ProviderError, type SubscriptionState } from './provider.ts';
import type { SubscriptionSync } from './receive-event.ts';
import { centsOf, isWholeCents } from './settle-payment.ts';

export interface PlanSaleParts {
  provider: Pick<PaymentProvider, 'readPayment' | 'cancelPayment' | 'subscriptions'>;
  store: Pick<PaymentStore, 'getBilling'>;
  subscriptions: SubscriptionSync;
  settings(): CheckoutSettings;
  clock: Clock;
}

export class PlanSales {
  readonly #on: PlanSaleParts;
  /** Prices that were right a moment ago, each with the plan's price then. */
  readonly #checked = new Map<string, { price: number; untilMs: number }>();

  constructor(parts: PlanSaleParts) {
    this.#on = parts;
  }

  /**
   * Begins the subscription of a plan, or changes the present one to it: a dearer plan at once, a cheaper one with the next
   * period. Returns the page on which the holder pays; null: nothing is to be paid there. Throws conflict and ProviderError.
   */
  async buy(billing: Billing, plan: PlanSettings): Promise<string | null> {
    const { subscriptions } = this.#on.provider;
    const price = await this.#sellable(plan);
    const present = await this.#present(billing);
    if (present === null) return this.#start(await this.#billingOf(billing), plan, price.id);
    if (present.status === 'past_due') return this.#unpaidPage(present);
    const isDearer = (price.amountCents ?? 0) >= (await this.#centsPaid(present));
    const when = isDearer || present.price === price.id ? 'now' : 'period_end';
    const { actionUrl } = await subscriptions.change({ subscription: present.id, price: price.id, when });
    await this.#on.subscriptions.sync(present.id);
    return actionUrl;
  }

  /** Ends the subscription with its paid period; one that is not paid at once. Throws conflict and ProviderError. */
  async cancel(billing: Billing): Promise<void> {
    const { provider, subscriptions } = this.#on;
    const present = await this.#required(billing);
    let isUnpaid = present.status === 'past_due';
    if (isUnpaid && present.latestPayment !== null)
      isUnpaid = (await provider.cancelPayment(present.latestPayment))?.status !== 'paid';
    if (isUnpaid) await provider.subscriptions.end(present.id);
    else await provider.subscriptions.cancel(present.id);
    await subscriptions.sync(present.id);
  }

  /** Undoes `cancel`, and a change that is planned. Throws conflict and ProviderError. */
  async resume(billing: Billing): Promise<void> {
    const present = await this.#required(billing);
    await this.#on.provider.subscriptions.resume(present.id);
    await this.#on.subscriptions.sync(present.id);
  }

  /** Why the plan cannot be sold; null if its price at the provider is that of the plan. Throws ProviderError. */
  async findPriceFault(plan: PlanSettings): Promise<string | null> {
    return faultOf(plan, await this.#on.provider.subscriptions.readPrice(plan.stripePrice ?? ''));
  }

  async #sellable(plan: PlanSettings): Promise<Pick<PriceState, 'id' | 'amountCents'>> {
    const id = plan.stripePrice ?? '';
    const nowMs = this.#on.clock.nowMs();
    const checked = this.#checked.get(id);
    if (checked?.price !== plan.price || checked.untilMs <= nowMs) {
      const fault = await this.findPriceFault(plan);
      if (fault !== null)
        throw new ProviderError(
          'misconfigured',
          `The plan "${plan.name}" cannot be bought at the moment. Please contact the operator.`,
          `the plan "${plan.name}" was not sold: ${fault}`,
        );
      if (this.#checked.size >= bounds.planPricesKnownMax) this.#checked.clear();
      this.#checked.set(id, { price: plan.price, untilMs: nowMs + bounds.planPriceKnownMs });
    }
    return { id, amountCents: centsOf(plan.price) };
  }

  /** The subscription of the account. One whose event was lost is found, so that no second one is sold. */
  async #present(billing: Billing): Promise<SubscriptionState | null> {
    const { provider, subscriptions } = this.#on;
    if (billing.subscription === null) {
      const lost = await provider.subscriptions.list(billing.customer);
      for (const { id } of lost.slice(0, bounds.subscriptionsFoundMax)) await subscriptions.sync(id);
    }
    const { subscription } = await this.#billingOf(billing);
    const present = subscription === null ? null : await provider.subscriptions.read(subscription);
    if (present === null || present.status !== 'ended') return present;
    await subscriptions.sync(present.id);
    return null;
  }

  async #required(billing: Billing): Promise<SubscriptionState> {
    const present = await this.#present(billing);
    if (present !== null) return present;
    throw new TurnpikeError('conflict', 'The account has no subscription.');
  }

  async #billingOf(billing: Billing): Promise<Billing> {
    return (await this.#on.store.getBilling(billing.accountId)) ?? billing;
  }

  async #centsPaid({ price }: SubscriptionState): Promise<number> {
    return (await this.#on.provider.subscriptions.readPrice(price))?.amountCents ?? 0;
  }

  /** A renewal that is not paid comes first. */
  async #unpaidPage({ latestPayment }: SubscriptionState): Promise<string> {
    const invoice = latestPayment === null ? null : await this.#on.provider.readPayment(latestPayment);
    if (invoice?.actionUrl != null) return invoice.actionUrl;
    throw new TurnpikeError('conflict', 'The payment of the present plan is under way. Try again when it has ended.');
  }

  /** A request that is repeated within a few minutes gets the same page. */
  async #start({ accountId, customer, version }: Billing, plan: PlanSettings, price: string): Promise<string> {
    const { publicUrl, isTaxAutomatic } = this.#on.settings();
    const url = (outcome: string) =>
      `${publicUrl}${RETURN_PATH}?plan=${encodeURIComponent(plan.name)}&outcome=${outcome}`;
    const account = formatId('acct', accountId);
    const wanted = {
      account,
      customer,
      plan: plan.name,
      price,
      successUrl: url('paid'),
      cancelUrl: url('canceled'),
      isTaxAutomatic,
    };
    const period = Math.floor(this.#on.clock.nowMs() / bounds.subscriptionPageMs);
    const digest = createHash('sha256')
      .update(JSON.stringify([wanted, version, period]))
      .digest('base64url')
      .slice(0, 24);
    const idempotencyKey = `${account}:subscription:${digest}`;
    return (await this.#on.provider.subscriptions.start({ ...wanted, idempotencyKey })).url;
  }
}

/** The difference between the plan and its price at the provider; null if they agree. */
function faultOf({ price, stripePrice }: PlanSettings, found: PriceState | null): string | null {
  if (found === null) return `there is no price "${stripePrice}" at the provider`;
  const { id, isActive, currency, amountCents, interval } = found;
  if (!isActive) return `the price ${id} is not active`;
  if (currency !== 'usd') return `the price ${id} is in ${currency}, not in usd`;
  if (interval?.unit !== 'month' || interval.count !== 1) return `the price ${id} is not for one month`;
  if (amountCents === null) return `the price ${id} has no fixed amount`;
  if (isWholeCents(price) && amountCents === centsOf(price)) return null;
  return `the price ${id} is ${amountCents} cents at the provider, and ${formatUsd(price)} USD in the configuration`;
}
