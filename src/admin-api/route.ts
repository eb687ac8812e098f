// Defines a route: its roles, which are checked before the input, its input, answer and errors in the OpenAPI document,
// and its handler.

import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler } from 'hono';
import type { Role } from '../accounts/accounts.ts';
import { bounds } from '../config/config.ts';
import type { AdminApp, AdminEnvironment } from './admin-app.ts';
import type { WithChangeLock } from './changes.ts';
import { type AdminDependencies, type Principal, refuseFormer, roleRefusal } from './dependencies.ts';
import { requestIdField } from './fields.ts';
import { type PageResponse, pageQuery } from './pages.ts';
import { hiddenFrom, refuseHidden, type Strip, stripperOf } from './visibility.ts';

const ERRORS = {
  400: 'The request is invalid; `error.faults` lists all faults',
  401: 'The token is missing, unknown, expired or revoked',
  403: 'The role of the token is not allowed to do this, the account is disabled, the person must set up a second factor first, or the request comes from a page of another site',
  404: 'The object does not exist, or the token may not see it',
  413: 'The body is too large',
  415: 'The body is not of the type that the route takes, or is compressed',
  422: 'The idempotency key was used for a different request',
  429: 'Too many invalid tokens or links from this address, of which valid ones are never refused, too many wrong redemption codes, or too many reads of public pages',
  500: 'An internal error',
  503: 'The store is unavailable',
  529: 'The service is overloaded',
};

export const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.object({
      type: z.string(),
      code: z.string().describe('The error code for programs; see docs/errors.md.'),
      message: z.string().describe('A message for people; its text may change.'),
      faults: z
        .array(z.object({ path: z.array(z.union([z.string(), z.int()])), message: z.string() }))
        .optional()
        .describe('All faults of the request, each with its path.'),
      details: z.object({ error_code: z.string() }),
    }),
    request_id: requestIdField,
  })
  .openapi('Error');

const idempotencyHeader = z.object({
  'idempotency-key': z.string().optional().openapi({
    description: 'Requests with the same key and body within 24 hours create one object and get the same answer.',
    pattern: '^[!-~]+$',
    minLength: 1,
    maxLength: bounds.idempotencyKeyCharactersMax,
  }),
});

/** The request that a handler answers, with the dependencies of the admin API. */
export interface Call<Params = unknown, Query = unknown, Body = unknown> extends AdminDependencies {
  context: Context<AdminEnvironment>;
  /** Absent for routes without authentication. */
  principal: Principal;
  /** Runs a change under the change lock. */
  changeInTurn<Value>(change: () => Promise<Value>): Promise<Value>;
  params: Params;
  query: Query;
  body: Body;
}

/** A call whose body has this schema. */
export type CallWith<Body extends z.ZodType> = Call<unknown, unknown, z.output<Body>>;

type Roles = readonly Role[] | 'anyone';

interface Input<Params, Query, Body> {
  params?: Params;
  /** Members of the query. Absent: the query is not read. */
  query?: Query;
  body?: Body;
  /** The body is CSV, which the handler reads from the request. `CSV_PATH` must match the path. */
  isCsv?: true;
  /** A read without authentication of which a network may have so many. */
  isLimited?: true;
  /** When it returns 409, if ever. */
  conflict?: string;
  /** When it returns 404, unless for an object in path or parameters. */
  notFound?: string;
  /** When it returns 502, if it calls another service. */
  badGateway?: string;
}

interface Definition<Params, Query extends z.ZodRawShape, Body, Answer> extends Input<Params, Query, Body> {
  /** Schema and description of the answer. */
  answer: readonly [Answer, string];
  /** The content types of a file, which `handle` returns as a Response. Absent: JSON. */
  fileTypes?: readonly string[];
  /** Creates an object: accepts `idempotency-key`, and returns 201. */
  isCreation?: true;
  /** Description of a 200 of a creation that added nothing. */
  repeated?: string;
  /** Operations that take the `id` of the answer. */
  links?: readonly string[];
  handle(
    call: Call<z.output<Params>, z.output<z.ZodObject<Query>>, z.output<Body>>,
  ): z.infer<Answer> | Promise<z.infer<Answer>>;
}

interface ListDefinition<Params, Query extends z.ZodRawShape, Row> extends Input<Params, Query, never> {
  /** Schema of a row and description of the page. */
  page: readonly [Row, string];
  /** Members of the page besides the rows and the cursor. */
  more?: z.ZodRawShape;
  handle(
    call: Call<z.output<Params>, z.output<z.ZodObject<Query & typeof pageQuery>>>,
  ): PageResponse<z.infer<Row>> | Promise<PageResponse<z.infer<Row>>>;
}

/** A definition without its type parameters. */
type AnyDefinition = Omit<Definition<z.ZodObject, z.ZodRawShape, z.ZodType, z.ZodType>, 'handle'> & {
  // biome-ignore lint/suspicious/noExplicitAny: each handler has types of its own
  handle(call: any): unknown;
};

export interface AdminRoute {
  config: RouteConfig & { path: string };
  handle: AnyDefinition['handle'];
  /** Removes what is hidden from account holders; null: the answer has nothing of it. */
  strip: Strip | null;
}

type Method = 'get' | 'post' | 'patch';

function makeDefine(method: Method) {
  /** `operationId` is resource and verb, "key-create"; `roles` are the allowed ones, or 'anyone' without authentication. */
  return <Params extends z.ZodType, Query extends z.ZodRawShape, Body extends z.ZodType, Answer extends z.ZodType>(
    path: string,
    operationId: string,
    summary: string,
    roles: Roles,
    definition: Definition<Params, Query, Body, Answer>,
  ): AdminRoute => defineRoute(method, path, operationId, summary, roles, definition as unknown as AnyDefinition);
}

