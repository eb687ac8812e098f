// The store interface of reports on usage. Implemented in storage/.

import type { Nano } from '../base/money.ts';
import type { Requester } from '../base/timers.ts';
import type { StoredUsageRecord } from '../ledger/ledger.ts';
import type { FoundUsage, RankedUsage, UsagePage, UsageRanking, UsageSearch } from './usage-search.ts';
import type { UsageSummary, UsageSummaryQuestion } from './usage-summary.ts';
import type { TimelineQuestion, UsageTimeline } from './usage-timeline.ts';
import type {
  Comparison,
  ComparisonQuestion,
  TopQuestion,
  TopUsage,
  TotalsQuestion,
  UsageTotals,
} from './usage-totals.ts';

/** A record without its longest parts, which no file has. */
export type ChargedRecord = Omit<StoredUsageRecord, 'rates' | 'attempts' | 'meters' | 'error'>;

/** A message, with the parts that balance and plan paid, and that nobody could pay, when it ended: before refunds and corrections. */
export interface ChargedMessage {
  seq: number;
  atMs: number;
  record: ChargedRecord;
  balancePaid: Nano;
  planPaid: Nano;
  writtenOff: Nano;
}

/** A page of the messages of an account. The times are inclusive. */
export interface ChargedPage {
  account: number;
  sinceMs: number;
  untilMs: number;
  /** Cursor: the seq of the last record seen. */
  before: number | null;
  limit: number;
}

export interface UsageStore {
  /** Newest first. Throws invalid_request if the actor created too many keys for one list. */
  listUsage(page: UsagePage, requester?: Requester): Promise<StoredUsageRecord[]>;
  getUsage(requestId: string): Promise<StoredUsageRecord | null>;
  /** Newest first, also of messages for which others paid. Each is read in one statement with what was given back for it. */
  listCharged(page: ChargedPage, requester?: Requester): Promise<ChargedMessage[]>;
  /**
   * Sums of the daily totals, and of the records of days that exact times divide. Throws invalid_request if there are too many
   * totals to add up, or the records of the last day are no longer stored.
   */
  totalUsage(question: TotalsQuestion, requester?: Requester): Promise<UsageTotals>;
  /** Like totalUsage, of two periods: only the groups that are shown leave the store. */
  compareUsage(question: ComparisonQuestion, requester?: Requester): Promise<Comparison>;
  /** Like totalUsage, grouped several ways in one read. */
  topUsage(question: TopQuestion, requester?: Requester): Promise<TopUsage>;
  /** Reads a bounded number of records. Throws like listUsage. */
  searchUsage(search: UsageSearch, requester?: Requester): Promise<FoundUsage>;
  /** Compares a bounded number of the newest records that match. Throws like listUsage. */
  rankUsage(ranking: UsageRanking, requester?: Requester): Promise<RankedUsage>;
  /** Adds up a bounded number of the newest records that match, or daily totals. Throws like totalUsage and listUsage. */
  summarizeUsage(question: UsageSummaryQuestion, requester?: Requester): Promise<UsageSummary>;
  /** Throws like totalUsage and listUsage. */
  readTimeline(question: TimelineQuestion, requester?: Requester): Promise<UsageTimeline>;
}
