// Notices keys that expire soon, and accounts that spend far more than they usually do. Runs on the node that leads.

import { exactNumber } from '../base/checked-number.ts';
import { type Clock, DAY_MS } from '../base/clock.ts';
import { formatId } from '../base/ids.ts';
import { formatUsd, type Nano } from '../base/money.ts';
import { bounds } from '../config/config.ts';
import type { NewEvent } from '../events/events.ts';
import type { Stores } from '../storage/storage.ts';

interface WatchParts {
  stores: Pick<Stores, 'accounts' | 'events' | 'usage'>;
  clock: Clock;
  signal: AbortSignal;
}

/** Each key is reported once for each expiry, up to a week before. */
export async function findExpiringKeys({ stores, clock, signal }: WatchParts): Promise<void> {
  const nowMs = clock.nowMs();
  const question = { sinceMs: nowMs, untilMs: nowMs + bounds.keyExpiryNoticeMs };
  for (let after: ExpiringPosition = null; !signal.aborted; ) {
    const page = await stores.accounts.listExpiringKeys({ ...question, after, limit: bounds.rowsAtOnce });
    const events = page.flatMap((key): NewEvent[] => {
      const { id, name, prefix, accountId: account, expiresAtMs, status } = key;
      if (expiresAtMs === null || status !== 'enabled') return [];
      const data = { key: formatId('key', id), name, prefix, expires_at: new Date(expiresAtMs).toISOString() };
      return [{ atMs: nowMs, account, type: 'key.expiring', data, dedupe: `key.expiring:${id}:${expiresAtMs}` }];
    });
    if (events.length > 0) await stores.events.emit(events);
    const last = page.at(-1);
    if (last === undefined || page.length < bounds.rowsAtOnce) return;
    after = { expiresAtMs: last.expiresAtMs ?? 0, id: last.id };
  }
}

type ExpiringPosition = { expiresAtMs: number; id: number } | null;

/** Compares today's cost of the accounts that spend most with their last days. Once a day for each account. */
export async function findUnusualSpending({ stores, clock, signal }: WatchParts): Promise<void> {
  const nowMs = clock.nowMs();
  const day = Math.floor(nowMs / DAY_MS);
  const everyone = { account: null, key: null, madeBy: null, model: null, limit: bounds.attentionBusiestMax };
  const today = await stores.usage.topUsage({ ...everyone, sinceMs: day * DAY_MS, untilMs: nowMs });
  for (const { account, cost } of today.accounts.rows) {
    if (signal.aborted || account === null || cost < bounds.unusualSpendLeast) continue;
    const past = await stores.usage.totalUsage({
      ...everyone,
      account,
      sinceMs: (day - bounds.usualDays) * DAY_MS,
      untilMs: day * DAY_MS - 1,
      groupBy: 'day',
    });
    const usual = usualDay(past.rows.map((row) => exactNumber(row.cost)));
    if (!isUnusual(exactNumber(cost), usual)) continue;
    const date = new Date(nowMs).toISOString().slice(0, 10);
    const data = { day: date, spent: formatUsd(cost), usual: formatUsd(usual) };
    const dedupe = `spend.unusual:${account}:${date}`;
    await stores.events.emit([{ atMs: nowMs, account, type: 'spend.unusual', data, dedupe }]);
  }
}

/** The mean of the last days, of which some have no usage. */
export function usualDay(costs: readonly Nano[]): Nano {
  return Math.round(costs.reduce((sum, cost) => sum + cost, 0) / bounds.usualDays);
}

/** An account without a past has no usual day. */
export function isUnusual(spent: Nano, usual: Nano): boolean {
  return usual > 0 && spent >= bounds.unusualSpendLeast && spent > usual * bounds.unusualTimes;
}
