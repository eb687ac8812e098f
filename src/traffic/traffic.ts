// The door of traffic: counts of refused requests and of attempts at routes. They are kept in memory, and stored every
// few seconds.

export { RefusalCounts } from './refusal-counts.ts';
export { RouteCounter } from './route-counts.ts';
export { type Circuits, judgeRoute, routeStates } from './route-health.ts';
export {
  type RefusalCount,
  type RefusalFilter,
  type RefusalGrouping,
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
