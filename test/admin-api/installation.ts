// An installation in memory for the tests of the admin API and of the commands: real stores without
// a disk, the real catalogue, a clock that a test moves. No tests of its own.

import { verifyToken } from '../../src/accounts/accounts.ts';
import {
  type AdminAnswered,
  type AdminApi,
  type AdminDependencies,
  makeAdminApi,
  type Principal,
  type ProviderHealth,
  type RouteState,
  type SessionFinder,
  type SignIn,
} from '../../src/admin-api/admin-api.ts';
import { manualClock } from '../../src/base/clock.ts';
import { formatId, newRequestId, parseId } from '../../src/base/ids.ts';
import { CatalogueHolder, firstDocuments } from '../../src/catalog/catalog.ts';
import type { TurnpikeError } from '../../src/errors.ts';
import type { UsageRecord } from '../../src/ledger/ledger.ts';
import { probeProvider, providerKinds } from '../../src/providers/providers.ts';
import { openVault, type Vault } from '../../src/secrets/secrets.ts';
import { memoryStores, trailRows } from '../../src/storage/memory/memory.ts';
import type { Stores } from '../../src/storage/stores.ts';
import { NO_LIMITS } from '../ledger/workbench.ts';
import { noTrail } from '../support/no-trail.ts';
import { type Document, faultsOfAnswer, readDocumentText } from './documented.ts';

export const TOKEN = 'operator-token';
export const NOW_MS = Date.UTC(2026, 10, 20, 10, 0, 0);

/** How long a provider that is tested may take here. */
const PROBE_MS_MAX = 300;

export type Json = Record<string, unknown>;

export interface Installation<Kept extends Stores = ReturnType<typeof memoryStores>> {
  api: AdminApi;
  clock: ReturnType<typeof manualClock>;
  stores: Kept;
  catalogue: CatalogueHolder;
  vault: Vault;
  /** What the API told the rest of the service, in order: "forget key 12". */
  told: string[];
  /** What the log would be told of each request. */
  answers: AdminAnswered[];
  /** Answers of the test's own name service. */
  addresses: Map<string, string[] | Promise<string[]>>;
  /** How providers do, as the rest of the service would tell. */
  health: Map<string, ProviderHealth>;
  routeStates: RouteState[];
  /** Whose password was set last to what, by e-mail. */
  passwords: Map<string, { name: string; password: string }>;
  /** In place of the real one: it keeps passwords, and tells of sessions that it ended. */
  signIn: SignIn;
  /** Where people reach the service, where that is said. */
  publicOrigin: string | null;
  /** How many wrong secrets were counted, and what is answered to the next one. */
  failures: number;
  refusal: TurnpikeError | null;
  /** As the operator of the machine, unless `headers` show another token. Throws where an answer is not as it is documented. */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; headers: Headers; body: Json }>;
}

/** From where the requests of `ask` come. */
export const ADDRESS = '192.0.2.7';

export async function makeInstallation(): Promise<Installation> {
  const clock = manualClock(NOW_MS);
  const stores = memoryStores(clock);
  await stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noTrail);
  return await makeNode(clock, stores);
}

/** A node over stores that have a catalogue, which is read again with each change of its own. */
export async function makeNode<Kept extends Stores>(
  clock: Installation['clock'],
  stores: Kept,
  readEpoch: AdminDependencies['readEpoch'] = () => null,
): Promise<Installation<Kept>> {
  const vault = openVault(Buffer.alloc(32, 7));
  const open = (sealed: string, context: string) => vault.open(sealed, context);
  const told: string[] = [];
  const passwords: Installation['passwords'] = new Map();
  const parts: Parts<Kept> = {
    clock,
    stores,
    catalogue: new CatalogueHolder(await stores.catalog.loadCatalog(), open),
    vault,
    told,
    answers: [],
    addresses: new Map(),
    health: new Map(),
    routeStates: [],
    passwords,
    signIn: {
      setPassword: async ({ email, name, password }) => void passwords.set(email, { name, password }),
      endSessions: async (email) => void told.push(`end sessions of ${email}`),
      forgetPassword: async (email) => {
        passwords.delete(email);
        told.push(`forget the password of ${email}`);
      },
      oidcName: null,
    },
    publicOrigin: null,
    failures: 0,
    refusal: null,
  };
  const api = makeAdminApi({ ...dependenciesOf(parts), readEpoch });
  const written = await api.fetch(new Request('http://127.0.0.1/api/v1/openapi.json'), ADDRESS);
  const ask = askWith(api, readDocumentText(await written.text()));
  parts.answers.length = 0;
  return Object.assign(parts, { api, ask });
}

type Parts<Kept extends Stores> = Omit<Installation<Kept>, 'api' | 'ask'>;

