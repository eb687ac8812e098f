// The root of the service: composes stores, ledger, catalog, gateway and the two APIs, starts and stops them in
// order. Makes no domain decisions.

import { mkdirSync } from 'node:fs';
import { makeTokenSecret } from '../accounts/accounts.ts';
import type { AdminApi } from '../admin-api/admin-api.ts';
import { parseWholeNumber } from '../base/checked-number.ts';
import { systemClock } from '../base/clock.ts';
import { machineTimers } from '../base/timers.ts';
import type { Fault } from '../catalog/catalog.ts';
import { bounds, type Config } from '../config/config.ts';
import { makeConsole } from '../console/console.ts';
import { LAST_BACKUP } from '../events/events.ts';
import type { Gateway, RunningMessages } from '../gateway/gateway.ts';
import { type BodiesInFlight, type HttpServer, readTlsPair, type TlsPaths } from '../http/http.ts';
import { describeFailure, LogWriter } from '../observability/observability.ts';
import { prepareFetching } from '../providers/providers.ts';
import type { PublicDependencies } from '../public-api/public-api.ts';
import { openSecretHashes } from '../secrets/secrets.ts';
import { lockDirectory } from '../storage/sqlite/sqlite.ts';
import { AccountsInMetrics } from './accounts-in-metrics.ts';
import { startBatches } from './batches.ts';
import { adoptSecret, openInnerSecret } from './change-secret.ts';
import { makeAdmin, makeAgentEndpoints, makeGateway, makePlanUpdates, makePublic } from './compose.ts';
import { type EventParts, makeUpkeepReport, startEvents } from './events.ts';
import { applyAtStart, inviteFirstOperator, openFirstAccount } from './first-start.ts';
import { followNodes, makeCatalogReader } from './follow-nodes.ts';
import { Leadership } from './leadership.ts';
import { type Listening, listen, localUrl, removeOperatorFile, writeOperatorFile } from './listen.ts';
import { type Observers, openObservers } from './observe.ts';
import { openCatalog } from './open-catalog.ts';
import { openPeople } from './open-mail.ts';
import { type OpenedLater, openPayments, type Payments } from './open-payments.ts';
import { openSettings } from './open-settings.ts';
import { type OpenStore, openStore } from './open-store.ts';
import { PaymentWebhook } from './payment-webhook.ts';
import { startRetaining } from './retain.ts';
import { makeIntegrations } from './test-integrations.ts';
import { TrafficWriter } from './write-traffic.ts';

const STOP_MS_MAX = 5_000; // for responses still being sent after every message has ended
const LOOK_MS = 20;

/** Progress of a shutdown. */
export interface StopState {
  /** Readiness returns 503. */
  isLeaving: boolean;
  isDraining: boolean;
}

/**
 * Signals load balancers, then refuses messages. Running messages finish within a bound; the rest are cut and billed
 * as received. Resolves to the number of messages that could not be billed.
 */
async function drain(
  gateway: Gateway,
  bodies: Pick<BodiesInFlight, 'open'>,
  http: Pick<HttpServer, 'stop'>,
  log: LogWriter,
  state: StopState,
): Promise<number> {
  const { running, ledger } = gateway;
  const { drainNoticeSeconds, drainSeconds } = gateway.catalog().settings;
  state.isLeaving = true;
  if (drainNoticeSeconds > 0) await Bun.sleep(drainNoticeSeconds * 1000);
  state.isDraining = true;
  await waitUntilDone(running, bodies, drainSeconds * 1000);
  await cutAll(running);
  await Promise.race([http.stop(true), Bun.sleep(STOP_MS_MAX)]);
  await cutAll(running); // requests between body and admission when the drain began
  const unfinished = await ledger.finishEndings(STOP_MS_MAX);
  if (unfinished > 0) log.writeEvent('endings_not_stored', { count: unfinished });
  return unfinished;
}

/** Includes requests that were accepted but not admitted, such as one whose body is still arriving. */
async function waitUntilDone(
  running: RunningMessages,
  bodies: Pick<BodiesInFlight, 'open'>,
  boundMs: number,
): Promise<void> {
  for (const untilMs = performance.now() + boundMs; performance.now() < untilMs; await Bun.sleep(LOOK_MS)) {
    await running.waitUntilEmpty(untilMs - performance.now());
    if (bodies.open === 0 && running.count === 0) return;
  }
}

async function cutAll(running: RunningMessages): Promise<void> {
  if (running.count === 0) return;
  running.cutAll();
  await running.waitUntilEmpty(STOP_MS_MAX);
}

export interface StartOptions {
  /** Applied before the service listens. */
  applyFile?: { document: object; describeFault(fault: Fault): string };
  tls?: TlsPaths;
  /** The program's version, such as "1.0.0". */
  version: string;
  print(line: string): void;
}

interface StartedServer {
  url: string;
  /** Reloads certificate and key now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
  stop(): Promise<void>;
  /** Resolves when the service has stopped; rejects if messages could not be billed. */
  finished: Promise<void>;
}

