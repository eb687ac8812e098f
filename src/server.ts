// The root of the service: puts stores, ledger, catalogue, gateway and the two APIs together,
// starts them in order and stops them in order. No decision of the domain is made here.

import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FailureCounter, KeyDirectory } from './accounts/accounts.ts';
import { type AdminApi, firstCurl, makeAdminApi, makeDemoAccount } from './admin-api/admin-api.ts';
import { parseRange } from './base/address-range.ts';
import { type Clock, systemClock } from './base/clock.ts';
import {
  type CatalogDocument,
  CatalogueHolder,
  credentialContext,
  type Fault,
  firstDocuments,
} from './catalog/catalog.ts';
import { type Config, decodeSecret } from './config.ts';
import {
  countTokens,
  type Gateway,
  getModel,
  LastLevels,
  listModels,
  RunningMessages,
  SilenceWatches,
  submitMessage,
} from './gateway/gateway.ts';
import { BodiesInFlight, type HttpServer, serveHttp } from './http/http.ts';
import { type CheckReport, checkLedger, NodeLedger } from './ledger/ledger.ts';
import { LogWriter, messageLine, requestLine } from './observability/observability.ts';
import { providerKinds, sandboxModelNames } from './providers/providers.ts';
import { handlePublic, type PublicDependencies } from './public-api/public-api.ts';
import { loadInstallationSecret, openVault, requireSameSecret, type Vault } from './secrets/secrets.ts';
import {
  databasePath,
  LedgerThread,
  lockDirectory,
  sqliteStores,
  sumLedger,
  writeFirstAccount,
} from './storage/sqlite/sqlite.ts';

const NODE = 'local'; // SQLite has one node
const STOP_MS_MAX = 5_000; // for what is still being sent once every message has ended
const OPERATOR_FILE = 'operator.json';
const FIRST_KEY_FILE = 'first-key.txt';

export interface StartOptions {
  /** Applied before the service listens. */
  applyFile?: { document: object; describeFault(fault: Fault): string };
  tls?: { certificate: string; key: string };
  print(line: string): void;
}

export interface StartedServer {
  url: string;
  /** Drains, settles, closes. */
  stop(): Promise<void>;
  /** Resolves when it has stopped. */
  finished: Promise<void>;
}

/**
 * Starts the service on a data directory. Throws DirectoryLocked when another server has it, and
 * whatever else keeps it from starting; nothing stays open then.
 */
export async function startServer(config: Config, options: StartOptions): Promise<StartedServer> {
  process.umask(0o077); // whatever is written from here on is the owner's alone
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
  try {
    const lock = lockDirectory(config.dataDirectory);
    closing.push(() => lock.close());
    return await startOn(config, options, closing, close);
  } catch (failure) {
    await close();
    throw failure;
  }
}

/** Verifies the ledger's invariants from the stored rows, whether a server runs on them or not. */
export async function checkStore(config: Config): Promise<CheckReport> {
  const path = databasePath(config.dataDirectory);
  if (!existsSync(path)) throw new Error(`there is no database at ${path}`);
  return checkLedger(sumLedger(path));
}

type Closing = (() => void | Promise<void>)[];

async function startOn(
  config: Config,
  options: StartOptions,
  closing: Closing,
  close: () => Promise<void>,
): Promise<StartedServer> {
  const clock = systemClock();
  const log = new LogWriter(config.log, process.stderr.fd);
  closing.push(() => log.flush());
  const store = await openStore(config, clock, log, closing);
  const { vault, stores, ledger } = store;
  await requireSameSecret(stores.installation, vault);
  await prepareCatalogue(config, store);
  const holder = new CatalogueHolder(await stores.catalog.loadCatalog(), vault.open);
  const gateway: Gateway = {
    catalogue: () => holder.current,
    gatehouse: { keys: new KeyDirectory(stores.accounts, vault.hash), failures: new FailureCounter() },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    silence: new SilenceWatches(),
    levels: new LastLevels(),
    clock,
    random: Math.random,
    report: (message) => log.isOn && log.write(messageLine(message, clock.nowMs())),
  };
  const token = randomBytes(32).toString('base64url');
  const admin = makeAdmin(gateway, store, holder, token, log);
  if (options.applyFile !== undefined) await applyAtStart(admin, token, options.applyFile);

  const state = { isDraining: false };
  const http = listen(config, options, makePublic(config, gateway, state, log), admin, log);
  closing.push(() => http.stop(false));
  writeOperatorFile(config, http.url, token);
  closing.push(() => rmSync(join(config.dataDirectory, OPERATOR_FILE), { force: true }));
  await openFirstAccount(config, options, store, clock, http.url);

  const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
  const stop = async () => {
    if (state.isDraining) return finished;
    state.isDraining = true;
    await drain(gateway, http, log);
    await close();
    finish();
  };
  return { url: http.url, stop, finished };
}

