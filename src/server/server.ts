// The root of the service: puts stores, ledger, catalogue, gateway and the two APIs together,
// starts them in order and stops them in order. No decision of the domain is made here.

import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import type { AdminApi } from '../admin-api/admin-api.ts';
import { systemClock } from '../base/clock.ts';
import { CatalogueHolder, type Fault } from '../catalog/catalog.ts';
import type { Config } from '../config.ts';
import { makeConsole } from '../console/console.ts';
import { readTlsPair, type TlsPaths } from '../http/http.ts';
import { LogWriter } from '../observability/observability.ts';
import { prepareFetching } from '../providers/providers.ts';
import { lockDirectory } from '../storage/sqlite/sqlite.ts';
import { applyAtStart } from './apply-at-start.ts';
import { CatalogueReader } from './catalogue-reader.ts';
import { comeUnderSecret } from './change-secret.ts';
import { drain, type StopState } from './drain.ts';
import { openFirstAccount } from './first-account.ts';
import { inviteFirstOperator } from './first-operator.ts';
import { followNodes } from './follow-nodes.ts';
import { type Listening, listen } from './listen.ts';
import { makeAdmin } from './make-admin.ts';
import { makeGateway } from './make-gateway.ts';
import { makePublic } from './make-public.ts';
import { makeSignIn } from './make-sign-in.ts';
import { makeReadings, openObservers } from './observe.ts';
import { openStore } from './open-store.ts';
import { localUrl, removeOperatorFile, writeOperatorFile } from './operator-file.ts';
import { prepareCatalogue } from './prepare-catalogue.ts';
import { startRetaining } from './retain.ts';
import { openSignInSecret } from './sign-in-secret.ts';

export interface StartOptions {
  /** Applied before the service listens. */
  applyFile?: { document: object; describeFault(fault: Fault): string };
  tls?: TlsPaths;
  /** Of this program, such as "0.1.0". */
  version: string;
  print(line: string): void;
}

export interface StartedServer {
  url: string;
  /** Reads certificate and key again, now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
  /** Drains, settles, closes. */
  stop(): Promise<void>;
  /** Resolves when it has stopped; rejects when messages were left that could not be billed. */
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
  const log = new LogWriter(config.log, process.stderr.fd);
  closing.push(() => log.flush());
  const tls = options.tls === undefined ? null : { paths: options.tls, pair: await readTlsPair(options.tls) };
  await prepareFetching();
  const store = await openStore(config, systemClock(), log, closing);
  const { vault, stores, clock, feed } = store;
  const observers = await openObservers(config, options.version, log, clock, closing);
  store.gate.onCommitted = (facts) => observers.metrics.countBatch(facts);
  await using _ = await store.lockStart();
  const epoch = (await feed?.readEpoch()) ?? 0; // before anything is read that is remembered
  await comeUnderSecret(store, clock, log);
  await prepareCatalogue(config, store, clock.nowMs());
  const holder = new CatalogueHolder(await stores.catalog.loadCatalog(), vault.open);
  const catalogueReader = new CatalogueReader(stores.catalog, holder, store.ledger);
  const gateway = await makeGateway(store, holder, observers, clock, closing);
  const token = randomBytes(32).toString('base64url');
  const ports: { open: Listening | null } = { open: null };
  const moveAdmin = (setting: string | null) => ports.open?.moveAdmin(setting) ?? null;
  const secret = await openSignInSecret(stores.installation, vault);
  const acceptVouched: AdminApi['acceptVouched'] = (email, address) => admin.acceptVouched(email, address);
  const people = makeSignIn({ config, store, secret, observers, acceptVouched }, closing);
  const known = { gateway, store, holder, catalogueReader, token, observers, version: options.version };
  const messagesAt = () => messageOrigin(config, ports.open);
  const admin: AdminApi = makeAdmin({ ...known, moveAdmin, people, messagesAt });
  if (options.applyFile !== undefined) await applyAtStart(admin, token, options.applyFile);

  const state: StopState = { isLeaving: false, isDraining: false };
  const following = feed && followNodes({ feed, epoch, gateway, catalogueReader, moveAdmin, log });
  closing.push(() => following?.stop());
  const isStoreThere = () => following?.isHearing() ?? true;
  const publicApi = makePublic(config, gateway, state, isStoreThere, observers, closing);
  const tellCommands = () => writeOperatorFile(config, http, token);
  const { adminListen } = holder.current.settings;
  const onLost = () => void stop();
  const http = listen(config, tls, {
    publicApi,
    admin,
    auth: people.auth,
    console: makeConsole(messagesAt),
    observers,
    adminListen,
    onMoved: tellCommands,
    onLost,
  });
  ports.open = http;
  const parts = { gateway, store, bodies: publicApi.bodies, http, version: options.version };
  observers.metrics.addReadings(makeReadings(observers, parts));
  closing.push(() => http.stop(false));
  tellCommands();
  if (http.adminUrl() !== http.url) options.print(`admin API on ${http.adminUrl()}`);
  closing.push(() => removeOperatorFile(config));
  await openFirstAccount(config, options, store, clock, http.url);
  await inviteFirstOperator(config, options, store, clock, http.adminUrl());
  const { retention } = stores;
  const settings = () => holder.current.settings;
  closing.push(startRetaining({ store: retention, settings, clock, log, runAlone: store.runAlone, tend: store.tend }));

  const { stop, finished } = makeStop(state, () => drain(gateway, publicApi.bodies, http, log, state), close);
  return { url: http.url, reloadTls: http.reloadTls, stop, finished };
}

/** As people reach it, else where it listens where the admin API has another address; null: at the admin API's own. */
function messageOrigin({ publicUrl }: Config, http: Listening | null): string | null {
  if (publicUrl !== null || http === null) return publicUrl;
  return http.adminUrl() === http.url ? null : localUrl(http.url);
}

/** What stops it, whoever asks for it and however often. `drainAll` resolves to how many messages the store did not take the bill of. */
function makeStop(
  state: StopState,
  drainAll: () => Promise<number>,
  close: () => Promise<void>,
): Pick<StartedServer, 'stop' | 'finished'> {
  const { promise: finished, resolve: finish, reject: fail } = Promise.withResolvers<void>();
  finished.catch(() => {}); // whoever waits for it hears of it
  const stop = async () => {
    if (state.isLeaving) return finished;
    const notBilled = await drainAll();
    await close();
    if (notBilled === 0) finish();
    else
      fail(
        new Error(
          `bills that the store did not take: ${notBilled}; their messages are charged to their last checkpoint, or nothing`,
        ),
      );
  };
  return { stop, finished };
}
