// Finds or creates the person that an OpenID Connect issuer authenticated: binds them to the subject at the issuer, accepts their
// invitation, and gives them the account and role of their groups. Not reachable from outside.

import { Hono } from 'hono';
import {
  type DirectoryGroup,
  findOnlyInvitation,
  groupsOfSource,
  type Identity,
  keepGroups,
  type Person,
  type Place,
  placeOf,
} from '../accounts/accounts.ts';
import { formatId, newRequestId } from '../base/ids.ts';
import { groupsInPolicies } from '../catalog/catalog.ts';
import type { OidcSettings } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { AdminEnvironment } from './admin-app.ts';
import { recordAudit, type WithChangeLock } from './changes.ts';
import type { AdminDependencies } from './dependencies.ts';
import { loadDirectoryGroups } from './directory-groups.ts';
import { storeAccepted } from './invitations.ts';
import { personNote } from './people.ts';
import { addPerson, type DirectoryProfile, findFormer, placePerson, wouldPlace } from './place-person.ts';
import type { Call } from './route.ts';
import { isEmailDenied } from './sign-up-state.ts';

/** Verified claims of a person. */
export interface VerifiedIdentity {
  issuer: Pick<OidcSettings, 'id' | 'issuer' | 'domains' | 'createsPeople'>;
  subject: string;
  /** In lower case. */
  email: string;
  name: string;
  /** null: the issuer left them out. */
  groups: readonly string[] | null;
  /** The email as which this subject signed in before; null: never. */
  formerEmail: string | null;
}

export type IdentityRefusal =
  | 'person_unknown'
  | 'person_disabled'
  | 'email_changed'
  | 'email_not_trusted'
  | 'email_denied'
  | 'groups_unavailable'
  | 'identity_taken'
  | 'no_place';

/** null: they may sign in, as the person with this email. Rejects with store_unavailable, overloaded. */
export type AdmitIdentity = (identity: VerifiedIdentity, address: string) => Promise<IdentityRefusal | null>;

type Decision =
  | { kind: 'refuse'; refusal: IdentityRefusal }
  | { kind: 'admit' }
  /** Becomes the person at the issuer, with the groups that it claims. */
  | { kind: 'bind'; person: Person }
  | { kind: 'accept'; person: Person }
  | { kind: 'place'; person: Person; place: Place | null }
  | { kind: 'create'; place: Place };

export function makeAdmitIdentity(dependencies: AdminDependencies, withChangeLock: WithChangeLock): AdmitIdentity {
  const own = new Hono<AdminEnvironment>(); // for the context of changes
  own.onError((failure) => {
    throw failure;
  });
  own.post('/', async (context) => {
    context.set('requestId', newRequestId(dependencies.clock.nowMs()));
    const verified = (await context.req.json()) as VerifiedIdentity;
    const call = { ...dependencies, context } as unknown as Call;
    const refusal = await withChangeLock(context, async () => {
      const decision = await decide(call, verified);
      return perform(call, verified, decision);
    });
    return context.json(refusal);
  });
  return async (verified, address) => {
    const decision = await decide(dependencies as Call, verified);
    if (decision.kind === 'admit') return null;
    if (decision.kind === 'refuse') return decision.refusal;
    const body = JSON.stringify(verified);
    const answer = await own.request('/', { method: 'POST', body }, { address, isOverTls: false });
    return (await answer.json()) as IdentityRefusal | null;
  };
}

function identityOf({ issuer, subject }: VerifiedIdentity): Identity {
  return { issuer: issuer.issuer, subject };
}

function profileOf(call: Call, verified: VerifiedIdentity, before: Person | null): DirectoryProfile {
  const { email, name, issuer } = verified;
  return { email, name, ...bindingOf(call, verified, before), source: issuer.id };
}

type Binding = Required<Pick<Person, 'identity' | 'claimedGroups'>>;

/** As whom the person signs in, and their groups there. Groups that the issuer left out stay as they were for the same identity. */
function bindingOf({ catalog }: Call, verified: VerifiedIdentity, before: Person | null): Binding {
  const identity = identityOf(verified);
  const { groups } = verified;
  if (groups !== null) return { identity, claimedGroups: keepGroups(groups, groupsInPolicies(catalog.current())) };
  const isSame = before?.identity?.issuer === identity.issuer && before.identity.subject === identity.subject;
  return { identity, claimedGroups: isSame ? (before.claimedGroups ?? null) : null };
}

function isBound({ identity, claimedGroups = null }: Person, binding: Binding): boolean {
  const textOf = (groups: readonly string[] | null) => JSON.stringify(groups);
  return (
    identity?.issuer === binding.identity?.issuer &&
    identity?.subject === binding.identity?.subject &&
    textOf(claimedGroups) === textOf(binding.claimedGroups ?? null)
  );
}

const refuse = (refusal: IdentityRefusal): Decision => ({ kind: 'refuse', refusal });

