// Refunds: what a message cost is given back, wholly or in part. Its record then says what it costs still,
// so that records and journal go on adding up to one another.

import { assertAmount } from './assert-record.ts';
import { rolled, spent } from './meters.ts';
import type { Refund } from './operation.ts';
import { type Effect, type Ending, type Rows, systemAccounts } from './rows.ts';

/** Gives back at most what was paid and not given back yet; what was written off of it nobody paid. */
export function refund(rows: Rows, { requestId, amount: asked, note }: Refund): Effect {
  if (asked !== 'all') assertAmount(asked);
  const ending = rows.ending(requestId);
  const account = ending && rows.account(ending.record.account);
  if (ending === undefined || account === undefined) return { answer: { ok: false, reason: 'unknown_message' } };
  const { record: before } = ending;
  const paid = before.cost - before.writtenOff;
  const amount = asked === 'all' ? paid : asked;
  if (amount > paid) return { answer: { ok: false, reason: 'below_available', available: paid } };
  // An entry that moves nothing would be no entry.
  if (amount === 0) return { answer: { ok: true, kind: 'refunded', amount, balance: account.balance } };
  const balance = account.balance + amount;
  if (!Number.isSafeInteger(balance + account.creditLine)) return { answer: { ok: false, reason: 'beyond_maximum' } };
  const key = rows.key(before.key);
  const after: Ending = { record: { ...before, cost: before.cost - amount }, endedBy: endedByOf(ending) };
  return {
    answer: { ok: true, kind: 'refunded', amount, balance },
    accounts: [
      {
        ...account,
        balance,
        spending: spent(rolled(account.spending, account.allowancePeriod, rows.nowMs), -amount, 0),
      },
    ],
    keys:
      key === undefined
        ? []
        : [{ ...key, spending: spent(rolled(key.spending, key.quotaPeriod, rows.nowMs), -amount, 0) }],
    entries: [
      {
        account: account.id,
        atMs: rows.nowMs,
        debit: systemAccounts.revenue,
        credit: account.id,
        amount,
        kind: 'refund',
        reference: requestId,
        note,
      },
    ],
    corrections: [{ ending: after, before }],
  };
}

/** Whoever comes late to a message of which something was given back does not take it again. */
function endedByOf({ endedBy }: Ending): Ending['endedBy'] {
  return endedBy === 'expired' ? 'corrected' : endedBy;
}
