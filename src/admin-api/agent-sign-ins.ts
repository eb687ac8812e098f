// Sign-ins of coding agents. A person of an account approves the code that their device shows, and gets a key for the client. The
// person and owners of the account see and revoke sign-ins.

import { z } from '@hono/zod-openapi';
import { AGENT_CLIENTS, type Key, NO_KEY_LIMITS, newKey, type Person } from '../accounts/accounts.ts';
import { type AgentGrant, CLIENT_NAMES, type DeviceCode, makeGrant, readUserCode } from '../agents/agents.ts';
import { DAY_MS } from '../base/clock.ts';
import { formatId, parseId } from '../base/ids.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { askedAccount } from './accounts.ts';
import { findObject } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { accountOf, countShared, everyone, everyoneWhoChanges, maySeeAccount, refuseBeyond } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { accountField, accountShown, idField, timeShown } from './fields.ts';
import { after, answerPage } from './pages.ts';
import { type AdminRoute, type Call, get, list, post } from './route.ts';

const clientShown = z.enum(AGENT_CLIENTS).describe('The coding agent.');

export const agentSignInSchema = z
  .object({
    id: idField('agent'),
    account: accountShown,
    person: idField('person'),
    key: idField('key').describe('The key of the person for this client, which its messages use.'),
    client: clientShown,
    status: z.enum(['enabled', 'expired', 'revoked']),
    address: z.string().describe('The address of the device that asked for it.'),
    created_at: timeShown,
    refreshed_at: timeShown.describe('When its tokens were last renewed.'),
    expires_at: timeShown.describe('When the person must sign in again, or when it was revoked.'),
  })
  .openapi('AgentSignIn');

export const deviceCodeSchema = z
  .object({
    code: z.string().openapi({ examples: ['BCDF-GHJK'] }),
    client: clientShown,
    status: z.enum(['pending', 'approved', 'denied', 'expired']),
    address: z.string().describe('The address of the device that shows the code.'),
    created_at: timeShown,
    expires_at: timeShown,
  })
  .openapi('DeviceCode');

const encodeSignIn = encoderOf(agentSignInSchema);
const encodeCode = encoderOf(deviceCodeSchema);

function signInJson({ clock }: Call, grant: AgentGrant): z.infer<typeof agentSignInSchema> {
  const isExpired = grant.status === 'enabled' && grant.expiresAtMs <= clock.nowMs();
  const { keyId: key, personId: person } = grant;
  return encodeSignIn({ ...grant, key, person, status: isExpired ? 'expired' : grant.status });
}

function codeJson({ clock }: Call, code: DeviceCode): z.infer<typeof deviceCodeSchema> {
  return encodeCode({
    ...code,
    code: code.userCode,
    status: code.expiresAtMs <= clock.nowMs() ? 'expired' : code.status,
  });
}

const codeParams = z.object({
  code: z
    .string()
    .max(32)
    .openapi({ description: 'The code that the device shows, such as BCDF-GHJK.', examples: ['BCDF-GHJK'] }),
});
const params = z.object({ id: idField('agent') });
const DECIDED = 'The code was approved or denied before, or the person has no key for this client that may be used';

