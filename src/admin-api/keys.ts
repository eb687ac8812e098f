// Keys: created and rotated (only that response shows the secret), listed, shown, changed, revoked. Keys are never
// deleted, because usage records name them.

import { isDeepStrictEqual } from 'node:util';
import { z } from '@hono/zod-openapi';
import {
  type Account,
  type EndedKey,
  isKeyOf,
  type Key,
  type KeyLimit,
  type KeyTerms,
  keyLimits,
  keyOrders,
  keyStatuses,
  makeKeySecret,
  NO_KEY_LIMITS,
  NO_TAGS,
  newKey,
} from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { KeyMeters } from '../ledger/ledger.ts';
import { hashSecret } from '../secrets/secrets.ts';
import { accountForNew, askedAccount, findByIds, groupsFor } from './accounts.ts';
import { findObject, invalidMember, invalidRequest, noObject } from './admin-app.ts';
import { type ChangeNote, changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import {
  type AdminDependencies,
  accountOf,
  countShared,
  everyone,
  everyoneWhoChanges,
  listChain,
  makerOf,
  maySeeAccount,
  maySeeKey,
  type Principal,
  refuseBeyond,
} from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  accountField,
  accountShown,
  actorShown,
  addressesField,
  amountField,
  amountShown,
  asciiLower,
  durationField,
  groupsField,
  idField,
  idsFilter,
  isoTime,
  limitField,
  nameField,
  originsField,
  patternsField,
  periodField,
  personShown,
  statusAt,
  tagsField,
  tagsShown,
  timeField,
  timeShown,
} from './fields.ts';
import { after, afterSorted, answerPage, answerRows, answerSorted, requesterOf, sortQuery } from './pages.ts';
import { findPerson } from './people.ts';
import { type AdminRoute, type Call, type CallWith, get, list, patch, post } from './route.ts';
import { shownSecret } from './tokens.ts';
import { hideable } from './visibility.ts';

export const keySchema = z
  .object({
    id: idField('key'),
    account: accountShown,
    person: personShown.nullable().describe('The person whose key it is; null: a service key of the account.'),
    name: z.string(),
    prefix: z.string().describe('The first characters of its secret, for identification.'),
    groups: hideable('group', z.array(z.string())),
    models: z.array(z.string()).nullable(),
    quota: amountShown.nullable(),
    quota_period: periodField,
    quota_used: amountShown,
    rpm: limitField,
    input_tpm: limitField,
    output_tpm: limitField,
    concurrency: limitField,
    origins: z.array(z.string()).nullable(),
    addresses: z.array(z.string()).nullable(),
    status: z.enum(keyStatuses),
    locked: z
      .array(z.enum(keyLimits))
      .describe('The limits that an owner or operator set: members can make them stricter, but not lift them.'),
    expires_at: timeShown.nullable(),
    last_used_at: timeShown.nullable(),
    made_by: actorShown.nullable(),
    tags: tagsShown,
    created_at: timeShown,
  })
  .openapi('Key');

interface KeyWithMeters {
  key: Key;
  account: Account;
  meters: KeyMeters;
}

const encodeKey = encoderOf(keySchema);

/** A key without its own `groups` has all groups of its account. */
export function keyJson({ key, account, meters }: KeyWithMeters, nowMs: number): z.infer<typeof keySchema> {
  const groups = key.groups ?? account.groups;
  const { requestsPerMinute: rpm, inputTokensPerMinute: inputTpm, outputTokensPerMinute: outputTpm } = meters;
  const { tags = NO_TAGS, personId = null } = key;
  const locked = lockedOf(key, meters);
  return encodeKey({
    ...meters,
    ...key,
    personId,
    locked,
    groups,
    tags,
    rpm,
    inputTpm,
    outputTpm,
    status: statusAt(key, nowMs),
  });
}

/** The members that a change can touch, for the audit log. */
function keyTermsJson(found: KeyWithMeters) {
  const { id, account, quota_used, last_used_at, made_by, created_at, ...terms } = keyJson(found, 0);
  const { groups, status } = found.key;
  return { ...terms, groups: groups && [...groups], status };
}

/** The key with this id "key_…", its account and meters, if the principal may see it. Throws object_not_found. */
export async function findKey(call: Call, id: string): Promise<KeyWithMeters> {
  const key = await findObject('key', 'key', id, call.accounts.getKey, (one) => maySeeKey(call, one));
  return withKeyMeters(call, key);
}

/** The number of the key that a query asks for; null without one. Throws object_not_found. */
export async function askedKey(call: Call, id: string | undefined): Promise<number | null> {
  return id === undefined ? null : (await findKey(call, id)).key.id;
}

