// The automatic recharge of an account: its threshold, amount and limit, the saved method, and the last failure.

import { z } from '@hono/zod-openapi';
import type { Account, AutoRecharge } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import { isSuspended, isWholeCents, latestRecharges, type Payment, type SavedMethod } from '../payments/payments.ts';
import { findAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { holders, holdersWhoChange } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountField, amountShown, countShown, idField, isoTime, timeShown } from './fields.ts';
import { nanoOf, requirePayments, shownAmount } from './payments.ts';
import { type AdminRoute, type CallWith, get, patch } from './route.ts';

const methodSchema = z.object({
  kind: z.string().describe('Such as "card" or "us_bank_account".'),
  brand: z.string().nullable().describe('Such as "visa", or the name of the bank.'),
  last4: z.string().nullable(),
  expires_year: z.int().nullable(),
  expires_month: z.int().nullable(),
});

export const autoRechargeSchema = z
  .object({
    account: idField('acct'),
    enabled: z.boolean(),
    threshold: amountShown.nullable().describe('Recharged when less is available; null until it is enabled.'),
    amount: amountShown.nullable().describe('The credit to buy, without taxes.'),
    per_day_max: countShown.nullable().describe('In a day (UTC), without those that fail.'),
    is_suspended: z
      .boolean()
      .describe(`Switched off after ${bounds.rechargeFailuresMax} failures in a row; enable it again to resume.`),
    payment_method: methodSchema.nullable().describe('The saved method that is charged; null: none is saved.'),
    last_failure: z
      .object({ payment: idField('pay'), at: timeShown, code: z.string(), message: z.string() })
      .nullable()
      .describe('Of the last automatic recharge; null if it did not fail.'),
  })
  .openapi('AutoRecharge');

const encodeRecharge = encoderOf(autoRechargeSchema);
const encodeTerms = encoderOf(
  autoRechargeSchema.pick({ enabled: true, threshold: true, amount: true, per_day_max: true }),
);

const changeBody = z
  .strictObject({
    enabled: z.boolean(),
    threshold: amountField(0)
      .refine((amount) => amount > 0, 'must be above zero')
      .describe('Recharges when less than this is available.'),
    amount: amountField(0).describe('The credit to buy: USD in whole cents, within payment-options-show.'),
    per_day_max: z.int().min(1, 'must be at least 1').max(1_000).describe('The most recharges in a day (UTC).'),
  })
  .partial();
const params = z.object({ id: idField('acct') });

export const autoRechargeRoutes: AdminRoute[] = [
  get('/accounts/{id}/auto-recharge', 'auto-recharge-show', 'Retrieve the automatic recharge of an account', holders, {
    params,
    answer: [autoRechargeSchema, 'The automatic recharge'],
    async handle(call) {
      const { account } = await findAccount(call, call.params.id);
      const method = (await call.payments?.recharges.savedMethod(account.id)) ?? null;
      return autoRechargeJson(account, await latestRecharges(call.paymentStore, account.id), method);
    },
  }),
  patch(
    '/accounts/{id}/auto-recharge',
    'auto-recharge-change',
    'Change or switch the automatic recharge of an account',
    holdersWhoChange,
    {
      params,
      body: changeBody,
      conflict: 'No payments are taken here',
      answer: [autoRechargeSchema, 'The automatic recharge'],
      async handle(call) {
        const { recharges } = requirePayments(call);
        const { id } = call.params;
        const found = await findAccount(call, id);
        const method = await recharges.savedMethod(found.account.id); // outside of the lock, as the provider may take long
        const account = await call.changeInTurn(async () => {
          const { account: before } = await findAccount(call, id);
          const autoRecharge = changedRecharge(call, before, method);
          const after: Account = { ...before, autoRecharge };
          if (autoRecharge === null && before.autoRecharge == null) return before;
          const note = changeNote('auto_recharge.update', id, before.id, auditJson(before), auditJson(after));
          const auditContext = recordAudit(call, [note]);
          const coCommitted = [{ table: 'accounts', account: after }, ...call.auditRows(auditContext)];
          await call.ledger.submit({ operations: [], coCommitted });
          call.forgetAccount(before.id);
          return after;
        });
        return autoRechargeJson(account, await latestRecharges(call.paymentStore, account.id), method);
      },
    },
  ),
];

/** The setting after a change. Throws invalid_request. */
function changedRecharge(
  { body, catalog, clock }: CallWith<typeof changeBody>,
  { autoRecharge: before = null }: Account,
  method: SavedMethod | null,
): AutoRecharge | null {
  const { enabled = before !== null, threshold = before?.threshold, amount = before?.amount } = body;
  if (!enabled) {
    if (body.enabled === undefined && Object.keys(body).length > 0)
      throw invalidMember('enabled', 'must be true: the automatic recharge is switched off');
    return null;
  }
  const { rechargeMin, rechargeMax, autoRechargesPerDayMax } = catalog.current().settings;
  const perDayMax = body.per_day_max ?? before?.perDayMax ?? Math.min(PER_DAY_DEFAULT, autoRechargesPerDayMax);
  if (autoRechargesPerDayMax === 0) throw invalidMember('enabled', 'automatic recharges are not allowed here');
  if (method === null)
    throw invalidMember('enabled', 'no payment method is saved: make a payment, or add one in the portal');
  if (threshold === undefined) throw invalidMember('threshold', 'is required');
  if (amount === undefined) throw invalidMember('amount', 'is required');
  if (amount < nanoOf(rechargeMin) || amount > nanoOf(rechargeMax))
    throw invalidMember('amount', `must be from ${shownAmount(rechargeMin)} to ${shownAmount(rechargeMax)}`);
  if (!isWholeCents(amount)) throw invalidMember('amount', 'must be in whole cents, such as "25.00"');
  if (perDayMax > autoRechargesPerDayMax)
    throw invalidMember('per_day_max', `must be at most ${autoRechargesPerDayMax}`);
  return { threshold, amount, perDayMax, sinceMs: clock.nowMs() };
}

const PER_DAY_DEFAULT = 3;

/** Enabling it again is a change, too: earlier failures no longer count. */
function auditJson(account: Account) {
  const { autoRecharge = null } = account;
  return { ...encodeTerms(termsOf(account)), enabled_at: autoRecharge && isoTime(autoRecharge.sinceMs) };
}

function termsOf({ autoRecharge = null }: Account) {
  const { threshold = null, amount = null, perDayMax = null } = autoRecharge ?? {};
  return { enabled: autoRecharge !== null, threshold, amount, perDayMax };
}

function autoRechargeJson(
  account: Account,
  latest: readonly Payment[],
  method: SavedMethod | null,
): z.infer<typeof autoRechargeSchema> {
  const isOff = isSuspended(account, latest);
  const { enabled, ...terms } = termsOf(account);
  const [last] = latest;
  return encodeRecharge({
    ...terms,
    account: account.id,
    enabled: enabled && !isOff,
    isSuspended: isOff,
    paymentMethod: method,
    lastFailure: last?.failure == null ? null : { ...last.failure, payment: last.id, atMs: last.updatedAtMs },
  });
}
