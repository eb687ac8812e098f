// The ports of the service and their certificate.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdminMove } from '../admin-api/admin-api.ts';
import { type ListenAddress, parseListenAddress } from '../base/addresses.ts';
import type { Config } from '../config/config.ts';
import {
  type HttpServer,
  ListenerLost,
  type ServeOptions,
  serveHttp,
  type TlsEvent,
  TlsFiles,
  type TlsPair,
  type TlsPaths,
} from '../http/http.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import type { PublicDependencies } from '../public-api/public-api.ts';
import type { Observers } from './observe.ts';
import { type OperatorParts, routeRequests } from './route-request.ts';

interface AdminPort {
  /** null if the admin API is on the port of messages. */
  readonly server: HttpServer | null;
  requestsInFlight(): number;
  /** Opens the port of the new setting; null if nothing changes. Throws if the port is unavailable. */
  move(setting: string | null): AdminMove | null;
  replaceTls(pair: TlsPair): Promise<void>;
  stop(isGraceful: boolean): Promise<void>;
}

/**
 * `fixed`, from a flag, takes precedence over the setting. Throws an error that names the flag or setting if the port is
 * unavailable.
 */
function openAdminPort(
  open: (address: ListenAddress) => HttpServer,
  fixed: ListenAddress | null,
  settingAtStart: string | null,
  onMoved: () => void,
): AdminPort {
  const openSetting = (setting: string | null) => {
    const address = setting === null ? null : parseListenAddress(setting);
    return address && open(address);
  };
  let currentSetting = settingAtStart;
  let server: HttpServer | null;
  try {
    server = fixed === null ? openSetting(currentSetting) : open(fixed);
  } catch (cause) {
    const words = (cause as Error).message;
    if (fixed !== null) throw new Error(`--admin-listen: ${words}`, { cause });
    throw new Error(`settings.admin_listen: ${words}; serve --admin-listen overrides this setting`, { cause });
  }
  /** Closed listeners whose last responses are not sent yet. */
  const left = new Set<HttpServer>();
  const all = () => (server === null ? [...left] : [server, ...left]);
  return {
    get server() {
      return server;
    },
    requestsInFlight: () => all().reduce((sum, one) => sum + one.requestsInFlight(), 0),
    move(setting) {
      if (fixed !== null || setting === currentSetting) return null;
      const opened = openSetting(setting);
      let isKept = false;
      const keep = () => {
        isKept = true;
        const before = server;
        server = opened;
        currentSetting = setting;
        onMoved();
        if (before === null) return;
        // The client that moved the port may be waiting for its response on the old one.
        left.add(before);
        void before.stop(true).finally(() => left.delete(before));
      };
      // Not awaited: the new port has not been announced.
      return { keep, [Symbol.dispose]: () => void (!isKept && opened?.stop(false)) };
    },
    replaceTls: async (pair) => server?.replaceTls(pair),
    async stop(isGraceful) {
      await Promise.all(all().map((one) => one.stop(isGraceful)));
    },
  };
}

