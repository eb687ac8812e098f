// Usage between two exact times: daily totals of whole days, and records of the days that the times divide. Reads of records are
// bounded in rows and time.

import { integerOf } from '../base/checked-number.ts';
import { DAY_MS } from '../base/clock.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { retainedSinceNames } from '../ledger/ledger.ts';
import {
  compareTotals,
  type DividedRange,
  divideRange,
  type Edge,
  gatherTop,
  gatherTotals,
  NO_FILTER,
  type RecordGrouping,
  type Times,
  type TopQuestion,
  type TotalsGrouping,
  type TotalsQuestion,
  type UsageStore,
  type UsageSummaryQuestion,
  type UsageTotal,
  type UsageTotals,
} from '../reports/reports.ts';
import { Bindings, LAST, type Position, type SqlReader } from './sql-reader.ts';
import { RUN_SUMS, type RunRow } from './timeline-reads.ts';
import { type DayReads, groupColumns, groupingsOf, isApart, type TopDays } from './totals-reads.ts';
import { readTotal, unitSumsOf } from './totals-rows.ts';
import { hasUnits } from './totals-runs.ts';
import { detailPaths, HAS_UNITS } from './usage-details.ts';
import { ownersOf, type ScopeOwner, type UsageRange, usageRange, usageScopes } from './usage-reads.ts';
import { filterConditions, readParts, type SearchLimits, sourcesOf } from './usage-searches.ts';

export const SUMMARY_LIMITS: SearchLimits = {
  recordsMax: bounds.summaryRecordsMax,
  recordsAtOnce: bounds.summaryRunRows,
  readMsMax: bounds.usageSearchMsMax,
};

/** The conditions of a sum of records, and what it is grouped by. */
export interface SumQuestion
  extends Omit<UsageSummaryQuestion, 'groupBy' | 'isOfDays' | 'limit' | 'sinceMs' | 'untilMs'> {
  groupings: readonly RecordGrouping[];
}

/** Rows of a sum of records by bucket and group. */
export interface RecordSums {
  rows: AsyncIterable<RunRow[]>;
  /** The last position that was read, once all rows were; null if all records were. */
  end(): Position | null;
}

/** Sums of the newest records between two times, in buckets of `lengthMs`. */
export function sumRecords(
  on: SqlReader,
  owners: readonly ScopeOwner[],
  question: SumQuestion,
  { sinceMs, untilMs }: Edge,
  { lengthMs, limits }: { lengthMs: number; limits: SearchLimits },
): RecordSums {
  let end: Position | null = null;
  const sources = sourcesOf(owners, question);
  const range = { sinceMs, start: [untilMs, LAST] as const };
  const read = async function* () {
    const sums = (await hasUnits(on, sinceMs - (sinceMs % DAY_MS), untilMs)) ? [sumPart, sumUnits] : [sumPart];
    for await (const part of readParts(on, sources, range, limits)) {
      for (const source of sources)
        for (const sum of sums) yield await sum(on, question, owners, { ...range, ...source, ...part }, lengthMs);
      end = part.end;
    }
  };
  return { rows: read(), end: () => end };
}

type SumPart = (
  on: SqlReader,
  question: SumQuestion,
  owners: readonly ScopeOwner[],
  range: UsageRange,
  lengthMs: number,
) => Promise<RunRow[]>;

/** The sums of a part by bucket and group. */
const sumPart: SumPart = (on, question, owners, range, lengthMs) => {
  const bindings = new Bindings();
  const [names, shown] = bucketsOf(on, bindings, question, lengthMs);
  const rows = usageRange(on, bindings, { ...range, where: filterConditions(on, bindings, question, owners) });
  return on.read<RunRow>(
    `SELECT ${shown}, ${RUN_SUMS} FROM (SELECT r.* ${rows}) r GROUP BY ${names}`,
    ...bindings.values,
  );
};

/** The sums of its units. */
const sumUnits: SumPart = (on, question, owners, range, lengthMs) => {
  const bindings = new Bindings();
  const [, shown = '', columns = ''] = bucketsOf(on, bindings, question, lengthMs);
  const where = [...filterConditions(on, bindings, question, owners), HAS_UNITS];
  const records = usageRange(on, bindings, { ...range, where });
  return on.read<RunRow>(unitSumsOf(on, records, shown, columns), ...bindings.values);
};

