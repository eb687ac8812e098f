// Reads the bills of providers every day, where their sources say so. One that cannot be read stops no other.

import { theService } from '../audit/audit.ts';
import {
  type BillFetching,
  daysToFetch,
  fetchBill,
  type ImportParts,
  importBill,
  type StoredBill,
} from '../bills/bills.ts';
import { bounds } from '../config/config.ts';
import { describeFailure, type LogWriter } from '../observability/observability.ts';

export interface BillJobParts extends ImportParts, BillFetching {
  log: Pick<LogWriter, 'writeEvent'>;
  /** Reports a source that failed. Never rejects. */
  failed(task: string, failure: unknown): Promise<void>;
}

/** Rejects with store_unavailable. */
export async function fetchBills(parts: BillJobParts, signal: AbortSignal): Promise<void> {
  const { bills, clock, log, catalog, failed } = parts;
  for (const source of await bills.listBillSources()) {
    const { sealed, provider, schedule } = source;
    if (signal.aborted || schedule !== 'daily' || sealed === null || !catalog().providers.has(provider)) continue;
    try {
      const bounded = AbortSignal.any([signal, AbortSignal.timeout(bounds.billFetchMsMax)]);
      const days = { ...daysToFetch(source, clock.nowMs()), signal: bounded };
      const bill = await fetchBill(parts, { ...source, sealed }, days);
      const made = { from: 'api', by: theService.id, audit: () => ({ audit: [], creation: null }) } as const;
      const { stored, events } = await importBill(parts, source, bill, made);
      log.writeEvent('provider_bill_imported', { provider, days: stored.map(dayOf).join(' '), events });
    } catch (failure) {
      if (signal.aborted) return;
      log.writeEvent('provider_bill_failed', { provider, cause: describeFailure(failure) });
      await failed(`bill of the provider ${provider}`, failure);
    }
  }
}

function dayOf({ dayMs }: StoredBill): string {
  return new Date(dayMs).toISOString().slice(0, 10);
}
