// Exports that are sent at regular times, and their runs: one for each day or month.

import type { AuditContext } from '../audit/audit.ts';
import { DAY_MS, monthStartMs } from '../base/clock.ts';
import type { NewEvent } from '../events/events.ts';
import type { Dimension } from './dimensions.ts';
import type { ExportFormat, ExportKind, Place } from './export-question.ts';

export type ExportTarget =
  | { kind: 's3'; endpoint: string; region: string; bucket: string; prefix: string; accessKeyId: string }
  /** A mail with a link; the file is made when it is downloaded. */
  | { kind: 'mail'; addresses: readonly string[] };

export interface ExportSchedule {
  id: number;
  /** Its account, whose owners see it; null: the operators'. */
  accountId: number | null;
  name: string;
  kind: ExportKind;
  format: ExportFormat;
  by: readonly Dimension[];
  /** The tag of the dimension `tag`. Absent: it has none. */
  tagName?: string | null;
  /** Also the accounts below its own at the time of each file. Absent: false. */
  below?: boolean;
  /** Each file covers a day or a month, UTC. */
  every: 'day' | 'month';
  /** The day of the month on which the file of the last month is sent. */
  day: number;
  target: ExportTarget;
  /** The secret access key of S3. */
  secretSealed: string | null;
  madeBy: string;
  createdAtMs: number;
  status: 'enabled' | 'disabled';
  /** Start of the next period without a run, and when its run begins. */
  periodMs: number;
  dueAtMs: number;
  /** Raised by each change; a change of an older version is refused with Outpaced. */
  version: number;
}

export type ExportRunStatus = 'pending' | 'done' | 'failed';

export interface ExportRun {
  exportId: number;
  /** The period: from this time until before the other. */
  periodMs: number;
  untilMs: number;
  status: ExportRunStatus;
  /** When the next attempt is due; null: none is. */
  nextAtMs: number | null;
  /** Attempts that failed. */
  tries: number;
  /** Why the last attempt failed. */
  error: string | null;
  createdAtMs: number;
  doneAtMs: number | null;
  rows: number;
  bytes: number;
  /** Names of the objects that are complete. */
  objects: readonly string[];
  /** Where the next object continues; null: at the beginning. */
  place: Place | null;
  /** All rows are in the objects. */
  isRead: boolean;
  /** An upload in parts that has begun and is not complete. */
  upload: { object: string; id: string } | null;
  version: number;
}

/** A run that is due, and the account of its export; null: the operators'. */
export interface DueExportRun extends Pick<ExportSchedule, 'accountId'> {
  run: ExportRun;
}

export interface ExportPage {
  /** null: all. */
  accountId: number | null;
  after: number | null;
  limit: number;
}

export interface ExportStore {
  getExport(id: number): Promise<ExportSchedule | null>;
  /** Oldest first. */
  listExports(page: ExportPage): Promise<ExportSchedule[]>;
  /** null: the operators'. */
  countExports(accountId: number | null): Promise<number>;
  /** Those with a sealed secret. */
  listSealedExports(): Promise<ExportSchedule[]>;
  /** Newest period first. */
  listExportRuns(page: { exportId: number; before: number | null; limit: number }): Promise<ExportRun[]>;
  getExportRun(exportId: number, periodMs: number): Promise<ExportRun | null>;
  createExport(schedule: ExportSchedule, auditContext: AuditContext): Promise<void>;
  /** `version` is the one that is replaced. Throws Outpaced. */
  updateExport(schedule: ExportSchedule, auditContext: AuditContext): Promise<void>;
  /** Creates a run, or replaces one of the same version. Throws Outpaced. */
  startExportRun(run: ExportRun, auditContext: AuditContext): Promise<void>;
}

/** The store of the node that leads. Each write throws Outpaced if it no longer does. */
export interface ExportJobStore extends Pick<ExportStore, 'getExport'> {
  listDueExports(nowMs: number, limit: number): Promise<ExportSchedule[]>;
  /** The first run that is due of each export; oldest first. */
  listDueExportRuns(nowMs: number, limit: number): Promise<DueExportRun[]>;
  /** Moves the schedule to its next period, with the run of the last one. A run of the period that exists stays. */
  advance(schedule: ExportSchedule, run: ExportRun): Promise<void>;
  saveRun(run: ExportRun, events: readonly NewEvent[]): Promise<void>;
}

/** The context in which the secret of an export is sealed. */
export function exportContext({ id }: Pick<ExportSchedule, 'id'>): string {
  return `export:${id}`;
}

type Times = Pick<ExportSchedule, 'every' | 'day'>;

/** The period that contains a time. */
export function periodOf({ every }: Pick<Times, 'every'>, atMs: number): { periodMs: number; untilMs: number } {
  if (every === 'month') return { periodMs: monthStartMs(atMs, 0), untilMs: monthStartMs(atMs, -1) };
  const periodMs = Math.floor(atMs / DAY_MS) * DAY_MS;
  return { periodMs, untilMs: periodMs + DAY_MS };
}

/** When the file of a period is sent: an hour after the period or later, so that no node still writes into it. */
export function dueOf({ every, day }: Times, untilMs: number, settleMs: number): number {
  return untilMs + settleMs + (every === 'month' ? (day - 1) * DAY_MS : 0);
}

/** "2026-11" or "2026-11-30". */
export function periodName(every: Times['every'], periodMs: number): string {
  return new Date(periodMs).toISOString().slice(0, every === 'month' ? 7 : 10);
}

export function newRun(exportId: number, period: { periodMs: number; untilMs: number }, nowMs: number): ExportRun {
  return {
    exportId,
    ...period,
    status: 'pending',
    nextAtMs: nowMs,
    tries: 0,
    error: null,
    createdAtMs: nowMs,
    doneAtMs: null,
    rows: 0,
    bytes: 0,
    objects: [],
    place: null,
    isRead: false,
    upload: null,
    version: 0,
  };
}
