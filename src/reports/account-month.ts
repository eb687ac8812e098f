// One account's month at a single point in time: opening and closing balance, credits, refunds, corrections and
// usage. Usage is computed as the remainder, so that the parts always add up to the journal.

import type { Nano } from '../base/money.ts';
import type { Requester } from '../base/timers.ts';
import { besideUsageKinds, creditKinds, type Entry, newestFirst } from '../ledger/ledger.ts';
import { gatherTotals, type TotalsGrouping, type UsageTotal, type UsageTotals } from './usage-totals.ts';

type BesideUsage = (typeof besideUsageKinds)[number];

export interface MonthStore {
  /**
   * From one point in time; null if there is no such account. Throws invalid_request if there are too many rows to
   * add up.
   */
  readMonth(question: MonthQuestion, requester?: Requester): Promise<AccountMonth | null>;
}

export interface MonthQuestion {
  account: number;
  /** The accounts below, whose usage is read as well. */
  below: readonly number[];
  /** The name of a tag by which the usage of all of these accounts is grouped. null: none. */
  tagName: string | null;
  /** Start of the month and of the next month. */
  sinceMs: number;
  untilMs: number;
  /** Maximum number of messages in the month whose entries are added up by day. */
  messagesMax: number;
  /** Maximum number of entries and of groups to return. */
  entriesMax: number;
  groupsMax: number;
}

/** The values read from the store. */
export interface MonthParts {
  /** Start of the retained journal; null if nothing was ever dropped. */
  journalSinceMs: number | null;
  balance: Nano;
  /** From the account's row. */
  lastMonth: { startMs: number; opening: Nano };
  /** Sums of the recorded month changes: of this month and later, and of later months only. */
  changedSince: bigint;
  changedAfter: bigint;
  /** Change of the balance by entry kind within the month, with the number of entries. */
  kinds: { kind: BesideUsage; count: number; change: bigint }[];
  /** The part of the promotions that are bonuses of payments. */
  bonus: bigint;
  /** The newest entries of each kind: up to `entriesMax` plus one. */
  entries: Entry[];
  /** The month's daily totals, grouped each way. */
  totals: Record<MonthGrouping, UsageTotal[]>;
  /** The month's units, by day, key, model and unit. */
  units: UsageTotal[];
  /** Parts with account and tag, of the account and of those below it; empty without accounts below and a tag. */
  company: UsageTotal[];
  balancePaid: BalancePaid;
}

/** Amounts that the balance paid for the messages of each day when they ended; null if the month has too many. */
export type BalancePaid = readonly { dayMs: number; paid: bigint }[] | null;

export const monthGroupings = ['day', 'model', 'key'] as const satisfies TotalsGrouping[];
export type MonthGrouping = (typeof monthGroupings)[number];

export interface AccountMonth {
  /** Start of the retained journal; null if nothing was ever dropped. */
  journalSinceMs: number | null;
  opening: bigint;
  /** The current balance if the month has not ended. */
  closing: bigint;
  credited: bigint;
  /** The part of it that are bonuses of payments, less those taken back. */
  bonus: bigint;
  refunded: bigint;
  corrected: bigint;
  /** opening + credited + refunded + corrected − closing. */
  used: bigint;
  /** Newest first. */
  entries: Entry[];
  hasMoreEntries: boolean;
  totals: Record<MonthGrouping, UsageTotals>;
  /** Usage with that of the accounts below. null without accounts below and a tag. */
  company: { accounts: UsageTotals; tags: UsageTotals } | null;
  /** Adds up to `used`. */
  balancePaid: BalancePaid;
}

export async function makeAccountMonth(
  parts: MonthParts,
  { sinceMs, untilMs, entriesMax, groupsMax, ...question }: MonthQuestion,
): Promise<AccountMonth> {
  const { balance, lastMonth } = parts;
  const balanceAt = (startMs: number, changed: bigint) =>
    BigInt(lastMonth.startMs >= startMs ? lastMonth.opening : balance) - changed;
  const changeOf = (...kinds: readonly BesideUsage[]) =>
    parts.kinds.filter(({ kind }) => kinds.includes(kind)).reduce((sum, { change }) => sum + change, 0n);
  const opening = balanceAt(sinceMs, parts.changedSince);
  const closing = balanceAt(untilMs, parts.changedAfter);
  const gather = (groupBy: MonthGrouping, limit: number) =>
    gatherTotals([parts.totals[groupBy], parts.units], { groupBy, limit });
  const ofCompany = (groupBy: TotalsGrouping, limit: number) => gatherTotals([parts.company], { groupBy, limit });
  return {
    journalSinceMs: parts.journalSinceMs,
    opening,
    closing,
    credited: changeOf(...creditKinds),
    bonus: parts.bonus,
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
    company: hasCompany(question)
      ? { accounts: await ofCompany('account', question.below.length + 1), tags: await ofCompany('tag', groupsMax) }
      : null,
    balancePaid: parts.balancePaid,
  };
}

export function hasCompany({ below, tagName }: Pick<MonthQuestion, 'below' | 'tagName'>): boolean {
  return below.length > 0 || tagName !== null;
}

const DAYS_MAX = 31;
