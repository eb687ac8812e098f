// Usage over time, in buckets of one length. Days are added up from the daily totals, what is shorter from the records
// themselves: of those a bounded number, the newest, and it is said from when on they are counted.

import { DAY_MS } from '../base/clock.ts';
import { addTo, emptyTotal, type UsageTotal } from './usage-totals.ts';

export const timelineSteps = ['minute', 'five_minutes', 'hour', 'day'] as const;
export type TimelineStep = (typeof timelineSteps)[number];

/** All are parts of a day: buckets begin with the days, UTC. */
export const stepMs: Readonly<Record<TimelineStep, number>> = {
  minute: 60_000,
  five_minutes: 300_000,
  hour: 3_600_000,
  day: DAY_MS,
};

export interface TimelineQuestion {
  step: TimelineStep;
  account: number | null;
  key: number | null;
  /** Only usage of the keys that this actor made; null: of all. */
  madeBy: string | null;
  model: string | null;
  /** Where the first bucket begins, and the last one ends. */
  sinceMs: number;
  untilMs: number;
}

/** How soon messages had their first token: half of them so soon, and 95 of 100. */
export interface FirstTokens {
  p50: number;
  p95: number;
}

export interface UsageBucket {
  atMs: number;
  /** Of no group: day, account, key and model are null. */
  total: UsageTotal;
  /** Messages that were not completed; null: not counted. */
  failed: number | null;
  /** Null: there is none, or none was looked at. */
  firstTokens: FirstTokens | null;
}

export interface UsageTimeline {
  /** What is before it is not counted; where a bucket begins, or the last one ends. */
  countedSinceMs: number;
  /** Every bucket, the earliest first. */
  buckets: UsageBucket[];
}

/** What was read of one bucket, or of a part of it. */
export interface TimelinePart {
  atMs: number;
  /** How many records were looked at, those of other models among them. */
  records: number;
  total: UsageTotal;
  failed: number;
  firstTokensMs: readonly number[];
}

/**
 * Adds a timeline up from parts, which may come in any order. Buckets are left out from the earliest on: by who adds parts, or
 * when more than `recordsMax` records were looked at.
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

  /** No record before it is needed any more. */
  get countedSinceMs(): number {
    return this.#countedSinceMs;
  }

  /** Counts from the first whole bucket on that begins then or later. */
  countFrom(atMs: number): void {
    this.#countedSinceMs = Math.max(this.#countedSinceMs, this.#firstWholeMs(atMs));
    for (const [at, { records }] of this.#parts)
      if (at < this.#countedSinceMs) {
        this.#records -= records;
        this.#parts.delete(at);
      }
  }

  /** Failures are known from the first whole bucket on that begins then or later. */
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

  /** How many records were looked at in a bucket, or by its total are in it. */
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

  /** Where the first bucket begins that begins then or later. */
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

/** A part of which only this much is known. */
export function timelinePart(atMs: number, known: Partial<Omit<TimelinePart, 'atMs'>>): TimelinePart {
  return { atMs, records: 0, total: emptyTotal(), failed: 0, firstTokensMs: [], ...known };
}

/** By the nearest rank: each is a time that some message had. */
function firstTokensOf(timesMs: readonly number[]): FirstTokens | null {
  const sorted = Float64Array.from(timesMs).sort();
  const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1];
  const [p50, p95] = [at(0.5), at(0.95)];
  return p50 === undefined || p95 === undefined ? null : { p50, p95 };
}
