// The public API over a gateway controlled by the test: a provider that responds on command, a store that fails, a
// clock that the test moves, short waits. It has no tests of its own.

import {
  type AgentCaller,
  type AutoRecharge,
  KeyDirectory,
  type KeyTerms,
  NetworkCounter,
  TagSets,
} from '../../../src/accounts/accounts.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { CatalogHolder } from '../../../src/catalog/catalog.ts';
import {
  AdmissionQueue,
  Conversations,
  type Gateway,
  IdempotencyRecords,
  LastLevels,
  type MessageReport,
  PromptCounts,
  type Recharges,
  RouteHealth,
  RunningMessages,
  type SelfServiceReader,
  SelfServiceReads,
  SilenceWatches,
  Slots,
  StreamHolds,
  submitMessage,
} from '../../../src/gateway/gateway.ts';
import { BodiesInFlight } from '../../../src/http/http.ts';
import {
  type CheckReport,
  checkLedger,
  type LedgerGate,
  NodeLedger,
  type UsageRecord,
} from '../../../src/ledger/ledger.ts';
import {
  type EventSource,
  type Provider,
  ProviderFault,
  type ProviderReply,
} from '../../../src/providers/providers.ts';
import { openVault } from '../../../src/secrets/secrets.ts';
import type { Stores } from '../../../src/storage/storage.ts';
import type { Tokenizer } from '../../../src/tokenizer/tokenizer.ts';
import { Estimates } from '../../../src/usage/usage.ts';
import { makeEvent, type StreamEvent } from '../../../src/wire/wire.ts';
import type { OpenedStores } from '../../money/ledger/workbench.ts';
import { openPostgresLanes } from '../../storage/open-postgres.ts';
import { allUsage } from '../../support/everything.ts';
import { inPlaceTokenizer } from '../../support/in-place-tokenizer.ts';
import { memoryStores, sumMemory } from '../../support/memory-store/memory-store.ts';
import { serveGateway, storeKey } from '../../support/serve-gateway.ts';
import { isOverPostgres } from '../../support/test-store.ts';
import { apply, unseal } from '../../unit/catalog/support.ts';
import type { Json } from './world.ts';

export interface ControlledService extends AsyncDisposable {
  url: string;
  gateway: Gateway;
  bodies: BodiesInFlight;
  reports: MessageReport[];
  makeKey(terms?: Partial<KeyTerms>): Promise<string>;
  post(secret: string, members?: Json, signal?: AbortSignal): Promise<Response>;
  get(path: string, secret: string): Promise<Response>;
  /** Newest first. */
  records(): Promise<UsageRecord[]>;
  check(): Promise<CheckReport>;
  advance(ms: number): void;
  /** Sets the time by which prices change; it begins at 1. */
  setPriceTime(ms: number): void;
}

export interface Parts {
  settings?: Json;
  limits?: Json;
  /** Later versions of the price of `m`. */
  priceChanges?: Json[];
  /** By the name of the route's model: `first` is tried before `second`. */
  answer?: (upstreamModel: string, signal: AbortSignal) => Promise<ProviderReply>;
  gateOver?: (gate: LedgerGate) => LedgerGate;
  /** Called when the service notices that the client of a message disconnected. */
  onDisconnect?: () => void;
  /** Called before each lookup of a key. */
  beforeLookup?: () => void;
  /** Who sends all messages, instead of a plain key. */
  agent?: AgentCaller;
  /** Called before each read of a caller’s meters. */
  beforeMeters?: () => Promise<void>;
  /** The credit of accounts, instead of 10 USD. */
  creditNano?: number;
  autoRecharge?: AutoRecharge;
  recharges?: (opened: { ledger: NodeLedger; stores: Stores; clock: Clock }) => Recharges;
  /** Instead of a store of its own, with the name of the node. */
  open?: (clock: Clock) => Promise<OpenedStores>;
  node?: string;
  tokenizer?: Tokenizer;
  /** By default a bill by the upper bound is not corrected. */
  correctionPausesMs?: number[];
  /** The provider knows the tokens of an answer's text: a quarter of its bytes. By default it does. */
  countsText?: boolean;
  /** The provider's free counter; by default it has none. */
  countTokens?: Provider['countTokens'];
  /** Replaces `shed_body_bytes`, and the event loop of this process. */
  bodiesBytesMax?: number;
  loopDelayMs?: () => number;
}

