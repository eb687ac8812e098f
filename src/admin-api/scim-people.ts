// Makes people of the users that a directory writes: a user that is active and has a place is a person who may sign in, and any other
// user's person is disabled. Whose email somebody else has is refused, never taken over.

import {
  claimsEmail,
  type DirectoryGroup,
  groupsOfSource,
  makeLinkSecret,
  type Person,
  type Place,
  placeOf,
  SCIM_SOURCE,
  type ScimUser,
} from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { scimFault, shownNameOf } from '../scim/scim.ts';
import { hashSecret, type Secret } from '../secrets/secrets.ts';
import { type ChangeNote, recordAudit } from './changes.ts';
import { loadDirectoryGroups } from './directory-groups.ts';
import { personNote, refuseLastOperator } from './people.ts';
import type { ScimCall } from './scim-app.ts';

/** The mapping of groups that SCIM provisions. */
export async function loadScimMapping(call: Pick<ScimCall, 'directoryGroups'>): Promise<DirectoryGroup[]> {
  return groupsOfSource(await loadDirectoryGroups(call), SCIM_SOURCE);
}

/** The place that groups with these names give; null: none. */
export function scimPlaceOf(names: Iterable<string>, mapping: readonly DirectoryGroup[]): Place | null {
  return placeOf(names, mapping);
}

/** What becomes of a user's person. */
interface PersonPlan {
  /** null: a new person. */
  before: Person | null;
  /** null: nothing changes. */
  after: Person | null;
  /** A new link to mail. */
  secret: Secret | null;
}

/** Whether the person must change for the user to have this place. */
export async function needsPerson(call: ScimCall, user: ScimUser, place: Place | null): Promise<boolean> {
  return (await planPerson(call, user, place)).after !== null;
}

/**
 * Writes the user, and the person with the access that the place gives, in one transaction. A disabled person is refused everywhere once
 * it resolves. Runs under the change lock. Throws conflict if somebody else has the email, and for the last operator.
 */
export async function writeUser(
  call: ScimCall,
  user: ScimUser,
  place: Place | null,
  note: ChangeNote | null,
  removes = false,
): Promise<ScimUser> {
  const { people, scim } = call;
  const plan = await planPerson(call, user, removes ? null : place);
  const { before, after, secret } = plan;
  const stored: ScimUser = { ...user, personId: after?.id ?? user.personId };
  const rows = scim.scimRows(removes ? [{ removedUser: user.id }] : [{ user: stored }]);
  const notes = note === null ? [] : [note];
  if (after === null) {
    await scim.writeScim(removes ? [{ removedUser: user.id }] : [{ user: stored }], recordAudit(call, notes));
    return stored;
  }
  await prepareAccess(call, before, after);
  const made = before === null ? createdNote(after) : personNote('person.update', before, after);
  const auditContext = recordAudit(call, [made, ...notes]);
  const mails = await mailRows(call, after, secret);
  const more = { ...auditContext, rows: [...rows, ...mails] };
  const hash = secret === null ? null : hashSecret(secret.reveal());
  const link = hash === null && after.linkExpiresAtMs !== null ? 'as it is' : { hash };
  if (before === null) await people.createPerson(after, hash, more);
  else await people.updatePerson(after, link, more);
  if (mails.length > 0) call.mailer?.wake();
  if (before !== null && claimsEmail(before) && endsAccess(before, after)) await endSessions(call, before);
  return stored;
}

function createdNote(person: Person): ChangeNote {
  const note = personNote('person.create', person, person);
  return { ...note, before: null };
}

async function planPerson(call: ScimCall, user: ScimUser, place: Place | null): Promise<PersonPlan> {
  const before = await findPersonOf(call, user);
  if (!user.active || place === null) return planEnd(call, before);
  await refuseOthersEmail(call, user, before);
  const placed = {
    ...place,
    email: user.email,
    name: shownNameOf(user) || (before?.name ?? ''),
    managedBy: 'directory' as const,
  };
  if (before === null) {
    const nowMs = call.clock.nowMs();
    const person: Person = { id: newNumber(), status: 'enabled', ...placed, ...made(call, nowMs) };
    return { before, ...withAccess(call, person) };
  }
  // Only who disabled them lets them in again.
  const isHeld = before.status === 'disabled' && before.disabledBy != null && before.disabledBy !== 'directory';
  if (isHeld) return { before, after: null, secret: null };
  const isBack = before.status === 'disabled' || before.email !== user.email;
  const changed: Person = { ...before, ...placed, disabledBy: null };
  if (isBack) return { before, ...withAccess(call, changed) };
  const [was, is] = [before, changed].map(({ accountId, role, name, managedBy }) =>
    JSON.stringify([accountId, role, name, managedBy ?? null]),
  );
  if (was === is) return { before, after: null, secret: null };
  await refuseLastOperator(call, before, changed);
  return { before, after: changed, secret: null };
}

