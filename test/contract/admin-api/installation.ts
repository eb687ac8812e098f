// An installation in memory for the tests of the admin API and of the commands: real stores without a disk, the real
// catalog, and a clock that the test moves. It has no tests of its own.

import { makePublicReads, type NetworkCounter, personOfToken, verifyToken } from '../../../src/accounts/accounts.ts';
import {
  type AdminAnswered,
  type AdminApi,
  type AdminDependencies,
  makeAdminApi,
  type Principal,
  type ProviderHealth,
  type SessionFinder,
  type SignIn,
} from '../../../src/admin-api/admin-api.ts';
import { findPasswordFault } from '../../../src/auth/password-strength.ts';
import { formatId, newRequestId, parseId } from '../../../src/base/ids.ts';
import { CatalogHolder, firstDocuments } from '../../../src/catalog/catalog.ts';
import { readConfig } from '../../../src/config/config.ts';
import { findAuthFault } from '../../../src/credentials/credentials.ts';
import { type Mailer, makeMailer } from '../../../src/delivery/delivery.ts';
import type { TurnpikeError } from '../../../src/errors.ts';
import { capabilitiesOf, type TargetHealth } from '../../../src/gateway/gateway.ts';
import type { UsageRecord } from '../../../src/ledger/ledger.ts';
import { type OfferedModel, probeProvider, providerKinds, readOffer } from '../../../src/providers/providers.ts';
import { hashSecret, openVault, type SecretHashes, type Vault } from '../../../src/secrets/secrets.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { NO_LIMITS } from '../../money/ledger/workbench.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { auditRows, memoryStores } from '../../support/memory-store/memory-store.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { openScriptedPayments, type ScriptedPayments } from '../../support/scripted-payments.ts';
import { type Document, faultsOfAnswer, readDocumentText } from './documented.ts';

export const TOKEN = 'operator-token';
export const VAULT_SECRET = Buffer.alloc(32, 7);
export const NOW_MS = Date.UTC(2026, 10, 20, 10, 0, 0);

/** Time limit of a provider test, which no test reaches. */
const PROBE_MS_MAX = 20_000;

export type Json = Record<string, unknown>;

export interface Installation<RetainedData extends Stores = ReturnType<typeof memoryStores>> {
  api: AdminApi;
  clock: ReturnType<typeof manualClock>;
  stores: RetainedData;
  catalog: CatalogHolder;
  vault: Vault;
  /** Notifications from the API to the rest of the service, in order: "forget key 12". */
  notifications: string[];
  /** The log entry of each request. */
  answers: AdminAnswered[];
  /** Answers of the test's own name service. */
  addresses: Map<string, string[] | Promise<string[]>>;
  /** The health of providers, as the rest of the service would report it. */
  health: Map<string, ProviderHealth>;
  routeStates: TargetHealth[];
  /** Why a test of an integration fails. */
  integrationFailures: Map<string, string>;
  /** Lists of models by provider, for providers that no test starts. */
  offers: Map<string, readonly OfferedModel[]>;
  /** The name and password that was last set, by email. */
  passwords: Map<string, { name: string; password: string }>;
  /** Counted requests, by name; the test empties it when a window ends. */
  counters: Map<string, number>;
  /** null: the service sends no mail. */
  mailer: Mailer | null;
  /** A stand-in for the real sign-in: it stores passwords and reports the sessions that it ended. */
  signIn: SignIn;
  publicReads: Pick<NetworkCounter, 'count'>;
  /** Public address of the service, if configured. */
  publicOrigin: string | null;
  /** Over a scripted Stripe; null: no payments are taken. */
  payments: ScriptedPayments | null;
  /** The number of wrong secrets counted, and the answer to the next one. */
  failures: number;
  refusal: TurnpikeError | null;
  /**
   * Sends a request as the machine's operator, unless `headers` has another token. Throws if the response does not
   * match the documentation.
   */
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
    address?: string,
  ): Promise<{ status: number; headers: Headers; body: Json }>;
}

/** The client address of requests sent with `ask`, unless one is given. */
export const ADDRESS = '192.0.2.7';

export async function makeInstallation({ sendsMail = false } = {}): Promise<Installation> {
  const clock = manualClock(NOW_MS);
  const stores = memoryStores(clock);
  await stores.catalog.saveCatalog(firstDocuments(['sandbox-echo'], {}), [], noAuditContext);
  return await makeNode(clock, stores, () => null, sendsMail);
}

