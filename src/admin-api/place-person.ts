// Gives a person of the directory the place that their groups give: creates them, moves them to another account, changes their role,
// disables them without a place and enables them again. Sign-in with OpenID Connect and SCIM call it, under the change lock.

import { type EndedKey, type Identity, type Key, type Person, type Place, SCIM_SOURCE } from '../accounts/accounts.ts';
import { assert } from '../base/assert.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { ChangeNote } from './changes.ts';
import { changeNote, recordAudit } from './changes.ts';
import { listChain } from './dependencies.ts';
import { endOfKey } from './keys.ts';
import { encodePerson, endSessions, isOnlyHolder, personNote, refuseClaimed, releaseEmail } from './people.ts';
import type { Call } from './route.ts';

/** A person as their directory describes them. */
export interface DirectoryProfile {
  /** In lower case; the directory vouches for it. */
  email: string;
  name: string;
  /** As which they sign in, if that is known. */
  identity: Identity | null;
  /** As `Person` has them. Absent: the directory does not say it here. */
  claimedGroups?: readonly string[] | null;
  /** The source that places them: the id of an issuer, or "scim". */
  source: string;
  /** Further rows of the transaction that stores the person. */
  rowsOf?(person: Person): unknown[];
}

/**
 * A new person of the directory at this place, who may sign in at once. Whom this directory disabled before is enabled again, and an open
 * invitation of the same email to the same account becomes theirs. Throws conflict if somebody claims the email, or if the installation,
 * this account or another directory disabled a person with it.
 */
export async function addPerson(call: Call, profile: DirectoryProfile, place: Place): Promise<Person> {
  const { people, signIn } = call;
  const { email } = profile;
  if ((await people.findPersonByEmail(email)) !== null)
    throw new TurnpikeError('conflict', `email: a person with the email address "${email}" already exists.`);
  const former = await findFormer(call, profile, place);
  if (former !== null) return placePerson(call, former, place, profile);
  const { accountId } = place;
  const [invited = null] =
    accountId === null ? [] : await people.listUnclaimed({ email, status: 'invited', accountId, limit: 1 });
  await signIn.forgetPassword(email); // set by a former owner of this email, or with another link
  return storeNew(call, invited, profile, place);
}

/** The person with this email whom the same directory disabled; null: nobody. Throws conflict if they must stay disabled. */
export async function findFormer(call: Call, profile: DirectoryProfile, { accountId }: Place): Promise<Person | null> {
  const { email, source, identity } = profile;
  const limit = bounds.unclaimedReadMax;
  const former = await call.people.listUnclaimed({ email, status: 'disabled', accountId: null, limit });
  const isOurs = (person: Person) =>
    person.disabledBy === 'directory' &&
    person.directorySource === source &&
    (identity === null || person.identity == null || isSameIdentity(identity, person.identity));
  const isRefused = (person: Person) =>
    person.disabledBy === 'account' ? person.accountId === accountId : !isOurs(person);
  if (former.some(isRefused) || former.length === limit)
    throw new TurnpikeError('conflict', `email: a person with the email address "${email}" is disabled: enable them.`);
  const found = former.find(isOurs) ?? null;
  return found !== null && source === SCIM_SOURCE && (await hasUser(call, found)) ? null : found;
}

/** Whether the directory still has the user of this person, under another address by now. */
async function hasUser({ scim }: Call, { id }: Person): Promise<boolean> {
  const filter = { member: 'person' as const, equals: id };
  return (await scim.listScimUsers({ filter, offset: 0, limit: 1 })).length > 0;
}

function isSameIdentity(one: Identity, other: Identity): boolean {
  return one.issuer === other.issuer && one.subject === other.subject;
}

