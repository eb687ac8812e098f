// People: invited (the secret of their one-time link is shown in that one answer), listed, shown, changed. Nobody makes
// somebody who may do more than they may themselves. How people sign in is not known here.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { makeLinkSecret, type Person } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Secret } from '../secrets/secrets.ts';
import { accountNumber } from './account-json.ts';
import { accountOfRole } from './account-of-role.ts';
import type { AdminApp, AdminEnvironment } from './admin-app.ts';
import { idField, jsonAnswer, jsonBody, linksById, pageAnswer } from './answers.ts';
import { createOnce, type Remember } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, emailField, nameField } from './fields.ts';
import { freeEmail } from './free-email.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { changedPerson, type PersonChange, refuseFormer, refuseLastOperator } from './person-changes.ts';
import { findPerson, personJson, personSchema } from './person-json.ts';
import { accountOf, holders, holdersWhoChange, refuseBeyond } from './principal.ts';
import { roleField } from './token-json.ts';
import { shownSecret } from './tokens.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const PATH = '/api/v1/people';

const createBody = z.strictObject({
  email: emailField,
  role: roleField,
  account: accountField
    .optional()
    .openapi({ description: "Needed for owner and member, but by an account's own people and tokens." }),
  name: nameField.default(''),
});
const changeBody = z.strictObject({
  name: nameField.optional(),
  role: roleField.optional(),
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
});
const params = z.object({ id: idField('person') });
export const invitedSchema = personSchema.extend({
  link_secret: z.string().openapi({ description: 'Of a link to `/console/invitation#…`. It is good for one time.' }),
});

const createPerson = defineRoute({
  operationId: 'person-create',
  summary: 'Invite a person',
  roles: holdersWhoChange,
  isCreation: true,
  conflict:
    'Somebody who is let in has this e-mail (for an account’s own: anybody), or the account has as many people as its own may invite',
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: {
    201: {
      ...jsonAnswer(invitedSchema, 'The person with the secret of their link, shown this once'),
      links: linksById('person-show', 'person-update', 'person-link'),
    },
  },
});
const listPeople = defineRoute({
  operationId: 'person-list',
  summary: 'List people',
  roles: holders,
  method: 'get',
  path: PATH,
  request: { query: z.strictObject({ ...pageQuery, account: accountField.optional() }) },
  responses: { 200: pageAnswer(personSchema, 'People, oldest first') },
});
const showPerson = defineRoute({
  operationId: 'person-show',
  summary: 'Show a person',
  roles: holders,
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(personSchema, 'The person') },
});
const updatePerson = defineRoute({
  operationId: 'person-update',
  summary: 'Change a person',
  roles: holdersWhoChange,
  conflict: 'It is themselves, the last operator, or somebody who has no e-mail yet',
  method: 'patch',
  path: `${PATH}/{id}`,
  request: { params, body: jsonBody(changeBody) },
  responses: { 200: jsonAnswer(personSchema, 'The person as they are now') },
});
const linkPerson = defineRoute({
  operationId: 'person-link',
  summary: 'Give a person another one-time link',
  roles: holdersWhoChange,
  isCreation: true,
  conflict: 'The person is disabled, or it is themselves',
  method: 'post',
  path: `${PATH}/{id}/link`,
  request: { params, body: jsonBody(z.strictObject({})) },
  responses: { 201: jsonAnswer(invitedSchema, 'The person with the secret of their new link, shown this once') },
});

export function addPeople(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { people } = dependencies;
  app.openapi(createPerson, async (context) => {
    const body = context.req.valid('json');
    const created = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember) => storePerson(dependencies, context, body, remember)),
    );
    const person = await findPerson(dependencies, context.get('principal'), created.object);
    return context.json({ ...personJson(person), link_secret: shownSecret(created) }, 201);
  });
  app.openapi(listPeople, async (context) => {
    const { limit, cursor, account } = context.req.valid('query');
    const principal = context.get('principal');
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const accountId = accountOf(principal, asked);
    const pages = pagesOf(dependencies, context);
    const rows = await people.listPeople({ accountId, after: pages.after(cursor), limit });
    const next_cursor = pages.next(rows.length, limit, rows.at(-1)?.id);
    return context.json({ data: rows.map(personJson), next_cursor }, 200);
  });
  app.openapi(showPerson, async (context) => {
    const { id } = context.req.valid('param');
    return context.json(personJson(await findPerson(dependencies, context.get('principal'), id)), 200);
  });
  app.openapi(updatePerson, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    const after = await takeTurn(context, () => storeChange(dependencies, context, id, body));
    if (after.status === 'disabled') await endSessions(dependencies, context, after);
    return context.json(personJson(after), 200);
  });
  app.openapi(linkPerson, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    const linked = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember) => storeLink(dependencies, context, id, remember)),
    );
    const person = await findPerson(dependencies, context.get('principal'), linked.object);
    return context.json({ ...personJson(person), link_secret: shownSecret(linked) }, 201);
  });
}