function dependenciesOf(parts: Parts<Stores>): AdminDependencies {
  const { clock, stores, catalogue, vault, told, answers, addresses, health, routeStates, signIn } = parts;
  return {
    version: '0.0.0',
    async verifyToken(token) {
      if (token === TOKEN) return { id: 'local', role: 'operator', accountId: null, expiresAtMs: null };
      if (token.startsWith('person_')) return await asPerson(stores, token);
      const found = await verifyToken(token, stores.tokens, { hash: vault.hash, former: null }, clock.nowMs());
      return found && { ...found, id: formatId('tok', found.id) };
    },
    countFailure() {
      parts.failures++;
      return parts.refusal;
    },
    moveAdmin: () => null,
    trailRows,
    accounts: stores.accounts,
    tokens: stores.tokens,
    people: stores.people,
    signIn,
    sessions: sessionsOf(parts),
    messagesAt: () => parts.publicOrigin,
    audit: stores.audit,
    ledger: { ...stores.ledger, submit: (bundle) => stores.gate.submit(bundle) },
    usage: stores.usage,
    catalog: {
      current: () => catalogue.current,
      documents: () => stores.catalog.loadCatalog(),
      async save(put, remove, trail) {
        await stores.catalog.saveCatalog(put, remove, trail);
        catalogue.swap(await stores.catalog.loadCatalog());
      },
    },
    providerKinds: ['sandbox', 'anthropic'],
    probe: (provider) => probeProvider(providerKinds.get(provider.kind), provider, PROBE_MS_MAX),
    health: (provider) => health.get(provider) ?? null,
    routeStates: () => routeStates,
    vault,
    clock,
    forgetKey: (id) => void told.push(`forget key ${id}`),
    forgetAccount: (id) => void told.push(`forget account ${id}`),
    endKeyMessages: (id) => void told.push(`end messages of key ${id}`),
    lookup: async (hostname) => addresses.get(hostname) ?? ['203.0.113.9'],
    answered: (answered) => void answers.push(answered),
    report: (requestId, thrown) => void told.push(`${requestId} failed: ${thrown}`),
  };
}

function askWith(api: AdminApi, document: Document): Installation['ask'] {
  return async (method, path, body, more = {}) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...more };
    const request = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await api.fetch(new Request(`http://127.0.0.1${path}`, request), ADDRESS);
    const { status, headers: answered } = response;
    const answer = { status, headers: answered, body: (await response.json()) as Json };
    const faults = faultsOfAnswer(document, method, path, answer);
    if (faults.length > 0) throw new Error(`${method} ${path} answers what is not documented: ${faults.join('; ')}`);
    return answer;
  };
}

/** In place of real ones: the cookie is the id of a person. */
function sessionsOf(parts: Parts<Stores>): SessionFinder {
  const { people } = parts.stores;
  return {
    get publicOrigin() {
      return parts.publicOrigin;
    },
    hasCookie: (header) => header?.startsWith('session=') ?? false,
    async find(header) {
      const person = await people.getPerson(parseId('person', header?.slice('session='.length) ?? '') ?? 0);
      return person?.email == null ? null : { email: person.email, cookies: ['session=longer'] };
    },
  };
}

/** Whose id is shown in place of a token asks as who has signed in. */
async function asPerson({ people }: Stores, id: string): Promise<Principal | null> {
  const person = await people.getPerson(parseId('person', id) ?? 0);
  if (person?.status !== 'enabled') return null;
  return { id, role: person.role, accountId: person.accountId, expiresAtMs: null };
}

/** An account with credit, as the API showed it. */
export async function makeAccount(installation: Installation, members: Json = {}): Promise<Json> {
  const { body } = await installation.ask('POST', '/api/v1/accounts', { name: 'acme', credit: '10.00', ...members });
  return body;
}

export async function makeKey(installation: Installation, account: unknown, members: Json = {}): Promise<Json> {
  const { body } = await installation.ask('POST', '/api/v1/keys', { account, ...members });
  return body;
}

/** The error of an answer: its code and message. */
export function errorOf(body: Json): { type: string; code: string; message: string; faults?: Json[] } {
  return body['error'] as { type: string; code: string; message: string };
}

/** Admits and settles messages of a key, each for a thousandth of a dollar. Returns their request ids. */
export async function useKey(
  { stores, clock }: Installation,
  key: Json,
  messages: number,
  facts: Partial<UsageRecord> = {},
): Promise<string[]> {
  const owner = await leaseOf(stores.gate);
  const [accountId, keyId] = [parseId('acct', String(key['account'])), parseId('key', String(key['id']))];
  const requestIds: string[] = [];
  for (let at = 0; at < messages; at++) {
    clock.advance(1_000);
    const requestId = newRequestId(clock.nowMs());
    const record = { ...usageRecord(requestId, accountId as number, keyId as number), ...facts };
    const { account, group } = record;
    const admit = {
      kind: 'admit',
      requestId,
      account,
      key: record.key,
      group,
      limits: NO_LIMITS,
      amount: 2_000_000,
    } as const;
    await stores.gate.submit({ operations: [{ ...admit, owner, draft: record }] });
    await stores.gate.submit({ operations: [{ kind: 'settle', requestId, record }] });
    requestIds.push(requestId);
  }
  return requestIds;
}

async function leaseOf(gate: Installation['stores']['gate']): Promise<{ node: string; epoch: number }> {
  const operation = { kind: 'renew', node: 'test', epoch: null, leaseMs: 3_600_000_000 } as const;
  const [answer] = await gate.submit({ operations: [operation] });
  return { node: 'test', epoch: answer?.ok && answer.kind === 'lease' ? answer.epoch : 0 };
}

function usageRecord(requestId: string, account: number, key: number): UsageRecord {
  return {
    requestId,
    atMs: 0,
    account,
    key,
    group: 'default',
    model: 'sandbox-echo',
    provider: 'sandbox',
    upstreamModel: 'sandbox-echo',
    stream: true,
    outcome: 'completed',
    status: 200,
    inputTokens: 500,
    outputTokens: 100,
    cacheReadTokens: 7,
    cacheWrite5mTokens: 3,
    cacheWrite1hTokens: 2,
    webSearches: 0,
    usageSource: 'reported',
    cost: 1_000_000,
    writtenOff: 0,
    providerCost: 100_000,
    rates: { input: '1', output: '5', multiplier: '1' },
    attempts: [{ provider: 'sandbox', model: 'sandbox-echo', result: 'ok', status: 200, ms: 3 }],
    admittedMs: 1,
    latencyMs: 12,
    firstTokenMs: 4,
    meters: null,
  };
}
