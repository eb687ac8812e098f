// The OpenAPI document of this API, made of the schemas that check its input. It is the same for
// everyone, and readable without a token.

import { type RouteConfig, z } from '@hono/zod-openapi';
import { type AdminApp, OPENAPI_PATH } from './admin-app.ts';
import { jsonAnswer } from './answers.ts';
import type { AdminDependencies } from './dependencies.ts';

const showDocument: RouteConfig = {
  operationId: 'openapi-show',
  summary: 'Show this document',
  tags: ['openapi'],
  security: [],
  method: 'get',
  path: OPENAPI_PATH,
  responses: { 200: jsonAnswer(z.looseObject({}), 'This document, to anyone') },
};

/** Called last: it tells of the routes that were added before. */
export function addOpenapi(app: AdminApp, { version }: AdminDependencies): void {
  app.openAPIRegistry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token of the installation (operator, viewer) or of one account (owner, member).',
  });
  app.openAPIRegistry.registerPath(showDocument);
  let text: string | null = null; // made when it is first asked for: most starts never are
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
      description: 'Accounts, keys, tokens, credit, usage, catalogue and audit of an installation of Turnpike.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    security: [{ token: [] }],
  });
}
