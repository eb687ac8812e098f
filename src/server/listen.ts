// Where the service answers, and by which certificate. What is asked under which path goes to the API
// that it is for.

import type { AdminApi } from '../admin-api/admin-api.ts';
import { newRequestId } from '../base/ids.ts';
import type { Config } from '../config.ts';
import { TurnpikeError } from '../errors.ts';
import {
  type Connection,
  clientAddress,
  errorResponse,
  type HttpServer,
  isOverTls,
  ListenerLost,
  pathOf,
  type ServeOptions,
  serveHttp,
  type TlsEvent,
  TlsFiles,
  type TlsPair,
  type TlsPaths,
  withSecurityHeaders,
} from '../http/http.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { handleMetrics, METRICS_PATH } from './handle-metrics.ts';
import type { Observers } from './observe.ts';

const ADMIN_PATH = '/api/v1';

export interface Listening extends Pick<HttpServer, 'url' | 'requestsInFlight' | 'stop'> {
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

/** Listens. Throws what the system says when it cannot. `onLost` is called when nobody new can be answered any more. */
export function listen(
  config: Config,
  tls: TlsStart | null,
  dependencies: PublicDependencies,
  admin: AdminApi,
  observers: Observers,
  onLost: () => void,
): Listening {
  const answerOperator = (request: Request, connection: Connection): Promise<Response> | null => {
    const address = () => clientAddress(connection.address, request.headers, dependencies.trustedProxies);
    if (isForAdmin(request.url)) {
      // Without a host that can be read there is no whole URL, which the routes of the admin API go by.
      if (request.url.startsWith('/')) return Promise.resolve(refuseHost(observers.clock.nowMs()));
      return Promise.resolve(admin.fetch(request, address()));
    }
    if (pathOf(request.url) === METRICS_PATH) return handleMetrics(request, address(), admin, observers);
    return null;
  };
  const handle: ServeOptions['handle'] = (request, connection) => {
    const answer = answerOperator(request, connection);
    if (answer === null) return handlePublic(request, connection, dependencies);
    const isSecure = isOverTls(connection, request.headers, dependencies.trustedProxies);
    return answer.then((response) => withSecurityHeaders(response, isSecure));
  };
  const report = (request_id: string, thrown: unknown) =>
    observers.log.write({ at: new Date().toISOString(), event: 'failure', request_id, cause: describeFailure(thrown) });
  const http = serveHttp({ ...config.listen, ...(tls !== null && { tls: tls.pair }), handle, report });
  const files = tls === null ? null : watchTls(tls, http, observers.log, onLost);
  return {
    url: http.url,
    requestsInFlight: http.requestsInFlight,
    certificateExpiresAtMs: () => files?.current.expiresAtMs ?? null,
    reloadTls: files === null ? null : () => files.look('asked'),
    async stop(isGraceful) {
      files?.close();
      await http.stop(isGraceful);
    },
  };
}

function isForAdmin(url: string): boolean {
  const path = pathOf(url);
  return path === ADMIN_PATH || path.startsWith(`${ADMIN_PATH}/`);
}

function refuseHost(nowMs: number): Response {
  return errorResponse(new TurnpikeError('invalid_request', 'host: must name a host.'), newRequestId(nowMs));
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