interface OpenStore {
  vault: Vault;
  stores: ReturnType<typeof sqliteStores>;
  ledger: NodeLedger;
}

/** Opens the ledger's thread, ends what an earlier run left open, and gives the stores over it. */
async function openStore(config: Config, clock: Clock, log: LogWriter, closing: Closing): Promise<OpenStore> {
  const path = databasePath(config.dataDirectory);
  const given = config.secretBase64 === null ? null : decodeSecret(config.secretBase64);
  const vault = openVault(loadInstallationSecret(config.dataDirectory, given, !existsSync(path)));
  const thread = await LedgerThread.start(new URL('./ledger-worker.ts', import.meta.url), path, (cause) => {
    // What was not answered may or may not be durable: only a new start, which reads it from the disk, can tell.
    log.write({ at: new Date().toISOString(), event: 'ledger_thread_failed', cause: String(cause) });
    log.flush();
    process.exit(1);
  });
  closing.push(() => thread.close());
  const ledger = new NodeLedger(thread, clock, NODE);
  closing.push(() => ledger.close());
  const expired = await ledger.open();
  if (expired > 0) log.write({ at: new Date().toISOString(), event: 'holds_of_earlier_run_ended', holds: expired });
  const stores = sqliteStores(path, ledger);
  closing.push(() => stores.close());
  return { vault, stores, ledger };
}

/** Makes the catalogue that a new installation begins with, and a provider whose key the environment gives. */
async function prepareCatalogue(config: Config, { vault, stores }: OpenStore): Promise<void> {
  const present = await stores.catalog.loadCatalog();
  const apiKey = config.providerKeys.anthropic;
  const sealed = apiKey === null ? null : vault.seal(apiKey, credentialContext('anthropic'));
  const documents = firstDocuments(sandboxModelNames, sealed);
  const missing = present.length === 0 ? documents : missingDocuments(documents, present);
  if (missing.length > 0) await stores.catalog.saveCatalog(missing, []);
}

/** A provider that came with the environment only later, and its models; nothing of what stands is touched. */
function missingDocuments(
  documents: readonly CatalogDocument[],
  present: readonly CatalogDocument[],
): CatalogDocument[] {
  if (!documents.some(isAnthropic) || present.some(isAnthropic)) return [];
  const names = new Set(present.map((entry) => `${entry.kind} ${entry.name}`));
  const isWanted = ({ kind, name }: CatalogDocument) =>
    (kind === 'provider' || kind === 'model') && !name.startsWith('sandbox');
  return documents.filter((entry) => isWanted(entry) && !names.has(`${entry.kind} ${entry.name}`));
}

function isAnthropic(entry: CatalogDocument): boolean {
  return entry.kind === 'provider' && entry.document['kind'] === 'anthropic';
}

function makeAdmin(
  gateway: Gateway,
  { vault, stores, ledger }: OpenStore,
  holder: CatalogueHolder,
  token: string,
  log: LogWriter,
): AdminApi {
  const tokenHash = vault.hash(token);
  return makeAdminApi({
    verifyToken: (shown) => (vault.hash(shown) === tokenHash ? 'operator' : null),
    accounts: stores.accounts,
    ledger: { ...stores.ledger, submit: (bundle) => ledger.submit(bundle) },
    usage: stores.usage,
    catalog: {
      current: () => holder.current,
      documents: () => stores.catalog.loadCatalog(),
      async save(put, remove) {
        await stores.catalog.saveCatalog(put, remove);
        holder.swap(await stores.catalog.loadCatalog());
        ledger.forgetRefusals();
      },
    },
    providerKinds: [...providerKinds.keys()],
    vault,
    clock: gateway.clock,
    forgetKey: (id) => gateway.gatehouse.keys.forget(id),
    forgetAccount: (id) => gateway.gatehouse.keys.forgetAccount(id),
    endKeyMessages: (id) => gateway.running.cutKey(id),
    lookup: async (hostname) => (await lookup(hostname, { all: true })).map((found) => found.address),
    report: (requestId, thrown) =>
      log.write({ at: new Date().toISOString(), event: 'admin_failure', request_id: requestId, cause: String(thrown) }),
  });
}