let documented: Promise<Document> | null = null;

/** The document of the API, which is the same for every installation and takes long to write. */
function readDocumentOf(api: AdminApi): Promise<Document> {
  documented ??= (async () => {
    const written = await api.fetch(new Request('http://127.0.0.1/api/v1/openapi.json'), ADDRESS);
    return readDocumentText(await written.text());
  })();
  return documented;
}

/** A node whose stores have a catalog, which is reloaded after each change by this node. */
export async function makeNode<RetainedData extends Stores>(
  clock: Installation['clock'],
  stores: RetainedData,
  readEpoch: AdminDependencies['readEpoch'] = () => null,
  sendsMail = false,
): Promise<Installation<RetainedData>> {
  const parts = await makeParts(clock, stores, sendsMail);
  parts.payments = await openScriptedPayments(stores, clock, undefined, () => parts.catalog.current.plans);
  const api = makeAdminApi({ ...dependenciesOf(parts), readEpoch });
  const ask = askWith(api, await readDocumentOf(api));
  parts.answers.length = 0;
  return Object.assign(parts, { api, ask });
}

/** The node without its API and without payments. */
export async function makeParts<RetainedData extends Stores>(
  clock: Installation['clock'],
  stores: RetainedData,
  sendsMail = false,
): Promise<Parts<RetainedData>> {
  const vault = openVault(VAULT_SECRET);
  const open = (sealed: string, context: string) => vault.open(sealed, context);
  const notifications: string[] = [];
  const passwords: Installation['passwords'] = new Map();
  const counters: Installation['counters'] = new Map();
  const catalog = new CatalogHolder(await stores.catalog.loadCatalog(), open, clock.nowMs);
  return {
    clock,
    stores,
    catalog,
    vault,
    notifications,
    answers: [],
    addresses: new Map(),
    health: new Map(),
    routeStates: [],
    offers: new Map(),
    integrationFailures: new Map(),
    passwords,
    counters,
    mailer: sendsMail ? makeMailer(stores.mails, { wake: async () => {} }, vault, clock) : null,
    signIn: {
      checkPassword: (chosen) => findPasswordFault({ ...chosen, installation: 'Turnpike' }),
      setPassword: async ({ email, name, password }) => void passwords.set(email, { name, password }),
      endSessions: async (email) => void notifications.push(`end sessions of ${email}`),
      forgetPassword: async (email) => {
        passwords.delete(email);
        notifications.push(`forget the password of ${email}`);
      },
      changeEmail: async (from, to) => void notifications.push(`change the email ${from} to ${to}`),
      forgetIdentity: async (email) => void notifications.push(`forget the identity of ${email}`),
      hasPassword: async (email) => passwords.has(email),
      async count(name, max) {
        const before = counters.get(name) ?? 0;
        const isAllowed = before === 0 || before < max; // as the statement of the sign-in database
        const taken = isAllowed ? before + 1 : before;
        counters.set(name, taken);
        return { isAllowed, taken, retryAfterMs: 60_000 };
      },
      issuers: [],
    },
    publicReads: makePublicReads(),
    publicOrigin: null,
    payments: null,
    failures: 0,
    refusal: null,
  };
}

export type Parts<RetainedData extends Stores> = Omit<Installation<RetainedData>, 'api' | 'ask'>;

const secretHashes: SecretHashes = (secret) => [hashSecret(secret)];

