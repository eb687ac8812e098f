// The gateway and the public API over it, from the real parts. Only its provider is made up; a stream that it answers is read by hand.

import { KeyDirectory, NetworkCounter, TagSets } from '../../../src/accounts/accounts.ts';
import type { Clock } from '../../../src/base/clock.ts';
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
import type { BodiesInFlight } from '../../../src/http/http.ts';
import type { NodeLedger } from '../../../src/ledger/ledger.ts';
import { type Provider, providerKinds } from '../../../src/providers/providers.ts';
import { type EncodedReply, encodeReply } from '../../../src/public-api/encode-reply.ts';
import type { PublicDependencies } from '../../../src/public-api/public-api.ts';
import { openVault, type SecretHashes } from '../../../src/secrets/secrets.ts';
import { Spool } from '../../../src/spool/spool.ts';
import type { Stores } from '../../../src/storage/stores.ts';
import { Estimates } from '../../../src/usage/usage.ts';
import type { JsonObject, StreamPiece } from '../../../src/wire/wire.ts';
import { inPlaceTokenizer, loadVocabularies } from '../../support/in-place-tokenizer.ts';
import type { Production, Wanted } from './answers.ts';
import { behaviourOf, modelNames, PRICE, TRANCHE_TOKENS, WINDOW_TOKENS } from './models.ts';

/** Called for each message that arrives. */
export interface Hooks {
  /** A request reached the gateway under this id; `mark` is the query that its client gave it. */
  onSubmitted(mark: string, requestId: string): void;
  /** The reply, before it becomes a Response: a stream is read by hand. */
  onReply(mark: string, reply: EncodedReply): void;
  /** `body`: of the request, where nobody submitted a message under this id. */
  wantedOf(requestId: string, body: JsonObject): Wanted;
  onProduction(requestId: string, production: Production): void;
}

const SETTINGS = {
  output_tranche_tokens: TRANCHE_TOKENS,
  upstream_stream_seconds: 120,
  finish_without_caller_seconds: 60,
  upstream_first_event_seconds: 60,
  upstream_silence_seconds: 60,
};

await loadVocabularies(); // an episode never waits for the machine

interface GatewayParts {
  stores: Stores;
  ledger: NodeLedger;
  clock: Clock;
  catalog: Catalog;
  /** The provider of the kind `sandbox`. */
  provider: Provider;
  /** By default, secrets are stored as they are. */
  hashesOf?: SecretHashes;
}

export function makeGateway({ stores, ledger, clock, catalog, provider, hashesOf }: GatewayParts): Gateway {
  const { settings } = catalog;
  return {
    catalog: () => catalog,
    modelLists: { find: () => null, refresh: () => null, stateOf: () => null },
    authenticator: {
      keys: new KeyDirectory(stores.accounts, hashesOf ?? ((secret) => [secret])),
      failures: new NetworkCounter(),
    },
    ledger,
    providers: new Map([...providerKinds, ['sandbox', provider]]),
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
    vault: openVault(Buffer.alloc(32)),
    selfServiceReads: new SelfServiceReads({ ...stores.ledger, ...stores.usage }),
    clock,
    health: new RouteHealth(() => settings.circuitFailures ?? Number.POSITIVE_INFINITY, clock.nowMs),
    conversations: new Conversations(() => 0),
    canConnect: async () => true,
    report: () => {},
  };
}

/** The public API; a stream that it answers is handed to the hooks, and read by hand. */
export function publicOver(
  gateway: Gateway,
  bodies: BodiesInFlight,
  hooks: Hooks,
  spool = new Spool('none'), // for requests without files
): PublicDependencies {
  const observed = (submit: typeof submitMessage) => async (clientRequest: ClientRequest) => {
    const mark = clientRequest.query;
    const isByHand = mark !== '';
    if (isByHand) hooks.onSubmitted(mark, clientRequest.requestId);
    const reply = await submit(gateway, clientRequest);
    if (reply instanceof TurnpikeError) throw reply;
    if (!isByHand) return reply;
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
    spool,
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

/** A catalog file with all models, each in these groups, at so many times their prices. */
export function catalogFile(groups: Readonly<Record<string, readonly string[]>> = { default: ['*'] }, times = 1) {
  const price = {
    input: String(PRICE.input * times),
    output: String(PRICE.output * times),
    web_search_per_thousand: String(PRICE.searches * times),
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
    groups: Object.fromEntries(Object.entries(groups).map(([name, models]) => [name, { models }])),
    settings: SETTINGS,
  };
}
