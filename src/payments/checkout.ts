// Payments that a holder makes on a page of the provider, and the provider's portal. The row of a payment is stored
// before the provider is asked, and names it there: after a crash the same call continues with the same payment.

import type { Account } from '../accounts/accounts.ts';
import type { AuditContext } from '../audit/audit.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { Outpaced } from '../ledger/ledger.ts';
import type { Billing, Payment, PaymentRow } from './payment.ts';
import type { StartedCheckout } from './provider.ts';
import { centsOf } from './settle-payment.ts';
import { newPayment, type PaymentDependencies, type PaymentSync } from './sync.ts';

/** Where the provider sends people back to, without a path. */
export interface CheckoutSettings {
  publicUrl: string;
  isTaxAutomatic: boolean;
}

/** Page of the console that shows payments. */
export const RETURN_PATH = '/console/billing';

export class Checkouts {
  readonly #on: PaymentDependencies;
  readonly #sync: PaymentSync;
  readonly #settings: () => CheckoutSettings;

  constructor(dependencies: PaymentDependencies, sync: PaymentSync, settings: () => CheckoutSettings) {
    this.#on = dependencies;
    this.#sync = sync;
    this.#settings = settings;
  }

  /**
   * The billing facts of the account, which becomes a customer of the provider if it is none. `audit` makes the audit
   * context of that.
   */
  async customerOf(
    account: Account,
    email: string | null,
    audit: (billing: Billing) => AuditContext,
  ): Promise<Billing> {
    const { store, provider, ledger, auditRows } = this.#on;
    const known = await store.getBilling(account.id);
    if (known !== null) return known;
    const customer = await provider.createCustomer({
      account: formatId('acct', account.id),
      name: account.name,
      email,
    });
    const billing: Billing = {
      accountId: account.id,
      version: 1,
      customer,
      method: null,
      rechargeFailure: null,
      subscription: null,
    };
    try {
      const row: PaymentRow = { table: 'billing', billing };
      await ledger.submit({ operations: [], coCommitted: [row, ...auditRows(audit(billing))] });
      return billing;
    } catch (failure) {
      // Another request was first; its customer is used from now on.
      const other = failure instanceof Outpaced ? await store.getBilling(account.id) : null;
      if (other === null) throw failure;
      return other;
    }
  }

  /**
   * Makes room for another payment: unpaid pages beyond the bound are closed, the oldest first. Throws conflict if all of
   * them are on their way, or if there were too many today.
   */
  async makeRoom(accountId: number): Promise<void> {
    const { store, provider, clock } = this.#on;
    const today = await store.countPaymentsSince(accountId, 'checkout', clock.nowMs() - bounds.paymentsCountedMs);
    if (today >= bounds.paymentsPerDayMax)
      throw new TurnpikeError(
        'conflict',
        `This account began ${today} payments within a day, the most that is allowed.`,
      );
    for (let tries = 0; (await store.countPending(accountId)) >= bounds.paymentsPendingMax; tries++) {
      const limit = bounds.paymentsPendingMax * 2;
      const page = {
        accountId,
        status: 'pending',
        kind: 'checkout',
        sinceMs: null,
        untilMs: null,
        after: null,
        limit,
      } as const;
      const oldest = (await store.listPayments(page)).findLast(({ source, actionUrl }) => source && actionUrl);
      if (oldest?.source == null || tries >= limit)
        throw new TurnpikeError(
          'conflict',
          `This account has ${bounds.paymentsPendingMax} payments that are not completed. Wait until one is.`,
        );
      await provider.cancelPayment(oldest.source);
      await this.#sync.sync(oldest.source, formatId('pay', oldest.id));
    }
  }

  /** A payment to be stored. */
  plan(billing: Billing, amount: Nano, bonus: Nano = 0): Payment {
    const { accountId, customer } = billing;
    return newPayment({ accountId, kind: 'checkout', customer, amount, bonus }, this.#on.clock.nowMs());
  }

  /** Opens the page of a stored payment. Returns the payment with its address, unless it has ended. */
  async open(payment: Payment): Promise<Payment> {
    if (payment.status !== 'pending' || payment.source !== null) return payment;
    const { publicUrl, isTaxAutomatic } = this.#settings();
    const id = formatId('pay', payment.id);
    const url = (outcome: string) => `${publicUrl}${RETURN_PATH}?payment=${id}&outcome=${outcome}`;
    const started = await this.#on.provider.startCheckout({
      payment: id,
      account: formatId('acct', payment.accountId),
      customer: payment.customer,
      amountCents: centsOf(payment.amount),
      description: `Credit of ${formatUsd(payment.amount)} USD`,
      successUrl: url('paid'),
      cancelUrl: url('canceled'),
      isTaxAutomatic,
      savesMethod: true,
    });
    return this.#store(payment, started);
  }

  async #store(payment: Payment, { source, url }: StartedCheckout): Promise<Payment> {
    const { ledger, clock } = this.#on;
    const version = payment.version + 1;
    const opened: Payment = { ...payment, source, actionUrl: url, version, updatedAtMs: clock.nowMs() };
    try {
      await ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment: opened }] });
      return opened;
    } catch (failure) {
      // An event or another request stored it first.
      if (!(failure instanceof Outpaced)) throw failure;
      return (await this.#sync.sync(source, formatId('pay', payment.id))) ?? opened;
    }
  }

  /** The address of the portal, where the holder changes payment methods and finds receipts. */
  openPortal({ customer }: Billing): Promise<string> {
    return this.#on.provider.openPortal(customer, `${this.#settings().publicUrl}${RETURN_PATH}`);
  }
}
