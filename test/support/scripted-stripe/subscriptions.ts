// Subscriptions and schedules of the scripted Stripe, and the clock that renews them.

import { attachMethod, attempt, declined } from './collect.ts';
import { addInvoice, addLine, completeIntent, finalizeInvoice, intentOf, payInvoice, voidInvoice } from './invoices.ts';
import {
  ApiError,
  type Invoice,
  invalid,
  need,
  type PaymentMethod,
  type Price,
  type Schedule,
  type StripeState,
  type Subscription,
} from './state.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Days after the first attempt at which a renewal is tried again; afterward the subscription ends. */
const RETRY_DAYS = [3, 5, 7];
const PENDING_SECONDS = 23 * HOUR;

export function addSubscription(
  state: StripeState,
  wanted: {
    customer: string;
    price: Price;
    method: PaymentMethod;
    isTaxAutomatic: boolean;
    metadata: Record<string, string>;
  },
): Subscription {
  const { customer, price, method, isTaxAutomatic, metadata } = wanted;
  const common = state.common('sub', 'subscription');
  const start = common.created;
  const subscription: Subscription = {
    ...common,
    status: 'incomplete',
    customer,
    currency: price.currency,
    start_date: start,
    billing_cycle_anchor: start,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    ended_at: null,
    default_payment_method: method.id,
    latest_invoice: null,
    pending_update: null,
    schedule: null,
    automatic_tax: { enabled: isTaxAutomatic },
    metadata,
    items: {
      object: 'list',
      data: [
        {
          id: state.newId('si'),
          object: 'subscription_item',
          price,
          quantity: 1,
          current_period_start: start,
          current_period_end: periodEnd(start, price),
        },
      ],
      has_more: false,
      url: '',
    },
    hidden: { attempts: 0, nextAttempt: null },
  };
  const invoice = invoiceOf(state, subscription, 'subscription_create', price.unit_amount ?? 0);
  finalizeInvoice(state, invoice);
  const intent = intentOf(state, invoice);
  const outcome = attempt(state, intent, method, { isOffSession: false, isConfirmed: true });
  if (outcome === 'decline') throw declined(intent);
  attachMethod(state, method, customer);
  state.subscriptions.set(subscription.id, subscription);
  state.emit('customer.subscription.created', subscription);
  completeIntent(state, intent);
  activate(state, subscription);
  return subscription;
}

function activate(state: StripeState, subscription: Subscription): void {
  subscription.status = 'active';
  subscription.hidden = { attempts: 0, nextAttempt: null };
  state.emit('customer.subscription.updated', subscription);
}

function invoiceOf(
  state: StripeState,
  subscription: Subscription,
  billing_reason: Invoice['billing_reason'],
  amount: number,
): Invoice {
  const { id, customer, currency, metadata, automatic_tax } = subscription;
  const invoice = addInvoice(state, {
    customer,
    currency,
    billing_reason,
    parent: { type: 'subscription_details', subscription_details: { subscription: id, metadata: { ...metadata } } },
    metadata: {},
    isTaxAutomatic: automatic_tax.enabled,
  });
  addLine(state, invoice, amount, 'Plan');
  subscription.latest_invoice = invoice.id;
  return invoice;
}

export interface SubscriptionUpdate {
  price: string | null;
  cancelsAtPeriodEnd: boolean | null;
  proration: string | null;
  behaviour: string | null;
  /** A new period begins now. */
  isAnchoredNow: boolean;
}

export function updateSubscription(state: StripeState, subscription: Subscription, update: SubscriptionUpdate) {
  if (subscription.status === 'canceled') throw invalid('A canceled subscription can only update its metadata.');
  const { price, cancelsAtPeriodEnd } = update;
  if (cancelsAtPeriodEnd !== null && subscription.schedule !== null)
    throw invalid(
      `The subscription is managed by the subscription schedule \`${subscription.schedule}\`, and updating any cancelation behavior directly is not allowed.`,
    );
  if (cancelsAtPeriodEnd !== null && update.behaviour === 'pending_if_incomplete')
    throw invalid('cancel_at_period_end cannot be set with pending_if_incomplete.');
  if (cancelsAtPeriodEnd !== null) {
    subscription.cancel_at_period_end = cancelsAtPeriodEnd;
    subscription.cancel_at = cancelsAtPeriodEnd ? itemOf(subscription).current_period_end : null;
    subscription.canceled_at = cancelsAtPeriodEnd ? state.now() : null;
  }
  if (price !== null && price !== itemOf(subscription).price.id)
    changePrice(state, subscription, need(state.prices, price), update);
  state.emit('customer.subscription.updated', subscription);
  return subscription;
}

