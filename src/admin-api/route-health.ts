// The health of every route of the catalog, and of providers by their routes, from the attempts of all nodes.

import { z } from '@hono/zod-openapi';
import { bounds } from '../config/config.ts';
import {
  judgeProvider,
  judgeRoute,
  type RouteHour,
  type RouteState,
  routeStates,
  shareAnswered,
} from '../traffic/traffic.ts';
import { type AdminDependencies, installation } from './dependencies.ts';
import { encoderOf } from './encode.ts';
import { countShown, isoTime, modelFilter, timeShown } from './fields.ts';
import { type AdminRoute, get } from './route.ts';

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
        'not_used: no attempts in the last 24 hours. down: none of the latest attempts, or less than half of them, was answered. degraded: less than 95 % were. The latest attempts are those of the last ten minutes, with as many before them as there are fewer than twenty, up to a day back. All nodes tell the same.',
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
      const hours = await readHours(call);
      return { since: isoTime(firstHourMs(nowMs)), data: listRoutes(call, hours, nowMs, call.query) };
    },
  }),
];

type RouteJson = z.infer<typeof routeHealthSchema>;
type Query = { model?: string | undefined; provider?: string | undefined };
type Hours = ReadonlyMap<string, readonly RouteHour[]>;

function firstHourMs(nowMs: number): number {
  return Math.ceil((nowMs - bounds.routeHealthSeenMs) / HOUR_MS) * HOUR_MS;
}

async function readHours({ traffic, clock }: Pick<AdminDependencies, 'traffic' | 'clock'>): Promise<Hours> {
  return Map.groupBy(await traffic.listRouteHours(firstHourMs(clock.nowMs())), nameOf);
}

/** Two routes of a model may be equal but for their terms: they are one here. */
function listRoutes(
  { catalog }: Pick<AdminDependencies, 'catalog'>,
  hours: Hours,
  nowMs: number,
  { model: ofModel, provider: ofProvider }: Query = {},
): RouteJson[] {
  const listed = new Map<string, RouteJson>();
  for (const { name: model, routes } of catalog.current().models.values())
    for (const { provider, upstreamModel } of routes) {
      if ((ofModel ?? model) !== model || (ofProvider ?? provider) !== provider) continue;
      const name = nameOf({ model, provider, upstreamModel });
      if (listed.has(name)) continue;
      const report = judgeRoute(hours.get(name) ?? [], nowMs);
      const [attempts, successRate] = [report.answered + report.failed, shareAnswered(report)];
      listed.set(name, encodeRoute({ ...report, model, provider, upstreamModel, attempts, successRate }));
    }
  return [...listed.values()];
}

/** The state of each provider that has routes, and of its routes. The only judgement of providers, for every page. */
export async function readProviderStates(
  call: Pick<AdminDependencies, 'traffic' | 'clock' | 'catalog'>,
): Promise<(provider: string) => { state: RouteState; down: number; degraded: number }> {
  const routes = Map.groupBy(listRoutes(call, await readHours(call), call.clock.nowMs()), ({ provider }) => provider);
  return (provider) => {
    const states = (routes.get(provider) ?? []).map(({ state }) => state);
    const count = (one: RouteState) => states.filter((state) => state === one).length;
    return { state: judgeProvider(states), down: count('down'), degraded: count('degraded') };
  };
}

function nameOf({ model, provider, upstreamModel }: Pick<RouteHour, 'model' | 'provider' | 'upstreamModel'>): string {
  return `${model}\n${provider}\n${upstreamModel}`;
}
