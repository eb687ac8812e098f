// The door of traffic: counts of refused requests and of attempts at routes. They are kept in memory, and stored every
// few seconds.

export { type RefusalBounds, RefusalCounts, type RefusedCaller, shownMessage } from './refusal-counts.ts';
export { bucketMs, bucketOf, type EndedMessage, RouteCounter } from './route-counts.ts';
export { type Circuits, judgeRoute, type RouteHealthReport, type RouteState, routeStates } from './route-health.ts';
export {
  type FrequentQuestion,
  type RefusalCount,
  type RefusalFilter,
  type RefusalGrouping,
  type RefusalPage,
  type RefusalQuestion,
  type RefusalStore,
  type RefusalTotal,
  type RefusalTotals,
  type RouteCounts,
  type RouteHour,
  type RouteHourStore,
  refusalGroupings,
  type StoredRefusal,
} from './traffic-store.ts';
