// Composes the gateway, the admin API, the public API and sign-in from the opened stores.

import { lookup } from 'node:dns/promises';
import { join } from 'node:path';
import {
  KeyDirectory,
  keepGroups,
  makePublicReads,
  NetworkCounter,
  type Person,
  type PersonStore,
  personOfToken,
  TagSets,
  topOf,
  verifyToken,
} from '../accounts/accounts.ts';
import {
  type AdminApi,
  type AdminDependencies,
  makeAdminApi,
  type Principal,
  type SessionFinder,
  type SignIn,
} from '../admin-api/admin-api.ts';
import { AgentSignIn, agentTokenReader, type TelemetrySender, telemetryRelay } from '../agents/agents.ts';
import { parseRange } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { type Catalog, type CatalogHolder, groupsInPolicies, type Settings } from '../catalog/catalog.ts';
import { bounds, type Config, callsThroughProxy } from '../config/config.ts';
import { Files, openFileBytes } from '../files/files.ts';
import {
  AdmissionQueue,
  answerCaller,
  Conversations,
  capabilitiesOf,
  countTokens,
  fixedTagsOf,
  type Gateway,
  getKey,
  getManagedSettings,
  getModel,
  getSpending,
  getUsage,
  IdempotencyRecords,
  identifyAgent,
  LastLevels,
  listHealth,
  listModels,
  ModelLists,
  PromptCounts,
  RouteHealth,
  RunningMessages,
  SelfServiceReads,
  SilenceWatches,
  Slots,
  StreamHolds,
  submitMessage,
} from '../gateway/gateway.ts';
import { BodiesInFlight, LoopDelay } from '../http/http.ts';
import { type Bundle, Outpaced } from '../ledger/ledger.ts';
import { adminLine, auditLine, describeFailure, watchEventLoop } from '../observability/observability.ts';
import { updatePlans } from '../payments/payments.ts';
import { canConnect, probeProvider, providerKinds, readOffer } from '../providers/providers.ts';
import type { AgentEndpoints, PublicDependencies } from '../public-api/public-api.ts';
import { hashSecret, openVault, type SecretHashes } from '../secrets/secrets.ts';
import {
  type Admission,
  type ConsoleAnswered,
  type ConsoleAuth,
  hasSessionCookie,
  type IdentityClaim,
  makeConsoleAuth,
  type Refusal,
  readAuthorities,
  type SessionRules,
  type SignInSettings,
  SignInThread,
} from '../sign-in/sign-in.ts';
import { Spool } from '../spool/spool.ts';
import { signInPath } from '../storage/sqlite/sqlite.ts';
import { auditRows, spreadCut } from '../storage/storage.ts';
import { workerScript } from '../threads/threads.ts';
import { Tokenizer, TokenizerThread } from '../tokenizer/tokenizer.ts';
import { Estimates, type SampleStore } from '../usage/usage.ts';
import { openInnerSecret } from './change-secret.ts';
import type { CatalogReader } from './follow-nodes.ts';
import { type Observers, reportAnswer, reportInternalFailure, reportMessage, reportModelList } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing, StopState } from './server.ts';
import type { TrafficWriter } from './write-traffic.ts';

/** Estimators with the samples of earlier runs. Saving may fail: lost samples are collected again. */
async function openEstimates(store: SampleStore, observers: Observers, closing: Closing): Promise<Estimates> {
  const estimates = new Estimates(await store.loadSamples());
  const save = async () => {
    for (;;) {
      const changed = estimates.takeChanged(bounds.sampledModelsSavedMax);
      if (changed.length === 0) return;
      await store.saveSamples(changed);
    }
  };
  const failed = (failure: unknown) => reportInternalFailure(observers, 'samples', failure);
  const timer = setInterval(() => void save().catch(failed), bounds.samplesSaveMs);
  timer.unref();
  closing.push(async () => {
    clearInterval(timer);
    await Promise.race([save(), Bun.sleep(bounds.samplesLastSaveMsMax)]);
  });
  return estimates;
}

