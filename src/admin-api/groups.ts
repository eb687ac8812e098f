// Groups: which models are sold to whom, with which factor on the price and which limits.

import { z } from '@hono/zod-openapi';
import { formatDecimal } from '../base/money.ts';
import type { Group } from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { countShown, pageAnswer, rateShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { pageByName, pageQuery, pagesOf } from './pages.ts';
import { everyone } from './principal.ts';
import { soldTo } from './sold-to.ts';

const limitShown = countShown.nullable();
export const groupSchema = z
  .object({
    name: z.string(),
    models: z.array(z.string()),
    multiplier: rateShown.openapi({ description: 'The factor on prices.', examples: ['0.8'] }),
    rpm: limitShown,
    input_tpm: limitShown,
    output_tpm: limitShown,
    concurrency: limitShown,
  })
  .openapi('Group');

const listGroups = defineRoute({
  operationId: 'group-list',
  summary: 'List groups',
  roles: everyone,
  method: 'get',
  path: '/api/v1/groups',
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(groupSchema, 'Groups by name') },
});

export function addGroups(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listGroups, async (context) => {
    const { groups } = await soldTo(dependencies, context.get('principal'));
    const { rows, next } = pageByName(pagesOf(dependencies, context), groups, context.req.valid('query'));
    return context.json({ data: rows.map(groupJson), next_cursor: next }, 200);
  });
}

function groupJson(group: Group): z.infer<typeof groupSchema> {
  return {
    name: group.name,
    models: [...group.models],
    multiplier: formatDecimal(group.multiplierMillionths, 6),
    rpm: group.limits.requestsPerMinute,
    input_tpm: group.limits.inputTokensPerMinute,
    output_tpm: group.limits.outputTokensPerMinute,
    concurrency: group.limits.concurrency,
  };
}
