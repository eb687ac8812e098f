// Usage over time in equal buckets. Days come from the daily totals. Shorter buckets come from a bounded number of
// the newest records; `countedSinceMs` says where counting starts.

import { DAY_MS } from '../base/clock.ts';
import type { Serves } from '../wire/wire.ts';
import { addTo, emptyTotal, type UsageTotal } from './usage-totals.ts';

export const timelineSteps = ['minute', 'five_minutes', 'hour', 'day'] as const;
export type TimelineStep = (typeof timelineSteps)[number];

/** Each step divides a day: buckets are aligned to days, UTC. */
export const stepMs: Readonly<Record<TimelineStep, number>> = {
  minute: 60_000,
  five_minutes: 300_000,
  hour: 3_600_000,
  day: DAY_MS,
};

export interface TimelineQuestion {
  step: TimelineStep;
  account: number | null;
  /** Also usage of the accounts below `account`, by their present places. */
  below?: boolean;
  key: number | null;
  /** Only usage of keys that this actor created; null: all. */
  madeBy: string | null;
  model: string | null;
  /** Only messages of this endpoint. Absent: all. */
  endpoint?: Serves | null;
  /** Start of the first bucket and end of the last. */
  sinceMs: number;
  untilMs: number;
  /** The first and the last time that count in them. Absent: all. */
  firstMs?: number;
  lastMs?: number;
}

/** Time to first token: p50 and p95. */
export interface FirstTokens {
  p50: number;
  p95: number;
}

export interface UsageBucket {
  atMs: number;
  /** Not grouped: day, account, key and model are null. */
  total: UsageTotal;
  /** Messages that were not completed; null: not counted. */
  failed: number | null;
  /** null if no message had a first token, or none was read. */
  firstTokens: FirstTokens | null;
}

export interface UsageTimeline {
  /** Messages before it are not counted. A bucket boundary. */
  countedSinceMs: number;
  /** Every bucket, earliest first. */
  buckets: UsageBucket[];
}

/** The values read for one bucket or a part of it. */
export interface TimelinePart {
  atMs: number;
  /** Number of records scanned, including those of other models. */
  records: number;
  total: UsageTotal;
  failed: number;
  firstTokensMs: readonly number[];
}

/**
 * Adds up a timeline from parts in any order. If more than `recordsMax` records were scanned, or the source says so,
 * the earliest buckets are left out.
 */
export class TimelineSum {
  readonly #question: TimelineQuestion;
  readonly #recordsMax: number;
  readonly #parts = new Map<number, Gathered>();
  #records = 0;
  #countedSinceMs: number;
  #failedSinceMs: number;

  constructor(question: TimelineQuestion, recordsMax: number) {
    this.#question = question;
    this.#recordsMax = recordsMax;
    this.#countedSinceMs = question.sinceMs;
    this.#failedSinceMs = question.sinceMs;
  }

  /** No earlier record is needed. */
  get countedSinceMs(): number {
    return this.#countedSinceMs;
  }

  /** Starts counting at the first whole bucket at or after `atMs`. */
  countFrom(atMs: number): void {
    this.#countedSinceMs = Math.max(this.#countedSinceMs, this.#firstWholeMs(atMs));
    for (const [at, { records }] of this.#parts)
      if (at < this.#countedSinceMs) {
        this.#records -= records;
        this.#parts.delete(at);
      }
  }

  /** Starts counting failures at the first whole bucket at or after `atMs`. */
  failuresFrom(atMs: number): void {
    this.#failedSinceMs = Math.max(this.#failedSinceMs, this.#firstWholeMs(atMs));
  }

  get failedSinceMs(): number {
    return this.#failedSinceMs;
  }

  add(part: TimelinePart): void {
    if (part.atMs < this.#countedSinceMs || part.atMs >= this.#question.untilMs) return;
    const bucket = this.#parts.get(part.atMs) ?? { records: 0, total: emptyTotal(), failed: 0, firstTokensMs: [] };
    this.#parts.set(part.atMs, bucket);
    bucket.records += part.records;
    bucket.failed += part.failed;
    bucket.firstTokensMs.push(...part.firstTokensMs);
    addTo(bucket.total, part.total);
    this.#records += part.records;
    while (this.#records > this.#recordsMax) this.countFrom(this.#earliestMs() + 1);
  }

  /** Number of records scanned in a bucket, or in it according to its total. */
  recordsOf(atMs: number): number {
    const { records, total } = this.#parts.get(atMs) ?? { records: 0, total: emptyTotal() };
    return Math.max(records, total.messages);
  }

  result(): UsageTimeline {
    const { sinceMs, untilMs, step } = this.#question;
    const buckets: UsageBucket[] = [];
    for (let atMs = sinceMs; atMs < untilMs; atMs += stepMs[step]) {
      const { total = emptyTotal(), failed = 0, firstTokensMs = [] } = this.#parts.get(atMs) ?? {};
      const isFailedKnown = atMs >= this.#failedSinceMs;
      buckets.push({ atMs, total, failed: isFailedKnown ? failed : null, firstTokens: firstTokensOf(firstTokensMs) });
    }
    return { countedSinceMs: this.#countedSinceMs, buckets };
  }

  /** Start of the first bucket at or after `atMs`. */
  #firstWholeMs(atMs: number): number {
    const { untilMs, step } = this.#question;
    return Math.min(Math.ceil(atMs / stepMs[step]) * stepMs[step], untilMs);
  }

  #earliestMs(): number {
    return Math.min(...this.#parts.keys());
  }
}

interface Gathered {
  records: number;
  total: UsageTotal;
  failed: number;
  firstTokensMs: number[];
}

/** A part with only the given values known. */
export function timelinePart(atMs: number, known: Partial<Omit<TimelinePart, 'atMs'>>): TimelinePart {
  return { atMs, records: 0, total: emptyTotal(), failed: 0, firstTokensMs: [], ...known };
}

/** Nearest-rank percentiles: each value is one message's actual time. */
function firstTokensOf(timesMs: readonly number[]): FirstTokens | null {
  const sorted = Float64Array.from(timesMs).sort();
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
  const [p50, p95] = [at(0.5), at(0.95)];
  return p50 === undefined || p95 === undefined ? null : { p50, p95 };
}
