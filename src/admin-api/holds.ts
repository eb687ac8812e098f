// What is held of an account's balance now: a hold for each of its messages that run, the oldest first.

import { z } from '@hono/zod-openapi';
import { findAccount } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { idField, pageAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { holdJson, holdSchema } from './hold-json.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { holders } from './principal.ts';

const listHolds = defineRoute({
  operationId: 'hold-list',
  summary: 'List what is held for messages that run',
  roles: holders,
  method: 'get',
  path: '/api/v1/accounts/{id}/holds',
  request: { params: z.object({ id: idField('acct') }), query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(holdSchema, 'Open holds, oldest first') },
});

export function addHolds(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listHolds, async (context) => {
    const { account } = await findAccount(dependencies, context.get('principal'), context.req.valid('param').id);
    const { limit, cursor } = context.req.valid('query');
    const pages = pagesOf(dependencies, context);
    const page = { account: account.id, after: pages.afterText(cursor), limit };
    const holds = await dependencies.ledger.listHolds(page, askingOf(context));
    return answerPage(holds, holdJson, pages.next(holds.length, limit, holds.at(-1)?.requestId));
  });
}