function changePrice(state: StripeState, subscription: Subscription, price: Price, update: SubscriptionUpdate): void {
  const item = itemOf(subscription);
  dropPending(state, subscription);
  if (update.proration !== 'always_invoice') {
    item.price = price;
    return;
  }
  const length = item.current_period_end - item.current_period_start;
  const left = Math.max(0, item.current_period_end - state.now());
  const share = (amount: number | null) => Math.round(((amount ?? 0) * left) / length);
  const anchor = update.isAnchoredNow ? state.now() : null;
  const wanted = anchor === null ? share(price.unit_amount) : (price.unit_amount ?? 0);
  const difference = wanted - share(item.price.unit_amount);
  const invoice = invoiceOf(state, subscription, 'subscription_update', difference);
  finalizeInvoice(state, invoice);
  if (invoice.status === 'open' && !collect(state, subscription, invoice)) {
    if (update.behaviour === 'pending_if_incomplete') {
      subscription.pending_update = {
        expires_at: state.now() + PENDING_SECONDS,
        billing_cycle_anchor: anchor,
        subscription_items: [{ id: item.id, price: price.id }],
      };
      return;
    }
    subscription.status = 'past_due';
  }
  applyPrice(subscription, price, anchor);
}

function applyPrice(subscription: Subscription, price: Price, anchor: number | null): void {
  const item = itemOf(subscription);
  item.price = price;
  if (anchor === null) return;
  subscription.billing_cycle_anchor = anchor;
  item.current_period_start = anchor;
  item.current_period_end = periodEnd(anchor, price);
}

