// An e-mail is one person's of the whole installation: whoever was invited by it in a wrong place, or is let in no more, must not
// keep it from everybody else. An invitation of the installation's own takes it back; what was set behind it opens nothing more.

import type { Person } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { TurnpikeError } from '../errors.ts';
import type { AdminDependencies } from './dependencies.ts';
import { personJson } from './person-json.ts';
import type { Principal } from './principal.ts';
import type { ChangeNote } from './trail.ts';

/** As they are without their e-mail, and what the trail says of it. */
export interface Freed {
  former: Person;
  note: ChangeNote;
}

/** Null where nobody has the e-mail. Throws conflict where who has it is let in, or the principal is of an account. */
export async function freeEmail(
  { people, signIn }: AdminDependencies,
  principal: Principal,
  email: string,
): Promise<Freed | null> {
  const before = await people.findPersonByEmail(email);
  if (before === null) return null;
  if (principal.accountId !== null || before.status === 'enabled')
    throw new TurnpikeError('conflict', `email: there is a person with the e-mail "${email}" already.`);
  await signIn.forgetPassword(email);
  const former: Person = { ...before, email: null, status: 'disabled', linkExpiresAtMs: null };
  const object = formatId('person', before.id);
  const shown = { before: personJson(before), after: personJson(former) };
  return { former, note: { action: 'person.update', object, account: before.accountId, ...shown } };
}