/** The thread starts with the first count. */
function openTokenizer({ log, metrics }: Observers, closing: Closing): Tokenizer {
  const thread = new TokenizerThread(workerScript('tokenizer-worker'), (cause) =>
    log.writeEvent('tokenizer_thread_failed', { cause }),
  );
  const tokenizer = new Tokenizer(thread, (ended) => metrics.countTokenCount(ended));
  closing.push(() => tokenizer.close());
  return tokenizer;
}

/** The keys of files are sealed under a secret of their own. */
async function openFiles(
  { files: place }: Config,
  { stores, clock, vault: outer }: OpenStore,
  holder: Pick<CatalogHolder, 'current'>,
): Promise<Files> {
  const limits = () => {
    const { filesMax, filesBytesMax } = holder.current.settings;
    return { files: filesMax, bytes: filesBytesMax };
  };
  const secret = await openInnerSecret(stores.installation, outer, 'files_secret');
  const vault = openVault(Buffer.from(secret, 'base64url'));
  const bytes = place === null ? null : openFileBytes(place);
  return new Files({ store: stores.files, bytes, vault, limits, nowMs: clock.nowMs });
}

interface GatewayParts {
  config: Config;
  store: OpenStore;
  hashesOf: SecretHashes;
  holder: CatalogHolder;
  recharges: Gateway['recharges'];
  observers: Observers;
  clock: Clock;
}

export async function makeGateway(
  { config, store, hashesOf, holder, recharges, observers, clock }: GatewayParts,
  closing: Closing,
): Promise<Gateway> {
  const { vault, stores, ledger } = store;
  const modelLists = new ModelLists(holder, providerKinds, clock.nowMs, (provider, failure) =>
    reportModelList(observers, provider, failure),
  );
  void modelLists.refresh(); // so that they are there when the first client asks
  return {
    catalog: () => holder.current,
    modelLists,
    authenticator: {
      keys: new KeyDirectory(stores.accounts, hashesOf),
      failures: new NetworkCounter(),
      agentTokens: agentTokenReader(vault),
    },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    slots: new Slots(() => holder.current.settings.shedOpenMessages),
    counting: new PromptCounts(),
    admissions: new AdmissionQueue(),
    recharges,
    files: await openFiles(config, store, holder),
    lookup: lookupHost,
    silence: new SilenceWatches(),
    streamHolds: new StreamHolds((failure) => reportInternalFailure(observers, 'stream_hold', failure)),
    estimates: await openEstimates(stores.samples, observers, closing),
    tokenizer: openTokenizer(observers, closing),
    levels: new LastLevels(),
    answers: new IdempotencyRecords(stores.answers, vault),
    selfServiceReads: new SelfServiceReads({ ...stores.ledger, ...stores.usage }),
    clock,
    vault,
    health: new RouteHealth(() => holder.current.settings.circuitFailures ?? Number.POSITIVE_INFINITY, clock.nowMs),
    conversations: new Conversations(Math.random),
    tagSets: new TagSets(stores.tagSets),
    // With a proxy the hosts themselves need not be reachable.
    canConnect: callsThroughProxy() ? async () => true : canConnect,
    ...(observers.telemetry?.trace && { trace: observers.telemetry.trace }),
    report: (message) => reportMessage(observers, message),
  };
}

export async function lookupHost(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map((found) => found.address);
}

/** Anybody who can read the data directory. */
const LOCAL_OPERATOR: Principal = { id: 'local', role: 'operator', accountId: null, expiresAtMs: null };

interface AdminParts {
  gateway: Gateway;
  store: OpenStore;
  traffic: Pick<TrafficWriter, 'store'>;
  hashesOf: SecretHashes;
  holder: CatalogHolder;
  catalogReader: CatalogReader;
  /** The token of this machine's operator. */
  token: string;
  observers: Observers;
  version: string;
  moveAdmin: AdminDependencies['moveAdmin'];
  findAuthFault: AdminDependencies['findAuthFault'];
  people: MadeSignIn;
  mailer: AdminDependencies['mailer'];
  messagesAt: AdminDependencies['messagesAt'];
  payments: AdminDependencies['payments'];
  integrations: AdminDependencies['integrations'];
}

