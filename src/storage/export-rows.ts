// Rows of exports and their runs: their statements and their reads, the same for both databases.

import type { ExportJobStore, ExportRun, ExportSchedule, ExportStore } from '../exports/exports.ts';
import type { LedgerGate } from '../ledger/ledger.ts';
import { submit } from './account-writes.ts';
import { eventRows } from './change-events.ts';
import type { CoCommittedRow, CoCommittedStatement } from './co-committed.ts';
import { prepareCount, prepareOne, readPage } from './readable-rows.ts';
import { columnsAs, LAST, type SqlReader } from './sql-reader.ts';
import { documents, type ExportDocument, type ExportRunDocument, readStored } from './stored-documents.ts';

export type ExportRow =
  | { table: 'exports'; created: ExportSchedule }
  /** Refused as Outpaced unless the stored version is its own. */
  | { table: 'exports'; changed: ExportSchedule }
  /** Only the secret, sealed anew. */
  | { table: 'exports'; resealed: ExportSchedule }
  /** A run that has no row yet, if its version is 0. Refused as Outpaced unless the stored version is its own. */
  | { table: 'export_runs'; run: ExportRun }
  /** A new run, unless its period has one. */
  | { table: 'export_runs'; scheduled: ExportRun };

export function exportStatements(row: ExportRow): CoCommittedStatement[] {
  if (row.table === 'export_runs') return [writeRun(row)];
  if ('created' in row) {
    const { id, accountId, createdAtMs, status, dueAtMs } = row.created;
    return [
      {
        text: `INSERT INTO exports (id, account_id, created_at_ms, status, due_at_ms, version, document)
           VALUES ($1, $2, $3, $4, $5, 1, $6)`,
        values: [id, accountId, createdAtMs, status, dueAtMs, documentOf(row.created)],
      },
    ];
  }
  if ('resealed' in row) {
    const text = 'UPDATE exports SET document = $2, version = version + 1 WHERE id = $1';
    return [{ text, values: [row.resealed.id, documentOf(row.resealed)] }];
  }
  const { id, version, status, dueAtMs } = row.changed;
  return [
    {
      text: `UPDATE exports SET status = $3, due_at_ms = $4, document = $5, version = version + 1
         WHERE id = $1 AND version = $2`,
      values: [id, version, status, dueAtMs, documentOf(row.changed)],
      race: 'the export has changed since it was read',
    },
  ];
}

function documentOf(schedule: ExportSchedule): string {
  const { id: _id, accountId: _account, createdAtMs: _at, status: _status, dueAtMs: _due, ...rest } = schedule;
  const { version: _version, ...document } = rest;
  return JSON.stringify(document satisfies ExportDocument);
}

function writeRun(row: Extract<ExportRow, { table: 'export_runs' }>): CoCommittedStatement {
  const run = 'run' in row ? row.run : row.scheduled;
  const { exportId, periodMs, status, nextAtMs, version, ...document } = run;
  const json = JSON.stringify(document satisfies ExportRunDocument);
  const insert = `INSERT INTO export_runs (export_id, period_ms, status, next_at_ms, version, document)
    VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT (export_id, period_ms) DO NOTHING`;
  const values = [exportId, periodMs, status, nextAtMs, json];
  const race = 'the run has changed since it was read';
  if ('scheduled' in row) return { text: insert, values };
  if (version === 0) return { text: insert, values, race };
  const text = `UPDATE export_runs SET status = $3, next_at_ms = $4, document = $5, version = version + 1
     WHERE export_id = $1 AND period_ms = $2 AND version = $6`;
  return { text, values: [...values, version], race };
}

type ExportTable = Omit<ExportSchedule, keyof ExportDocument> & { document: string };
type ExportRunTable = Omit<ExportRun, keyof ExportRunDocument> & { document: string };
type DueRunTable = ExportRunTable & Pick<ExportSchedule, 'accountId'>;

export type ExportReads = Omit<ExportStore, keyof ReturnType<typeof exportWrites>> &
  Pick<ExportJobStore, 'listDueExports' | 'listDueExportRuns'>;

