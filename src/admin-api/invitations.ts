// What is asked by who cannot sign in yet: how one signs in here, what a one-time link is for, and its acceptance, which sets
// a password. A link that is wrong, used or over is answered the same, and counted against its address like a wrong token.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { hasLinkShape, type Person } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import { type AdminApp, type AdminEnvironment, invalidRequest } from './admin-app.ts';
import { idField, jsonAnswer, jsonBody, timeShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { emailField, nameField } from './fields.ts';
import { personJson } from './person-json.ts';
import { roleField } from './token-json.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const UNKNOWN_LINK = 'This link is not known here, was used already, or has ended: ask for another one.';
const NOT_FOUND = 'The link is not known, was used, or has ended';

const secretField = z.string({ error: 'must be the secret of a link' }).openapi({ examples: ['tk-inv-…'] });
const passwordField = z
  .string({ error: 'must be a text' })
  .refine((text) => [...text].length >= bounds.passwordCharactersLeast, {
    error: `must have at least ${bounds.passwordCharactersLeast} characters`,
  })
  .refine((text) => [...text].length <= bounds.passwordCharactersMax, {
    error: `must have at most ${bounds.passwordCharactersMax} characters`,
  })
  .refine((text) => text.isWellFormed(), 'must be valid Unicode')
  .openapi({ minLength: bounds.passwordCharactersLeast, maxLength: bounds.passwordCharactersMax, format: 'password' });
const acceptBody = z.strictObject({
  secret: secretField,
  email: emailField.optional().openapi({ description: 'Needed where the invitation has none, and only there.' }),
  name: nameField,
  password: passwordField,
});
export const invitationSchema = z.object({
  email: z.string().nullable().openapi({ description: 'Null: whoever accepts it says it.' }),
  role: roleField,
  account: z.object({ id: idField('acct'), name: z.string() }).nullable(),
  purpose: z.enum(['invitation', 'recovery']),
  expires_at: timeShown,
});
export const acceptedSchema = z.object({ email: z.string(), role: roleField });
export const signInSchema = z.object({
  password: z.literal(true),
  oidc: z.object({ name: z.string() }).nullable().openapi({ description: 'A provider of OpenID Connect.' }),
  first_operator: z.boolean().openapi({ description: 'Nobody operates the installation yet: there is a link for it.' }),
});

const showSignIn = defineRoute({
  operationId: 'signin-show',
  summary: 'Show how people sign in',
  roles: 'anyone',
  method: 'get',
  path: '/api/v1/sign-in',
  responses: { 200: jsonAnswer(signInSchema, 'How people sign in, to anyone') },
});
const showInvitation = defineRoute({
  operationId: 'invitation-show',
  summary: 'Show what a one-time link is for',
  roles: 'anyone',
  notFound: NOT_FOUND,
  method: 'post',
  path: '/api/v1/invitations/show',
  request: { body: jsonBody(z.strictObject({ secret: secretField })) },
  responses: { 200: jsonAnswer(invitationSchema, 'What it is for, to who shows its secret') },
});
const acceptInvitation = defineRoute({
  operationId: 'invitation-accept',
  summary: 'Set a password by a one-time link',
  roles: 'anyone',
  notFound: NOT_FOUND,
  conflict: 'Somebody else has this e-mail',
  method: 'post',
  path: '/api/v1/invitations/accept',
  request: { body: jsonBody(acceptBody) },
  responses: { 200: jsonAnswer(acceptedSchema, 'Who can sign in now, with that password alone') },
});

export function addInvitations(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const isWithoutOperator = watchForOperator(dependencies);
  app.openapi(showSignIn, async (context) => {
    const { oidcName } = dependencies.signIn;
    const oidc = oidcName === null ? null : { name: oidcName };
    return context.json({ password: true as const, oidc, first_operator: await isWithoutOperator() }, 200);
  });
  app.openapi(showInvitation, async (context) => {
    const { secret } = context.req.valid('json');
    return context.json(await invitationJson(dependencies, await findInvited(dependencies, context, secret)), 200);
  });
  app.openapi(acceptInvitation, async (context) => {
    const body = context.req.valid('json');
    await findInvited(dependencies, context, body.secret); // who shows a wrong one does not keep others from their turn
    return context.json(await takeTurn(context, () => accept(dependencies, context, body)), 200);
  });
}

/** Whether nobody has ever been let in as an operator. Once somebody has, that is not asked again. */
function watchForOperator({ people }: AdminDependencies): () => Promise<boolean> {
  let isKnown = false;
  return async () => {
    isKnown ||= (await people.countInRole('operator', 'enabled')) > 0;
    isKnown ||= (await people.countInRole('operator', 'disabled')) > 0;
    return !isKnown;
  };
}

/** Whose link it is. Throws object_not_found, and too_many_failures where there were too many of those. */
async function findInvited(
  { people, vault, clock, countFailure }: AdminDependencies,
  context: Context<AdminEnvironment>,
  secret: string,
): Promise<Person & { linkExpiresAtMs: number }> {
  const person = hasLinkShape(secret) ? await people.findPersonByLinkHash(vault.hash(secret)) : null;
  const { linkExpiresAtMs = null } = person ?? {};
  if (person !== null && person.status !== 'disabled' && linkExpiresAtMs !== null && linkExpiresAtMs > clock.nowMs())
    return { ...person, linkExpiresAtMs };
  throw countFailure(context.env.address) ?? new TurnpikeError('object_not_found', UNKNOWN_LINK);
}

async function invitationJson(
  { accounts }: AdminDependencies,
  { email, role, accountId, status, linkExpiresAtMs }: Person & { linkExpiresAtMs: number },
): Promise<z.infer<typeof invitationSchema>> {
  const found = accountId === null ? null : await accounts.getAccount(accountId);
  return {
    email,
    role,
    account: found && { id: formatId('acct', found.id), name: found.name },
    purpose: status === 'invited' ? 'invitation' : 'recovery',
    expires_at: new Date(linkExpiresAtMs).toISOString(),
  };
}

/** The password first: between the two, the link still opens what it opened. */
async function accept(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  { secret, email: given, name, password }: z.output<typeof acceptBody>,
): Promise<z.infer<typeof acceptedSchema>> {
  const before = await findInvited(dependencies, context, secret);
  const email = await emailOf(dependencies, before, given);
  await dependencies.signIn.setPassword({ email, name, password });
  const after: Person = { ...before, email, name, status: 'enabled', linkExpiresAtMs: null };
  const object = formatId('person', before.id);
  context.set('principal', { id: object, role: before.role, accountId: before.accountId, expiresAtMs: null });
  const note = {
    action: 'person.accept',
    object,
    account: before.accountId,
    before: personJson(before),
    after: personJson(after),
  };
  await dependencies.people.updatePerson(after, { hash: null }, leaveTrail(dependencies, context, [note]));
  return { email, role: after.role };
}

/** The invitation's own e-mail, or the one that is given where it has none. Throws invalid_request and conflict. */
async function emailOf({ people }: AdminDependencies, { email }: Person, given: string | undefined): Promise<string> {
  if (email !== null && given === undefined) return email;
  if (email !== null) throw invalidRequest([{ path: ['email'], message: 'must not be given: the invitation has one' }]);
  if (given === undefined) throw invalidRequest([{ path: ['email'], message: 'is required' }]);
  if ((await people.findPersonByEmail(given)) === null) return given;
  throw new TurnpikeError('conflict', `email: there is a person with the e-mail "${given}" already.`);
}
