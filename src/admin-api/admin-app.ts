// The Hono application of the admin API: checks before every route, in order (request id, token, body), and error
// responses. Never sends CORS headers.

import { OpenAPIHono, type z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import type { Account } from '../accounts/accounts.ts';
import type { Actor, AuditRecord } from '../audit/audit.ts';
import { FairQueue, type QueueBounds } from '../base/fair-queue.ts';
import { formatId, type IdKind, newRequestId, parseId } from '../base/ids.ts';
import { type Fault, formatFault } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { asTurnpikeError, overloaded, TurnpikeError } from '../errors.ts';
import { compressJson, parseJsonObject, readBounded, refuseCrossSite } from '../http/http.ts';
import { scanJson } from '../wire/wire.ts';
import { authenticate } from './authenticate.ts';
import { CONSENT_PATH, refuseWithoutConsent } from './consent-state.ts';
import { type AdminDependencies, listChain, type Principal, sharesBoundsOf } from './dependencies.ts';

/** Requests of an account that run at a time: a few in all, fewer of one token. */
export class AccountConcurrency {
  readonly #queues = new Map<number, FairQueue<string>>();

  get size(): number {
    return this.#queues.size;
  }

  /** Resolves when the request may run, until the result is disposed. Rejects with overloaded if too many wait. */
  async enter(accountId: number, token: string): Promise<Disposable> {
    const queue = this.#queues.get(accountId) ?? new FairQueue(ACCOUNT_BOUNDS, tooManyOfAccount);
    this.#queues.set(accountId, queue);
    const turn = await queue.enter(token);
    return {
      [Symbol.dispose]: () => {
        turn[Symbol.dispose]();
        if (queue.size === 0) this.#queues.delete(accountId);
      },
    };
  }
}

const ACCOUNT_BOUNDS: QueueBounds = {
  running: bounds.adminAnswersPerAccountMax,
  runningPerOwner: bounds.adminAnswersPerTokenMax,
  tasks: bounds.adminAnswersPerAccountMax + bounds.adminWaitingPerAccountMax,
  tasksPerOwner: bounds.adminAnswersPerTokenMax + bounds.adminWaitingPerTokenMax,
};

const tooManyOfAccount = () => overloaded('Too many requests of this account are waiting. Try again shortly.');

/**
 * The request with its body read and validated as one JSON object. Throws body_too_large, content_type_unsupported,
 * invalid_json, invalid_request.
 */
async function readJsonBody(request: Request, bytesMax: number): Promise<Request> {
  const text = await readJsonText(request, bytesMax, JSON_TYPE, 'application/json');
  const headers = new Headers(request.headers);
  headers.set('content-type', 'application/json');
  headers.delete('content-length');
  return new Request(request.url, { method: request.method, headers, body: text === '' ? '{}' : text });
}

const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

/** The text of one JSON object of one of these types; empty without a body. Throws as readJsonBody. */
export async function readJsonText(
  request: Request,
  bytesMax: number,
  types: RegExp,
  typeWords: string,
): Promise<string> {
  const text = decode(await readBounded(request, bytesMax)).trim();
  if (text === '') return text;
  checkContentType(request.headers, types, typeWords);
  scanJson(text); // JSON.parse would silently take the last of duplicate members
  parseJsonObject(text);
  return text;
}

function checkContentType(headers: Headers, types: RegExp, typeWords: string): void {
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity')
    throw new TurnpikeError(
      'content_type_unsupported',
      'Compressed bodies are not accepted: send the body uncompressed.',
    );
  if (!types.test(headers.get('content-type') ?? ''))
    throw new TurnpikeError('content_type_unsupported', `content-type: must be ${typeWords}.`);
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new TurnpikeError('invalid_json', 'The body is not valid UTF-8.', { cause });
  }
}

export const OPENAPI_PATH = '/api/v1/openapi.json';

/** Routes without authentication: they return only what is public. */
const OPEN = new Set([
  OPENAPI_PATH,
  '/api/v1/sign-in',
  '/api/v1/invitations/show',
  '/api/v1/invitations/accept',
  '/api/v1/sign-ups',
  '/api/v1/sign-ups/accept',
  '/api/v1/password-resets',
  '/api/v1/password-resets/accept',
  '/api/v1/unsubscribe',
  '/api/v1/public/terms',
  '/api/v1/public/landing',
  '/api/v1/public/models',
  '/api/v1/public/status',
]);

/** Routes whose body is CSV, which their handlers read: it may be too large for memory. */
const CSV_PATH = /^\/api\/v1\/provider-bill-sources\/[^/]+\/import$/;

export interface AdminEnvironment {
  /** The client's IP address, through trusted proxies. */
  Bindings: { address: string; isOverTls: boolean };
  /**
   * `failure` is set for error responses, `records` for changes; `since`: the epoch that a change is based on, null
   * without one.
   */
  Variables: {
    requestId: string;
    principal: Principal;
    /** The actor of changes, if it is not the principal. */
    actor?: Pick<Actor, 'id' | 'role'>;
    /** Cookies to set with the response. */
    cookies?: readonly string[];
    failure?: TurnpikeError;
    records?: readonly AuditRecord[];
    since: number | null;
  };
}
export type AdminApp = OpenAPIHono<AdminEnvironment>;

