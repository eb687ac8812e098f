// The application that the resources add their routes to: what is checked before any of them, in
// order (request id, token, body), and how every failure is answered. It never sends CORS headers.

import { OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { AuditRecord } from '../audit/audit.ts';
import { formatId, newRequestId } from '../base/ids.ts';
import { type Fault, formatFault } from '../catalog/catalog.ts';
import { bounds } from '../config.ts';
import { asTurnpikeError, TurnpikeError } from '../errors.ts';
import { refuseCrossSite } from '../http/http.ts';
import { AccountLines } from './account-lines.ts';
import type { AdminDependencies } from './dependencies.ts';
import { installation, type Principal, roleRefusal } from './principal.ts';
import { readJsonBody } from './read-json-body.ts';

export const OPENAPI_PATH = '/api/v1/openapi.json';

/** Asked by those who have nothing to show yet: what they are told, they know or may know. */
const OPEN = new Set([OPENAPI_PATH, '/api/v1/sign-in', '/api/v1/invitations/show', '/api/v1/invitations/accept']);

export interface AdminEnvironment {
  /** From where the request came, through trusted proxies. */
  Bindings: { address: string; isOverTls: boolean };
  /**
   * `failure` is set where the answer is an error, `records` where a change leaves some; `since` within a turn: the epoch of the
   * store that its change is decided at, null where there is none.
   */
  Variables: {
    requestId: string;
    principal: Principal;
    /** To be set with the answer, of whoever is signed in by one. */
    cookies?: readonly string[];
    failure?: TurnpikeError;
    records?: readonly AuditRecord[];
    since: number | null;
  };
}
export type AdminApp = OpenAPIHono<AdminEnvironment>;

/** An application without resources, under /api/v1. */
export function makeAdminApp(dependencies: AdminDependencies): AdminApp {
  const lines = new AccountLines();
  const app = new OpenAPIHono<AdminEnvironment>({
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(faultsOf(result.error));
    },
  });
  app.use(async (context, next) => {
    const startedMs = dependencies.clock.nowMs();
    const requestId = newRequestId(startedMs);
    context.set('requestId', requestId);
    await next();
    tellAnswered(dependencies, context, startedMs);
    context.header('request-id', requestId);
    for (const cookie of context.get('cookies') ?? []) context.header('set-cookie', cookie, { append: true });
    context.header('cache-control', 'no-store'); // balances, and a key's secret at its creation
  });
  app.use(async (context, next) => {
    if (OPEN.has(context.req.path)) {
      if (context.req.method === 'POST')
        context.req.raw = await readJsonBody(context.req.raw, bounds.signInBodyBytesMax);
      return next();
    }
    const principal = await authenticateEither(dependencies, context);
    context.set('principal', principal);
    const { id, accountId } = principal;
    using _turn = accountId === null ? null : await lines.enter(accountId, id);
    if (!['GET', 'HEAD'].includes(context.req.method)) {
      await refuseDisabled(dependencies, principal);
      const bytesMax = accountId === null ? bounds.adminBodyBytesMax : bounds.accountBodyBytesMax;
      context.req.raw = await readJsonBody(context.req.raw, bytesMax);
    }
    await next();
  });
  app.notFound((context) => answerError(noRoute(app, context), context));
  app.onError((thrown, context) => {
    const error = asTurnpikeError(thrown);
    context.set('failure', error);
    if (error.status >= 500) dependencies.report(context.get('requestId'), thrown);
    return answerError(error, context);
  });
  return app;
}

function tellAnswered(dependencies: AdminDependencies, context: Context<AdminEnvironment>, startedMs: number): void {
  const failure = context.get('failure');
  dependencies.answered({
    requestId: context.get('requestId'),
    method: context.req.method,
    path: context.req.path,
    status: context.res.status,
    code: failure?.code ?? null,
    address: context.env.address,
    actor: (context.get('principal') as Principal | undefined)?.id ?? null,
    durationMs: dependencies.clock.nowMs() - startedMs,
    records: failure === undefined ? (context.get('records') ?? []) : [],
  });
}

