// The journal of an account: every change of its balance, newest first. Entries are never altered.

import { z } from '@hono/zod-openapi';
import { besideUsageKinds, creditKinds, type EntryPage, type SeldomKind } from '../ledger/ledger.ts';
import { findAccount } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { idField, pageAnswer } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { entryJson, entrySchema } from './entry-json.ts';
import { timeField } from './fields.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { holders } from './principal.ts';

const KINDS: Readonly<Record<string, readonly SeldomKind[]>> = {
  payment: ['payment'],
  promotion: ['promotion'],
  adjustment: ['adjustment'],
  debt_write_off: ['debt_write_off'],
  write_off: ['write_off'],
  correction: ['correction'],
  refund: ['refund'],
  carried_forward: ['carried_forward'],
  credit: creditKinds,
  beside_usage: [...besideUsageKinds, 'carried_forward'],
};

/** Nearly every entry is of the kind that is missing here, and a search would find nearly all. */
const kindField = z
  .enum(Object.keys(KINDS) as [string, ...string[]], { error: `must be ${Object.keys(KINDS).join(' or ')}` })
  .openapi({
    description:
      'credit: payment, promotion, adjustment and debt_write_off. beside_usage: all that changes a balance but usage.',
  });
const REQUEST_ID = /^req_[0-9A-Za-z]{25}$/;

const listEntries = defineRoute({
  operationId: 'entry-list',
  summary: "List an account's journal entries",
  roles: holders,
  method: 'get',
  path: '/api/v1/accounts/{id}/entries',
  request: {
    params: z.object({ id: idField('acct') }),
    query: z.strictObject({
      ...pageQuery,
      kind: kindField.optional(),
      request: z.string().regex(REQUEST_ID, 'must be a request id').optional().openapi({
        description: 'Of this message alone, as long as its usage record is kept; not together with kind.',
      }),
      since: timeField.optional(),
      until: timeField.optional(),
    }),
  },
  responses: { 200: pageAnswer(entrySchema, 'Journal entries, newest first') },
});

export function addEntries(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listEntries, async (context) => {
    const { account } = await findAccount(dependencies, context.get('principal'), context.req.valid('param').id);
    const { limit, cursor, kind, request, since, until } = context.req.valid('query');
    if (kind !== undefined && request !== undefined)
      throw invalidRequest([{ path: ['kind'], message: 'cannot be given together with request' }]);
    const pages = pagesOf(dependencies, context);
    const message = request === undefined ? undefined : await findMessage(dependencies, account.id, request);
    const kinds = kind === undefined ? undefined : KINDS[kind];
    const page = {
      account: account.id,
      ...(kinds !== undefined && { kinds }),
      ...(message != null && { message }),
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const rows = message === null ? [] : await dependencies.ledger.listEntries(page, askingOf(context));
    const next = pages.next(rows.length, limit, rows.at(-1)?.seq);
    return answerPage(rows, (row) => entryJson(row, account.id), next);
  });
}

/** When a message of the account ended, which its entries are found by; null: none of this account has, or it is not kept. */
async function findMessage(
  { usage }: AdminDependencies,
  account: number,
  requestId: string,
): Promise<EntryPage['message'] | null> {
  const record = await usage.getUsage(requestId);
  return record?.account === account ? { requestId, endedAtMs: record.atMs } : null;
}
