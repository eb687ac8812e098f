// Providers with their health. Credentials are never shown, only that they exist and for whom.

import { z } from '@hono/zod-openapi';
import { formatDecimal } from '../base/money.ts';
import type { Catalog, Credential, ProviderSettings } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import type { ProbeResult } from '../providers/providers.ts';
import { routeStates } from '../traffic/traffic.ts';
import { noObject } from './admin-app.ts';
import { type AdminDependencies, installation, operator } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { countShown, idField, rateShown, searchField, timeShown } from './fields.ts';
import { answerByName } from './pages.ts';
import { type AdminRoute, get, list, post } from './route.ts';
import { readProviderStates } from './route-health.ts';

const NOT_TESTED: ProbeResult = {
  ok: false,
  status: null,
  ms: 0,
  fault: 'timeout',
  message: 'Not tested: the tests before this one took too long.',
  models: null,
};

/**
 * The overall result, with the error of the first failed credential; `credentials` is empty if the provider has none.
 * Never rejects: a failure is the result.
 */
async function testProvider({ probe, clock }: AdminDependencies, { credentials, ...endpoint }: ProviderSettings) {
  const batchBucket = endpoint.batches ? endpoint.batchBucket : null; // tested only where it is used
  const probeWith = (credential: Credential['secret'] | null) => probe({ ...endpoint, batchBucket, credential });
  if (credentials.length === 0) return { ...(await probeWith(null)), credentials: [] };
  const startedMs = clock.nowMs();
  const tests: [Credential, ProbeResult][] = [];
  for (const credential of credentials) {
    const isLate = clock.nowMs() - startedMs >= bounds.providerTestMsMax;
    tests.push([credential, isLate ? NOT_TESTED : await probeWith(credential.secret)]);
  }
  const each = tests.map(([credential, result]) => {
    const { ok, status, fault, message } = result;
    return { name: credential.name, ok, status, fault, message };
  });
  return { ...sumUp(tests), credentials: each };
}

function sumUp(tests: readonly [Credential, ProbeResult][]): ProbeResult {
  const [first, second] = tests;
  const [credential, result] = tests.find(([, { ok }]) => !ok) ?? (first as [Credential, ProbeResult]);
  const ms = tests.reduce((sum, [, one]) => sum + one.ms, 0);
  if (second === undefined) return { ...result, ms };
  const which = result.ok ? `All ${tests.length} credentials` : `Credential "${credential.name}"`;
  return { ...result, ms, message: `${which}: ${result.message}` };
}

export const providerSchema = z
  .object({
    name: z.string(),
    kind: z.string(),
    base_url: z.string().nullable(),
    residency: z
      .array(z.string())
      .nullable()
      .describe('Where it processes data, as configured; null if that is not stated.'),
    passthrough: z
      .array(z.string())
      .nullable()
      .describe('Fields of requests beyond the protocols that it gets, as configured; null: none.'),
    batches: z.boolean().describe('Whether requests of batches are sent as batches of the provider.'),
    batch_cost: rateShown.describe('What it charges for those, as a part of its usual price.'),
    fetch_urls: z
      .enum(['off', 'public', 'any'])
      .describe('Whether images and documents at web addresses are fetched, and from which networks.'),
    batch_bucket: z
      .string()
      .nullable()
      .describe('The bucket of its batches, with the prefix; null: the provider keeps them itself, or has none.'),
    has_credential: z.boolean(),
    credentials: z
      .array(
        z.object({
          name: z.string(),
          auth: z.string().nullable().describe('The type of its `auth`; null if its text was given in `api_key`.'),
          failure: z
            .string()
            .nullable()
            .describe('Why this node could not read it the last time; an earlier text may still be in use.'),
          account: idField('acct').nullable(),
          group: z.string().nullable(),
        }),
      )
      .describe('The scope of each credential: one account, one group, or, if both are null, all others.'),
    models: z.array(z.string()).describe('The models with a route to the provider, by name.'),
    model_list: z
      .object({
        models: countShown.nullable().describe('Number of usable names; null if it was never read.'),
        read_at: timeShown.nullable(),
        failure: z.string().nullable().describe('Why the last reading failed; the list before it stays.'),
      })
      .nullable()
      .describe(
        'The provider’s own list of models as this node read it last; null unless an entry with "*" follows it.',
      ),
    health: z
      .object({
        state: z.enum(routeStates).describe('By the health of its routes: down if all that are used are down.'),
        routes_down: countShown,
        routes_degraded: countShown,
        last_success_at: timeShown.nullable().describe('Of this node.'),
        last_failure_at: timeShown.nullable().describe('Of this node.'),
      })
      .describe('The same on all nodes, from the attempts of the last minutes; see `GET /routes/health`.'),
    routes: z
      .array(
        z.object({
          model: z.string().describe("The model's name at the provider."),
          credential: z.string().nullable(),
          state: z
            .enum(['ready', 'open', 'half_open', 'resting'])
            .describe(
              'ready: in use. open: the route failed several times in a row and is tried only after all others. half_open: one message at a time tests whether it works again. resting: the provider asked to wait until `until`.',
            ),
          until: timeShown.nullable(),
          failures_in_a_row: countShown,
          in_flight: countShown,
          first_token_ms: countShown
            .nullable()
            .describe(
              'Mean first-token time of recent streams; null unless a model with `prefer: latency` measured it.',
            ),
          last_failure: z.object({ fault: z.string(), at: timeShown }).nullable(),
        }),
      )
      .describe(
        'Routes that this node has used since its start and that are still configured, one for each model and credential.',
      ),
  })
  .openapi('Provider');