/** A 400 that carries every fault; its message is the first. */
export function invalidRequest(faults: readonly Fault[]): TurnpikeError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new TurnpikeError(
    'invalid_request',
    `${first === undefined ? 'The request is wrong' : formatFault(first)}${more}`,
    { members: { faults } },
  );
}

/** Throws token_missing, token_invalid, too_many_failures or role_not_allowed unless the request shows a token of the installation itself. */
export async function requireInstallation(
  dependencies: AdminDependencies,
  request: Request,
  address: string,
): Promise<void> {
  const principal = await authenticate(dependencies, request.headers.get('authorization') ?? undefined, address);
  if (principal.accountId !== null) throw roleRefusal(principal, installation);
}

/** A token wins: programs of somebody who is signed in show one all the same. */
async function authenticateEither(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
): Promise<Principal> {
  const { sessions } = dependencies;
  const { address, isOverTls } = context.env;
  const { headers } = context.req.raw;
  const [authorization, cookie] = [headers.get('authorization') || undefined, headers.get('cookie')];
  if (authorization !== undefined || !sessions?.hasCookie(cookie, isOverTls))
    return authenticate(dependencies, authorization, address);
  refuseCrossSite(context.req.raw, sessions.publicOrigin);
  const found = await sessions.find(cookie, isOverTls);
  const person = found && (await dependencies.people.findPersonByEmail(found.email));
  if (person?.status !== 'enabled')
    throw new TurnpikeError('token_invalid', 'You are not signed in any more: sign in again.');
  context.set('cookies', found?.cookies ?? []);
  const { id, role, accountId } = person;
  return { id: formatId('person', id), role, accountId, expiresAtMs: null };
}

/** Guessing is slowed down by what a wrong token is answered with: one that is right is never refused. */
async function authenticate(
  dependencies: AdminDependencies,
  authorization: string | undefined,
  address: string,
): Promise<Principal> {
  const token = /^Bearer +(\S+) *$/i.exec(authorization ?? '')?.[1];
  if (token === undefined)
    throw new TurnpikeError('token_missing', 'This needs the header "authorization: Bearer <token>".');
  const principal = await dependencies.verifyToken(token);
  if (principal !== null) return principal;
  throw (
    dependencies.countFailure(address) ??
    new TurnpikeError('token_invalid', 'The token is not known to this installation, has expired or was revoked.')
  );
}

/** Whoever holds a disabled account may look at it, and change nothing. */
async function refuseDisabled({ accounts }: AdminDependencies, { accountId }: Principal): Promise<void> {
  if (accountId === null) return;
  const account = await accounts.getAccount(accountId);
  if (account?.status === 'enabled') return;
  throw new TurnpikeError('role_not_allowed', 'The account of this token is disabled: it may be read, not changed.');
}

function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code !== 'unrecognized_keys') return [{ path, message: wordsOf(issue) }];
    return issue.keys.map((key) => ({ path: [...path, key], message: 'there is no such member' }));
  });
}

function wordsOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'invalid_type') return issue.message;
  if (issue.input === undefined && issue.message.endsWith('received undefined')) return 'is required';
  return issue.message.startsWith('Invalid input') ? `must be ${issue.expected}` : issue.message;
}

function answerError(error: TurnpikeError, context: Context<AdminEnvironment>): Response {
  const requestId = context.get('requestId');
  const headers = { 'content-type': 'application/json', ...error.headers() };
  return new Response(error.body(requestId), { status: error.status, headers });
}

/** 405 with `allow` where the path is one of ours under another method, else 404. */
function noRoute(app: AdminApp, context: Context<AdminEnvironment>): TurnpikeError {
  const path = new URL(context.req.url).pathname;
  const methods = app.routes
    .filter((route) => route.method !== 'ALL' && matches(route.path, path))
    .map((route) => route.method);
  if (methods.length === 0) return new TurnpikeError('route_not_found', `There is no ${path}.`);
  const allow = [...new Set(methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ');
  return new TurnpikeError('method_not_allowed', `${path} takes ${allow}.`, { headers: { allow } });
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith(':') ? given[at] !== '' : part === given[at]))
  );
}
