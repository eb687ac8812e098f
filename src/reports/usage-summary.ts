// The sums of a list of usage records: in total, over time and by group. All come from the same parts, so that they agree.

import { DAY_MS } from '../base/clock.ts';
import type { UsageFilter, UsagePage } from './usage-search.ts';
import { addTo, emptyTotal, Groups, type RecordGrouping, type UsageTotal, withUnitsOf } from './usage-totals.ts';

export interface UsageSummaryQuestion extends Omit<UsagePage, 'before' | 'sinceMs' | 'untilMs'>, UsageFilter {
  /** Both inclusive. */
  sinceMs: number;
  untilMs: number;
  groupBy: RecordGrouping | null;
  /** The name of the tag to group by. */
  tagName?: string | null;
  /**
   * Whether daily totals are added up, which the filters but those of account, key and model do not narrow, and only the records of days
   * that the times divide.
   */
  isOfDays: boolean;
}

export interface UsageSummary {
  /** The messages before it are not counted; 0 if all are. */
  countedSinceMs: number;
  /** The first day with messages of the account or key, or of all; null without one. */
  firstDayMs: number | null;
  whole: UsageTotal;
  /** Messages that were not completed; null: not counted. */
  failed: number | null;
  /** Length of a bucket. */
  stepMs: number;
  /**
   * All of the times that were asked for and are counted, earliest first; without a first time, from the first bucket with messages.
   * Empty without messages, and for groups of whole days other than days.
   */
  buckets: SummaryBucket[];
  /** The latest days, or the groups with the highest cost, at most `limit`. */
  rows: UsageTotal[];
  /** Number of groups in all. */
  groups: number;
}

export interface SummaryBucket {
  atMs: number;
  messages: number;
  failed: number | null;
  cost: bigint;
}

const HOUR_MS = 3_600_000;
const STEPS_MS = [1, 5, 15, 30]
  .map((minutes) => minutes * 60_000)
  .concat([1, 2, 6, 12].map((hours) => hours * HOUR_MS));
const STEPS_OF_DAYS_MS = [1, 7, 30, 90, 365, 3_650].map((days) => days * DAY_MS);

/** Adds up parts in any order. */
export class SummarySum {
  readonly #question: UsageSummaryQuestion;
  readonly #whole = emptyTotal();
  readonly #groups: Groups | null;
  readonly #parts = new Map<number, SummaryBucket>();

  constructor(question: UsageSummaryQuestion) {
    this.#question = question;
    this.#groups = question.groupBy === null ? null : new Groups(question.groupBy);
  }

  /**
   * The part has the names by which the question groups. Without a time it is in no bucket. `failed` is null if it is unknown.
   */
  add(atMs: number | null, total: UsageTotal, failed: number | null): void {
    addTo(this.#whole, total);
    this.#groups?.add({ ...total, dayMs: atMs === null ? null : atMs - (atMs % DAY_MS) });
    if (atMs === null) return;
    const part = this.#parts.get(atMs);
    if (part === undefined) this.#parts.set(atMs, { atMs, messages: total.messages, failed, cost: total.cost });
    else addBucket(part, { atMs, messages: total.messages, failed, cost: total.cost });
  }

  /** With at most `bucketsMax` buckets. */
  result(
    { countedSinceMs, firstDayMs }: Pick<UsageSummary, 'countedSinceMs' | 'firstDayMs'>,
    bucketsMax: number,
  ): UsageSummary {
    const { isOfDays, limit, sinceMs, untilMs } = this.#question;
    const steps = isOfDays ? STEPS_OF_DAYS_MS : [...STEPS_MS, ...STEPS_OF_DAYS_MS];
    const times = [...this.#parts.keys()];
    const [firstMs, lastMs] = times.reduce(
      ([first, last], atMs) => [Math.min(first, atMs), Math.max(last, atMs)],
      sinceMs === 0 ? [Number.POSITIVE_INFINITY, 0] : [Math.max(sinceMs, countedSinceMs), untilMs],
    );
    const bucketsOf = (stepMs: number) => Math.floor(lastMs / stepMs) - Math.floor(firstMs / stepMs) + 1;
    const stepMs = steps.find((step) => bucketsOf(step) <= bucketsMax) ?? (steps.at(-1) as number);
    const buckets = new Map<number, SummaryBucket>();
    if (times.length > 0)
      for (let atMs = firstMs - (firstMs % stepMs); atMs <= lastMs; atMs += stepMs)
        buckets.set(atMs, { atMs, messages: 0, failed: isOfDays ? null : 0, cost: 0n });
    for (const part of this.#parts.values())
      addBucket(buckets.get(part.atMs - (part.atMs % stepMs)) as SummaryBucket, part);
    const rows = this.#groups?.first('cost') ?? [];
    return {
      countedSinceMs,
      firstDayMs,
      whole: this.#whole,
      failed: isOfDays ? null : [...buckets.values()].reduce((sum, { failed }) => sum + (failed ?? 0), 0),
      stepMs,
      buckets: [...buckets.values()],
      rows: withUnitsOf(rows.slice(0, limit), this.#whole),
      groups: rows.length,
    };
  }
}

function addBucket(sum: SummaryBucket, { messages, failed, cost }: SummaryBucket): void {
  sum.messages += messages;
  sum.cost += cost;
  sum.failed = sum.failed === null || failed === null ? null : sum.failed + failed;
}
