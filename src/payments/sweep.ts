// Looks again at payments that are pending: an event may have been lost, or the process ended between two steps.

import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { Payment, PaymentRow } from './payment.ts';
import type { SubscriptionSync } from './receive-event.ts';
import { type PaymentDependencies, type PaymentSync, postponed } from './sync.ts';

export interface Sweep {
  dependencies: PaymentDependencies;
  sync: PaymentSync;
  subscriptions?: SubscriptionSync;
  /** Continues an auto-recharge whose process ended before the provider had it. */
  resumeRecharge: ((payment: Payment) => Promise<void>) | null;
  report(payment: Payment, failure: unknown): void;
}

/** One pass over the payments that are due. Each failure is reported, and the payment is tried again next time. */
export async function sweepPayments(sweep: Sweep, signal: AbortSignal): Promise<number> {
  const { store, clock } = sweep.dependencies;
  const due = await store.listDuePayments(clock.nowMs(), bounds.paymentsSweptAtOnce);
  for (const payment of due) {
    if (signal.aborted) break;
    try {
      await look(sweep, payment);
    } catch (failure) {
      if (!(failure instanceof Outpaced)) sweep.report(payment, failure);
    }
  }
  return due.length;
}

async function look({ dependencies, sync, subscriptions, resumeRecharge }: Sweep, payment: Payment): Promise<void> {
  const { ledger, clock } = dependencies;
  if (payment.source !== null) {
    await sync.sync(payment.source, formatId('pay', payment.id));
    if (payment.subscription !== null) await subscriptions?.sync(payment.subscription);
    return;
  }
  const nowMs = clock.nowMs();
  // Nobody has the address of a page that the provider may have made; if it is paid after all, its event credits it.
  const isLost = nowMs - payment.createdAtMs > bounds.paymentUnopenedMsMax;
  const next: Payment = isLost
    ? { ...postponed(payment, nowMs), status: 'canceled', checkAtMs: null, updatedAtMs: nowMs }
    : postponed(payment, nowMs);
  if (payment.kind === 'auto_recharge' && !isLost) await resumeRecharge?.(payment);
  await ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment: next }] satisfies PaymentRow[] });
}
