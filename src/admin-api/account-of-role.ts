// Which account a new token or a new person is of: its role says whether there is one, and nobody reaches beyond themselves.

import type { Role } from '../accounts/accounts.ts';
import { parseId } from '../base/ids.ts';
import { invalidRequest } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { Principal } from './principal.ts';

/** Null for the installation. Throws invalid_request where role and account do not fit, or go beyond the principal's own. */
export async function accountOfRole(
  { accounts }: AdminDependencies,
  principal: Principal,
  { role, account }: { role: Role; account?: string | undefined },
): Promise<number | null> {
  const isOfInstallation = role === 'operator' || role === 'viewer';
  if (isOfInstallation && principal.accountId !== null)
    throw invalidRequest([{ path: ['role'], message: 'must be owner or member: you are of an account yourself' }]);
  if (isOfInstallation) {
    if (account === undefined) return null;
    throw invalidRequest([{ path: ['account'], message: `must not be given: ${role} is of the whole installation` }]);
  }
  const asked = account === undefined ? principal.accountId : parseId('acct', account);
  if (account === undefined && asked === null)
    throw invalidRequest([{ path: ['account'], message: `is required for the role ${role}` }]);
  const isOwn = principal.accountId === null || principal.accountId === asked;
  const found = asked === null || !isOwn ? null : await accounts.getAccount(asked);
  if (found === null) throw invalidRequest([{ path: ['account'], message: `there is no account "${account}"` }]);
  return found.id;
}
