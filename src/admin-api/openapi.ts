// The OpenAPI document, made of the schemas that check the input. It is public.

import { z } from '@hono/zod-openapi';
import { type AdminApp, OPENAPI_PATH } from './admin-app.ts';
import type { AdminDependencies } from './dependencies.ts';

/** Call last: describes the routes added before. */
export function addOpenapi(app: AdminApp, { version }: AdminDependencies): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of the installation (operator, viewer) or of one account (owner, member).',
  });
  app.openAPIRegistry.registerPath({
    operationId: 'openapi-show',
    summary: 'Retrieve this document',
    tags: ['openapi'],
    security: [],
    method: 'get',
    path: OPENAPI_PATH,
    responses: {
      200: {
        description: 'This document; no authentication required',
        content: { 'application/json': { schema: z.looseObject({}) } },
      },
    },
  });
  let text: string | null = null; // made on first use: most processes never need it
  app.get(OPENAPI_PATH, (context) => {
    text ??= JSON.stringify(describe(app, version));
    return context.body(text, 200, { 'content-type': 'application/json' });
  });
}

function describe(app: AdminApp, version: string): object {
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Turnpike admin API',
      version,
      description:
        'Manages the accounts, keys, tokens, credit, usage, catalog and audit log of a Turnpike installation.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
  });
}