export const get = makeDefine('get');
export const post = makeDefine('post');
export const patch = makeDefine('patch');

/** A list in pages: takes `limit` and `cursor` besides its own query. */
export function list<
  Params extends z.ZodType,
  Row extends z.ZodType,
  Query extends z.ZodRawShape = Record<never, never>,
>(
  path: string,
  operationId: string,
  summary: string,
  roles: Roles,
  { page: [row, description], more = {}, query, ...definition }: ListDefinition<Params, Query, Row>,
): AdminRoute {
  const answer = [z.object({ data: z.array(row), next_cursor: z.string().nullable(), ...more }), description] as const;
  const paged = { ...definition, query: { ...pageQuery, ...query }, answer };
  return defineRoute('get', path, operationId, summary, roles, paged as unknown as AnyDefinition);
}

function defineRoute(
  method: Method,
  path: string,
  operationId: string,
  summary: string,
  roles: Roles,
  definition: AnyDefinition,
): AdminRoute {
  const { params, query, body, isCsv, isCreation, handle, links, repeated, fileTypes } = definition;
  const [schema, description] = definition.answer;
  const answer = responseOf(description, schema, fileTypes);
  const config = {
    operationId,
    summary,
    method,
    path: `/api/v1${path}`,
    ...((params ?? query ?? body) !== undefined && {
      request: {
        ...(params && { params }),
        ...(query && { query: z.strictObject(query) }),
        ...(body && { body: jsonBody(body) }),
        ...(isCsv && { body: CSV_BODY }),
        ...(isCreation && { headers: idempotencyHeader }),
      },
    }),
    tags: [operationId.slice(0, operationId.lastIndexOf('-'))],
    ...(roles === 'anyone'
      ? { security: [] }
      : { security: [{ token: [] }], 'x-roles': [...roles], middleware: requireRole(roles) }),
    responses: {
      ...errorAnswers(method, path, roles, definition),
      ...(isCreation ? { 201: links ? { ...answer, links: linksById(links) } : answer } : { 200: answer }),
      ...(repeated && { 200: { ...answer, description: repeated } }),
    },
  };
  return { config: createRoute(config), handle, strip: stripperOf(schema) };
}

const CSV_BODY = { required: true, content: { 'text/csv': { schema: z.string() } } };

/** A JSON body. May be absent if an empty object is valid. */
function jsonBody(schema: z.ZodType) {
  const required = !schema.safeParse({}).success;
  return { required, content: { 'application/json': { schema } } };
}

/** Links from a response to operations that take its `id`. */
function linksById(operationIds: readonly string[]) {
  const parameters = { id: '$response.body#/id' };
  return Object.fromEntries(operationIds.map((operationId) => [operationId, { operationId, parameters }]));
}

export function addRoute(
  app: AdminApp,
  { config, handle, strip }: AdminRoute,
  dependencies: AdminDependencies,
  withChangeLock: WithChangeLock,
): void {
  const status = '201' in config.responses ? 201 : 200;
  app.openapi(config, async (context) => {
    const input = (target: string) => context.req.valid(target as never);
    context.status(status);
    const principal = context.get('principal') as Principal | undefined; // absent on open routes
    const hidden = hiddenFrom(dependencies, principal);
    const [query, body] = [input('query'), input('json')];
    refuseHidden(query, hidden);
    refuseHidden(body, hidden);
    const answer = await handle({
      ...dependencies,
      context,
      principal,
      async changeInTurn(change: () => Promise<unknown>) {
        return withChangeLock(context, async () => {
          if (principal !== undefined) await refuseFormer({ ...dependencies, principal });
          return change();
        });
      },
      params: input('param'),
      query,
      body,
    });
    if (strip === null || hidden.things.size === 0) return answer instanceof Response ? answer : context.json(answer);
    return context.json(strip(answer instanceof Response ? await answer.json() : answer, hidden));
  });
}

/** Every response has a request id. */
function responseOf(description: string, schema: z.ZodType, types: readonly string[] = ['application/json']) {
  const headers = z.object({ 'request-id': requestIdField });
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema }])), headers };
}

function requireRole(roles: readonly Role[]): MiddlewareHandler<AdminEnvironment> {
  return async (context, next) => {
    const principal = context.get('principal');
    if (!roles.some((role) => role === principal.role)) throw roleRefusal(principal, roles);
    await next();
  };
}

/** The errors that the route can return. */
function errorAnswers(method: Method, path: string, roles: Roles, definition: AnyDefinition): RouteConfig['responses'] {
  const { query, isCreation, isLimited, conflict, notFound, badGateway } = definition;
  const isChange = method !== 'get';
  const isOpen = roles === 'anyone';
  const namesObject =
    path.includes('{') || (query !== undefined && ['account', 'key', 'parent'].some((name) => name in query));
  const statuses = [
    ...(isChange || query !== undefined ? ([400] as const) : []),
    ...(isOpen ? [] : ([401, 403] as const)),
    ...(namesObject ? ([404] as const) : []),
    ...(isChange ? ([413, 415] as const) : []),
    ...(isCreation ? ([422] as const) : []),
    ...(isOpen && !isChange && !isLimited ? [] : ([429] as const)),
    500,
    503,
    529,
  ] as const;
  return {
    ...Object.fromEntries(statuses.map((status) => [status, responseOf(ERRORS[status], errorSchema)])),
    ...(conflict !== undefined && { 409: responseOf(conflict, errorSchema) }),
    ...(notFound !== undefined && { 404: responseOf(notFound, errorSchema) }),
    ...(badGateway !== undefined && { 502: responseOf(badGateway, errorSchema) }),
  };
}
