// The audit: every change of the installation, newest first. Records are never altered. An account's
// owner sees those of the account; from where the installation's own people came is not theirs to see.

import { z } from '@hono/zod-openapi';
import type { StoredAuditRecord } from '../audit/audit.ts';
import { formatId } from '../base/ids.ts';
import { accountNumber } from './account-json.ts';
import type { AdminApp } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { actorShown, countShown, idField, pageAnswer, requestIdField, timeShown } from './answers.ts';
import { askingOf } from './asking.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, timeField } from './fields.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { accountOf, holders, type Principal } from './principal.ts';

const members = z.record(z.string(), z.unknown()).nullable();
export const auditSchema = z
  .object({
    seq: countShown,
    at: timeShown,
    actor: actorShown,
    role: z.enum(['operator', 'viewer', 'owner', 'member', 'service']),
    address: z.string().nullable(),
    request_id: requestIdField.nullable(),
    action: z.string().openapi({ examples: ['key.create'] }),
    object: z.string(),
    account: idField('acct').nullable(),
    before: members.openapi({ description: 'The members that changed, as they were; credentials masked.' }),
    after: members,
  })
  .openapi('AuditRecord');

const listAudit = defineRoute({
  operationId: 'audit-list',
  summary: 'List changes of the installation',
  roles: holders,
  method: 'get',
  path: '/api/v1/audit',
  request: {
    query: z.strictObject({
      ...pageQuery,
      account: accountField.optional(),
      object: z.string().optional().openapi({ description: 'Such as "key_…" or "model claude-…".' }),
      actor: z.string().optional(),
      since: timeField.optional(),
      until: timeField.optional(),
    }),
  },
  responses: { 200: pageAnswer(auditSchema, 'Changes, newest first') },
});

export function addAudit(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listAudit, async (context) => {
    const principal = context.get('principal');
    const { limit, cursor, account, object = null, actor = null, since, until } = context.req.valid('query');
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const pages = pagesOf(dependencies, context);
    const page = {
      account: accountOf(principal, asked),
      object,
      actor,
      sinceMs: since ?? null,
      untilMs: until ?? null,
      before: pages.after(cursor),
      limit,
    };
    const rows = await dependencies.audit.listAudit(page, askingOf(context));
    const next = pages.next(rows.length, limit, rows.at(-1)?.seq);
    return answerPage(rows, (row) => auditJson(row, principal), next);
  });
}

function auditJson(record: StoredAuditRecord, principal: Principal): z.infer<typeof auditSchema> {
  const { actor } = record;
  const isOfAccount = actor.role === 'owner' || actor.role === 'member';
  return {
    seq: record.seq,
    at: new Date(record.atMs).toISOString(),
    actor: actor.id,
    role: actor.role,
    address: principal.accountId === null || isOfAccount ? actor.address : null,
    request_id: actor.requestId,
    action: record.action,
    object: record.object,
    account: record.account === null ? null : formatId('acct', record.account),
    before: record.before,
    after: record.after,
  };
}
