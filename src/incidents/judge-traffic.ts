// Models, providers and routes that fail, from the counts of all nodes. Pure.

import { bounds } from '../config/config.ts';
import {
  judgeProvider,
  judgeRoute,
  NO_ROUTE,
  type RouteFailure,
  type RouteHealthReport,
  type RouteHour,
  resultsSince,
  shareAnswered,
} from '../traffic/traffic.ts';
import type { Finding } from './follow.ts';
import { facts, type IncidentFacts } from './incident.ts';

/** A model of the catalog with its routes. */
export interface OfferedModel {
  name: string;
  routes: readonly { provider: string; upstreamModel: string }[];
}

interface JudgedRoute {
  model: string;
  provider: string;
  upstreamModel: string;
  hours: readonly RouteHour[];
  report: RouteHealthReport;
}

/** `beganAtMs`: since when the requests of an open incident are counted. */
export function judgeTraffic(
  hours: readonly RouteHour[],
  models: Iterable<OfferedModel>,
  beganAtMs: (name: string) => number | null,
  nowMs: number,
): Finding[] {
  const byRoute = Map.groupBy(hours, nameOf);
  const judge = (of: Omit<JudgedRoute, 'hours' | 'report'>): JudgedRoute => {
    const own = byRoute.get(nameOf(of)) ?? [];
    return { ...of, hours: own, report: judgeRoute(own, nowMs) };
  };
  const offered = [...models];
  const routes = offered.flatMap(({ name: model, routes: all }) =>
    [...new Map(all.map((route) => [nameOf({ model, ...route }), route])).values()].map(({ provider, upstreamModel }) =>
      judge({ model, provider, upstreamModel }),
    ),
  );
  const providers = [...Map.groupBy(routes, ({ provider }) => provider).values()].flatMap((of) =>
    judgeProviderRoutes(of, beganAtMs),
  );
  const named = new Set(providers.filter(({ begins }) => begins).map(({ facts: { provider } }) => provider));
  const failingModels = offered.flatMap(({ name: model }) =>
    judgeModel(judge({ model, provider: NO_ROUTE, upstreamModel: NO_ROUTE }), beganAtMs),
  );
  const alone = new Set(failingModels.filter(({ begins }) => begins).map(({ facts: { model } }) => model));
  const failingRoutes = routes.flatMap((route) =>
    judgeOwnRoute(route, !named.has(route.provider) && !alone.has(route.model), beganAtMs),
  );
  return [...providers, ...failingModels, ...failingRoutes];
}

function nameOf({ model, provider, upstreamModel }: Pick<RouteHour, 'model' | 'provider' | 'upstreamModel'>): string {
  return `${model}\n${provider}\n${upstreamModel}`;
}

/** Bad enough to begin an incident. It goes on until the route is healthy. */
function isFailing({ recent }: RouteHealthReport): boolean {
  return recent.failed >= bounds.incidentFailedLeast && (shareAnswered(recent) ?? 1) < bounds.incidentBeginShare;
}

function isUnwell({ state }: RouteHealthReport): boolean {
  return state === 'degraded' || state === 'down';
}

/** All routes of the provider that are used fail: more than one, or for a reason that is the provider's and not the model's. */
function judgeProviderRoutes(routes: readonly JudgedRoute[], beganAtMs: (name: string) => number | null): Finding[] {
  const used = routes.filter(({ report: { state } }) => state !== 'not_used');
  const failing = used.filter(({ report }) => isFailing(report));
  const unwell = used.filter(({ report }) => isUnwell(report));
  const [first] = used;
  if (first === undefined || unwell.length === 0) return [];
  const { provider } = first;
  const last = latestOf(unwell);
  const cause = causeOf(last);
  const isOfProvider = failing.length > 1 || OF_PROVIDER.includes(cause ?? '');
  const name = `provider:${provider}`;
  const sinceMs = earliestOf(unwell);
  const counted = countSince(unwell, beganAtMs(name) ?? sinceMs);
  return [
    {
      name,
      account: null,
      sinceMs,
      begins: failing.length > 0 && failing.length === used.length && isOfProvider,
      facts: facts('provider_failing', isDown(used) ? 'critical' : 'warning', {
        ...lastSaid(last),
        ...counted,
        provider,
        cause,
        models: [...new Set(unwell.map(({ model }) => model))].sort(),
      }),
    },
  ];
}

