// Selects the API for a request, by path and port.

import { type AdminApi, isSlowPath, SCIM_PATH } from '../admin-api/admin-api.ts';
import { bounds } from '../config/config.ts';
import { CONSOLE_PATH, type Console } from '../console/console.ts';
import { type ErrorCode, TurnpikeError } from '../errors.ts';
import {
  type Connection,
  clientAddress,
  type Exchanged,
  exchange,
  findHeadFault,
  isOverTls,
  pathOf,
  type ServeOptions,
  type SharedHeaders,
  securityHeaders,
  shareHeaders,
  withSecurityHeaders,
} from '../http/http.ts';
import { describeFailure, type LogEvent } from '../observability/observability.ts';
import { handlePublic, type PublicDependencies } from '../public-api/public-api.ts';
import { AUTH_PATH, type ConsoleAuth } from '../sign-in/sign-in.ts';
import { type Observers, reportAnswer } from './observe.ts';
import { type PaymentWebhook, WEBHOOK_PATH } from './payment-webhook.ts';
import { answerUnsubscribe, UNSUBSCRIBE_PATH } from './unsubscribe.ts';

const METRICS_PATH = '/metrics';

async function answerMetrics(
  { request, address }: Asked,
  requestId: string,
  admin: AdminApi,
  metrics: Observers['metrics'],
) {
  if (!['GET', 'HEAD'].includes(request.method))
    throw new TurnpikeError('method_not_allowed', `${METRICS_PATH} accepts only GET.`, {
      headers: { allow: 'GET, HEAD' },
    });
  await admin.requireInstallation(request, address);
  const headers = { 'content-type': metrics.contentType, 'cache-control': 'no-store', 'request-id': requestId };
  return new Response(await metrics.scrape(), { headers });
}

const ADMIN_PATH = '/api/v1';
/** Sends files while they are made. */
const FILE_PATH = `${ADMIN_PATH}/exports/file`;
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

/** A request that is not for the public API. */
interface Asked {
  request: Request;
  connection: Connection;
  path: string;
  /** The client's, through trusted proxies. */
  address: string;
  isOverTls: boolean;
}

/** Handlers of the message port and the admin port. `hasAdminPort` is called for each request. */
export function routeRequests(
  dependencies: PublicDependencies,
  parts: OperatorParts,
  observers: Observers,
  hasAdminPort: () => boolean,
): { onMessagePort: Handle; onAdminPort: Handle } {
  const askedOf = (request: Request, connection: Connection, path: string): Asked => ({
    request,
    connection,
    path,
    address: clientAddress(connection.address, request.headers, dependencies.trustedProxies),
    isOverTls: isOverTls(connection, request.headers, dependencies.trustedProxies),
  });
  return {
    onMessagePort(request, connection) {
      const path = pathOf(request.url);
      return isForOperator(request, path) && !hasAdminPort()
        ? withoutIdleLimit(connection, path, () => answerOperator(askedOf(request, connection, path), parts, observers))
        : handlePublic(request, connection, dependencies, path);
    },
    onAdminPort(request, connection) {
      const path = pathOf(request.url);
      if (PROBES.has(path)) return handlePublic(request, connection, dependencies, path);
      const asked = askedOf(request, connection, path);
      return isForOperator(request, path)
        ? withoutIdleLimit(connection, path, () => answerOperator(asked, parts, observers))
        : refuse(asked, observers, 'route_not_found', 'Only the admin API is served on this port.');
    },
  };
}

/** The runtime would end a connection on which nothing is sent for long. These routes have bounds of their own. */
async function withoutIdleLimit(connection: Connection, path: string, answer: () => Promise<Response>) {
  if (!isSlowPath(path)) return answer();
  connection.setIdleSeconds(0);
  try {
    return await answer();
  } finally {
    connection.setIdleSeconds(bounds.keepAliveIdleSecondsMax);
  }
}

/** Never rejects. */
async function answerOperator(asked: Asked, parts: OperatorParts, observers: Observers): Promise<Response> {
  const { request, path, isOverTls } = asked;
  const fault = findHeadFault(request.headers);
  if (fault !== null) return refuse(asked, observers, 'invalid_request', fault);
  if (URL.canParse(request.url)) {
    if (path.startsWith(`${AUTH_PATH}/`)) return parts.auth.fetch(request, asked);
    if (path.startsWith(`${CONSOLE_PATH}/`))
      return answerPage(asked, observers, () => parts.console.fetch(request, isOverTls));
  }
  return withSecurityHeaders(await answerElse(asked, parts, observers), isOverTls);
}

