// The sums of a list of usage records: of daily totals by whole days, or of the newest records that match.

import { assert } from '../base/assert.ts';
import { bounds } from '../config/config.ts';
import {
  type RecordGrouping,
  SummarySum,
  type TotalsGrouping,
  type UsageStore,
  type UsageSummaryQuestion,
} from '../reports/reports.ts';
import { Bindings, LAST, type Position, type SqlReader } from './sql-reader.ts';
import { RUN_SUMS, type RunRow } from './timeline-reads.ts';
import { type DayReads, groupColumns, readTotal } from './totals-reads.ts';
import { detailPaths } from './usage-details.ts';
import { ownersOf, type ScopeOwner, type UsageRange, usageRange, usageScopes } from './usage-reads.ts';
import { filterConditions, readParts, type SearchLimits, sourcesOf } from './usage-searches.ts';

const PART_MS = 60_000;

const LIMITS: SearchLimits = {
  recordsMax: bounds.summaryRecordsMax,
  recordsAtOnce: bounds.summaryRunRows,
  readMsMax: bounds.usageSearchMsMax,
};

export function usageSummaries(
  on: SqlReader,
  { readDays }: DayReads,
  fewer: Partial<SearchLimits> = {},
): Pick<UsageStore, 'summarizeUsage'> {
  const limits = { ...LIMITS, ...fewer };
  const scopeOf = usageScopes(on);
  return {
    async summarizeUsage(question) {
      const sum = new SummarySum(question);
      if (question.isOfDays) {
        for await (const totals of readDays(question, daysBy(question.groupBy)))
          for (const total of totals) sum.add(total.dayMs, total, null);
        return sum.result(0, bounds.summaryBucketsMax);
      }
      const owners = ownersOf(await scopeOf(question));
      const sources = sourcesOf(owners, question);
      const range = { sinceMs: question.sinceMs, start: [question.untilMs, LAST] as const };
      let end: Position | null = null;
      for await (const part of readParts(on, sources, range, limits)) {
        for (const source of sources)
          for (const row of await sumPart(on, question, owners, { ...range, ...source, ...part }))
            sum.add(row.bucket, readTotal(row), row.failed);
        end = part.end;
      }
      return sum.result(end === null ? 0 : end[0], bounds.summaryBucketsMax);
    },
  };
}

/** The sums of a part by minute and group. */
function sumPart(
  on: SqlReader,
  question: UsageSummaryQuestion,
  owners: readonly ScopeOwner[],
  range: UsageRange,
): Promise<RunRow[]> {
  const bindings = new Bindings();
  const length = bindings.add(PART_MS);
  const rows = usageRange(on, bindings, { ...range, where: filterConditions(on, bindings, question, owners) });
  const groups = groupsOf(on, question);
  const names = groups.map(([value]) => `, ${value}`).join('');
  const shownNames = groups.map(([value, name]) => `, ${value} AS ${name}`).join('');
  return on.read<RunRow>(
    `SELECT ${on.number(`(r.at_ms - r.at_ms % ${length})`)} AS bucket${shownNames}, ${RUN_SUMS}
     FROM (SELECT r.* ${rows}) r GROUP BY bucket${names}`,
    ...bindings.values,
  );
}

/** Daily totals know neither sessions nor agents: summaries by them are of records. */
function daysBy(groupBy: RecordGrouping | null): TotalsGrouping {
  assert(groupBy !== 'session' && groupBy !== 'agent', 'days are not grouped by session or agent');
  return groupBy ?? 'day';
}

/** The values by which a summary groups records `r`, with the names of a row's columns. */
function groupsOf(on: SqlReader, { groupBy, tagName = null }: UsageSummaryQuestion): [value: string, name: string][] {
  switch (groupBy) {
    case null:
    case 'day':
      return [];
    case 'provider':
      return [[on.jsonText('r.details', detailPaths.provider), 'provider']];
    case 'group':
      return [['r.group_name', 'group_name']];
    case 'person':
      return [[on.number('r.person_id'), 'person_id']];
    case 'session':
      return [['r.session', 'session']];
    case 'agent':
      return [[on.jsonText('r.details', detailPaths.agent), 'agent']];
    case 'tag':
      return tagName === null ? [] : [[on.jsonText('r.details', [...detailPaths.tags, tagName]), 'tag']];
    default:
      return groupColumns[groupBy].map((name) => [name === 'model' ? 'r.model' : on.number(`r.${name}`), name]);
  }
}
