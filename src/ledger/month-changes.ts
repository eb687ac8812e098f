// Change of each balance per month, so that opening balances need no sum over entries. An account's row holds the
// opening balance of its latest month; that month's change is recorded when the first entry of a later month arrives.

import { periodStartMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { AccountRow, MonthChange } from './rows.ts';

const NONE: readonly MonthChange[] = [];

/**
 * The account's latest month after an entry at `atMs` has set its balance to `balance`, and the changes to record.
 */
export function countMonth(
  { id: account, balance: before, month }: AccountRow,
  balance: Nano,
  atMs: number,
): { month: AccountRow['month']; changes: readonly MonthChange[] } {
  if (balance === before) return { month, changes: NONE };
  const startMs = periodStartMs('month', atMs);
  if (startMs === month.startMs) return { month, changes: NONE };
  if (startMs > month.startMs)
    return { month: { startMs, opening: before }, changes: changesOf(account, month.startMs, month.opening, before) };
  // The clock moved backward: the entry belongs to a past month.
  const late = changesOf(account, startMs, before, balance);
  const opening = month.opening + balance - before;
  if (Number.isSafeInteger(opening)) return { month: { startMs: month.startMs, opening }, changes: late };
  return {
    month: { startMs: month.startMs, opening: balance },
    changes: [...late, ...changesOf(account, month.startMs, month.opening, before)],
  };
}

/** The change between two balances, in two parts if the difference is not a safe integer. */
function changesOf(account: number, startMs: number, from: Nano, to: Nano): MonthChange[] {
  const parts = Number.isSafeInteger(to - from) ? [to - from] : [to, -from];
  return parts.filter((change) => change !== 0).map((change) => ({ account, startMs, change }));
}
