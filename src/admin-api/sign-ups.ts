// Sign-up by mail, off by default. A person gives an email, confirms it with the link in a mail, and becomes the owner of
// a new account. The response is the same for a known email: only the mail says that the person has an account.

import { z } from '@hono/zod-openapi';
import {
  type Account,
  type AccountTerms,
  creditKeysOf,
  emailKeyOf,
  hasMailedShape,
  isOfMailProvider,
  type MailedLink,
  ownedDomainOf,
  type Person,
  type SignUp,
} from '../accounts/accounts.ts';
import { exactNumber } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { countNetworks, type NetworkLimits, type ShareOf } from '../base/fair-limits.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { formatUsd, type Nano, parseDecimal } from '../base/money.ts';
import type { Settings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { hashSecret } from '../secrets/secrets.ts';
import { invalidMember } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { consentField, consentNotes, withConsent } from './consent.ts';
import { emailField, idField, nameField } from './fields.ts';
import { acceptedSchema } from './invitations.ts';
import { passwordField, refuseWeakPassword } from './new-password.ts';
import { type AdminRoute, type Call, type CallWith, post } from './route.ts';
import { isSignUpOpen, refuseDeniedEmail } from './sign-up-state.ts';

const CLOSED = 'Sign-up is not open. Ask the people who look after this service for an invitation.';
const UNKNOWN_LINK = 'This link is unknown, already used or expired. Ask for a new one.';

const createBody = z.strictObject({
  email: emailField,
  name: nameField.describe('The name of the person.'),
  account_name: nameField.optional().describe('The name of the new account; default: that of the person.'),
});
const acceptBody = z.strictObject({
  token: z.string({ error: 'must be the secret of a link' }).openapi({ examples: ['tk-new-…'] }),
  password: passwordField,
  consent: consentField,
});
/** The answer is the same for every email. */
export const mailedSchema = z.object({ email: z.string() });
export const signedUpSchema = acceptedSchema.extend({ account: idField('acct') });

export const signUpRoutes: AdminRoute[] = [
  post('/sign-ups', 'signup-create', 'Ask for an account by mail', 'anyone', {
    body: createBody,
    notFound: 'Sign-up is not open',
    answer: [mailedSchema, 'A mail was queued, unless this email got too many; the answer is the same'],
    async handle(call) {
      const { email, name, account_name: accountName = name } = call.body;
      const { mailer } = call;
      if (mailer === null || !isSignUpOpen(call)) throw new TurnpikeError('object_not_found', CLOSED);
      refuseDeniedEmail(call, email);
      await refuseFarming(call, email);
      const key = `sign-up:email:${emailKeyOf(email)}`;
      const { isAllowed } = await call.signIn.count(key, bounds.mailsPerMailboxMax, DAY_MS);
      if (isAllowed) await mailer.send({ to: email, request: { kind: 'sign-up', name, accountName } });
      return { email };
    },
  }),
  post('/sign-ups/accept', 'signup-accept', 'Confirm an email and create the account', 'anyone', {
    body: acceptBody,
    notFound: 'The link is unknown, already used or expired, or sign-up is not open',
    conflict: 'A person has this email meanwhile',
    answer: [signedUpSchema, 'The owner of the new account, who can now sign in with this password'],
    async handle(call) {
      const { email, name } = await findMailed(call, 'sign-up', call.body.token); // a wrong link must not make others wait
      await refuseWeakPassword(call, { email, name, password: call.body.password });
      return call.changeInTurn(() => accept(call));
    },
  }),
];

/** Limits by domain, by network and in all. Throws invalid_request, too_many_failures. */
async function refuseFarming(call: Call, email: string): Promise<void> {
  const { signUpDomains, signUpsPerDayMax } = call.catalog.current().settings;
  const isListed = signUpDomains.includes(email.slice(email.lastIndexOf('@') + 1));
  if (signUpDomains.length > 0 && !isListed)
    throw invalidMember('email', `must be an address at ${signUpDomains.join(' or ')}`);
  const shareOf = await takeNetworkShare(call, 'sign-up', SIGN_UP_LIMITS, DAY_MS);
  await refuseFullDay(call, shareOf(signUpsPerDayMax));
  if (!isListed && !isOfMailProvider(email))
    await refuseMore(call, `sign-up:domain:${ownedDomainOf(email)}`, shareOf(bounds.signUpsPerDomainMax), DAY_MS);
  await refuseMore(call, 'sign-up:mails', shareOf(signUpsPerDayMax * bounds.signUpMailsPerSignUpMax), DAY_MS);
}

const FREE_SHARES = { site: bounds.siteFreeShare, region: bounds.regionFreeShare };
const SIGN_UP_LIMITS = {
  subscriber: bounds.signUpsPerAddressMax,
  site: bounds.signUpsPerSiteMax,
  region: bounds.signUpsPerRegionMax,
};

/**
 * Counts one more for the networks of the request, and returns how much of a limit that all networks share may be used
 * while this one takes. Throws too_many_failures beyond the limits of a network.
 */
export async function takeNetworkShare(
  { signIn, context }: Call,
  name: string,
  limits: NetworkLimits,
  windowMs: number,
): Promise<ShareOf> {
  const taken = await countNetworks(signIn.count, name, context.env.address, limits, FREE_SHARES, windowMs);
  if (!taken.isAllowed) throw tooMany(taken.retryAfterMs);
  return taken.shareOf;
}

/** Throws too_many_failures beyond so many within the window. */
export async function refuseMore({ signIn }: Call, name: string, max: number, windowMs: number): Promise<void> {
  const { isAllowed, retryAfterMs } = await signIn.count(name, max, windowMs);
  if (!isAllowed) throw tooMany(retryAfterMs);
}

function tooMany(retryAfterMs: number): TurnpikeError {
  return new TurnpikeError('too_many_failures', 'Too many requests of this kind. Try again later.', { retryAfterMs });
}

async function refuseFullDay({ signUps, clock }: Call, signUpsMax: number): Promise<void> {
  if ((await signUps.countSignUps(clock.nowMs() - DAY_MS)) < signUpsMax) return;
  throw new TurnpikeError('too_many_failures', 'No more accounts can be created today. Try again tomorrow.', {
    retryAfterMs: DAY_MS / 24,
  });
}

/** Throws object_not_found, and too_many_failures after too many wrong links. */
export async function findMailed(
  { signUps, clock, countFailure, context }: Call,
  purpose: MailedLink['purpose'],
  token: string,
): Promise<MailedLink> {
  const link = hasMailedShape(purpose, token) ? await signUps.findMailedLink(hashSecret(token)) : null;
  if (link !== null && link.purpose === purpose && link.expiresAtMs > clock.nowMs()) return link;
  throw countFailure(context.env.address) ?? new TurnpikeError('object_not_found', UNKNOWN_LINK);
}

/** The link is used up first: of two who accept it, one sets the password. If that fails, a password reset sets it. */
async function accept(call: CallWith<typeof acceptBody>): Promise<z.infer<typeof signedUpSchema>> {
  const link = await findMailed(call, 'sign-up', call.body.token);
  if (!isSignUpOpen(call)) throw new TurnpikeError('object_not_found', CLOSED);
  const { email, name } = link;
  refuseDeniedEmail(call, email); // the lists may have changed since the mail
  if ((await call.people.findPersonByEmail(email)) !== null)
    throw new TurnpikeError('conflict', `email: a person with the email address "${email}" already exists: sign in.`);
  const { settings } = call.catalog.current();
  const signUp = await makeSignUp(call, link);
  const shareOf = await takeNetworkShare(call, 'sign-up-accept', SIGN_UP_LIMITS, DAY_MS);
  await refuseFullDay(call, shareOf(settings.signUpsPerDayMax));
  const { account, owner } = signUp;
  await call.signIn.forgetPassword(email); // set by a former owner of this email
  const [id, accountId] = [formatId('person', owner.id), formatId('acct', account.id)];
  call.context.set('principal', { id, role: 'owner', accountId: account.id, expiresAtMs: null });
  const credit = formatUsd(signUp.credit);
  const notes = [
    changeNote('account.create', accountId, account.id, null, { name: account.name, groups: account.groups, credit }),
    changeNote('person.create', id, account.id, null, { email, name, role: 'owner', status: 'enabled' }),
    ...consentNotes({}, owner),
  ];
  await call.signUps.createSignUp(signUp, link, recordAudit(call, notes));
  await call.signIn.setPassword({ email, name, password: call.body.password });
  await tellOfFullDay(call, settings.signUpsPerDayMax);
  return { email, role: 'owner', account: accountId };
}

/** The account exists: a failure to tell operators that it was the last one of the day is only logged. */
async function tellOfFullDay({ signUps, events, clock, context, report }: Call, signUpsMax: number): Promise<void> {
  const nowMs = clock.nowMs();
  try {
    if ((await signUps.countSignUps(nowMs - DAY_MS)) < signUpsMax) return;
    const dedupe = `sign-ups ${Math.floor(nowMs / DAY_MS)}`;
    const data = { per_day_max: signUpsMax };
    await events.emit([{ atMs: nowMs, account: null, type: 'sign_up.limited', data, dedupe }]);
  } catch (failure) {
    report(context.get('requestId'), failure);
  }
}

/** Throws invalid_request without the consent that is required. */
async function makeSignUp(call: CallWith<typeof acceptBody>, link: MailedLink): Promise<SignUp> {
  const { signUps, clock, catalog, body } = call;
  const { settings } = catalog.current();
  const nowMs = clock.nowMs();
  const { email, name, accountName } = link;
  const groups = [settings.signUpGroup];
  const account: Account = { id: newNumber(), name: accountName, groups, status: 'enabled', createdAtMs: nowMs };
  const id = newNumber();
  const made: Person = {
    id,
    accountId: account.id,
    role: 'owner',
    email,
    name,
    status: 'enabled',
    linkExpiresAtMs: null,
    madeBy: formatId('person', id),
    createdAtMs: nowMs,
  };
  const owner = withConsent(call, made, body.consent);
  const terms: AccountTerms = { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' };
  const creditKeys = creditKeysOf(email, settings.signUpDomains);
  const [emailKey] = creditKeys;
  let credit = creditOf(settings);
  for (const key of creditKeys) if (await signUps.wasCredited(key)) credit = 0;
  const limits = { signUpsMax: settings.signUpsPerDayMax, countedSinceMs: nowMs - DAY_MS };
  return { account, terms, owner, credit, emailKey, ...limits };
}

function creditOf({ signUpCredit }: Settings): Nano {
  return exactNumber(parseDecimal(signUpCredit, 9) ?? 0n);
}
