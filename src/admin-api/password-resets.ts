// A new password by mail. The answer to a request is the same for every email; the link in the mail works once, for an
// hour. A second factor stays: who reads the mail of a person must not get around it.

import { z } from '@hono/zod-openapi';
import { emailKeyOf, type MailedLink, type Person } from '../accounts/accounts.ts';
import { formatId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { changeNote, recordAudit } from './changes.ts';
import { emailField } from './fields.ts';
import { acceptedSchema } from './invitations.ts';
import { passwordField, refuseWeakPassword } from './new-password.ts';
import { type AdminRoute, type Call, type CallWith, post } from './route.ts';
import { findMailed, mailedSchema, refuseMore, takeNetworkShare } from './sign-ups.ts';

const HOUR_MS = 60 * 60 * 1000;
const NO_MAIL = 'This service sends no mail. Ask the people who look after it for a link.';
const RESET_LIMITS = {
  subscriber: bounds.passwordResetsPerAddressMax,
  site: bounds.passwordResetsPerSiteMax,
  region: bounds.passwordResetsPerRegionMax,
};

const acceptBody = z.strictObject({
  token: z.string({ error: 'must be the secret of a link' }).openapi({ examples: ['tk-pwd-…'] }),
  password: passwordField,
});

export const passwordResetRoutes: AdminRoute[] = [
  post('/password-resets', 'passwordreset-create', 'Ask for a new password by mail', 'anyone', {
    body: z.strictObject({ email: emailField }),
    notFound: 'The service sends no mail',
    answer: [mailedSchema, 'A mail was queued, unless this email got too many; the answer is the same'],
    async handle(call) {
      const { mailer, signIn } = call;
      const { email } = call.body;
      if (mailer === null) throw new TurnpikeError('object_not_found', NO_MAIL);
      const shareOf = await takeNetworkShare(call, 'reset', RESET_LIMITS, HOUR_MS);
      await refuseMore(call, 'reset:mails', shareOf(bounds.passwordResetsPerHourMax), HOUR_MS);
      const key = `reset:email:${emailKeyOf(email)}`;
      const { isAllowed } = await signIn.count(key, bounds.mailsPerMailboxMax, HOUR_MS);
      if (isAllowed) await mailer.send({ to: email, request: { kind: 'password-reset' } });
      return { email };
    },
  }),
  post('/password-resets/accept', 'passwordreset-accept', 'Set a new password with the link of a mail', 'anyone', {
    body: acceptBody,
    notFound: 'The link is unknown, already used or expired',
    answer: [acceptedSchema, 'The person, whose sessions have ended, and who can sign in with this password'],
    async handle(call) {
      const { person, link } = await findReset(call); // a wrong link must not make others wait
      await refuseWeakPassword(call, { email: link.email, name: person.name, password: call.body.password });
      return call.changeInTurn(() => accept(call));
    },
  }),
];

/** Throws object_not_found, too_many_failures. */
async function findReset(call: CallWith<typeof acceptBody>): Promise<{ link: MailedLink; person: Person }> {
  const link = await findMailed(call, 'password-reset', call.body.token);
  const person = await call.people.findPersonByEmail(link.email);
  if (person?.status === 'enabled') return { link, person };
  throw new TurnpikeError('object_not_found', 'This link does not work any more.');
}

/** The link is used up first: of two who accept it, one sets the password. It works again if the password could not be set. */
async function accept(call: CallWith<typeof acceptBody>): Promise<z.infer<typeof acceptedSchema>> {
  const { link, person } = await findReset(call);
  const { role, name, accountId } = person;
  const { email } = link;
  const id = formatId('person', person.id);
  call.context.set('principal', { id, role, accountId, expiresAtMs: null });
  const note = (action: string) => recordAudit(call, [changeNote(action, id, accountId, null, { by: 'mail' })]);
  await call.signUps.useLink(link, call.clock.nowMs(), note('person.password_reset'));
  try {
    await call.signIn.setPassword({ email, name, password: call.body.password, keepsSecondFactor: true });
  } catch (failure) {
    await call.signUps.restoreLink(link, note('person.password_reset_failed'));
    throw failure;
  }
  await tellPasswordChanged(call, { person: id, account: accountId, email });
  return { email, role };
}

interface Changed {
  /** Such as "person_…". */
  person: string;
  account: number | null;
  email: string;
}

/** The password has changed: a failure to tell it by event and mail is only logged. */
async function tellPasswordChanged(call: Call, { person, account, email }: Changed): Promise<void> {
  const { mailer, events, clock, context, report } = call;
  const atMs = clock.nowMs();
  const request = { kind: 'password-changed' as const, atMs, address: context.env.address };
  try {
    await mailer?.send({ to: email, request });
    await events.emit([{ atMs, account, type: 'password.reset', data: { person, email }, dedupe: null }]);
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}
