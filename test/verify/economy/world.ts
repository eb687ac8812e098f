// One installation in memory, put together from the real parts: the public API, the gateway, the ledger over the
// store in memory, and another node that only renews its lease and ends what others left. Only its providers,
// its clients and its time are made up.

import { FailureCounter, KeyDirectory, NO_KEY_LIMITS, TagSets } from '../../../src/accounts/accounts.ts';
import type { Catalog } from '../../../src/catalog/catalog.ts';
import { TurnpikeError } from '../../../src/errors.ts';
import {
  AdmissionQueue,
  type ClientRequest,
  Conversations,
  countTokens,
  type Gateway,
  getKey,
  getModel,
  getUsage,
  IdempotencyRecords,
  LastLevels,
  listModels,
  PromptCounts,
  RouteHealth,
  RunningMessages,
  SelfServiceReads,
  SilenceWatches,
  Slots,
  StreamHolds,
  submitMessage,
} from '../../../src/gateway/gateway.ts';
import { BodiesInFlight } from '../../../src/http/http.ts';
import { NodeLedger, type PlanTerms } from '../../../src/ledger/ledger.ts';
import { type EncodedReply, encodeReply } from '../../../src/public-api/encode-reply.ts';
import type { PublicDependencies } from '../../../src/public-api/public-api.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import { Estimates } from '../../../src/usage/usage.ts';
import type { StreamPiece } from '../../../src/wire/wire.ts';
import { inPlaceTokenizer, loadVocabularies } from '../../support/in-place-tokenizer.ts';
import { type MemoryTables, memoryStores } from '../../support/memory-store/memory-store.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';
import { catalogOf } from '../../unit/catalog/support.ts';
import type { Production, Wanted } from './answers.ts';
import { type AccountName, accountNames, type CastAccount, cast, keyOf, type PlanName, plans } from './cast.ts';
import { behaviourOf, modelNames, PRICE, TRANCHE_TOKENS, WINDOW_TOKENS } from './models.ts';
import { makeProvider } from './provider.ts';
import type { VirtualTime } from './virtual-time.ts';

/** Called for each message that arrives. */
export interface Hooks {
  /** A request reached the gateway under this id; `mark` is the query that its client gave it. */
  onSubmitted(mark: string, requestId: string): void;
  /** The reply, before it becomes a Response: a stream is read by hand. */
  onReply(mark: string, reply: EncodedReply): void;
  wantedOf(requestId: string): Wanted;
  onProduction(requestId: string, production: Production): void;
}

export interface World {
  gateway: Gateway;
  dependencies: PublicDependencies;
  bodies: BodiesInFlight;
  tables: MemoryTables;
  /** Gives the account this plan now. */
  setPlan(by: AccountName, plan: PlanName): Promise<void>;
  /** The key admits nothing more, and its messages end. */
  revoke(by: AccountName, key: number): Promise<void>;
  /** Ends the timers of both nodes. */
  close(): void;
}

/** So few that accounts have to share them. */
const ANSWERS_STORED_BYTES = 1_000_000;
const SETTINGS = {
  output_tranche_tokens: TRANCHE_TOKENS,
  upstream_stream_seconds: 120,
  finish_without_caller_seconds: 60,
  upstream_first_event_seconds: 60,
  upstream_silence_seconds: 60,
};

await loadVocabularies(); // an episode never waits for the machine

let madeCatalog: Catalog | null = null;

/** Made within installed virtual time. */
export async function makeWorld(time: VirtualTime, hooks: Hooks): Promise<World> {
  const clock = { nowMs: () => time.epochMs };
  const startMs = time.epochMs;
  const stores = memoryStores(clock);
  stores.tables.bounds.set('answersStoredBytes', ANSWERS_STORED_BYTES);
  const ledger = new NodeLedger(stores.gate, clock, 'node-1', undefined, true);
  const peer = new NodeLedger(stores.gate, clock, 'node-2', time.outside, true);
  await ledger.open();
  await peer.open();
  for (const name of accountNames) await openAccount(stores.accounts, time.epochMs, cast[name]);
  const setPlan = async (by: AccountName, plan: PlanName) => {
    await ledger.submit({ operations: [{ kind: 'set-plan', account: cast[by].id, plan: termsOf(plan, startMs) }] });
  };
  for (const name of accountNames) {
    const { plan } = cast[name];
    if (plan !== null) await setPlan(name, plan);
  }
  madeCatalog ??= catalogOf(catalogFile());
  const catalog = madeCatalog;
  const { settings } = catalog;
  const gateway: Gateway = {
    catalog: () => catalog,
    modelLists: { find: () => null, refresh: () => null, stateOf: () => null },
    authenticator: {
      keys: new KeyDirectory(stores.accounts, (secret) => [secret]),
      failures: new FailureCounter(),
    },
    ledger,
    providers: new Map([['sandbox', makeProvider(time, hooks.wantedOf, hooks.onProduction)]]),
    admissions: new AdmissionQueue(),
    recharges: null,
    running: new RunningMessages(),
    slots: new Slots(() => settings.shedOpenMessages),
    counting: new PromptCounts(),
    silence: new SilenceWatches(),
    streamHolds: new StreamHolds((failure) => {
      throw failure;
    }),
    estimates: new Estimates(),
    tokenizer: inPlaceTokenizer(),
    levels: new LastLevels(),
    tagSets: new TagSets(stores.tagSets),
    answers: new IdempotencyRecords(stores.answers, openVault(Buffer.alloc(32))),
    selfServiceReads: new SelfServiceReads({ ...stores.ledger, ...stores.usage }),
    clock,
    health: new RouteHealth(() => settings.circuitFailures ?? Number.POSITIVE_INFINITY, clock.nowMs),
    conversations: new Conversations(() => 0),
    canConnect: async () => true,
    report: () => {},
  };
  const bodies = new BodiesInFlight(() => settings.shedBodyBytes);
  return {
    gateway,
    dependencies: publicOver(gateway, bodies, hooks),
    bodies,
    tables: stores.tables,
    async setPlan(by, plan) {
      await setPlan(by, plan);
      gateway.authenticator.keys.forgetAccount(cast[by].id);
    },
    revoke: (by, at) => revoke(gateway, stores.accounts, by, at),
    close() {
      ledger.close();
      peer.close();
    },
  };
}