const START_MS = Date.UTC(2026, 10, 18, 12); // far from the start of any period

const CREDIT_NANO = 10_000_000_000;

function rethrow(failure: unknown): never {
  throw failure;
}

const SHORT_WAITS = { firstEventWaitMs: 40, pingIntervalMs: 20, recountPausesMs: [1, 1] };

export async function startControlled(parts: Parts = {}): Promise<ControlledService> {
  let aheadMs = START_MS - Date.now();
  const clock: Clock = { nowMs: () => Date.now() + aheadMs };
  const opened = await (parts.open?.(clock) ?? openControlledStores(clock, parts.gateOver));
  const { stores } = opened;
  const ledger = new NodeLedger(stores.gate, clock, parts.node ?? 'hand-made');
  await ledger.open();
  const reports: MessageReport[] = [];
  const lookup = async (hashes: readonly string[]) => {
    parts.beforeLookup?.();
    return stores.accounts.findKeyBySecretHash(hashes);
  };
  const { findCallerOfKey } = stores.accounts;
  const keys = new KeyDirectory({ findKeyBySecretHash: lookup, findCallerOfKey }, (secret) => [secret]);
  let pricesMs = 1;
  const catalog = new CatalogHolder(apply([], fileOf(parts)), unseal, () => pricesMs);
  const gateway: Gateway = {
    catalog: () => catalog.current,
    modelLists: { find: () => null, refresh: () => null, stateOf: () => null },
    authenticator: { keys, failures: new NetworkCounter() },
    ledger,
    providers: new Map([['sandbox', providerOf(parts)]]),
    running: new RunningMessages(),
    slots: new Slots(() => catalog.current.settings.shedOpenMessages),
    counting: new PromptCounts(),
    admissions: new AdmissionQueue(),
    recharges: parts.recharges?.({ ledger, stores, clock }) ?? null,
    silence: new SilenceWatches(),
    streamHolds: new StreamHolds(rethrow),
    estimates: new Estimates(),
    tokenizer: parts.tokenizer ?? inPlaceTokenizer(),
    levels: new LastLevels(),
    tagSets: new TagSets(stores.tagSets),
    answers: new IdempotencyRecords(stores.answers, openVault(Buffer.alloc(32))),
    vault: openVault(Buffer.alloc(32)),
    selfServiceReads: new SelfServiceReads(selfServiceReader(stores, parts)),
    waits: { ...SHORT_WAITS, correctionPausesMs: parts.correctionPausesMs ?? [] },
    clock,
    health: new RouteHealth(() => catalog.current.settings.circuitFailures ?? Number.POSITIVE_INFINITY, clock.nowMs),
    conversations: new Conversations(() => 0),
    canConnect: async () => true,
    report: (report) => reports.push(report),
  };
  const bodies = new BodiesInFlight(() => parts.bodiesBytesMax ?? catalog.current.settings.shedBodyBytes);
  const load = { loopDelayMs: parts.loopDelayMs ?? (() => 0), openMessages: () => gateway.slots.taken };
  const http = serveGateway(gateway, { bodies, load }, submitOf(parts));
  return {
    url: http.url,
    gateway,
    bodies,
    reports,
    makeKey: (terms = {}) => makeKey(stores, clock, parts, terms),
    post: (secret, members, signal) => postMessage(http.url, secret, members, signal),
    get: (path, secret) => fetch(http.url + path, { headers: { 'x-api-key': secret } }),
    records: () => stores.usage.listUsage(allUsage),
    check: async () => checkLedger(await opened.sums()),
    advance(ms) {
      aheadMs += ms;
    },
    setPriceTime(ms) {
      pricesMs = ms;
    },
    async [Symbol.asyncDispose]() {
      await http.stop(false);
      ledger.close();
      await opened.close();
    },
  };
}

