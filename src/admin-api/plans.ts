// Plans: those of the catalog that a principal may see, and the plan of an account, which operators give, change and end.

import { z } from '@hono/zod-openapi';
import { planAt } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import type { PlanSettings } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { planJson } from '../gateway/gateway.ts';
import { type Answer, type EventRow, Outpaced, type PlanMeter, type PlanTerms } from '../ledger/ledger.ts';
import { type Billing, planEvent, planTerms } from '../payments/payments.ts';
import { findAccount } from './accounts.ts';
import { invalidMember } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { everyone, holders, holdersWhoChange } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { amountShown, countShown, idField, isoTime, limitsOf, searchField, timeField, timeShown } from './fields.ts';
import { answerByName } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch } from './route.ts';
import { hideable } from './visibility.ts';

const limitShown = countShown.nullable();
const windowShown = amountShown.nullable();
export const planSchema = z
  .object({
    name: z.string(),
    title: z.string(),
    price: amountShown.describe('USD per month.'),
    windows: z
      .object({ '5h': windowShown, day: windowShown, week: windowShown, month: windowShown })
      .describe('The allowance of each window; null: there is no window of this length.'),
    groups: hideable('group', z.array(z.string())).describe(
      'Added to the groups of the account. The plan pays for messages of these; empty: of all its groups.',
    ),
    limits: z
      .object({ rpm: limitShown, input_tpm: limitShown, output_tpm: limitShown, concurrency: limitShown })
      .describe('Replace the limits of the groups that the plan pays for; null: as in the group.'),
    offered: z.boolean().describe('Holders see it, and can buy it if `for_sale` is true.'),
    for_sale: z.boolean().describe('It has a price at the payment provider.'),
    stripe_price: z.string().nullable().describe('null for a token of an account.'),
  })
  .openapi('Plan');

export const accountPlanSchema = z
  .object({
    account: idField('acct'),
    plan: z.string().nullable().describe('The name of the plan; null: the account has none, or it has ended.'),
    title: z.string().nullable(),
    overflow: z
      .boolean()
      .nullable()
      .describe('Whether the wallet pays for what the plan does not; null without a plan.'),
    groups: hideable('group', z.array(z.string()).nullable()).describe(
      'Groups that the plan pays for; null: all of the account.',
    ),
    windows: z.array(
      z.object({
        length: z.enum(['5h', 'day', 'week', 'month']),
        limit: amountShown,
        used: amountShown,
        held: amountShown,
        remaining: amountShown,
        started_at: timeShown.nullable().describe('null: it begins with the next message.'),
        resets_at: timeShown.nullable(),
      }),
    ),
    paid_until: timeShown.nullable().describe('From then on no new window begins; null: no end.'),
    ends_at: timeShown.nullable(),
    subscription: z
      .object({
        cancels_at: timeShown.nullable().describe('When it ends; null: it renews.'),
        next_plan: z.string().nullable().describe('The plan from the next period on; null: the same.'),
      })
      .nullable()
      .describe('The subscription that pays the plan; null: the plan was given, or there is none.'),
  })
  .openapi('AccountPlan');

const params = z.object({ id: idField('acct') });
const changeBody = z
  .strictObject({
    plan: z
      .string({ error: 'must be the name of a plan, or null' })
      .nullable()
      .describe('Gives the account this plan, or ends its plan. Only for operators.'),
    overflow: z
      .boolean({ error: 'must be true or false' })
      .describe('Whether the wallet pays for what the plan does not.'),
    ends_at: timeField.nullable().describe('When the plan ends. Only for operators.'),
  })
  .partial();

export const planRoutes: AdminRoute[] = [
  list('/plans', 'plan-list', 'List plans', everyone, {
    query: { search: searchField('the name or the title') },
    page: [planSchema, 'Plans by name; for a token of an account, those that are offered'],
    async handle(call) {
      const isOperators = call.principal.accountId === null;
      const plans = [...call.catalog.current().plans.values()].filter(({ isOffered }) => isOperators || isOffered);
      return answerByName(
        call,
        plans,
        (plan) => settingsJson(plan, isOperators),
        ({ name, title }) => [name, title],
      );
    },
  }),
  get('/accounts/{id}/plan', 'plan-show', 'Retrieve the plan of an account', holders, {
    params,
    answer: [accountPlanSchema, 'The plan and its windows'],
    handle: (call) => showPlan(call, call.params.id),
  }),
  patch('/accounts/{id}/plan', 'plan-change', 'Give an account a plan, change or end it', holdersWhoChange, {
    params,
    body: changeBody,
    conflict: 'The account has no plan, or a subscription pays it and only `overflow` can be changed',
    answer: [accountPlanSchema, 'The plan and its windows'],
    async handle(call) {
      const { id } = call.params;
      if (call.principal.accountId !== null) refuseOperatorsMembers(call);
      await call.changeInTurn(() => changePlan(call, id));
      return showPlan(call, id);
    },
  }),
];

/** Throws invalid_request for what only an operator can change. */
function refuseOperatorsMembers({ body }: CallWith<typeof changeBody>): void {
  for (const name of ['plan', 'ends_at'] as const)
    if (body[name] !== undefined) throw invalidMember(name, 'can be set by operators only');
}

