// Lists and reports: data that grows without bound. Each of their statements is short, uses an index and is bounded. They wait in a
// queue by requester, where a client's disconnect removes them.

import { FairQueue } from '../base/fair-queue.ts';
import type { Requester } from '../base/timers.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { eventLists } from './event-reads.ts';
import { auditReads, entryReads } from './page-reads.ts';
import { comparedTotals, exactTotals, rangeReads } from './range-reads.ts';
import { searchReads } from './search-reads.ts';
import { holdReads } from './short-reads.ts';
import { sortedReads } from './sorted-reads.ts';
import type { SqlReader } from './sql-reader.ts';
import type { ReportReads } from './stores.ts';
import { usageSummaries } from './summary-reads.ts';
import { timelineReads } from './timeline-reads.ts';
import { totalsReads } from './totals-reads.ts';
import { trafficReads } from './traffic-rows.ts';
import { usageLists } from './usage-reads.ts';
import { usageRankings, usageSearches } from './usage-searches.ts';

/** All of them over one reader. The month of an account is read in a way of its own. */
export function reportReads(on: SqlReader, month: Pick<ReportReads, 'readMonth'>): ReportReads {
  const { readDays, topDays, firstDay, ...ofDays } = totalsReads(on);
  const days = { readDays, topDays, firstDay };
  const ranges = rangeReads(on, days);
  const totals = exactTotals(ofDays, ranges);
  return {
    ...usageLists(on),
    ...usageSearches(on),
    ...usageRankings(on),
    ...usageSummaries(on, days),
    ...totals,
    ...comparedTotals(days, ranges),
    ...timelineReads(on, totals),
    ...entryReads(on),
    ...holdReads(on),
    ...auditReads(on),
    ...eventLists(on),
    ...searchReads(on),
    ...trafficReads(on),
    ...sortedReads(on),
    ...month,
  };
}

const names: Readonly<Record<keyof ReportReads, true>> = {
  listUsage: true,
  listCharged: true,
  searchUsage: true,
  rankUsage: true,
  summarizeUsage: true,
  totalUsage: true,
  compareUsage: true,
  topUsage: true,
  readTimeline: true,
  listEntries: true,
  listHolds: true,
  readMonth: true,
  listAudit: true,
  sortAccounts: true,
  sortKeys: true,
  listEvents: true,
  listDeliveries: true,
  searchAccountNames: true,
  searchKeyNames: true,
  searchPersonNames: true,
  searchDestinationNames: true,
  listRefusals: true,
  totalRefusals: true,
  listFrequentRefusals: true,
  findRefusalsBeyond: true,
  listRouteHours: true,
};

/** Reports that are answered by `ask`, given the name of the report and its question. */
export function makeReports(
  ask: (report: keyof ReportReads, question: unknown, requester: Requester | undefined) => Promise<unknown>,
): ReportReads {
  const reports = Object.keys(names).map((name) => [
    name,
    (question: unknown, requester?: Requester) => ask(name as keyof ReportReads, question, requester),
  ]);
  return Object.fromEntries(reports) as ReportReads;
}

/** The same reads, at most `running` at a time. They throw overloaded when too many wait, or one waits too long. */
export function queueReports(reads: ReportReads, running: number, waitMsMax?: number): ReportReads {
  const queue = new ReportQueue(running, waitMsMax);
  return makeReports((report, question, requester) =>
    queue.run(requester, (end) => (reads[report](question as never) as Promise<unknown>).finally(end)),
  );
}

export class ReportQueue {
  readonly #queue: FairQueue<string>;
  readonly #waitMsMax: number;

  /** `running` is the number of reports at a time. A report that takes longer than `waitMsMax` in total is abandoned. */
  constructor(running: number, waitMsMax: number = bounds.reportWaitMsMax) {
    const { reportQueueMax, reportQueuePerAskerMax } = bounds;
    this.#waitMsMax = waitMsMax;
    this.#queue = new FairQueue(
      {
        running,
        runningPerOwner: running,
        tasks: running + reportQueueMax,
        tasksPerOwner: running + reportQueuePerAskerMax,
      },
      tooManyReports,
    );
  }

  /**
   * Runs a report when it is its turn, until `end` is called. Rejects with overloaded if too many wait or it takes too
   * long, and with request_timeout if the client disconnects.
   */
  run<Value>(requester: Requester | undefined, report: (end: () => void) => Promise<Value>): Promise<Value> {
    const gaveUp = new AbortController();
    const timer = setTimeout(() => gaveUp.abort(tooManyReports()), this.#waitMsMax);
    const leave = () =>
      gaveUp.abort(new TurnpikeError('request_timeout', 'The client disconnected before the response.'));
    requester?.signal.addEventListener('abort', leave);
    if (requester?.signal.aborted) leave();
    const answer = this.#runInTurn(requester?.requesterId ?? 'service', gaveUp.signal, report);
    return new Promise<Value>((resolve, reject) => {
      gaveUp.signal.addEventListener('abort', () => reject(gaveUp.signal.reason));
      answer.then(resolve, reject);
    }).finally(() => {
      clearTimeout(timer);
      requester?.signal.removeEventListener('abort', leave);
    });
  }

  async #runInTurn<Value>(requesterId: string, signal: AbortSignal, report: (end: () => void) => Promise<Value>) {
    const turn = await this.#queue.enter(requesterId, signal);
    return await report(() => turn[Symbol.dispose]());
  }
}

/** 529; the client may retry. */
export function tooManyReports(): TurnpikeError {
  return new TurnpikeError('overloaded', 'Too many lists and reports are in progress. Try again shortly.', {
    retryAfterMs: bounds.reportRetryMs,
  });
}
