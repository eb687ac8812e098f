// Makes people of the users that a directory writes: a user that is active and has a place is a person who may sign in, and any other
// user's person is disabled. A user whose email somebody else has is refused, never taken over.

import {
  claimsEmail,
  makeLinkSecret,
  type Person,
  type Place,
  SCIM_SOURCE,
  type ScimUser,
} from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { scimFault, shownNameOf } from '../scim/scim.ts';
import { hashSecret } from '../secrets/secrets.ts';
import { type ChangeNote, changeNote, recordAudit } from './changes.ts';
import { isoTime } from './fields.ts';
import { personNote, refuseLastOperator, releaseEmail } from './people.ts';
import { addPerson, placePerson } from './place-person.ts';
import type { Call } from './route.ts';

/** Whether placeUser may change something. */
export async function needsPlacing(call: Call, user: ScimUser, place: Place | null): Promise<boolean> {
  const person = await findPersonOf(call, user, place);
  if (!user.active || place === null) return person !== null && person.status !== 'disabled';
  if (person === null || person.status === 'disabled') return true;
  return person.accountId !== place.accountId || person.role !== place.role || user.personId !== person.id;
}

/**
 * Gives the user's person this place, or none, and stores the user, whom `note` describes. The person first: should the rest fail, a retry
 * finds them. A disabled person is refused everywhere once it resolves. Runs under the change lock. Throws conflict if somebody else
 * has the email, and for the last operator.
 */
export async function storeUser(
  call: Call,
  user: ScimUser,
  place: Place | null,
  note: ChangeNote | null,
): Promise<ScimUser> {
  // Without a note, the user goes with the person: two transactions would be one too many for each member of a large group.
  let isStored = false;
  const rowsOf = ({ id }: Person) => {
    if (note !== null || id === user.personId) return [];
    isStored = true;
    return call.scim.scimRows([{ user: { ...user, personId: id } }]);
  };
  const person = await placeUser(call, user, place, rowsOf);
  const personId = person?.id ?? user.personId;
  const stored: ScimUser = { ...user, personId };
  if (isStored || (note === null && personId === user.personId)) return stored;
  await call.scim.writeScim([{ user: stored }], recordAudit(call, note === null ? [] : [note]));
  return stored;
}

/**
 * Removes the user. Their person is disabled, and the address is free for somebody else, who then gets none of what the person had: not
 * even a directory can tell whether it is the same one.
 */
export async function removeUser(call: Call, user: ScimUser, note: ChangeNote): Promise<void> {
  const { people, scim } = call;
  const person = await placeUser(call, user, null);
  const removal = [{ removedUser: user.id }];
  const isOurs = person?.managedBy === 'directory' && person.disabledBy === 'directory';
  if (!isOurs || person.email === null) {
    await scim.writeScim(removal, recordAudit(call, [note]));
    return;
  }
  const after: Person = { ...person, email: null, identity: null };
  await releaseEmail(call, person);
  const auditContext = recordAudit(call, [personNote('person.update', person, after), note]);
  await people.updatePerson(after, { hash: null }, { ...auditContext, rows: scim.scimRows(removal) });
}

/** The user's person, after they were created, changed or disabled; null: there is none. */
async function placeUser(
  call: Call,
  user: ScimUser,
  place: Place | null,
  rowsOf?: (person: Person) => unknown[],
): Promise<Person | null> {
  const person = await findPersonOf(call, user, place);
  const wanted = user.active ? place : null;
  const named = { email: user.email, name: shownNameOf(user), source: SCIM_SOURCE };
  const profile = rowsOf === undefined ? named : { ...named, rowsOf };
  if (person === null) {
    if (wanted === null) return null;
    const added = await addPerson(call, { ...profile, identity: null }, wanted);
    await mailLink(call, added);
    return added;
  }
  if (person.managedBy !== 'directory') return person; // an operator released them
  await refuseLastOperator(call, person, {
    ...person,
    status: wanted === null ? 'disabled' : person.status,
    ...wanted,
  });
  const placed = await placePerson(call, person, wanted, { ...profile, isActive: user.active });
  const isIn = placed.status === 'enabled' && (person.status !== 'enabled' || placed.accountId !== person.accountId);
  if (isIn) await mailLink(call, placed);
  return placed;
}

/**
 * The user's person, or one of a directory with this email whom no other user has, unless the user waits for a place: until then the claims
 * of an issuer may give them one.
 */
async function findPersonOf({ people, scim }: Call, user: ScimUser, place: Place | null): Promise<Person | null> {
  if (user.personId !== null) return people.getPerson(user.personId);
  if (user.active && place === null) return null;
  const claimed = await people.findPersonByEmail(user.email);
  if (claimed?.managedBy !== 'directory') return null;
  const [other] = await scim.listScimUsers({ filter: { member: 'person', equals: claimed.id }, offset: 0, limit: 1 });
  return other === undefined ? claimed : null;
}

/** Throws conflict if another person claims the email: who controls the directory must not become them. */
export async function refuseForeignEmail(call: Call, user: ScimUser): Promise<void> {
  const claimed = await call.people.findPersonByEmail(user.email);
  if (claimed === null || claimed.id === user.personId) return;
  const [other] = await call.scim.listScimUsers({
    filter: { member: 'person', equals: claimed.id },
    offset: 0,
    limit: 1,
  });
  if (user.personId === null && claimed.managedBy === 'directory' && other === undefined) return;
  const words = `emails: the person "${formatId('person', claimed.id)}" signs in with this address. To let the directory manage them, an operator sets their managed_by to directory.`;
  throw scimFault('uniqueness', words, 'conflict');
}

/** A person without a password, whom no issuer of OpenID Connect signs in, sets one with a mailed link. */
async function mailLink(call: Call, person: Person): Promise<void> {
  const { mailer, signIn, clock, people } = call;
  const { id, email, accountId } = person;
  if (mailer === null || email === null || !claimsEmail(person) || hasIssuer(call, email)) return;
  if (await signIn.hasPassword(email)) return;
  const secret = makeLinkSecret();
  const expiresAtMs = clock.nowMs() + bounds.linkMs;
  const row = mailer.row({ to: email, request: { kind: 'recovery', expiresAtMs }, secret });
  const shown = (atMs: number | null) => ({ link_expires_at: isoTime(atMs) });
  const note = changeNote('person.link', formatId('person', id), accountId, shown(null), shown(expiresAtMs));
  const after: Person = { ...person, linkExpiresAtMs: expiresAtMs };
  const auditContext = { ...recordAudit(call, [note]), since: null, rows: [row] };
  await people.updatePerson(after, { hash: hashSecret(secret.reveal()) }, auditContext);
  mailer.wake();
}

/** Whether an issuer vouches for the domain of the email. */
function hasIssuer({ signIn }: Call, email: string): boolean {
  const domain = email.slice(email.lastIndexOf('@') + 1);
  return signIn.issuers.some(({ domains }) => domains === null || domains.includes(domain));
}
