// The sums of a list of usage records: of daily totals, or of the newest records that match.

import { assert } from '../base/assert.ts';
import { bounds } from '../config/config.ts';
import { type RecordGrouping, SummarySum, type TotalsGrouping, type UsageStore } from '../reports/reports.ts';
import { rangeReads, SUMMARY_LIMITS, sumRecords } from './range-reads.ts';
import type { SqlReader } from './sql-reader.ts';
import type { DayReads } from './totals-reads.ts';
import { readTotal } from './totals-rows.ts';
import { ownersOf, usageScopes } from './usage-reads.ts';
import type { SearchLimits } from './usage-searches.ts';

const PART_MS = 60_000;

export function usageSummaries(
  on: SqlReader,
  days: DayReads,
  fewer: Partial<SearchLimits> = {},
): Pick<UsageStore, 'summarizeUsage'> {
  const limits = { ...SUMMARY_LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  const { readRange, retainedSince } = rangeReads(on, days, limits);
  return {
    async summarizeUsage(question) {
      const sum = new SummarySum(question);
      const { groupBy } = question;
      const owners = ownersOf(await scopeOf(question));
      const firstDayMs = owners[0] === undefined ? null : await days.firstDay(owners[0]);
      if (question.isOfDays) {
        const range = readRange(question, [daysBy(groupBy)]);
        for await (const totals of range.runs) for (const total of totals) sum.add(total.dayMs, total, null);
        return sum.result({ countedSinceMs: range.countedSinceMs(), firstDayMs }, bounds.summaryBucketsMax);
      }
      const of = { ...question, groupings: groupBy === null ? [] : [groupBy] };
      const sums = sumRecords(on, owners, of, question, { lengthMs: PART_MS, limits });
      for await (const rows of sums.rows) for (const row of rows) sum.add(row.bucket, readTotal(row), row.failed);
      const retainedSinceMs = await retainedSince();
      const countedSinceMs = sums.end()?.[0] ?? (retainedSinceMs > question.sinceMs ? retainedSinceMs : 0);
      return sum.result({ countedSinceMs, firstDayMs }, bounds.summaryBucketsMax);
    },
  };
}

/** Daily totals know neither sessions nor agents: summaries by them are of records. */
function daysBy(groupBy: RecordGrouping | null): TotalsGrouping {
  assert(groupBy !== 'session' && groupBy !== 'agent', 'days are not grouped by session or agent');
  return groupBy ?? 'day';
}
