// Searches, rankings and sums of usage records out of the in-memory tables: of all records, however many.

import type { StoredUsageRecord } from '../../../src/ledger/ledger.ts';
import type {
  SummarySum,
  UsageFilter,
  UsagePage,
  UsageRanking,
  UsageSearch,
  UsageSummaryQuestion,
} from '../../../src/reports/reports.ts';
import type { FoundUsage, RankedUsage } from '../../../src/reports/usage-search.ts';
import { newestFirst } from './read-store.ts';
import { partOfRecord } from './timeline.ts';

type Narrowed = UsageFilter & Pick<UsagePage, 'outcome' | 'sinceMs' | 'untilMs'>;

function matches(record: StoredUsageRecord, filter: Narrowed): boolean {
  const { outcome, sinceMs, untilMs, model, modelPart, isCompleted, status, errorCode, provider, isStream, costMin } =
    filter;
  return (
    (outcome === null || record.outcome === outcome) &&
    record.atMs >= (sinceMs ?? 0) &&
    record.atMs <= (untilMs ?? Number.POSITIVE_INFINITY) &&
    (model === null || record.model === model) &&
    (modelPart === null || record.model.toLowerCase().includes(modelPart)) &&
    (isCompleted === null || (record.outcome === 'completed') === isCompleted) &&
    (status === null || (record.status >= status.least && record.status <= status.most)) &&
    (errorCode === null || record.error?.code === errorCode) &&
    (provider === null || record.provider === provider) &&
    (filter.group === null || record.group === filter.group) &&
    (isStream === null || record.stream === isStream) &&
    (filter.endpoint === null || (record.endpoint ?? 'messages') === filter.endpoint) &&
    (costMin === null || record.cost >= costMin) &&
    isAttributed(record, filter)
  );
}

function isAttributed(record: StoredUsageRecord, { tag, session, agent, person }: Narrowed): boolean {
  return (
    (tag === null || record.tags[tag.name] === tag.value) &&
    (session === null || record.session === session) &&
    (agent === null || record.agent === agent) &&
    (person === null || record.person === person)
  );
}

export function searchRecords(records: StoredUsageRecord[], search: UsageSearch): FoundUsage {
  const { before, limit, order } = search;
  const sorted = newestFirst(records, null, records.length);
  if (order === 'oldest') sorted.reverse();
  const start = before === null ? 0 : sorted.findIndex(({ seq }) => seq === before) + 1;
  const left = order === 'oldest' ? sorted.slice(start) : newestFirst(records, before, records.length);
  const rows = left.filter((record) => matches(record, search)).slice(0, limit);
  return { rows, next: rows.length < limit ? null : (rows.at(-1)?.seq ?? null) };
}

function rankedValue(record: StoredUsageRecord, by: UsageRanking['by']): number {
  if (by === 'cost') return record.cost;
  if (by === 'latency') return record.latencyMs;
  const { inputTokens, outputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = record;
  return inputTokens + outputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens;
}

export function rankRecords(records: StoredUsageRecord[], ranking: UsageRanking): RankedUsage {
  const { by, order, after, limit } = ranking;
  const sign = order === 'highest' ? -1 : 1;
  const compare = (one: { value: number; seq: number }, other: { value: number; seq: number }) =>
    sign * (one.value - other.value || one.seq - other.seq);
  const [newest] = newestFirst(records, null, 1);
  const start = after?.start ?? ([newest?.atMs ?? 0, (newest?.seq ?? 0) + 1] as const);
  const ranked = records
    .filter((record) => record.atMs < start[0] || (record.atMs === start[0] && record.seq < start[1]))
    .filter((record) => matches(record, ranking))
    .map((record) => ({ record, value: rankedValue(record, by), seq: record.seq }))
    .sort(compare)
    .filter((one) => after === null || compare(one, after) > 0)
    .slice(0, limit);
  const last = ranked.at(-1);
  const isFull = last !== undefined && ranked.length === limit;
  return {
    rows: ranked.map(({ record }) => record),
    next: isFull ? { start, end: null, value: last.value, seq: last.seq } : null,
    searchedSinceMs: null,
  };
}

export function sumRecords(sum: SummarySum, records: StoredUsageRecord[], question: UsageSummaryQuestion): void {
  for (const record of records.filter((one) => matches(one, question))) {
    const { atMs, total, failed } = partOfRecord(record, 60_000);
    const { account, key, model, provider, group, person, tags, session, agent } = record;
    const tag = tags[question.tagName ?? ''] ?? null;
    sum.add(atMs, { ...total, account, key, model, provider, group, person, tag, session, agent }, failed);
  }
}
