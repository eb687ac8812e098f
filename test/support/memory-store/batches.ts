// Batches in memory.

import { type Batch, type BatchPart, type ItemResult, NO_COUNTS } from '../../../src/batches/batches.ts';
import type { BatchReads, BatchRow } from '../../../src/storage/batch-rows.ts';
import type { MemoryTables } from './tables.ts';

export function isBatchOutpaced({ batches, batchParts }: MemoryTables, row: BatchRow): boolean {
  if (row.table === 'batch_parts') return 'added' in row && batchParts.get(row.batchId)?.has(row.added.part) === true;
  return 'changed' in row && batches.get(row.changed.id)?.status !== row.from;
}

function writePart({ batchParts }: MemoryTables, row: Extract<BatchRow, { table: 'batch_parts' }>): void {
  if ('forgotten' in row) batchParts.delete(row.forgotten);
  else {
    const parts = batchParts.get(row.batchId) ?? new Map<number, BatchPart>();
    if ('removed' in row) parts.delete(row.removed);
    else {
      const part = 'added' in row ? row.added : row.changed;
      parts.set(part.part, part);
    }
    batchParts.set(row.batchId, parts);
  }
}

export function writeBatch(tables: MemoryTables, row: BatchRow): void {
  const { batches, batchResults } = tables;
  if (row.table === 'batch_parts') {
    writePart(tables, row);
    return;
  }
  if ('created' in row) batches.set(row.created.id, row.created);
  else if ('changed' in row) batches.set(row.changed.id, row.changed);
  else if ('removed' in row) {
    if (batches.get(row.removed)?.status === 'ended') batches.delete(row.removed);
  } else if ('forgotten' in row) batchResults.delete(row.forgotten);
  else {
    const results = batchResults.get(row.batchId) ?? new Map<number, ItemResult>();
    if (!results.has(row.result.position)) results.set(row.result.position, row.result);
    batchResults.set(row.batchId, results);
  }
}

export function batchReads({ batches, batchResults, batchParts, claims, holds }: MemoryTables): BatchReads {
  const byAge = (one: Pick<Batch, 'createdAtMs' | 'id'>, other: Pick<Batch, 'createdAtMs' | 'id'>) =>
    one.createdAtMs - other.createdAtMs || one.id - other.id;
  const resultsOf = (batchId: number) =>
    [...(batchResults.get(batchId)?.values() ?? [])].sort((one, other) => one.position - other.position);
  const running = () => [...batches.values()].filter(({ status }) => status !== 'ended');
  return {
    getBatch: async (id) => batches.get(id) ?? null,
    async listBatches({ keyId, form, order, after, limit }) {
      const sign = order === 'asc' ? 1 : -1;
      return [...batches.values()]
        .filter((batch) => batch.keyId === keyId && batch.form === form)
        .filter((batch) => after === null || sign * byAge(batch, after) > 0)
        .sort((one, other) => sign * byAge(one, other))
        .slice(0, limit);
    },
    listShownBatches: async ({ accountId, keyIds, status, sinceMs, untilMs, after, limit }) =>
      [...batches.values()]
        .filter((batch) => (accountId ?? batch.accountId) === batch.accountId)
        .filter(({ keyId }) => keyIds === null || keyIds.includes(keyId))
        .filter((batch) => (status ?? batch.status) === batch.status)
        .filter(({ createdAtMs }) => createdAtMs >= (sinceMs ?? 0) && createdAtMs <= (untilMs ?? createdAtMs))
        .filter((batch) => after === null || byAge(batch, after) < 0)
        .sort((one, other) => byAge(other, one))
        .slice(0, limit),
    listRunningBatches: async (limit) => {
      const turnOf = ({ companyId, id }: Batch) =>
        running().filter((one) => one.companyId === companyId && one.id < id).length;
      return running()
        .sort((one, other) => turnOf(one) - turnOf(other) || one.companyId - other.companyId)
        .slice(0, limit);
    },
    countRunningBatches: async (companyId) => running().filter((batch) => batch.companyId === companyId).length,
    listDueBatches: async (nowMs, limit) =>
      [...batches.values()]
        .filter(({ status, dueAtMs }) => status === 'ended' && dueAtMs <= nowMs)
        .sort((one, other) => one.dueAtMs - other.dueAtMs)
        .slice(0, limit),
    async findBegun(keyId, claim) {
      const { requestId, isAnswered } = claims.get(`${keyId} ${claim}`) ?? {};
      if (requestId === undefined) return null;
      return { requestId, state: isAnswered === true ? 'answered' : holds.has(requestId) ? 'running' : 'failed' };
    },
    async sumResults(batchId) {
      const counts = { ...NO_COUNTS };
      for (const { outcome } of resultsOf(batchId)) counts[outcome]++;
      return { counts, cost: resultsOf(batchId).reduce((sum, { cost }) => sum + cost, 0) };
    },
    listResults: async ({ batchId, after, limit }) =>
      resultsOf(batchId)
        .filter(({ position }) => position > after)
        .slice(0, limit),
    listParts: async (batchId) =>
      [...(batchParts.get(batchId)?.values() ?? [])].sort((one, other) => one.part - other.part),
    listDone: async ({ batchId, after, limit }) =>
      resultsOf(batchId)
        .map(({ position }) => position)
        .filter((position) => position > after)
        .slice(0, limit),
  };
}
