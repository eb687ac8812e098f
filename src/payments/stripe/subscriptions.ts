// Subscriptions of plans, by Stripe Billing. A change for the next period is a subscription schedule, which is released
// before anything else is changed.

import type { Stripe } from 'stripe';
import { bounds } from '../../config/config.ts';
import type {
  NewSubscription,
  PriceState,
  SubscriptionChange,
  SubscriptionProvider,
  SubscriptionState,
} from '../provider.ts';
import { ProviderError } from '../provider.ts';
import type { StripeCalls } from './call-stripe.ts';
import { unexpected } from './call-stripe.ts';
import { commonParams, metadataNames, nullIfMissing, openSession } from './checkout.ts';
import { listOf, type Price, price, type Schedule, type Subscription, schedule, subscription } from './read-objects.ts';

const EXPANDED = ['latest_invoice', 'schedule'];

export function openSubscriptions(calls: StripeCalls): SubscriptionProvider {
  const read = (id: string) => readSubscription(calls, id).catch(nullIfMissing);
  return {
    readPrice: async (id) => {
      const found = await readPrice(calls, id).catch(nullIfMissing);
      return found === null ? null : priceState(found);
    },
    start: (wanted) => start(calls, wanted),
    read: async (id) => {
      const found = await read(id);
      return found === null ? null : subscriptionState(found);
    },
    list: async (customer) => {
      const { data } = await calls.ask('list subscriptions', listOf(subscription), (client) =>
        client.subscriptions.list({
          customer,
          limit: bounds.stripePageRows,
          expand: EXPANDED.map((path) => `data.${path}`),
        }),
      );
      return data.map(subscriptionState).filter(({ status }) => status !== 'ended');
    },
    change: async (change) => {
      const found = requireLive(await read(change.subscription), change.subscription);
      return change.when === 'now' ? changeNow(calls, found, change) : changeLater(calls, found, change);
    },
    cancel: (id) => endWithPeriod(id, true),
    resume: (id) => endWithPeriod(id, false),
    end: async (id) => {
      const found = requireSubscription(await read(id), id);
      if (found.ended_at !== null) return subscriptionState(found);
      const params = { invoice_now: false, prorate: false, expand: EXPANDED };
      return subscriptionState(
        await calls.ask('end a subscription', subscription, (client) => client.subscriptions.cancel(id, params)),
      );
    },
  };

  async function endWithPeriod(id: string, cancels: boolean): Promise<SubscriptionState> {
    const found = requireLive(await read(id), id);
    await releaseSchedule(calls, found);
    return subscriptionState(await update(calls, id, { cancel_at_period_end: cancels }));
  }
}

function start(calls: StripeCalls, wanted: NewSubscription) {
  const { account, plan, price: priceId, idempotencyKey } = wanted;
  const metadata = { [metadataNames.account]: account, [metadataNames.plan]: plan };
  return openSession(calls, idempotencyKey, {
    ...commonParams(wanted),
    mode: 'subscription',
    line_items: [{ price: priceId, quantity: 1 }],
    metadata,
    subscription_data: { metadata },
  });
}

/** Nothing changes until the difference is paid. A cancellation that was planned is undone with the change. */
async function changeNow(
  calls: StripeCalls,
  found: Subscription,
  { subscription: id, price: priceId }: SubscriptionChange,
): Promise<{ state: SubscriptionState; actionUrl: string | null }> {
  await releaseSchedule(calls, found);
  const item = itemOf(found);
  let present = found;
  if (item.price.id !== priceId)
    present = await update(calls, id, {
      items: [{ id: item.id, price: priceId }],
      // A new period begins: what is left of the former one would buy a whole allowance for the price of its last day.
      billing_cycle_anchor: { type: 'now' },
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
    });
  if (present.pending_update != null) {
    const unpaid = typeof present.latest_invoice === 'object' ? present.latest_invoice : null;
    return { state: subscriptionState(present), actionUrl: unpaid?.hosted_invoice_url ?? null };
  }
  // Read again by the update, because the schedule that was released is not part of the answers before.
  return { state: subscriptionState(await update(calls, id, { cancel_at_period_end: false })), actionUrl: null };
}

async function changeLater(
  calls: StripeCalls,
  found: Subscription,
  { subscription: id, price: priceId }: SubscriptionChange,
): Promise<{ state: SubscriptionState; actionUrl: string | null }> {
  const item = itemOf(found);
  const { recurring } = await readPrice(calls, priceId);
  if (recurring === null) throw unexpected('plan a change', `the price ${priceId} does not recur`);
  const planned = activeSchedule(found) ?? (await makeSchedule(calls, id));
  const startsAt = planned.current_phase?.start_date ?? item.current_period_start;
  await calls.ask('plan a change of a subscription', schedule, (client) =>
    client.subscriptionSchedules.update(planned.id, {
      end_behavior: 'release',
      proration_behavior: 'none',
      phases: [
        {
          items: [{ price: item.price.id, quantity: 1 }],
          start_date: startsAt,
          end_date: item.current_period_end,
        },
        {
          items: [{ price: priceId, quantity: 1 }],
          duration: { interval: recurring.interval, interval_count: recurring.interval_count },
          proration_behavior: 'none',
        },
      ],
    }),
  );
  return { state: subscriptionState(await readSubscription(calls, id)), actionUrl: null };
}