/**
 * Starts the service on a data directory. Waits for a database that cannot be used yet. Throws DirectoryLocked if another process uses it, and any other start
 * failure; then nothing stays open.
 */
export async function startServer(config: Config, options: StartOptions): Promise<StartedServer> {
  process.umask(0o077); // new files are readable by their owner only
  mkdirSync(config.dataDirectory, { recursive: true, mode: 0o700 });
  const closing: (() => void | Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of closing.splice(0).reverse()) {
      try {
        await closeOne();
      } catch {
        // The others are closed all the same; the process is about to end.
      }
    }
  };
  const attempt = async () => {
    try {
      const lock = lockDirectory(config.dataDirectory);
      closing.push(() => lock.close());
      return await startOn(config, options, closing, close);
    } catch (failure) {
      await close();
      throw failure;
    }
  };
  if (config.databaseUrl === null) return await attempt();
  const { awaitDatabase } = await import('../storage/postgres/postgres.ts');
  return await awaitDatabase(config.databaseWaitSeconds, attempt, (failure) => reportWait(config, failure));
}

function reportWait({ log: format, databaseWaitSeconds }: Config, failure: unknown): void {
  const log = new LogWriter(format, process.stderr.fd);
  const cause = failure instanceof Error ? failure.message : String(failure);
  log.writeEvent('database_awaited', { cause, seconds: databaseWaitSeconds });
  log.flush();
}

/** Functions that close what was opened, in order of opening. */
export type Closing = (() => void | Promise<void>)[];

function watchStore({ damage, metrics }: Observers, store: OpenStore): void {
  damage.watch(store);
  store.gate.onCommitted = (facts) => metrics.countBatch(facts);
}

async function startOn(
  config: Config,
  options: StartOptions,
  closing: Closing,
  close: () => Promise<void>,
): Promise<StartedServer> {
  const log = new LogWriter(config.log, process.stderr.fd);
  closing.push(() => log.flush());
  const tls = options.tls === undefined ? null : { paths: options.tls, pair: await readTlsPair(options.tls) };
  await prepareFetching();
  const store = await openStore(config, systemClock(), log, closing);
  const { vault, stores, clock, feed } = store;
  const observers = await openObservers(config, options.version, log, clock, closing);
  const traffic = new TrafficWriter(observers, stores.traffic);
  watchStore(observers, store);
  await using _ = await store.lockStart();
  const epoch = (await feed?.readEpoch()) ?? 0; // before anything is cached
  const hashesOf = await openSecretHashes(stores.installation, vault);
  await adoptSecret(store, clock, log);
  const { holder, findAuthFault } = await openCatalog(config, store, observers, closing);
  const { secrets, readMail } = await openSettings(config, observers, closing);
  const catalogReader = makeCatalogReader(stores.catalog, holder, store.ledger);
  const later = (): OpenedLater => ({ gateway, admin });
  const payments = await openPayments({ config, store, holder, observers, secrets, later }, closing);
  const recharges = payments?.recharges ?? null;
  const gateway = await makeGateway({ config, store, hashesOf, holder, recharges, observers, clock }, closing);
  const token = makeTokenSecret().secret.reveal();
  const ports: { open: Listening | null } = { open: null };
  const moveAdmin = (setting: string | null) => ports.open?.moveAdmin(setting) ?? null;
  const secret = await openInnerSecret(stores.installation, vault, 'sign_in_secret');
  const admitIdentity: AdminApi['admitIdentity'] = (identity, address) => admin.admitIdentity(identity, address);
  const peopleParts = { config, store, holder, secret, observers, admitIdentity, readMail };
  const { people, mailer } = openPeople(peopleParts, closing);
  const integrations = makeIntegrations({ ...peopleParts, payments });
  const known = { gateway, store, hashesOf, holder, catalogReader, token, observers, version: options.version };
  const messagesAt = () => messageOrigin(config, ports.open);
  const sources = { people, mailer, traffic, payments: payments?.service ?? null };
  const admin: AdminApi = makeAdmin({ ...known, ...sources, integrations, findAuthFault, moveAdmin, messagesAt });
  if (options.applyFile !== undefined) await applyAtStart(admin, token, options.applyFile, stores.installation);
  const state: StopState = { isLeaving: false, isDraining: false };
  const following = feed && followNodes({ feed, epoch, gateway, catalogReader, moveAdmin, observers });
  closing.push(() => following?.stop());
  const agents = makeAgentEndpoints(config, store, gateway, people.signIn, () => consoleOrigin(config, ports.open));
  const publicApi = makePublic(config, gateway, state, following, observers, closing, agents);
  const updateOperatorFile = () => writeOperatorFile(config, http, token);
  const http = listen(config, tls, {
    publicApi,
    admin,
    auth: people.auth,
    console: makeConsole(messagesAt),
    webhook: payments === null ? null : new PaymentWebhook(payments.receiver),
    observers,
    adminListen: holder.current.settings.adminListen,
    onMoved: updateOperatorFile,
    onLost: () => void stop(),
  });
  ports.open = http;
  const start = { version: options.version, startedAtMs: clock.nowMs() };
  await observers.metrics.addReadings({ ...start, ...readingsOf(known, payments, publicApi), http });
  closing.push(() => http.stop(false));
  updateOperatorFile();
  if (http.adminUrl() !== http.url) options.print(`admin API on ${http.adminUrl()}`);
  closing.push(() => removeOperatorFile(config));
  await openFirstAccount(config, options, store, clock, http.url);
  await inviteFirstOperator(config, options, store, clock, http.adminUrl());
  const upkeep = { ...start, ...observers, readMail, mailer, traffic, payments };
  closing.push(...startUpkeep({ ...known, ...upkeep, publicApi }));
  const { stop, finished } = makeStop(state, () => drain(gateway, publicApi.bodies, http, log, state), close);
  return { url: http.url, reloadTls: http.reloadTls, stop, finished };
}

