// Payments: what can be paid, the payments of accounts, a new one on the provider's page, the provider's portal, and
// reconciliation. Nothing here credits an account: only the provider's own word does.

import { z } from '@hono/zod-openapi';
import type { Account } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { formatUsd, type Nano, parseUsd } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  auditJson,
  type Billing,
  bonusOf,
  differenceKinds,
  isWholeCents,
  type Payment,
  type PaymentDifference,
  paymentKinds,
  paymentStatuses,
  readBonusTiers,
} from '../payments/payments.ts';
import { refuseUnusedBalance } from './account-tree.ts';
import { accountForNew, askedAccount, findAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { changeNote, createOnce, recordAudit } from './changes.ts';
import { accountOf, holders, holdersWhoChange, maySeeAccount, operator, type PaymentService } from './dependencies.ts';
import { encoderOf, type ValueOf } from './encode.ts';
import {
  accountField,
  accountShown,
  amountField,
  amountShown,
  countShown,
  idField,
  isoTime,
  timeField,
  timeShown,
} from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, post } from './route.ts';

export const paymentOptionsSchema = z
  .object({
    provider: z.enum(['stripe']).nullable().describe('null: no payments are taken.'),
    currency: z.literal('usd'),
    amounts: z.array(amountShown).describe('Amounts to offer.'),
    minimum: amountShown,
    maximum: amountShown,
    bonuses: z
      .array(z.object({ from: amountShown, percent: z.string() }))
      .describe(
        'The bonus of recharges from an amount on, lowest first: the last step that the amount reaches applies.',
      ),
    auto_recharges_per_day_max: countShown,
    portal: z.boolean().describe('Whether the provider has a portal for methods and receipts.'),
    instructions: z.string().nullable().describe('How an account gets credit while no payments are taken.'),
  })
  .openapi('PaymentOptions');

export const paymentSchema = z
  .object({
    id: idField('pay'),
    account: accountShown,
    kind: z.enum(paymentKinds),
    status: z.enum(paymentStatuses),
    amount: amountShown.describe('The amount asked for, without taxes.'),
    credited: amountShown.describe('The part that is credited: paid, and neither refunded nor disputed.'),
    bonus: amountShown.describe('The bonus when it is paid, besides the amount.'),
    bonus_credited: amountShown.describe(
      'The part of the bonus that is credited, in the proportion of `credited` to `amount`.',
    ),
    total: amountShown.describe('The amount paid, with taxes; 0.00 until it is known.'),
    tax: amountShown,
    refunded: amountShown.describe('The refunded part of the total.'),
    disputed: amountShown.describe('The disputed part of the total.'),
    fee: amountShown.nullable().describe("The provider's fee; null if it is unknown, or not shown to this role."),
    currency: z.literal('usd'),
    provider: z.enum(['stripe']),
    checkout_url: z.string().nullable().describe('Where it can be paid; null once it cannot.'),
    receipt_url: z.string().nullable(),
    failure: z.object({ code: z.string(), message: z.string() }).nullable(),
    mismatch: z.string().nullable().describe('Why it is not credited although it is paid; null if it matches.'),
    created_at: timeShown,
    updated_at: timeShown,
  })
  .openapi('Payment');

const encodePayment = encoderOf(paymentSchema);

/** Values for `paymentSchema`. */
export function paymentOf({ principal }: Pick<Call, 'principal'>, payment: Payment): ValueOf<typeof paymentSchema> {
  const fee = principal.accountId === null ? payment.fee : null;
  const { bonus = 0, bonusCredited = 0 } = payment;
  return { ...payment, bonus, bonusCredited, fee, currency: 'usd', checkoutUrl: payment.actionUrl };
}

function paymentJson(call: Call, payment: Payment): z.infer<typeof paymentSchema> {
  return encodePayment(paymentOf(call, payment));
}

/** The bonus that the settings in force give. */
function bonusFor({ catalog }: Pick<Call, 'catalog'>, amount: Nano): Nano {
  return bonusOf(amount, readBonusTiers(catalog.current().settings.rechargeBonus));
}

const createBody = z.strictObject({
  account: accountField.optional().describe('Required for operators.'),
  amount: amountField(0).describe('USD to buy, in whole cents, within payment-options-show.'),
});
const checkBody = z.strictObject({
  since: timeField
    .optional()
    .describe(`Payments created from this time; by default ${bounds.paymentsCheckedDays} days ago.`),
  until: timeField.optional().describe('Payments created before this time; by default now.'),
  repair: z
    .boolean()
    .optional()
    .describe("Brings payments that differ to the provider's state first, and reports what still differs."),
});

