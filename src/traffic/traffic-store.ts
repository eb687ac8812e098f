// Stored counts of requests that were refused and of attempts at routes. They contain neither bodies nor secrets.

import type { Requester } from '../base/timers.ts';
import type { LimitScope } from '../errors.ts';

/** Requests of one minute that were refused before admission for the same reason. */
export interface RefusalCount {
  /** Start of the minute. */
  atMs: number;
  /** null: the key is unknown, or the account has too many different refusals in this minute (key only). */
  account: number | null;
  key: number | null;
  /** A code of errors.ts. */
  code: string;
  /** HTTP status of the last one. */
  status: number;
  count: number;
  lastAtMs: number;
  /** Message of the last one, shortened. May have text of a client, but no secret. */
  message: string;
  /** Scope of the limit that refused the last one; absent: none did. */
  scope?: LimitScope;
}

export interface StoredRefusal extends Omit<RefusalCount, 'scope'> {
  /** Position in lists. */
  seq: number;
}

export interface RefusalFilter {
  account: number | null;
  key: number | null;
  /** Only keys that this actor created; null: all, also requests without a known key. */
  madeBy: string | null;
  code: string | null;
  sinceMs: number | null;
  untilMs: number | null;
}

export interface RefusalPage extends RefusalFilter {
  /** Cursor: the seq of the last row seen. */
  before: number | null;
  limit: number;
}

export const refusalGroupings = ['code', 'key', 'account', 'minute', 'five_minutes', 'hour', 'day'] as const;
export type RefusalGrouping = (typeof refusalGroupings)[number];

export interface RefusalQuestion extends RefusalFilter {
  /** Also those of the accounts below the account. */
  below?: boolean;
  groupBy: RefusalGrouping;
  limit: number;
}

/** A group; what it is not grouped by is null. */
export interface RefusalTotal {
  /** Start of the minute or hour. */
  atMs: number | null;
  account: number | null;
  key: number | null;
  code: string | null;
  count: number;
  /** null without a refusal. */
  lastAtMs: number | null;
}

export interface RefusalTotals {
  /** The latest minutes or hours, or the other groups with most refusals. */
  rows: RefusalTotal[];
  groups: number;
  whole: RefusalTotal;
}

export interface FrequentRefusal extends RefusalTotal {
  /** The first minute since the question's. */
  firstAtMs: number;
  /** The message of one of them. */
  message: string;
  /** The scope of one of them; null: no limit refused them. */
  scope: LimitScope | null;
}

export interface FrequentQuestion {
  sinceMs: number;
  /** Refusals of one key for one reason, from which on they are listed. */
  least: number;
  limit: number;
}

export interface RefusalStore {
  /** Adds to the counts that are stored. Bounded by the caller, for messages wait. Rejects with store_unavailable. */
  addRefusals(counts: readonly RefusalCount[]): Promise<void>;
  /** Newest minute first. */
  listRefusals(page: RefusalPage, requester?: Requester): Promise<StoredRefusal[]>;
  totalRefusals(question: RefusalQuestion, requester?: Requester): Promise<RefusalTotals>;
  /** Keys with many refusals for one reason, over all nodes, most first. Requests without a known key count together. */
  listFrequentRefusals(question: FrequentQuestion): Promise<FrequentRefusal[]>;
  /** The minute of the newest row beyond `rows` of them; null if there are no more. */
  findRefusalsBeyond(rows: number): Promise<{ atMs: number } | null>;
}

/** Attempts of one hour at one route, as one process counted them; with empty names of the route, the messages of the model. */
export interface RouteHour {
  /** Identifies the process since its start. */
  source: string;
  /** Start of the hour. */
  atMs: number;
  model: string;
  provider: string;
  upstreamModel: string;
  counts: RouteCounts;
}

export interface RouteCounts {
  answered: number;
  /** By fault; content that the provider rejected is one of them, but no failure of the route. */
  faults: Record<string, number>;
  /** Answers by time to the first content or the whole answer: bucket of `bucketOf` to number. */
  times: Record<string, number>;
  /** Results by the five minutes of the hour, 0 to 11. Earlier releases counted none. */
  slots?: Record<string, RouteSlot>;
  last?: RouteFailure;
}

export interface RouteSlot {
  answered: number;
  failed: number;
  /** 0: nothing failed. */
  firstFailedAtMs: number;
}

/** The last failure of a route, or of a model's messages. */
export interface RouteFailure {
  atMs: number;
  fault: string;
  /** null: no route was tried. */
  provider: string | null;
  credential: string | null;
  /** The provider's HTTP status. */
  status: number | null;
  /** The provider's words, shortened. */
  reason: string | null;
}

export interface RouteHourStore {
  /** Replaces what the same process stored of the hour. Bounded by the caller. Rejects with store_unavailable. */
  putRouteHours(hours: readonly RouteHour[]): Promise<void>;
  listRouteHours(sinceMs: number): Promise<RouteHour[]>;
}
