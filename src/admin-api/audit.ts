// The audit log: every change of the installation, newest first. Owners see changes of their account, without the IP
// addresses of the installation's staff.

import { z } from '@hono/zod-openapi';
import type { StoredAuditRecord } from '../audit/audit.ts';
import { askedAccount } from './accounts.ts';
import { accountOf, holders, type Principal } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountField, actorShown, countShown, idField, rangeFields, requestIdField, timeShown } from './fields.ts';
import { after, answerPage, requesterOf } from './pages.ts';
import { type AdminRoute, list } from './route.ts';
import { untyped } from './visibility.ts';

const members = untyped(z.record(z.string(), z.unknown()).nullable());
export const auditSchema = z
  .object({
    seq: countShown,
    at: timeShown,
    actor: actorShown,
    role: z.enum(['operator', 'viewer', 'owner', 'member', 'scim', 'service']),
    address: z.string().nullable(),
    request_id: requestIdField.nullable(),
    action: z.string().openapi({ examples: ['key.create'] }),
    object: z.string(),
    account: idField('acct').nullable(),
    before: members.describe('Changed members with their previous values; credentials are masked.'),
    after: members,
  })
  .openapi('AuditRecord');

export const auditRoutes: AdminRoute[] = [
  list('/audit', 'audit-list', 'List audit records', holders, {
    query: {
      account: accountField.optional().describe('Only changes of this account and of its objects.'),
      object: z
        .string()
        .optional()
        .describe('The ID of the object, such as "key_…", or its kind and name, such as "model claude-…".'),
      actor: z
        .string()
        .optional()
        .describe('The token or person that changed it; "local": the operator of the machine.'),
      ...rangeFields,
    },
    page: [auditSchema, 'Audit records, newest first'],
    async handle(call) {
      const { limit, account, object = null, actor = null, since, until } = call.query;
      const page = {
        account: accountOf(call.principal, await askedAccount(call, account)),
        object,
        actor,
        sinceMs: since ?? null,
        untilMs: until ?? null,
        before: after(call),
        limit,
      };
      const rows = await call.audit.listAudit(page, requesterOf(call));
      const json = (row: StoredAuditRecord) => auditJson(row, call.principal);
      return answerPage(call, rows, json, ({ seq }) => seq);
    },
  }),
];

const encodeRecord = encoderOf(auditSchema);

function auditJson(record: StoredAuditRecord, principal: Principal): z.infer<typeof auditSchema> {
  const { id: actor, role, address, requestId } = record.actor;
  const isOfAccount = role === 'owner' || role === 'member';
  const isShown = principal.accountId === null || isOfAccount;
  // People and tokens of an account do not see the account above it.
  const isOwn = principal.accountId !== null && record.account === principal.accountId;
  const [before = null, after = null] = [record.before, record.after].map((one) => (isOwn ? withoutParent(one) : one));
  return encodeRecord({ ...record, before, after, actor, role, address: isShown ? address : null, requestId });
}

function withoutParent(members: StoredAuditRecord['before']): StoredAuditRecord['before'] {
  if (members === null) return null;
  const { parent: _, ...others } = members;
  return others;
}