async function withKeyMeters({ accounts, ledger, clock }: AdminDependencies, key: Key): Promise<KeyWithMeters> {
  const [account, meters] = await Promise.all([
    accounts.getAccount(key.accountId),
    ledger.keyMeters(key.id, clock.nowMs()),
  ]);
  // All are written in one transaction, so missing meters are a fault of the store. An account may be unreadable.
  if (meters === null) throw new Error(`key ${key.id} has no row in the ledger`);
  return { key, account: account ?? { ...UNREADABLE, id: key.accountId }, meters };
}

const UNREADABLE: Omit<Account, 'id'> = { name: '', groups: [], status: 'disabled', createdAtMs: 0 };

/** The members of a key that can be given and changed. */
const changeableKey = z
  .strictObject({
    name: nameField,
    groups: groupsField
      .nullable()
      .describe('Its groups in order of preference, out of those of its account; by default all of them.'),
    models: patternsField
      .nullable()
      .describe('The models that it may use; * matches any characters. By default all of its groups.'),
    quota: amountField(0).nullable().describe('The most that it may spend.'),
    quota_period: periodField.describe('When the quota is reset; total: never.'),
    rpm: limitField.describe('Requests per minute.'),
    input_tpm: limitField.describe('Input tokens per minute.'),
    output_tpm: limitField.describe('Output tokens per minute.'),
    concurrency: limitField.describe('Concurrent messages.'),
    expires_at: timeField.nullable().describe('When it expires.'),
    origins: originsField.nullable().describe('The browser origins that may use it.'),
    addresses: addressesField.nullable().describe('The addresses or ranges of addresses that may use it.'),
    tags: tagsField.describe('Tags of its messages, before those of clients. Only owners and operators set them.'),
  })
  .partial();

interface KeyChange extends z.output<typeof changeableKey> {
  status?: Key['status'] | undefined;
  /** The id of the person. */
  person?: string | null | undefined;
}

/** The key and its terms after a change by the principal; absent members stay. Throws invalid_request. */
function changedKey(
  { role }: Principal,
  before: KeyWithMeters,
  change: KeyChange,
  groupsAllowed: readonly string[],
  nowMs: number,
): { key: Key; terms: KeyTerms } {
  const isMember = role === 'member';
  const locked = lockedOf(before.key, before.meters);
  const faults = [...faultsOf(groupsAllowed, change, nowMs), ...(isMember ? lockFaults(before, locked, change) : [])];
  if (faults.length > 0) throw invalidRequest(faults);
  const { key, meters } = before;
  // null is a value (no limit); only an absent member keeps the previous one.
  const { name = key.name, groups = key.groups, models = key.models, status = key.status } = change;
  const { origins = key.origins, addresses = key.addresses, expires_at: expiresAtMs = key.expiresAtMs } = change;
  const { tags = key.tags } = change;
  const { quota = meters.quota, quota_period: quotaPeriod = meters.quotaPeriod } = change;
  const { rpm: requestsPerMinute = meters.requestsPerMinute, concurrency = meters.concurrency } = change;
  const { input_tpm: inputTokensPerMinute = meters.inputTokensPerMinute } = change;
  const { output_tpm: outputTokensPerMinute = meters.outputTokensPerMinute } = change;
  const rates = { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrency };
  return {
    key: {
      ...key,
      ...{ name, groups, models, origins, addresses, status, expiresAtMs },
      ...(tags !== undefined && { tags }),
      locked: isMember ? locked : lockedAfter(locked, change),
    },
    terms: { status, expiresAtMs, quota, quotaPeriod, ...rates },
  };
}

function faultsOf(allowed: readonly string[], change: KeyChange, nowMs: number): Fault[] {
  const notAmong = `is not one of the account's groups (${allowed.join(', ')})`;
  const faults: Fault[] = (change.groups ?? []).flatMap((group, at) =>
    allowed.includes(group) ? [] : [{ path: ['groups', at], message: `"${group}" ${notAmong}` }],
  );
  if (change.expires_at != null && change.expires_at <= nowMs)
    faults.push({ path: ['expires_at'], message: 'must be in the future' });
  return faults;
}

/** All limits that are set, for a key from before locks. */
function lockedOf(key: Key, meters: KeyTermsShown): readonly KeyLimit[] {
  if (key.locked !== undefined) return key.locked;
  const limits = limitsOf(key, meters);
  return keyLimits.filter((name) => (name === 'status' ? key.status === 'disabled' : limits[name] !== null));
}