function dropPending(state: StripeState, subscription: Subscription): void {
  if (subscription.pending_update === null) return;
  subscription.pending_update = null;
  const invoice = need(state.invoices, subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(state, invoice);
  state.emit('customer.subscription.pending_update_expired', subscription);
}

/** Charges the subscription's method. Returns whether the invoice is paid. */
function collect(state: StripeState, subscription: Subscription, invoice: Invoice): boolean {
  const customer = need(state.customers, subscription.customer);
  const method = customer.invoice_settings.default_payment_method ?? subscription.default_payment_method;
  try {
    payInvoice(state, invoice, method, true);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
  return need(state.invoices, invoice.id).status === 'paid';
}

export function cancelSubscription(state: StripeState, subscription: Subscription): Subscription {
  if (subscription.status === 'canceled') throw invalid('No active subscription.', 'resource_missing', 404);
  subscription.status = 'canceled';
  subscription.canceled_at ??= state.now();
  subscription.ended_at = state.now();
  subscription.pending_update = null;
  const planned = subscription.schedule === null ? undefined : state.schedules.get(subscription.schedule);
  if (planned !== undefined) planned.status = 'canceled';
  state.emit('customer.subscription.deleted', subscription);
  return subscription;
}

export function addSchedule(state: StripeState, subscription: Subscription): Schedule {
  if (subscription.schedule !== null) throw invalid('This subscription already has a schedule.');
  const { current_period_start: start, current_period_end: end, price } = itemOf(subscription);
  const schedule: Schedule = {
    ...state.common('sub_sched', 'subscription_schedule'),
    status: 'active',
    customer: subscription.customer,
    subscription: subscription.id,
    released_subscription: null,
    end_behavior: subscription.cancel_at_period_end ? 'cancel' : 'release',
    current_phase: { start_date: start, end_date: end },
    phases: [{ start_date: start, end_date: end, items: [{ price: price.id, quantity: 1 }] }],
  };
  state.schedules.set(schedule.id, schedule);
  subscription.schedule = schedule.id;
  subscription.cancel_at_period_end = false;
  subscription.cancel_at = null;
  state.emit('subscription_schedule.created', schedule);
  return schedule;
}

export interface NewPhase {
  price: string;
  start: number | null;
  end: number | null;
  duration: { interval: string; count: number } | null;
}

export function updateSchedule(state: StripeState, schedule: Schedule, phases: NewPhase[], endBehavior: string) {
  if (schedule.status !== 'active') throw invalid(`This schedule is ${schedule.status}.`);
  let cursor = phases[0]?.start ?? null;
  if (cursor === null) throw invalid('The first phase needs a start_date.');
  if (cursor !== schedule.current_phase?.start_date)
    throw invalid('The start date of the current phase cannot be changed.');
  schedule.phases = phases.map(({ price, end, duration }) => {
    const start = cursor ?? 0;
    const recurring = need(state.prices, price);
    const until =
      end ?? (duration === null ? periodEnd(start, recurring) : addInterval(start, duration.interval, duration.count));
    if (until <= start) throw invalid('A phase must end after it starts.');
    cursor = until;
    return { start_date: start, end_date: until, items: [{ price, quantity: 1 }] };
  });
  const [first] = schedule.phases;
  schedule.current_phase = first === undefined ? null : { start_date: first.start_date, end_date: first.end_date };
  schedule.end_behavior = endBehavior === 'cancel' ? 'cancel' : 'release';
  state.emit('subscription_schedule.updated', schedule);
  return schedule;
}

export function releaseSchedule(state: StripeState, schedule: Schedule): Schedule {
  if (schedule.status !== 'active') throw invalid(`This schedule is ${schedule.status}.`);
  need(state.subscriptions, schedule.subscription).schedule = null;
  schedule.released_subscription = schedule.subscription;
  schedule.subscription = null;
  schedule.status = 'released';
  schedule.current_phase = null;
  state.emit('subscription_schedule.released', schedule);
  return schedule;
}

/** Moves time in steps of an hour at most, and does what falls due: sessions expire, subscriptions renew or end. */
export function advance(state: StripeState, ms: number): void {
  let left = ms;
  while (left > 0) {
    const step = Math.min(left, HOUR * 1000);
    state.shift(step);
    left -= step;
    for (const subscription of state.subscriptions.values()) tick(state, subscription);
    for (const session of state.sessions.values())
      if (session.status === 'open' && session.expires_at <= state.now()) {
        session.status = 'expired';
        session.url = null;
        state.emit('checkout.session.expired', session);
      }
  }
}

function tick(state: StripeState, subscription: Subscription): void {
  if (subscription.status === 'canceled' || subscription.status === 'incomplete') return;
  const now = state.now();
  if (subscription.pending_update !== null && subscription.pending_update.expires_at <= now)
    dropPending(state, subscription);
  if (itemOf(subscription).current_period_end <= now) {
    if (subscription.cancel_at_period_end) {
      cancelSubscription(state, subscription);
      return;
    }
    renew(state, subscription);
  }
  const invoice = need(state.invoices, subscription.latest_invoice);
  const { nextAttempt } = subscription.hidden;
  if (nextAttempt === null || nextAttempt > now) return;
  if (invoice.status === 'draft') finalizeInvoice(state, invoice);
  if (invoice.status === 'paid' || collect(state, subscription, invoice)) {
    activate(state, subscription);
    return;
  }
  const days = RETRY_DAYS[subscription.hidden.attempts++];
  if (days === undefined) cancelSubscription(state, subscription);
  else {
    subscription.hidden.nextAttempt = invoice.created + days * DAY;
    if (subscription.status === 'past_due') return;
    subscription.status = 'past_due';
    state.emit('customer.subscription.updated', subscription);
  }
}

function renew(state: StripeState, subscription: Subscription): void {
  const item = itemOf(subscription);
  const start = item.current_period_end;
  enterPhase(state, subscription, start);
  item.current_period_start = start;
  item.current_period_end = periodEnd(start, item.price);
  invoiceOf(state, subscription, 'subscription_cycle', item.price.unit_amount ?? 0);
  subscription.hidden = { attempts: 0, nextAttempt: start + HOUR };
  state.emit('customer.subscription.updated', subscription);
}

function enterPhase(state: StripeState, subscription: Subscription, at: number): void {
  const schedule = subscription.schedule === null ? undefined : state.schedules.get(subscription.schedule);
  if (schedule === undefined) return;
  const phase = schedule.phases.find(({ start_date: start, end_date: end }) => start <= at && at < end);
  if (phase === undefined) {
    releaseSchedule(state, schedule);
    return;
  }
  itemOf(subscription).price = need(state.prices, phase.items[0]?.price);
  schedule.current_phase = { start_date: phase.start_date, end_date: phase.end_date };
  state.emit('subscription_schedule.updated', schedule);
}

/** Called when an invoice was paid by the holder. */
export function applyPayment(state: StripeState, invoice: Invoice): void {
  const id = invoice.parent?.subscription_details.subscription;
  const subscription = id === undefined ? undefined : state.subscriptions.get(id);
  if (subscription === undefined || invoice.status !== 'paid' || subscription.latest_invoice !== invoice.id) return;
  const pending = subscription.pending_update?.subscription_items[0];
  if (pending !== undefined) {
    const anchor = subscription.pending_update?.billing_cycle_anchor ?? null;
    applyPrice(subscription, need(state.prices, pending.price), anchor);
    subscription.pending_update = null;
    state.emit('customer.subscription.pending_update_applied', subscription);
    state.emit('customer.subscription.updated', subscription);
  } else if (subscription.status === 'past_due') activate(state, subscription);
}

function itemOf({ items }: Subscription) {
  const [item] = items.data;
  if (item === undefined) throw new Error('a subscription has one item');
  return item;
}

function periodEnd(start: number, { recurring }: Price): number {
  if (recurring === null) throw invalid('The price is not recurring.');
  return addInterval(start, recurring.interval, recurring.interval_count);
}

function addInterval(start: number, interval: string, count: number): number {
  if (interval === 'day') return start + count * DAY;
  if (interval === 'week') return start + count * 7 * DAY;
  const date = new Date(start * 1000);
  const months = interval === 'year' ? 12 * count : count;
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + months);
  const last = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0)).getUTCDate();
  date.setUTCDate(Math.min(day, last));
  return date.getTime() / 1000;
}