export const agentRoutes: AdminRoute[] = [
  get('/device-codes/{code}', 'device-code-show', 'Retrieve the code of a device', everyone, {
    params: codeParams,
    answer: [deviceCodeSchema, 'The code'],
    async handle(call) {
      const code = await findCode(call, call.params.code);
      await requirePerson(call);
      return codeJson(call, code);
    },
  }),
  post(
    '/device-codes/{code}/approve',
    'device-code-approve',
    'Sign in the device that shows a code',
    everyoneWhoChanges,
    {
      params: codeParams,
      body: z.strictObject({}),
      conflict: DECIDED,
      answer: [agentSignInSchema, 'The sign-in'],
      async handle(call) {
        const code = await findCode(call, call.params.code);
        const person = await requirePerson(call);
        return signInJson(call, await call.changeInTurn(() => approve(call, person, code.hash)));
      },
    },
  ),
  post('/device-codes/{code}/deny', 'device-code-deny', 'Refuse the device that shows a code', everyoneWhoChanges, {
    params: codeParams,
    body: z.strictObject({}),
    conflict: DECIDED,
    answer: [deviceCodeSchema, 'The refused code'],
    async handle(call) {
      const { hash } = await findCode(call, call.params.code);
      const person = await requirePerson(call);
      return codeJson(call, await call.changeInTurn(() => deny(call, person, hash)));
    },
  }),
  list('/agent-sign-ins', 'agent-sign-in-list', 'List sign-ins of coding agents', everyone, {
    query: { account: accountField.optional() },
    page: [agentSignInSchema, 'Sign-ins, newest first; members see their own'],
    async handle(call) {
      const { principal, query, agents } = call;
      const accountId = accountOf(principal, await askedAccount(call, query.account));
      const personId = principal.role === 'member' ? (parseId('person', principal.id) ?? 0) : null;
      const rows = await agents.listAgentGrants({ accountId, personId, before: after(call), limit: query.limit });
      return answerPage(
        call,
        rows,
        (grant) => signInJson(call, grant),
        ({ id }) => id,
      );
    },
  }),
  post('/agent-sign-ins/{id}/revoke', 'agent-sign-in-revoke', 'End a sign-in of a coding agent', everyoneWhoChanges, {
    params,
    body: z.strictObject({}),
    answer: [agentSignInSchema, 'The ended sign-in; its tokens are refused from now on'],
    async handle(call) {
      const { id } = call.params;
      return signInJson(call, await call.changeInTurn(() => revoke(call, id)));
    },
  }),
];

function findGrant(call: Call, id: string): Promise<AgentGrant> {
  const { principal, agents } = call;
  const isTheirs = ({ personId }: AgentGrant) =>
    principal.role !== 'member' || formatId('person', personId) === principal.id;
  return findObject(
    'agent',
    'sign-in',
    id,
    agents.getAgentGrant,
    async (grant) => isTheirs(grant) && (await maySeeAccount(call, grant.accountId)),
  );
}

/** The signed-in person. Throws role_not_allowed for a token: nobody would see what it approves. */
async function requirePerson({ principal, people }: Call): Promise<Person & { accountId: number }> {
  const id = parseId('person', principal.id);
  const person = id === null ? null : await people.getPerson(id);
  if (person !== null && person.accountId !== null) return { ...person, accountId: person.accountId };
  throw new TurnpikeError('role_not_allowed', 'Only a person of an account who is signed in can do this, not a token.');
}

/** Limits the guesses of each principal. Throws object_not_found, too_many_failures. */
async function findCode(call: Call, typed: string): Promise<DeviceCode> {
  const { agents, clock, signIn, principal } = call;
  const userCode = readUserCode(typed);
  const code = userCode === null ? null : await agents.findDeviceCodeByUserCode(userCode);
  if (code !== null && code.expiresAtMs > clock.nowMs()) return code;
  const counted = await signIn.count(`device-code:${principal.id}`, bounds.userCodeTriesMax, bounds.deviceCodeWindowMs);
  if (!counted.isAllowed)
    throw new TurnpikeError('too_many_failures', 'Too many wrong codes. Try again later.', {
      retryAfterMs: counted.retryAfterMs,
    });
  throw new TurnpikeError('object_not_found', 'No device shows this code now. Codes are valid for ten minutes.');
}

/** Read again under the lock. Throws conflict. */
async function requirePending({ agents, clock }: Call, hash: string): Promise<DeviceCode> {
  const code = await agents.findDeviceCode(hash);
  if (code?.status === 'pending' && code.expiresAtMs > clock.nowMs()) return code;
  throw new TurnpikeError('conflict', 'This code was approved or denied before, or has expired.');
}

