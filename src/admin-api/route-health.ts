// The health of every route of the catalog in the last day: attempts of all nodes, circuits of this one.

import { z } from '@hono/zod-openapi';
import { bounds } from '../config/config.ts';
import { type Circuits, judgeRoute, type RouteHour, routeStates } from '../traffic/traffic.ts';
import { installation } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { countShown, isoTime, modelFilter, timeShown } from './fields.ts';
import { type AdminRoute, type Call, get } from './route.ts';

const HOUR_MS = 3_600_000;

const timeToAnswer = countShown.nullable();

export const routeHealthSchema = z
  .object({
    model: z.string(),
    provider: z.string(),
    upstream_model: z.string().describe("The model's name at the provider."),
    state: z
      .enum(routeStates)
      .describe(
        'not_used: no attempts in the last 24 hours. down: the circuit of all its credentials is open on this node, or most attempts failed. degraded: some attempts failed, or some circuits are open. The last hour decides; without attempts in it, the last 24 hours.',
      ),
    attempts: countShown.describe('Attempts that were answered or failed.'),
    success_rate: z.number().min(0).max(1).nullable().describe('null without attempts.'),
    faults: z
      .array(z.object({ fault: z.string(), count: countShown }))
      .describe('Failed attempts by fault, most first. cut: the answer broke off.'),
    rejected: countShown.describe('Attempts whose content the provider rejected; they are no failures of the route.'),
    p50_ms: timeToAnswer.describe('Median time to the first content of a stream or to the whole answer, to a fifth.'),
    p95_ms: timeToAnswer,
  })
  .openapi('RouteHealth');

const encodeRoute = encoderOf(routeHealthSchema);

export const routeHealthListSchema = z.object({
  since: timeShown.describe('Start of the first hour that is counted.'),
  data: z.array(routeHealthSchema).describe('All routes of the catalog, by model and their order there.'),
});

export const routeHealthRoutes: AdminRoute[] = [
  get('/routes/health', 'route-health', 'Retrieve the health of routes', installation, {
    query: { model: modelFilter.optional(), provider: z.string().min(1).max(bounds.nameCharactersMax).optional() },
    answer: [routeHealthListSchema, 'The health of routes in the last 24 hours'],
    async handle(call) {
      const nowMs = call.clock.nowMs();
      const sinceMs = Math.ceil((nowMs - bounds.routeHealthSeenMs) / HOUR_MS) * HOUR_MS;
      const hours = Map.groupBy(await call.traffic.listRouteHours(sinceMs), nameOf);
      return { since: isoTime(sinceMs), data: listRoutes(call, hours, nowMs) };
    },
  }),
];

type RouteJson = z.infer<typeof routeHealthSchema>;
type Query = { model?: string | undefined; provider?: string | undefined };

/** Two routes of a model may be equal but for their terms: they are one here. */
function listRoutes(
  call: Call<unknown, Query>,
  hours: ReadonlyMap<string, readonly RouteHour[]>,
  nowMs: number,
): RouteJson[] {
  const { model: ofModel, provider: ofProvider } = call.query;
  const circuitsOf = circuits(call);
  const listed = new Map<string, RouteJson>();
  for (const { name: model, routes } of call.catalog.current().models.values())
    for (const { provider, upstreamModel } of routes) {
      if ((ofModel ?? model) !== model || (ofProvider ?? provider) !== provider) continue;
      const name = nameOf({ model, provider, upstreamModel });
      if (listed.has(name)) continue;
      const report = judgeRoute(hours.get(name) ?? [], circuitsOf(provider, upstreamModel), nowMs);
      const attempts = report.answered + report.failed;
      const successRate = attempts === 0 ? null : report.answered / attempts;
      listed.set(name, encodeRoute({ ...report, model, provider, upstreamModel, attempts, successRate }));
    }
  return [...listed.values()];
}

function nameOf({ model, provider, upstreamModel }: Pick<RouteHour, 'model' | 'provider' | 'upstreamModel'>): string {
  return `${model}\n${provider}\n${upstreamModel}`;
}

/** A provider that asked to wait is not used by all of its credentials, either. */
function circuits({ routeStates: listStates }: Call): (provider: string, upstreamModel: string) => Circuits {
  const ofRoute = Map.groupBy(listStates(), ({ provider, model }) => `${provider}\n${model}`);
  return (provider, upstreamModel) => {
    const targets = ofRoute.get(`${provider}\n${upstreamModel}`) ?? [];
    const open = targets.filter(({ state }) => state === 'open' || state === 'half_open').length;
    if (open > 0 && open === targets.length) return 'all open';
    return targets.some(({ state }) => state !== 'ready') ? 'some open' : 'closed';
  };
}
