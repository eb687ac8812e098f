// Who the caller is: what they may do, and for which account. The first thing that a holder of a new token asks, and the console
// of whoever signed in.

import { z } from '@hono/zod-openapi';
import { formatId, parseId } from '../base/ids.ts';
import type { AdminApp } from './admin-app.ts';
import { idField, jsonAnswer, timeShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { isoTime } from './key-json.ts';
import { everyone } from './principal.ts';
import { roleField } from './token-json.ts';

export const meSchema = z
  .object({
    id: z.string().openapi({ description: '"tok_…", "person_…", or "local" for the operator of the machine itself.' }),
    kind: z.enum(['token', 'person', 'local']),
    name: z.string().nullable(),
    email: z.string().nullable().openapi({ description: 'Of a person.' }),
    role: roleField,
    account: z.object({ id: idField('acct'), name: z.string(), groups: z.array(z.string()) }).nullable(),
    expires_at: timeShown.nullable(),
    base_url: z.string().nullable().openapi({
      description: 'Where people reach this service, for clients of models; null where nobody said so.',
    }),
  })
  .openapi('Me');

const showMe = defineRoute({
  operationId: 'me-show',
  summary: 'Show who asks',
  roles: everyone,
  method: 'get',
  path: '/api/v1/me',
  responses: { 200: jsonAnswer(meSchema, 'Who asks') },
});

export function addMe(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(showMe, async (context) => {
    const { id, role, accountId, expiresAtMs } = context.get('principal');
    const found = accountId === null ? null : await dependencies.accounts.getAccount(accountId);
    const account = found && { id: formatId('acct', found.id), name: found.name, groups: [...found.groups] };
    const base_url = dependencies.messagesAt();
    const who = await describeWho(dependencies, id);
    return context.json({ id, ...who, role, account, expires_at: isoTime(expiresAtMs), base_url }, 200);
  });
}

async function describeWho(
  { tokens, people }: AdminDependencies,
  id: string,
): Promise<Pick<z.infer<typeof meSchema>, 'kind' | 'name' | 'email'>> {
  const [token, person] = [parseId('tok', id), parseId('person', id)];
  if (person !== null) {
    const { name = null, email = null } = (await people.getPerson(person)) ?? {};
    return { kind: 'person', name, email };
  }
  const { name = null } = (token === null ? null : await tokens.getToken(token)) ?? {};
  return { kind: token === null ? 'local' : 'token', name, email: null };
}
