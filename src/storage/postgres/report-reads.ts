// The reads of lists and reports over what grows without end: usage, journal, audit, totals. Each statement is short, goes by an
// index and is bounded; a few are under way at a time, and the others wait for their turn, where they can be given up.

import type { AuditStore } from '../../audit/audit.ts';
import type { Asking } from '../../base/asking.ts';
import { bounds } from '../../config.ts';
import type { LedgerReader, UsageStore } from '../../ledger/ledger.ts';
import { awaitAnswer, ReportQueue, type Waiting } from '../report-queue.ts';
import { auditReads } from './audit-reads.ts';
import { entryReads } from './entry-reads.ts';
import { holdReads } from './hold-reads.ts';
import { monthReads } from './month-reads.ts';
import type { Reader } from './read-pool.ts';
import { timelineReads } from './timeline-reads.ts';
import { totalsReads } from './totals-reads.ts';
import { usageLists } from './usage-reads.ts';
import { usageSearches } from './usage-search.ts';

export type ReportReads = Pick<UsageStore, 'listUsage' | 'totalUsage' | 'topUsage' | 'searchUsage' | 'readTimeline'> &
  Pick<LedgerReader, 'listEntries' | 'listHolds' | 'readMonth'> &
  Pick<AuditStore, 'listAudit'>;

/** All of them over one reader. */
export function reportReads(reader: Reader): ReportReads {
  const totals = totalsReads(reader);
  return {
    ...usageLists(reader),
    ...usageSearches(reader),
    ...totals,
    ...timelineReads(reader, totals),
    ...entryReads(reader),
    ...holdReads(reader),
    ...monthReads(reader),
    ...auditReads(reader),
  };
}

interface Question extends Waiting {
  answer(): Promise<unknown>;
}

/** The same reads, `atOnceMax` at a time. Throw overloaded when too many wait, or one for too long. */
export function inTurns(
  reads: ReportReads,
  atOnceMax: number,
  waitMsMax: number = bounds.reportWaitMsMax,
): ReportReads {
  const queue = new ReportQueue<Question>();
  let underWay = 0;
  const next = () => {
    const question = underWay < atOnceMax ? queue.take() : null;
    if (question === null) return;
    underWay++;
    void question
      .answer()
      .then(question.resolve, question.reject)
      .finally(() => {
        underWay--;
        next();
      });
  };
  const enqueue = (question: Question) => {
    try {
      queue.add(question);
      next();
    } catch (failure) {
      question.reject(failure);
    }
  };
  const inTurn = <Value>(asking: Asking | undefined, answer: () => Promise<Value>): Promise<Value> =>
    awaitAnswer({ queue, waitMsMax }, asking, (waiting): Question => ({ ...waiting, answer }), enqueue);
  return {
    listUsage: (page, asking) => inTurn(asking, () => reads.listUsage(page)),
    searchUsage: (search, asking) => inTurn(asking, () => reads.searchUsage(search)),
    totalUsage: (question, asking) => inTurn(asking, () => reads.totalUsage(question)),
    topUsage: (question, asking) => inTurn(asking, () => reads.topUsage(question)),
    readTimeline: (question, asking) => inTurn(asking, () => reads.readTimeline(question)),
    listEntries: (page, asking) => inTurn(asking, () => reads.listEntries(page)),
    listHolds: (page, asking) => inTurn(asking, () => reads.listHolds(page)),
    readMonth: (question, asking) => inTurn(asking, () => reads.readMonth(question)),
    listAudit: (page, asking) => inTurn(asking, () => reads.listAudit(page)),
  };
}
