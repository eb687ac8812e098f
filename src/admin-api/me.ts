// Who the caller is: what its token may do, and for which account. The first thing that a holder of
// a new token asks.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import type { AdminApp } from './admin-app.ts';
import { idField, jsonAnswer, timeShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { isoTime } from './key-json.ts';
import { everyone } from './principal.ts';
import { roleField } from './token-json.ts';

export const meSchema = z
  .object({
    id: z.string().openapi({ description: '"tok_…", or "local" for the operator of the machine itself.' }),
    role: roleField,
    account: z.object({ id: idField('acct'), name: z.string(), groups: z.array(z.string()) }).nullable(),
    expires_at: timeShown.nullable(),
  })
  .openapi('Me');

const showMe = defineRoute({
  operationId: 'me-show',
  summary: 'Show the token that asks',
  roles: everyone,
  method: 'get',
  path: '/api/v1/me',
  responses: { 200: jsonAnswer(meSchema, 'The token that asks') },
});

export function addMe(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showMe, async (context) => {
    const { id, role, accountId, expiresAtMs } = context.get('principal');
    const found = accountId === null ? null : await dependencies.accounts.getAccount(accountId);
    const account = found && { id: formatId('acct', found.id), name: found.name, groups: [...found.groups] };
    return context.json({ id, role, account, expires_at: isoTime(expiresAtMs) }, 200);
  });
}
