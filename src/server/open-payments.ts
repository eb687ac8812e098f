// Composes payments: the provider that is configured, the service that the admin API uses, and the background look at
// pending payments.

import type { AdminApi, PaymentService } from '../admin-api/admin-api.ts';
import { formatId } from '../base/ids.ts';
import { parseUsd } from '../base/money.ts';
import type { CatalogHolder, Settings } from '../catalog/catalog.ts';
import { bounds, type Config, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET } from '../config/config.ts';
import type { SettingSecrets } from '../credentials/credentials.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import {
  AutoRecharges,
  Checkouts,
  EventReceiver,
  groupOf,
  openStripe,
  PaymentChecker,
  type PaymentDependencies,
  PaymentSync,
  PlanSales,
  PlanSubscriptions,
  type RechargeTerms,
  readBonusTiers,
  type Sweep,
  sweepPayments,
} from '../payments/payments.ts';
import { auditRows } from '../storage/storage.ts';
import type { SeldomJob } from './jobs.ts';
import type { Observers } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

const HOUR_MS = 60 * 60 * 1000;

export interface Payments {
  service: PaymentService;
  receiver: EventReceiver;
  dependencies: PaymentDependencies;
  sync: PaymentSync;
  recharges: AutoRecharges;
  subscriptions: PlanSubscriptions;
}

/** Parts of the process that are opened after the payments. */
export interface OpenedLater {
  gateway: Gateway;
  admin: Pick<AdminApi, 'addPaidGroup'>;
}

interface PaymentParts {
  config: Config;
  store: OpenStore;
  holder: CatalogHolder;
  observers: Observers;
  secrets: SettingSecrets;
  later(): OpenedLater;
}

/** null unless a provider is configured. */
export async function openPayments(
  { config, store, holder, observers, secrets, later }: PaymentParts,
  closing: Closing,
): Promise<Payments | null> {
  const { stripe, publicUrl } = config;
  if (stripe === null || publicUrl === null) return null;
  const provider = await openStripe({
    secretKey: await secrets.open(STRIPE_SECRET_KEY, stripe.secretKey),
    webhookSecret: await secrets.open(STRIPE_WEBHOOK_SECRET, stripe.webhookSecret),
    apiUrl: stripe.apiUrl,
  });
  const { stores, ledger } = store;
  const dependencies: PaymentDependencies = {
    provider,
    store: stores.payments,
    ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
    auditRows,
    clock: observers.clock,
    groups: {
      of: ({ amount }) => groupOf(amount, holder.current.settings.rechargeGroups),
      add: ({ id }) => later().admin.addPaidGroup(id),
    },
  };
  const sync = new PaymentSync(dependencies);
  const settings = () => ({ publicUrl, isTaxAutomatic: holder.current.settings.stripeAutomaticTax });
  const checkouts = new Checkouts(dependencies, sync, settings);
  const subscriptions = new PlanSubscriptions({
    ...dependencies,
    plans: () => holder.current.plans,
    graceMs: () => holder.current.settings.planGraceHours * HOUR_MS,
    changed: (account) => later().gateway.authenticator.keys.forgetAccount(account),
  });
  const recharges = new AutoRecharges({
    ...dependencies,
    accounts: stores.accounts,
    ledger: { ...dependencies.ledger, flush: () => ledger.flush() },
    sync,
    terms: () => termsOf(holder.current.settings),
    report: (failure) => observers.log.writeEvent('recharge_failure', { cause: describeFailure(failure) }),
  });
  closing.push(() => recharges.close());
  const checker = new PaymentChecker(dependencies, sync, subscriptions);
  const sales = new PlanSales({ ...dependencies, subscriptions, settings });
  return {
    service: { provider: provider.name, recharges, checkouts, checker, sales },
    receiver: new EventReceiver(dependencies, sync, subscriptions),
    dependencies,
    sync,
    recharges,
    subscriptions,
  };
}

function termsOf(settings: Settings): RechargeTerms {
  return {
    minimum: parseUsd(settings.rechargeMin) ?? 0,
    maximum: parseUsd(settings.rechargeMax) ?? 0,
    perDayMax: settings.autoRechargesPerDayMax,
    isTaxAutomatic: settings.stripeAutomaticTax,
    bonusTiers: readBonusTiers(settings.rechargeBonus),
  };
}

/** Payments that are pending are looked at, on the node that leads. */
export function paymentJobs(payments: Payments | null, log: Pick<LogWriter, 'writeEvent'>): SeldomJob[] {
  if (payments === null) return [];
  const { dependencies, sync, subscriptions, recharges } = payments;
  const sweep: Sweep = {
    dependencies,
    sync,
    subscriptions,
    resumeRecharge: (payment) => recharges.resume(payment),
    report: (payment, failure) =>
      log.writeEvent('payment_not_checked', { payment: formatId('pay', payment.id), cause: describeFailure(failure) }),
  };
  const run = async (signal: AbortSignal) => void (await sweepPayments(sweep, signal));
  return [{ name: 'pending payments', firstAfterMs: 0, everyMs: bounds.paymentSweepMs, run }];
}