function reportAdmin(
  log: Observers['log'],
  answered: Parameters<AdminDependencies['answered']>[0],
  nowMs: number,
): void {
  if (!log.isOn) return;
  log.write(adminLine(answered, nowMs));
  for (const record of answered.records) log.write(auditLine(record));
}

function reportAdminFailure({ log, damage }: Observers, request_id: string, thrown: unknown): void {
  log.writeEvent('admin_failure', { request_id, cause: describeFailure(thrown) });
  damage.note(thrown);
}

function adminCatalog({ store, holder, catalogReader, gateway }: AdminParts): AdminDependencies['catalog'] {
  const documents = store.stores.catalog;
  return {
    current: () => holder.current,
    documents: () => documents.loadCatalog(),
    async save(put, remove, auditContext) {
      await documents.saveCatalog(put, remove, auditContext);
      await catalogReader.read();
      void gateway.modelLists.refresh();
    },
  };
}

const providerQuestions: Pick<AdminDependencies, 'probe' | 'readOffer'> = {
  probe: (provider) => probeProvider(providerKinds.get(provider.kind), provider),
  readOffer: (provider) => readOffer(providerKinds.get(provider.kind), provider),
};

export function makeAdmin(parts: AdminParts): AdminApi {
  const { gateway, store, hashesOf, holder, token, version, moveAdmin } = parts;
  const { log, metrics } = parts.observers;
  const { signIn, sessions } = parts.people;
  const { vault, stores, ledger, feed } = store;
  const tokenHash = hashSecret(token);
  const { codes, bills, agents, savedViews } = stores;
  return makeAdminApi({
    version,
    async verifyToken(shown) {
      if (shown.length === token.length && hashSecret(shown) === tokenHash) return LOCAL_OPERATOR;
      const found = await verifyToken(shown, stores, hashesOf, gateway.clock.nowMs());
      return found && { ...found, id: formatId('tok', found.id), personId: personOfToken(found) };
    },
    countFailure: (address) => gateway.authenticator.failures.count(address, gateway.clock.nowMs()),
    publicReads: makePublicReads(),
    auditRows,
    accounts: stores.accounts,
    names: stores.names,
    tokens: stores.tokens,
    people: forgettingPeople(stores.people, gateway.authenticator.keys),
    directoryGroups: stores.directoryGroups,
    signUps: stores.signUps,
    scim: stores.scim,
    mailer: parts.mailer,
    signIn,
    sessions,
    messagesAt: parts.messagesAt,
    audit: stores.audit,
    events: stores.events,
    destinations: stores.destinations,
    deliveries: stores.deliveries,
    ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
    readEpoch: () => feed?.readEpoch() ?? null,
    usage: stores.usage,
    exportSources: stores,
    exports: stores.exports,
    traffic: parts.traffic.store,
    batches: stores.batches,
    incidents: stores.incidents,
    ...{ codes, bills, agents, savedViews },
    paymentStore: stores.payments,
    payments: parts.payments,
    integrations: parts.integrations,
    catalog: adminCatalog(parts),
    moveAdmin,
    providerKinds: [...providerKinds.keys()],
    ...providerQuestions,
    capabilitiesOf: (model) => capabilitiesOf(model, holder.current, providerKinds),
    health: (provider) => metrics.health(provider),
    listState: (provider) => gateway.modelLists.stateOf(provider),
    routeStates: () => listHealth(gateway.health, gateway.catalog()),
    vault,
    hashesOf,
    clock: gateway.clock,
    forgetKey: (id) => gateway.authenticator.keys.forget(id),
    forgetAccount(id) {
      gateway.authenticator.keys.forgetAccount(id);
      gateway.recharges?.forget(id);
    },
    async endKeyMessages(id) {
      gateway.running.cutKey(id);
      if (feed !== null) await spreadCut(ledger, id);
    },
    lookup: lookupHost,
    findAuthFault: parts.findAuthFault,
    answered: (answered) => reportAdmin(log, answered, gateway.clock.nowMs()),
    report: (requestId, thrown) => reportAdminFailure(parts.observers, requestId, thrown),
  });
}