async function revoke(
  gateway: Gateway,
  accounts: ReturnType<typeof memoryStores>['accounts'],
  by: AccountName,
  at: number,
): Promise<void> {
  const { id, terms } = keyOf(by, at);
  const key = await accounts.getKey(id);
  if (key === null) return;
  const status = 'revoked' as const;
  const revoked = { status, expiresAtMs: null, ...NO_KEY_LIMITS, ...terms };
  await accounts.updateKey({ ...key, status }, revoked, noAuditContext);
  gateway.authenticator.keys.forget(id);
  gateway.running.cutKey(id);
}

/** The public API; a stream that it answers is handed to the hooks, and read by hand. */
function publicOver(gateway: Gateway, bodies: BodiesInFlight, hooks: Hooks): PublicDependencies {
  const observed = (submit: typeof submitMessage) => async (clientRequest: ClientRequest) => {
    const mark = clientRequest.query;
    hooks.onSubmitted(mark, clientRequest.requestId);
    const reply = await submit(gateway, clientRequest);
    if (reply instanceof TurnpikeError) throw reply;
    const encoded = encodeReply(reply, null);
    hooks.onReply(mark, encoded);
    return typeof encoded.body === 'string' ? reply : { ...reply, body: unread() };
  };
  return {
    messages: {
      submitMessage: observed(submitMessage),
      countTokens: observed(countTokens),
      listModels: (clientRequest) => listModels(gateway, clientRequest),
      getModel: (clientRequest, id) => getModel(gateway, clientRequest, id),
      getKey: (clientRequest) => getKey(gateway, clientRequest),
      getUsage: (clientRequest, id) => getUsage(gateway, clientRequest, id),
    },
    bodies,
    load: { loopDelayMs: () => 0, openMessages: () => gateway.slots.taken },
    clock: gateway.clock,
    settings: () => gateway.catalog().settings,
    trustedProxies: [],
    reportsAddress: false,
    isLeaving: () => false,
    isDraining: () => false,
    isStoreAvailable: () => gateway.ledger.isAvailable,
    report: () => {},
  };
}

/** In the place of a stream that is read by hand. */
async function* unread(): AsyncGenerator<StreamPiece> {}

async function openAccount(
  accounts: ReturnType<typeof memoryStores>['accounts'],
  nowMs: number,
  { id, creditNano, keys }: CastAccount,
): Promise<void> {
  const shared = { createdAtMs: nowMs, status: 'enabled' as const };
  await accounts.createAccount(
    { id, name: 'economy', groups: ['default'], ...shared },
    { enabled: true, creditLine: 0, allowance: null, allowancePeriod: 'total' },
    creditNano === 0 ? null : { amount: creditNano, kind: 'payment', reference: null, note: null },
    noAuditContext,
  );
  for (const { id: key, secret, terms } of keys)
    await accounts.createKey(
      {
        id: key,
        accountId: id,
        name: '',
        prefix: '',
        groups: null,
        models: null,
        origins: null,
        addresses: null,
        madeBy: null,
        expiresAtMs: null,
        ...shared,
      },
      secret,
      { status: 'enabled', expiresAtMs: null, ...NO_KEY_LIMITS, ...terms },
      noAuditContext,
    );
}

function termsOf(name: PlanName, anchorMs: number): PlanTerms {
  const windows = plans[name];
  return { name, windows, groups: null, anchorMs, paidUntilMs: null, endsAtMs: null, overflow: false };
}

function catalogFile() {
  const price = {
    input: String(PRICE.input),
    output: String(PRICE.output),
    web_search_per_thousand: String(PRICE.searches),
  };
  const sellers = modelNames.flatMap((model) =>
    Array.from({ length: behaviourOf(model).routes }, (_, at) => ({ provider: `of-${model}-${at}`, model })),
  );
  return {
    providers: Object.fromEntries(sellers.map(({ provider }) => [provider, { kind: 'sandbox' }])),
    models: Object.fromEntries(
      modelNames.map((name) => [
        name,
        { price, max_input_tokens: WINDOW_TOKENS, routes: sellers.filter(({ model }) => model === name) },
      ]),
    ),
    groups: { default: { models: ['*'] } },
    settings: SETTINGS,
  };
}
