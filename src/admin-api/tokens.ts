// Tokens of this API: made (the secret is shown in that one answer), listed, shown, revoked. Nobody
// makes one that may do more, or lasts longer, than the one that they hold.

import { z } from '@hono/zod-openapi';
import { type AccessToken, makeTokenSecret } from '../accounts/accounts.ts';
import { formatId, newNumber } from '../base/ids.ts';
import { bounds } from '../config.ts';
import type { Secret } from '../secrets/secrets.ts';
import { accountOfRole } from './account-of-role.ts';
import { type AdminApp, invalidRequest } from './admin-app.ts';
import { idField, jsonAnswer, jsonBody, linksById, pageAnswer } from './answers.ts';
import { type Created, createOnce } from './create-once.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { accountField, nameField, timeField } from './fields.ts';
import { pageQuery, pagesOf } from './pages.ts';
import { accountOf, holders, holdersWhoChange, type Principal, refuseBeyond } from './principal.ts';
import { findToken, roleField, tokenJson, tokenSchema } from './token-json.ts';
import { leaveTrail } from './trail.ts';
import type { TakeTurn } from './turns.ts';

const PATH = '/api/v1/tokens';

const createBody = z.strictObject({
  role: roleField,
  account: accountField
    .optional()
    .openapi({ description: "Needed for owner and member, but by an account's own token." }),
  name: nameField.default(''),
  expires_at: timeField.nullable().optional(),
});
type CreateBody = z.output<typeof createBody>;
const params = z.object({ id: idField('tok') });

const createToken = defineRoute({
  operationId: 'token-create',
  summary: 'Make a token for this API',
  roles: holdersWhoChange,
  isCreation: true,
  conflict: 'The account has as many tokens as its own tokens may make',
  method: 'post',
  path: PATH,
  request: { body: jsonBody(createBody) },
  responses: {
    201: {
      ...jsonAnswer(tokenSchema.extend({ token: z.string() }), 'The token with its secret, shown this once'),
      links: linksById('token-show', 'token-revoke'),
    },
  },
});
const listTokens = defineRoute({
  operationId: 'token-list',
  summary: 'List tokens',
  roles: holders,
  method: 'get',
  path: PATH,
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(tokenSchema, 'Tokens, oldest first') },
});
const showToken = defineRoute({
  operationId: 'token-show',
  summary: 'Show a token',
  roles: holders,
  method: 'get',
  path: `${PATH}/{id}`,
  request: { params },
  responses: { 200: jsonAnswer(tokenSchema, 'The token') },
});
const revokeToken = defineRoute({
  operationId: 'token-revoke',
  summary: 'Revoke a token for good',
  roles: holdersWhoChange,
  method: 'post',
  path: `${PATH}/{id}/revoke`,
  request: { params, body: jsonBody(z.strictObject({})) },
  responses: { 200: jsonAnswer(tokenSchema, 'The token, which opens nothing any more') },
});

export function addTokens(app: AdminApp, dependencies: AdminDependencies, takeTurn: TakeTurn): void {
  const { tokens, clock } = dependencies;
  const json = (token: AccessToken) => tokenJson(token, clock.nowMs());
  app.openapi(createToken, async (context) => {
    const body = context.req.valid('json');
    const principal = context.get('principal');
    const created = await takeTurn(context, () =>
      createOnce(dependencies, context, body, async (remember) => {
        const { token, secret } = await newToken(dependencies, principal, body);
        const object = formatId('tok', token.id);
        const note = { action: 'token.create', object, account: token.accountId, before: null, after: json(token) };
        const trail = leaveTrail(dependencies, context, [note], remember(object, secret));
        await tokens.createToken(token, dependencies.vault.hash(secret.reveal()), trail);
        return { object, secret };
      }),
    );
    const token = await findToken(dependencies, principal, created.object);
    return context.json({ ...json(token), token: shownSecret(created) }, 201);
  });
  app.openapi(listTokens, async (context) => {
    const { limit, cursor } = context.req.valid('query');
    const accountId = accountOf(context.get('principal'), null);
    const pages = pagesOf(dependencies, context);
    const rows = await tokens.listTokens({ accountId, after: pages.after(cursor), limit });
    return context.json({ data: rows.map(json), next_cursor: pages.next(rows.length, limit, rows.at(-1)?.id) }, 200);
  });
  app.openapi(showToken, async (context) =>
    context.json(json(await findToken(dependencies, context.get('principal'), context.req.valid('param').id)), 200),
  );
  app.openapi(revokeToken, async (context) => {
    const { id } = context.req.valid('param');
    const principal = context.get('principal');
    const revoked = await takeTurn(context, async () => {
      const before = await findToken(dependencies, principal, id);
      const after: AccessToken = { ...before, status: 'revoked' };
      if (before.status === 'revoked') return before;
      const note = {
        action: 'token.revoke',
        object: id,
        account: before.accountId,
        before: json(before),
        after: json(after),
      };
      await tokens.updateToken(after, leaveTrail(dependencies, context, [note]));
      return after;
    });
    return context.json(json(revoked), 200);
  });
}

/** The secret of an answer that shows one: always there, by how its creation was remembered. */
export function shownSecret(created: Created): string {
  return (created.secret as Secret).reveal();
}

async function newToken(
  dependencies: AdminDependencies,
  principal: Principal,
  body: CreateBody,
): Promise<{ token: AccessToken; secret: Secret }> {
  const accountId = await accountOfRole(dependencies, principal, body);
  if (accountId !== null)
    refuseBeyond(principal, 'tokens', await dependencies.tokens.countTokens(accountId), bounds.tokensPerAccountMax);
  const nowMs = dependencies.clock.nowMs();
  const { secret, prefix } = makeTokenSecret();
  const token: AccessToken = {
    id: newNumber(),
    accountId,
    role: body.role,
    name: body.name,
    prefix,
    status: 'enabled',
    expiresAtMs: endOfToken(principal, body.expires_at, nowMs),
    madeBy: principal.id,
    createdAtMs: nowMs,
  };
  return { token, secret };
}

/** A token that ends makes none that lasts longer. */
function endOfToken(principal: Principal, asked: number | null | undefined, nowMs: number): number | null {
  const endsAtMs = asked === undefined ? principal.expiresAtMs : asked;
  if (endsAtMs !== null && endsAtMs <= nowMs)
    throw invalidRequest([{ path: ['expires_at'], message: 'must be in the future' }]);
  if (principal.expiresAtMs !== null && (endsAtMs === null || endsAtMs > principal.expiresAtMs)) {
    const latest = new Date(principal.expiresAtMs).toISOString();
    throw invalidRequest([{ path: ['expires_at'], message: `must be at most ${latest}, when your own token ends` }]);
  }
  return endsAtMs;
}
