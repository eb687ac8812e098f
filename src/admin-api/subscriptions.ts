// The subscription that pays the plan of an account: begun on a page of the payment provider, changed to another plan,
// canceled and resumed. Nothing here gives a plan: only what the provider says of the subscription does.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { Billing } from '../payments/payments.ts';
import { findAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { holdersWhoChange, type PaymentService } from './dependencies.ts';
import { idField } from './fields.ts';
import { customerOf, refuseDisabled, requirePayments } from './payments.ts';
import { accountPlanSchema, showPlan } from './plans.ts';
import { type AdminRoute, type Call, type CallWith, post } from './route.ts';

const params = z.object({ id: idField('acct') });
const createBody = z.strictObject({
  plan: z.string({ error: 'must be the name of a plan' }).describe('A plan with `offered` and `for_sale`.'),
});

export const subscriptionRoutes: AdminRoute[] = [
  post(
    '/accounts/{id}/subscription',
    'subscription-create',
    'Subscribe an account to a plan, or change its subscription to it',
    holdersWhoChange,
    {
      params,
      body: createBody,
      conflict: 'No payments are taken here, the account is disabled, or a payment of its subscription is under way',
      answer: [
        z
          .object({
            url: z
              .string()
              .nullable()
              .describe(
                'Where the holder pays: for a first subscription, for one whose renewal is not paid, and for a change that the saved payment method did not pay. null: it was changed.',
              ),
            plan: accountPlanSchema,
          })
          .openapi('SubscriptionCreated'),
        'Where the holder pays, and the plan of the account. A dearer plan begins at once, a cheaper one with the next period',
      ],
      async handle(call) {
        const { id } = call.params;
        const payments = requirePayments(call);
        const { account } = await findAccount(call, id);
        refuseDisabled(account);
        const plan = planForSale(call);
        const billing = await customerOf(call, payments, account);
        const url = await payments.sales.buy(billing, plan);
        await note(call, 'subscription.create', account.id, { plan: plan.name, paid_on_page: url !== null });
        return { url, plan: await showPlan(call, id) };
      },
    },
  ),
  change('cancel', 'Cancel the subscription of an account with its paid period', (payments, billing) =>
    payments.sales.cancel(billing),
  ),
  change('resume', 'Undo the cancellation, or a planned change, of a subscription', (payments, billing) =>
    payments.sales.resume(billing),
  ),
];

function change(
  verb: 'cancel' | 'resume',
  summary: string,
  run: (payments: PaymentService, billing: Billing) => Promise<void>,
): AdminRoute {
  return post(`/accounts/{id}/subscription/${verb}`, `subscription-${verb}`, summary, holdersWhoChange, {
    params,
    body: z.strictObject({}),
    conflict: 'No payments are taken here, or the account has no subscription',
    answer: [accountPlanSchema, 'The plan and its windows'],
    async handle(call) {
      const { id } = call.params;
      const payments = requirePayments(call);
      const { account } = await findAccount(call, id);
      if (verb === 'resume') refuseDisabled(account);
      await run(payments, await billingOf(call, account.id));
      await note(call, `subscription.${verb}`, account.id, {});
      return showPlan(call, id);
    },
  });
}

async function billingOf(call: Call, account: number): Promise<Billing> {
  const billing = await call.paymentStore.getBilling(account);
  if (billing !== null) return billing;
  throw new TurnpikeError('conflict', 'The account has no subscription.');
}

/** Throws invalid_request. */
function planForSale({ body, catalog }: CallWith<typeof createBody>): PlanSettings {
  const plan = catalog.current().plans.get(body.plan);
  if (plan?.isOffered !== true) throw invalidMember('plan', `no plan "${body.plan}" is offered`);
  if (plan.stripePrice === null) throw invalidMember('plan', `the plan "${body.plan}" cannot be bought`);
  return plan;
}

/** Records who asked; the change of the plan has a record of its own. */
async function note(call: Call, action: string, account: number, after: Record<string, unknown>): Promise<void> {
  const audit = recordAudit(call, [changeNote(action, formatId('acct', account), account, null, after)]);
  await call.ledger.submit({ operations: [], coCommitted: call.auditRows({ ...audit, since: null }) });
}
