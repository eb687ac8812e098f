// Which API a request is for, by its path and by the port that it came to.

import type { AdminApi } from '../admin-api/admin-api.ts';
import { newRequestId } from '../base/ids.ts';
import { CONSOLE_PATH, type Console } from '../console/console.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import {
  type Connection,
  clientAddress,
  errorResponse,
  isOverTls,
  pathOf,
  type ServeOptions,
  withSecurityHeaders,
} from '../http/http.ts';
import { describeFailure } from '../observability/observability.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { AUTH_PATH, type ConsoleAuth } from '../sign-in/sign-in.ts';
import { handleMetrics, METRICS_PATH } from './handle-metrics.ts';
import { type Observers, tellAnswer } from './observe.ts';

const ADMIN_PATH = '/api/v1';
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

type Handle = ServeOptions['handle'];

/** What answers on the port of messages, and what on the admin API's own. `hasAdminPort` is asked for each request. */
export function routeRequests(
  dependencies: PublicDependencies,
  { admin, auth, console: pages }: { admin: AdminApi; auth: ConsoleAuth; console: Console },
  observers: Observers,
  hasAdminPort: () => boolean,
): { onMessagePort: Handle; onAdminPort: Handle } {
  const addressOf = (request: Request, connection: Connection) =>
    clientAddress(connection.address, request.headers, dependencies.trustedProxies);
  const refuse = (error: TurnpikeError, request: Request, connection: Connection) =>
    refuseRequest(error, request, addressOf(request, connection), observers);
  const answerOperator = async (request: Request, connection: Connection): Promise<Response> => {
    const isSecure = isOverTls(connection, request.headers, dependencies.trustedProxies);
    const address = addressOf(request, connection);
    const path = pathOf(request.url);
    if (path === METRICS_PATH)
      return withSecurityHeaders(await handleMetrics(request, address, admin, observers), isSecure);
    if (path === '/' || path === CONSOLE_PATH) return withSecurityHeaders(toConsole(), isSecure);
    // Without a host that can be read there is no whole URL, which the routes of the admin API go by.
    const hasHost = !request.url.startsWith('/');
    if (hasHost && path.startsWith(`${AUTH_PATH}/`)) return auth.fetch(request, { address, isOverTls: isSecure });
    if (hasHost && path.startsWith(`${CONSOLE_PATH}/`)) {
      try {
        return await pages.fetch(request, isSecure);
      } catch (thrown) {
        const failure = asTurnpikeError(thrown);
        if (failure.status >= 500) observers.log.write(consoleFailure(thrown));
        return withSecurityHeaders(refuse(failure, request, connection), isSecure);
      }
    }
    const answer = hasHost ? admin.fetch(request, address, isSecure) : refuse(unusableHost(), request, connection);
    return withSecurityHeaders(await answer, isSecure);
  };
  return {
    onMessagePort: (request, connection) =>
      isForOperator(request) && !hasAdminPort()
        ? answerOperator(request, connection)
        : handlePublic(request, connection, dependencies),
    onAdminPort(request, connection) {
      if (isForOperator(request)) return answerOperator(request, connection);
      const path = pathOf(request.url);
      if (PROBES.has(path)) return handlePublic(request, connection, dependencies);
      return refuse(new TurnpikeError('route_not_found', 'Only the admin API answers here.'), request, connection);
    },
  };
}

function isForOperator(request: Request): boolean {
  const path = pathOf(request.url);
  if (path === '/') return isBrowserAt(request);
  return path === METRICS_PATH || [ADMIN_PATH, CONSOLE_PATH].some((one) => path === one || path.startsWith(`${one}/`));
}

/** Whoever types the address of the service into a browser. A client of models is told that there is nothing there. */
function isBrowserAt(request: Request): boolean {
  return ['GET', 'HEAD'].includes(request.method) && /\btext\/html\b/.test(request.headers.get('accept') ?? '');
}

function toConsole(): Response {
  return new Response(null, { status: 302, headers: { location: `${CONSOLE_PATH}/`, 'cache-control': 'no-store' } });
}

function consoleFailure(thrown: unknown) {
  return { at: new Date().toISOString(), event: 'console_failure', cause: describeFailure(thrown) };
}

function unusableHost(): TurnpikeError {
  return new TurnpikeError('invalid_request', 'host: must name a host.');
}

function refuseRequest(failure: TurnpikeError, request: Request, address: string, observers: Observers): Response {
  const receivedAtMs = observers.clock.nowMs();
  const requestId = newRequestId(receivedAtMs);
  const { method } = request;
  const facts = { requestId, receivedAtMs, durationMs: 0, method, path: pathOf(request.url), address };
  tellAnswer(observers, { ...facts, status: failure.status, submission: null, failure });
  return errorResponse(failure, requestId);
}