type KeyTermsShown = Omit<KeyTerms, 'status' | 'expiresAtMs'>;

/** By their names in the API. */
function limitsOf(key: Key, meters: KeyTermsShown): Record<KeyLimit, unknown> {
  const { groups, models, origins, addresses, status } = key;
  const { quota, requestsPerMinute: rpm, inputTokensPerMinute, outputTokensPerMinute, concurrency } = meters;
  return {
    ...{ groups, models, quota, rpm, input_tpm: inputTokensPerMinute, output_tpm: outputTokensPerMinute },
    ...{ concurrency, expires_at: key.expiresAtMs, origins, addresses, status },
  };
}

/** After a change by an owner or operator: limits that they set are locked, and those that they remove are not. */
function lockedAfter(locked: readonly KeyLimit[], change: KeyChange): KeyLimit[] {
  return keyLimits.filter((name) => {
    const value = change[name];
    if (value === undefined) return locked.includes(name);
    return name === 'status' ? value !== 'enabled' : value !== null;
  });
}

const LOCKED = 'was set by an owner or operator: only they can change it';
const LOCKED_NUMBER = 'was set by an owner or operator: only they can raise or remove it';
const NUMBERS: readonly KeyLimit[] = ['quota', 'rpm', 'input_tpm', 'output_tpm', 'concurrency', 'expires_at'];

/** The faults of a change by a member: it may only make locked limits stricter. */
function lockFaults({ key, meters }: KeyWithMeters, locked: readonly KeyLimit[], change: KeyChange): Fault[] {
  const limits = limitsOf(key, meters);
  const faults: Fault[] = [];
  for (const name of locked) {
    const [was, is] = [limits[name], change[name]];
    if (is === undefined || isDeepStrictEqual(was, is)) continue;
    if (name === 'status' && is !== 'enabled') continue;
    if (!NUMBERS.includes(name)) faults.push({ path: [name], message: LOCKED });
    else if (typeof was !== 'number' || typeof is !== 'number' || is > was)
      faults.push({ path: [name], message: LOCKED_NUMBER });
  }
  const { quota_period: period = meters.quotaPeriod } = change;
  if (locked.includes('quota') && period !== meters.quotaPeriod)
    faults.push({ path: ['quota_period'], message: LOCKED });
  return faults;
}

/**
 * The person of the key after the change; null: a service key. Keys of members are always theirs; those of a token are service keys. Throws
 * invalid_request.
 */
async function personFor(call: Call, account: Account, asked: string | null | undefined) {
  const { principal, people, accounts } = call;
  const { id, role, accountId } = principal;
  const own = accountId === null ? null : parseId('person', id);
  if (asked === undefined) return own;
  if (role === 'member') {
    if (asked === (own === null ? null : id)) return own;
    throw invalidMember('person', 'can be set by owners and operators only');
  }
  if (asked === null) return null;
  const number = parseId('person', asked);
  const person = number === null ? null : await people.getPerson(number);
  const chain = await listChain(accounts, account.id);
  // Nobody uses up the budget of somebody whom they do not see.
  const isNear = person !== null && chain.some((one) => one.id === person.accountId);
  if (!isNear || !(await maySeeAccount(call, person.accountId)))
    throw invalidMember('person', `there is no person "${asked}" in the account or one above it`);
  if (person.status === 'disabled') throw invalidMember('person', `the person "${asked}" is disabled`);
  return person.id;
}

const REVOKED = 'The key is revoked';

const personOfKey = z
  .string()
  .openapi({ pattern: '^person_[0-9A-Za-z]{9}$' })
  .nullable()
  .optional()
  .describe(
    'Whose key it is: a person of the account or of one above it; null: a service key of the account. Keys that members create are always theirs. By default a new key is that of the person who creates it, or a service key if a token or an operator does.',
  );
const createBody = changeableKey.extend({
  person: personOfKey,
  account: accountField.optional().describe('Required, except with a token of an account.'),
});
const changeBody = changeableKey.extend({
  person: personOfKey,
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
});
const rotateBody = z.strictObject({
  grace: durationField
    .default(bounds.keyGraceMs)
    .openapi({ type: 'string', default: '24h', description: 'How long the previous secret stays valid.' }),
});
const params = z.object({ id: idField('key') });
export const withSecret = keySchema.extend({ key: z.string() });
export const rotatedSchema = withSecret.extend({
  grace_ends_at: z.string().describe('When the previous secrets expire.'),
});

async function showKey(call: Call, id: string): Promise<z.infer<typeof keySchema>> {
  return keyJson(await findKey(call, id), call.clock.nowMs());
}