export function dependenciesOf(parts: Parts<Stores>): AdminDependencies {
  const { clock, stores, catalog, vault, notifications, answers, addresses, health, routeStates, offers, signIn } =
    parts;
  return {
    version: '0.0.0',
    async verifyToken(token) {
      if (token === TOKEN) return { id: 'local', role: 'operator', accountId: null, expiresAtMs: null };
      if (token.startsWith('person_')) return await asPerson(stores, token);
      const found = await verifyToken(token, stores, secretHashes, clock.nowMs());
      return found && { ...found, id: formatId('tok', found.id), personId: personOfToken(found) };
    },
    countFailure() {
      parts.failures++;
      return parts.refusal;
    },
    publicReads: parts.publicReads,
    moveAdmin: () => null,
    auditRows,
    ...stores,
    mailer: parts.mailer,
    signIn,
    sessions: sessionsOf(parts),
    messagesAt: () => parts.publicOrigin,
    ledger: { ...stores.ledger, submit: (bundle) => stores.gate.submit(bundle) },
    exportSources: stores,
    paymentStore: stores.payments,
    payments: parts.payments && { provider: 'stripe', ...parts.payments },
    catalog: {
      current: () => catalog.current,
      documents: () => stores.catalog.loadCatalog(),
      async save(put, remove, auditContext) {
        await stores.catalog.saveCatalog(put, remove, auditContext);
        catalog.swap(await stores.catalog.loadCatalog());
      },
    },
    providerKinds: ['sandbox', 'anthropic'],
    probe: (provider) => probeProvider(providerKinds.get(provider.kind), provider, PROBE_MS_MAX),
    integrations: {
      places: async () => ({
        ...{ mail: null, payments: null, sign_in: null, telemetry: 'https://otlp.example.com', storage: null },
      }),
      test: async (id) => parts.integrationFailures.get(id) ?? null,
    },
    readOffer: async (provider) =>
      offers.get(provider.name) ?? (await readOffer(providerKinds.get(provider.kind), provider, PROBE_MS_MAX)),
    capabilitiesOf: (model) => capabilitiesOf(model, catalog.current, providerKinds),
    health: (provider) => health.get(provider) ?? null,
    listState: () => null,
    routeStates: () => routeStates,
    vault,
    hashesOf: secretHashes,
    clock,
    forgetKey: (id) => void notifications.push(`forget key ${id}`),
    forgetAccount: (id) => void notifications.push(`forget account ${id}`),
    endKeyMessages: (id) => void notifications.push(`end messages of key ${id}`),
    lookup: async (hostname) => addresses.get(hostname) ?? ['203.0.113.9'],
    findAuthFault: async (auth) => findAuthFault(auth, readConfig({}, {}).credentials),
    answered: (answered) => void answers.push(answered),
    report: (requestId, thrown) => void notifications.push(`${requestId} failed: ${thrown}`),
  };
}

function askWith(api: AdminApi, document: Document): Installation['ask'] {
  return async (method, path, sent, more = {}, address = ADDRESS) => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...more };
    const request = { method, headers, ...(sent !== undefined && { body: JSON.stringify(sent) }) };
    const response = await api.fetch(new Request(`http://127.0.0.1${path}`, request), address);
    const { status, headers: answered } = response;
    const isFile = (answered.get('content-disposition') ?? '') !== '';
    const body = isFile ? await response.text() : await response.json();
    const answer = { status, headers: answered, body: body as Json };
    const faults = faultsOfAnswer(document, method, path, answer);
    if (faults.length > 0) throw new Error(`${method} ${path} has an undocumented response: ${faults.join('; ')}`);
    return answer;
  };
}

/** A stand-in for real sessions: the cookie is the id of a person. */
function sessionsOf(parts: Parts<Stores>): SessionFinder {
  const { people } = parts.stores;
  return {
    get publicOrigin() {
      return parts.publicOrigin;
    },
    hasCookie: (header) => header?.startsWith('session=') ?? false,
    async find(header) {
      const person = await people.getPerson(parseId('person', header?.slice('session='.length) ?? '') ?? 0);
      return person?.status === 'enabled' ? { person, cookies: ['session=longer'] } : null;
    },
  };
}

/** Treats the id of a person, sent in place of a token, as that person's session. */
async function asPerson({ people }: Stores, id: string): Promise<Principal | null> {
  const person = await people.getPerson(parseId('person', id) ?? 0);
  if (person?.status !== 'enabled') return null;
  return { id, role: person.role, accountId: person.accountId, expiresAtMs: null, personId: person.id };
}

/** Creates an account with credit and returns it as the API shows it. */
export async function makeAccount(installation: Installation, members: Json = {}): Promise<Json> {
  const { body } = await installation.ask('POST', '/api/v1/accounts', { name: 'acme', credit: '10.00', ...members });
  return body;
}

export async function makeKey(installation: Installation, account: unknown, members: Json = {}): Promise<Json> {
  const { body } = await installation.ask('POST', '/api/v1/keys', { account, ...members });
  return body;
}

/** The type, code and message of an error response. */
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
    above: [],
    payer: account,
    person: null,
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
    planPaid: 0,
    providerCost: 100_000,
    rates: { input: '1', output: '5', multiplier: '1' },
    attempts: [{ provider: 'sandbox', model: 'sandbox-echo', result: 'ok', status: 200, ms: 3 }],
    admittedMs: 1,
    latencyMs: 12,
    firstTokenMs: 4,
    meters: null,
    tags: {},
    session: null,
    agent: null,
    tagSet: 0,
    error: null,
  };
}