/** Readings for the metrics, of the store, the gateway and the public API. */
function readingsOf(
  { store: { stores }, observers, gateway }: { store: OpenStore; observers: Observers; gateway: Gateway },
  payments: Payments | null,
  { bodies }: { bodies: BodiesInFlight },
) {
  const { damage, log, telemetry, clock } = observers;
  return {
    gateway,
    bodies,
    accounts: new AccountsInMetrics({ stores, settings: () => gateway.catalog().settings, clock }),
    log,
    telemetry,
    isDamaged: () => damage.isNoticed,
    openHolds: () => stores.ledger.openHolds(),
    countDeliveries: () => stores.deliveries.countDeliveries(),
    lastBackupAtMs: async () => parseWholeNumber(await stores.events.readFact(LAST_BACKUP)),
    payments: payments && {
      countByStatus: () => stores.payments.countByStatus(),
      refusedEvents: () => payments.receiver.refusedCount,
    },
  };
}

/** Counts of traffic, retention, and delivery of events. Returns the functions that stop them. */
function startUpkeep({
  traffic: writer,
  publicApi,
  ...parts
}: Omit<EventParts, 'leadership'> & {
  traffic: TrafficWriter;
  publicApi: PublicDependencies;
}): (() => Promise<void>)[] {
  const { store, gateway, clock, log } = parts;
  const settings = () => gateway.catalog().settings;
  const { retention: rows, traffic } = store.stores;
  const leadership = new Leadership(store.ledger, store.ledger, clock.nowMs);
  const retention = { store: rows, traffic, settings, clock, log };
  const { runAlone, maintain } = store;
  const failed = makeUpkeepReport(store.stores.events, parts);
  const upkeep = { runAlone, maintain, failed, updatePlans: makePlanUpdates(store, gateway) };
  return [
    writer.start(),
    startRetaining({ ...retention, ...upkeep }),
    startEvents({ ...parts, leadership }),
    startBatches({ store, leadership, gateway, publicApi, log, failed }),
    startLooking(store, gateway, log),
  ];
}

/** Looks for holds that a failover has left without a message. Returns the function that stops it. */
function startLooking(
  { endLostHolds }: OpenStore,
  { running }: Gateway,
  log: Pick<LogWriter, 'writeEvent'>,
): () => Promise<void> {
  if (endLostHolds === null) return async () => {};
  const look = async () => {
    try {
      const holds = await endLostHolds(() => running.ids());
      if (holds > 0) log.writeEvent('lost_holds_ended', { holds });
    } catch (failure) {
      log.writeEvent('lost_holds_not_ended', { cause: describeFailure(failure) });
    }
  };
  const end = machineTimers.every(bounds.lostHoldsLookMs, () => void look());
  return async () => end();
}

/** The public URL, else the listening address if the admin API has its own; null: the admin API's address. */
function messageOrigin({ publicUrl }: Config, http: Listening | null): string | null {
  if (publicUrl !== null || http === null) return publicUrl;
  return http.adminUrl() === http.url ? null : localUrl(http.url);
}

/** The origin of the console in a browser; null: that of the request. */
function consoleOrigin({ publicUrl }: Config, http: Listening | null): string | null {
  return publicUrl ?? http?.adminUrl() ?? null;
}

/**
 * Stops the service once, however often it is called. `drainAll` resolves to the number of messages that could not be
 * billed.
 */
function makeStop(
  state: StopState,
  drainAll: () => Promise<number>,
  close: () => Promise<void>,
): Pick<StartedServer, 'stop' | 'finished'> {
  const { promise: finished, resolve: finish, reject: fail } = Promise.withResolvers<void>();
  finished.catch(() => {}); // handled where it is awaited
  const stop = async () => {
    if (state.isLeaving) return finished;
    const notBilled = await drainAll();
    await close();
    if (notBilled === 0) finish();
    else
      fail(
        new Error(
          `charges that the store did not accept: ${notBilled}; their messages are charged up to their last checkpoint, or not at all`,
        ),
      );
  };
  return { stop, finished };
}
