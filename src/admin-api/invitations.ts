// Routes for people who cannot sign in yet: sign-in options, the purpose of a one-time link, and accepting it, which
// sets a password. Wrong, used and expired links get the same response, and count against the address like a wrong
// token.

import { z } from '@hono/zod-openapi';
import { hasLinkShape, type Person } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { installationOf } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidMember } from './admin-app.ts';
import { recordAudit } from './changes.ts';
import { consentField, consentNotes, termsSchema, termsShown, withConsent } from './consent.ts';
import type { AdminDependencies } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { emailField, idField, nameField, timeShown } from './fields.ts';
import { passwordField, refuseWeakPassword } from './new-password.ts';
import { personNote, refuseClaimed } from './people.ts';
import { type AdminRoute, type Call, type CallWith, get, post } from './route.ts';
import { isSignUpOpen, refuseDeniedEmail } from './sign-up-state.ts';
import { roleField } from './tokens.ts';

const UNKNOWN_LINK = 'This link is unknown, already used or expired. Ask for a new one.';
const NOT_FOUND = 'The link is unknown, already used or expired';

const secretField = z.string({ error: 'must be the secret of a link' }).openapi({ examples: ['tk-inv-…'] });
const acceptBody = z.strictObject({
  secret: secretField,
  email: emailField.optional().describe('Required if the invitation has no email address; otherwise not allowed.'),
  name: nameField,
  password: passwordField,
  consent: consentField,
});
export const invitationSchema = z.object({
  email: z.string().nullable().describe('null: the person enters it when they accept the invitation.'),
  role: roleField,
  account: z.object({ id: idField('acct'), name: z.string() }).nullable(),
  purpose: z.enum(['invitation', 'recovery']),
  expires_at: timeShown,
});
export const acceptedSchema = z.object({ email: z.string(), role: roleField });
export const signInSchema = z.object({
  password: z.literal(true),
  oidc: z
    .object({ name: z.string() })
    .nullable()
    .describe('The first issuer of OpenID Connect; null if there is none.'),
  issuers: z.array(z.object({ id: z.string(), name: z.string() })).describe('The issuers of OpenID Connect, in order.'),
  first_operator: z
    .boolean()
    .describe('The installation has no operator yet; the data directory has a link to create one.'),
  sign_up: z
    .object({ domains: z.array(z.string()).describe('Domains of the emails that can sign up; empty: any.') })
    .nullable()
    .describe('People can sign up; null: they cannot.'),
  password_reset: z.boolean().describe('People who forgot their password can get a link by mail.'),
  terms: termsSchema.nullable().describe('The terms of this installation; null: there are none.'),
  pages: z
    .object({ landing: z.boolean(), models: z.boolean(), status: z.boolean() })
    .describe('Which public pages there are.'),
  installation: z.object({
    name: z.string(),
    logo: z.string().nullable().describe('A data URL of a PNG or SVG image; null: the logo of Turnpike.'),
    support: z.string().nullable().describe('An email address or https:// URL for questions; null: none.'),
  }),
});

export function invitationRoutes(dependencies: AdminDependencies): AdminRoute[] {
  const { people, mailer, catalog } = dependencies;
  let hasOperator = false; // once an operator has signed in, the store is not read again
  return [
    get('/sign-in', 'signin-show', 'Retrieve the sign-in methods', 'anyone', {
      answer: [signInSchema, 'The sign-in methods; no authentication required'],
      async handle({ signIn: { issuers } }) {
        hasOperator ||= (await people.countInRole('operator', 'enabled')) > 0;
        hasOperator ||= (await people.countInRole('operator', 'disabled')) > 0;
        const [first] = issuers;
        const { settings } = catalog.current();
        const { name, logo, support } = installationOf(settings);
        return {
          password: true as const,
          oidc: first === undefined ? null : { name: first.name },
          issuers: issuers.map(({ id, name }) => ({ id, name })),
          first_operator: !hasOperator,
          sign_up: isSignUpOpen(dependencies) ? { domains: [...settings.signUpDomains] } : null,
          password_reset: mailer !== null,
          terms: termsShown(settings),
          pages: {
            landing: settings.landingTitle !== null,
            models: settings.publicModels === 'on',
            status: settings.publicStatus === 'on',
          },
          installation: { name, logo, support },
        };
      },
    }),
    post('/invitations/show', 'invitation-show', 'Retrieve an invitation by its secret', 'anyone', {
      body: z.strictObject({ secret: secretField }),
      notFound: NOT_FOUND,
      answer: [invitationSchema, 'The invitation'],
      handle: async (call) => invitationJson(call, await findInvited(call, call.body.secret)),
    }),
    post('/invitations/accept', 'invitation-accept', 'Accept an invitation and set a password', 'anyone', {
      body: acceptBody,
      notFound: NOT_FOUND,
      conflict: 'Another person has this email address',
      answer: [acceptedSchema, 'The person, who can now sign in with this password'],
      async handle(call) {
        await findInvited(call, call.body.secret); // a wrong link must not make others wait
        return call.changeInTurn(() => accept(call));
      },
    }),
  ];
}