/** `invited`: becomes the person. */
async function storeNew(call: Call, invited: Person | null, profile: DirectoryProfile, place: Place): Promise<Person> {
  const { people, clock, context } = call;
  const { email, name, identity, claimedGroups = null, source, rowsOf = noRows } = profile;
  const managed = {
    managedBy: 'directory' as const,
    directorySource: source,
    identity,
    claimedGroups,
    disabledBy: null,
  };
  const standing = { email, ...place, ...managed, status: 'enabled' as const, linkExpiresAtMs: null };
  const { id: madeBy } = context.get('actor') ?? context.get('principal');
  const made = { id: newNumber(), madeBy, createdAtMs: clock.nowMs() };
  const person: Person = { ...(invited ?? made), name: name || (invited?.name ?? ''), ...standing };
  const note =
    invited === null
      ? changeNote('person.join', formatId('person', person.id), place.accountId, null, encodePerson(person))
      : personNote('person.join', invited, person);
  const auditContext = { ...recordAudit(call, [note]), rows: rowsOf(person) };
  if (invited === null) await people.createPerson(person, null, auditContext);
  else await people.updatePerson(person, { hash: null }, auditContext);
  return person;
}

function noRows(): unknown[] {
  return [];
}

/** Absent members stay. */
export interface PlacedProfile extends Partial<DirectoryProfile> {
  /** false: the directory has deactivated them, whatever their groups. */
  isActive?: boolean;
}

/**
 * The person, whom a directory manages, with this place; null: without one they are disabled. Whom the installation disabled stays so, and
 * whom their account disabled, in that account. Who leaves an account loses their keys there: they are disabled, with the same
 * transaction. Stores nothing if nothing changes. Throws conflict if somebody else claims the email.
 */
export async function placePerson(
  call: Call,
  before: Person,
  place: Place | null,
  profile: PlacedProfile = {},
): Promise<Person> {
  assert(before.managedBy === 'directory', 'a directory places only people whom it manages');
  const after = await withFreeEmail(call, before, afterPlacing(before, place, profile));
  if (isSame(before, after)) return before;
  await storePlaced(call, before, after, profile.rowsOf ?? noRows);
  return after;
}

/** Whether `placePerson` would change the person. */
export function wouldPlace(before: Person, place: Place | null, profile: PlacedProfile): boolean {
  return !isSame(before, afterPlacing(before, place, profile));
}

function afterPlacing(before: Person, place: Place | null, { isActive = true, ...profile }: PlacedProfile): Person {
  const { email = before.email, identity = before.identity ?? null } = profile;
  const { source: directorySource = before.directorySource ?? null } = profile;
  const { claimedGroups = before.claimedGroups ?? null } = profile;
  const name = profile.name || before.name;
  const told: Person = { ...before, email, name, identity, directorySource, claimedGroups };
  const after = isActive && place !== null ? placed(told, place) : disabled(told);
  // A refused sign-in changes no address. SCIM also changes those of people without access.
  return after.status === 'enabled' || directorySource === SCIM_SOURCE ? after : { ...after, email: before.email };
}

/** A person without access keeps the former address while somebody else claims the new one: it must not stop the disabling. */
async function withFreeEmail({ people }: Call, before: Person, after: Person): Promise<Person> {
  if (after.status === 'enabled' || after.email === null || after.email === before.email) return after;
  const claimed = await people.findPersonByEmail(after.email);
  return claimed === null || claimed.id === after.id ? after : { ...after, email: before.email };
}

function placed(before: Person, place: Place): Person {
  const isMove = before.accountId !== place.accountId;
  const { disabledBy = null, status } = before;
  const staysDisabled = status === 'disabled' && disabledBy !== 'directory' && !(disabledBy === 'account' && isMove);
  if (staysDisabled) return before;
  return { ...before, ...place, status: 'enabled', disabledBy: null, linkExpiresAtMs: null };
}

function disabled(before: Person): Person {
  if (before.status === 'disabled') return before;
  return { ...before, status: 'disabled', disabledBy: 'directory', linkExpiresAtMs: null };
}

function isSame(before: Person, after: Person): boolean {
  const textOf = ({ id, accountId, role, email, name, status, identity = null, ...more }: Person) => {
    const { directorySource = null, claimedGroups = null } = more;
    const { issuer, subject } = identity ?? {};
    return JSON.stringify([id, accountId, role, email, name, status, issuer, subject, directorySource, claimedGroups]);
  };
  return textOf(before) === textOf(after);
}

