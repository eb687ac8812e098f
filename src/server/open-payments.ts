// Composes payments: the provider that is configured, its webhook route, and the background look at pending payments.

import type { PaymentService } from '../admin-api/admin-api.ts';
import { formatId } from '../base/ids.ts';
import type { CatalogHolder } from '../catalog/catalog.ts';
import { bounds, type Config } from '../config.ts';
import type { NodeLedger } from '../ledger/ledger.ts';
import { describeFailure } from '../observability/observability.ts';
import {
  Checkouts,
  EventReceiver,
  openStripe,
  PaymentChecker,
  type PaymentDependencies,
  PaymentSync,
  type Sweep,
  sweepPayments,
} from '../payments/payments.ts';
import { Secret } from '../secrets/secrets.ts';
import { auditRows } from '../storage/storage.ts';
import type { Observers } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

export interface Payments {
  service: PaymentService;
  receiver: EventReceiver;
  dependencies: PaymentDependencies;
  sync: PaymentSync;
}

interface PaymentParts {
  config: Config;
  store: OpenStore;
  ledger: NodeLedger;
  holder: CatalogHolder;
  observers: Observers;
}

/** null unless a provider is configured. Starts the background look at pending payments. */
export async function openPayments(
  { config, store, ledger, holder, observers }: PaymentParts,
  closing: Closing,
): Promise<Payments | null> {
  const { stripe, publicUrl } = config;
  if (stripe === null || publicUrl === null) return null;
  const provider = await openStripe({
    secretKey: new Secret(stripe.secretKey),
    webhookSecret: new Secret(stripe.webhookSecret),
    apiUrl: stripe.apiUrl,
  });
  const { stores } = store;
  const dependencies: PaymentDependencies = {
    provider,
    store: stores.payments,
    ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
    auditRows,
    clock: observers.clock,
  };
  const sync = new PaymentSync(dependencies);
  const checkouts = new Checkouts(dependencies, sync, () => ({
    publicUrl,
    isTaxAutomatic: holder.current.settings.stripeAutomaticTax,
  }));
  const service = { provider: provider.name, checkouts, checker: new PaymentChecker(dependencies, sync) };
  const payments = { service, receiver: new EventReceiver(dependencies, sync, null), dependencies, sync };
  startSweeping(payments, observers, () => true, closing);
  return payments;
}

/** `isLeading`: whether this node runs background jobs. The returned function stops it. */
function startSweeping(
  { dependencies, sync }: Payments,
  { log }: Pick<Observers, 'log'>,
  isLeading: () => boolean | Promise<boolean>,
  closing: Closing,
): void {
  const stopping = new AbortController();
  const sweep: Sweep = {
    dependencies,
    sync,
    resumeRecharge: null,
    report: (payment, failure) =>
      log.writeEvent('payment_not_checked', { payment: formatId('pay', payment.id), cause: describeFailure(failure) }),
  };
  let running: Promise<unknown> = Promise.resolve();
  let isRunning = false;
  const run = async () => {
    try {
      if (await isLeading()) await sweepPayments(sweep, stopping.signal);
    } catch (failure) {
      log.writeEvent('payments_not_checked', { cause: describeFailure(failure) });
    } finally {
      isRunning = false;
    }
  };
  const timer = setInterval(() => {
    if (isRunning) return; // a slow provider: the next pass begins when this one has ended
    isRunning = true;
    running = run();
  }, bounds.paymentSweepMs);
  timer.unref();
  closing.push(async () => {
    clearInterval(timer);
    stopping.abort();
    await running;
  });
}
