// An account's month: its balance at the beginning and at the end, what did it beside messages, and what messages used, all
// as of one moment. What messages took as they ended is what is left, so that it is the journal's to the last digit.

import type { Nano } from '../base/money.ts';
import type { NewEntry } from './rows.ts';
import type { Entry } from './store.ts';
import { gatherTotals, type TotalsGrouping, type UsageTotal, type UsageTotals } from './usage-totals.ts';

export type EntryKind = NewEntry['kind'];
export type SeldomKind = Exclude<EntryKind, 'usage'>;

/** What an operator gave or took. */
export const creditKinds = ['payment', 'promotion', 'adjustment', 'debt_write_off'] as const;
/** What changes a balance beside messages that end. Months that are kept whole have nothing that was carried forward. */
export const besideUsageKinds = [...creditKinds, 'correction', 'refund'] as const;
type BesideUsage = (typeof besideUsageKinds)[number];

export interface MonthQuestion {
  account: number;
  /** The first moments of the month and of the next one. */
  sinceMs: number;
  untilMs: number;
  /** How many entries and groups to give. */
  entriesMax: number;
  groupsMax: number;
}

/** What is read of it. */
export interface MonthParts {
  /** From when on the journal is whole; null: always. */
  journalSinceMs: number | null;
  balance: Nano;
  /** Of the account's row. */
  lastMonth: { startMs: number; opening: Nano };
  /** The changes that were written down of this month and later ones, and of later ones. */
  changedSince: bigint;
  changedAfter: bigint;
  /** What entries of the month did to the balance, by their kind, and how many they are. */
  kinds: { kind: BesideUsage; count: number; change: bigint }[];
  /** The newest of these, of each kind as many as were asked for and one more. */
  entries: Entry[];
  /** Daily totals of the month, added up in each way. */
  totals: Record<MonthGrouping, UsageTotal[]>;
}

export const monthGroupings = ['day', 'model', 'key'] as const satisfies TotalsGrouping[];
export type MonthGrouping = (typeof monthGroupings)[number];

export interface AccountMonth {
  /** From when on the journal is whole; null: always. */
  journalSinceMs: number | null;
  opening: bigint;
  /** That of now, where the month is not over. */
  closing: bigint;
  credited: bigint;
  refunded: bigint;
  corrected: bigint;
  /** What messages took as they ended: opening + credited + refunded + corrected − closing. */
  used: bigint;
  /** The newest first. */
  entries: Entry[];
  hasMoreEntries: boolean;
  totals: Record<MonthGrouping, UsageTotals>;
}

export async function makeAccountMonth(
  parts: MonthParts,
  { sinceMs, untilMs, entriesMax, groupsMax }: MonthQuestion,
): Promise<AccountMonth> {
  const { balance, lastMonth } = parts;
  const balanceAt = (startMs: number, changed: bigint) =>
    BigInt(lastMonth.startMs >= startMs ? lastMonth.opening : balance) - changed;
  const changeOf = (...kinds: readonly BesideUsage[]) =>
    parts.kinds.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { change }) => sum + change, 0n);
  const opening = balanceAt(sinceMs, parts.changedSince);
  const closing = balanceAt(untilMs, parts.changedAfter);
  const gather = (groupBy: MonthGrouping, limit: number) => gatherTotals([parts.totals[groupBy]], { groupBy, limit });
  return {
    journalSinceMs: parts.journalSinceMs,
    opening,
    closing,
    credited: changeOf(...creditKinds),
    refunded: changeOf('refund'),
    corrected: changeOf('correction'),
    used: opening + changeOf(...besideUsageKinds) - closing,
    entries: parts.entries.sort(newestFirst).slice(0, entriesMax),
    hasMoreEntries: parts.kinds.reduce((sum, { count }) => sum + count, 0) > entriesMax,
    totals: {
      day: await gather('day', DAYS_MAX),
      model: await gather('model', groupsMax),
      key: await gather('key', groupsMax),
    },
  };
}

const DAYS_MAX = 31;

/** The order of lists of entries. */
export function newestFirst(one: Pick<Entry, 'atMs' | 'seq'>, other: Pick<Entry, 'atMs' | 'seq'>): number {
  return other.atMs - one.atMs || other.seq - one.seq;
}