async function storePlaced(
  call: Call,
  before: Person,
  after: Person,
  rowsOf: (person: Person) => unknown[],
): Promise<void> {
  const { people } = call;
  const isMove = before.accountId !== after.accountId;
  if (after.email !== null) await settleCredentials(call, before, after, after.email);
  const ended = isMove ? await endKeys(call, before, after.accountId) : NO_KEYS;
  const notes = isMove ? moveNotes(before, after) : [personNote('person.update', before, after)];
  const link = after.linkExpiresAtMs === null ? ({ hash: null } as const) : 'as it is';
  const auditContext = { ...recordAudit(call, [...notes, ...ended.notes]), rows: rowsOf(after) };
  await people.updatePerson(after, link, auditContext, ended.keys);
  for (const { key } of ended.keys) call.forgetKey(key.id);
  if (before.status === 'enabled' && (isMove || after.status === 'disabled')) await endSessions(call, after);
}

/**
 * The credentials follow the person to another address, unless somebody else may have set them. A password ends with a move, because people
 * of the former account may know it, and when an issuer lets the person in again. Throws conflict if somebody else claims the address.
 */
async function settleCredentials(call: Call, before: Person, after: Person, to: string): Promise<void> {
  const { signIn } = call;
  const { email: from } = before;
  const isEnabled = after.status === 'enabled';
  const isBack = isEnabled && before.status === 'disabled';
  const isMove = before.accountId !== after.accountId;
  if (isEnabled) await refuseClaimed(call, after, to);
  if (from === to && !isBack && !isMove) return;
  const isOwn = await isOnlyHolder(call, before);
  if (from !== to && from !== null) await (isOwn ? signIn.changeEmail(from, to) : leaveEmail(call, before, from));
  const isOfScim = after.directorySource === SCIM_SOURCE;
  if (isMove || !isOwn || (isBack && !isOfScim)) await signIn.forgetPassword(to);
  else if (isBack) await signIn.endSessions(to);
}

/** Somebody else claims the email, or may: they sign in at the issuer as if for the first time. */
async function leaveEmail(call: Call, before: Person, from: string): Promise<void> {
  await releaseEmail(call, before);
  if (before.identity != null) await call.signIn.forgetIdentity(from);
}

/** The people of an account see that the person left, or came, and nothing of the other account. */
function moveNotes(before: Person, after: Person): ChangeNote[] {
  const id = formatId('person', before.id);
  return [
    changeNote('person.leave', id, before.accountId, encodePerson(before), null),
    changeNote('person.join', id, after.accountId, null, encodePerson(after)),
  ];
}

interface EndedKeys {
  keys: EndedKey[];
  notes: ChangeNote[];
}
const NO_KEYS: EndedKeys = { keys: [], notes: [] };

/**
 * The person's enabled keys, disabled, to be stored with the person; those of the account that they come to, and of accounts below it, stay
 * as they are. Of more than one transaction takes, the first are stored now: should the rest fail, the person has lost some keys and is where
 * they were.
 */
async function endKeys(call: Call, person: Person, placedIn: number | null): Promise<EndedKeys> {
  const { accounts } = call;
  const madeBy = formatId('person', person.id);
  const isKept = isWithinOnce(accounts, placedIn);
  let ended: EndedKeys = { keys: [], notes: [] };
  for (let after: number | null = null; ; ) {
    const page: Key[] = await accounts.listKeys({ accountId: null, madeBy, after, limit: bounds.keysEndedAtOnce });
    for (const key of page) {
      if (key.status !== 'enabled' || (await isKept(key.accountId))) continue;
      const { key: changed, terms, note } = await endOfKey(call, key);
      ended.keys.push({ key: changed, terms });
      ended.notes.push(note);
    }
    after = page.at(-1)?.id ?? null;
    if (page.length < bounds.keysEndedAtOnce) return ended;
    if (ended.keys.length < bounds.keysEndedAtOnce) continue;
    await accounts.endKeys(ended.keys, { ...recordAudit(call, ended.notes), since: null });
    for (const { key } of ended.keys) call.forgetKey(key.id);
    ended = { keys: [], notes: [] };
  }
}

/** Whether an account is `top` or below it. Reads the accounts above each account once. */
function isWithinOnce(accounts: Call['accounts'], top: number | null): (accountId: number) => Promise<boolean> {
  const known = new Map<number, boolean>();
  return async (accountId) => {
    const before = known.get(accountId);
    if (before !== undefined) return before;
    const isWithin = top !== null && (await listChain(accounts, accountId)).some(({ id }) => id === top);
    known.set(accountId, isWithin);
    return isWithin;
  };
}
