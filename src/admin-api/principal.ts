// Who calls the admin API, and what of the installation they may see. A route says which roles may
// call it; here is what narrows the rest to one account, or to the keys that one member made.

import type { Role } from '../accounts/accounts.ts';
import { TurnpikeError } from '../errors.ts';

export interface Principal {
  /** "tok_…", "person_…" of somebody who signed in, or "local" for the operator of this machine. */
  id: string;
  role: Role;
  /** The one account of an owner or a member; null for the installation's own. */
  accountId: number | null;
  /** When its token ends; null: never. */
  expiresAtMs: number | null;
}

/** The installation's own, of which only the first may change anything. */
export const installation = ['operator', 'viewer'] as const;
export const operator = ['operator'] as const;
/** Those who answer for an account. */
export const holders = ['operator', 'viewer', 'owner'] as const;
export const holdersWhoChange = ['operator', 'owner'] as const;
export const everyone = ['operator', 'viewer', 'owner', 'member'] as const;
export const everyoneWhoChanges = ['operator', 'owner', 'member'] as const;

/** Whether the principal sees money between the operator and the providers: costs, margins, routes. */
export function seesProviderCost(principal: Principal): boolean {
  return principal.accountId === null;
}

/** Whether the principal sees what the account has: everyone but who sees no more than what it made. */
export function seesBalance(principal: Principal): boolean {
  return principal.role !== 'member';
}

/** The account that a list is narrowed to: the principal's own, else the one asked for. */
export function accountOf(principal: Principal, asked: number | null): number | null {
  return principal.accountId ?? asked;
}

/** The maker whose keys alone a member sees; null for everyone else. */
export function makerOf(principal: Principal): string | null {
  return principal.role === 'member' ? principal.id : null;
}

/** Whether an object of this account is the principal's to see. What is not is answered like what is not there. */
export function maySeeAccount(principal: Principal, accountId: number): boolean {
  return principal.accountId === null || principal.accountId === accountId;
}

/** Whether a person is the principal's to see. */
export function maySeePerson(principal: Principal, person: { accountId: number | null }): boolean {
  return principal.accountId === null || person.accountId === principal.accountId;
}

/** Whether a key is the principal's to see and to change. */
export function maySeeKey(principal: Principal, key: { accountId: number; madeBy: string | null }): boolean {
  return maySeeAccount(principal, key.accountId) && (principal.role !== 'member' || key.madeBy === principal.id);
}

/** Refuses an account's own token one more of what is never deleted, where there are so many. An operator may go on. */
export function refuseBeyond(principal: Principal, what: string, count: number, countMax: number): void {
  if (principal.accountId === null || count < countMax) return;
  throw new TurnpikeError(
    'conflict',
    `This account has ${count} ${what}, those that ended counted: more can only be made by an operator.`,
  );
}

export function roleRefusal(principal: Principal, roles: readonly Role[]): TurnpikeError {
  return new TurnpikeError(
    'role_not_allowed',
    `A token of the role ${principal.role} may not do this; it takes ${roles.join(' or ')}.`,
  );
}
