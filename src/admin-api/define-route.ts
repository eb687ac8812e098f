// What every route has beside its own words: the roles that may call it, checked before its input
// is, and the errors that it may answer with, as the OpenAPI document tells them.

import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Role } from '../accounts/accounts.ts';
import { bounds } from '../config.ts';
import type { AdminEnvironment } from './admin-app.ts';
import { requestIdField } from './answers.ts';
import { roleRefusal } from './principal.ts';

const ERRORS = {
  400: 'The request is wrong; `error.faults` has every fault',
  401: 'The token is missing, unknown, expired or revoked',
  403: 'The role of the token may not do this, its account is disabled, or a page of another site asks by a cookie',
  404: 'There is no such object, or it is not yours',
  413: 'Body too large',
  415: 'Not JSON, or compressed',
  422: 'The idempotency key came with another request',
  429: 'Too many wrong tokens or links came from this address; one that is right is never refused by it',
  500: 'Something failed inside the service',
  503: 'The store cannot be reached at the moment',
  529: 'Too much is asked at once',
};

export const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.object({
      type: z.string(),
      code: z.string().openapi({ description: 'What scripts branch on; see docs/errors.md.' }),
      message: z.string().openapi({ description: 'For people; it may change.' }),
      faults: z
        .array(z.object({ path: z.array(z.union([z.string(), z.int()])), message: z.string() }))
        .optional()
        .openapi({ description: 'Everything that is wrong with the request, each with its place.' }),
      details: z.object({ error_code: z.string() }),
    }),
    request_id: requestIdField,
  })
  .openapi('Error');

const idempotencyHeader = z.object({
  'idempotency-key': z.string().optional().openapi({
    description: 'The same key and body within 24 hours make one object, and get the answer again.',
    pattern: '^[!-~]+$',
    minLength: 1,
    maxLength: bounds.idempotencyKeyCharactersMax,
  }),
});

type Definition = Omit<RouteConfig, 'path' | 'tags'> & {
  path: string;
  /** Resource and verb, "key-create": the name of the function in a generated client. */
  operationId: string;
  /** What it does, in a few words. */
  summary: string;
  /** Who may call it; anyone: also who shows nothing. */
  roles: readonly Role[] | 'anyone';
  /** It makes something: it takes `idempotency-key`. */
  isCreation?: boolean;
  /** When it answers 409, where it ever does. */
  conflict?: string;
  /** When it answers 404, where that is of nothing that the path or a parameter names. */
  notFound?: string;
};

/** A route for the roles that it names. */
export function defineRoute<const Route extends Definition>(definition: Route) {
  const { roles, isCreation = false, conflict: _, notFound: __, ...route } = definition;
  const asked = isCreation ? { ...route.request, headers: idempotencyHeader } : route.request;
  const config = {
    ...route,
    ...(asked === undefined ? {} : { request: asked }),
    tags: [route.operationId.slice(0, route.operationId.indexOf('-'))],
    ...(roles === 'anyone'
      ? { security: [] }
      : { security: [{ token: [] }], 'x-roles': [...roles], middleware: requireRole(roles) }),
    responses: withHeaders({ ...errorAnswers(definition), ...route.responses }),
  };
  return createRoute(config as unknown as Route);
}

/** Every answer names its request. */
function withHeaders(responses: RouteConfig['responses']): RouteConfig['responses'] {
  const headers = z.object({ 'request-id': requestIdField });
  return Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [status, { ...(response as object), headers }]),
  ) as RouteConfig['responses'];
}

function requireRole(roles: readonly Role[]): MiddlewareHandler<AdminEnvironment> {
  return async (context, next) => {
    const principal = context.get('principal');
    if (!roles.includes(principal.role)) throw roleRefusal(principal, roles);
    await next();
  };
}

/** The errors that the route can answer with. */
function errorAnswers(definition: Definition): RouteConfig['responses'] {
  const { path, request, method, roles, isCreation = false, conflict, notFound } = definition;
  const isChange = method !== 'get';
  const isOpen = roles === 'anyone';
  const statuses = [
    ...(isChange || request?.query !== undefined ? ([400] as const) : []),
    ...(isOpen ? [] : ([401, 403] as const)),
    ...(namesObject(path, request) ? ([404] as const) : []),
    ...(isChange ? ([413, 415] as const) : []),
    ...(isCreation ? ([422] as const) : []),
    ...(isOpen && !isChange ? [] : ([429] as const)),
    500,
    503,
    529,
  ] as const;
  const words = [
    ...statuses.map((status) => [status, ERRORS[status]]),
    ...(conflict === undefined ? [] : [[409, conflict]]),
    ...(notFound === undefined ? [] : [[404, notFound]]),
  ];
  return Object.fromEntries(
    words.map(([status, description]) => [
      status,
      { description, content: { 'application/json': { schema: errorSchema } } },
    ]),
  );
}

/** Whether something is looked up by an id that the request gives: in the path, or to narrow a list. */
function namesObject(path: string, request: RouteConfig['request']): boolean {
  const asked = request?.query instanceof z.ZodObject ? Object.keys(request.query.shape) : [];
  return path.includes('{') || asked.includes('account') || asked.includes('key');
}
