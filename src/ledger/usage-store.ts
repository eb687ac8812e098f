// Reads of usage records. They are written in the transaction that ends a hold, so they stand here.

import type { UsageRecord } from './operation.ts';

export interface StoredUsageRecord extends UsageRecord {
  seq: number;
}

export interface UsageStore {
  /** Newest first; `before` is the seq of the last one seen. */
  listUsage(page: {
    account: number | null;
    key: number | null;
    sinceMs: number | null;
    untilMs: number | null;
    before: number | null;
    limit: number;
  }): Promise<StoredUsageRecord[]>;
  getUsage(requestId: string): Promise<StoredUsageRecord | null>;
}
