// The door of the ledger: what bounds use, who may take it, and the record of what was taken.

export {
  type AccountMonth,
  besideUsageKinds,
  creditKinds,
  type EntryKind,
  type MonthGrouping,
  type MonthParts,
  type MonthQuestion,
  makeAccountMonth,
  monthGroupings,
  newestFirst,
  type SeldomKind,
} from './account-month.ts';
export type { AnswerStore, StoredAnswer } from './answer-store.ts';
export { applyBatch } from './apply-batch.ts';
export { type CheckReport, checkLedger, type LedgerSums } from './check.ts';
export { type BatchFacts, GroupCommit } from './group-commit.ts';
export { groupRates, readLimits, rolled, walletAvailable } from './meters.ts';
export {
  type Admission,
  type Admitted,
  type ClaimRefusal,
  type Extension,
  NodeLedger,
  type Settlement,
} from './node-ledger.ts';
export type {
  Admit,
  Answer,
  AttemptRecord,
  Bundle,
  Claim,
  Credit,
  Extend,
  Leave,
  Level,
  Levels,
  MessageDraft,
  MeterName,
  Operation,
  Outcome,
  Owner,
  RateLimits,
  Refund,
  Refusal,
  RefusalReason,
  Release,
  SetAccount,
  SetKey,
  Settle,
  SpendingReading,
  Take,
  UsageMeters,
  UsageRecord,
  UsageSource,
} from './operation.ts';
export { Outpaced } from './outpaced.ts';
export {
  type CarryPage,
  type ForgottenTable,
  journalKeptSinceMs,
  type Kept,
  keptSinceNames,
  type RetentionStore,
  usageKeptSinceMs,
} from './retention-store.ts';
export {
  type AccountRow,
  type Changes,
  type ClaimRow,
  type DailyTotal,
  type EndedBy,
  type Ending,
  type HoldRow,
  type KeyRow,
  type LeaseRow,
  type MonthChange,
  type NewEntry,
  type Rows,
  systemAccounts,
} from './rows.ts';
export type {
  AccountMeters,
  CallerMeters,
  CallerQuestion,
  Entry,
  EntryPage,
  HoldPage,
  KeyMeters,
  LedgerGate,
  LedgerReader,
  LedgerStore,
  LimitLevel,
  OpenHold,
  OpenHolds,
} from './store.ts';
export { InDoubt, LockedForLong, NothingTaken, RowsLocked } from './store-failure.ts';
export { emptyRecord } from './usage-record.ts';
export type { FoundUsage, StoredUsageRecord, UsagePage, UsageSearch, UsageStore } from './usage-store.ts';
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
  gatherTop,
  gatherTotals,
  marginOf,
  marginOfTotal,
  partOfTotals,
  type TopGroups,
  type TopQuestion,
  type TopUsage,
  type TotalsGrouping,
  type TotalsQuestion,
  totalsGroupings,
  type UsageTotal,
  type UsageTotals,
} from './usage-totals.ts';
