// What used most: the models, keys and accounts that cost most, all added up in one go over the daily totals. Three lists of
// totals by one question: an overview asks for them together, and each alone would go over the same rows.

import { z } from '@hono/zod-openapi';
import type { TopGroups } from '../ledger/ledger.ts';
import type { AdminApp } from './admin-app.ts';
import { countShown, jsonAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { everyone } from './principal.ts';
import { narrowTotals, totalJson, totalSchema, totalsNarrowing } from './usage-totals.ts';

const groupsSchema = z.object({
  data: z.array(totalSchema).openapi({ description: 'Those that cost most, at most `limit`.' }),
  groups: countShown.openapi({ description: 'How many there are.' }),
});
export const topSchema = z
  .object({
    models: groupsSchema,
    keys: groupsSchema,
    accounts: groupsSchema,
    total: totalSchema.openapi({ description: 'Of everything, shown or not.' }),
  })
  .openapi('UsageTop');

const showTop = defineRoute({
  operationId: 'usage-top',
  summary: 'List what used most',
  roles: everyone,
  method: 'get',
  path: '/api/v1/usage/top',
  request: { query: z.strictObject(totalsNarrowing) },
  responses: { 200: jsonAnswer(topSchema, 'What used most') },
});

export function addUsageTop(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showTop, async (context) => {
    const principal = context.get('principal');
    const question = await narrowTotals(dependencies, principal, context.req.valid('query'));
    const { models, keys, accounts, whole } = await dependencies.usage.topUsage(question, askingOf(context));
    const shown = ({ rows, groups }: TopGroups) => ({ data: rows.map((row) => totalJson(row, principal)), groups });
    const lists = { models: shown(models), keys: shown(keys), accounts: shown(accounts) };
    return context.json({ ...lists, total: totalJson(whole, principal) }, 200);
  });
}