/**
 * The store of people for those who change them: afterwards this node reads their keys again. Also after a failure, whose outcome may be
 * unknown.
 */
export function forgettingPeople(people: PersonStore, keys: Pick<KeyDirectory, 'forgetPerson'>): PersonStore {
  const forget = async (ids: readonly number[], change: Promise<void>) => {
    try {
      await change;
    } finally {
      for (const id of ids) keys.forgetPerson(id);
    }
  };
  return {
    ...people,
    createPerson: (person, linkHash, auditContext, former = null) =>
      forget(former === null ? [] : [former.id], people.createPerson(person, linkHash, auditContext, former)),
    updatePerson: (person, ...more) => forget([person.id], people.updatePerson(person, ...more)),
  };
}

/** Gives accounts what their plans have now; resolves to their number. */
export function makePlanUpdates({ stores, ledger }: OpenStore, gateway: Gateway) {
  const parts = {
    ledger: { ...stores.ledger, submit: (bundle: Bundle) => ledger.submit(bundle) },
    plans: () => gateway.catalog().plans,
    changed: (account: number) => gateway.authenticator.keys.forgetAccount(account),
  };
  return (signal: AbortSignal) => updatePlans(parts, signal);
}

/** The names of the groups in which a directory has the person by SCIM, and of those that their issuer claims. */
async function groupsOfPerson(
  { scim }: OpenStore['stores'],
  issuers: Config['issuers'],
  catalog: Catalog,
  { id, identity = null, claimedGroups = null }: Person,
): Promise<string[]> {
  const [user] = await scim.listScimUsers({ filter: { member: 'person', equals: id }, offset: 0, limit: 1 });
  const memberships = user === undefined ? [] : await scim.listScimMemberships([user.id]);
  const isTrusted = issuers.some(({ issuer }) => issuer === identity?.issuer);
  const names = [...memberships.map(({ group }) => group.displayName), ...((isTrusted && claimedGroups) || [])];
  return keepGroups(names, groupsInPolicies(catalog));
}

/** The labels are what Claude Code would say of its token, and what only this service knows. */
function telemetrySender({ caller, agent }: Awaited<ReturnType<typeof identifyAgent>>): TelemetrySender {
  const { account, key } = caller;
  const tags = Object.entries(fixedTagsOf(caller)).map(([name, value]) => [`turnpike.tag.${name}`, value]);
  return {
    company: topOf(caller),
    person: agent.person,
    labels: {
      'identity.source': 'gateway-oidc',
      'user.id': formatId('person', agent.person),
      ...(agent.email !== null && { 'user.email': agent.email }),
      'user.groups': agent.groups.join(','),
      'turnpike.person': formatId('person', agent.person),
      'turnpike.account': formatId('acct', account.id),
      'turnpike.key': formatId('key', key.id),
      'turnpike.sign_in': formatId('agent', agent.grant),
      'turnpike.client': agent.client,
      ...Object.fromEntries(tags),
    },
  };
}

/** Sign-in of coding agents. */
export function makeAgentEndpoints(
  { agentTelemetry, issuers }: Config,
  { stores, vault }: OpenStore,
  gateway: Gateway,
  { count }: Pick<SignIn, 'count'>,
  consoleOrigin: AgentEndpoints['consoleOrigin'],
): AgentEndpoints {
  const signIn = new AgentSignIn({
    store: stores.agents,
    accounts: stores.accounts,
    people: stores.people,
    vault,
    clock: gateway.clock,
    settings: () => gateway.catalog().settings,
    count,
    groupsOf: (person) => groupsOfPerson(stores, issuers, gateway.catalog(), person),
    forgetKey: (id) => gateway.authenticator.keys.forget(id),
    isOutpaced: (thrown) => thrown instanceof Outpaced,
  });
  return {
    signIn,
    consoleOrigin,
    getManagedSettings: (clientRequest, url, known) => getManagedSettings(gateway, clientRequest, url, known),
    getSpending: (clientRequest) => getSpending(gateway, clientRequest),
    identifyAgent: async (clientRequest) => telemetrySender(await identifyAgent(gateway, clientRequest)),
    relay: agentTelemetry === null ? null : telemetryRelay(agentTelemetry),
  };
}

