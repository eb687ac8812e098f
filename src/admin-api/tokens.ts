// Tokens of this API: created (only that response shows the secret), listed, shown, revoked. Nobody can create a
// token with more rights, or a longer life, than their own. `/me` shows the authenticated principal.

import { z } from '@hono/zod-openapi';
import { type AccessToken, makeTokenSecret, personOfToken, type Role, type TokenRole } from '../accounts/accounts.ts';
import { formatId, newNumber, parseId } from '../base/ids.ts';
import { hideables } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { hashSecret, type Secret } from '../secrets/secrets.ts';
import { accountForNew, askedAccount } from './accounts.ts';
import { findObject, invalidMember } from './admin-app.ts';
import { type Created, changeNote, createOnce, type Made, type Remember, recordAudit } from './changes.ts';
import {
  accountOf,
  countShared,
  everyone,
  holders,
  holdersWhoChange,
  maySeeAccount,
  type Principal,
  refuseBeyond,
} from './dependencies.ts';
import { encoderOf } from './encode.ts';
import {
  accountField,
  accountShown,
  actorShown,
  idField,
  nameField,
  personShown,
  statusAt,
  timeField,
  timeShown,
} from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, type CallWith, get, list, post } from './route.ts';
import { hiddenFrom, hideable } from './visibility.ts';

/** null: the installation. Throws invalid_request if role and account do not match, or exceed the principal's own. */
export async function accountOfRole(
  call: Call<unknown, unknown, { role: TokenRole; account?: string | undefined }>,
): Promise<number | null> {
  const { principal, body } = call;
  const { role, account } = body;
  const isOfInstallation = role === 'operator' || role === 'viewer' || role === 'scim';
  if (isOfInstallation && principal.accountId !== null)
    throw invalidMember('role', 'must be owner or member: your own token belongs to an account');
  if (isOfInstallation) {
    if (account === undefined) return null;
    throw invalidMember('account', `must be absent: the role ${role} is for the whole installation`);
  }
  return (await accountForNew(call, account, `is required for the role ${role}`)).id;
}

export const roleField = z.enum(['operator', 'viewer', 'owner', 'member'], {
  error: 'must be operator, viewer, owner or member',
});

const tokenRoleField = z
  .enum(['operator', 'viewer', 'owner', 'member', 'scim'], {
    error: 'must be operator, viewer, owner, member or scim',
  })
  .describe('scim: writes people and groups by SCIM, and does nothing else.');

export const tokenSchema = z
  .object({
    id: idField('tok'),
    role: tokenRoleField,
    account: accountShown.nullable().describe('null: the whole installation.'),
    name: z.string(),
    prefix: z.string(),
    status: z.enum(['enabled', 'expired', 'revoked']),
    expires_at: timeShown.nullable(),
    person: personShown
      .nullable()
      .describe('Whose token it is: it works only while they may make it. null: a service’s.'),
    made_by: actorShown,
    created_at: timeShown,
  })
  .openapi('Token');

const encodeToken = encoderOf(tokenSchema);

function tokenJson({ clock }: Call, token: AccessToken): z.infer<typeof tokenSchema> {
  return encodeToken({ ...token, personId: personOfToken(token), status: statusAt(token, clock.nowMs()) });
}

/** The token with this id "tok_…", if the principal may see it. Throws object_not_found. */
function findToken(call: Call, id: string): Promise<AccessToken> {
  return findObject('tok', 'token', id, call.tokens.getToken, ({ accountId }) => maySeeAccount(call, accountId));
}

const createBody = z.strictObject({
  role: tokenRoleField,
  account: accountField
    .optional()
    .describe('Required for the roles owner and member, except with a token of an account.'),
  name: nameField.optional(),
  expires_at: timeField.nullable().optional().describe('When it expires.'),
});
const params = z.object({ id: idField('tok') });

export const meSchema = z
  .object({
    id: z.string().describe('"tok_…", "person_…", or "local" for the local operator of the machine.'),
    kind: z.enum(['token', 'person', 'local']),
    name: z.string().nullable(),
    email: z.string().nullable().describe('null for a token.'),
    role: roleField,
    account: z
      .object({ id: idField('acct'), name: z.string(), groups: hideable('group', z.array(z.string())) })
      .nullable(),
    expires_at: timeShown.nullable(),
    hidden: z.array(z.enum(hideables)).describe('What the operator hides from accounts, and so from this caller.'),
    base_url: z.string().nullable().describe('The public URL of this service for API clients; null if not configured.'),
  })
  .openapi('Me');

const encodeMe = encoderOf(meSchema);

