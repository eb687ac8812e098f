// What dropping old rows needs of a store, and from when on rows are kept by the settings. Dropped rows
// are marked first: from the mark on all is there, and before it nothing can be told.

import { DAY_MS, monthStartMs } from '../base/clock.ts';

/** Tables whose rows are dropped by their age alone: by when they were made, or have ended. */
export type ForgottenTable = 'usage_records' | 'creations' | 'key_secrets' | 'claims' | 'answers';

/** What is kept whole from a time on. */
export type Kept = 'usage' | 'journal';

/** The names under which the installation remembers from when on. Values are milliseconds since 1970, in decimal. */
export const keptSinceNames: Readonly<Record<Kept, string>> = {
  usage: 'usage_kept_since_ms',
  journal: 'journal_kept_since_ms',
};

/** Of accounts in the order of their ids, some at a time. */
export interface CarryPage {
  /** Those that have entries to be carried forward. */
  accounts: number[];
  /** The last one that was looked at; null when there are no more. */
  last: number | null;
}

/** Drops rows in bounded pieces. All of it goes through the ledger's transactions. */
export interface RetentionStore {
  /** From when on all is there; null where nothing was ever dropped. */
  keptSince(kept: Kept): Promise<number | null>;
  /** Says so before anything is dropped. What was said before is never taken back: then this does nothing. */
  keepSince(kept: Kept, sinceMs: number): Promise<void>;
  /** How many rows the next `forget` drops; 0 when none is left. */
  countForgotten(table: ForgottenTable, beforeMs: number): Promise<number>;
  /** Usage records must be marked as not kept. */
  forget(table: ForgottenTable, beforeMs: number): Promise<void>;
  listToCarry(beforeMs: number, after: number): Promise<CarryPage>;
  /** How many entries the next `carry` drops; 0 when none is left but what carries others forward. */
  countToCarry(account: number, beforeMs: number): Promise<number>;
  /**
   * Drops the oldest entries of an account, and writes what they did to each side as one entry of the last millisecond
   * before `beforeMs`, which takes the place of an earlier such. The journal must be marked as not kept, and no usage
   * record of that time be left.
   */
  carry(account: number, beforeMs: number): Promise<void>;
}

/** From when on usage records are kept: whole days, UTC. */
export function usageKeptSinceMs(days: number, nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - days * DAY_MS;
}

/** From when on the journal is kept: whole months, UTC, as many as that beside the present one. */
export function journalKeptSinceMs(months: number, nowMs: number): number {
  return monthStartMs(nowMs, months);
}