async function storePerson(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  body: z.output<typeof createBody>,
  remember: Remember,
): Promise<{ object: string; secret: Secret }> {
  const { people, vault, clock } = dependencies;
  const principal = context.get('principal');
  await refuseFormer(dependencies, principal);
  const accountId = await accountOfRole(dependencies, principal, body);
  if (accountId !== null)
    refuseBeyond(principal, 'people', await people.countPeople(accountId), bounds.peoplePerAccountMax);
  const freed = await freeEmail(dependencies, principal, body.email);
  const nowMs = clock.nowMs();
  const person: Person = {
    id: newNumber(),
    accountId,
    role: body.role,
    email: body.email,
    name: body.name,
    status: 'invited',
    linkExpiresAtMs: nowMs + bounds.linkMs,
    madeBy: principal.id,
    createdAtMs: nowMs,
  };
  const secret = makeLinkSecret();
  const object = formatId('person', person.id);
  const note = { action: 'person.create', object, account: accountId, before: null, after: personJson(person) };
  const notes = freed === null ? [note] : [freed.note, note];
  const trail = leaveTrail(dependencies, context, notes, remember(object, secret));
  await people.createPerson(person, vault.hash(secret.reveal()), trail, freed?.former);
  return { object, secret };
}

async function storeChange(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  id: string,
  change: PersonChange,
): Promise<Person> {
  const principal = context.get('principal');
  await refuseFormer(dependencies, principal);
  const before = await findPerson(dependencies, principal, id);
  const after = changedPerson(principal, before, change);
  await refuseLastOperator(dependencies, principal, before, after);
  await shutOut(dependencies, before, after);
  const note = {
    action: 'person.update',
    object: id,
    account: before.accountId,
    before: personJson(before),
    after: personJson(after),
  };
  const link = after.linkExpiresAtMs === null ? ({ hash: null } as const) : 'as it is';
  await dependencies.people.updatePerson(after, link, leaveTrail(dependencies, context, [note]));
  return after;
}

/** Before somebody is let in: what opened nothing until then must not open anything after, but for a password of their own. */
async function shutOut({ signIn }: AdminDependencies, before: Person, after: Person): Promise<void> {
  if (after.email === null || after.status !== 'enabled') return;
  if (before.status === 'disabled') await signIn.endSessions(after.email); // where that failed when they were disabled
  if (before.status === 'invited') await signIn.forgetPassword(after.email); // of who had the e-mail before
}

/** Whoever is disabled is let in nowhere, with a session or without: what keeps it from being ended is for the log alone. */
async function endSessions(
  { signIn, report }: AdminDependencies,
  context: Context<AdminEnvironment>,
  { email }: Person,
): Promise<void> {
  if (email === null) return;
  try {
    await signIn.endSessions(email);
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}

/** The link that was made before opens nothing any more; what they sign in by stays until the new one is accepted. */
async function storeLink(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  id: string,
  remember: Remember,
): Promise<{ object: string; secret: Secret }> {
  const { people, vault, clock } = dependencies;
  const principal = context.get('principal');
  await refuseFormer(dependencies, principal);
  const before = await findPerson(dependencies, principal, id);
  if (principal.id === id)
    throw new TurnpikeError('conflict', 'Nobody makes a link for themselves: that takes somebody else.');
  if (before.status === 'disabled')
    throw new TurnpikeError('conflict', `The person "${id}" is disabled: enable them first.`);
  const after: Person = { ...before, linkExpiresAtMs: clock.nowMs() + bounds.linkMs };
  const secret = makeLinkSecret();
  const note = {
    action: 'person.link',
    object: id,
    account: before.accountId,
    before: { link_expires_at: personJson(before).link_expires_at },
    after: { link_expires_at: personJson(after).link_expires_at },
  };
  const trail = leaveTrail(dependencies, context, [note], remember(id, secret));
  await people.updatePerson(after, { hash: vault.hash(secret.reveal()) }, trail);
  return { object: id, secret };
}
