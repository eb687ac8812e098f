// What every route has beside its own words: the roles that may call it, checked before its input
// is, and the errors that it may answer with, as the OpenAPI document tells them.

import { createRoute, type RouteConfig, z } from '@hono/zod-openapi';
import type { MiddlewareHandler } from 'hono';
import type { Role } from '../accounts/accounts.ts';
import type { AdminEnvironment } from './admin-app.ts';
import { roleRefusal } from './principal.ts';

/** Of a body read while it comes; of the idempotency key of a creation. */
const BODY_ERRORS = { 408: 'The body did not come in time', 413: 'Body too large', 415: 'Not JSON, or compressed' };
const CREATION_ERRORS = { 409: 'In conflict with what stands', 422: 'The idempotency key came with another request' };
const ERRORS = {
  401: 'The token is missing, unknown, expired or revoked',
  403: 'The role of the token may not do this',
  429: 'Too many failed authentications from this address',
  500: 'Something failed inside the service',
  503: 'The store cannot be reached at the moment, or the service is shutting down',
  529: 'Too much is asked at once',
};

export const errorSchema = z
  .object({
    type: z.literal('error'),
    error: z.looseObject({
      type: z.string(),
      code: z.string().openapi({ description: 'What scripts branch on; see docs/errors.md.' }),
      message: z.string(),
      details: z.object({ error_code: z.string() }),
    }),
    request_id: z.string(),
  })
  .openapi('Error');

const idempotencyHeader = z.object({
  'idempotency-key': z
    .string()
    .optional()
    .openapi({ description: 'The same key and body within 24 hours make one object, and get the answer again.' }),
});

type Definition = Omit<RouteConfig, 'path'> & {
  path: string;
  roles: readonly Role[];
  /** It makes something: it takes `idempotency-key`. */
  isCreation?: boolean;
};

/** A route for the roles that it names. */
export function defineRoute<const Route extends Definition>(definition: Route) {
  const { roles, isCreation = false, ...route } = definition;
  const asked = isCreation ? { ...route.request, headers: idempotencyHeader } : route.request;
  const config = {
    ...route,
    ...(asked === undefined ? {} : { request: asked }),
    security: [{ token: [] }],
    'x-roles': [...roles],
    middleware: requireRole(roles),
    responses: { ...errorAnswers(definition, isCreation), ...route.responses },
  };
  return createRoute(config as unknown as Route);
}

function requireRole(roles: readonly Role[]): MiddlewareHandler<AdminEnvironment> {
  return async (context, next) => {
    const principal = context.get('principal');
    if (!roles.includes(principal.role)) throw roleRefusal(principal, roles);
    await next();
  };
}

function errorAnswers({ path, request, method }: Definition, isCreation: boolean): RouteConfig['responses'] {
  const takesInput = request?.query !== undefined || request?.body !== undefined;
  const isNamed = path.includes('{') || request?.query !== undefined;
  const words = {
    ...(takesInput || isCreation ? { 400: 'The request is wrong; `error.faults` has every fault' } : {}),
    ...ERRORS,
    ...(isNamed ? { 404: 'There is no such object, or it is not yours' } : {}),
    ...(method === 'get' ? {} : { ...BODY_ERRORS, 409: CREATION_ERRORS[409] }),
    ...(isCreation ? CREATION_ERRORS : {}),
  };
  return Object.fromEntries(
    Object.entries(words).map(([status, description]) => [
      status,
      { description, content: { 'application/json': { schema: errorSchema } } },
    ]),
  );
}
