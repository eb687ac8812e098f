// What a person becomes by a change, and which changes are refused whoever may make others: nobody changes what they may do
// themselves, and somebody is left who operates the installation.

import type { Person, Role } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidRequest } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';
import type { Principal } from './principal.ts';

export interface PersonChange {
  name?: string | undefined;
  role?: Role | undefined;
  status?: 'enabled' | 'disabled' | undefined;
}

/** The person after a change; what the change does not name stays. Throws invalid_request and conflict. */
export function changedPerson(principal: Principal, before: Person, change: PersonChange): Person {
  const { name = before.name, role = before.role, status = before.status } = change;
  const isSelf = principal.id === formatId('person', before.id);
  if (isSelf && (role !== before.role || status !== before.status))
    throw new TurnpikeError(
      'conflict',
      'Nobody changes their own role or disables themselves: that takes somebody else.',
    );
  const isOfInstallation = role === 'operator' || role === 'viewer';
  if (isOfInstallation !== (before.accountId === null)) {
    const [wanted, of] =
      before.accountId === null ? ['operator or viewer', 'the installation'] : ['owner or member', 'an account'];
    throw invalidRequest([{ path: ['role'], message: `must be ${wanted}: this person is of ${of}` }]);
  }
  if (status === 'enabled' && before.email === null)
    throw new TurnpikeError('conflict', 'This person has no e-mail yet: they say it when they accept their link.');
  return { ...before, name, role, status, linkExpiresAtMs: status === 'disabled' ? null : before.linkExpiresAtMs };
}

/** Only who can read the data directory may leave the installation without anybody who operates it from a browser. */
export async function refuseLastOperator(
  { people }: AdminDependencies,
  principal: Principal,
  before: Person,
  after: Person,
): Promise<void> {
  const operates = ({ role, status }: Person) => role === 'operator' && status === 'enabled';
  if (principal.id === 'local' || !operates(before) || operates(after)) return;
  if ((await people.countInRole('operator', 'enabled')) > 1) return;
  throw new TurnpikeError(
    'conflict',
    'This is the last operator who can sign in: only a command on the machine itself may take that away.',
  );
}

/**
 * Refuses a person who lost what lets them ask, while their change waited for its turn: of two operators who disable each other
 * at the same time, one stays.
 */
export async function refuseFormer({ people }: AdminDependencies, principal: Principal): Promise<void> {
  const id = parseId('person', principal.id);
  if (id === null) return;
  const person = await people.getPerson(id);
  if (person?.status === 'enabled' && person.role === principal.role) return;
  throw new TurnpikeError('role_not_allowed', 'What you may do was changed meanwhile.');
}