/** The person of a link. Throws object_not_found, and too_many_failures after too many wrong links. */
async function findInvited(
  { people, hashesOf, clock, countFailure, context }: Call,
  secret: string,
): Promise<Person & { linkExpiresAtMs: number }> {
  const person = hasLinkShape(secret) ? await people.findPersonByLinkHash(hashesOf(secret)) : null;
  const { linkExpiresAtMs = null } = person ?? {};
  if (person !== null && person.status !== 'disabled' && linkExpiresAtMs !== null && linkExpiresAtMs > clock.nowMs())
    return { ...person, linkExpiresAtMs };
  throw countFailure(context.env.address) ?? new TurnpikeError('object_not_found', UNKNOWN_LINK);
}

const encodeInvitation = encoderOf(invitationSchema);

async function invitationJson(
  { accounts }: AdminDependencies,
  { email, role, accountId, status, linkExpiresAtMs }: Person & { linkExpiresAtMs: number },
): Promise<z.infer<typeof invitationSchema>> {
  const found = accountId === null ? null : await accounts.getAccount(accountId);
  const purpose = status === 'invited' ? 'invitation' : 'recovery';
  return encodeInvitation({ email, role, account: found, purpose, expiresAtMs: linkExpiresAtMs });
}

/** The password first: if interrupted, the link still works. Who has been here before agrees to new terms after the sign-in. */
async function accept(call: CallWith<typeof acceptBody>): Promise<z.infer<typeof acceptedSchema>> {
  const { secret, email: given, name, password, consent } = call.body;
  const before = await findInvited(call, secret);
  const email = await emailOf(call, before, given);
  const agreed = before.status === 'invited' ? withConsent(call, before, consent) : before;
  await refuseWeakPassword(call, { email, name, password });
  await call.signIn.setPassword({ email, name, password });
  await storeAccepted(call, before, { ...agreed, email, name, status: 'enabled', linkExpiresAtMs: null });
  return { email, role: before.role };
}

/** Records the person themselves as the actor. A person who had access gets a mail about the new password. */
export async function storeAccepted(
  call: Pick<Call, 'context' | 'clock' | 'people' | 'mailer'>,
  before: Person,
  after: Person,
  how: object = {},
): Promise<void> {
  const { id, role, accountId } = before;
  call.context.set('principal', { id: formatId('person', id), role, accountId, expiresAtMs: null });
  const note = personNote('person.accept', before, after);
  const notes = [{ ...note, after: { ...note.after, ...how } }, ...consentNotes(before, after)];
  const auditContext = recordAudit(call, notes);
  const { mailer, clock, context } = call;
  const request = { kind: 'password-changed' as const, atMs: clock.nowMs(), address: context.env.address };
  const isTold = before.status === 'enabled' && after.email !== null;
  const rows = isTold && mailer !== null ? [mailer.row({ to: after.email ?? '', request })] : [];
  await call.people.updatePerson(after, { hash: null }, { ...auditContext, rows });
  if (rows.length > 0) mailer?.wake();
}

/** The invitation's email, or the given one if it has none. Throws invalid_request and conflict. */
async function emailOf(call: AdminDependencies, person: Person, given: string | undefined): Promise<string> {
  const { email } = person;
  if (email !== null && given !== undefined)
    throw invalidMember('email', 'must be absent: the invitation has an email address');
  const wanted = email ?? given;
  if (wanted === undefined) throw invalidMember('email', 'is required');
  if (email === null && person.accountId !== null) refuseDeniedEmail(call, wanted);
  await refuseClaimed(call, person, wanted);
  return wanted;
}