export const paymentCheckSchema = z
  .object({
    ok: z.boolean().describe('Whether nothing differs in the part that was compared.'),
    compared: countShown,
    checked_until: timeShown.describe('The range is compared up to this time.'),
    is_complete: z.boolean().describe('False: continue with `since` = `checked_until`.'),
    differences: z.array(
      z.object({
        kind: z.enum(differenceKinds),
        payment: idField('pay').nullable(),
        source: z.string().nullable().describe("The provider's id."),
        account: idField('acct').nullable(),
        worth: z.string().nullable().describe('USD that the provider’s payment is worth.'),
        credited: amountShown.nullable().describe('USD that the journal has credited.'),
        message: z.string(),
      }),
    ),
  })
  .openapi('PaymentCheck');

export const paymentRoutes: AdminRoute[] = [
  get('/payment-options', 'payment-options-show', 'Retrieve what can be paid', holders, {
    answer: [paymentOptionsSchema, 'Amounts and their bounds'],
    handle({ catalog, payments }) {
      const { rechargeAmounts, rechargeMin, rechargeMax, autoRechargesPerDayMax, rechargeBonus, rechargeInstructions } =
        catalog.current().settings;
      return {
        provider: payments === null ? null : payments.provider,
        currency: 'usd' as const,
        amounts: rechargeAmounts.map(shownAmount),
        minimum: shownAmount(rechargeMin),
        maximum: shownAmount(rechargeMax),
        bonuses: readBonusTiers(rechargeBonus).map(({ from, percent }) => ({ from: formatUsd(from), percent })),
        auto_recharges_per_day_max: autoRechargesPerDayMax,
        portal: payments !== null,
        instructions: payments === null ? rechargeInstructions : null,
      };
    },
  }),
  list('/payments', 'payment-list', 'List payments', holders, {
    query: {
      account: accountField.optional(),
      status: z.enum(paymentStatuses).optional(),
      kind: z.enum(paymentKinds).optional(),
      since: timeField.optional().describe('Only payments created from this time.'),
      until: timeField.optional().describe('Only payments created up to this time.'),
    },
    page: [paymentSchema, 'Payments, newest first'],
    async handle(call) {
      const { account, status = null, kind = null, since = null, until = null, limit } = call.query;
      const accountId = accountOf(call.principal, await askedAccount(call, account));
      const untilMs = until === null ? null : until + 1;
      const page = { accountId, status, kind, sinceMs: since, untilMs, after: after(call), limit };
      const rows = await call.paymentStore.listPayments(page);
      return answerPage(
        call,
        rows,
        (row) => paymentJson(call, row),
        ({ id }) => id,
      );
    },
  }),
  get('/payments/{id}', 'payment-show', 'Retrieve a payment', holders, {
    params: z.object({ id: idField('pay') }),
    answer: [paymentSchema, 'The payment'],
    handle: async (call) => paymentJson(call, await findPayment(call, call.params.id)),
  }),
  post('/payments', 'payment-create', 'Begin a payment on the page of the payment provider', holdersWhoChange, {
    body: createBody,
    isCreation: true,
    conflict:
      'No payments are taken here, the account is disabled or pays from the one above, or too many of its payments are not completed',
    answer: [paymentSchema, 'The payment, to be made at `checkout_url`'],
    links: ['payment-show'],
    async handle(call) {
      const payments = requirePayments(call);
      const account = await accountForNew(call, call.body.account, 'is required: name the account to credit');
      refuseDisabled(account);
      refuseUnusedBalance(account);
      checkAmount(call);
      const billing = await customerOf(call, payments, account);
      await payments.checkouts.makeRoom(account.id);
      const { object } = await createOnce(call, async (remember) => {
        const payment = payments.checkouts.plan(billing, call.body.amount, bonusFor(call, call.body.amount));
        const id = formatId('pay', payment.id);
        const note = changeNote('payment.create', id, account.id, null, auditJson(payment));
        const auditContext = { ...recordAudit(call, [note], remember(id, null)), since: null };
        const coCommitted = [{ table: 'payments', payment }, ...call.auditRows(auditContext)];
        await call.ledger.submit({ operations: [], coCommitted });
        return { object: id, secret: null };
      });
      // Outside of the lock, as the provider may take long. A repeated request continues here.
      return paymentJson(call, await payments.checkouts.open(await findPayment(call, object)));
    },
  }),
  post('/accounts/{id}/portal', 'portal-create', "Open the payment provider's portal", holdersWhoChange, {
    params: z.object({ id: idField('acct') }),
    body: z.strictObject({}),
    conflict: 'No payments are taken here',
    answer: [z.object({ url: z.string() }), 'The address of the portal, for the holder only; it expires soon'],
    async handle(call) {
      const payments = requirePayments(call);
      const { account } = await findAccount(call, call.params.id);
      return { url: await payments.checkouts.openPortal(await customerOf(call, payments, account)) };
    },
  }),
  post('/payments/check', 'payment-check', "Compare the journal with the payment provider's list", operator, {
    body: checkBody,
    conflict: 'No payments are taken here',
    answer: [paymentCheckSchema, 'The differences'],
    async handle(call) {
      const { checker, sales } = requirePayments(call);
      const nowMs = call.clock.nowMs();
      const { until = nowMs, since = until - bounds.paymentsCheckedDays * bounds.paymentCheckPartMs } = call.body;
      if (until > nowMs + bounds.paymentCheckPartMs) throw invalidMember('until', 'must not be in the future');
      if (since >= until) throw invalidMember('since', 'must be before until');
      const isRepairing = call.body.repair ?? false;
      const { compared, differences, checkedUntilMs } = await checker.check({
        sinceMs: since,
        untilMs: until,
        isRepairing,
      });
      // Once, with the last part of the range.
      const plans = checkedUntilMs < until ? [] : [...call.catalog.current().plans.values()];
      for (const plan of plans) {
        const message = plan.stripePrice === null ? null : await sales.findPriceFault(plan);
        if (message === null) continue;
        const nothing = { payment: null, account: null, worth: null, credited: null };
        differences.push({
          ...nothing,
          kind: 'plan_price',
          source: plan.stripePrice,
          message: `${plan.name}: ${message}`,
        });
      }
      return {
        ok: differences.length === 0,
        compared,
        checked_until: isoTime(checkedUntilMs),
        is_complete: checkedUntilMs >= until,
        differences: differences as (PaymentDifference & { credited: string | null })[],
      };
    },
  }),
];

