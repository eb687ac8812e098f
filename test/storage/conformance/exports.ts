// Exports that are sent at regular times, and their runs: lists, what is due, and changes that other changes outpaced.

import { expect, test } from 'bun:test';
import { type ExportSchedule, newRun } from '../../../src/exports/exports.ts';
import { Outpaced } from '../../../src/ledger/ledger.ts';
import { makeExportJobStore, takeLead } from '../../../src/storage/storage.ts';
import { type OpenStores, openWorkbench, START_MS } from '../../money/ledger/workbench.ts';
import { noAuditContext } from '../../support/no-audit-context.ts';

export const exportOf = (id: number, members: Partial<ExportSchedule> = {}): ExportSchedule => ({
  id,
  accountId: null,
  name: 'Finance “日本”',
  kind: 'costs',
  format: 'parquet',
  by: ['account', 'model'],
  every: 'month',
  day: 1,
  target: {
    kind: 's3',
    endpoint: 'https://s3.example.com',
    region: 'eu-central-1',
    bucket: 'finance',
    prefix: 'turnpike',
    accessKeyId: 'AKID',
  },
  secretSealed: 'sealed',
  madeBy: 'local',
  createdAtMs: START_MS,
  status: 'enabled',
  periodMs: START_MS,
  dueAtMs: START_MS + id,
  version: 1,
  ...members,
});

const mailed: Partial<ExportSchedule> = {
  target: { kind: 'mail', addresses: ['ada@example.com'] },
  secretSealed: null,
  by: [],
  kind: 'focus',
};

export function exportConformance(open: OpenStores): void {
  test('exports are listed oldest first, of an account or all, and counted', async () => {
    await using bench = await openWorkbench(open, 0);
    const { exports } = bench.stores;
    const all = [exportOf(1), exportOf(2, { accountId: 7, ...mailed }), exportOf(3, { accountId: 7 })];
    for (const one of all) await exports.createExport(one, noAuditContext);
    expect(await exports.listExports({ accountId: null, after: null, limit: 2 })).toEqual(all.slice(0, 2));
    expect(await exports.listExports({ accountId: null, after: 2, limit: 2 })).toEqual(all.slice(2));
    expect(await exports.listExports({ accountId: 7, after: null, limit: 9 })).toEqual(all.slice(1));
    expect([await exports.countExports(null), await exports.countExports(7)]).toEqual([1, 2]);
    expect(await exports.listSealedExports()).toEqual([exportOf(1), exportOf(3, { accountId: 7 })]);
    expect([await exports.getExport(2), await exports.getExport(9)]).toEqual([all[1] ?? null, null]);
  });

  test('a change of an export, or of its run, is refused when another came first', async () => {
    await using bench = await openWorkbench(open, 0);
    const { exports } = bench.stores;
    await exports.createExport(exportOf(1), noAuditContext);
    await exports.updateExport(exportOf(1, { status: 'disabled' }), noAuditContext);
    await expect(exports.updateExport(exportOf(1), noAuditContext)).rejects.toThrow(Outpaced);
    expect(await exports.getExport(1)).toEqual(exportOf(1, { status: 'disabled', version: 2 }));
    const run = newRun(1, { periodMs: 5, untilMs: 9 }, START_MS);
    await exports.startExportRun(run, noAuditContext);
    await expect(exports.startExportRun(run, noAuditContext)).rejects.toThrow(Outpaced);
    await exports.startExportRun({ ...run, version: 1, tries: 3 }, noAuditContext);
    expect(await exports.getExportRun(1, 5)).toEqual({ ...run, version: 2, tries: 3 });
  });

  test('what is due is found by the node that leads, and moved on once', async () => {
    await using bench = await openWorkbench(open, 0);
    const { exports, gate } = bench.stores;
    await takeLead(gate, 'node 1', START_MS);
    const jobs = makeExportJobStore(gate, exports, () => 'node 1');
    for (const id of [2, 1]) await exports.createExport(exportOf(id), noAuditContext);
    await exports.createExport(exportOf(3, { status: 'disabled', dueAtMs: 0 }), noAuditContext);
    expect(await jobs.listDueExports(START_MS + 1, 9)).toEqual([exportOf(1)]);
    const run = newRun(1, { periodMs: 5, untilMs: 9 }, START_MS);
    await jobs.advance(exportOf(1, { periodMs: 9, dueAtMs: START_MS + 99 }), run);
    expect(await jobs.listDueExports(START_MS + 2, 9)).toEqual([exportOf(2)]);
    const later = newRun(1, { periodMs: 4, untilMs: 5 }, START_MS + 1);
    await exports.startExportRun(later, noAuditContext);
    await exports.createExport(exportOf(4, { accountId: 7, dueAtMs: START_MS + 99 }), noAuditContext);
    const ofAccount = newRun(4, { periodMs: 5, untilMs: 9 }, START_MS + 2);
    await exports.startExportRun(ofAccount, noAuditContext);
    expect(await jobs.listDueExportRuns(START_MS + 2, 9)).toEqual([
      { run: { ...run, version: 1 }, accountId: null }, // of each export the first
      { run: { ...ofAccount, version: 1 }, accountId: 7 },
    ]);
    expect(await jobs.listDueExportRuns(START_MS, 9)).toEqual([{ run: { ...run, version: 1 }, accountId: null }]);
    await jobs.saveRun({ ...later, version: 1, status: 'done', nextAtMs: null }, []);
    await jobs.saveRun({ ...ofAccount, version: 1, status: 'done', nextAtMs: null }, []);
    const done = { ...run, version: 1, status: 'done', nextAtMs: null, doneAtMs: START_MS, objects: ['a'] } as const;
    const data = { export: 'exp_1', name: 'Finance', period: '2026-11', reason: 'no' };
    await jobs.saveRun(done, [{ atMs: START_MS, account: null, type: 'export.failed', data, dedupe: null }]);
    await expect(jobs.saveRun(done, [])).rejects.toThrow(Outpaced);
    expect(await jobs.listDueExportRuns(START_MS + 99, 9)).toEqual([]);
    const [newest] = await exports.listExportRuns({ exportId: 1, before: null, limit: 9 });
    expect(newest).toEqual({ ...done, version: 2 });
    expect(await exports.listExportRuns({ exportId: 1, before: 4, limit: 9 })).toEqual([]);
  });
}
