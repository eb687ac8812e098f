// Payments over a scripted Stripe in process and the stores of a test: the real sync, pages, webhooks and check.

import type { Clock } from '../../src/base/clock.ts';
import type { PlanSettings } from '../../src/catalog/catalog.ts';
import {
  AutoRecharges,
  Checkouts,
  EventReceiver,
  openStripe,
  PaymentChecker,
  type PaymentDependencies,
  PaymentSync,
  PlanSales,
  PlanSubscriptions,
} from '../../src/payments/payments.ts';
import { Secret } from '../../src/secrets/secrets.ts';
import { auditRows } from '../../src/storage/storage.ts';
import type { Stores } from '../../src/storage/stores.ts';
import { ScriptedStripe } from './scripted-stripe.ts';

export interface ScriptedPayments {
  stripe: ScriptedStripe;
  dependencies: PaymentDependencies;
  sync: PaymentSync;
  checkouts: Checkouts;
  receiver: EventReceiver;
  checker: PaymentChecker;
  recharges: AutoRecharges;
  subscriptions: PlanSubscriptions;
  sales: PlanSales;
}

export const PUBLIC_URL = 'https://turnpike.example.com';

export async function openScriptedPayments(
  stores: Pick<Stores, 'accounts' | 'payments' | 'ledger' | 'gate'>,
  clock: Clock,
  stripe = new ScriptedStripe({ nowMs: clock.nowMs }),
  plans: () => ReadonlyMap<string, PlanSettings> = () => new Map(),
): Promise<ScriptedPayments> {
  const provider = await openStripe(
    { secretKey: new Secret(stripe.secretKey), webhookSecret: new Secret(stripe.webhookSecret), apiUrl: null },
    { send: stripe.send, nowMs: () => stripe.state.now() * 1000, retriesMax: 0 },
  );
  const dependencies: PaymentDependencies = {
    provider,
    store: stores.payments,
    ledger: { ...stores.ledger, submit: (bundle) => stores.gate.submit(bundle) },
    auditRows,
    clock,
  };
  const sync = new PaymentSync(dependencies);
  const recharges = new AutoRecharges({
    ...dependencies,
    ledger: { ...dependencies.ledger, flush: async () => {} },
    accounts: stores.accounts,
    sync,
    terms: () => ({ minimum: 0, maximum: 10 ** 12, perDayMax: 10, isTaxAutomatic: false, bonusTiers: [] }),
    report: () => {},
  });
  const settings = () => ({ publicUrl: PUBLIC_URL, isTaxAutomatic: false });
  const subscriptions = new PlanSubscriptions({
    ...dependencies,
    plans,
    graceMs: () => 72 * 3600 * 1000,
    changed: () => {},
  });
  return {
    stripe,
    dependencies,
    sync,
    checkouts: new Checkouts(dependencies, sync, settings),
    receiver: new EventReceiver(dependencies, sync, subscriptions),
    checker: new PaymentChecker(dependencies, sync, subscriptions),
    recharges,
    subscriptions,
    sales: new PlanSales({ ...dependencies, subscriptions, settings }),
  };
}
