// Keys: made and rotated (the secret is shown in that one answer), listed, shown, changed, revoked.
// A key is never deleted, because usage records name it.

import { z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type Account, type Key, makeKeySecret } from '../accounts/accounts.ts';
import { formatId, parseId } from '../base/ids.ts';
import { bounds } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Secret } from '../secrets/secrets.ts';
import { accountNumber } from './account-json.ts';
import { type AdminApp, type AdminEnvironment, invalidRequest } from './admin-app.ts';
import { answerPage } from './answer-page.ts';
import { idField, jsonAnswer, jsonBody, linksById, pageAnswer } from './answers.ts';
import { createOnce, type Remember } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, durationField, idsFilter } from './fields.ts';
import { findByIds } from './find-by-ids.ts';
import { blankKey, changeableKey, changedKey, type KeyChange } from './key-changes.ts';
import { findKey, type KeyWithMeters, keyJson, keySchema, keyTermsJson, withKeyMeters } from './key-json.ts';
import { pageQuery, pagesOf } from './pages.ts';
import {
  accountOf,
  everyone,
  everyoneWhoChanges,
  makerOf,
  maySeeKey,
  type Principal,
  refuseBeyond,
} from './principal.ts';
import { shownSecret } from './tokens.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const PATH = '/api/v1/keys';
const REVOKED = 'The key was revoked, which is final';

const createBody = changeableKey.extend({
  account: accountField.optional().openapi({ description: "Needed, but by an account's own token." }),
});
const changeBody = changeableKey.extend({
  status: z.enum(['enabled', 'disabled'], { error: 'must be enabled or disabled' }).optional(),
});
const rotateBody = z.strictObject({
  grace: durationField
    .default(bounds.keyGraceMs)
    .openapi({ type: 'string', default: '24h', description: 'How long the secret of before still opens the key.' }),
});
const params = z.object({ id: idField('key') });
export const withSecret = keySchema.extend({ key: z.string() });
export const rotatedSchema = withSecret.extend({
  grace_ends_at: z.string().openapi({ description: 'When the secrets of before stop to open the key.' }),
});

const createKey = defineRoute({
  operationId: 'key-create',
  summary: 'Make a key',
  roles: everyoneWhoChanges,
  isCreation: true,
  conflict: 'The account has as many keys as its own tokens may make',
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: {
    201: {
      ...jsonAnswer(withSecret, 'The key with its secret, shown this once'),
      links: linksById('key-show', 'key-change', 'key-revoke', 'key-rotate'),
    },
  },
});
const listKeys = defineRoute({
  operationId: 'key-list',
  summary: 'List keys',
  roles: everyone,
  method: 'get',
  path: PATH,
  request: {
    query: z.strictObject({ ...pageQuery, account: accountField.optional(), ids: idsFilter('key').optional() }),
  },
  responses: { 200: pageAnswer(keySchema, 'Keys, oldest first') },
});
const showKey = defineRoute({
  operationId: 'key-show',
  summary: 'Show a key',
  roles: everyone,
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(keySchema, 'The key') },
});
const changeKey = defineRoute({
  operationId: 'key-change',
  summary: 'Change a key',
  roles: everyoneWhoChanges,
  conflict: REVOKED,
  method: 'patch',
  path: `${PATH}/{id}`,
  request: { params, body: jsonBody(changeBody) },
  responses: { 200: jsonAnswer(keySchema, 'The key as it is now') },
});
const revokeKey = defineRoute({
  operationId: 'key-revoke',
  summary: 'Revoke a key for good',
  roles: everyoneWhoChanges,
  method: 'post',
  path: `${PATH}/{id}/revoke`,
  request: { params, body: jsonBody(z.strictObject({ now: z.boolean().default(false) })) },
  responses: { 200: jsonAnswer(keySchema, 'The key, which opens nothing any more') },
});
const rotateKey = defineRoute({
  operationId: 'key-rotate',
  summary: 'Give a key another secret',
  roles: everyoneWhoChanges,
  isCreation: true,
  conflict: REVOKED,
  method: 'post',
  path: `${PATH}/{id}/rotate`,
  request: { params, body: jsonBody(rotateBody) },
  responses: { 201: jsonAnswer(rotatedSchema, 'The key with its new secret, shown this once') },
});