/** The application without routes, under /api/v1. */
export function makeAdminApp(dependencies: AdminDependencies): AdminApp {
  const lines = new AccountConcurrency();
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
    reportAnswered(dependencies, context, startedMs);
    context.header('request-id', requestId);
    for (const cookie of context.get('cookies') ?? []) context.header('set-cookie', cookie, { append: true });
    if (!context.res.headers.has('cache-control')) context.header('cache-control', 'no-store'); // for balances, and the secret of a new key
    // No GET has a secret in its answer, which its length could give away beside a parameter of the request.
    context.res = await compressJson(context.req.raw, context.res);
  });
  app.use(async (context, next) => {
    if (OPEN.has(context.req.path)) {
      if (context.req.method === 'POST')
        context.req.raw = await readJsonBody(context.req.raw, bounds.signInBodyBytesMax);
      return next();
    }
    const found = await authenticateEither(dependencies, context);
    const { id, accountId } = found;
    const chain = accountId === null ? [] : await listChain(dependencies.accounts, accountId);
    const principal: Principal = { ...found, topId: chain.at(-1)?.id ?? accountId };
    context.set('principal', principal);
    using _turn = accountId === null ? null : await lines.enter(sharesBoundsOf(principal) ?? accountId, id);
    if (!['GET', 'HEAD'].includes(context.req.method)) {
      if (accountId !== null && context.req.path !== CONSENT_PATH) refuseDisabled(chain);
      if (context.req.method === 'POST' && CSV_PATH.test(context.req.path)) return next();
      const bytesMax = accountId === null ? bounds.adminBodyBytesMax : bounds.accountBodyBytesMax;
      context.req.raw = await readJsonBody(context.req.raw, bytesMax);
    }
    await next();
  });
  app.use(async (context, next) => {
    if (isOtherMethod(app, context)) throw noRoute(app, context);
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

export function reportAnswered(
  dependencies: AdminDependencies,
  context: Context<AdminEnvironment>,
  startedMs: number,
): void {
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

/** A 400 with all faults; its message is the first one. */
export function invalidRequest(faults: readonly Fault[]): TurnpikeError {
  const [first] = faults;
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : '';
  return new TurnpikeError(
    'invalid_request',
    `${first === undefined ? 'The request is invalid' : formatFault(first)}${more}`,
    { members: { faults } },
  );
}

/** A 400 with one fault. */
export function invalidMember(member: string, message: string): TurnpikeError {
  return invalidRequest([{ path: [member], message }]);
}

/** A 404, also for an object that the principal may not see. */
export function noObject(kind: string, name: string): TurnpikeError {
  return new TurnpikeError('object_not_found', `There is no ${kind} "${name}".`);
}

/** The object with this id, unless `isSeen` is false for it. Throws object_not_found. */
export async function findObject<Row>(
  kind: IdKind,
  noun: string,
  id: string,
  get: (number: number) => Promise<Row | null>,
  isSeen: (row: Row) => boolean | Promise<boolean> = () => true,
): Promise<Row> {
  const number = parseId(kind, id);
  const row = number === null ? null : await get(number);
  if (row === null || !(await isSeen(row))) throw noObject(noun, id);
  return row;
}

/** A token takes precedence over a session. */
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
  if (found === null) throw new TurnpikeError('token_invalid', 'Your session has ended: sign in again.');
  context.set('cookies', found.cookies);
  if (context.req.path !== CONSENT_PATH) refuseWithoutConsent(found.person, dependencies.catalog.current().settings);
  const { id, role, accountId } = found.person;
  return { id: formatId('person', id), role, accountId, expiresAtMs: null, personId: id };
}

/** Owners of a disabled account, or of one below it, can read but not change it. */
function refuseDisabled(chain: readonly Account[]): void {
  if (chain.length > 0 && chain.every(({ status }) => status === 'enabled')) return;
  throw new TurnpikeError('role_not_allowed', 'The account of this token is disabled: the token is read-only.');
}

function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
    if (issue.code !== 'unrecognized_keys') return [{ path, message: wordsOf(issue) }];
    return issue.keys.map((key) => ({ path: [...path, key], message: 'unknown member' }));
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

/** The path has routes of its own, such as /payments/check, and none for the method: the path is not an object's id either. */
function isOtherMethod(app: AdminApp, context: Context<AdminEnvironment>): boolean {
  const { path, method } = context.req;
  const own = app.routes.filter((route) => route.path === path && route.method !== 'ALL');
  return own.length > 0 && !own.some((route) => route.method === (method === 'HEAD' ? 'GET' : method));
}

/** 405 with `allow` if the path has another method, else 404. */
function noRoute(app: AdminApp, context: Context<AdminEnvironment>): TurnpikeError {
  const path = new URL(context.req.url).pathname;
  const routes = app.routes.filter((route) => route.method !== 'ALL' && matches(route.path, path));
  // A path of its own is not also an object of the path with a parameter.
  const own = routes.filter((route) => route.path === path);
  const methods = (own.length > 0 ? own : routes).map((route) => route.method);
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