function made({ principal }: ScimCall, nowMs: number) {
  return { linkExpiresAtMs: null, madeBy: principal.id, createdAtMs: nowMs };
}

/** With OpenID Connect, the issuer proves who they are; without it, only a mail to the address does. */
function withAccess({ signIn, clock }: ScimCall, person: Person): { after: Person; secret: Secret | null } {
  if (signIn.oidcName !== null) return { after: { ...person, status: 'enabled', linkExpiresAtMs: null }, secret: null };
  const after: Person = { ...person, status: 'invited', linkExpiresAtMs: clock.nowMs() + bounds.linkMs };
  return { after, secret: makeLinkSecret() };
}

async function planEnd(call: ScimCall, before: Person | null): Promise<PersonPlan> {
  if (before === null || before.status === 'disabled') return { before, after: null, secret: null };
  const after: Person = { ...before, status: 'disabled', disabledBy: 'directory', linkExpiresAtMs: null };
  await refuseLastOperator(call, before, after);
  return { before, after, secret: null };
}

/** The user's person, or one of the same directory with this email, whom no other user has. */
async function findPersonOf({ people, scim }: ScimCall, user: ScimUser): Promise<Person | null> {
  if (user.personId !== null) return people.getPerson(user.personId);
  const claimed = await people.findPersonByEmail(user.email);
  if (claimed?.managedBy !== 'directory') return null;
  const [other] = await scim.listScimUsers({ filter: { member: 'person', equals: claimed.id }, offset: 0, limit: 1 });
  return other === undefined ? claimed : null;
}

/** Throws conflict if a person who is not the user's claims the email: whoever controls the directory must not become them. */
export async function refuseOthersEmail(
  { people }: ScimCall,
  { email }: Pick<ScimUser, 'email'>,
  own: Person | null,
): Promise<void> {
  const claimed = await people.findPersonByEmail(email);
  if (claimed === null || claimed.id === own?.id) return;
  const id = formatId('person', claimed.id);
  const words = `emails: the person "${id}" signs in with this address and is not this user. An operator can disable them.`;
  throw scimFault('uniqueness', words, 'conflict');
}

/** Throws conflict as refuseOthersEmail, before a user is stored. */
export async function refuseForeignEmail(call: ScimCall, user: ScimUser): Promise<void> {
  await refuseOthersEmail(call, user, await findPersonOf(call, user));
}

/** Credentials of a former owner of the email, or of the person before they were disabled, must not work. */
async function prepareAccess({ signIn }: ScimCall, before: Person | null, after: Person): Promise<void> {
  if (after.status === 'disabled' || after.email === null) return;
  if (before !== null && before.status === 'enabled' && before.email === after.email) return;
  await signIn.forgetPassword(after.email);
}

function endsAccess(before: Person, after: Person): boolean {
  return after.status === 'disabled' || before.email !== after.email;
}

/** A disabled person cannot use a session, so a failure to end it is only logged. */
async function endSessions({ signIn, report, context }: ScimCall, { email }: Person): Promise<void> {
  if (email === null) return;
  try {
    await signIn.endSessions(email);
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}

async function mailRows({ mailer, accounts }: ScimCall, person: Person, secret: Secret | null): Promise<unknown[]> {
  const { email: to, role, accountId, linkExpiresAtMs: expiresAtMs } = person;
  if (mailer === null || secret === null || to === null || expiresAtMs === null) return [];
  const account = accountId === null ? null : ((await accounts.getAccount(accountId))?.name ?? null);
  return [mailer.row({ to, request: { kind: 'invitation', role, account, expiresAtMs }, secret })];
}