export const keyRoutes: AdminRoute[] = [
  post('/keys', 'key-create', 'Create a key', everyoneWhoChanges, {
    body: createBody,
    isCreation: true,
    conflict: 'The account has reached the number of keys that its own tokens may create',
    answer: [withSecret, 'The key with its secret, which is shown only once'],
    links: ['key-show', 'key-change', 'key-revoke', 'key-rotate'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storeKey(call, remember));
      return { ...(await showKey(call, created.object)), key: shownSecret(created) };
    },
  }),
  list('/keys', 'key-list', 'List keys', everyone, {
    query: {
      account: accountField.optional(),
      person: z.string().optional().describe('Only keys of this person.'),
      ids: idsFilter('key').optional(),
      search: nameField
        .optional()
        .describe(
          'A part of the name, the shown part of the secret, a tag such as `team:search`, or the name of the account; case-insensitive.',
        ),
      status: z.enum(keyStatuses, { error: `must be ${keyStatuses.join(' or ')}` }).optional(),
      ...sortQuery(keyOrders),
    },
    page: [keySchema, 'Keys, oldest first by default'],
    async handle(call) {
      const { principal, accounts } = call;
      const { limit, account, person, ids, search, status, sort, order } = call.query;
      const asked = await askedAccount(call, account);
      const ofPerson = person === undefined ? null : await askedPerson(call, person);
      const json = async (row: Key) => keyJson(await withKeyMeters(call, row), call.clock.nowMs());
      if (ids !== undefined) {
        for (const [name, value] of Object.entries({ search, status }))
          if (value !== undefined) throw invalidMember(name, 'cannot be combined with ids');
        const isSeen = async (row: Key) =>
          (asked === null || row.accountId === asked) &&
          (ofPerson === null || isKeyOf(row, ofPerson)) &&
          (await maySeeKey(call, row));
        return answerRows(await findByIds(call, 'key', ids, accounts.getKey, isSeen), json, null);
      }
      const page = { accountId: accountOf(principal, asked), madeBy: ofPerson ?? makerOf(principal), limit };
      if (sort === 'created' && order === 'asc' && search === undefined && status === undefined)
        return answerPage(call, await accounts.listKeys({ ...page, after: after(call) }), json, ({ id }) => id);
      const question = {
        ...page,
        by: sort,
        order,
        after: afterSorted(call, sort),
        text: search === undefined ? null : asciiLower(search).replace(/^([a-z][a-z0-9_-]*)=/, '$1:'),
        status: status === undefined ? null : { is: status, atMs: call.clock.nowMs() },
      };
      return answerSorted(call, sort, await accounts.sortKeys(question, requesterOf(call)), accounts.getKey, json);
    },
  }),
  get('/keys/{id}', 'key-show', 'Retrieve a key', everyone, {
    params,
    answer: [keySchema, 'The key'],
    handle: (call) => showKey(call, call.params.id),
  }),
  patch('/keys/{id}', 'key-change', 'Update a key', everyoneWhoChanges, {
    params,
    body: changeBody,
    conflict: REVOKED,
    answer: [keySchema, 'The updated key'],
    async handle(call) {
      const change = () => storeChange(call, call.params.id, call.body, 'key.update');
      return keyJson(await call.changeInTurn(change), call.clock.nowMs());
    },
  }),
  post('/keys/{id}/revoke', 'key-revoke', 'Revoke a key permanently', everyoneWhoChanges, {
    params,
    body: z.strictObject({
      now: z.boolean().default(false).describe('Also ends its running messages; without it they may finish.'),
    }),
    answer: [keySchema, 'The revoked key'],
    async handle(call) {
      const change = () => storeChange(call, call.params.id, { status: 'revoked' }, 'key.revoke');
      const revoked = await call.changeInTurn(change);
      if (call.body.now) await call.endKeyMessages(revoked.key.id);
      return keyJson(revoked, call.clock.nowMs());
    },
  }),
  post('/keys/{id}/rotate', 'key-rotate', 'Rotate the secret of a key', everyoneWhoChanges, {
    params,
    body: rotateBody,
    isCreation: true,
    conflict: REVOKED,
    answer: [rotatedSchema, 'The key with its new secret, which is shown only once'],
    async handle(call) {
      const { grace } = call.body;
      const rotated = await createOnce(call, (remember, atMs) =>
        storeRotation(call, call.params.id, atMs + grace, remember),
      );
      const grace_ends_at = isoTime(rotated.atMs + grace);
      return { ...(await showKey(call, rotated.object)), key: shownSecret(rotated), grace_ends_at };
    },
  }),
];

