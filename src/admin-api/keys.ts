// Keys: made (the secret is shown in that one answer), listed, shown, changed, revoked. A key is
// never deleted, because usage records name it.

import { createRoute, z } from '@hono/zod-openapi';
import { type Account, type Key, type KeyTerms, makeKeySecret, NO_KEY_LIMITS } from '../accounts/accounts.ts';
import { newNumber, parseId } from '../base/ids.ts';
import type { Fault } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { Secret } from '../secrets/secrets.ts';
import { findAccount } from './account-json.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { jsonAnswer, jsonBody, pageAnswer } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';
import {
  addressesField,
  amountField,
  groupsField,
  limitField,
  nameField,
  originsField,
  patternsField,
  periodField,
  timeField,
} from './fields.ts';
import { findKey, type KeyWithMeters, keyJson, keySchema, withKeyMeters } from './key-json.ts';
import { cursorNumber, nextCursor, pageQuery } from './pages.ts';
import type { TakeTurn } from './turns.ts';

const PATH = '/api/v1/keys';

const changeable = z
  .strictObject({
    name: nameField,
    groups: groupsField.nullable(),
    models: patternsField.nullable(),
    quota: amountField(0).nullable(),
    quota_period: periodField,
    rpm: limitField,
    input_tpm: limitField,
    output_tpm: limitField,
    concurrency: limitField,
    expires_at: timeField.nullable(),
    origins: originsField.nullable(),
    addresses: addressesField.nullable(),
  })
  .partial();
const createBody = changeable.extend({ account: z.string() });
const changeBody = changeable.extend({
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
});
const params = z.object({ id: z.string() });

const createKey = createRoute({
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: { 201: jsonAnswer(keySchema.extend({ key: z.string() }), 'The key with its secret, shown this once') },
});
const listKeys = createRoute({
  method: 'get',
  path: PATH,
  request: { query: z.strictObject({ ...pageQuery, account: z.string().optional() }) },
  responses: { 200: pageAnswer(keySchema, 'Keys, oldest first') },
});
const showKey = createRoute({
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(keySchema, 'The key') },
});
const changeKey = createRoute({
  method: 'patch',
  path: `${PATH}/{id}`,
  request: { params, body: jsonBody(changeBody) },
  responses: { 200: jsonAnswer(keySchema, 'The key as it is now') },
});
const revokeKey = createRoute({
  method: 'post',
  path: `${PATH}/{id}/revoke`,
  request: { params, body: jsonBody(z.strictObject({ now: z.boolean().default(false) })) },
  responses: { 200: jsonAnswer(keySchema, 'The key, which opens nothing any more') },
});

type KeyChange = z.output<typeof changeable> & { status?: Key['status'] | undefined };

export function addKeys(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { accounts, clock } = dependencies;
  const json = (found: KeyWithMeters) => keyJson(found, clock.nowMs());
  app.openapi(createKey, async (context) => {
    const body = context.req.valid('json');
    const { key, secret } = await takeTurn(() => storeKey(dependencies, body));
    return context.json({ ...json(await withKeyMeters(dependencies, key)), key: secret.reveal() }, 201);
  });
  app.openapi(listKeys, async (context) => {
    const { limit, cursor, account } = context.req.valid('query');
    const accountId = account === undefined ? null : await knownAccount(dependencies, account);
    const rows = await accounts.listKeys({ accountId, after: cursorNumber(cursor), limit });
    const data = (await Promise.all(rows.map((row) => withKeyMeters(dependencies, row)))).map(json);
    return context.json({ data, next_cursor: nextCursor(rows.length, limit, rows.at(-1)?.id) }, 200);
  });
  app.openapi(showKey, async (context) =>
    context.json(json(await findKey(dependencies, context.req.valid('param').id)), 200),
  );
  app.openapi(changeKey, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    await takeTurn(() => storeChange(dependencies, id, body));
    return context.json(json(await findKey(dependencies, id)), 200);
  });
  app.openapi(revokeKey, async (context) => {
    const { id } = context.req.valid('param');
    const keyId = await takeTurn(() => storeChange(dependencies, id, { status: 'revoked' }));
    if (context.req.valid('json').now) await dependencies.endKeyMessages(keyId);
    return context.json(json(await findKey(dependencies, id)), 200);
  });
}