function isDown(routes: readonly JudgedRoute[]): boolean {
  return judgeProvider(routes.map(({ report: { state } }) => state)) === 'down';
}

/** Causes that lie with the account at the provider. */
const OF_PROVIDER = ['credentials', 'rate_limited', 'out_of_credit'];

/** Messages of the model fail, also after other routes were tried. */
function judgeModel(judged: JudgedRoute, beganAtMs: (name: string) => number | null): Finding[] {
  const { model, report } = judged;
  if (!isUnwell(report)) return [];
  const name = `model:${model}`;
  const sinceMs = earliestOf([judged]);
  const known: Partial<IncidentFacts> = {
    ...lastSaid(report.last),
    ...countSince([judged], beganAtMs(name) ?? sinceMs),
    model,
    provider: report.last?.provider ?? null,
    cause: causeOf(report.last),
    models: [model],
  };
  const severity = (shareAnswered(report.recent) ?? 1) < bounds.routeDownShare ? 'critical' : 'warning';
  const begins = isFailing(report);
  return [{ name, account: null, sinceMs, begins, facts: facts('model_failing', severity, known) }];
}

/** A route that fails while others answer the messages of its model. */
function judgeOwnRoute(route: JudgedRoute, isAlone: boolean, beganAtMs: (name: string) => number | null): Finding[] {
  const { model, provider, upstreamModel, report } = route;
  if (!isUnwell(report)) return [];
  const name = `route:${nameOf(route)}`;
  const sinceMs = earliestOf([route]);
  const known: Partial<IncidentFacts> = {
    ...lastSaid(report.last),
    ...countSince([route], beganAtMs(name) ?? sinceMs),
    model,
    provider,
    upstreamModel,
    cause: causeOf(report.last),
    models: [model],
  };
  return [
    {
      name,
      account: null,
      sinceMs,
      begins: isFailing(report) && isAlone,
      facts: facts('route_failing', 'warning', known),
    },
  ];
}

function earliestOf(routes: readonly JudgedRoute[]): number {
  const times = routes.map(({ report: { failingSinceMs, last } }) => failingSinceMs ?? last?.atMs ?? Infinity);
  return Math.min(...times);
}

function latestOf(routes: readonly JudgedRoute[]): RouteFailure | null {
  const failures = routes.flatMap(({ report: { last } }) => (last === null ? [] : [last]));
  return failures.reduce<RouteFailure | null>(
    (latest, one) => (latest !== null && latest.atMs >= one.atMs ? latest : one),
    null,
  );
}

function countSince(routes: readonly JudgedRoute[], sinceMs: number): Pick<IncidentFacts, 'requests' | 'ofRequests'> {
  const { answered, failed } = resultsSince(
    routes.flatMap(({ hours }) => hours),
    sinceMs,
  );
  return { requests: failed, ofRequests: failed + answered };
}

const OUT_OF_CREDIT =
  /\b(credit balance is too low|insufficient[ _](credits?|balance|funds|quota)|exceeded your current quota|(purchase|buy|add) (more )?credits|billing hard limit)\b/i;

function causeOf(last: RouteFailure | null): string | null {
  if (last === null) return null;
  const isOutOfCredit = last.status === 402 || (last.reason !== null && OUT_OF_CREDIT.test(last.reason));
  return isOutOfCredit ? 'out_of_credit' : last.fault;
}

function lastSaid(last: RouteFailure | null): Pick<IncidentFacts, 'said' | 'saidAtMs'> {
  if (last === null) return { said: null, saidAtMs: null };
  const { status, reason, fault, atMs } = last;
  const said = reason ?? (fault === 'cut' ? 'the answer broke off' : fault.replaceAll('_', ' '));
  return { said: status === null || status < 400 ? said : `${status}: ${said}`, saidAtMs: atMs };
}