const resultFields = {
  ok: z.boolean(),
  status: z.int().nullable().describe("The provider's HTTP status; null if there was no answer."),
  fault: z
    .enum(['credentials', 'not_found', 'rate_limited', 'overloaded', 'failed', 'timeout', 'rejected', 'unusable'])
    .nullable(),
  message: z.string().describe('A message for people: the meaning of the result, and the remedy.'),
};
export const testSchema = z
  .object({
    provider: z.string(),
    ...resultFields,
    ms: countShown,
    models: countShown.nullable().describe('Number of models that the provider lists; null if unknown.'),
    credentials: z
      .array(z.object({ name: z.string(), ...resultFields }))
      .describe('The result of each credential, in order. The members above are those of the first one that failed.'),
  })
  .openapi('ProviderTest');
export const providerParams = z.object({ name: z.string().openapi({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$' }) });

export const providerRoutes: AdminRoute[] = [
  list('/providers', 'provider-list', 'List providers', installation, {
    query: { search: searchField('the name') },
    page: [providerSchema, 'Providers by name'],
    async handle(call) {
      const stateOf = await readProviderStates(call);
      const providers = call.catalog.current().providers.values();
      return answerByName(call, providers, (provider) => providerJson(call, provider, stateOf));
    },
  }),
  get('/providers/{name}', 'provider-show', 'Retrieve a provider', installation, {
    params: providerParams,
    answer: [providerSchema, 'The provider'],
    async handle(call) {
      const provider = findProvider(call.catalog.current(), call.params.name);
      return providerJson(call, provider, await readProviderStates(call));
    },
  }),
  // Changes nothing, but sends the installation's credential: operators only.
  post('/providers/{name}/test', 'provider-test', 'Test a provider', operator, {
    params: providerParams,
    body: z.strictObject({}),
    answer: [
      testSchema,
      'The result, whether or not the test succeeded. The test sends a small request for each credential, which is free of charge',
    ],
    async handle(call) {
      const provider = findProvider(call.catalog.current(), call.params.name);
      return { provider: provider.name, ...(await testProvider(call, provider)) };
    },
  }),
];

/** Throws object_not_found. */
export function findProvider({ providers }: Catalog, name: string): ProviderSettings {
  const provider = providers.get(name);
  if (provider === undefined) throw noObject('provider', name);
  return provider;
}

const encodeProvider = encoderOf(providerSchema);

function providerJson(
  dependencies: AdminDependencies,
  settings: ProviderSettings,
  stateOf: Awaited<ReturnType<typeof readProviderStates>>,
): z.infer<typeof providerSchema> {
  const { name: provider, kind, baseUrl, residency, passthrough, batches, batchBucket, credentials } = settings;
  const { batchCostMillionths, fetchUrls } = settings;
  const { lastSuccessMs = null, lastFailureMs = null } = dependencies.health(provider) ?? {};
  const { state, down, degraded } = stateOf(provider);
  const models = [...dependencies.catalog.current().models.values()];
  const states = dependencies.routeStates().filter((state) => state.provider === provider);
  return encodeProvider({
    name: provider,
    kind,
    baseUrl: baseUrl === '' ? null : baseUrl,
    residency,
    passthrough: passthrough && [...passthrough.given],
    batches,
    batchCost: formatDecimal(batchCostMillionths, 6),
    fetchUrls,
    batchBucket: batchBucket?.uri ?? null,
    hasCredential: credentials.length > 0,
    credentials: credentials.map(({ name, secret, authType = null, account, group }) => ({
      name,
      auth: authType,
      failure: secret.failure,
      account,
      group,
    })),
    models: models
      .filter(({ routes }) => routes.some((route) => route.provider === provider))
      .map(({ name }) => name)
      .sort(),
    modelList: dependencies.listState(settings),
    health: {
      state,
      routesDown: down,
      routesDegraded: degraded,
      lastSuccessAtMs: lastSuccessMs,
      lastFailureAtMs: lastFailureMs,
    },
    routes: states.map((state) => ({
      ...state,
      firstTokenMs: state.firstTokenMs === null ? null : Math.round(state.firstTokenMs),
      lastFailure: state.lastFailure && { fault: state.lastFailure.kind, atMs: state.lastFailure.atMs },
    })),
  });
}
