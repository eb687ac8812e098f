// By how much the entries of each month changed a balance, so that what it was at the beginning of a month need not be
// added up from entries. An account's row has the balance at the beginning of its last month; that month's change is
// written down when the first entry of a later one comes.

import { periodStartMs } from '../base/clock.ts';
import type { Nano } from '../base/money.ts';
import type { AccountRow, MonthChange } from './rows.ts';

/** The account's last month once an entry of `atMs` has made its balance `balance`, and the changes to be written down. */
export function countMonth(
  { id: account, balance: before, month }: AccountRow,
  balance: Nano,
  atMs: number,
): { month: AccountRow['month']; changes: MonthChange[] } {
  if (balance === before) return { month, changes: [] };
  const startMs = periodStartMs('month', atMs);
  if (startMs === month.startMs) return { month, changes: [] };
  if (startMs > month.startMs)
    return { month: { startMs, opening: before }, changes: changesOf(account, month.startMs, month.opening, before) };
  // A clock was set back: the entry is of a month that was over.
  const late = changesOf(account, startMs, before, balance);
  const opening = month.opening + balance - before;
  if (Number.isSafeInteger(opening)) return { month: { startMs: month.startMs, opening }, changes: late };
  return {
    month: { startMs: month.startMs, opening: balance },
    changes: [...late, ...changesOf(account, month.startMs, month.opening, before)],
  };
}

/** From one balance to another: in two parts where their difference is no exact number. */
function changesOf(account: number, startMs: number, from: Nano, to: Nano): MonthChange[] {
  const parts = Number.isSafeInteger(to - from) ? [to - from] : [to, -from];
  return parts.filter((change) => change !== 0).map((change) => ({ account, startMs, change }));
}
