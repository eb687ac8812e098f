// People: invited (only that response shows the link), listed, shown, changed. Nobody can create a person with more
// rights than their own.

import { z } from '@hono/zod-openapi';
import {
  claimsEmail,
  emailKeyOf,
  type Key,
  makeLinkSecret,
  NO_TAGS,
  type Person,
  type Role,
  SCIM_SOURCE,
  type Tags,
} from '../accounts/accounts.ts';
import { DAY_MS } from '../base/clock.ts';
import { fairShare } from '../base/fair-limits.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { hashSecret, type Secret } from '../secrets/secrets.ts';
import { askedAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { type ChangeNote, changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import { consentSchema, encodeConsent } from './consent.ts';
import {
  type AdminDependencies,
  accountOf,
  countShared,
  holders,
  holdersWhoChange,
  maySeeAccount,
  type Principal,
  refuseBeyond,
  sharesBoundsOf,
} from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  accountField,
  accountShown,
  actorShown,
  emailField,
  idField,
  isoTime,
  nameField,
  searchInOnePage,
  tagsField,
  tagsShown,
  timeShown,
} from './fields.ts';
import { makeInvitation } from './make-invitation.ts';
import { after, answerPage, answerRows, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { refuseDeniedEmail } from './sign-up-state.ts';
import { accountOfRole, roleField } from './tokens.ts';

export const personSchema = z
  .object({
    id: idField('person'),
    role: roleField,
    account: accountShown.nullable().describe('null: the whole installation.'),
    email: z
      .string()
      .nullable()
      .describe(
        'null before the first operator accepts their invitation, and for an invitation that was replaced by another one.',
      ),
    name: z.string(),
    status: z.enum(['invited', 'enabled', 'disabled']),
    managed_by: z
      .enum(['directory'])
      .nullable()
      .describe('directory: the groups of the directory decide their account, role and status.'),
    directory_source: z
      .string()
      .nullable()
      .describe(
        'The source that places them: the id of an issuer, or scim; null: the issuer that they sign in at next.',
      ),
    identity: z
      .object({ issuer: z.string(), subject: z.string() })
      .nullable()
      .describe('As which they sign in with OpenID Connect; null: they have not yet.'),
    claimed_groups: z
      .array(z.string())
      .nullable()
      .describe(
        'Groups that the issuer claimed at their last sign-in, for policies; null: they have not signed in there.',
      ),
    disabled_by: z
      .enum(['directory', 'account', 'installation'])
      .nullable()
      .describe('Who disabled them, if that is known; null also for a person who is not disabled.'),
    tags: tagsShown,
    link_expires_at: timeShown.nullable().describe('Expiry of the one-time link; null if there is none.'),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Person');

const encode = encoderOf(personSchema);

export function encodePerson({ tags = NO_TAGS, ...person }: Person): z.infer<typeof personSchema> {
  const { managedBy = null, directorySource = null, identity = null, disabledBy = null } = person;
  const claimedGroups = identity === null ? null : (person.claimedGroups ?? null); // an identity takes them along
  return encode({ ...person, tags, managedBy, directorySource, identity, claimedGroups, disabledBy });
}

export const listedPersonSchema = personSchema.extend({
  consents: z
    .array(consentSchema)
    .describe('Versions of the terms that they agreed to, the latest last. Empty for a token of one account.'),
});

function encodeListed({ principal }: Call, person: Person): z.infer<typeof listedPersonSchema> {
  const consents = principal.accountId === null ? (person.consents ?? []) : [];
  return { ...encodePerson(person), consents: consents.map(encodeConsent) };
}

/** The person with this id "person_…", if the principal may see them. Throws object_not_found. */
export function findPerson(call: Call, id: string): Promise<Person> {
  return findObject('person', 'person', id, call.people.getPerson, ({ accountId }) => maySeeAccount(call, accountId));
}

/**
 * The former owner without the email, and the audit note; null if there is none. Throws conflict if its owner may sign in. People of
 * an account learn about the accounts that they see only.
 */
async function freeEmail(
  call: Call,
  email: string,
  accountId: number | null,
): Promise<{ former: Person; note: ChangeNote } | null> {
  const { people, signIn, principal } = call;
  const claimed = await people.findPersonByEmail(email);
  const [invited = null] =
    accountId === null ? [] : await people.listUnclaimed({ email, status: 'invited', accountId, limit: 1 });
  if (principal.accountId !== null) {
    if (invited !== null || (claimed !== null && (await maySeeAccount(call, claimed.accountId)))) throw taken(email);
    return null;
  }
  if (claimed?.status === 'enabled') throw taken(email);
  const before = claimed ?? invited;
  if (before === null) return null;
  await signIn.forgetPassword(email);
  const left = {
    email: null,
    identity: null,
    status: 'disabled',
    disabledBy: 'installation',
    linkExpiresAtMs: null,
  } as const;
  const former: Person = { ...before, ...left };
  return { former, note: personNote('person.update', before, former) };
}

/** Throws conflict if another person claims the email. */
export async function refuseClaimed(
  { people }: Pick<AdminDependencies, 'people'>,
  { id }: Person,
  email: string,
): Promise<void> {
  const claimed = await people.findPersonByEmail(email);
  if (claimed !== null && claimed.id !== id) throw taken(email);
}

/** Whether what is stored to sign in with the person's email is theirs: they claim it, or nobody else has it. */
export async function isOnlyHolder({ people }: Pick<AdminDependencies, 'people'>, person: Person): Promise<boolean> {
  const { id, email } = person;
  if (email === null) return false;
  if (claimsEmail(person)) return true;
  if ((await people.findPersonByEmail(email)) !== null) return false;
  const search = { email, accountId: null, limit: 2 };
  const disabled = await people.listUnclaimed({ ...search, status: 'disabled' });
  const invited = await people.listUnclaimed({ ...search, status: 'invited' });
  return [...disabled, ...invited].every((one) => one.id === id);
}

/** Forgets the password of an email that the person leaves, unless somebody else claims the email by now. */
export async function releaseEmail(
  { people, signIn }: Pick<AdminDependencies, 'people' | 'signIn'>,
  { id, email }: Person,
): Promise<void> {
  if (email === null) return;
  const claimed = await people.findPersonByEmail(email);
  if (claimed === null || claimed.id === id) await signIn.forgetPassword(email);
}

function taken(email: string): TurnpikeError {
  return new TurnpikeError('conflict', `email: a person with the email address "${email}" already exists.`);
}

export function personNote(action: string, before: Person, after: Person): ChangeNote {
  return changeNote(action, formatId('person', before.id), before.accountId, encodePerson(before), encodePerson(after));
}

interface PersonChange {
  name?: string | undefined;
  role?: Role | undefined;
  status?: 'enabled' | 'disabled' | undefined;
  tags?: Tags | undefined;
  managed_by?: 'directory' | null | undefined;
  identity?: null | undefined;
}

/** Throws invalid_request and conflict. */
function refuseManaged(principal: Principal, before: Person, change: PersonChange): void {
  const { managed_by: managedBy = before.managedBy ?? null, identity, role = before.role } = change;
  const faults = [
    ...(change.managed_by === undefined ? [] : (['managed_by'] as const)),
    ...(identity === undefined ? [] : (['identity'] as const)),
  ];
  const [first] = faults;
  if (first !== undefined && principal.accountId !== null)
    throw invalidMember(first, 'may only be changed by the people of the installation');
  if (managedBy === null) return;
  if (change.status === 'enabled' && before.disabledBy === 'installation' && principal.accountId !== null)
    throw new TurnpikeError('conflict', 'The people of the installation disabled this person: only they enable them.');
  const isEnabled = change.status === 'enabled' && before.status === 'disabled' && before.disabledBy === 'directory';
  if (role !== before.role || isEnabled)
    throw new TurnpikeError(
      'conflict',
      'The directory decides the role of this person, and whether they are enabled: change their groups there, or set managed_by to null.',
    );
}

/** The person after a change; absent members stay. Throws invalid_request and conflict. */
function changedPerson(principal: Principal, before: Person, change: PersonChange): Person {
  const { name = before.name, role = before.role, status = before.status, tags = before.tags } = change;
  refuseManaged(principal, before, change);
  const isSelf = principal.id === formatId('person', before.id);
  if (isSelf && (role !== before.role || status !== before.status))
    throw new TurnpikeError(
      'conflict',
      'You cannot change your own role or disable yourself. Ask another person who may do it.',
    );
  const isOfInstallation = role === 'operator' || role === 'viewer';
  if (isOfInstallation !== (before.accountId === null)) {
    const [wanted, of] =
      before.accountId === null ? ['operator or viewer', 'the installation'] : ['owner or member', 'an account'];
    throw invalidMember('role', `must be ${wanted}: this person belongs to ${of}`);
  }
  if (status === 'enabled' && before.email === null)
    throw new TurnpikeError(
      'conflict',
      'This person has no email address yet: they enter it when they accept their invitation.',
    );
  // Whether somebody else has the email meanwhile must not show: the people of an account only invite again.
  const next = principal.accountId !== null && status === 'enabled' && before.status !== 'enabled' ? 'invited' : status;
  const tagged = tags === undefined ? before : { ...before, tags };
  return { ...tagged, name, role, ...directoryAfter(before, change), ...standingAfter(principal, before, next) };
}

/** Whether the person signs in at the issuer of their directory, and not with a password. */
function isOfIssuer({ managedBy, directorySource }: Person): boolean {
  return managedBy === 'directory' && directorySource !== SCIM_SOURCE;
}

function directoryAfter(
  { managedBy = null, directorySource = null, identity = null, status }: Person,
  change: PersonChange,
): Pick<Person, 'managedBy' | 'directorySource' | 'identity'> {
  const { managed_by: managed = managedBy } = change;
  const source = managed === managedBy ? directorySource : null;
  // Somebody else may be bound to the identity of a person who was disabled by hand.
  const isFreed =
    change.identity === null || (change.status === 'enabled' && managed === null && status === 'disabled');
  return { managedBy: managed, directorySource: source, identity: isFreed ? null : identity };
}

/** Who is disabled twice was disabled by the installation, if it is one of them. */
function standingAfter(
  principal: Principal,
  before: Person,
  status: Person['status'],
): Pick<Person, 'status' | 'linkExpiresAtMs' | 'disabledBy'> {
  if (status === 'invited' && before.status === 'disabled' && isOfIssuer(before))
    return { status: 'disabled', disabledBy: 'directory', linkExpiresAtMs: null }; // their next sign-in enables them
  if (status !== 'disabled') return { status, disabledBy: null, linkExpiresAtMs: before.linkExpiresAtMs };
  const by = principal.accountId === null ? 'installation' : 'account';
  const former = before.status === 'disabled' ? (before.disabledBy ?? null) : null;
  return { status, disabledBy: former === 'installation' ? former : by, linkExpiresAtMs: null };
}

/** Only this machine's operator may remove the last operator who can sign in. */
export async function refuseLastOperator(
  { people, principal }: Pick<Call, 'people' | 'principal'>,
  before: Person,
  after: Person,
): Promise<void> {
  const operates = ({ role, status }: Person) => role === 'operator' && status === 'enabled';
  if (principal.id === 'local' || !operates(before) || operates(after)) return;
  if ((await people.countInRole('operator', 'enabled')) > 1) return;
  throw new TurnpikeError(
    'conflict',
    'This is the last operator who can sign in: only a command on the local machine may change that.',
  );
}

export const invitationBody = z.strictObject({
  email: emailField,
  role: roleField,
  account: accountField
    .optional()
    .describe('Required for the roles owner and member, except with a session or token of an account.'),
  name: nameField.optional().describe('Their name, until they change it.'),
});
const changeBody = z.strictObject({
  name: nameField.optional().describe('Their name.'),
  role: roleField.optional(),
  status: z
    .enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' })
    .optional()
    .describe('disabled: their sessions end, and their tokens and keys stop working.'),
  now: z
    .boolean()
    .default(false)
    .describe('With status disabled: also ends the running messages of their keys; without it they may finish.'),
  managed_by: z
    .enum(['directory'], { error: 'must be directory or null' })
    .nullable()
    .optional()
    .describe(
      'directory: the groups of the directory decide from the next sign-in on; null: they no longer do. Only for operators.',
    ),
  identity: z
    .null({ error: 'must be null' })
    .optional()
    .describe(
      'null: the next sign-in with OpenID Connect and the same email binds the person anew. Only for operators.',
    ),
  tags: tagsField.optional().describe('Tags of the messages of their keys, before those of keys and clients.'),
});
const params = z.object({ id: idField('person') });
export const invitedSchema = personSchema.extend({
  link_secret: z
    .string()
    .nullable()
    .describe(
      'The secret of the link `/console/invitation#…`, which works once; null if the people of an account invite, or make a link for a person of the directory: only the mail has it.',
    ),
});

export const personRoutes: AdminRoute[] = [
  post('/people', 'person-create', 'Invite a person', holdersWhoChange, {
    body: invitationBody,
    isCreation: true,
    conflict:
      'Another active person has this email address (for the people of an account: a person of that account), or the account has reached the number of people that its own people may invite',
    answer: [invitedSchema, 'The person with the secret of their link, which is shown only once, or only mailed'],
    links: ['person-show', 'person-update', 'person-link'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storePerson(call, remember));
      return { ...encodePerson(await findPerson(call, created.object)), link_secret: created.secret?.reveal() ?? null };
    },
  }),
  list('/people', 'person-list', 'List people', holders, {
    query: { account: accountField.optional(), search: searchInOnePage('the name or the email') },
    page: [listedPersonSchema, 'People, oldest first; of a search, newest first'],
    async handle(call) {
      const { limit, account, search } = call.query;
      const accountId = accountOf(call.principal, await askedAccount(call, account));
      if (search !== undefined) {
        const found = await call.names.searchPersonNames(
          { text: search, accountId, madeBy: null, limit },
          requesterOf(call),
        );
        return answerRows(found, (person) => encodeListed(call, person), null);
      }
      const rows = await call.people.listPeople({ accountId, after: after(call), limit });
      return answerPage(
        call,
        rows,
        (person) => encodeListed(call, person),
        ({ id }) => id,
      );
    },
  }),
  get('/people/{id}', 'person-show', 'Retrieve a person', holders, {
    params,
    answer: [listedPersonSchema, 'The person'],
    handle: async (call) => encodeListed(call, await findPerson(call, call.params.id)),
  }),
  patch('/people/{id}', 'person-update', 'Update a person', holdersWhoChange, {
    params,
    body: changeBody,
    conflict: 'The person is yourself, the last operator, or has no email address yet, or another person has it',
    answer: [personSchema, 'The updated person'],
    async handle(call) {
      const { now, ...change } = call.body;
      if (now && change.status !== 'disabled') throw invalidMember('now', 'needs the status disabled');
      const changed = await call.changeInTurn(() => storeChange(call, call.params.id, change));
      if (now) await endMessages(call, changed);
      return encodePerson(changed);
    },
  }),
  post('/people/{id}/link', 'person-link', 'Create a new one-time link for a person', holdersWhoChange, {
    params,
    body: z.strictObject({}),
    isCreation: true,
    conflict: 'The person is disabled, or is yourself',
    answer: [invitedSchema, 'The person with the secret of their new link, which is shown only once, or only mailed'],
    async handle(call) {
      const linked = await createOnce(call, (remember) => storeLink(call, call.params.id, remember));
      return { ...encodePerson(await findPerson(call, linked.object)), link_secret: linked.secret?.reveal() ?? null };
    },
  }),
];

export async function storePerson(call: CallWith<typeof invitationBody>, remember: Remember): Promise<Made> {
  const { people, principal, body } = call;
  const accountId = await accountOfRole(call);
  if (accountId !== null)
    refuseBeyond(
      principal,
      'people',
      await countShared(call, accountId, people.countPeople),
      bounds.peoplePerAccountMax,
    );
  if (principal.accountId !== null) refuseDeniedEmail(call, body.email);
  const freed = await freeEmail(call, body.email, accountId);
  const { role, email, name = '' } = body;
  const { secret, linkHash, ...link } = makeInvitation(call.clock.nowMs());
  const person: Person = { ...link, accountId, role, email, name, madeBy: principal.id };
  const object = formatId('person', person.id);
  const note = changeNote('person.create', object, accountId, null, encodePerson(person));
  const shown = isOnlyMailed(call, person) ? null : secret;
  const auditContext = recordAudit(call, freed === null ? [note] : [freed.note, note], remember(object, shown));
  const rows = await linkMail(call, person, secret);
  await people.createPerson(person, linkHash, { ...auditContext, rows }, freed?.former);
  call.mailer?.wake();
  return { object, secret: shown };
}

/**
 * People of an account do not see the link of an invitation, because only a mail proves whose address it is. Nor do they see the link
 * of a person whom the directory may move: a password set with it would work in the account that the person moves to.
 */
function isOnlyMailed({ principal }: Call, { status, managedBy }: Person): boolean {
  return principal.accountId !== null && (status === 'invited' || managedBy === 'directory');
}

/**
 * The mail with a person's link, as a row; none if the service sends no mail. Throws too_many_failures if only the mail has the
 * link and the account has sent too many.
 */
async function linkMail(call: Call, person: Person, secret: Secret): Promise<unknown[]> {
  const { mailer, accounts } = call;
  const { email: to, role, accountId, linkExpiresAtMs: expiresAtMs } = person;
  if (mailer === null || to === null || expiresAtMs === null) return [];
  if (!(await mayMail(call, person, to))) return [];
  const account = accountId === null ? null : ((await accounts.getAccount(accountId))?.name ?? null);
  const request =
    person.status === 'invited'
      ? { kind: 'invitation' as const, role, account, expiresAtMs }
      : { kind: 'recovery' as const, expiresAtMs };
  return [mailer.row({ to, request, secret })];
}

/** Whether people of an account may send one more mail. A mailbox with too many from all accounts gets no more, unseen by them. */
async function mayMail(call: Call, person: Person, to: string): Promise<boolean> {
  const { principal, signIn } = call;
  if (principal.accountId === null) return true;
  const { invitationMailsPerAccountMax, invitationMailsPerDayMax, invitationMailsPerMailboxMax } = bounds;
  const sharing = sharesBoundsOf(principal);
  const name = `invitations:${sharing}`;
  const own = await signIn.count(name, invitationMailsPerAccountMax, DAY_MS);
  const share = fairShare(invitationMailsPerDayMax, own.taken, bounds.accountFreeShare);
  const counted = own.isAllowed ? await signIn.count('invitations', share, DAY_MS) : own;
  if (!counted.isAllowed) {
    if (!isOnlyMailed(call, person)) return false;
    const words = 'The people of this account have sent too many invitations today. Try again later.';
    throw new TurnpikeError('too_many_failures', words, { retryAfterMs: counted.retryAfterMs });
  }
  const key = `invitations:mailbox:${emailKeyOf(to)}`;
  const toMailbox = await signIn.count(`${key}:${sharing}`, bounds.mailsPerMailboxMax, DAY_MS);
  const mailboxShare = fairShare(invitationMailsPerMailboxMax, toMailbox.taken, 1);
  return toMailbox.isAllowed && (await signIn.count(key, mailboxShare, DAY_MS)).isAllowed;
}

async function storeChange(call: CallWith<typeof changeBody>, id: string, change: PersonChange): Promise<Person> {
  const before = await findPerson(call, id);
  const after = changedPerson(call.principal, before, change);
  if (before.status === 'disabled' && after.status !== 'disabled') await refuseInactive(call, before);
  if (before.status === 'disabled' && after.status === 'invited') return inviteAgain(call, before, after);
  await refuseLastOperator(call, before, after);
  await endFormerAccess(call, before, after);
  const link = after.linkExpiresAtMs === null ? ({ hash: null } as const) : 'as it is';
  await call.people.updatePerson(after, link, recordAudit(call, [personNote('person.update', before, after)]));
  if (after.status === 'disabled' && claimsEmail(before)) await endSessions(call, after);
  if (call.body.identity === null && after.email !== null && claimsEmail(before))
    await call.signIn.forgetIdentity(after.email);
  if (after.accountId !== null && after.tags !== before.tags) call.forgetAccount(after.accountId);
  return after;
}

/** Throws conflict if the directory has deactivated the person's user, also one whom others disabled before. */
async function refuseInactive({ scim }: Call, { id, managedBy, directorySource }: Person): Promise<void> {
  if (managedBy !== 'directory' || directorySource !== SCIM_SOURCE) return;
  const [user] = await scim.listScimUsers({ filter: { member: 'person', equals: id }, offset: 0, limit: 1 });
  if (user?.active === false)
    throw new TurnpikeError('conflict', 'The directory has deactivated this person: activate them there first.');
}

/** Ends the running messages of all keys of a person. */
async function endMessages({ accounts, endKeyMessages }: Call, { id }: Person): Promise<void> {
  const page = { accountId: null, madeBy: formatId('person', id), limit: bounds.pageItemsMax };
  for (let after: number | null = null, isMore = true; isMore; ) {
    const keys: Key[] = await accounts.listKeys({ ...page, after });
    for (const key of keys) await endKeyMessages(key.id);
    after = keys.at(-1)?.id ?? null;
    isMore = keys.length === page.limit;
  }
}

async function inviteAgain(call: Call, before: Person, changed: Person): Promise<Person> {
  const after: Person = { ...changed, linkExpiresAtMs: call.clock.nowMs() + bounds.linkMs };
  const secret = makeLinkSecret();
  const auditContext = recordAudit(call, [personNote('person.update', before, after)]);
  const rows = await linkMail(call, after, secret);
  await call.people.updatePerson(after, { hash: hashSecret(secret.reveal()) }, { ...auditContext, rows });
  call.mailer?.wake();
  return after;
}

/** Before a person is enabled: former credentials must not work, except a password of their own. */
async function endFormerAccess(call: AdminDependencies, before: Person, after: Person): Promise<void> {
  if (after.email === null || after.status !== 'enabled') return;
  const { signIn } = call;
  await refuseClaimed(call, after, after.email);
  if (before.status === 'enabled') return;
  // A former owner of the email may have set the password. If not, sessions end whose end failed when the person was disabled.
  const isOwn = before.status === 'disabled' && (await isOnlyHolder(call, before));
  await (isOwn ? signIn.endSessions : signIn.forgetPassword)(after.email);
}

/** A disabled person cannot sign in or use a session: a failure to end it is only logged. */
export async function endSessions({ signIn, report, context }: Call, { email }: Person): Promise<void> {
  if (email === null) return;
  try {
    await signIn.endSessions(email);
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}

/** The former link stops working; existing credentials work until the new link is accepted. */
async function storeLink(call: Call, id: string, remember: Remember): Promise<Made> {
  const before = await findPerson(call, id);
  if (call.principal.id === id)
    throw new TurnpikeError('conflict', 'You cannot create a link for yourself. Ask another person who may do it.');
  if (before.status === 'disabled')
    throw new TurnpikeError('conflict', `The person "${id}" is disabled: enable them first.`);
  if (isOfIssuer(before))
    throw new TurnpikeError(
      'conflict',
      `The person "${id}" signs in at the issuer of their directory, not with a password. Set managed_by to null first.`,
    );
  const after: Person = { ...before, linkExpiresAtMs: call.clock.nowMs() + bounds.linkMs };
  const secret = makeLinkSecret();
  const shown = (person: Person) => ({ link_expires_at: isoTime(person.linkExpiresAtMs) });
  const note = changeNote('person.link', id, before.accountId, shown(before), shown(after));
  const shownOnce = isOnlyMailed(call, after) ? null : secret;
  const auditContext = recordAudit(call, [note], remember(id, shownOnce));
  const rows = await linkMail(call, after, secret);
  await call.people.updatePerson(after, { hash: hashSecret(secret.reveal()) }, { ...auditContext, rows });
  call.mailer?.wake();
  return { object: id, secret: shownOnce };
}