/** The groups of a sum of records: their expressions, the same with their names, and the names. */
function bucketsOf(on: SqlReader, bindings: Bindings, question: SumQuestion, lengthMs: number): string[] {
  const length = bindings.add(lengthMs);
  const groups = groupsOf(on, question);
  const bucket = on.number(`(r.at_ms - r.at_ms % ${length})`);
  return [
    ['bucket', ...groups.map(([value]) => value)],
    [`${bucket} AS bucket`, ...groups.map(([value, name]) => `${value} AS ${name}`)],
    ['bucket', ...groups.map(([, name]) => name)],
  ].map((columns) => columns.join(', '));
}

/** The values by which a sum groups records `r`, with the names of a row's columns. */
function groupsOf(on: SqlReader, { groupings, tagName = null }: SumQuestion): [value: string, name: string][] {
  const columns = groupings.flatMap((grouping): [string, string][] => {
    switch (grouping) {
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
        return groupColumns[grouping].map((name) => [name === 'model' ? 'r.model' : on.number(`r.${name}`), name]);
    }
  });
  return [...new Map(columns.map((column) => [column[1], column])).values()];
}

type RangeQuestion = TopQuestion & Pick<TotalsQuestion, 'tagName'>;

interface RangeTotals {
  runs: AsyncIterable<UsageTotal[]>;
  /** Once all runs were read. Earlier messages are not counted; 0 if all are. */
  countedSinceMs(): number;
}

export interface RangeReads {
  /** The records before it are no longer stored; 0 if all are. */
  retainedSince(): Promise<number>;
  /** Totals by group. Days of records and of totals have their `dayMs` where days are grouped by. */
  readRange(
    question: RangeQuestion,
    groupings: readonly TotalsGrouping[],
    /** Reads the whole days, if it does so in another way. */
    readWhole?: (question: RangeQuestion) => AsyncIterable<UsageTotal[]> | Iterable<UsageTotal[]>,
  ): RangeTotals;
  topDays: DayReads['topDays'];
}

/** Records of the days that the times divide are read here, whole days by `readDays`. */
export function rangeReads(
  on: SqlReader,
  { readDays, topDays }: DayReads,
  limits: SearchLimits = SUMMARY_LIMITS,
): RangeReads {
  const scopeOf = usageScopes(on);
  const readRetained = on.prepare<{ value: string }>('SELECT value FROM installation WHERE name = $1');
  const retainedSince = async () => {
    const [retained] = await readRetained(retainedSinceNames.usage);
    return retained === undefined ? 0 : integerOf(retained.value);
  };
  const readEdges = async (question: RangeQuestion) => ({
    owners: ownersOf(await scopeOf(question)),
    retainedSinceMs: await retainedSince(),
  });
  return {
    retainedSince,
    topDays,
    readRange(question, groupings, readWhole = (whole) => readDays(whole, groupings)) {
      const { endpoint = null, tag = null, group = null } = question;
      const { days, edges } = endpoint === null ? divideRange(question) : ofRecords(question);
      const of = { ...NO_FILTER, outcome: null, ...question, endpoint, tag, group, groupings };
      const isByDay = groupings.includes('day');
      let countedSinceMs = 0;
      const read = async function* () {
        const { owners, retainedSinceMs } = edges.length === 0 ? NO_EDGES : await readEdges(question);
        for (const edge of edges) {
          const isOfLastDay = days !== null && edge.sinceMs > (days.sinceMs ?? 0);
          if (retainedSinceMs > edge.sinceMs) {
            if (isOfLastDay) throw lastDayDropped();
            countedSinceMs = Math.min(retainedSinceMs, edge.untilMs + 1);
          }
          const sums = sumRecords(on, owners, of, edge, { lengthMs: DAY_MS, limits });
          for await (const rows of sums.rows)
            yield rows.map(({ bucket, ...row }) => readTotal({ ...row, ...(isByDay && { day_ms: bucket }) }));
          const end = sums.end();
          if (end !== null) countedSinceMs = end[0];
          if (end !== null && isOfLastDay) return; // without its earlier records, the days before would leave a gap
        }
        if (days !== null) yield* readWhole({ ...question, ...days });
      };
      return { runs: read(), countedSinceMs: () => countedSinceMs };
    },
  };
}