async function knownAccount(dependencies: AdminDependencies, id: string): Promise<number> {
  return (await findAccount(dependencies, id)).account.id;
}

async function storeKey(
  dependencies: AdminDependencies,
  body: z.output<typeof createBody>,
): Promise<{ key: Key; secret: Secret }> {
  const id = parseId('acct', body.account);
  const account = id === null ? null : await dependencies.accounts.getAccount(id);
  if (account === null) throw invalidRequest([{ path: ['account'], message: `there is no account "${body.account}"` }]);
  const { secret, prefix } = makeKeySecret();
  const nowMs = dependencies.clock.nowMs();
  const blank = blankKey(account, prefix, nowMs);
  const { key, terms } = changed(blank, body, nowMs);
  await dependencies.accounts.createKey(key, dependencies.vault.hash(secret.reveal()), terms);
  return { key, secret };
}

/** Stores a change of a key; the next admission sees it. Returns the key's number. */
async function storeChange(dependencies: AdminDependencies, id: string, change: KeyChange): Promise<number> {
  const before = await findKey(dependencies, id);
  if (before.key.status === 'revoked' && change.status !== 'revoked')
    throw new TurnpikeError('conflict', `The key "${id}" was revoked. That is final: create another.`);
  const { key, terms } = changed(before, change, dependencies.clock.nowMs());
  await dependencies.accounts.updateKey(key, terms);
  dependencies.forgetKey(key.id);
  return key.id;
}

function blankKey(account: Account, prefix: string, nowMs: number): KeyWithMeters {
  return {
    account,
    key: {
      id: newNumber(),
      accountId: account.id,
      name: '',
      prefix,
      groups: null,
      models: null,
      status: 'enabled',
      expiresAtMs: null,
      origins: null,
      addresses: null,
      createdAtMs: nowMs,
    },
    meters: {
      ...NO_KEY_LIMITS,
      quotaUsed: 0,
      lastUsedAtMs: null,
    },
  };
}

/** The key and its terms after a change; what the change does not name stays. Throws invalid_request. */
function changed(before: KeyWithMeters, change: KeyChange, nowMs: number): { key: Key; terms: KeyTerms } {
  const faults = faultsOf(before.account, change, nowMs);
  if (faults.length > 0) throw invalidRequest(faults);
  const { key, meters } = before;
  const status = change.status ?? key.status;
  const expiresAtMs = orBefore(change.expires_at, key.expiresAtMs);
  return {
    key: {
      ...key,
      name: change.name ?? key.name,
      groups: orBefore(change.groups, key.groups),
      models: orBefore(change.models, key.models),
      origins: orBefore(change.origins, key.origins),
      addresses: orBefore(change.addresses, key.addresses),
      status,
      expiresAtMs,
    },
    terms: {
      status,
      expiresAtMs,
      quota: orBefore(change.quota, meters.quota),
      quotaPeriod: change.quota_period ?? meters.quotaPeriod,
      requestsPerMinute: orBefore(change.rpm, meters.requestsPerMinute),
      inputTokensPerMinute: orBefore(change.input_tpm, meters.inputTokensPerMinute),
      outputTokensPerMinute: orBefore(change.output_tpm, meters.outputTokensPerMinute),
      concurrency: orBefore(change.concurrency, meters.concurrency),
    },
  };
}

/** Null is a value (no limit); only what is absent leaves what stood before. */
function orBefore<T>(changed: T | undefined, before: T): T {
  return changed === undefined ? before : changed;
}

function faultsOf(account: Account, change: KeyChange, nowMs: number): Fault[] {
  const faults: Fault[] = (change.groups ?? []).flatMap((group, at) =>
    account.groups.includes(group)
      ? []
      : [
          {
            path: ['groups', at],
            message: `"${group}" is not among the account's groups (${account.groups.join(', ')})`,
          },
        ],
  );
  if (change.expires_at != null && change.expires_at <= nowMs)
    faults.push({ path: ['expires_at'], message: 'must be in the future' });
  return faults;
}
