// Providers: from where models come. A credential is never shown again, only that there is one.

import { z } from '@hono/zod-openapi';
import type { ProviderSettings } from '../catalog/catalog.ts';
import type { AdminApp } from './admin-app.ts';
import { pageAnswer } from './answers.ts';
import { defineRoute } from './define-route.ts';
import type { AdminDependencies } from './dependencies.ts';
import { pageByName, pageQuery } from './pages.ts';
import { installation } from './principal.ts';

const providerSchema = z
  .object({
    name: z.string(),
    kind: z.string(),
    base_url: z.string().nullable(),
    has_credential: z.boolean(),
  })
  .openapi('Provider');

const listProviders = defineRoute({
  roles: installation,
  method: 'get',
  path: '/api/v1/providers',
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(providerSchema, 'Providers by name') },
});

export function addProviders(app: AdminApp, dependencies: AdminDependencies): void {
  app.openapi(listProviders, (context) => {
    const { rows, next } = pageByName(dependencies.catalog.current().providers.values(), context.req.valid('query'));
    return context.json({ data: rows.map(providerJson), next_cursor: next }, 200);
  });
}

function providerJson(provider: ProviderSettings): z.infer<typeof providerSchema> {
  return {
    name: provider.name,
    kind: provider.kind,
    base_url: provider.baseUrl === '' ? null : provider.baseUrl,
    has_credential: provider.credential !== null,
  };
}