async function approve(call: Call, person: Person & { accountId: number }, hash: string): Promise<AgentGrant> {
  const { agents, clock, catalog, forgetKey } = call;
  const { id: personId, accountId } = person;
  const nowMs = clock.nowMs();
  const code = await requirePending(call, hash);
  await endOldest(call, personId, nowMs);
  const found = await findAgentKey(call, person, code);
  const maker = formatId('person', personId);
  const key = found ?? { ...newKey(accountId, CLIENT_NAMES[code.client], KEY_PREFIX, maker, nowMs), personId };
  if (found === null) {
    const count = await countShared(call, accountId, call.accounts.countKeys);
    refuseBeyond(call.principal, 'keys', count, bounds.keysPerAccountMax);
  }
  const lifeMs = catalog.current().settings.agentSignInDays * DAY_MS;
  const grant = makeGrant(code, { accountId, personId, keyId: key.id }, nowMs, lifeMs);
  const { address, ...shown } = signInJson(call, grant);
  const notes = [changeNote('agent.create', shown.id, accountId, null, { ...shown, address })];
  if (found === null)
    notes.push(
      changeNote('key.create', formatId('key', key.id), accountId, null, { name: key.name, status: key.status }),
    );
  const terms = { status: key.status, expiresAtMs: key.expiresAtMs, ...NO_KEY_LIMITS };
  const made = { code, grant, key: found === null ? { key, terms } : null };
  await agents.createAgentGrant(made, nowMs - bounds.agentSignInsKeptMs, recordAudit(call, notes));
  forgetKey(key.id);
  return grant;
}

const KEY_PREFIX = 'sign-in'; // the key has no secret to recognize

/**
 * The person's key for the client, unless it was revoked, given to somebody else or belongs to a former account. Throws conflict if it is
 * disabled.
 */
async function findAgentKey(
  { agents, accounts, clock }: Call,
  person: Person,
  { client }: DeviceCode,
): Promise<Key | null> {
  const id = await agents.findAgentKey(person.id, client);
  const key = id === null ? null : await accounts.getKey(id);
  if (key === null || key.status === 'revoked' || key.accountId !== person.accountId) return null;
  if (key.personId !== person.id) return null;
  if (key.expiresAtMs !== null && key.expiresAtMs <= clock.nowMs()) return null;
  if (key.status === 'enabled') return key;
  throw new TurnpikeError('conflict', `Your key for ${CLIENT_NAMES[client]}, ${formatId('key', key.id)}, is disabled.`);
}

/** Keeps the number of sign-ins of a person bounded. */
async function endOldest(call: Call, personId: number, nowMs: number): Promise<void> {
  const { agents } = call;
  if ((await agents.countAgentGrants(personId, nowMs)) < bounds.agentSignInsPerPersonMax) return;
  const page = { accountId: null, personId, before: null, limit: bounds.pageItemsMax };
  const running = (await agents.listAgentGrants(page)).filter(
    ({ status, expiresAtMs }) => status === 'enabled' && expiresAtMs > nowMs,
  );
  const oldest = running.at(-1);
  if (oldest !== undefined) await storeRevoked(call, oldest);
}

async function deny(call: Call, { accountId }: { accountId: number }, hash: string): Promise<DeviceCode> {
  const code = await requirePending(call, hash);
  const denied: DeviceCode = { ...code, status: 'denied' };
  const { client, address } = code;
  const note = changeNote(
    'device_code.deny',
    code.userCode,
    accountId,
    { status: 'pending' },
    { status: 'denied', client, address },
  );
  await call.agents.denyDeviceCode(code, recordAudit(call, [note]));
  return denied;
}

async function revoke(call: Call, id: string): Promise<AgentGrant> {
  const grant = await findGrant(call, id);
  return grant.status === 'revoked' ? grant : await storeRevoked(call, grant);
}

async function storeRevoked(call: Call, grant: AgentGrant): Promise<AgentGrant> {
  const revoked: AgentGrant = { ...grant, status: 'revoked', expiresAtMs: call.clock.nowMs() };
  const note = changeNote(
    'agent.revoke',
    formatId('agent', grant.id),
    grant.accountId,
    { status: 'enabled' },
    { status: 'revoked' },
  );
  await call.agents.revokeAgentGrant(revoked, recordAudit(call, [note]));
  call.forgetKey(grant.keyId);
  return revoked;
}
