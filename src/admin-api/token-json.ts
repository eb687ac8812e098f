// A token as the API shows it, never with its secret, and how one is found by the id that a caller gave.

import { z } from '@hono/zod-openapi';
import type { AccessToken } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import { actorShown, idField, timeShown } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import { isoTime } from './key-json.ts';
import type { Principal } from './principal.ts';

export const roleField = z.enum(['operator', 'viewer', 'owner', 'member'], {
  error: 'must be operator, viewer, owner or member',
});

export const tokenSchema = z
  .object({
    id: idField('tok'),
    role: roleField,
    account: idField('acct').nullable().openapi({ description: 'Null: of the installation.' }),
    name: z.string(),
    prefix: z.string(),
    status: z.enum(['enabled', 'expired', 'revoked']),
    expires_at: timeShown.nullable(),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Token');

export function tokenJson(token: AccessToken, nowMs: number): z.infer<typeof tokenSchema> {
  const isPast = token.expiresAtMs !== null && token.expiresAtMs <= nowMs;
  return {
    id: formatId('tok', token.id),
    role: token.role,
    account: token.accountId === null ? null : formatId('acct', token.accountId),
    name: token.name,
    prefix: token.prefix,
    status: token.status === 'enabled' && isPast ? 'expired' : token.status,
    expires_at: isoTime(token.expiresAtMs),
    made_by: token.madeBy,
    created_at: new Date(token.createdAtMs).toISOString(),
  };
}

/** The token of an id "tok_…", where the principal may see it. Throws object_not_found. */
export async function findToken(
  dependencies: AdminDependencies,
  principal: Principal,
  id: string,
): Promise<AccessToken> {
  const number = parseId('tok', id);
  const token = number === null ? null : await dependencies.tokens.getToken(number);
  const isSeen = token !== null && (principal.accountId === null || token.accountId === principal.accountId);
  if (!isSeen) throw new TurnpikeError('object_not_found', `There is no token "${id}".`);
  return token;
}
