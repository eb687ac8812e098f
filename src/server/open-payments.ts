// Composes payments: the provider that is configured, its webhook route, and the background look at pending payments.

import type { PaymentService } from '../admin-api/admin-api.ts';
import { formatId } from '../base/ids.ts';
import { parseUsd } from '../base/money.ts';
import type { CatalogHolder, Settings } from '../catalog/catalog.ts';
import { bounds, type Config } from '../config.ts';
import type { NodeLedger } from '../ledger/ledger.ts';
import { describeFailure } from '../observability/observability.ts';
import {
  AutoRecharges,
  Checkouts,
  EventReceiver,
  openStripe,
  PaymentChecker,
  type PaymentDependencies,
  PaymentSync,
  type RechargeTerms,
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
  recharges: AutoRecharges;
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
  const recharges = new AutoRecharges({
    ...dependencies,
    accounts: stores.accounts,
    ledger: { ...dependencies.ledger, flush: () => ledger.flush() },
    sync,
    terms: () => termsOf(holder.current.settings),
    report: (failure) => observers.log.writeEvent('recharge_failure', { cause: describeFailure(failure) }),
  });
  closing.push(() => recharges.close());
  const service = { provider: provider.name, recharges, checkouts, checker: new PaymentChecker(dependencies, sync) };
  const payments = { service, receiver: new EventReceiver(dependencies, sync, null), dependencies, sync, recharges };
  startSweeping(payments, observers, () => true, closing);
  return payments;
}

function termsOf(settings: Settings): RechargeTerms {
  return {
    minimum: parseUsd(settings.rechargeMin) ?? 0,
    maximum: parseUsd(settings.rechargeMax) ?? 0,
    perDayMax: settings.autoRechargesPerDayMax,
    isTaxAutomatic: settings.stripeAutomaticTax,
  };
}

/** `isLeading`: whether this node runs background jobs. The returned function stops it. */
function startSweeping(
  { dependencies, sync, recharges }: Payments,
  { log }: Pick<Observers, 'log'>,
  isLeading: () => boolean | Promise<boolean>,
  closing: Closing,
): void {
  const stopping = new AbortController();
  const sweep: Sweep = {
    dependencies,
    sync,
    resumeRecharge: (payment) => recharges.resume(payment),
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
