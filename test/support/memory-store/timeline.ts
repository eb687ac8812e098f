// Usage over time out of the in-memory tables: of all records, however many.

import { integerOf } from '../../../src/base/checked-number.ts';
import { DAY_MS } from '../../../src/base/clock.ts';
import { retainedSinceNames, type UsageRecord } from '../../../src/ledger/ledger.ts';
import {
  divideRange,
  stepMs,
  type TimelineQuestion,
  TimelineSum,
  timelinePart,
  type UsageTimeline,
  type UsageTotal,
} from '../../../src/reports/reports.ts';
import { type Serves, unitEntries } from '../../../src/wire/wire.ts';
import { partOfTotals, partOfUnits } from '../part-of-totals.ts';
import type { MemoryTables } from './tables.ts';

type Of = { account: number; key: number; model: string; endpoint?: Serves };

/** As the stores that last have it, of what is asked for. */
export function sumTimeline(
  tables: MemoryTables,
  question: TimelineQuestion,
  isAsked: (of: Of) => boolean,
): UsageTimeline {
  const retainedSinceMs = integerOf(tables.installation.get(retainedSinceNames.usage) ?? 0);
  const sum = new TimelineSum(question, Number.POSITIVE_INFINITY);
  const { firstMs = question.sinceMs, lastMs = question.untilMs - 1 } = question;
  const records = [...tables.endings.values()]
    .map(({ record }) => record)
    .filter(({ atMs }) => atMs >= firstMs && atMs <= lastMs)
    .filter(isAsked);
  const isOfRecords = question.endpoint != null;
  const { edges } = divideRange({ sinceMs: firstMs, untilMs: lastMs });
  const isInEdge = (atMs: number) =>
    isOfRecords || edges.some(({ sinceMs, untilMs }) => atMs >= sinceMs && atMs <= untilMs);
  if (question.step === 'day') {
    const isWhole = ({ dayMs }: { dayMs: number }) => !isOfRecords && dayMs >= firstMs && dayMs + DAY_MS - 1 <= lastMs;
    for (const total of [...tables.totals.values()].filter(isAsked).filter(isWhole))
      sum.add(timelinePart(total.dayMs, { total: partOfTotals(total) }));
    for (const total of [...tables.unitTotals.values()].filter(isAsked).filter(isWhole))
      sum.add(timelinePart(total.dayMs, { total: partOfUnits(total) }));
    sum.failuresFrom(retainedSinceMs);
  } else sum.countFrom(retainedSinceMs);
  for (const record of records) {
    const { atMs, ...told } = partOfRecord(record, stepMs[question.step]);
    sum.add(
      question.step === 'day' && !isInEdge(record.atMs)
        ? { ...told, atMs, total: timelinePart(atMs, {}).total }
        : { ...told, atMs },
    );
  }
  return sum.result();
}

const NOBODY = { provider: null, group: null, person: null, session: null, agent: null };

export function partOfRecord(record: UsageRecord, length: number) {
  const atMs = record.atMs - (record.atMs % length);
  return timelinePart(atMs, {
    records: 1,
    failed: record.outcome === 'completed' ? 0 : 1,
    firstTokensMs: record.firstTokenMs === null ? [] : [record.firstTokenMs],
    total: { ...totalOfRecord(record), account: null, key: null, model: null, ...NOBODY },
  });
}

export function totalOfRecord(record: UsageRecord): UsageTotal {
  const isCosted = record.providerCost !== null;
  return {
    dayMs: null,
    account: record.account,
    key: record.key,
    model: record.model,
    provider: record.provider,
    group: record.group,
    person: record.person,
    tag: null,
    session: record.session,
    agent: record.agent,
    messages: 1,
    inputTokens: record.inputTokens,
    outputTokens: record.outputTokens,
    cacheReadTokens: record.cacheReadTokens,
    cacheWriteTokens: record.cacheWrite5mTokens + record.cacheWrite1hTokens,
    cost: BigInt(record.cost),
    writtenOff: BigInt(record.writtenOff),
    providerCost: BigInt(record.providerCost ?? 0),
    costedMessages: isCosted ? 1 : 0,
    costedRevenue: isCosted ? BigInt(record.cost - record.writtenOff) : 0n,
    units: unitsOfRecord(record),
  };
}

function unitsOfRecord({ units, unitCosts }: UsageRecord): UsageTotal['units'] {
  if (units === undefined || unitCosts === undefined) return {};
  return Object.fromEntries(
    unitEntries(units).map(([unit, quantity]) => [unit, { quantity, cost: BigInt(unitCosts[unit] ?? 0) }]),
  );
}
