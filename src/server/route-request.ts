// Selects the API for a request, by path and port.

import type { AdminApi } from '../admin-api/admin-api.ts';
import { newRequestId } from '../base/ids.ts';
import { CONSOLE_PATH, type Console } from '../console/console.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import {
  type Connection,
  clientAddress,
  errorResponse,
  findHeadFault,
  isOverTls,
  pathOf,
  type ServeOptions,
  withSecurityHeaders,
} from '../http/http.ts';
import { describeFailure } from '../observability/observability.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { AUTH_PATH, type ConsoleAuth } from '../sign-in/sign-in.ts';
import { type Observers, reportAnswer } from './observe.ts';
import { type PaymentWebhook, WEBHOOK_PATH } from './payment-webhook.ts';
import { answerUnsubscribe, UNSUBSCRIBE_PATH } from './unsubscribe.ts';

const METRICS_PATH = '/metrics';

/** Never rejects: errors become responses. */
async function handleMetrics(request: Request, address: string, admin: AdminApi, observers: Observers) {
  const receivedAtMs = observers.clock.nowMs();
  const requestId = newRequestId(receivedAtMs);
  let response: Response;
  let failure: TurnpikeError | null = null;
  try {
    if (!['GET', 'HEAD'].includes(request.method))
      throw new TurnpikeError('method_not_allowed', `${METRICS_PATH} accepts only GET.`, {
        headers: { allow: 'GET, HEAD' },
      });
    await admin.requireInstallation(request, address);
    const { contentType } = observers.metrics;
    const headers = { 'content-type': contentType, 'cache-control': 'no-store', 'request-id': requestId };
    response = new Response(await observers.metrics.scrape(), { headers });
  } catch (thrown) {
    failure = asTurnpikeError(thrown);
    response = errorResponse(failure, requestId);
  }
  const times = { receivedAtMs, durationMs: observers.clock.nowMs() - receivedAtMs };
  const facts = { requestId, ...times, method: request.method, path: METRICS_PATH, address, status: response.status };
  reportAnswer(observers, { ...facts, clientRequest: null, failure });
  return response;
}

const ADMIN_PATH = '/api/v1';
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** Services for operators, account holders and payment providers. */
export interface OperatorParts {
  admin: AdminApi;
  auth: Pick<ConsoleAuth<unknown>, 'fetch'>;
  console: Console;
  /** null: no payment provider is set. */
  webhook: PaymentWebhook | null;
}

type Handle = ServeOptions['handle'];

/** Handlers of the message port and the admin port. `hasAdminPort` is called for each request. */
export function routeRequests(
  dependencies: PublicDependencies,
  { admin, auth, console: pages, webhook }: OperatorParts,
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
    const fault = findHeadFault(request.headers);
    if (fault !== null) {
      const invalid = new TurnpikeError('invalid_request', fault);
      return withSecurityHeaders(refuse(invalid, request, connection), isSecure);
    }
    if (path === METRICS_PATH)
      return withSecurityHeaders(await handleMetrics(request, address, admin, observers), isSecure);
    if (path === WEBHOOK_PATH && webhook !== null)
      return withSecurityHeaders(await webhook.fetch(request, address), isSecure);
    if (path === '/' || path === CONSOLE_PATH) {
      const headers = { location: `${CONSOLE_PATH}/`, 'cache-control': 'no-store' };
      return withSecurityHeaders(new Response(null, { status: 302, headers }), isSecure);
    }
    // Without a host there is no whole URL, which the admin API's routes need.
    const hasHost = URL.canParse(request.url);
    if (hasHost && path.startsWith(`${AUTH_PATH}/`)) return auth.fetch(request, { address, isOverTls: isSecure });
    const callAdmin = (asked: Request) => admin.fetch(asked, address, isSecure);
    if (hasHost && (path === UNSUBSCRIBE_PATH || path.startsWith(`${CONSOLE_PATH}/`))) {
      try {
        if (path !== UNSUBSCRIBE_PATH) return await pages.fetch(request, isSecure);
        return withSecurityHeaders(await answerUnsubscribe(request, callAdmin), isSecure);
      } catch (thrown) {
        const failure = asTurnpikeError(thrown);
        if (failure.status >= 500) observers.log.writeEvent('console_failure', { cause: describeFailure(thrown) });
        return withSecurityHeaders(refuse(failure, request, connection), isSecure);
      }
    }
    if (hasHost) return withSecurityHeaders(await callAdmin(request), isSecure);
    const noHost = new TurnpikeError('invalid_request', 'host: must be a host name, with an optional port');
    return withSecurityHeaders(refuse(noHost, request, connection), isSecure);
  };
  return {
    onMessagePort(request, connection) {
      const path = pathOf(request.url);
      return isForOperator(request, path) && !hasAdminPort()
        ? answerOperator(request, connection)
        : handlePublic(request, connection, dependencies, path);
    },
    onAdminPort(request, connection) {
      const path = pathOf(request.url);
      if (isForOperator(request, path)) return answerOperator(request, connection);
      if (PROBES.has(path)) return handlePublic(request, connection, dependencies, path);
      return refuse(
        new TurnpikeError('route_not_found', 'Only the admin API is served on this port.'),
        request,
        connection,
      );
    },
  };
}

function isForOperator(request: Request, path: string): boolean {
  // Browsers at the address of the service; API clients get a 404.
  if (path === '/')
    return ['GET', 'HEAD'].includes(request.method) && /\btext\/html\b/.test(request.headers.get('accept') ?? '');
  if (path === METRICS_PATH || path === WEBHOOK_PATH || path === UNSUBSCRIBE_PATH) return true;
  return isWithin(path, ADMIN_PATH) || isWithin(path, CONSOLE_PATH);
}

function isWithin(path: string, parent: string): boolean {
  return path.startsWith(parent) && (path.length === parent.length || path[parent.length] === '/');
}

function refuseRequest(failure: TurnpikeError, request: Request, address: string, observers: Observers): Response {
  const receivedAtMs = observers.clock.nowMs();
  const requestId = newRequestId(receivedAtMs);
  const { method } = request;
  const facts = { requestId, receivedAtMs, durationMs: 0, method, path: pathOf(request.url), address };
  reportAnswer(observers, { ...facts, status: failure.status, clientRequest: null, failure });
  return errorResponse(failure, requestId);
}
