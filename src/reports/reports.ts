// The door of reports: what operators and account holders ask about usage and balances. No message depends on them.

export {
  type AccountMonth,
  type BalancePaid,
  hasCompany,
  type MonthGrouping,
  type MonthParts,
  type MonthQuestion,
  type MonthStore,
  makeAccountMonth,
  monthGroupings,
} from './account-month.ts';
export { type Forecast, forecastOf, forecastStates, paceSinceMs } from './forecast.ts';
export {
  averageMultiplier,
  explainMargin,
  type MarginCell,
  type MultiplierHistory,
  marginEffects,
  type Rating,
} from './margin-changes.ts';
export { type DividedRange, divideRange, type Edge, type Times } from './usage-range.ts';
export {
  cutOutcomes,
  NO_FILTER,
  type RankingPlace,
  type UsageFilter,
  type UsagePage,
  type UsageRanking,
  type UsageSearch,
  usageRankings,
} from './usage-search.ts';
export type { ChargedMessage, ChargedRecord, UsageStore } from './usage-store.ts';
export { SummarySum, type UsageSummaryQuestion } from './usage-summary.ts';
export {
  stepMs,
  type TimelinePart,
  type TimelineQuestion,
  type TimelineStep,
  TimelineSum,
  timelinePart,
  timelineSteps,
  type UsageBucket,
  type UsageTimeline,
} from './usage-timeline.ts';
export {
  type Comparison,
  type ComparisonQuestion,
  compareTotals,
  emptyTotal,
  gatherTop,
  gatherTotals,
  marginOf,
  marginOfTotal,
  NO_UNITS,
  type RecordGrouping,
  recordGroupings,
  type TagFilter,
  type TopGroups,
  type TopParts,
  type TopQuestion,
  type TotalsGrouping,
  type TotalsQuestion,
  totalsGroupings,
  type UnitUses,
  type UsageTotal,
  type UsageTotals,
} from './usage-totals.ts';