function readSubscription(calls: StripeCalls, id: string): Promise<Subscription> {
  return calls.ask('read a subscription', subscription, (client) =>
    client.subscriptions.retrieve(id, { expand: EXPANDED }),
  );
}

function makeSchedule(calls: StripeCalls, id: string): Promise<Schedule> {
  return calls.ask('make a subscription schedule', schedule, (client) =>
    client.subscriptionSchedules.create({ from_subscription: id }),
  );
}

async function releaseSchedule(calls: StripeCalls, found: Subscription): Promise<void> {
  const planned = activeSchedule(found);
  if (planned === null) return;
  await calls.ask('release a subscription schedule', schedule, (client) =>
    client.subscriptionSchedules.release(planned.id),
  );
}

function activeSchedule({ schedule: planned }: Subscription): Schedule | null {
  if (planned == null || typeof planned === 'string') return null;
  return planned.status === 'active' || planned.status === 'not_started' ? planned : null;
}

function update(calls: StripeCalls, id: string, params: Stripe.SubscriptionUpdateParams): Promise<Subscription> {
  return calls.ask('change a subscription', subscription, (client) =>
    client.subscriptions.update(id, { ...params, expand: EXPANDED }),
  );
}

function readPrice(calls: StripeCalls, id: string): Promise<Price> {
  return calls.ask('read a price', price, (client) => client.prices.retrieve(id));
}

function priceState({ id, active, currency, unit_amount: amountCents, recurring }: Price): PriceState {
  const isFixed = recurring !== null && recurring.usage_type === 'licensed';
  return {
    id,
    isActive: active,
    currency,
    amountCents: isFixed || recurring === null ? amountCents : null,
    interval: recurring === null ? null : { unit: recurring.interval, count: recurring.interval_count },
  };
}

/** The state from Stripe's object. Pure. */
export function subscriptionState(found: Subscription): SubscriptionState {
  const { id, customer, metadata, cancel_at, ended_at } = found;
  const item = itemOf(found);
  const periodEnd = item.current_period_end;
  const endsAt = ended_at ?? cancel_at ?? (found.cancel_at_period_end ? periodEnd : null);
  const status = statusOf(found);
  const paidUntil = paidUntilSeconds(found, status);
  const latest = found.latest_invoice ?? null;
  return {
    id,
    status,
    customer,
    metadata: { account: metadata[metadataNames.account] ?? null, plan: metadata[metadataNames.plan] ?? null },
    price: item.price.id,
    nextPrice: status === 'ended' ? null : nextPriceOf(found),
    anchorMs: found.billing_cycle_anchor * 1000,
    periodStartMs: item.current_period_start * 1000,
    periodEndMs: periodEnd * 1000,
    paidUntilMs: paidUntil === null ? null : paidUntil * 1000,
    endsAtMs: endsAt === null ? null : endsAt * 1000,
    latestPayment: typeof latest === 'object' ? (latest?.id ?? null) : latest,
  };
}

function statusOf({ status }: Subscription): SubscriptionState['status'] {
  if (status === 'incomplete') return 'pending';
  if (status === 'active' || status === 'trialing') return 'active';
  if (status === 'canceled' || status === 'incomplete_expired') return 'ended';
  return 'past_due'; // also `unpaid` and `paused`: the subscription exists, but its period is not paid
}

/** The period has begun before its invoice is paid: Stripe finalizes the invoice of a renewal after about an hour. */
function paidUntilSeconds(found: Subscription, status: SubscriptionState['status']): number | null {
  const { current_period_start: start, current_period_end: end } = itemOf(found);
  if (status === 'pending' || found.status === 'incomplete_expired') return null;
  if (status === 'ended') return Math.min(end, found.ended_at ?? end);
  if (status === 'past_due') return start;
  const latest = typeof found.latest_invoice === 'object' ? found.latest_invoice : null;
  const isUnpaid = latest?.status === 'draft' || latest?.status === 'open';
  return isUnpaid && latest.billing_reason === 'subscription_cycle' ? start : end;
}

function nextPriceOf(found: Subscription): string | null {
  const planned = activeSchedule(found);
  const endsAt = planned?.current_phase?.end_date;
  if (planned === null || endsAt === undefined) return null;
  const next = planned.phases.find(({ start_date }) => start_date >= endsAt)?.items[0]?.price ?? null;
  return next === itemOf(found).price.id ? null : next;
}

function itemOf({ items, id }: Subscription): Subscription['items']['data'][number] {
  const [item] = items.data;
  if (item === undefined) throw unexpected(`read ${id}`, 'a subscription without a price');
  return item;
}

function requireSubscription(found: Subscription | null, id: string): Subscription {
  if (found !== null) return found;
  throw new ProviderError('refused', 'This subscription does not exist.', `the subscription ${id} does not exist`);
}

function requireLive(found: Subscription | null, id: string): Subscription {
  const present = requireSubscription(found, id);
  if (present.ended_at === null) return present;
  throw new ProviderError('refused', 'This subscription has ended.', `the subscription ${id} has ended`);
}
