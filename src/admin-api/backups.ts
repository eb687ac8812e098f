// Reports of backup programs: a backup was made, so that its age is a metric, or one failed.

import { z } from '@hono/zod-openapi';
import { parseWholeNumber } from '../base/checked-number.ts';
import { bounds } from '../config/config.ts';
import { LAST_BACKUP } from '../events/events.ts';
import { invalidMember } from './admin-app.ts';
import { changeNote, recordAudit } from './changes.ts';
import { operator } from './dependencies.ts';
import { isoTime, noteField, timeField, timeShown } from './fields.ts';
import { type AdminRoute, type Call, post } from './route.ts';

export const backupRoutes: AdminRoute[] = [
  post('/backups', 'backup-record', 'Record that a backup was made', operator, {
    body: z.strictObject({
      taken_at: timeField
        .optional()
        .describe('The backup has every change before this time. Absent: now.')
        .openapi({ examples: ['2026-01-31T00:00:00Z'] }),
    }),
    answer: [
      z
        .object({ last_taken_at: timeShown.describe('When the newest recorded backup was taken.') })
        .openapi('LastBackup'),
      'It is recorded, unless a newer one was',
    ],
    async handle(call) {
      const nowMs = call.clock.nowMs();
      const takenAtMs = call.body.taken_at ?? nowMs;
      // One from the future would hide for years that there is none.
      if (takenAtMs > nowMs + bounds.backupAheadMsMax) throw invalidMember('taken_at', 'must not be in the future');
      const lastAtMs = await call.changeInTurn(() => record(call, Math.min(takenAtMs, nowMs)));
      return { last_taken_at: isoTime(lastAtMs) };
    },
  }),
  post('/backup-failures', 'backup-failure-report', 'Report a backup that failed', operator, {
    body: z.strictObject({ reason: noteField }),
    answer: [z.object({ reported: z.literal(true) }), 'It is an event now, `backup.failed`'],
    async handle(call) {
      const atMs = call.clock.nowMs();
      const reason = call.body.reason.slice(0, bounds.nameCharactersMax);
      const dedupe = `backup.failed:${Math.floor(atMs / bounds.backupReportEveryMs)}:${reason}`;
      const audit = recordAudit(call, [changeNote('backup.fail', 'backup', null, null, { reason })]);
      const event = { atMs, account: null, type: 'backup.failed', data: { reason }, dedupe } as const;
      await call.events.emit([event], call.auditRows({ ...audit, since: null }));
      return { reported: true as const };
    },
  }),
];

/** Resolves to the time of the newest one. */
async function record(call: Call, takenAtMs: number): Promise<number> {
  const from = await call.events.readFact(LAST_BACKUP);
  const lastAtMs = parseWholeNumber(from) ?? 0;
  if (takenAtMs <= lastAtMs) return lastAtMs;
  const shown = (atMs: number) => ({ taken_at: isoTime(atMs) });
  const note = changeNote('backup.record', 'backup', null, null, shown(takenAtMs));
  const rows = call.auditRows(recordAudit(call, [note]));
  await call.events.changeFact({ name: LAST_BACKUP, from, to: String(takenAtMs) }, [], rows);
  return takenAtMs;
}