async function changePlan(call: CallWith<typeof changeBody>, id: string): Promise<void> {
  const { account, meters } = await findAccount(call, id);
  const { plan, overflow, ends_at } = call.body;
  const isOverflowOnly = plan === undefined && ends_at === undefined;
  const billing = isOverflowOnly ? null : await call.paymentStore.getBilling(account.id);
  if (isSubscribed(call, billing))
    throw new TurnpikeError(
      'conflict',
      'A subscription pays the plan of this account: change or cancel the subscription. Only overflow can be changed here.',
    );
  const before = planAt(meters.plan, call.clock.nowMs());
  const after = await changedTerms(call, before);
  const [shown, changedTo] = [termsJson(before), termsJson(after)];
  if (JSON.stringify(shown) === JSON.stringify(changedTo)) return;
  const note = changeNote('plan.update', id, account.id, shown, changedTo);
  const event = planEvent(account.id, before, after, call.clock.nowMs());
  const changed = after !== null && isOverflowOnly ? overflow : undefined;
  const [answer] = await call.ledger.submit({
    operations: [
      after !== null && changed !== undefined
        ? { kind: 'change-plan', account: account.id, name: after.name, changes: { overflow: changed } }
        : { kind: 'set-plan', account: account.id, plan: after },
    ],
    coCommitted: [
      ...call.auditRows(recordAudit(call, [note])),
      ...(event === null ? [] : [{ table: 'events', event } satisfies EventRow]),
      // A subscription that begins meanwhile outpaces this change.
      ...(billing === null ? [] : [{ table: 'billing', billing: { ...billing, version: billing.version + 1 } }]),
    ],
  });
  checkDone(answer);
  call.forgetAccount(account.id);
}

/** Whether a subscription decides about the account's plan. */
function isSubscribed({ payments }: Pick<Call, 'payments'>, billing: Billing | null): boolean {
  return payments !== null && billing !== null && billing.subscription !== null;
}

function checkDone(answer: Answer | undefined): void {
  if (answer?.ok === true) return;
  if (answer?.reason === 'unknown_plan') throw new Outpaced('the account has another plan by now');
  throw new Error(`the ledger answered a plan with ${JSON.stringify(answer)}`);
}

/** The terms after the change; null: none. Throws invalid_request, and conflict without a plan to change. */
async function changedTerms(
  { body, catalog, clock }: CallWith<typeof changeBody>,
  before: PlanMeter | null,
): Promise<PlanTerms | null> {
  const nowMs = clock.nowMs();
  const name = body.plan === undefined ? before?.name : body.plan;
  if (name === undefined) throw new TurnpikeError('conflict', 'The account has no plan.');
  if (name === null) return null;
  const endsAtMs = body.ends_at === undefined ? (before?.endsAtMs ?? null) : body.ends_at;
  if (body.ends_at != null && body.ends_at <= nowMs) throw invalidMember('ends_at', 'must be in the future');
  const { anchorMs = nowMs, overflow = true, paidUntilMs = null } = before ?? {};
  const times = { anchorMs, paidUntilMs, endsAtMs, overflow: body.overflow ?? overflow };
  if (before !== null && name === before.name) return { ...before, ...times };
  const plan = catalog.current().plans.get(name);
  if (plan === undefined) throw invalidMember('plan', `there is no plan "${name}"`);
  return planTerms(plan, times);
}

/** For the audit log. */
function termsJson(terms: PlanTerms | null) {
  return {
    plan: terms?.name ?? null,
    overflow: terms?.overflow ?? null,
    ends_at: isoTime(terms?.endsAtMs ?? null),
  };
}

export async function showPlan(call: Call, id: string): Promise<z.infer<typeof accountPlanSchema>> {
  const { account, meters } = await findAccount(call, id);
  const plan = planAt(meters.plan, call.clock.nowMs());
  const billing = call.payments === null ? null : await call.paymentStore.getBilling(account.id);
  const shown = { account: formatId('acct', account.id), subscription: subscriptionJson(billing) };
  if (plan === null)
    return {
      ...shown,
      plan: null,
      title: null,
      overflow: null,
      groups: null,
      windows: [],
      paid_until: null,
      ends_at: null,
    };
  const { name, ...terms } = planJson(plan);
  return { ...shown, plan: name, title: call.catalog.current().plans.get(name)?.title ?? null, ...terms };
}

function subscriptionJson(billing: Billing | null): z.infer<typeof accountPlanSchema>['subscription'] {
  if (billing === null || billing.subscription === null) return null;
  const { cancelsAtMs = null, nextPlan = null } = billing;
  return { cancels_at: isoTime(cancelsAtMs), next_plan: nextPlan };
}

const encodePlan = encoderOf(planSchema);

function settingsJson(plan: PlanSettings, showsPrices: boolean): z.infer<typeof planSchema> {
  const limitOf = (length: string) => plan.windows.find((window) => window.length === length)?.limit ?? null;
  return encodePlan({
    ...plan,
    windows: { '5h': limitOf('5h'), day: limitOf('day'), week: limitOf('week'), month: limitOf('month') },
    limits: limitsOf(plan.limits),
    offered: plan.isOffered,
    forSale: plan.stripePrice !== null,
    stripePrice: showsPrices ? plan.stripePrice : null,
  });
}