export function makePublic(
  config: Config,
  gateway: Gateway,
  state: StopState,
  following: { isHearing(): boolean } | null,
  observers: Observers,
  closing: Closing,
  agents: AgentEndpoints,
): PublicDependencies {
  const settings = () => gateway.catalog().settings;
  const loopDelay = new LoopDelay();
  const stopWatching = watchEventLoop((seconds) => {
    observers.metrics.observeEventLoopDelay(seconds);
    loopDelay.see(seconds * 1000);
  });
  closing.push(stopWatching);
  return {
    messages: {
      submitMessage: (clientRequest) => submitMessage(gateway, clientRequest),
      countTokens: (clientRequest) => countTokens(gateway, clientRequest),
      listModels: (clientRequest) => listModels(gateway, clientRequest),
      getModel: (clientRequest, id) => getModel(gateway, clientRequest, id),
      getKey: (clientRequest) => getKey(gateway, clientRequest),
      getUsage: (clientRequest, requestId) => getUsage(gateway, clientRequest, requestId),
    },
    agents,
    ...(gateway.files && {
      files: {
        files: gateway.files,
        answerCaller: (clientRequest, answer) => answerCaller(gateway, clientRequest, answer),
      },
    }),
    bodies: new BodiesInFlight(() => settings().shedBodyBytes),
    spool: new Spool(join(config.dataDirectory, 'spool')),
    load: { loopDelayMs: () => loopDelay.standingMs, openMessages: () => gateway.slots.taken },
    clock: gateway.clock,
    settings,
    trustedProxies: config.trustedProxies.map(parseRange).filter((range) => range !== null),
    reportsAddress: observers.log.isOn,
    isLeaving: () => state.isLeaving,
    isDraining: () => state.isDraining,
    isStoreAvailable: () =>
      gateway.ledger.isAvailable && !observers.damage.isNoticed && (following?.isHearing() ?? true),
    report: (answered) => reportAnswer(observers, answered),
  };
}

export interface SignInParts {
  config: Config;
  store: OpenStore;
  secret: string;
  observers: Observers;
  holder: Pick<CatalogHolder, 'current'>;
  admitIdentity: AdminApi['admitIdentity'];
  /** A person changed their own password. */
  onPasswordChanged(email: string, address: string): Promise<void>;
}

export interface MadeSignIn {
  signIn: SignIn;
  sessions: SessionFinder;
  auth: ConsoleAuth<Person>;
  hasPassword(email: string): Promise<boolean>;
}

/** Nothing starts before the first sign-in. */
export function makeSignIn(parts: SignInParts, closing: Closing): MadeSignIn {
  const { config, store, observers, holder } = parts;
  const { people } = store.stores;
  const { log, clock } = observers;
  const installation = () => holder.current.settings.installationName;
  const thread = new SignInThread({
    script: workerScript('sign-in-worker'),
    settings: settingsOf(parts),
    admit: (admission) => admit(parts, admission),
    report: (event, cause) => log.writeEvent(event, { cause }),
  });
  closing.push(() => thread.close());
  const auth = makeConsoleAuth({
    thread,
    publicOrigin: config.publicUrl,
    issuers: config.issuers.map(({ id }) => id),
    async findPerson(email) {
      const person = await people.findPersonByEmail(email);
      return person?.status === 'enabled' ? { person, rules: sessionRulesOf(person, holder.current.settings) } : null;
    },
    installation,
    nowMs: () => clock.nowMs(),
    answered: (answered) => reportAnswered(observers, answered),
    onPasswordChanged: (email, address) =>
      void parts
        .onPasswordChanged(email, address)
        .catch((failure) => log.writeEvent('sign_in_failure', { cause: describeFailure(failure) })),
  });
  return {
    auth,
    hasPassword: (email) => thread.ask({ kind: 'has-password', email }),
    signIn: {
      issuers: config.issuers,
      checkPassword: (chosen) =>
        thread.ask({ kind: 'check-password', chosen: { ...chosen, installation: installation() } }),
      setPassword: (person) =>
        thread.ask({ kind: 'set-password', person: { ...person, installation: installation() } }),
      endSessions: (email) => thread.ask({ kind: 'end-sessions', email }),
      forgetPassword: (email) => thread.ask({ kind: 'forget-password', email }),
      changeEmail: (email, to) => thread.ask({ kind: 'change-email', email, to }),
      forgetIdentity: (email) => thread.ask({ kind: 'forget-identity', email }),
      hasPassword: (email) => thread.ask({ kind: 'has-password', email }),
      count: (name, max, windowMs) => thread.ask({ kind: 'count', name, max, windowMs }),
    },
    sessions: {
      publicOrigin: config.publicUrl,
      hasCookie: hasSessionCookie,
      find: auth.findSession,
    },
  };
}

