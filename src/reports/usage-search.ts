// Questions for usage records: pages in the order of time, searches by what no index serves, and rankings.

import type { Nano } from '../base/money.ts';
import type { Outcome, StoredUsageRecord } from '../ledger/ledger.ts';
import type { Serves } from '../wire/wire.ts';
import type { TagFilter } from './usage-totals.ts';

export interface UsagePage {
  account: number | null;
  /** Also usage of the accounts below `account`, by their present places. */
  below?: boolean;
  key: number | null;
  /** Only usage of keys that this actor created; null: all. */
  madeBy: string | null;
  /** Only messages with this outcome. `completed` has no index of its own, as nearly all messages are completed. */
  outcome: Exclude<Outcome, 'completed'> | null;
  /** Both inclusive. */
  sinceMs: number | null;
  untilMs: number | null;
  /** Cursor: the seq of the last record seen. */
  before: number | null;
  limit: number;
}

/** Each of them has an index. */
export const cutOutcomes = ['client_gone', 'upstream_cut', 'quota_cut', 'service_cut', 'failed'] as const;

/** Conditions that no index serves: records are read, and those that match are returned. */
export interface UsageFilter {
  model: string | null;
  /** A part of the model's name, in lower case; A to Z match in either case. */
  modelPart: string | null;
  /** Only messages that were completed, or only those that were not; null: all. */
  isCompleted: boolean | null;
  /** HTTP statuses, both inclusive. */
  status: { least: number; most: number } | null;
  /** The code of the error that the client got. */
  errorCode: string | null;
  provider: string | null;
  group: string | null;
  isStream: boolean | null;
  endpoint: Serves | null;
  costMin: Nano | null;
  tag: TagFilter | null;
  /** Has an index. */
  session: string | null;
  agent: string | null;
  person: number | null;
}

export const NO_FILTER: UsageFilter = Object.freeze({
  model: null,
  modelPart: null,
  isCompleted: null,
  status: null,
  errorCode: null,
  provider: null,
  group: null,
  isStream: null,
  endpoint: null,
  costMin: null,
  tag: null,
  session: null,
  agent: null,
  person: null,
});

export interface UsageSearch extends UsagePage, UsageFilter {
  /** The cursor `before` is the last record seen in either order. */
  order: 'newest' | 'oldest';
}

export interface FoundUsage {
  /** At most as many as requested; may be fewer even if there are more. */
  rows: StoredUsageRecord[];
  /** Cursor for the next search: the seq of the last record read; null at the end. */
  next: number | null;
}

/** The place of a record in the list of all records. */
export type UsagePosition = readonly [atMs: number, seq: number];

export const usageRankings = ['cost', 'tokens', 'latency'] as const;

/** Asks for the records with the highest or lowest values. Only a bounded number of the newest ones is compared. */
export interface UsageRanking extends Omit<UsagePage, 'before'>, UsageFilter {
  by: (typeof usageRankings)[number];
  order: 'highest' | 'lowest';
  /** Where the previous page of the same ranking ended. */
  after: RankingPlace | null;
}

/** The records that a ranking compares, and the last one that was shown. */
export interface RankingPlace {
  /** Directly before the newest record compared. */
  start: UsagePosition;
  /** The oldest record compared; null: all. */
  end: UsagePosition | null;
  value: number;
  seq: number;
}

export interface RankedUsage {
  rows: StoredUsageRecord[];
  /** null at the end. */
  next: RankingPlace | null;
  /** Earlier records were not compared; null if all were. */
  searchedSinceMs: number | null;
}