function submitOf({ agent, onDisconnect }: Parts): typeof submitMessage {
  return (gateway, request) => {
    request.signal.addEventListener('abort', () => onDisconnect?.());
    request.agent = agent ?? request.agent;
    return submitMessage(gateway, request);
  };
}

function selfServiceReader({ ledger, usage }: Stores, { beforeMeters }: Parts): SelfServiceReader {
  return {
    ...ledger,
    ...usage,
    async callerMeters(question, nowMs) {
      await beforeMeters?.();
      return ledger.callerMeters(question, nowMs);
    },
  };
}

/** With an agent, the key is that of its person. */
async function makeKey({ accounts, people }: Stores, clock: Clock, parts: Parts, terms: Partial<KeyTerms>) {
  const { creditNano = CREDIT_NANO, autoRecharge = null, agent } = parts;
  const person = agent === undefined ? null : { people, id: agent.person };
  return (await storeKey(accounts, clock.nowMs(), creditNano, terms, autoRecharge, person)).secret;
}

function postMessage(url: string, secret: string, members: Json = {}, signal = new AbortController().signal) {
  const message = { model: 'm', max_tokens: 64, messages: [{ role: 'user', content: 'hi' }], ...members };
  const headers = { 'content-type': 'application/json', 'x-api-key': secret };
  return fetch(`${url}/v1/messages`, { method: 'POST', signal, headers, body: JSON.stringify(message) });
}

/** Stores in memory or in a PostgreSQL database; both use the clock of the test. */
function openControlledStores(clock: Clock, gateOver: Parts['gateOver']): OpenedStores | Promise<OpenedStores> {
  if (isOverPostgres) return openPostgresLanes(clock, gateOver);
  const stores = memoryStores(clock, gateOver);
  return { stores, sums: () => sumMemory(stores.tables), close: () => {} };
}

function fileOf({ settings = {}, limits = {}, priceChanges = [] }: Parts): Json {
  const routes = ['first', 'second'].map((model, priority) => ({ provider: 'hand-made', model, priority }));
  return {
    providers: { 'hand-made': { kind: 'sandbox' } },
    models: { m: { price: { input: '3', output: '15' }, price_changes: priceChanges, routes } },
    groups: { default: { models: ['*'], ...limits } },
    settings,
  };
}

function providerOf({ answer = async () => streamOf(EVENTS), countsText = true, countTokens }: Parts): Provider {
  return {
    kind: 'sandbox',
    submit: ({ upstreamModel, signal }) => answer(upstreamModel, signal),
    countTokens: countTokens ?? (async () => null),
    countLocally: () => null,
    ...(countsText && { countTextLocally: (text: string) => Math.ceil(Buffer.byteLength(text) / 4) }),
  };
}

const usage = { input_tokens: 25, output_tokens: 1 };

/** A whole stream: 25 input tokens, 12 output tokens. */
export const EVENTS: readonly StreamEvent[] = [
  makeEvent({ type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage } }),
  makeEvent({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
  makeEvent({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }),
  makeEvent({ type: 'content_block_stop', index: 0 }),
  makeEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 12 } }),
  makeEvent({ type: 'message_stop' }),
];

/** A reply that yields one event at a time; before an event with an index in `waits` it awaits that promise. */
export function streamOf(
  events: readonly StreamEvent[],
  waits: Record<number, Promise<unknown>> = {},
  signal?: AbortSignal,
): ProviderReply {
  let place = 0;
  const source: EventSource = {
    async next() {
      if (signal?.aborted === true) throw new ProviderFault('aborted', 'aborted');
      const aborted = new Promise<never>((_, reject) => {
        signal?.addEventListener('abort', () => reject(new ProviderFault('aborted', 'aborted')));
      });
      await Promise.race([waits[place], aborted].slice(0, signal === undefined ? 1 : 2));
      const event = events[place++];
      return event === undefined ? null : [event];
    },
  };
  return { form: 'stream', events: source, upstreamRequestId: null };
}

/** A whole message with the same counts. */
export function messageReply(): ProviderReply {
  const message = { type: 'message', content: [], stop_reason: 'end_turn', usage: { ...usage, output_tokens: 12 } };
  return { form: 'message', message, text: JSON.stringify(message), upstreamRequestId: null };
}