/** Answers without security headers of their own. */
function answerElse(
  asked: Asked,
  { admin, webhook }: OperatorParts,
  observers: Observers,
): Response | Promise<Response> {
  const { request, path, address } = asked;
  if (path === METRICS_PATH)
    return run(asked, observers, (requestId) => answerMetrics(asked, requestId, admin, observers.metrics));
  if (path === WEBHOOK_PATH && webhook !== null)
    return run(asked, observers, (requestId) => webhook.answer(request, address, requestId), 'payment_event_failed');
  const page = path === CONSOLE_PATH ? '/' : path;
  if (PAGES.has(page))
    return new Response(null, {
      status: 302,
      headers: { location: `${CONSOLE_PATH}${page}`, 'cache-control': 'no-store' },
    });
  // Without a host there is no whole URL, which the other routes need.
  if (!URL.canParse(request.url))
    return refuse(asked, observers, 'invalid_request', 'host: must be a host name, with an optional port');
  const callAdmin = (sent: Request) => admin.fetch(sent, address, asked.isOverTls);
  if (path === FILE_PATH) return keepOpen(asked.connection, () => callAdmin(request));
  return path === UNSUBSCRIBE_PATH
    ? answerPage(asked, observers, () => answerUnsubscribe(request, callAdmin))
    : callAdmin(request);
}

/** A file may take minutes until its next bytes, during which the socket is idle. The admin API bounds how long a client may pause. */
async function keepOpen(connection: Connection, answer: () => Response | Promise<Response>): Promise<Response> {
  connection.setIdleSeconds(0);
  const restore = () => connection.setIdleSeconds(bounds.keepAliveIdleSecondsMax);
  let response: Response;
  try {
    response = await answer();
  } catch (failure) {
    restore();
    throw failure;
  }
  const reader = response.body?.getReader();
  if (reader === undefined) restore();
  if (reader === undefined) return response;
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) restore();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, response);
}

/** Pages for everyone, which are within the console. */
const PAGES: ReadonlySet<string> = new Set(['/', '/pricing', '/status']);

function isForOperator(request: Request, path: string): boolean {
  // Browsers at the address of the service; API clients get a 404.
  if (PAGES.has(path))
    return ['GET', 'HEAD'].includes(request.method) && /\btext\/html\b/.test(request.headers.get('accept') ?? '');
  if (path === METRICS_PATH || path === WEBHOOK_PATH || path === UNSUBSCRIBE_PATH) return true;
  return isWithin(path, ADMIN_PATH) || isWithin(path, CONSOLE_PATH) || path.startsWith(`${SCIM_PATH}/`);
}

function isWithin(path: string, parent: string): boolean {
  return path.startsWith(parent) && (path.length === parent.length || path[parent.length] === '/');
}

type Answer = (requestId: string) => Response | Promise<Response>;

/** The `event` is logged for a failure of the service. */
function run(asked: Asked, observers: Observers, answer: Answer, event?: LogEvent): Promise<Response> {
  const report = (exchanged: Exchanged) => reportExchange(observers, asked, exchanged, event);
  return exchange(observers.clock.nowMs, answer, report, headersOf(asked));
}

/** Only a failure is reported. */
function answerPage(asked: Asked, observers: Observers, answer: Answer): Promise<Response> {
  const report = (exchanged: Exchanged) =>
    exchanged.failure !== null && reportExchange(observers, asked, exchanged, 'console_failure');
  return exchange(observers.clock.nowMs, answer, report, headersOf(asked));
}

function refuse(asked: Asked, observers: Observers, code: ErrorCode, message: string): Promise<Response> {
  return run(asked, observers, () => {
    throw new TurnpikeError(code, message);
  });
}

function headersOf({ isOverTls }: Asked): SharedHeaders {
  return shareHeaders(securityHeaders('other', isOverTls));
}

function reportExchange(
  observers: Observers,
  { request: { method }, path, address }: Asked,
  { thrown, ...exchanged }: Exchanged,
  event?: LogEvent,
): void {
  if (event !== undefined && exchanged.status >= 500)
    observers.log.writeEvent(event, { request_id: exchanged.requestId, cause: describeFailure(thrown) });
  reportAnswer(observers, { ...exchanged, method, path, address, clientRequest: null });
}