function makePublic(
  config: Config,
  gateway: Gateway,
  state: { isDraining: boolean },
  log: LogWriter,
): PublicDependencies {
  return {
    messages: {
      submitMessage: (submission) => submitMessage(gateway, submission),
      countTokens: (submission) => countTokens(gateway, submission),
      listModels: (submission) => listModels(gateway, submission),
      getModel: (submission, id) => getModel(gateway, submission, id),
    },
    bodies: new BodiesInFlight(),
    clock: gateway.clock,
    prefixes: () => gateway.catalogue().settings.vendorPrefixes,
    trustedProxies: config.trustedProxies.map(parseRange).filter((range) => range !== null),
    isDraining: () => state.isDraining,
    isStoreAvailable: () => gateway.ledger.isAvailable,
    report: (answered) => log.isOn && log.write(requestLine(answered, gateway.clock.nowMs())),
  };
}

function listen(
  config: Config,
  options: StartOptions,
  dependencies: PublicDependencies,
  admin: AdminApi,
  log: LogWriter,
): HttpServer {
  return serveHttp({
    ...config.listen,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    handle: (request, connection) =>
      isForAdmin(request.url) ? admin.fetch(request) : handlePublic(request, connection, dependencies),
    report: (requestId, thrown) =>
      log.write({ at: new Date().toISOString(), event: 'failure', request_id: requestId, cause: String(thrown) }),
  });
}

function isForAdmin(url: string): boolean {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return url.startsWith('/api/v1', start);
}

/** Applies the file of `serve --apply` as a client of the admin API would. Throws with every fault. */
async function applyAtStart(
  admin: AdminApi,
  token: string,
  file: NonNullable<StartOptions['applyFile']>,
): Promise<void> {
  const response = await admin.fetch(
    new Request('http://localhost/api/v1/apply', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ document: file.document }),
    }),
  );
  if (response.ok) return;
  const { error } = (await response.json()) as { error: { message: string; faults?: Fault[] } };
  throw new Error(error.faults?.map((fault) => file.describeFault(fault)).join('\n') ?? error.message);
}

/** Readiness is 503 by now. Messages finish, bounded; then what still runs is ended and billed as received. */
async function drain(gateway: Gateway, http: HttpServer, log: LogWriter): Promise<void> {
  const { running, ledger } = gateway;
  await running.waitUntilEmpty(gateway.catalogue().settings.drainSeconds * 1000);
  await cutAll(running);
  await Promise.race([http.stop(true), Bun.sleep(STOP_MS_MAX)]);
  await cutAll(running); // what was between its body and its admission when the drain began
  const unfinished = await ledger.finishEndings(STOP_MS_MAX);
  if (unfinished > 0) log.write({ at: new Date().toISOString(), event: 'endings_not_stored', count: unfinished });
}

async function cutAll(running: RunningMessages): Promise<void> {
  if (running.count === 0) return;
  running.cutAll();
  await running.waitUntilEmpty(STOP_MS_MAX);
}

function writeOperatorFile(config: Config, url: string, token: string): void {
  const path = join(config.dataDirectory, OPERATOR_FILE);
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify({ url: localUrl(url), token })}\n`, { mode: 0o600, flag: 'wx' });
}

/**
 * The account and key of a first start. They are made last, so that a start that fails leaves the next one
 * still the first, and shown before they are stored, so that no key exists that nobody has seen.
 */
async function openFirstAccount(
  config: Config,
  options: StartOptions,
  { vault, stores, ledger }: OpenStore,
  clock: Clock,
  url: string,
): Promise<void> {
  if ((await stores.accounts.listAccounts({ after: null, limit: 1 })).length > 0) return;
  const demo = makeDemoAccount(vault, clock.nowMs());
  showFirstKey(config, options, firstCurl(localUrl(url), demo.secret));
  await writeFirstAccount(ledger, demo);
}

/** The key is shown once: on a terminal, else in a file that only the owner can read. */
function showFirstKey(config: Config, options: StartOptions, curl: string): void {
  if (process.stdout.isTTY) {
    options.print(`A first key was made. It is shown this once; try it:\n\n  ${curl}\n`);
    return;
  }
  const path = join(config.dataDirectory, FIRST_KEY_FILE);
  rmSync(path, { force: true });
  writeFileSync(path, `${curl}\n`, { mode: 0o600, flag: 'wx' });
  options.print(`A first key was made; it and a curl that works are in ${path}`);
}

/** The address by which this machine reaches a service that listens on all of its addresses. */
function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
