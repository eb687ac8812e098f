// The journal of an account: every change of its balance, newest first. Entries are never altered.

import { z } from '@hono/zod-openapi';
import { findAccount } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { idField, pageAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { entryJson, entrySchema } from './entry-json.ts';
import { timeField } from './fields.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { holders } from './principal.ts';

const listEntries = defineRoute({
  operationId: 'entry-list',
  summary: "List an account's journal entries",
  roles: holders,
  method: 'get',
  path: '/api/v1/accounts/{id}/entries',
  request: {
    params: z.object({ id: idField('acct') }),
    query: z.strictObject({ ...pageQuery, since: timeField.optional(), until: timeField.optional() }),
  },
  responses: { 200: pageAnswer(entrySchema, 'Journal entries, newest first') },
});

export function addEntries(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listEntries, async (context) => {
    const { account } = await findAccount(dependencies, context.get('principal'), context.req.valid('param').id);
    const { limit, cursor, since, until } = context.req.valid('query');
    const pages = pagesOf(dependencies, context);
    const page = {
      account: account.id,
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const rows = await dependencies.ledger.listEntries(page, askingOf(context));
    const next = pages.next(rows.length, limit, rows.at(-1)?.seq);
    return answerPage(rows, (row) => entryJson(row, account.id), next);
  });
}