export const tokenRoutes: AdminRoute[] = [
  post('/tokens', 'token-create', 'Create a token for this API', holdersWhoChange, {
    body: createBody,
    isCreation: true,
    conflict: 'The account has reached the number of tokens that its own tokens may create',
    answer: [tokenSchema.extend({ token: z.string() }), 'The token with its secret, which is shown only once'],
    links: ['token-show', 'token-revoke'],
    async handle(call) {
      const created = await createOnce(call, (remember) => storeToken(call, remember));
      return { ...tokenJson(call, await findToken(call, created.object)), token: shownSecret(created) };
    },
  }),
  list('/tokens', 'token-list', 'List tokens', holders, {
    query: { account: accountField.optional() },
    page: [tokenSchema, 'Tokens, oldest first'],
    async handle(call) {
      const asked = await askedAccount(call, call.query.account);
      const page = { accountId: accountOf(call.principal, asked), after: after(call), limit: call.query.limit };
      const json = (token: AccessToken) => tokenJson(call, token);
      return answerPage(call, await call.tokens.listTokens(page), json, ({ id }) => id);
    },
  }),
  get('/tokens/{id}', 'token-show', 'Retrieve a token', holders, {
    params,
    answer: [tokenSchema, 'The token'],
    handle: async (call) => tokenJson(call, await findToken(call, call.params.id)),
  }),
  post('/tokens/{id}/revoke', 'token-revoke', 'Revoke a token permanently', holdersWhoChange, {
    params,
    body: z.strictObject({}),
    answer: [tokenSchema, 'The revoked token; keys that it created stay'],
    async handle(call) {
      const { id } = call.params;
      const revoked = await call.changeInTurn(async () => {
        const before = await findToken(call, id);
        if (before.status === 'revoked') return before;
        const after: AccessToken = { ...before, status: 'revoked' };
        const [was, is] = [tokenJson(call, before), tokenJson(call, after)];
        const note = changeNote('token.revoke', id, before.accountId, was, is);
        await call.tokens.updateToken(after, recordAudit(call, [note]));
        return after;
      });
      return tokenJson(call, revoked);
    },
  }),
];

export const meRoutes: AdminRoute[] = [
  get('/me', 'me-show', 'Retrieve the caller’s identity', everyone, {
    answer: [meSchema, 'The token or person that sent the request'],
    async handle(call) {
      const { id, accountId, expiresAtMs } = call.principal;
      const role = call.principal.role as Role; // no other role has access
      const account = accountId === null ? null : await call.accounts.getAccount(accountId);
      const hidden = [...hiddenFrom(call, call.principal).things];
      const who = await describeWho(call);
      return encodeMe({ id, ...who, role, account, expiresAtMs, hidden, baseUrl: call.messagesAt() });
    },
  }),
];

async function describeWho({ tokens, people, principal: { id } }: Call) {
  const [token, person] = [parseId('tok', id), parseId('person', id)];
  if (person !== null) {
    const { name = null, email = null } = (await people.getPerson(person)) ?? {};
    return { kind: 'person' as const, name, email };
  }
  const { name = null } = (token === null ? null : await tokens.getToken(token)) ?? {};
  return { kind: token === null ? ('local' as const) : ('token' as const), name, email: null };
}

/** The secret in a creation's response: always present, by how the creation was stored. */
export function shownSecret(created: Created): string {
  return (created.secret as Secret).reveal();
}

async function storeToken(call: CallWith<typeof createBody>, remember: Remember): Promise<Made> {
  const { principal, body, tokens } = call;
  const accountId = await accountOfRole(call);
  if (accountId !== null)
    refuseBeyond(
      principal,
      'tokens',
      await countShared(call, accountId, tokens.countTokens),
      bounds.tokensPerAccountMax,
    );
  const nowMs = call.clock.nowMs();
  const { secret, prefix } = makeTokenSecret();
  const { role, name = '' } = body;
  const expiresAtMs = endOfToken(principal, body.expires_at, nowMs);
  // The directory must not lose its access with the operator who gave it.
  const personId = body.role === 'scim' ? null : await personOf(call);
  const made = { personId, madeBy: principal.id, createdAtMs: nowMs };
  const token: AccessToken = {
    id: newNumber(),
    accountId,
    role,
    name,
    prefix,
    status: 'enabled',
    expiresAtMs,
    ...made,
  };
  const object = formatId('tok', token.id);
  const note = changeNote('token.create', object, accountId, null, tokenJson(call, token));
  await tokens.createToken(token, hashSecret(secret.reveal()), recordAudit(call, [note], remember(object, secret)));
  return { object, secret };
}

/** The person of the principal's new tokens: a person's token makes none that outlasts them. null: those of the local operator and services. */
async function personOf({ principal, tokens }: Call): Promise<number | null> {
  const [person, token] = [parseId('person', principal.id), parseId('tok', principal.id)];
  const maker = token === null ? null : await tokens.getToken(token);
  return maker === null ? person : personOfToken(maker);
}

/** An expiring token cannot create one that lasts longer. */
function endOfToken(principal: Principal, asked: number | null | undefined, nowMs: number): number | null {
  const endsAtMs = asked === undefined ? principal.expiresAtMs : asked;
  if (endsAtMs !== null && endsAtMs <= nowMs) throw invalidMember('expires_at', 'must be in the future');
  if (principal.expiresAtMs !== null && (endsAtMs === null || endsAtMs > principal.expiresAtMs)) {
    const latest = new Date(principal.expiresAtMs).toISOString();
    throw invalidMember('expires_at', `must be at most ${latest}, when your own token ends`);
  }
  return endsAtMs;
}
