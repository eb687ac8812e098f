// Reads of usage records and of their daily totals. They are written in the transaction that ends a
// hold, so they stand here.

import type { Asking } from '../base/asking.ts';
import type { Outcome, UsageRecord } from './operation.ts';
import type { TimelineQuestion, UsageTimeline } from './usage-timeline.ts';
import type { TopQuestion, TopUsage, TotalsQuestion, UsageTotals } from './usage-totals.ts';

export interface StoredUsageRecord extends UsageRecord {
  seq: number;
}

export interface UsagePage {
  account: number | null;
  key: number | null;
  /** Only usage of the keys that this actor made; null: of all. */
  madeBy: string | null;
  /** Only messages that ended so. What was completed is nearly everything, and has no index of its own. */
  outcome: Exclude<Outcome, 'completed'> | null;
  /** Both inclusive. */
  sinceMs: number | null;
  untilMs: number | null;
  /** The seq of the last one seen. */
  before: number | null;
  limit: number;
}

/** Of the page's records, which are those that an index leads to, those that have all of what is given. */
export interface UsageSearch extends UsagePage {
  model: string | null;
  isCompleted: boolean;
}

export interface FoundUsage {
  /** As many as were asked for, or fewer, also where there are more. */
  rows: StoredUsageRecord[];
  /** The seq of the record after which the search goes on; null: there is none. */
  next: number | null;
}

export interface UsageStore {
  /** Newest first. Throws invalid_request where a maker has more keys than one list can take together. */
  listUsage(page: UsagePage, asking?: Asking): Promise<StoredUsageRecord[]>;
  getUsage(requestId: string): Promise<StoredUsageRecord | null>;
  /** Added up from the daily totals, never from the records. Throws invalid_request for what is too much to add up. */
  totalUsage(question: TotalsQuestion, asking?: Asking): Promise<UsageTotals>;
  /** As totalUsage, by several groups in one go. */
  topUsage(question: TopQuestion, asking?: Asking): Promise<TopUsage>;
  /** Newest first, of those that no index leads to alone: it looks through a bounded number of records. Throws as listUsage does. */
  searchUsage(search: UsageSearch, asking?: Asking): Promise<FoundUsage>;
  /** Throws as totalUsage and listUsage do. */
  readTimeline(question: TimelineQuestion, asking?: Asking): Promise<UsageTimeline>;
}