/** Reads only. */
async function decide(call: Call, verified: VerifiedIdentity): Promise<Decision> {
  const { issuer, email, formerEmail } = verified;
  const { people } = call;
  if (issuer.domains !== null && !issuer.domains.includes(email.slice(email.lastIndexOf('@') + 1)))
    return refuse('email_not_trusted');
  const known = await people.findPersonByIdentity(identityOf(verified));
  // Bound before identities were stored with people: the issuer gave this subject to another email.
  if (known === null && formerEmail !== null && formerEmail !== email) return refuse('email_changed');
  if (known !== null) return decideOnPerson(call, verified, known);
  const claimed = await people.findPersonByEmail(email);
  if (claimed === null) return decideOnUnknown(call, verified);
  // An identity of an issuer that is no longer configured is replaced: nobody can sign in with it.
  const { identity = null } = claimed;
  if (identity !== null && call.signIn.issuers.some((one) => one.issuer === identity.issuer))
    return refuse('identity_taken');
  return decideOnPerson(call, verified, claimed);
}

/** `person` is bound to the identity, or claims its email and is bound to no other. */
async function decideOnPerson(call: Call, verified: VerifiedIdentity, person: Person): Promise<Decision> {
  const { issuer, email, groups } = verified;
  const { managedBy, directorySource = null } = person;
  if (managedBy === 'directory' && (directorySource === null || directorySource === issuer.id)) {
    if (groups === null) return refuse('groups_unavailable');
    const place = await placeAt(call, issuer.id, groups);
    if (!wouldPlace(person, place, profileOf(call, verified, person)))
      return person.status === 'enabled' ? { kind: 'admit' } : refuse('person_disabled');
    return { kind: 'place', person, place };
  }
  if (person.email !== email) return refuse('email_changed');
  if (person.status === 'disabled') return refuse('person_disabled');
  if (person.status === 'invited') return { kind: 'accept', person };
  return isBound(person, bindingOf(call, verified, person)) ? { kind: 'admit' } : { kind: 'bind', person };
}

/** Nobody claims the email, and the identity is nobody's. */
async function decideOnUnknown(call: Call, verified: VerifiedIdentity): Promise<Decision> {
  const { issuer, email, groups } = verified;
  const { people, scim } = call;
  const filter = { member: 'email' as const, equals: email };
  const [user] = await scim.listScimUsers({ filter, offset: 0, limit: 1 });
  if (user?.active === false) return refuse('person_disabled');
  const isDenied = isEmailDenied(call, email);
  if (issuer.createsPeople && !isDenied) {
    if (groups === null) return refuse('groups_unavailable');
    const place = await placeAt(call, issuer.id, groups);
    if (place !== null) {
      const isRefused = await findFormer(call, profileOf(call, verified, null), place).then(() => false, isConflict);
      if (!isRefused) return { kind: 'create', place };
    }
  }
  const invited = await findOnlyInvitation(people, email);
  if (invited !== null) return { kind: 'accept', person: invited };
  const former = await people.listUnclaimed({ email, status: 'disabled', accountId: null, limit: 1 });
  if (former.length > 0) return refuse('person_disabled');
  if (!issuer.createsPeople) return refuse('person_unknown');
  return refuse(isDenied ? 'email_denied' : 'no_place');
}

function isConflict(failure: unknown): true {
  if (failure instanceof TurnpikeError && failure.code === 'conflict') return true;
  throw failure;
}

async function placeAt(call: Call, source: string, names: readonly string[]): Promise<Place | null> {
  const groups: DirectoryGroup[] = await loadDirectoryGroups(call);
  return placeOf(names, groupsOfSource(groups, source));
}

/** Changes of a place have the directory as their actor, others the person. */
async function perform(call: Call, verified: VerifiedIdentity, decision: Decision): Promise<IdentityRefusal | null> {
  if (decision.kind === 'admit') return null;
  if (decision.kind === 'refuse') return decision.refusal;
  if (decision.kind === 'bind') return bind(call, verified, decision.person);
  if (decision.kind === 'accept') return accept(call, verified, decision.person);
  call.context.set('actor', { id: 'directory', role: 'service' });
  try {
    const { place } = decision;
    const profile = profileOf(call, verified, decision.kind === 'create' ? null : decision.person);
    const person =
      decision.kind === 'create'
        ? await addPerson(call, profile, decision.place)
        : await placePerson(call, decision.person, place, profile);
    return person.status === 'enabled' ? null : 'person_disabled';
  } catch (failure) {
    if (isConflict(failure)) return 'identity_taken';
    throw failure;
  }
}

async function bind(call: Call, verified: VerifiedIdentity, before: Person): Promise<null> {
  const { id, role, accountId } = before;
  const after: Person = { ...before, ...bindingOf(call, verified, before) };
  call.context.set('principal', { id: formatId('person', id), role, accountId, expiresAtMs: null });
  const note = personNote('person.update', before, after);
  await call.people.updatePerson(after, 'as it is', recordAudit(call, [note]));
  return null;
}

async function accept(call: Call, verified: VerifiedIdentity, before: Person): Promise<null> {
  await call.signIn.forgetPassword(verified.email); // set by a former owner of this email, or with another link
  const standing = { status: 'enabled' as const, linkExpiresAtMs: null, disabledBy: null };
  const after: Person = { ...before, ...standing, ...bindingOf(call, verified, before) };
  await storeAccepted(call, before, after, { accepted_by: 'single sign-on' });
  return null;
}
