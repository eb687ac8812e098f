// Payments of the accounts, with a bonus: at a Stripe in the process, by the real code that settles payments. Its books are compared
// with the journal.

import { exactNumber } from '../../../src/base/checked-number.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { formatId } from '../../../src/base/ids.ts';
import type { NodeLedger } from '../../../src/ledger/ledger.ts';
import {
  bonusOf,
  Checkouts,
  type Payment,
  type PaymentDependencies,
  PaymentSync,
  readBonusTiers,
} from '../../../src/payments/payments.ts';
import { auditRows } from '../../../src/storage/storage.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { ApiError, ScriptedStripe } from '../../support/scripted-stripe.ts';

/** An operator's refund, a dispute that the holder opens, and its end. */
export const reversals = ['refund', 'dispute', 'dispute lost', 'dispute won'] as const;
export type Reversal = (typeof reversals)[number];

export const CENTS_MOST = 300;
const TIERS = readBonusTiers(['0.50: 3.33%', '2: 25%']);
const NANO_PER_CENT = 10_000_000n;

/** `payment` is counted from the last. */
export interface Taking {
  how: Reversal;
  payment: number;
  cents: number;
}

/** Amounts that the journal must have. */
export interface TillBooks {
  paid: bigint;
  bonus: bigint;
}

export class Till {
  readonly #stripe: ScriptedStripe;
  readonly #stores: Pick<Stores, 'accounts'>;
  readonly #dependencies: PaymentDependencies;
  readonly #sync: PaymentSync;
  readonly #checkouts: Checkouts;
  readonly #payments = new Map<number, { id: number; session: string; cents: number }[]>();

  constructor(stores: Pick<Stores, 'accounts' | 'payments' | 'ledger'>, ledger: NodeLedger, clock: Clock) {
    this.#stripe = new ScriptedStripe({ nowMs: clock.nowMs });
    this.#stores = stores;
    this.#dependencies = {
      provider: this.#stripe.directProvider(),
      store: stores.payments,
      ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
      auditRows,
      clock,
    };
    this.#sync = new PaymentSync(this.#dependencies);
    const settings = () => ({ publicUrl: 'https://turnpike.example.com', isTaxAutomatic: false });
    this.#checkouts = new Checkouts(this.#dependencies, this.#sync, settings);
  }

  async pay(accountId: number, cents: number): Promise<void> {
    const account = await this.#stores.accounts.getAccount(accountId);
    if (account === null) throw new Error('the account is missing');
    const billing = await this.#checkouts.customerOf(account, null, () => noAuditContext);
    const amount = exactNumber(BigInt(cents) * NANO_PER_CENT);
    const payment: Payment = this.#checkouts.plan(billing, amount, bonusOf(amount, TIERS));
    await this.#dependencies.ledger.submit({ operations: [], coCommitted: [{ table: 'payments', payment }] });
    const { source } = await this.#checkouts.open(payment);
    if (source === null) throw new Error('the page is missing');
    this.#stripe.payCheckout(source, 'good');
    const own = this.#payments.get(accountId) ?? [];
    this.#payments.set(accountId, [...own, { id: payment.id, session: source, cents }]);
    await this.#settle(payment.id, source);
  }

  /** Nothing if there is no such payment. */
  async takeBack(accountId: number, { how, payment: back, cents }: Taking): Promise<void> {
    const payment = this.#payments.get(accountId)?.at(-1 - back);
    if (payment === undefined) return;
    const { intent, disputes } = this.#ofSession(payment.session);
    try {
      if (how === 'refund') this.#stripe.refund(intent, cents);
      else if (how === 'dispute') this.#stripe.openDispute(intent, { amount: cents });
      else
        for (const { id, status } of disputes)
          if (status === 'needs_response') this.#stripe.closeDispute(id, how === 'dispute won' ? 'won' : 'lost');
    } catch (failure) {
      if (!(failure instanceof ApiError)) throw failure; // as Stripe does: more than was paid
    }
    await this.#settle(payment.id, payment.session);
  }

  /** Rounded as docs/payments.md says. */
  booksOf(accountId: number): TillBooks {
    const books = { paid: 0n, bonus: 0n };
    for (const { session, cents } of this.#payments.get(accountId) ?? []) {
      const { refunds, disputes } = this.#ofSession(session);
      const taken = [...refunds, ...disputes].reduce((sum, { amount }) => sum + amount, 0);
      const left = BigInt(Math.max(0, cents - taken)) * NANO_PER_CENT;
      const paid = BigInt(cents) * NANO_PER_CENT;
      const bonus = (paid * (cents >= 200 ? 2_500n : 333n)) / 10_000n;
      books.paid += left;
      books.bonus += (bonus * left) / paid;
    }
    return books;
  }

  #ofSession(session: string) {
    const { sessions, refunds, disputes } = this.#stripe.state;
    const intent = sessions.get(session)?.payment_intent ?? '';
    const own = <Row extends { payment_intent: string; status: string }>(rows: Map<string, Row>) =>
      [...rows.values()].filter((row) => row.payment_intent === intent);
    return { intent, refunds: own(refunds), disputes: own(disputes).filter(({ status }) => status !== 'won') };
  }

  async #settle(payment: number, session: string): Promise<void> {
    await this.#sync.sync(session, formatId('pay', payment));
  }
}
