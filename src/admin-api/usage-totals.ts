// Usage added up by day, model, key or account, from totals that are kept by the day. What providers
// charged is known for some messages only: margins are of those, and it is said what they leave out.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import { formatUsd } from '../base/money.ts';
import { marginOfTotal, type TopQuestion, totalsGroupings, type UsageTotal } from '../ledger/ledger.ts';
import { accountNumber } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { amountShown, countShown, dayShown, idField, jsonAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, modelFilter, timeField } from './fields.ts';
import { findKey } from './key-json.ts';
import { pageQuery } from './pages.ts';
import { accountOf, everyone, makerOf, type Principal, seesProviderCost } from './principal.ts';

export const totalSchema = z
  .object({
    day: dayShown.nullable().openapi({ description: 'The day, UTC; null unless grouped by day.' }),
    account: idField('acct').nullable(),
    key: idField('key').nullable(),
    model: z.string().nullable(),
    messages: z.int(),
    input_tokens: z.int(),
    output_tokens: z.int(),
    cache_read_input_tokens: z.int(),
    cache_creation_input_tokens: z.int(),
    cost: amountShown,
    written_off: amountShown,
    provider_cost: amountShown
      .nullable()
      .openapi({ description: 'Of the messages for which it is known; null when it is for none.' }),
    margin: amountShown
      .nullable()
      .openapi({ description: 'cost − written_off − provider_cost, of the messages whose provider_cost is known.' }),
    revenue_without_margin: amountShown
      .nullable()
      .openapi({ description: 'cost − written_off of the messages whose provider_cost is not known.' }),
  })
  .openapi('UsageTotal');

/** What totals are asked of, whatever they are grouped by. */
export const totalsNarrowing = {
  limit: pageQuery.limit,
  account: accountField.optional(),
  key: idField('key').optional(),
  model: modelFilter.optional(),
  since: timeField.optional().openapi({ description: 'From this day on, UTC.' }),
  until: timeField.optional().openapi({ description: 'Up to this day, with it.' }),
};

const showTotals = defineRoute({
  operationId: 'usage-total',
  summary: 'Add usage up',
  roles: everyone,
  method: 'get',
  path: '/api/v1/usage/totals',
  request: {
    query: z.strictObject({
      ...totalsNarrowing,
      group_by: z.enum(totalsGroupings, { error: `must be ${totalsGroupings.join(' or ')}` }).default('day'),
    }),
  },
  responses: {
    200: jsonAnswer(
      z.object({
        data: z.array(totalSchema).openapi({ description: 'The latest days; of other groups those that cost most.' }),
        groups: countShown.openapi({ description: 'How many there are; `data` has at most `limit` of them.' }),
        total: totalSchema.openapi({ description: 'Of all groups, shown or not.' }),
      }),
      'Usage added up',
    ),
  },
});

export function addUsageTotals(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showTotals, async (context) => {
    const principal = context.get('principal');
    const { group_by: groupBy, ...narrowing } = context.req.valid('query');
    const question = { ...(await narrowTotals(dependencies, principal, narrowing)), groupBy };
    const { rows, groups, whole } = await dependencies.usage.totalUsage(question, askingOf(context));
    const data = rows.map((row) => totalJson(row, principal));
    return context.json({ data, groups, total: totalJson(whole, principal) }, 200);
  });
}

/** The question of whoever asks: of what is another's there is nothing to ask. Throws object_not_found. */
export async function narrowTotals(
  dependencies: AdminDependencies,
  principal: Principal,
  { limit, account, key, model, since, until }: TotalsNarrowing,
): Promise<TopQuestion> {
  const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
  return {
    account: accountOf(principal, asked),
    key: key === undefined ? null : (await findKey(dependencies, principal, key)).key.id,
    madeBy: makerOf(principal),
    model: model ?? null,
    sinceMs: since ?? null,
    untilMs: until ?? null,
    limit,
  };
}

type TotalsNarrowing = z.output<z.ZodObject<typeof totalsNarrowing>>;

export function totalJson(total: UsageTotal, principal: Principal): z.infer<typeof totalSchema> {
  return {
    day: total.dayMs === null ? null : new Date(total.dayMs).toISOString().slice(0, 10),
    account: total.account === null ? null : formatId('acct', total.account),
    key: total.key === null ? null : formatId('key', total.key),
    model: total.model,
    ...totalFigures(total, principal),
  };
}

/** The figures of a total, whatever it is of. */
export function totalFigures(total: UsageTotal, principal: Principal) {
  return {
    messages: total.messages,
    input_tokens: total.inputTokens,
    output_tokens: total.outputTokens,
    cache_read_input_tokens: total.cacheReadTokens,
    cache_creation_input_tokens: total.cacheWriteTokens,
    cost: formatUsd(total.cost),
    written_off: formatUsd(total.writtenOff),
    ...(seesProviderCost(principal) ? marginJson(total) : NO_MARGIN),
  };
}

const NO_MARGIN = { provider_cost: null, margin: null, revenue_without_margin: null };

function marginJson(total: UsageTotal) {
  const margin = marginOfTotal(total);
  return {
    provider_cost: margin === null ? null : formatUsd(total.providerCost),
    margin: margin === null ? null : formatUsd(margin),
    revenue_without_margin: formatUsd(total.cost - total.writtenOff - total.costedRevenue),
  };
}