export interface Listening extends Pick<HttpServer, 'url' | 'requestsInFlight' | 'stop'> {
  /** Address of the admin API: the same, or its own port. */
  adminUrl(): string;
  /** For the admin API; see there. */
  moveAdmin(setting: string | null): AdminMove | null;
  /** Expiry of the current certificate; null without TLS. */
  certificateExpiresAtMs(): number | null;
  /** Reloads certificate and key now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
}

/** Certificate and key as read at the start, and their files. */
interface TlsStart {
  paths: TlsPaths;
  pair: TlsPair;
}

interface ListenParts extends OperatorParts {
  publicApi: PublicDependencies;
  observers: Observers;
  /** The setting `admin_listen` at the start. */
  adminListen: string | null;
  /** Called when the admin API has moved. */
  onMoved(): void;
  /** Called when new requests can no longer be answered. */
  onLost(): void;
}

/** Listens. Throws an error that says where it cannot listen, and why. */
export function listen(config: Config, tls: TlsStart | null, parts: ListenParts): Listening {
  const { observers, onLost } = parts;
  const hasAdminPort = () => adminPort.server !== null;
  const routed = routeRequests(parts.publicApi, parts, observers, hasAdminPort);
  const report = (request_id: string, thrown: unknown) =>
    observers.log.writeEvent('failure', { request_id, cause: describeFailure(thrown) });
  let pair = tls?.pair ?? null;
  const open = (address: ListenAddress, handle: ServeOptions['handle']) =>
    serveHttp({ ...address, ...(pair !== null && { tls: pair }), handle, report });
  const http = openMessagePort(() => open(config.listen, routed.onMessagePort));
  const openAdmin = (address: ListenAddress) => {
    if (address.port !== 0 && address.port === http.port && address.hostname === config.listen.hostname)
      throw new Error('messages are served at this address: leave it out, or use another port');
    return open(address, routed.onAdminPort);
  };
  let adminPort: AdminPort;
  try {
    adminPort = openAdminPort(openAdmin, config.adminListen, parts.adminListen, parts.onMoved);
  } catch (failure) {
    void http.stop(false); // the service has both ports or none
    throw failure;
  }
  const replace = async (changed: TlsPair) => {
    pair = changed;
    await Promise.all([http.replaceTls(changed), adminPort.replaceTls(changed)]);
  };
  const files = tls === null ? null : watchTls(tls, replace, observers.log, onLost);
  return {
    url: http.url,
    adminUrl: () => adminPort.server?.url ?? http.url,
    moveAdmin: (setting) => adminPort.move(setting),
    requestsInFlight: () => http.requestsInFlight() + adminPort.requestsInFlight(),
    certificateExpiresAtMs: () => files?.current.expiresAtMs ?? null,
    reloadTls: files === null ? null : () => files.look('asked'),
    async stop(isGraceful) {
      files?.close();
      await Promise.all([http.stop(isGraceful), adminPort.stop(isGraceful)]);
    },
  };
}

/** Errors name the flag of the address, as for the other port. */
function openMessagePort(openPort: () => HttpServer): HttpServer {
  try {
    return openPort();
  } catch (cause) {
    throw new Error(`--listen: ${(cause as Error).message}`, { cause });
  }
}

function watchTls(
  { paths, pair }: TlsStart,
  replace: (pair: TlsPair) => Promise<void>,
  log: LogWriter,
  onLost: () => void,
): TlsFiles {
  const use = async (changed: TlsPair) => {
    try {
      await replace(changed);
    } catch (failure) {
      if (failure instanceof ListenerLost) onLost();
      throw failure;
    }
  };
  const report = (event: TlsEvent) => {
    if (event.kind === 'refused') log.writeEvent('certificate_refused', { cause: event.message });
    else log.writeEvent('certificate_used', { expires_at: new Date(event.pair.expiresAtMs).toISOString() });
  };
  report({ kind: 'used', pair });
  return new TlsFiles(paths, pair, use, report);
}

const OPERATOR_FILE = 'operator.json';

/** Contains the address of the admin API, the token, and for the doctor the listening address and process id. */
export function writeOperatorFile(
  config: Config,
  { url, adminUrl }: Pick<Listening, 'url' | 'adminUrl'>,
  token: string,
): void {
  const path = join(config.dataDirectory, OPERATOR_FILE);
  rmSync(path, { force: true });
  const listen = url.replace(/^\w+:\/\//, '');
  const text = JSON.stringify({ url: localUrl(adminUrl()), token, listen, pid: process.pid });
  writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
}

export function removeOperatorFile(config: Config): void {
  rmSync(join(config.dataDirectory, OPERATOR_FILE), { force: true });
}

/** The address by which this machine reaches a service that listens on all addresses. */
export function localUrl(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
