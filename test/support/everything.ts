// Pages without a filter, for tests that read stores directly.

import type { AuditPage } from '../../src/audit/audit.ts';
import {
  NO_FILTER,
  type TimelineQuestion,
  type UsagePage,
  type UsageRanking,
  type UsageSearch,
  type UsageSummaryQuestion,
} from '../../src/reports/reports.ts';
import type { TotalsQuestion } from '../../src/reports/usage-totals.ts';
import type { RefusalPage } from '../../src/traffic/traffic-store.ts';

export const allUsage: UsagePage = {
  account: null,
  key: null,
  madeBy: null,
  outcome: null,
  sinceMs: null,
  untilMs: null,
  before: null,
  limit: 100,
};

export const allSearch: UsageSearch = { ...allUsage, ...NO_FILTER, order: 'newest' };

const { before: _, ...page } = allUsage;
export const allRanking: UsageRanking = { ...page, ...NO_FILTER, by: 'cost', order: 'highest', after: null };

export const allSummary: UsageSummaryQuestion = {
  ...page,
  ...NO_FILTER,
  sinceMs: 0,
  untilMs: Number.MAX_SAFE_INTEGER,
  groupBy: null,
  isOfDays: false,
};

export const allTotals: TotalsQuestion = {
  groupBy: 'day',
  account: null,
  key: null,
  madeBy: null,
  model: null,
  sinceMs: null,
  untilMs: null,
  limit: 100,
};

export const allTimeline: TimelineQuestion = {
  step: 'hour',
  account: null,
  key: null,
  madeBy: null,
  model: null,
  sinceMs: 0,
  untilMs: 3_600_000,
};

export const allChanges: AuditPage = {
  account: null,
  object: null,
  actor: null,
  sinceMs: null,
  untilMs: null,
  before: null,
  limit: 100,
};

export const allRefusals: RefusalPage = {
  account: null,
  key: null,
  madeBy: null,
  code: null,
  sinceMs: null,
  untilMs: null,
  before: null,
  limit: 100,
};