/** Totals of days have no endpoint. */
function ofRecords({ sinceMs, untilMs }: Times): DividedRange {
  return { days: null, edges: [{ sinceMs: sinceMs ?? 0, untilMs: untilMs ?? LAST }] };
}

const NO_EDGES = { owners: [], retainedSinceMs: 0 };

/** Totals between exact times, where the question asks for them. */
export function exactTotals(
  { totalUsage, topUsage }: Pick<UsageStore, 'totalUsage' | 'topUsage'>,
  { readRange, topDays }: RangeReads,
): Pick<UsageStore, 'totalUsage' | 'topUsage'> {
  const exact: Pick<UsageStore, 'totalUsage' | 'topUsage'> = {
    async totalUsage(question) {
      if (question.isExact !== true) return totalUsage(question);
      const range = readRange(question, groupingsOf(question));
      const totals = await gatherTotals(range.runs, question);
      return counted(question, { ...totals, countedSinceMs: range.countedSinceMs() });
    },
    async topUsage(question) {
      if (question.isExact !== true) return topUsage(question);
      const groupings = ['account', 'key', 'model'] as const;
      let whole: TopDays | null = null;
      const readWhole = (days: RangeQuestion) => {
        whole = topDays(days);
        return whole.runs;
      };
      const range = readRange(question, groupings, readWhole);
      // Apart, edges are read first, and whole days only then.
      const runs = isApart(question) ? await Array.fromAsync(range.runs) : range.runs;
      const found = await gatherTop(runs, question, (whole as TopDays | null)?.apart);
      const cutMs = (whole as TopDays | null)?.countedSinceMs() ?? 0;
      // The edge before days that are not counted would leave a gap.
      if (cutMs > 0 && (question.sinceMs ?? 0) % DAY_MS !== 0)
        return { ...(await exact.topUsage({ ...question, sinceMs: cutMs })), countedSinceMs: cutMs };
      return counted(question, { ...found, countedSinceMs: Math.max(range.countedSinceMs(), cutMs) });
    },
  };
  return exact;
}

/** Totals of two periods. The records of the days that a period divides are added up once for all groupings. */
export function comparedTotals(
  { readDays }: Pick<DayReads, 'readDays'>,
  { readRange }: RangeReads,
): Pick<UsageStore, 'compareUsage'> {
  return {
    async compareUsage(question) {
      const compared = await compareTotals(question, async (period, groupings) => {
        let days: RangeQuestion | null = null;
        const range = readRange(period, [...new Set(groupings.flat())], (whole) => {
          days = whole;
          return [];
        });
        const edges = await Array.fromAsync(range.runs);
        const found: UsageTotals[] = [];
        for (const by of groupings) {
          const [groupBy, ...thenBy] = by;
          const runs = async function* () {
            yield* edges;
            if (days !== null) yield* readDays(days, by);
          };
          const all = { groupBy: groupBy as TotalsGrouping, thenBy, limit: Number.MAX_SAFE_INTEGER };
          found.push({ ...(await gatherTotals(runs(), all)), countedSinceMs: range.countedSinceMs() });
        }
        return found;
      });
      counted(question, compared.now);
      return compared;
    },
  };
}

/** Throws invalid_request if the question is about an endpoint, and no record of the time is stored. */
function counted<Found extends { countedSinceMs: number }>({ endpoint = null, untilMs }: RangeQuestion, found: Found) {
  if (endpoint === null || untilMs === null || found.countedSinceMs <= untilMs) return found;
  const message = 'endpoint: only records have one, and those of this time are no longer stored';
  throw new TurnpikeError('invalid_request', message);
}

function lastDayDropped(): TurnpikeError {
  return new TurnpikeError(
    'invalid_request',
    'until: must be the end of a day in UTC, because the records of that day are no longer stored',
  );
}