/** Throws conflict if no provider is set. */
export function requirePayments({ payments }: Pick<Call, 'payments'>): PaymentService {
  if (payments !== null) return payments;
  throw new TurnpikeError('conflict', 'This service takes no payments.');
}

/** The account as a customer of the provider, which it becomes with its first payment. */
export async function customerOf(call: Call, { checkouts }: PaymentService, account: Account): Promise<Billing> {
  return checkouts.customerOf(account, await emailOf(call), ({ customer }) => {
    const note = changeNote('billing.create', formatId('acct', account.id), account.id, null, { customer });
    return { ...recordAudit(call, [note]), since: null };
  });
}

function findPayment(call: Call, id: string): Promise<Payment> {
  const isSeen = ({ accountId }: Payment) => maySeeAccount(call, accountId);
  return findObject('pay', 'payment', id, call.paymentStore.getPayment, isSeen);
}

export function refuseDisabled({ id, status }: Account): void {
  if (status === 'enabled') return;
  throw new TurnpikeError('conflict', `The account ${formatId('acct', id)} is disabled.`);
}

function checkAmount({ body: { amount }, catalog }: CallWith<typeof createBody>): void {
  const { rechargeMin, rechargeMax } = catalog.current().settings;
  if (amount < nanoOf(rechargeMin) || amount > nanoOf(rechargeMax))
    throw invalidMember('amount', `must be from ${shownAmount(rechargeMin)} to ${shownAmount(rechargeMax)}`);
  if (!isWholeCents(amount)) throw invalidMember('amount', 'must be in whole cents, such as "25.00"');
}

/** A setting, which is a valid amount. */
export function nanoOf(text: string): Nano {
  return parseUsd(text) ?? 0;
}

export function shownAmount(text: string): string {
  return formatUsd(nanoOf(text));
}

/** The email of the person who asks, for the provider's receipts. */
async function emailOf({ principal, people }: Call): Promise<string | null> {
  const id = parseId('person', principal.id);
  return id === null ? null : ((await people.getPerson(id))?.email ?? null);
}