export function addKeys(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { accounts, clock } = dependencies;
  const json = (found: KeyWithMeters) => keyJson(found, clock.nowMs());
  app.openapi(createKey, async (context) => {
    const body = context.req.valid('json');
    const created = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember) => storeKey(dependencies, context, body, remember)),
    );
    const key = await findKey(dependencies, context.get('principal'), created.object);
    return context.json({ ...json(key), key: shownSecret(created) }, 201);
  });
  app.openapi(listKeys, async (context) => {
    const principal = context.get('principal');
    const { limit, cursor, account, ids } = context.req.valid('query');
    const asked = account === undefined ? null : await accountNumber(dependencies, principal, account);
    const rowJson = async (row: Key) => json(await withKeyMeters(dependencies, row));
    if (ids !== undefined) {
      const isSeen = (row: Key) => maySeeKey(principal, row) && (asked === null || row.accountId === asked);
      return answerPage(await findByIds({ kind: 'key', ids, cursor }, accounts.getKey, isSeen), rowJson, null);
    }
    const pages = pagesOf(dependencies, context);
    const page = {
      accountId: accountOf(principal, asked),
      madeBy: makerOf(principal),
      after: pages.after(cursor),
      limit,
    };
    const rows = await accounts.listKeys(page);
    const next = pages.next(rows.length, limit, rows.at(-1)?.id);
    return answerPage(rows, rowJson, next);
  });
  app.openapi(showKey, async (context) =>
    context.json(json(await findKey(dependencies, context.get('principal'), context.req.valid('param').id)), 200),
  );
  app.openapi(changeKey, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    const after = await takeTurn(context, () => storeChange(dependencies, context, id, body, 'key.update'));
    return context.json(json(after), 200);
  });
  app.openapi(revokeKey, async (context) => {
    const { id } = context.req.valid('param');
    const after = await takeTurn(context, () =>
      storeChange(dependencies, context, id, { status: 'revoked' }, 'key.revoke'),
    );
    if (context.req.valid('json').now) await dependencies.endKeyMessages(after.key.id);
    return context.json(json(after), 200);
  });
  app.openapi(rotateKey, async (context) => {
    const { id } = context.req.valid('param');
    const body = context.req.valid('json');
    const rotated = await takeTurn(context, () =>
      createOnce(dependencies, context, body, (remember, atMs) =>
        storeRotation(dependencies, context, id, atMs + body.grace, remember),
      ),
    );
    const key = await findKey(dependencies, context.get('principal'), rotated.object);
    const grace_ends_at = new Date(rotated.atMs + body.grace).toISOString();
    return context.json({ ...json(key), key: shownSecret(rotated), grace_ends_at }, 201);
  });
}

async function storeKey(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  body: z.output<typeof createBody>,
  remember: Remember,
): Promise<{ object: string; secret: Secret }> {
  const principal = context.get('principal');
  const account = await accountOfKey(dependencies, principal, body.account);
  refuseBeyond(principal, 'keys', await dependencies.accounts.countKeys(account.id), bounds.keysPerAccountMax);
  const { secret, prefix } = makeKeySecret();
  const nowMs = dependencies.clock.nowMs();
  const { account: _, ...change } = body;
  const { key, terms } = changedKey(blankKey(account, prefix, principal.id, nowMs), change, nowMs);
  const object = formatId('key', key.id);
  const after = keyTermsJson({ key, account, meters: terms });
  const note = { action: 'key.create', object, account: account.id, before: null, after };
  const trail = leaveTrail(dependencies, context, [note], remember(object, secret));
  await dependencies.accounts.createKey(key, dependencies.vault.hash(secret.reveal()), terms, trail);
  return { object, secret };
}

/** The account that a new key is for: the principal's own where it has one. Throws invalid_request. */
async function accountOfKey(
  { accounts }: AdminDependencies,
  principal: Principal,
  asked: string | undefined,
): Promise<Account> {
  const number = asked === undefined ? principal.accountId : parseId('acct', asked);
  if (asked === undefined && number === null) throw invalidRequest([{ path: ['account'], message: 'is required' }]);
  const isOwn = principal.accountId === null || principal.accountId === number;
  const account = number === null || !isOwn ? null : await accounts.getAccount(number);
  if (account === null) throw invalidRequest([{ path: ['account'], message: `there is no account "${asked}"` }]);
  return account;
}

/** Stores a change of a key; the next admission sees it. */
async function storeChange(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  id: string,
  change: KeyChange,
  action: string,
): Promise<KeyWithMeters> {
  const principal = context.get('principal');
  const before = await findKey(dependencies, principal, id);
  if (change.status !== 'revoked') refuseRevoked(before, id);
  const { key, terms } = changedKey(before, change, dependencies.clock.nowMs());
  const after = { ...before, key, meters: { ...before.meters, ...terms } };
  const note = {
    action,
    object: id,
    account: key.accountId,
    before: keyTermsJson(before),
    after: keyTermsJson(after),
  };
  await dependencies.accounts.updateKey(key, terms, leaveTrail(dependencies, context, [note]));
  dependencies.forgetKey(key.id);
  return findKey(dependencies, principal, id);
}

/** Gives a key another secret. The one of before ends now, or after the grace. */
async function storeRotation(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  id: string,
  graceEndsAtMs: number,
  remember: Remember,
): Promise<{ object: string; secret: Secret }> {
  const before = await findKey(dependencies, context.get('principal'), id);
  refuseRevoked(before, id);
  const { secret, prefix } = makeKeySecret();
  const key = { ...before.key, prefix };
  const note = {
    action: 'key.rotate',
    object: id,
    account: key.accountId,
    before: { prefix: before.key.prefix },
    after: { prefix, grace_ends_at: new Date(graceEndsAtMs).toISOString() },
  };
  const trail = leaveTrail(dependencies, context, [note], remember(id, secret));
  await dependencies.accounts.rotateKey(key, dependencies.vault.hash(secret.reveal()), graceEndsAtMs, trail);
  dependencies.forgetKey(key.id);
  return { object: id, secret };
}

function refuseRevoked({ key }: KeyWithMeters, id: string): void {
  if (key.status === 'revoked')
    throw new TurnpikeError('conflict', `The key "${id}" was revoked. That is final: create another.`);
}
