// Exports and their runs in memory.

import type { ExportRun } from '../../../src/exports/exports.ts';
import type { CoCommittedRow } from '../../../src/storage/co-committed.ts';
import type { ExportReads, ExportRow } from '../../../src/storage/export-rows.ts';
import type { MemoryTables } from './tables.ts';

const nameOf = ({ exportId, periodMs }: Pick<ExportRun, 'exportId' | 'periodMs'>) => `${exportId} ${periodMs}`;

/** Whether another change of the same export or run came first. */
export function isExportOutpaced({ exports, exportRuns }: MemoryTables, row: CoCommittedRow): boolean {
  if (row.table === 'exports' && 'changed' in row) return exports.get(row.changed.id)?.version !== row.changed.version;
  if (row.table !== 'export_runs' || !('run' in row)) return false;
  return (exportRuns.get(nameOf(row.run))?.version ?? 0) !== row.run.version;
}

export function writeExportRow({ exports, exportRuns }: MemoryTables, row: ExportRow): void {
  if (row.table === 'export_runs') {
    const run = 'run' in row ? row.run : row.scheduled;
    if ('run' in row || !exportRuns.has(nameOf(run))) exportRuns.set(nameOf(run), { ...run, version: run.version + 1 });
    return;
  }
  const schedule = 'created' in row ? row.created : 'changed' in row ? row.changed : row.resealed;
  exports.set(schedule.id, { ...schedule, version: 'created' in row ? 1 : schedule.version + 1 });
}

export function exportReads({ exports, exportRuns }: MemoryTables): ExportReads {
  const inOrder = () =>
    [...exports.values()].sort((one, other) => one.createdAtMs - other.createdAtMs || one.id - other.id);
  return {
    getExport: async (id) => exports.get(id) ?? null,
    async listExports({ accountId, after, limit }) {
      const all = inOrder();
      const from = all.findIndex(({ id }) => id === after) + 1;
      return all
        .slice(from)
        .filter((one) => accountId === null || one.accountId === accountId)
        .slice(0, limit);
    },
    countExports: async (accountId) => [...exports.values()].filter((one) => one.accountId === accountId).length,
    listSealedExports: async () => inOrder().filter(({ secretSealed }) => secretSealed !== null),
    listDueExports: async (nowMs, limit) =>
      inOrder()
        .filter(({ status, dueAtMs }) => status === 'enabled' && dueAtMs <= nowMs)
        .slice(0, limit),
    listExportRuns: async ({ exportId, before, limit }) =>
      [...exportRuns.values()]
        .filter((run) => run.exportId === exportId && run.periodMs < (before ?? Number.POSITIVE_INFINITY))
        .sort((one, other) => other.periodMs - one.periodMs)
        .slice(0, limit),
    getExportRun: async (exportId, periodMs) => exportRuns.get(nameOf({ exportId, periodMs })) ?? null,
    async listDueExportRuns(nowMs, limit) {
      const due = [...exportRuns.values()]
        .filter(({ nextAtMs }) => nextAtMs !== null && nextAtMs <= nowMs)
        .sort((one, other) => (one.nextAtMs ?? 0) - (other.nextAtMs ?? 0) || one.periodMs - other.periodMs);
      const first = due.filter(({ exportId }, at) => due.findIndex((run) => run.exportId === exportId) === at);
      return first.slice(0, limit).map((run) => ({ run, accountId: exports.get(run.exportId)?.accountId ?? null }));
    },
  };
}
