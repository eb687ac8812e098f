// The root of the service: puts stores, ledger, catalogue, gateway and the two APIs together,
// starts them in order and stops them in order. No decision of the domain is made here.

import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { FailureCounter, KeyDirectory } from '../accounts/accounts.ts';
import type { AdminApi } from '../admin-api/admin-api.ts';
import { systemClock } from '../base/clock.ts';
import { CatalogueHolder, type Fault } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { type Gateway, LastLevels, OwnReads, RunningMessages, Seats, SilenceWatches } from '../gateway/gateway.ts';
import { clientAddress, type HttpServer, serveHttp } from '../http/http.ts';
import { LogWriter } from '../observability/observability.ts';
import { providerKinds } from '../providers/providers.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { isUnderPreviousSecret } from '../secrets/secrets.ts';
import { lockDirectory } from '../storage/sqlite/sqlite.ts';
import { applyAtStart } from './apply-at-start.ts';
import { changeSecret, formerHashes } from './change-secret.ts';
import { drain } from './drain.ts';
import { openFirstAccount } from './first-account.ts';
import { handleMetrics, isForMetrics } from './handle-metrics.ts';
import { makeAdmin } from './make-admin.ts';
import { makePublic } from './make-public.ts';
import { makeReadings, type Observers, openObservers, tellMessage } from './observe.ts';
import { openStore } from './open-store.ts';
import { removeOperatorFile, writeOperatorFile } from './operator-file.ts';
import { prepareCatalogue } from './prepare-catalogue.ts';

export interface StartOptions {
  /** Applied before the service listens. */
  applyFile?: { document: object; describeFault(fault: Fault): string };
  tls?: { certificate: string; key: string };
  /** Of this program, such as "0.1.0". */
  version: string;
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

/** What was opened and how it is closed, in order of opening. */
export type Closing = (() => void | Promise<void>)[];

async function startOn(
  config: Config,
  options: StartOptions,
  closing: Closing,
  close: () => Promise<void>,
): Promise<StartedServer> {
  const clock = systemClock();
  const log = new LogWriter(config.log, process.stderr.fd);
  closing.push(() => log.flush());
  const observers = await openObservers(config, options.version, log, clock, closing);
  const store = await openStore(config, clock, log, closing);
  store.thread.onCommitted = (facts) => observers.metrics.countBatch(facts);
  const { vault, stores, ledger } = store;
  if (await isUnderPreviousSecret(stores.installation, vault)) await changeSecret(store, clock, log);
  await prepareCatalogue(config, store, clock.nowMs());
  const holder = new CatalogueHolder(await stores.catalog.loadCatalog(), vault.open);
  const gateway: Gateway = {
    catalogue: () => holder.current,
    gatehouse: {
      keys: new KeyDirectory(stores.accounts, vault.hash, formerHashes(store, 'key_secrets')),
      failures: new FailureCounter(),
    },
    ledger,
    providers: providerKinds,
    running: new RunningMessages(),
    seats: new Seats(() => holder.current.settings.shedOpenMessages),
    silence: new SilenceWatches(),
    levels: new LastLevels(),
    ownReads: new OwnReads({ ...stores.ledger, ...stores.usage }),
    clock,
    random: Math.random,
    ...(observers.telemetry?.trace && { trace: observers.telemetry.trace }),
    report: (message) => tellMessage(observers, message),
  };
  const token = randomBytes(32).toString('base64url');
  const admin = makeAdmin(gateway, store, holder, token, observers, options.version);
  if (options.applyFile !== undefined) await applyAtStart(admin, token, options.applyFile);

  const state = { isDraining: false };
  const publicApi = makePublic(config, gateway, state, observers, closing);
  const http = listen(config, options, publicApi, admin, observers);
  const { version, tls } = options;
  const parts = {
    gateway,
    store,
    bodies: publicApi.bodies,
    http,
    version,
    certificate: () => tls?.certificate ?? null,
  };
  observers.metrics.addReadings(makeReadings(observers, parts));
  closing.push(() => http.stop(false));
  writeOperatorFile(config, http.url, token);
  closing.push(() => removeOperatorFile(config));
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

function listen(
  config: Config,
  options: StartOptions,
  dependencies: PublicDependencies,
  admin: AdminApi,
  observers: Observers,
): HttpServer {
  return serveHttp({
    ...config.listen,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    handle(request, connection) {
      const address = () => clientAddress(connection.address, request.headers, dependencies.trustedProxies);
      if (isForAdmin(request.url)) return admin.fetch(request, address());
      if (isForMetrics(request.url)) return handleMetrics(request, address(), admin, observers);
      return handlePublic(request, connection, dependencies);
    },
    report: (requestId, thrown) =>
      observers.log.write({
        at: new Date().toISOString(),
        event: 'failure',
        request_id: requestId,
        cause: String(thrown),
      }),
  });
}

function isForAdmin(url: string): boolean {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return url.startsWith('/api/v1', start);
}
