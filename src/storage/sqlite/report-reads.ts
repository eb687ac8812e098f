// The reads of lists and reports over what grows without end: usage, journal, audit, totals. Each
// statement is short, goes by an index and is bounded; all are prepared when this is opened.

import type { Database } from 'bun:sqlite';
import type { AuditStore } from '../../audit/audit.ts';
import type { Entry, LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import { auditReads } from './audit-reads.ts';
import { IN_PAGE, pageBounds } from './page-order.ts';
import { prepareText } from './statements.ts';
import { timelineReads } from './timeline-reads.ts';
import { totalsReads } from './totals-reads.ts';
import { usageLists } from './usage-reads.ts';
import { usageSearches } from './usage-search.ts';

export type ReportReads = Pick<UsageStore, 'listUsage' | 'totalUsage' | 'searchUsage' | 'readTimeline'> &
  Pick<LedgerReader, 'listEntries'> &
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
    ...auditReads(database),
  };
}

function entryReads(database: Database): Pick<LedgerReader, 'listEntries'> {
  const boundsOf = pageBounds(database, 'entries');
  const ofAccount = prepareText(
    database,
    `SELECT seq, at_ms, debit, credit, amount, kind, reference, note FROM entries INDEXED BY entries_of_account
     WHERE account_id = $5 AND ${IN_PAGE}`,
  );
  return {
    async listEntries(page) {
      const rows = ofAccount.all(...boundsOf(page), page.account);
      return (rows as (Omit<Entry, 'atMs'> & { at_ms: number })[]).map(({ at_ms: atMs, ...entry }) => ({
        atMs,
        ...entry,
      }));
    },
  };
}