export function exportReads(on: SqlReader): ExportReads {
  const names = columnsAs(on, 'r', ['id', 'createdAtMs', 'dueAtMs', 'version'], ['status', 'document']);
  const columns = `${names}, ${on.number('r.account_id')} AS "accountId"`;
  const runColumns = columnsAs(on, 'r', ['exportId', 'periodMs', 'nextAtMs', 'version'], ['status', 'document']);
  const exports = (rest: string) => on.prepare<ExportTable>(`SELECT ${columns} FROM exports r ${rest}`);
  const runs = (rest: string) => on.prepare<ExportRunTable>(`SELECT ${runColumns} FROM export_runs r ${rest}`);
  const last = '(SELECT COALESCE(MAX(l.created_at_ms), -1) FROM exports l WHERE l.id = $1), $1';
  const page = `(r.created_at_ms, r.id) > (${last}) ORDER BY r.created_at_ms, r.id LIMIT $2 OFFSET $3`;
  const all = exports(`WHERE ${page}`);
  const ofAccount = exports(`WHERE r.account_id = $4 AND ${page}`);
  const sealed = exports('ORDER BY r.id');
  const due = exports("WHERE r.status = 'enabled' AND r.due_at_ms <= $1 ORDER BY r.due_at_ms, r.id LIMIT $2 OFFSET $3");
  const ofExport = runs('WHERE r.export_id = $1 AND r.period_ms < $2 ORDER BY r.period_ms DESC LIMIT $3 OFFSET $4');
  const dueRuns = on.prepare<DueRunTable>(`SELECT ${runColumns}, ${on.number('e.account_id')} AS "accountId"
     FROM export_runs r JOIN exports e ON e.id = r.export_id
     WHERE r.next_at_ms <= $1 AND NOT EXISTS (SELECT 1 FROM export_runs o
       WHERE o.export_id = r.export_id AND (o.next_at_ms, o.period_ms) < (r.next_at_ms, r.period_ms))
     ORDER BY r.next_at_ms, r.export_id LIMIT $2 OFFSET $3`);
  const count = prepareCount(on, 'exports r', 'COALESCE(r.account_id, 0) = $1');
  const pageOf = (limit: number, ask: (skipped: number) => Promise<ExportTable[]>) =>
    readPage(on, limit, ask, ({ id }) => id, readExport);
  const pageOfRuns = (limit: number, ask: (skipped: number) => Promise<ExportRunTable[]>) =>
    readPage(on, limit, ask, nameOfRun, readRun);
  return {
    getExport: prepareOne(on, `SELECT ${columns} FROM exports r WHERE r.id = $1`, readExport),
    listExports: ({ accountId, after, limit }) =>
      pageOf(limit, (skipped) =>
        accountId === null ? all(after ?? 0, limit, skipped) : ofAccount(after ?? 0, limit, skipped, accountId),
      ),
    countExports: (accountId) => count(accountId ?? 0),
    listSealedExports: async () => (await sealed()).map(readExport).filter(({ secretSealed }) => secretSealed !== null),
    listDueExports: (nowMs, limit) => pageOf(limit, (skipped) => due(nowMs, limit, skipped)),
    listExportRuns: ({ exportId, before, limit }) =>
      pageOfRuns(limit, (skipped) => ofExport(exportId, before ?? LAST, limit, skipped)),
    getExportRun: prepareOne(
      on,
      `SELECT ${runColumns} FROM export_runs r WHERE r.export_id = $1 AND r.period_ms = $2`,
      readRun,
    ),
    listDueExportRuns: (nowMs, limit) =>
      readPage(
        on,
        limit,
        (skipped) => dueRuns(nowMs, limit, skipped),
        nameOfRun,
        ({ accountId, ...run }) => ({
          run: readRun(run),
          accountId,
        }),
      ),
  };
}

function nameOfRun({ exportId, periodMs }: Pick<ExportRunTable, 'exportId' | 'periodMs'>): string {
  return `${exportId} ${periodMs}`;
}

function readExport({ document, ...rest }: ExportTable): ExportSchedule {
  return { ...rest, ...readStored(documents.export, document) };
}

function readRun({ document, ...rest }: ExportRunTable): ExportRun {
  return { ...rest, ...readStored(documents.exportRun, document) };
}

export function exportWrites(gate: LedgerGate): Pick<ExportStore, 'createExport' | 'updateExport' | 'startExportRun'> {
  return {
    createExport: (created, auditContext) => submit(gate, [], [{ table: 'exports', created }], auditContext),
    updateExport: (changed, auditContext) => submit(gate, [], [{ table: 'exports', changed }], auditContext),
    startExportRun: (run, auditContext) => submit(gate, [], [{ table: 'export_runs', run }], auditContext),
  };
}

/** The store of the jobs of a node. `leader`: the node with its lease. */
export function makeExportJobStore(
  gate: LedgerGate,
  reads: Pick<ExportReads, 'getExport' | 'listDueExports' | 'listDueExportRuns'>,
  leader: () => string,
): ExportJobStore {
  const write = (rows: CoCommittedRow[]) => submit(gate, [], [{ table: 'leader', hold: leader() }, ...rows]);
  const { getExport, listDueExports, listDueExportRuns } = reads;
  return {
    getExport,
    listDueExports,
    listDueExportRuns,
    advance: (changed, scheduled) =>
      write([
        { table: 'exports', changed },
        { table: 'export_runs', scheduled },
      ]),
    saveRun: (run, events) => write([{ table: 'export_runs', run }, ...eventRows(events)]),
  };
}
