// The ports of the service, and by which certificate they answer.

import type { AdminApi, AdminMove } from '../admin-api/admin-api.ts';
import type { ListenAddress } from '../base/listen-address.ts';
import type { Config } from '../config.ts';
import type { Console } from '../console/console.ts';
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
import type { ConsoleAuth } from '../sign-in/sign-in.ts';
import { AdminPort } from './admin-port.ts';
import type { Observers } from './observe.ts';
import { routeRequests } from './route-request.ts';

export interface Listening extends Pick<HttpServer, 'url' | 'requestsInFlight' | 'stop'> {
  /** Where the admin API answers: the same address, or that of its own port. */
  adminUrl(): string;
  /** As the admin API wants it; see there. */
  moveAdmin(setting: string | null): AdminMove | null;
  /** When the certificate in use ends; null without TLS. */
  certificateExpiresAtMs(): number | null;
  /** Reads certificate and key again, now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
}

/** Certificate and key as they were read at the start, and where they are read again. */
export interface TlsStart {
  paths: TlsPaths;
  pair: TlsPair;
}

export interface ListenParts {
  publicApi: PublicDependencies;
  admin: AdminApi;
  auth: ConsoleAuth;
  console: Console;
  observers: Observers;
  /** The setting `admin_listen` at the start. */
  adminListen: string | null;
  /** Called when the admin API has moved. */
  onMoved(): void;
  /** Called when nobody new can be answered any more. */
  onLost(): void;
}

/** Listens. Throws an error that says where it cannot, and why. */
export function listen(config: Config, tls: TlsStart | null, parts: ListenParts): Listening {
  const { observers, onLost } = parts;
  const hasAdminPort = () => adminPort.server !== null;
  const routed = routeRequests(parts.publicApi, parts, observers, hasAdminPort);
  const report = (request_id: string, thrown: unknown) =>
    observers.log.write({ at: new Date().toISOString(), event: 'failure', request_id, cause: describeFailure(thrown) });
  let pair = tls?.pair ?? null;
  const open = (address: ListenAddress, handle: ServeOptions['handle']) =>
    serveHttp({ ...address, ...(pair !== null && { tls: pair }), handle, report });
  const http = openMessagePort(() => open(config.listen, routed.onMessagePort));
  const openAdmin = (address: ListenAddress) => {
    if (address.port !== 0 && address.port === http.port && address.hostname === config.listen.hostname)
      throw new Error('messages are answered there: leave it out, or name another port');
    return open(address, routed.onAdminPort);
  };
  const adminPort = openAdminPort(
    () => new AdminPort(openAdmin, config.adminListen, parts.adminListen, parts.onMoved),
    http,
  );
  const replace = async (changed: TlsPair) => {
    pair = changed;
    await Promise.all([http.replaceTls(changed), adminPort.replaceTls(changed)]);
  };
  const files = tls === null ? null : watchTls(tls, replace, observers.log, onLost);
  return {
    url: http.url,
    adminUrl: () => adminPort.server?.url ?? http.url,
    moveAdmin: (setting) => adminPort.move(setting),
    requestsInFlight: () => http.requestsInFlight() + adminPort.requestsInFlight,
    certificateExpiresAtMs: () => files?.current.expiresAtMs ?? null,
    reloadTls: files === null ? null : () => files.look('asked'),
    async stop(isGraceful) {
      files?.close();
      await Promise.all([http.stop(isGraceful), adminPort.stop(isGraceful)]);
    },
  };
}

/** What is wrong with the address is told by its flag, as for the other port. */
function openMessagePort(openPort: () => HttpServer): HttpServer {
  try {
    return openPort();
  } catch (cause) {
    throw new Error(`--listen: ${(cause as Error).message}`, { cause });
  }
}

/** The service has both ports or none. */
function openAdminPort(openPort: () => AdminPort, http: HttpServer): AdminPort {
  try {
    return openPort();
  } catch (failure) {
    void http.stop(false);
    throw failure;
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
  const tell = (event: TlsEvent) => log.write({ at: new Date().toISOString(), ...lineOf(event) });
  tell({ kind: 'used', pair });
  return new TlsFiles(paths, pair, use, tell);
}

function lineOf(event: TlsEvent) {
  if (event.kind === 'refused') return { event: 'certificate_refused', cause: event.message };
  return { event: 'certificate_used', expires_at: new Date(event.pair.expiresAtMs).toISOString() };
}
