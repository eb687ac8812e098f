// Consent to the terms of the installation: where to read them, who must agree, and what is stored. Who signs up agrees in the request;
// others at their next page of the console, whose sessions can do nothing else before. Keys and tokens are not affected.

import { z } from '@hono/zod-openapi';
import type { Consent, Person } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { isPageUrl, type Settings, termsOf } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { invalidMember } from './admin-app.ts';
import { type ChangeNote, changeNote, recordAudit } from './changes.ts';
import { versionToAgree } from './consent-state.ts';
import { everyone } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { timeShown } from './fields.ts';
import { type AdminRoute, type Call, post } from './route.ts';

const NO_TERMS = 'There are no terms to agree to.';

export const termsSchema = z.object({
  version: z.string().nullable().describe('The version that people must agree to; null: nobody has to agree.'),
  terms_of_service: z.string().nullable().describe('A URL, or a path of this service; null: there are none.'),
  privacy_policy: z.string().nullable().describe('As `terms_of_service`.'),
});

/** Where to read the terms. */
export function termsShown(settings: Settings): z.infer<typeof termsSchema> | null {
  const terms = termsOf(settings);
  if (terms === null) return null;
  const place = (text: string | null, path: string) => (text === null || isPageUrl(text) ? text : path);
  return {
    version: terms.version,
    terms_of_service: place(terms.termsOfService, '/console/terms'),
    privacy_policy: place(terms.privacyPolicy, '/console/privacy'),
  };
}

export const consentSchema = z.object({
  version: z.string(),
  at: timeShown,
  address: z.string().describe('The IP address of the request.'),
});
export const encodeConsent = encoderOf(consentSchema);

/** A member of the bodies by which people sign up. */
export const consentField = z
  .string({ error: 'must be the version of the terms' })
  .optional()
  .describe('The version of the terms that the person agrees to, by GET /api/v1/sign-in; required while there is one.');

/** The person after they agreed to this version. Throws invalid_request unless it is the one in force; unchanged without terms. */
export function withConsent(
  call: Pick<Call, 'catalog' | 'clock' | 'context'>,
  person: Person,
  given: string | undefined,
) {
  const version = versionToAgree(call.catalog.current().settings);
  if (version === null) return person;
  if (given === undefined) throw invalidMember('consent', `is required: agree to version "${version}" of the terms`);
  if (given !== version)
    throw invalidMember('consent', `must be "${version}", the version of the terms that is in force: read them again`);
  const consent: Consent = { version, atMs: call.clock.nowMs(), address: call.context.env.address };
  const former = (person.consents ?? []).slice(1 - bounds.consentsKeptMax);
  return { ...person, consents: [...former, consent] };
}

/** The audit has the time and the address; none if the person agreed to nothing. */
export function consentNotes({ consents: before = [] }: Partial<Person>, after: Person): ChangeNote[] {
  const { id, accountId, consents = [] } = after;
  const [was, is] = [before.at(-1), consents.at(-1)];
  if (is === undefined || is === was) return [];
  const object = formatId('person', id);
  return [changeNote('person.consent', object, accountId, null, { terms_version: is.version })];
}

export const consentRoutes: AdminRoute[] = [
  post('/me/consent', 'consent-create', 'Agree to the terms', everyone, {
    body: z.strictObject({ version: z.string({ error: 'must be the version of the terms' }) }),
    notFound: 'There are no terms to agree to',
    conflict: 'The caller is not a person who is signed in, or the terms have another version by now',
    answer: [consentSchema, 'The consent of the signed-in person'],
    handle: (call) => call.changeInTurn(() => agree(call, call.body.version)),
  }),
];

async function agree(call: Call, given: string): Promise<z.infer<typeof consentSchema>> {
  const { people, principal, catalog } = call;
  const version = versionToAgree(catalog.current().settings);
  if (version === null) throw new TurnpikeError('object_not_found', NO_TERMS);
  const id = parseId('person', principal.id);
  const before = id === null ? null : await people.getPerson(id);
  if (before === null)
    throw new TurnpikeError('conflict', 'Only a person who is signed in can agree to the terms, not a token.');
  if (given !== version)
    throw new TurnpikeError('conflict', `The terms have the version "${version}" by now: read them again.`);
  const agreed = before.consents?.findLast((consent) => consent.version === version);
  const after = agreed === undefined ? withConsent(call, before, given) : before;
  if (agreed === undefined)
    await people.updatePerson(after, 'as it is', recordAudit(call, consentNotes(before, after)));
  return encodeConsent(agreed ?? (after.consents?.at(-1) as Consent));
}
