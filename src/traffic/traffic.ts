// The door of traffic: counts of refused requests and of attempts at routes. They are kept in memory, and stored every
// few seconds.

export { RefusalCounts } from './refusal-counts.ts';
export { NO_ROUTE, RouteCounter } from './route-counts.ts';
export {
  judgeProvider,
  judgeRoute,
  type RouteHealthReport,
  type RouteState,
  resultsSince,
  routeStates,
  shareAnswered,
} from './route-health.ts';
export {
  type FrequentRefusal,
  type RefusalCount,
  type RefusalFilter,
  type RefusalGrouping,
  type RefusalQuestion,
  type RefusalStore,
  type RefusalTotal,
  type RefusalTotals,
  type RouteCounts,
  type RouteFailure,
  type RouteHour,
  type RouteHourStore,
  type RouteSlot,
  refusalGroupings,
  type StoredRefusal,
} from './traffic-store.ts';
