// Destinations of events: webhooks, Slack-compatible webhooks and mail addresses, of the operators or of an account. The
// secret of a webhook is shown once; the URL of a Slack-compatible webhook is itself a secret and is never shown.

import { z } from '@hono/zod-openapi';
import { isOwnAddress } from '../accounts/accounts.ts';
import { isPrivateAddress } from '../base/addresses.ts';
import { DAY_MS } from '../base/clock.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import {
  type Destination,
  destinationContext,
  findUrlFault,
  isPrivateAllowed,
  makeWebhookSecret,
  type SealedSecret,
} from '../delivery/delivery.ts';
import { TurnpikeError } from '../errors.ts';
import { type EventType, eventTypes, matchesType } from '../events/events.ts';
import type { Secret } from '../secrets/secrets.ts';
import { accountForNew, askedAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { rememberLookups } from './apply.ts';
import { changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import {
  accountOf,
  countShared,
  holders,
  holdersWhoChange,
  maySeeAccount,
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
  nameField,
  searchInOnePage,
  timeShown,
} from './fields.ts';
import { after, answerPage, answerRows, requesterOf } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { refuseMore } from './sign-ups.ts';

const TYPE = /^(\*|[a-z_]+\.(\*|[a-z_]+))$/;
const TYPE_WORDS = 'must be a type of event, such as "payment.failed", or a pattern: "payment.*", "*"';
const known = Object.keys(eventTypes) as EventType[];

const typesField = z
  .array(
    z
      .string({ error: TYPE_WORDS })
      .refine((text) => TYPE.test(text) && known.some((type) => matchesType([text], type)), TYPE_WORDS)
      .openapi({ pattern: TYPE.source, examples: ['payment.*'] }),
    { error: 'must be a list' },
  )
  .min(1, 'must not be an empty list')
  .max(bounds.destinationTypesMax, `must have at most ${bounds.destinationTypesMax} members`)
  .refine((types) => new Set(types).size === types.length, 'must not contain duplicates')
  .openapi({ uniqueItems: true });

const addressField = z
  .string({ error: 'must be a URL or an email address' })
  .min(1, 'must not be empty')
  .max(bounds.destinationAddressCharactersMax, `must have at most ${bounds.destinationAddressCharactersMax} characters`)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
  .openapi({ examples: ['https://example.com/turnpike'] });

const kindField = z.enum(['webhook', 'slack', 'mail'], { error: 'must be webhook, slack or mail' });
const statusField = z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' });

export const destinationSchema = z
  .object({
    id: idField('dest'),
    account: accountShown.nullable().describe('null: the operators.'),
    kind: kindField,
    name: z.string(),
    address: z
      .string()
      .describe('The URL or email address; of a Slack-compatible webhook, whose URL is secret, its origin.'),
    types: z.array(z.string()),
    status: statusField,
    disabled_reason: z.string().nullable().describe('Why the service disabled it.'),
    failing_since: timeShown.nullable(),
    last_delivered_at: timeShown.nullable(),
    former_secret_expires_at: timeShown.nullable().describe('Until then, messages have signatures of both secrets.'),
    unsubscribed_at: timeShown.nullable().describe('Since then, only mails about security are sent.'),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Destination');

export const destinationWithSecret = destinationSchema.extend({
  secret: z.string().nullable().describe('The signing secret of a webhook, shown only once; null for other kinds.'),
});

type DestinationJson = z.infer<typeof destinationSchema>;

const encodeDestination = encoderOf(destinationSchema);

function destinationJson(destination: Destination, nowMs: number): DestinationJson {
  const former = destination.secrets.map(({ endsAtMs }) => endsAtMs).find((endsAtMs) => (endsAtMs ?? 0) > nowMs);
  const times = { lastDeliveredAtMs: destination.deliveredAtMs, formerSecretExpiresAtMs: former ?? null };
  return encodeDestination({ ...destination, ...times });
}

/** The destination, if the principal may see it. Throws object_not_found. */
export function findDestination(call: Call, id: string): Promise<Destination> {
  const isSeen = ({ accountId }: Destination) => maySeeAccount(call, accountId);
  return findObject('dest', 'destination', id, call.destinations.getDestination, isSeen);
}

const createBody = z.strictObject({
  kind: kindField,
  address: addressField.describe('Its URL or email address.'),
  types: typesField.describe('Types of events, or patterns such as "payment.*" and "*".'),
  name: nameField.optional(),
  account: accountField
    .optional()
    .describe('The account whose events it gets. Without it, and with an operator’s token: the operators.'),
});

const changeBody = z.strictObject({
  name: nameField.optional(),
  types: typesField.optional().describe('Types of events, or patterns such as "payment.*" and "*".'),
  address: addressField.optional().describe('Its URL or email address.'),
  status: statusField.optional(),
});

const params = z.object({ id: idField('dest') });
const LIMIT_REACHED = 'The account has reached the number of destinations that it may have';

export const destinationRoutes: AdminRoute[] = [
  post('/destinations', 'destination-create', 'Create a destination for events', holdersWhoChange, {
    body: createBody,
    isCreation: true,
    conflict: LIMIT_REACHED,
    answer: [destinationWithSecret, 'The destination; the secret of a webhook is shown only once'],
    links: ['destination-show', 'destination-update', 'destination-rotate', 'destination-test'],
    async handle(call) {
      const made = await createOnce(call, (remember) => storeNew(call, remember));
      const destination = await findDestination(call, made.object);
      return { ...destinationJson(destination, call.clock.nowMs()), secret: made.secret?.reveal() ?? null };
    },
  }),
  list('/destinations', 'destination-list', 'List destinations', holders, {
    query: { account: accountField.optional(), search: searchInOnePage('the name or the address') },
    page: [destinationSchema, 'Destinations, oldest first; of a search, newest first'],
    async handle(call) {
      const { account, search, limit } = call.query;
      const accountId = accountOf(call.principal, await askedAccount(call, account));
      const json = (destination: Destination) => destinationJson(destination, call.clock.nowMs());
      if (search !== undefined) {
        const question = { text: search, accountId, madeBy: null, limit };
        const ids = await call.names.searchDestinationNames(question, requesterOf(call));
        const found = await Promise.all(ids.map((id) => call.destinations.getDestination(id)));
        return answerRows(
          found.filter((one) => one !== null),
          json,
          null,
        );
      }
      const page = { accountId, after: after(call), limit };
      return answerPage(call, await call.destinations.listDestinations(page), json, ({ id }) => id);
    },
  }),
  get('/destinations/{id}', 'destination-show', 'Retrieve a destination', holders, {
    params,
    answer: [destinationSchema, 'The destination'],
    handle: async (call) => destinationJson(await findDestination(call, call.params.id), call.clock.nowMs()),
  }),
  patch('/destinations/{id}', 'destination-update', 'Change a destination', holdersWhoChange, {
    params,
    body: changeBody,
    answer: [destinationSchema, 'The changed destination'],
    async handle(call) {
      const { address, ...members } = call.body;
      const found = await findDestination(call, call.params.id);
      const placed = address === undefined ? null : await placeOf(call, found, address);
      const change = ({ secrets, address: before }: Destination): Partial<Destination> => ({
        ...withoutUndefined(members),
        ...(members.status === 'enabled' && { disabledReason: null }),
        ...(placed !== null && { address: placed.address, secrets: placed.secrets ?? secrets }),
        ...(placed !== null && placed.address !== before && { unsubscribedAtMs: null }),
      });
      return destinationJson(await storeChange(call, call.params.id, 'update', change), call.clock.nowMs());
    },
  }),
  post('/destinations/{id}/rotate', 'destination-rotate', 'Replace the signing secret of a webhook', holdersWhoChange, {
    params,
    body: z.strictObject({}),
    conflict: 'Only webhooks have a signing secret',
    answer: [destinationWithSecret, 'The destination with its new secret, which is shown only once'],
    async handle(call) {
      const { kind } = await findDestination(call, call.params.id);
      if (kind !== 'webhook')
        throw new TurnpikeError('conflict', `A destination of the kind ${kind} has no signing secret.`);
      const secret = makeWebhookSecret();
      const changed = await storeChange(call, call.params.id, 'rotate', (before) => ({
        secrets: [sealedFor(call, before, secret), ...stillValid(call, before)],
      }));
      return { ...destinationJson(changed, call.clock.nowMs()), secret: secret.reveal() };
    },
  }),
  post('/destinations/{id}/test', 'destination-test', 'Send a test event to a destination', holdersWhoChange, {
    params,
    body: z.strictObject({}),
    conflict: 'The destination is disabled',
    answer: [destinationSchema, 'The destination; `destination.tested` is delivered to it shortly'],
    async handle(call) {
      const destination = await findDestination(call, call.params.id);
      if (destination.status === 'disabled')
        throw new TurnpikeError('conflict', 'The destination is disabled: enable it first.');
      await boundSending(call);
      await call.changeInTurn(() => emitTest(call, destination));
      return destinationJson(destination, call.clock.nowMs());
    },
  }),
];

/**
 * Limits the tests, exports and repeated deliveries that holders of a company send, so that nobody can flood an address through this
 * service. Throws too_many_failures.
 */
export async function boundSending(call: Call): Promise<void> {
  const company = sharesBoundsOf(call.principal);
  if (company !== null) await refuseMore(call, `sent-by-hand:${company}`, bounds.sentByHandPerHourMax, DAY_MS / 24);
}

function emitTest(call: Call, { id, accountId }: Destination): Promise<void> {
  const destination = formatId('dest', id);
  const about = { atMs: call.clock.nowMs(), account: accountId, dedupe: null };
  const note = changeNote('destination.test', destination, accountId, null, { event: 'destination.tested' });
  const rows = call.auditRows(recordAudit(call, [note]));
  return call.events.emit([{ ...about, type: 'destination.tested', data: { destination } }], rows);
}

async function storeNew(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { principal, body, destinations, clock } = call;
  const { kind, types, name = '', account } = body;
  const isOfAccount = account !== undefined || principal.accountId !== null;
  const accountId = isOfAccount ? (await accountForNew(call, account, 'is required')).id : null;
  const countMax = accountId === null ? bounds.destinationsOfOperatorsMax : bounds.destinationsPerAccountMax;
  const { countDestinations } = destinations;
  const count = await (accountId === null ? countDestinations(null) : countShared(call, accountId, countDestinations));
  if (accountId !== null) refuseBeyond(principal, 'destinations', count, countMax);
  else if (count >= countMax)
    throw new TurnpikeError('conflict', `There are ${count} destinations of operators already.`);
  const made = { madeBy: principal.id, createdAtMs: clock.nowMs() };
  const blank = { id: newNumber(), accountId, kind, name, types, ...made };
  const { address, secrets } = await placeOf(call, blank, body.address);
  const secret = kind === 'webhook' ? makeWebhookSecret() : null;
  const destination: Destination = {
    ...blank,
    address,
    secrets: secret === null ? (secrets ?? []) : [sealedFor(call, blank, secret)],
    status: 'enabled',
    disabledReason: null,
    unsubscribedAtMs: null,
    version: 0,
    failingSinceMs: null,
    deliveredAtMs: null,
  };
  const object = formatId('dest', destination.id);
  const note = changeNote('destination.create', object, accountId, null, destinationJson(destination, clock.nowMs()));
  await destinations.createDestination(destination, recordAudit(call, [note], remember(object, secret)));
  return { object, secret };
}

type Place = Pick<Destination, 'id' | 'accountId' | 'kind'>;

/** The address to show, and with a Slack-compatible webhook the secrets with its URL. Throws invalid_request. */
async function placeOf(
  call: Call,
  destination: Place,
  asked: string,
): Promise<{ address: string; secrets: SealedSecret[] | null }> {
  if (destination.kind === 'mail') return { address: await mailAddress(call, destination, asked), secrets: null };
  await refuseUrl(call, destination, asked);
  const url = new URL(asked);
  if (destination.kind === 'webhook') return { address: url.href, secrets: null };
  const sealed = call.vault.seal(url.href, destinationContext(destination));
  return { address: url.origin, secrets: [{ sealed, endsAtMs: null }] };
}

/**
 * Mails about an account go only to its enabled users, even if an operator creates the destination, so that nobody can use
 * this service to send mail to strangers. The address is checked again before each mail is sent. Mails to operators can go to any address.
 */
async function mailAddress({ people, mailer }: Call, { accountId }: Place, asked: string): Promise<string> {
  if (mailer === null) throw invalidMember('kind', 'must be webhook or slack: mail is not set up on this installation');
  const parsed = emailField.safeParse(asked);
  if (!parsed.success) throw invalidMember('address', 'must be an email address, such as "ada@example.com"');
  if (accountId === null || (await isOwnAddress(people, accountId, parsed.data))) return parsed.data;
  throw invalidMember('address', 'must be the email address of an enabled person of the account');
}

async function refuseUrl(call: Call, { accountId }: Place, asked: string): Promise<void> {
  const isAllowed = isPrivateAllowed(call.catalog.current().settings.webhookPrivateNetwork, accountId);
  const fault = findUrlFault(asked, isAllowed);
  if (fault !== null) throw invalidMember('address', fault);
  if (isAllowed) return;
  const found = await rememberLookups(call.lookup)(new URL(asked).hostname).catch(() => []); // checked again when it is sent
  if (found.some(isPrivateAddress))
    throw invalidMember(
      'address',
      'must be reachable from the internet: its host has a private address (setting webhook_private_network)',
    );
}

function sealedFor({ vault }: Call, destination: Pick<Destination, 'id'>, secret: Secret): SealedSecret {
  return { sealed: vault.seal(secret.reveal(), destinationContext(destination)), endsAtMs: null };
}

/** The newest secret signs for a day more; one that was replaced before ends now. */
function stillValid({ clock }: Call, { secrets: [newest] }: Destination): SealedSecret[] {
  return newest === undefined ? [] : [{ ...newest, endsAtMs: clock.nowMs() + bounds.webhookSecretGraceMs }];
}

function storeChange(
  call: Call,
  id: string,
  verb: 'update' | 'rotate',
  change: (before: Destination) => Partial<Destination>,
): Promise<Destination> {
  return call.changeInTurn(async () => {
    const before = await findDestination(call, id);
    const changed: Destination = { ...before, ...change(before) };
    const nowMs = call.clock.nowMs();
    const [was, is] = [destinationJson(before, nowMs), destinationJson(changed, nowMs)];
    const note = changeNote(`destination.${verb}`, id, before.accountId, was, is);
    await call.destinations.updateDestination(changed, nowMs, recordAudit(call, [note]));
    return { ...changed, version: before.version + 1 };
  });
}

function withoutUndefined<Members extends object>(members: Members) {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof Members]: Exclude<Members[Name], undefined> };
}
