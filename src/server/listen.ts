// Where the service answers, and by which certificate. What is asked under which path goes to the API
// that it is for.

import type { AdminApi } from '../admin-api/admin-api.ts';
import type { Config } from '../config.ts';
import {
  clientAddress,
  type HttpServer,
  ListenerLost,
  type ServeOptions,
  serveHttp,
  type TlsEvent,
  TlsFiles,
  type TlsPair,
  type TlsPaths,
} from '../http/http.ts';
import type { LogWriter } from '../observability/observability.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { handleMetrics, isForMetrics } from './handle-metrics.ts';
import type { Observers } from './observe.ts';

export interface Listening extends Pick<HttpServer, 'url' | 'requestsInFlight' | 'stop'> {
  /** The certificate in use, in PEM; null without TLS. */
  certificate(): string | null;
  /** Reads certificate and key again, now; null without TLS. */
  reloadTls: (() => Promise<void>) | null;
}

/** Certificate and key as they were read at the start, and where they are read again. */
export interface TlsStart {
  paths: TlsPaths;
  pair: TlsPair;
}

/** Listens. Throws what the system says when it cannot. `onLost` is called when nobody new can be answered any more. */
export function listen(
  config: Config,
  tls: TlsStart | null,
  dependencies: PublicDependencies,
  admin: AdminApi,
  observers: Observers,
  onLost: () => void,
): Listening {
  const handle: ServeOptions['handle'] = (request, connection) => {
    const address = () => clientAddress(connection.address, request.headers, dependencies.trustedProxies);
    if (isForAdmin(request.url)) return admin.fetch(request, address());
    if (isForMetrics(request.url)) return handleMetrics(request, address(), admin, observers);
    return handlePublic(request, connection, dependencies);
  };
  const report = (request_id: string, thrown: unknown) =>
    observers.log.write({ at: new Date().toISOString(), event: 'failure', request_id, cause: String(thrown) });
  const http = serveHttp({ ...config.listen, ...(tls !== null && { tls: tls.pair }), handle, report });
  const files = tls === null ? null : watchTls(tls, http, observers.log, onLost);
  return {
    url: http.url,
    requestsInFlight: http.requestsInFlight,
    certificate: () => files?.current.certificate ?? null,
    reloadTls: files === null ? null : () => files.look('asked'),
    async stop(isGraceful) {
      files?.close();
      await http.stop(isGraceful);
    },
  };
}

function isForAdmin(url: string): boolean {
  const start = url.indexOf('/', url.indexOf('://') + 3);
  return url.startsWith('/api/v1', start);
}

function watchTls({ paths, pair }: TlsStart, http: HttpServer, log: LogWriter, onLost: () => void): TlsFiles {
  const use = async (changed: TlsPair) => {
    try {
      await http.replaceTls(changed);
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
