// The reads of lists and reports over what grows without end: usage, journal, audit, totals. Each
// statement is short, goes by an index and is bounded; all are prepared when this is opened.

import type { Database } from 'bun:sqlite';
import type { AuditStore } from '../../audit/audit.ts';
import type { LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import { auditReads } from './audit-reads.ts';
import { entryReads } from './entry-reads.ts';
import { holdReads } from './hold-reads.ts';
import { monthReads } from './month-reads.ts';
import { timelineReads } from './timeline-reads.ts';
import { totalsReads } from './totals-reads.ts';
import { usageLists } from './usage-reads.ts';
import { usageSearches } from './usage-search.ts';

export type ReportReads = Pick<UsageStore, 'listUsage' | 'totalUsage' | 'topUsage' | 'searchUsage' | 'readTimeline'> &
  Pick<LedgerReader, 'listEntries' | 'listHolds' | 'readMonth'> &
  Pick<AuditStore, 'listAudit'>;

/** All of them over one connection. Not bounded in time but by what they read: SQLite cannot be interrupted here. */
export function reportReads(database: Database): ReportReads {
  const totals = totalsReads(database);
  return {
    ...usageLists(database),
    ...usageSearches(database),
    ...totals,
    ...timelineReads(database, totals),
    ...entryReads(database),
    ...holdReads(database),
    ...monthReads(database),
    ...auditReads(database),
  };
}