const HOUR_MS = 60 * 60 * 1000;

function sessionRulesOf({ accountId }: Person, settings: Settings): SessionRules {
  const { secondFactorRequired, sessionLifetimeHours, operatorSessionLifetimeHours } = settings;
  const isOfInstallation = accountId === null;
  return {
    lifetimeMs: HOUR_MS * (isOfInstallation ? operatorSessionLifetimeHours : sessionLifetimeHours),
    needsSecondFactor:
      secondFactorRequired === 'everyone' || (secondFactorRequired === 'operators' && isOfInstallation),
  };
}

function settingsOf({ config, secret }: SignInParts): SignInSettings {
  const { databaseUrl, dataDirectory, publicUrl, issuers, issuerCaFile, passwordCost } = config;
  const store = databaseUrl === null ? { path: signInPath(dataDirectory) } : { url: databaseUrl };
  return { store, secret, publicUrl, issuers, authorities: readAuthorities(issuerCaFile), passwordCost };
}

async function admit(parts: SignInParts, admission: Admission): Promise<Refusal> {
  const { store, observers } = parts;
  const { email, by, address, isFinal, claim } = admission;
  if (claim !== null) return admitClaim(parts, claim, address);
  const { people } = store.stores;
  const person = await people.findPersonByEmail(email);
  if (person === null) {
    const former = await people.listUnclaimed({ email, status: 'disabled', accountId: null, limit: 1 });
    return former.length > 0 ? 'person_disabled' : 'person_unknown';
  }
  if (person.status !== 'enabled') return person.status === 'disabled' ? 'person_disabled' : 'person_unknown';
  if (!isFinal) return null;
  const at = new Date(observers.clock.nowMs()).toISOString();
  observers.log.write({ at, event: 'signed_in', actor: formatId('person', person.id), address, by });
  return null;
}

async function admitClaim({ config, admitIdentity }: SignInParts, claim: IdentityClaim, address: string) {
  const { source, ...identity } = claim;
  const issuer = config.issuers.find(({ id }) => id === source);
  if (issuer === undefined) return 'person_unknown';
  const { id, issuer: url, domains, createsPeople } = issuer;
  return admitIdentity({ ...identity, issuer: { id, issuer: url, domains, createsPeople } }, address);
}

/** The log has the address of a failed sign-in, never the email: a person may have typed their password there. */
function reportAnswered({ log, clock }: Observers, answered: ConsoleAnswered): void {
  if (!log.isOn) return;
  const { isFailedProof, failure, ...line } = answered;
  const { requestId: request_id, code, address } = answered;
  const at = new Date(clock.nowMs()).toISOString();
  log.write(adminLine({ ...line, actor: null }, clock.nowMs()));
  if (isFailedProof) log.write({ at, event: 'sign_in_failed', request_id, code, address });
  if (failure !== null && answered.status >= 500)
    log.write({ at, event: 'sign_in_failure', request_id, cause: describeFailure(failure) });
}
