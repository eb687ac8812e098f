// Providers: from where models come, and whether they are there. A credential is never shown again, only
// that there is one, and whom it is for.

import { z } from '@hono/zod-openapi';
import { formatId } from '../base/ids.ts';
import type { Catalogue, ProviderSettings } from '../catalog/catalog.ts';
import { TurnpikeError } from '../errors.ts';
import type { AdminApp } from './admin-app.ts';
import { countShown, idField, jsonAnswer, jsonBody, pageAnswer, timeShown } from './answers.ts';
import { defineRoute } from './define-route.ts';
import { type AdminDependencies, type ProviderHealth, ROUTE_STATES, type RouteState } from './dependencies.ts';
import { pageByName, pageQuery, pagesOf } from './pages.ts';
import { installation, operator } from './principal.ts';
import { testProvider } from './test-provider.ts';

const PATH = '/api/v1/providers';

export const providerSchema = z
  .object({
    name: z.string(),
    kind: z.string(),
    base_url: z.string().nullable(),
    has_credential: z.boolean(),
    credentials: z
      .array(z.object({ name: z.string(), account: idField('acct').nullable(), group: z.string().nullable() }))
      .openapi({ description: 'Whom each is for: one account, one group, or, without both, everyone else.' }),
    models: z.array(z.string()).openapi({ description: 'The models that have a route to it, by name.' }),
    health: z
      .object({ up: z.boolean(), last_success_at: timeShown.nullable(), last_failure_at: timeShown.nullable() })
      .nullable()
      .openapi({ description: 'By the last attempts of this server; null where nobody watches them.' }),
    routes: z
      .array(
        z.object({
          model: z.string().openapi({ description: "The model's name at the provider." }),
          credential: z.string().nullable(),
          state: z.enum(ROUTE_STATES).openapi({
            description:
              'open: it failed several times in a row and is tried after all others, until one message at a time finds out whether it is well again (half_open); resting: its provider said when to come again.',
          }),
          until: timeShown.nullable(),
          failures_in_a_row: countShown,
          in_flight: countShown,
          last_failure: z.object({ fault: z.string(), at: timeShown }).nullable(),
        }),
      )
      .openapi({
        description: 'What this server used since it started, and is still sold: each model with each credential.',
      }),
  })
  .openapi('Provider');
const resultFields = {
  ok: z.boolean(),
  status: z.int().nullable().openapi({ description: "The provider's; null where it gave none." }),
  fault: z.enum(['credentials', 'rate_limited', 'overloaded', 'failed', 'timeout', 'rejected']).nullable(),
  message: z.string().openapi({ description: 'For people: what it means, and what to do.' }),
};
export const testSchema = z
  .object({
    provider: z.string(),
    ...resultFields,
    ms: countShown,
    models: countShown.nullable().openapi({ description: 'How many models it lists; null where it does not tell.' }),
    credentials: z
      .array(z.object({ name: z.string(), ...resultFields }))
      .openapi({ description: 'Each of them, in order; the members above are those of the first that failed.' }),
  })
  .openapi('ProviderTest');
const params = z.object({ name: z.string().openapi({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }) });

const listProviders = defineRoute({
  operationId: 'provider-list',
  summary: 'List providers',
  roles: installation,
  method: 'get',
  path: PATH,
  request: { query: z.strictObject(pageQuery) },
  responses: { 200: pageAnswer(providerSchema, 'Providers by name') },
});
const showProvider = defineRoute({
  operationId: 'provider-show',
  summary: 'Show a provider',
  roles: installation,
  method: 'get',
  path: `${PATH}/{name}`,
  request: { params },
  responses: { 200: jsonAnswer(providerSchema, 'The provider') },
});
/** Changes nothing, but calls out with the installation's credential: for operators alone. */
const testOne = defineRoute({
  operationId: 'provider-test',
  summary: 'Test a provider',
  roles: operator,
  method: 'post',
  path: `${PATH}/{name}/test`,
  request: { params, body: jsonBody(z.strictObject({})) },
  responses: {
    200: jsonAnswer(testSchema, 'How it went, well or not: a small request for each credential, which costs nothing'),
  },
});

export function addProviders(app: AdminApp, dependencies: AdminDependencies): void {
  const { catalog } = dependencies;
  const json = (provider: ProviderSettings) =>
    providerJson(
      provider,
      modelsOf(catalog.current(), provider.name),
      dependencies.health(provider.name),
      dependencies.routeStates().filter((state) => state.provider === provider.name),
    );
  app.openapi(listProviders, (context) => {
    const all = catalog.current().providers.values();
    const { rows, next } = pageByName(pagesOf(dependencies, context), all, context.req.valid('query'));
    return context.json({ data: rows.map(json), next_cursor: next }, 200);
  });
  app.openapi(showProvider, (context) =>
    context.json(json(findProvider(catalog.current(), context.req.valid('param').name)), 200),
  );
  app.openapi(testOne, async (context) => {
    const provider = findProvider(catalog.current(), context.req.valid('param').name);
    return context.json({ provider: provider.name, ...(await testProvider(dependencies, provider)) }, 200);
  });
}

function findProvider({ providers }: Catalogue, name: string): ProviderSettings {
  const provider = providers.get(name);
  if (provider === undefined) throw new TurnpikeError('object_not_found', `There is no provider "${name}".`);
  return provider;
}

function modelsOf({ models }: Catalogue, provider: string): string[] {
  return [...models.values()]
    .filter(({ routes }) => routes.some((route) => route.provider === provider))
    .map(({ name }) => name)
    .sort();
}

function providerJson(
  provider: ProviderSettings,
  models: string[],
  health: ProviderHealth | null,
  states: readonly RouteState[],
): z.infer<typeof providerSchema> {
  return {
    name: provider.name,
    kind: provider.kind,
    base_url: provider.baseUrl === '' ? null : provider.baseUrl,
    has_credential: provider.credentials.length > 0,
    credentials: provider.credentials.map(({ name, account, group }) => ({
      name,
      account: account === null ? null : formatId('acct', account),
      group,
    })),
    models,
    health: health && {
      up: health.isUp,
      last_success_at: isoTime(health.lastSuccessMs),
      last_failure_at: isoTime(health.lastFailureMs),
    },
    routes: states.map((state) => ({
      model: state.model,
      credential: state.credential,
      state: state.state,
      until: isoTime(state.untilMs),
      failures_in_a_row: state.failuresInARow,
      in_flight: state.inFlight,
      last_failure: state.lastFailure && {
        fault: state.lastFailure.kind,
        at: new Date(state.lastFailure.atMs).toISOString(),
      },
    })),
  };
}

function isoTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}