/** The id of a person whose keys are asked for; members have only their own. Throws object_not_found. */
async function askedPerson(call: Call, id: string): Promise<string> {
  const { principal } = call;
  if (principal.role === 'member' && principal.id !== id) throw noObject('person', id);
  return formatId('person', (await findPerson(call, id)).id);
}

async function storeKey(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { principal, accounts } = call;
  const { account: asked, ...change } = call.body;
  refuseMembersTags(principal, change);
  const account = await accountForNew(call, asked, 'is required');
  refuseBeyond(principal, 'keys', await countShared(call, account.id, accounts.countKeys), bounds.keysPerAccountMax);
  const { secret, prefix } = makeKeySecret();
  const nowMs = call.clock.nowMs();
  const meters = { ...NO_KEY_LIMITS, quotaUsed: 0, quotaHeld: 0, lastUsedAtMs: null };
  const personId = await personFor(call, account, change.person);
  const made = { ...newKey(account.id, '', prefix, principal.id, nowMs), personId, locked: [] };
  const { key, terms } = changedKey(
    principal,
    { account, key: made, meters },
    change,
    await groupsFor(call, account),
    nowMs,
  );
  const object = formatId('key', key.id);
  const shown = keyTermsJson({ key, account, meters: { ...meters, ...terms } });
  const note = changeNote('key.create', object, account.id, null, shown);
  const auditContext = recordAudit(call, [note], remember(object, secret));
  await accounts.createKey(key, hashSecret(secret.reveal()), terms, auditContext);
  return { object, secret };
}

/** Stores a change of a key; the next admission sees it. */
async function storeChange(call: Call, id: string, change: KeyChange, action: string): Promise<KeyWithMeters> {
  refuseMembersTags(call.principal, change);
  const before = await findKey(call, id);
  if (change.status !== 'revoked') refuseRevoked(before, id);
  const { account } = before;
  const { person } = change;
  const personId = person === undefined ? (before.key.personId ?? null) : await personFor(call, account, person);
  const of = { ...before, key: { ...before.key, personId } };
  const { key, terms } = changedKey(call.principal, of, change, await groupsFor(call, account), call.clock.nowMs());
  const shown = keyTermsJson({ ...before, key, meters: { ...before.meters, ...terms } });
  const note = changeNote(action, id, key.accountId, keyTermsJson(before), shown);
  await call.accounts.updateKey(key, terms, recordAudit(call, [note]));
  call.forgetKey(key.id);
  return findKey(call, id);
}

/** The key disabled, for a change of something else that stores it. */
export async function endOfKey(call: Call, key: Key): Promise<EndedKey & { note: ChangeNote }> {
  const before = await withKeyMeters(call, key);
  const changed: Key = { ...key, status: 'disabled' };
  const { quota, quotaPeriod, requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrency } =
    before.meters;
  const rates = { requestsPerMinute, inputTokensPerMinute, outputTokensPerMinute, concurrency };
  const terms: KeyTerms = { status: 'disabled', expiresAtMs: key.expiresAtMs, quota, quotaPeriod, ...rates };
  const shown = keyTermsJson({ ...before, key: changed });
  const note = changeNote('key.update', formatId('key', key.id), key.accountId, keyTermsJson(before), shown);
  return { key: changed, terms, note };
}

/** Gives a key a new secret. The former one ends now, or after the grace period. */
async function storeRotation(call: Call, id: string, graceEndsAtMs: number, remember: Remember): Promise<Made> {
  const before = await findKey(call, id);
  refuseRevoked(before, id);
  const { secret, prefix } = makeKeySecret();
  const key = { ...before.key, prefix };
  const shown = { prefix, grace_ends_at: isoTime(graceEndsAtMs) };
  const note = changeNote('key.rotate', id, key.accountId, { prefix: before.key.prefix }, shown);
  const auditContext = recordAudit(call, [note], remember(id, secret));
  await call.accounts.rotateKey(key, hashSecret(secret.reveal()), graceEndsAtMs, auditContext);
  call.forgetKey(key.id);
  return { object: id, secret };
}

/** Members could name another cost centre. Throws invalid_request. */
function refuseMembersTags({ role }: Principal, { tags }: KeyChange): void {
  if (role === 'member' && tags !== undefined) throw invalidMember('tags', 'can be set by owners and operators only');
}

function refuseRevoked({ key }: KeyWithMeters, id: string): void {
  if (key.status === 'revoked')
    throw new TurnpikeError('conflict', `The key "${id}" is revoked permanently. Create a new key.`);
}
